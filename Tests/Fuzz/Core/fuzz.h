// What the targets over the C core share: a center in memory that somebody else spoils, and a program of uses and changes read from the fuzzer's bytes.
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout.h"
#include "tidings.h"

// MARK: input.c — bytes to numbers. Past the end all are zero, so every input is a whole program.

typedef struct input {
    const uint8_t *at, *end;
} input;

uint8_t input_byte(input *in);
uint64_t input_number(input *in, unsigned bytes);

// MARK: mapping.c — every mapping the core makes has unreadable pages on both sides, and is watched.

// The segments mapped now, newest first; NULL beyond.
uint8_t *mapping_base(unsigned index);
uint64_t mapping_length(unsigned index);
bool mapping_contains(const void *address);
// Unmapped and forgotten, whatever the input left.
void mapping_forget(void);

// MARK: time.c

// Nanoseconds the core has slept since this was asked last.
uint64_t time_slept(void);

// MARK: changes.c — what a hostile peer does to the memory.

// Changes are made to the `length` bytes at `base` from now on (NULL: nowhere); where things lie there is as `fresh` says.
void changes_in(uint8_t *base, uint64_t length, const tidings__header *fresh);
// Where the last post of this process is.
void changes_near(uint64_t position);
// One change now.
void change_now(input *in);
// One that happens by itself at a later load of the core: so two reads of one word see two values.
void change_armed(input *in);
void changes_disarm(void);

// MARK: script.c — what this process does meanwhile.

// The configuration of all centers here: small, so that rings turn and tables fill.
extern const tidings_configuration fuzz_configuration;
// Runs the program on the center "f" that is there, or makes it; closes and removes everything.
void script_run(input *in);
// Makes it a used center, wrapped around, with values, large payloads, observers of all kinds, and leaves it open until `script_close`.
void script_furnish(tidings_center *center);
void script_close(void);

// MARK: watch.c

// A directory of this process in shared memory; gone at exit.
const char *fuzz_directory(void);
void fuzz_empty_directory(void);
// Ends the process with a message that names what was not so.
void fuzz_fail(const char *what, int64_t value) __attribute__((noreturn));
#define MUST(condition, value) ((condition) ? (void)0 : fuzz_fail(#condition, (int64_t)(value)))
// An error is a negative errno with a line that says more.
void fuzz_result(const char *what, int64_t result);
// Each use of the core is followed by this: it may not have taken by far more processor time, or slept longer, than any needs. NULL: an input begins.
void fuzz_step(const char *what);

#endif
