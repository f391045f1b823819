// The hostile peer. It writes words rather than bytes, and mostly words that mean something to the core: a random byte
// in 300 KiB would hit a name's text or nothing.
#include <string.h>

#include "fuzz.h"
#include "words.h"

static words center;

void changes_near(uint64_t position) { center.posted = position; }

void changes_in(uint8_t *mapped, uint64_t length, const tidings__shape *of) {
    memset(&center, 0, sizeof center);
    if (!mapped || !tidings__shape_valid(of)) return;
    center.shape = *of;
    tidings__geometry_of(&center.shape, &center.geometry);
    center.length = length;
    if (center.geometry.file_size == length) center.base = mapped;
}

// A place: 8 bytes at an offset of the file, of a part, chosen by two numbers.
static uint64_t place(uint8_t part, uint16_t which) {
    const tidings__header *header = (const void *)center.base;
    switch (part % 16) {
        case 0:
        case 1:
        case 2:  // the words of pages 1 and 2
            return offsetof(tidings__header, eviction) + which % 8 * sizeof(tidings__padded);
        case 3: return offsetof(tidings__header, asleep) + which % (2 * TIDINGS__MAP_WORDS) * 8;
        case 4: return which % (offsetof(tidings__header, shape) + sizeof(tidings__shape)) / 8 * 8;
        case 5:
            return center.geometry.participants +
                   which % (center.shape.participants * sizeof(tidings__participant)) / 8 * 8;
        case 6:
        case 7: return center.geometry.observers + which % (8 * sizeof(tidings__observer_entry)) / 8 * 8;
        case 8: return center.geometry.buckets + which % center.shape.buckets * 8;
        case 9: return center.geometry.chunk_words + which % center.geometry.chunk_count * 8;
        case 10: {  // words of a cell's header and first body word, from the oldest on
            const uint64_t evicted = header->eviction.word >> TIDINGS__EV_START_SHIFT;
            return center.geometry.cells + (evicted + which / 8) % center.shape.slots * sizeof(tidings__cell) +
                   which % 8 * 8;
        }
        case 11:  // the same around what was posted last
            return center.geometry.cells +
                   (center.posted + 2 - which / 8 % 16) % center.shape.slots * sizeof(tidings__cell) + which % 8 * 8;
        case 12: return center.geometry.cells + which % (center.shape.slots * sizeof(tidings__cell)) / 8 * 8;
        case 13:
        case 14:
            return center.geometry.names + which / 32 % 16 * sizeof(tidings__name) +
                   which % 32 * 8;  // tally, links, state, lengths, members, some text
        default: return center.geometry.chunks + which % (64 * 1024) / 8 * 8;
    }
}

// What is there becomes something else: often nearly the same, because only that gets past a first check.
static uint64_t other(uint64_t word, uint8_t how, uint64_t with) {
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

static change read_change(input *in) {
    change c = {.part = input_byte(in), .how = input_byte(in)};
    c.which = (uint16_t)input_number(in, 2);
    const uint8_t how = c.how % 12;
    c.with = how == 6 || how == 7 ? 0
                                  : input_number(in, how == 0 || how == 11   ? 8
                                                     : how == 5              ? 4
                                                     : how == 4 || how == 10 ? 2
                                                                             : 1);
    return c;
}

// Whatever the address sanitizer has been told of this address: the store stands for one of another process.
__attribute__((no_sanitize("address"))) static void put(uint64_t offset, uint64_t word) {
    // Names without memory, and beyond the end.
    if ((offset + 8 > center.geometry.base_size && offset < center.geometry.presence) || offset + 8 > center.length)
        return;
    atomic_store((_Atomic uint64_t *)(void *)(center.base + offset), word);
}

static void apply(uint64_t offset, const change *c) { put(offset, other(word_read(&center, offset), c->how, c->with)); }

void change_now(input *in) {
    const change c = read_change(in);
    if (center.base) apply(place(c.part, c.which), &c);
}

void change_word(input *in) {
    const word kind = input_byte(in) % (WORDS + 1);
    const uint16_t which = (uint16_t)input_number(in, 2);
    const uint8_t how = input_byte(in);
    const uint16_t with = (uint16_t)input_number(in, 2);
    if (!center.base) return;
    const uint64_t offset = word_place(&center, kind, which);
    put(offset, word_instead(&center, offset, word_read(&center, offset), how, with));
}

void change_presence(input *in) {
    const uint16_t which = (uint16_t)input_number(in, 2);
    const uint8_t how = input_byte(in);
    const uint16_t with = (uint16_t)input_number(in, 2);
    if (!center.base) return;
    const uint64_t offset = word_place(&center, WORD_PRESENCE, which);
    put(offset, word_instead(&center, offset, word_read(&center, offset), how, with));
}

// MARK: While the core reads

#define ARMED 8u

// At the `after`-th load from a center's memory, and then at every `every`-th, `times` in all: either of the word that
// is about to be read
// (`there`), or of another.
static struct {
    change what;
    uint64_t at;  // counted as `loads` is
    uint32_t every, times;
    bool there;
} armed[ARMED];
static uint64_t loads, due = UINT64_MAX;
// At the `after`-th load of a word of this kind, and at the next ones, `times` in all: of that very word, or of one
// that belongs to it.
static struct {
    word kind, beside;
    uint32_t after, times;
    bool once;  // for one load alone: before the next one all is as it was
    uint8_t how;
    uint16_t with;
} aimed[ARMED];
static struct {
    uint64_t offset, word;
    bool due;
} restored;
static unsigned turn, turn_aimed;
static uint64_t kinds;  // that something is aimed at
static bool in_use, changing;

void change_armed(input *in) {
    const unsigned at = turn++ % ARMED;
    const uint8_t mode = input_byte(in);
    armed[at].there = mode & 1;
    armed[at].at = loads + 1 + (mode & 2 ? input_number(in, 2) : input_byte(in));
    armed[at].every = mode & 4 ? 1 + (uint32_t)input_byte(in) : 1;
    // Bounded: a loop that ends when its words are left alone does not hang.
    armed[at].times = mode & 8 ? 1 + (uint32_t)input_byte(in) * 16 : 1;
    armed[at].what = read_change(in);
    if (armed[at].at < due) due = armed[at].at;
    in_use = true;
}

void change_aimed(input *in, bool beside) {
    const unsigned at = turn_aimed++ % ARMED;
    aimed[at].kind = input_byte(in) % (WORDS + 1);
    // Mostly the next few, as between two reads of a word there are seldom many of its kind.
    const uint8_t after = input_byte(in), times = input_byte(in);
    aimed[at].after = after < 192 ? 1 + after % 4 : after - 191u;
    aimed[at].times = times < 192 ? 1 : times - 190u;
    aimed[at].once = times % 2;
    aimed[at].how = input_byte(in);
    aimed[at].with = (uint16_t)input_number(in, 2);
    const word other_kind = input_byte(in) % (WORDS + 1);
    aimed[at].beside = beside ? other_kind : aimed[at].kind;
    kinds |= UINT64_C(1) << aimed[at].kind;
    in_use = true;
}

void change_aimed_at_presence(input *in) {
    const unsigned at = turn_aimed++ % ARMED;
    const uint8_t after = input_byte(in), times = input_byte(in);
    aimed[at].kind = aimed[at].beside = WORD_PRESENCE;
    aimed[at].after = 1u + after % 16;
    aimed[at].times = times < 192 ? 1 : times - 190u;
    aimed[at].once = times % 2;
    aimed[at].how = input_byte(in);
    aimed[at].with = (uint16_t)input_number(in, 2);
    kinds |= UINT64_C(1) << WORD_PRESENCE;
    in_use = true;
}

void change_call(input *in, uint8_t how) {
    const uint16_t which = (uint16_t)input_number(in, 2);
    const uint8_t instead = input_byte(in);
    const uint16_t with = (uint16_t)input_number(in, 2);
    if (how & 1) {
        const unsigned at = turn_aimed++ % ARMED;
        aimed[at].kind = aimed[at].beside = WORD_CALL;
        aimed[at].after = 1u + which % 16;
        aimed[at].times = how & 4 ? 20 : 1;
        aimed[at].once = how & 2;
        aimed[at].how = instead;
        aimed[at].with = with;
        kinds |= UINT64_C(1) << WORD_CALL;
        in_use = true;
    } else if (center.base) {
        const uint64_t offset = word_place(&center, WORD_CALL, which);
        put(offset, word_instead(&center, offset, word_read(&center, offset), instead, with));
    }
}

void changes_disarm(void) {
    memset(armed, 0, sizeof armed);
    memset(aimed, 0, sizeof aimed);
    turn = turn_aimed = 0;
    in_use = restored.due = false;
    loads = kinds = 0;
    due = UINT64_MAX;
}

// In our own mapping: the one that is about to be read may be for reading alone.
__attribute__((no_sanitize("address"))) static void apply_there(uint64_t offset, unsigned size, const change *c) {
    uint64_t word = 0;
    uint8_t *there = center.base + offset;
    if (offset + 8 > center.length) return;
    for (unsigned i = 0; i < size && i < 8; i++) word |= (uint64_t)there[i] << 8 * i;
    word = other(word, c->how, c->with);
    for (unsigned i = 0; i < size && i < 8; i++) there[i] = (uint8_t)(word >> 8 * i);
}

static void fire_aimed(uint64_t offset) {
    const word kind = word_at(&center, offset);
    if (!(kinds >> kind & 1)) return;
    kinds = 0;
    for (unsigned i = 0; i < ARMED; i++) {
        if (aimed[i].times > 0 && aimed[i].kind == kind && --aimed[i].after == 0) {
            aimed[i].after = 1;
            aimed[i].times--;
            const uint64_t at = aimed[i].beside == kind ? offset / 8 * 8
                                                        : word_beside(&center, offset, aimed[i].beside);
            const uint64_t now = word_read(&center, at);
            put(at, word_instead(&center, at, now, aimed[i].how, aimed[i].with));
            if (aimed[i].once) restored.offset = at, restored.word = now, restored.due = true;
        }
        if (aimed[i].times > 0) kinds |= UINT64_C(1) << aimed[i].kind;
    }
}

static void fire_armed(uint64_t offset, unsigned size) {
    if (++loads < due) return;
    due = UINT64_MAX;
    for (unsigned i = 0; i < ARMED; i++) {
        if (armed[i].times == 0) continue;
        if (armed[i].at <= loads) {
            armed[i].at = loads + armed[i].every;
            armed[i].times--;
            if (armed[i].there)
                apply_there(offset, size, &armed[i].what);
            else
                apply(place(armed[i].what.part, armed[i].what.which), &armed[i].what);
        }
        if (armed[i].times > 0 && armed[i].at < due) due = armed[i].at;
    }
}

static void fire(const void *address, unsigned size) {
    // Or in another mapping of the same file.
    uint64_t offset = (uint64_t)((const uint8_t *)address - center.base);
    if (!center.base || (offset >= center.length && !mapping_find(address, center.length, &offset))) return;
    changing = true;
    if (restored.due) put(restored.offset, restored.word);
    restored.due = false;
    if (due != UINT64_MAX) fire_armed(offset, size);
    if (kinds != 0) fire_aimed(offset);
    in_use = due != UINT64_MAX || kinds != 0 || restored.due;
    changing = false;
}

void changes_before_load(const void *address, unsigned size) {
    if (in_use && !changing) fire(address, size);
}

// Called by the core's own code before each of its loads: it is compiled with -fsanitize-coverage=trace-loads.
void __sanitizer_cov_load1(uint8_t *address);
void __sanitizer_cov_load2(uint16_t *address);
void __sanitizer_cov_load4(uint32_t *address);
void __sanitizer_cov_load8(uint64_t *address);
void __sanitizer_cov_load16(unsigned __int128 *address);
void __sanitizer_cov_load1(uint8_t *address) { changes_before_load(address, 1); }
void __sanitizer_cov_load2(uint16_t *address) { changes_before_load(address, 2); }
void __sanitizer_cov_load4(uint32_t *address) { changes_before_load(address, 4); }
void __sanitizer_cov_load8(uint64_t *address) { changes_before_load(address, 8); }
void __sanitizer_cov_load16(unsigned __int128 *address) { changes_before_load(address, 16); }
