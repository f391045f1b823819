// Unit tests of the core: each sets shared words by hand, calls one function, and checks the words. ../README.md
#ifndef UNIT_H
#define UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ring/cell.h"
#include "segment/position.h"
#include "segment/segment.h"

// MARK: Tests

typedef struct unit_test {
    const char *file, *name;
    void (*run)(void);
    struct unit_test *next;
} unit_test;

void unit_register(unit_test *test);

// A test and its registration. Its name is a sentence that states the rule.
#define TEST(sentence)                                                                                                 \
    static void sentence(void);                                                                                        \
    __attribute__((constructor)) static void register_##sentence(void) {                                               \
        static unit_test test = {.file = __FILE__, .name = #sentence, .run = sentence};                                \
        unit_register(&test);                                                                                          \
    }                                                                                                                  \
    static void sentence(void)

// MARK: Checks. The first one that fails prints one line and ends the test

void unit_check(const char *file, int line, bool holds, const char *text);
void unit_check_equal(const char *file, int line, uint64_t found, const char *text, uint64_t expected);
void unit_check_text(const char *file, int line, const char *found, const char *text, const char *expected, bool part);

#define CHECK(condition) unit_check(__FILE__, __LINE__, (condition), #condition)
// Both are printed. A negative number is compared as it is extended to 64 bits.
#define CHECK_EQUAL(found, expected)                                                                                   \
    unit_check_equal(__FILE__, __LINE__, (uint64_t)(found), #found, (uint64_t)(expected))
#define CHECK_TEXT(found, expected) unit_check_text(__FILE__, __LINE__, (found), #found, (expected), false)
#define CHECK_SAYS(found, part_of_it) unit_check_text(__FILE__, __LINE__, (found), #found, (part_of_it), true)

// MARK: What tests work on

// An empty directory. The runner removes it with the files in it.
const char *unit_directory(void);

// The smallest shape that a center can have.
extern const tidings_configuration unit_smallest;

// The segment of a new center in sealed memory, without a participant: 256 slots. The process's end unmaps it.
tidings__segment *unit_segment(void);
// The same, but its handle says that the ring has fewer slots (a power of two).
tidings__segment *unit_ring(uint32_t slots);

// MARK: The words of a slot, as a poster writes them

#define UNIT_OWNER UINT64_C(77)  // a TID

void unit_claim(const tidings__segment *s, uint64_t position, uint64_t owner);
void unit_commit(const tidings__segment *s, uint64_t position);
// A record with this route word (tidings__route_word), committed.
void unit_post(const tidings__segment *s, uint64_t position, uint64_t route);
// Moves EV: positions before `oldest` are evicted.
void unit_evict_to(const tidings__segment *s, uint64_t oldest);

#endif
