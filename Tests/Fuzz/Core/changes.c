// The hostile peer. It writes words rather than bytes, and mostly words that mean something to the core: a random byte in 300 KiB would hit a name's text or nothing.
#include <string.h>

#include "fuzz.h"
#include "segment/geometry.h"

static uint8_t *base;
static tidings__shape shape;
static tidings__geometry geometry;
static uint64_t posted;

void changes_near(uint64_t position) { posted = position; }

void changes_in(uint8_t *mapped, uint64_t length, const tidings__header *fresh)
{
    base = NULL;
    posted = 0;
    shape = fresh->shape;
    // It was checked when it was opened, and may have been changed since.
    if (!mapped || !tidings__shape_valid(&shape)) return;
    tidings__geometry_of(&shape, &geometry);
    if (geometry.file_size == length) base = mapped;
}

// A place: 8 bytes at an offset of the file, of a part, chosen by two numbers.
static uint64_t place(uint8_t part, uint16_t which)
{
    const tidings__header *header = (const void *)base;
    switch (part % 16) {
    case 0: case 1: case 2:  // the words of pages 1 and 2
        return offsetof(tidings__header, eviction) + which % 8 * sizeof(tidings__padded);
    case 3: return offsetof(tidings__header, asleep) + which % (2 * TIDINGS__MAP_WORDS) * 8;
    case 4: return which % (offsetof(tidings__header, shape) + sizeof(tidings__shape)) / 8 * 8;
    case 5: return geometry.participants + which % (shape.participants * sizeof(tidings__participant)) / 8 * 8;
    case 6: case 7: return geometry.observers + which % (8 * sizeof(tidings__observer_entry)) / 8 * 8;
    case 8: return geometry.buckets + which % shape.buckets * 8;
    case 9: return geometry.chunk_words + which % geometry.chunk_count * 8;
    case 10: {  // words of a cell's header and first body word, from the oldest on
        const uint64_t evicted = header->eviction.word >> TIDINGS__EV_START_SHIFT;
        return geometry.cells + (evicted + which / 8) % shape.slots * sizeof(tidings__cell) + which % 8 * 8;
    }
    case 11:  // the same around what was posted last
        return geometry.cells + (posted + 2 - which / 8 % 16) % shape.slots * sizeof(tidings__cell) + which % 8 * 8;
    case 12: return geometry.cells + which % (shape.slots * sizeof(tidings__cell)) / 8 * 8;
    case 13: case 14: return geometry.names + which / 32 % 16 * sizeof(tidings__name) + which % 32 * 8;  // tally, links, state, lengths, members, some text
    default: return geometry.chunks + which % (64 * 1024) / 8 * 8;
    }
}

// What is there becomes something else: often nearly the same, because only that gets past a first check.
static uint64_t other(uint64_t word, uint8_t how, uint64_t with)
{
    switch (how % 12) {
    case 0: return with;
    case 1: return with & 0xff;
    case 2: return word ^ UINT64_C(1) << with % 64;
    case 3: return word + (uint64_t)(int64_t)(int8_t)with;
    case 4: return (word & ~UINT64_C(0xffff)) | (with & 0xffff);
    case 5: return (word & UINT32_MAX) | with << 32;
    case 6: return UINT64_MAX;
    case 7: return 0;
    case 8: return word + ((uint64_t)(int64_t)(int8_t)with << TIDINGS__EV_START_SHIFT);
    case 9: return word + ((uint64_t)(int64_t)(int8_t)with << TIDINGS__W_LAP_SHIFT);
    case 10: return (word & ~(UINT64_C(0xff) << with % 64)) | (with >> 8 & 0xff) << with % 64;
    default: return with << (with >> 56) % 64;
    }
}

typedef struct change {
    uint8_t part, how;
    uint16_t which;
    uint64_t with;
} change;

static change read_change(input *in)
{
    change c = {.part = input_byte(in), .how = input_byte(in)};
    c.which = (uint16_t)input_number(in, 2);
    const uint8_t how = c.how % 12;
    c.with = how == 6 || how == 7 ? 0 : input_number(in, how == 0 || how == 11 ? 8 : how == 5 ? 4 : how == 4 || how == 10 ? 2 : 1);
    return c;
}

static void apply(uint64_t offset, const change *c)
{
    if (offset + 8 > geometry.base_size && offset < geometry.chunks) return;
    _Atomic uint64_t *word = (void *)(base + offset);
    atomic_store(word, other(atomic_load(word), c->how, c->with));
}

void change_now(input *in)
{
    const change c = read_change(in);
    if (base) apply(place(c.part, c.which), &c);
}

// MARK: While the core reads

#define ARMED 8u

// At the `after`-th load from a center's memory, and then at every `every`-th, `times` in all: either of the word that is about to be read (`there`), or of another.
static struct {
    change what;
    uint32_t after, every, times;
    bool there;
} armed[ARMED];
static unsigned turn, in_use;
static bool changing;

void change_armed(input *in)
{
    const unsigned at = turn++ % ARMED;
    const uint8_t mode = input_byte(in);
    armed[at].there = mode & 1;
    armed[at].after = 1 + (mode & 2 ? (uint32_t)input_number(in, 2) : input_byte(in));
    armed[at].every = mode & 4 ? 1 + (uint32_t)input_byte(in) : 1;
    // Bounded: a loop that ends when its words are left alone does not hang.
    armed[at].times = mode & 8 ? 1 + (uint32_t)input_byte(in) * 16 : 1;
    armed[at].what = read_change(in);
    in_use = ARMED;
}

void changes_disarm(void)
{
    memset(armed, 0, sizeof armed);
    in_use = turn = 0;
}

static void about_to_load(const void *address, unsigned size)
{
    if (in_use == 0 || changing || !base || !mapping_contains(address)) return;
    changing = true;
    in_use = 0;
    for (unsigned i = 0; i < ARMED; i++) {
        if (armed[i].times == 0) continue;
        in_use = ARMED;
        if (--armed[i].after > 0) continue;
        armed[i].after = armed[i].every;
        armed[i].times--;
        if (!armed[i].there) {
            apply(place(armed[i].what.part, armed[i].what.which), &armed[i].what);
            continue;
        }
        uint64_t word = 0;
        void *there = (void *)(uintptr_t)address;
        memcpy(&word, there, size < 8 ? size : 8);
        word = other(word, armed[i].what.how, armed[i].what.with);
        memcpy(there, &word, size < 8 ? size : 8);
    }
    changing = false;
}

// Called by the core's own code before each of its loads: it is compiled with -fsanitize-coverage=trace-loads.
void __sanitizer_cov_load1(uint8_t *address);
void __sanitizer_cov_load2(uint16_t *address);
void __sanitizer_cov_load4(uint32_t *address);
void __sanitizer_cov_load8(uint64_t *address);
void __sanitizer_cov_load16(unsigned __int128 *address);
void __sanitizer_cov_load1(uint8_t *address) { about_to_load(address, 1); }
void __sanitizer_cov_load2(uint16_t *address) { about_to_load(address, 2); }
void __sanitizer_cov_load4(uint32_t *address) { about_to_load(address, 4); }
void __sanitizer_cov_load8(uint64_t *address) { about_to_load(address, 8); }
void __sanitizer_cov_load16(unsigned __int128 *address) { about_to_load(address, 16); }
