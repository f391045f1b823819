#include "words.h"

#include <stddef.h>

#include "fuzz.h"
#include "ring/record.h"

#define OF(array) (sizeof(array) / sizeof(array)[0])
#define HEADER(field) (offsetof(tidings__header, field))

__attribute__((no_sanitize("address"))) uint64_t word_read(const words *c, uint64_t offset) {
    return __atomic_load_n((const uint64_t *)(const void *)(c->base + offset), __ATOMIC_RELAXED);
}

// MARK: Which word it is

static word in_header(uint64_t offset) {
    if (offset < HEADER(eviction)) return WORD_NONE;
    if (offset >= HEADER(name_futexes)) return WORD_NAME_FUTEX;
    if (offset >= HEADER(asleep)) return offset < HEADER(lossless) ? WORD_ASLEEP : WORD_LOSSLESS;
    return offset % sizeof(tidings__padded) == 0 ? WORD_EVICTION + (offset - HEADER(eviction)) / sizeof(tidings__padded)
                                                 : WORD_NONE;
}

static word in_name(uint64_t offset) {
    if (offset >= offsetof(tidings__name, key)) return WORD_KEY;
    return offset >= offsetof(tidings__name, members) ? WORD_MEMBERS : WORD_COUNT + offset / 8;
}

static const tidings__class *class_at(const words *c, uint64_t offset) {
    const tidings__class *found = &c->geometry.classes[0];
    for (uint32_t i = 1; i < c->geometry.class_count && c->geometry.classes[i].offset <= offset; i++)
        found = &c->geometry.classes[i];
    return found;
}

word word_at(const words *c, uint64_t offset) {
    const tidings__geometry *g = &c->geometry;
    if (offset >= g->calls) return WORD_CALL;
    if (offset >= g->chunks) {
        const uint64_t in = (offset - class_at(c, offset)->offset) % class_at(c, offset)->size / 8;
        return in == 1 ? WORD_CHUNK_SIZE : in == 2 ? WORD_CHUNK_POSTER : in == 3 ? WORD_CHUNK_ROUTE : WORD_CHUNK_BYTES;
    }
    if (offset >= g->presence) return WORD_PRESENCE;
    if (offset >= g->names) return in_name((offset - g->names) % sizeof(tidings__name));
    if (offset >= g->cells) {
        const uint64_t in = (offset - g->cells) % sizeof(tidings__cell) / 8;
        return in < WORD_BODY - WORD_CLAIM ? WORD_CLAIM + in : WORD_BODY;
    }
    if (offset >= g->chunk_words) return WORD_CHUNK;
    if (offset >= g->buckets) return WORD_BUCKET;
    if (offset >= g->observers)
        return WORD_DOORBELL + (offset - g->observers) % sizeof(tidings__observer_entry) / 8 % 4;
    if (offset >= g->participants)
        return (offset - g->participants) % sizeof(tidings__participant) == 0 ? WORD_INSTANCE : WORD_PARTICIPANT;
    return in_header(offset);
}

// MARK: Where one of its kind is

// Around what was posted last, or from the oldest on, turn about.
static uint64_t cell(const words *c, uint32_t which) {
    const uint64_t oldest = word_read(c, HEADER(eviction)) >> TIDINGS__EV_START_SHIFT;
    const uint64_t position = which & 1 ? c->posted + 1 - which / 2 % 16 : oldest + which / 2;
    return c->geometry.cells + position % c->shape.slots * sizeof(tidings__cell);
}

static uint64_t chunk(const words *c, uint32_t which) {
    const tidings__class *class = &c->geometry.classes[which % c->geometry.class_count];
    return class->offset + which / 8 % class->count % 4 * class->size;
}

// One that leads somewhere, if there is one.
static uint64_t bucket(const words *c, uint32_t which) {
    for (uint32_t i = 0; i < c->shape.buckets; i++) {
        const uint64_t offset = c->geometry.buckets + (which + i) % c->shape.buckets * 8;
        if (word_read(c, offset) != 0) return offset;
    }
    return c->geometry.buckets;
}

// The words of an entry that decide, and the first of its texts; the report and the will most often.
static uint64_t presence(const words *c, uint32_t which) {
#define PRESENCE(field) (offsetof(tidings__presence, field))
    static const uint64_t fields[] = {
        PRESENCE(report),  PRESENCE(will), PRESENCE(announcement), PRESENCE(line.life[0]), PRESENCE(line.life[2]),
        PRESENCE(report),  PRESENCE(will), PRESENCE(line.poke),    PRESENCE(process),      PRESENCE(role_size),
        PRESENCE(role[0]), PRESENCE(id),   PRESENCE(program[0])};
    const uint32_t field = which / 4 % (OF(fields) + 1);
    if (field == OF(fields)) return HEADER(presence_used);
    return c->geometry.presence + which % 4 * sizeof(tidings__presence) + fields[field];
}

// The words of the first calls, and those beside the table that decide what becomes of calls; the state most often.
static uint64_t call(const words *c, uint32_t which) {
#define CALL(field) (offsetof(tidings__call, field))
    static const uint64_t fields[] = {CALL(state),         CALL(state),      CALL(state),       CALL(reply_text),
                                      CALL(reply_chunk),   CALL(reply_text), CALL(reply_chunk), CALL(request_text),
                                      CALL(request_chunk), CALL(name),       CALL(made_at)};
    const uint64_t index = which % 4, field = which / 4 % (OF(fields) + 4);
    switch (field) {
        case OF(fields): return HEADER(calls_used);
        case OF(fields) + 1: return c->geometry.call_bodies + index * sizeof(tidings__call_body);
        case OF(fields) + 2:
            return c->geometry.presence + index * sizeof(tidings__presence) + PRESENCE(line.replies[0]);
        case OF(fields) + 3:
            return c->geometry.observers + index * sizeof(tidings__observer_entry) +
                   offsetof(tidings__observer_entry, serves) / 8 * 8;
        default: return c->geometry.calls + index * sizeof(tidings__call) + fields[field];
    }
}

uint64_t word_place(const words *c, word kind, uint32_t which) {
    switch (kind) {
        case WORD_EVICTION ... WORD_WAITING: return HEADER(eviction) + (kind - WORD_EVICTION) * sizeof(tidings__padded);
        case WORD_ASLEEP: return HEADER(asleep) + which % 2 * 8;
        case WORD_LOSSLESS: return HEADER(lossless) + which % 2 * 8;
        case WORD_CLAIM ... WORD_BODY: return cell(c, which) + (kind - WORD_CLAIM) * 8;
        case WORD_COUNT ... WORD_LENGTHS:
            return c->geometry.names + (1 + which % 12) * sizeof(tidings__name) + (kind - WORD_COUNT) * 8;
        case WORD_MEMBERS:
            return c->geometry.names + (1 + which % 12) * sizeof(tidings__name) + offsetof(tidings__name, members) +
                   which / 16 % 2 * 8;
        case WORD_KEY:
            return c->geometry.names + (1 + which % 12) * sizeof(tidings__name) + offsetof(tidings__name, key) +
                   which / 16 % 4 * 8;
        case WORD_BUCKET: return bucket(c, which);
        case WORD_CHUNK:
            return c->geometry.chunk_words +
                   (c->geometry.classes[which % c->geometry.class_count].first + which / 8 % 4) * 8;
        case WORD_CHUNK_SIZE ... WORD_CHUNK_ROUTE: return chunk(c, which) + (kind - WORD_CHUNK) * 8;
        case WORD_CHUNK_BYTES: return chunk(c, which) + TIDINGS__CHUNK_HEADER;
        case WORD_DOORBELL ... WORD_HISTORY:
            return c->geometry.observers + which % 8 * sizeof(tidings__observer_entry) + (kind - WORD_DOORBELL) * 8;
        case WORD_INSTANCE: return c->geometry.participants + which % 4 * sizeof(tidings__participant);
        case WORD_PARTICIPANT:
            return c->geometry.participants + which % 4 * sizeof(tidings__participant) + (1 + which / 4 % 3) * 8;
        case WORD_NAME_FUTEX: return HEADER(name_futexes) + which % TIDINGS__NAME_FUTEXES * sizeof(tidings__name_futex);
        case WORD_PRESENCE: return presence(c, which);
        case WORD_CALL: return call(c, which);
        default: return HEADER(shape) + which % (sizeof(tidings__shape) / 8) * 8;
    }
}

uint64_t word_beside(const words *c, uint64_t offset, word kind) {
    const tidings__geometry *g = &c->geometry;
    uint64_t start;
    if (kind >= WORD_CLAIM && kind <= WORD_BODY && offset >= g->cells && offset < g->names) {
        start = offset - (offset - g->cells) % sizeof(tidings__cell);
        return start + (kind - WORD_CLAIM) * 8;
    }
    if (kind >= WORD_COUNT && kind <= WORD_KEY && offset >= g->names && offset < g->chunks) {
        start = offset - (offset - g->names) % sizeof(tidings__name);
        if (kind == WORD_KEY) return start + offsetof(tidings__name, key);
        return kind == WORD_MEMBERS ? start + offsetof(tidings__name, members) : start + (kind - WORD_COUNT) * 8;
    }
    if (kind >= WORD_DOORBELL && kind <= WORD_HISTORY && offset >= g->observers && offset < g->buckets) {
        start = offset - (offset - g->observers) % sizeof(tidings__observer_entry);
        return start + (kind - WORD_DOORBELL) * 8;
    }
    if (kind >= WORD_CHUNK && kind <= WORD_CHUNK_BYTES && offset >= g->chunks) {
        const tidings__class *class = class_at(c, offset);
        const uint64_t number = (offset - class->offset) / class->size;
        if (kind == WORD_CHUNK) return g->chunk_words + (class->first + number) * 8;
        return class->offset + number * class->size + (kind - WORD_CHUNK) * 8;
    }
    return word_place(c, kind, (uint32_t)(offset / 8));
}

// MARK: What a peer that knows the layout would write

#define BITS(low, count) ((count) == 64 ? UINT64_MAX : ((UINT64_C(1) << (count)) - 1) << (low))

static uint64_t with_bits(uint64_t now, unsigned low, unsigned count, uint64_t value) {
    return (now & ~BITS(low, count)) | (value << low & BITS(low, count));
}

// The position that a cell's slot has on this lap.
static uint64_t position_of(const words *c, uint64_t offset) {
    const uint64_t slot = (offset - c->geometry.cells) / sizeof(tidings__cell),
                   oldest = word_read(c, HEADER(eviction)) >> TIDINGS__EV_START_SHIFT;
    return oldest + ((slot - oldest) & (c->shape.slots - 1));
}

// A number that is just possible, or just not.
static uint64_t edge(const words *c, uint16_t with) {
    const uint64_t edges[] = {
        0,
        1,
        2,
        3,
        8,
        63,
        64,
        65,
        TIDINGS__BODY_SIZE - 1,
        TIDINGS__BODY_SIZE,
        TIDINGS__BODY_SIZE + 1,
        254,
        255,
        256,
        511,
        512,
        513,
        1024 - 64,
        1024,
        4095,
        4096,
        65535,
        65536,
        UINT32_MAX,
        UINT32_MAX / 2 + 1,
        UINT64_C(1) << 32,
        UINT64_C(1) << 51,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_MAX / 2,
        c->shape.slots,
        c->shape.names,
        c->shape.participants,
        c->shape.observers,
        c->shape.maximum_payload,
        c->geometry.chunk_count,
        c->posted,
    };
    const uint64_t it = edges[with % OF(edges)];
    return with / OF(edges) % 4 == 1 ? it - 1 : with / OF(edges) % 4 == 2 ? it + 1 : it;
}

// A word's fields: what is to be replaced by an edge.
static uint64_t field(const words *c, word kind, uint64_t now, uint8_t which, uint16_t with) {
    static const struct {
        uint8_t low, count;
    } fields[WORD_KINDS][4] = {
        [WORD_EVICTION] = {{12, 52}, {0, 12}, {0, 11}, {12, 32}},
        [WORD_CLAIM] = {{33, 31}, {0, 29}, {0, 32}, {29, 4}},
        [WORD_COMMIT] = {{1, 63}, {0, 1}, {1, 32}, {1, 63}},
        [WORD_VERDICT] = {{2, 62}, {0, 2}, {2, 32}, {0, 2}},
        [WORD_SIZE] = {{0, 32}, {0, 32}, {0, 32}, {32, 32}},
        [WORD_CHUNK_SIZE] = {{0, 32}, {0, 32}, {0, 32}, {32, 32}},
        [WORD_POSTER] = {{48, 8}, {56, 8}, {48, 16}, {32, 16}},
        [WORD_CHUNK_POSTER] = {{48, 8}, {56, 8}, {48, 16}, {32, 16}},
        [WORD_ROUTE] = {{0, 24}, {32, 24}, {24, 3}, {24, 8}},
        [WORD_CHUNK_ROUTE] = {{0, 24}, {32, 24}, {24, 3}, {24, 8}},
        [WORD_CHUNK_NUMBER] = {{0, 32}, {0, 16}, {0, 8}, {0, 64}},
        [WORD_NEXT] = {{0, 32}, {0, 8}, {32, 1}, {33, 31}},
        [WORD_STATE] = {{0, 4}, {0, 3}, {4, 16}, {20, 44}},
        [WORD_RETAINED] = {{0, 16}, {0, 16}, {0, 8}, {16, 48}},
        [WORD_LENGTHS] = {{0, 16}, {16, 16}, {32, 32}, {0, 32}},
        [WORD_BUCKET] = {{0, 32}, {0, 8}, {32, 1}, {33, 31}},
        [WORD_CHUNK] = {{0, 4}, {0, 3}, {4, 12}, {16, 48}},
        [WORD_NONE] = {{0, 32}, {32, 32}, {0, 64}, {0, 32}},
        [WORD_DOORBELL] = {{0, 32}, {32, 32}, {0, 1}, {32, 8}},
        [WORD_PRESENCE] = {{0, 4}, {4, 12}, {24, 40}, {0, 64}},  // of the report
        [WORD_CALL] = {{0, 3}, {6, 12}, {18, 12}, {0, 32}},      // of the state; the size of a text
    };
    const unsigned low = fields[kind][which % 4].low, count = fields[kind][which % 4].count;
    return with_bits(now, low, count ? count : 64, edge(c, with));
}

// Near what is there, in the word's own units.
static uint64_t near(word kind, uint64_t now, uint16_t with) {
    const uint64_t by = (uint64_t)(int64_t)(int8_t)with;
    const unsigned low = kind == WORD_EVICTION                              ? 12
                         : kind == WORD_CLAIM                               ? 33
                         : kind == WORD_COMMIT                              ? 1
                         : kind == WORD_VERDICT                             ? 2
                         : kind == WORD_RETAINED || kind == WORD_CHUNK      ? 16
                         : kind == WORD_STATE                               ? 20
                         : kind == WORD_PRESENCE                            ? 24
                         : kind == WORD_CALL                                ? 31
                         : kind == WORD_POSTER || kind == WORD_CHUNK_POSTER ? 48
                                                                            : 0;
    return now + (by << (with & 0x100 ? 0 : low));
}

// Another state of a call, with another flag or another participant; or a chunk, and a size about that of one.
static uint64_t fitting_call(const words *c, uint64_t offset, uint64_t now, uint16_t with) {
    static const uint64_t flags[] = {
        TIDINGS__CALL_TURN, TIDINGS__CALL_IDEMPOTENT, TIDINGS__CALL_AGAIN, TIDINGS__CALL_PART, 0, 0};
    if (offset < c->geometry.calls || offset >= c->geometry.call_bodies) return edge(c, with);
    switch ((offset - c->geometry.calls) % sizeof(tidings__call)) {
        case CALL(state): {
            const uint64_t state = with_bits(now ^ flags[with % OF(flags)], 0, 3, with & 64 ? now & 7 : with / 8 % 8);
            return with & 128 ? with_bits(state, with & 256 ? 6 : 18, 12, with / 512 % 4) : state;
        }
        case CALL(request_chunk):
        case CALL(reply_chunk): return with % (c->geometry.chunk_count + 2);
        default: return with_bits(now, 0, 32, edge(c, with));
    }
}

// What the position of a cell, or what is around, makes of a word.
static uint64_t fitting(const words *c, uint64_t offset, word kind, uint64_t now, uint16_t with) {
    const uint64_t slots = c->shape.slots,
                   by[] = {0, 1, slots, -slots, 2 * slots, -UINT64_C(1), UINT64_C(1) << 31, UINT64_C(1) << 48};
    const uint64_t oldest = word_read(c, HEADER(eviction)) >> TIDINGS__EV_START_SHIFT, delta = by[with % OF(by)],
                   more = with / OF(by);
    switch (kind) {
        case WORD_EVICTION:
            return with_bits(now + (delta << TIDINGS__EV_START_SHIFT), 0, 12,
                             (more & 1 ? TIDINGS__EV_EVICTING : 0) | edge(c, (uint16_t)(more / 2)));
        case WORD_CLAIM:
            return now ^ (const uint64_t[]) {
                TIDINGS__W_SKIPPED, TIDINGS__W_DIED, TIDINGS__W_FOREIGN, TIDINGS__W_PHASE, UINT64_C(1) << 33
            }[with % 5];
        case WORD_COMMIT: return (position_of(c, offset) + delta) << 1 | (now & 1);
        case WORD_VERDICT: return (position_of(c, offset) + delta) << 2 | (more & 3);
        case WORD_CHUNK: return (oldest + more % slots + (with & 1 ? delta : 0)) << 16 | (now & 0xfff0) | with % 5;
        case WORD_RETAINED:
            return (oldest - more % slots) << 16 | (with & 1 ? edge(c, (uint16_t)more) & 0xffff : now & 0xffff);
        case WORD_COUNT ... WORD_END: return with & 1 ? oldest + delta : now + delta;
        case WORD_CURSOR:
        case WORD_HISTORY:
        case WORD_HINT:
        case WORD_BIRTH: return oldest + delta + (with & 64 ? more : 0);
        case WORD_NEXT:
        case WORD_BUCKET: return with_bits(now, 0, 32, with % 16);
        case WORD_PRESENCE:  // a report of some state that begins about here
            return (oldest + delta + more % slots) << 24 | (now & 0xffff00) | (more & 3) << 4 | (with ^ more) % 9;
        case WORD_CALL: return fitting_call(c, offset, now, with);
        case WORD_ROUTE: return with_bits(now, with & 1 ? 32 : 0, 24, more % 16);
        case WORD_CHUNK_NUMBER: return c->geometry.classes[with % c->geometry.class_count].first + more % 8;
        case WORD_MEMBERS:
        case WORD_ASLEEP:
        case WORD_LOSSLESS: return with & 1 ? UINT64_MAX : now | UINT64_C(1) << more % 64;
        default: return edge(c, with);
    }
}

uint64_t word_instead(words *c, uint64_t offset, uint64_t now, uint8_t how, uint16_t with) {
    const word kind = word_at(c, offset);
    const uint64_t stale = c->replaced[kind];
    c->replaced[kind] = now;
    switch (how % 8) {
        case 0:
        case 1: return field(c, kind, now, how / 8, with);
        case 2: return near(kind, now, with);
        case 3:
        case 4: return fitting(c, offset, kind, now, with);
        case 5: return now ^ UINT64_C(1) << with % 64;
        case 6: return stale;
        default: return word_read(c, word_place(c, kind, with));
    }
}
