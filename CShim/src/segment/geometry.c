// Computes a center's shape from its configuration, and its geometry from its shape.
#include "segment/geometry.h"

#include <errno.h>
#include <stddef.h>

#include "platform/error.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

const tidings_configuration tidings_small_configuration = {
    .slots = 512, .participants = 64, .observers = 64, .names = 4096};

// The bounds of a shape, and their reasons:
// - slots: a lap must be long enough for eviction of 64 positions at a time
// - participants: 12 bits in a chunk word
// - observers: the size of the observer maps
// - names: a name entry's number must fit 24 bits of a record
// - buckets: a sixteenth of the names, within these bounds
// - payload: each process must map all sixteen largest chunks
#define SLOTS_MIN 256u
#define SLOTS_MAX (1u << 20)
#define PARTICIPANTS_MIN 2u
#define OBSERVERS_MIN 2u
#define NAMES_MIN 64u
#define NAMES_MAX (1u << 20)
#define BUCKETS_MIN 512u
#define BUCKETS_MAX 16384u
#define PAYLOAD_MAX (1024 * MIB)

// Sizes grow by a factor of 8, so at most 7/8 of a chunk is wasted. The counts are chosen so that each size can hold
// some hundred kilobytes to some tens of megabytes in flight.
static const struct {
    uint64_t size;
    uint32_t count;
} class_table[TIDINGS__CLASSES - 1] = {{KIB, 512}, {8 * KIB, 256}, {64 * KIB, 64}, {512 * KIB, 32}, {4 * MIB, 16}};
#define LAST_CLASS_COUNT 16u

static uint64_t round_up(uint64_t number, uint64_t unit) { return (number + unit - 1) / unit * unit; }

static bool power_of_two(uint32_t number) { return number != 0 && (number & (number - 1)) == 0; }

static bool within(uint64_t number, uint64_t least, uint64_t most) { return number >= least && number <= most; }

int tidings__shape_from(const tidings_configuration *configuration, tidings__shape *shape) {
    static const tidings_configuration standard;
    const tidings_configuration *c = configuration ? configuration : &standard;
    *shape = (tidings__shape){
        .maximum_payload = c->maximum_payload ? c->maximum_payload : 16 * MIB,
        .slots = c->slots ? c->slots : 4096,
        .participants = c->participants ? c->participants : 512,
        .observers = c->observers ? c->observers : 1024,
        .names = c->names ? c->names : 131072,
    };
    if (!within(shape->maximum_payload, 1, PAYLOAD_MAX)) {
        return tidings__fail(EINVAL,
                             "can't use a maximum payload of %llu bytes: at most %llu (1 GiB); choose a smaller one",
                             (unsigned long long)shape->maximum_payload, (unsigned long long)PAYLOAD_MAX);
    }
    if (!within(shape->slots, SLOTS_MIN, SLOTS_MAX) || !power_of_two(shape->slots)) {
        return tidings__fail(EINVAL, "can't use %u slots: a power of two from %u to %u; choose one", shape->slots,
                             SLOTS_MIN, SLOTS_MAX);
    }
    if (!within(shape->participants, PARTICIPANTS_MIN, TIDINGS__PARTICIPANTS_MAX)) {
        return tidings__fail(EINVAL, "can't use room for %u participants: from %u to %u; change it",
                             shape->participants, PARTICIPANTS_MIN, TIDINGS__PARTICIPANTS_MAX);
    }
    if (!within(shape->observers, OBSERVERS_MIN, TIDINGS__OBSERVERS_MAX)) {
        return tidings__fail(EINVAL, "can't use room for %u observers: from %u to %u; change it", shape->observers,
                             OBSERVERS_MIN, TIDINGS__OBSERVERS_MAX);
    }
    if (!within(shape->names, NAMES_MIN, NAMES_MAX)) {
        return tidings__fail(EINVAL, "can't use room for %u names: from %u to %u; change it", shape->names, NAMES_MIN,
                             NAMES_MAX);
    }
    if (c->mode > 0777 || (c->mode != 0 && (c->mode & 0600) != 0600)) {
        return tidings__fail(EINVAL,
                             "can't use mode %04o: permission bits only, and the owner's read and write among them; "
                             "choose e.g. 0600 or 0660",
                             c->mode);
    }
    shape->buckets = BUCKETS_MIN;
    while (shape->buckets < shape->names / 16 && shape->buckets < BUCKETS_MAX) shape->buckets *= 2;
    // One step of names. A small center has fewer, which keeps its memory at 256 KiB.
    shape->names_first = shape->slots <= 512 ? NAMES_MIN : TIDINGS__NAMES_STEP;
    if (shape->names_first > shape->names) shape->names_first = shape->names;
    return 0;
}

bool tidings__shape_valid(const tidings__shape *shape) {
    return within(shape->maximum_payload, 1, PAYLOAD_MAX) && within(shape->slots, SLOTS_MIN, SLOTS_MAX) &&
           power_of_two(shape->slots) && within(shape->participants, PARTICIPANTS_MIN, TIDINGS__PARTICIPANTS_MAX) &&
           within(shape->observers, OBSERVERS_MIN, TIDINGS__OBSERVERS_MAX) &&
           within(shape->names, NAMES_MIN, NAMES_MAX) && within(shape->buckets, BUCKETS_MIN, BUCKETS_MAX) &&
           power_of_two(shape->buckets) && within(shape->names_first, NAMES_MIN, shape->names);
}

static void lay_out_classes(uint64_t maximum_payload, tidings__geometry *geometry) {
    const uint64_t last = round_up(maximum_payload + 2048, TIDINGS__PAGE);
    uint32_t last_count = LAST_CLASS_COUNT;
    geometry->class_count = 0;
    for (uint32_t i = 0; i < TIDINGS__CLASSES - 1; i++) {
        if (class_table[i].size >= last) {
            last_count = class_table[i].count;  // the last size replaces this one, so it gets the same count
            break;
        }
        geometry->classes[geometry->class_count++] = (tidings__class){.size = class_table[i].size,
                                                                      .count = class_table[i].count};
    }
    geometry->classes[geometry->class_count++] = (tidings__class){.size = last, .count = last_count};
}

void tidings__geometry_of(const tidings__shape *shape, tidings__geometry *geometry) {
    *geometry = (tidings__geometry){0};
    lay_out_classes(shape->maximum_payload, geometry);
    for (uint32_t i = 0; i < geometry->class_count; i++) {
        geometry->classes[i].first = geometry->chunk_count;
        geometry->chunk_count += geometry->classes[i].count;
    }
    // Each part begins on a page of its own. Parts have different writers, and a hostile or damaged part should not
    // share a page with another part.
    uint64_t at = round_up(sizeof(tidings__header), TIDINGS__PAGE);
    geometry->participants = at;
    at = round_up(at + (uint64_t)shape->participants * sizeof(tidings__participant), TIDINGS__PAGE);
    geometry->observers = at;
    at = round_up(at + (uint64_t)shape->observers * sizeof(tidings__observer_entry), TIDINGS__PAGE);
    geometry->buckets = at;
    at = round_up(at + (uint64_t)shape->buckets * sizeof(uint64_t), TIDINGS__PAGE);
    geometry->chunk_words = at;
    at = round_up(at + (uint64_t)geometry->chunk_count * sizeof(uint64_t), TIDINGS__PAGE);
    geometry->cells = at;
    at = round_up(at + (uint64_t)shape->slots * sizeof(tidings__cell), TIDINGS__PAGE);
    geometry->names = at;
    geometry->base_size = round_up(at + (uint64_t)shape->names_first * sizeof(tidings__name), TIDINGS__PAGE);
    at = round_up(at + (uint64_t)shape->names * sizeof(tidings__name), TIDINGS__PAGE);
    geometry->presence = at;
    at = round_up(at + (uint64_t)shape->participants * sizeof(tidings__presence), TIDINGS__PAGE);
    geometry->holds = at;
    at = round_up(at + (uint64_t)shape->participants * sizeof(tidings__holds), TIDINGS__PAGE);
    geometry->chunks = at;
    for (uint32_t i = 0; i < geometry->class_count; i++) {
        geometry->classes[i].offset = at;
        at = round_up(at + geometry->classes[i].count * geometry->classes[i].size, TIDINGS__PAGE);
    }
    // Four calls for each slot: a caller may have many in flight, and a call that waits for its reply holds no slot.
    geometry->call_count = shape->slots < TIDINGS__CALLS_MAX / 4 ? 4 * shape->slots : TIDINGS__CALLS_MAX;
    geometry->calls = at;
    at = round_up(at + (uint64_t)geometry->call_count * sizeof(tidings__call), TIDINGS__PAGE);
    geometry->call_bodies = at;
    at = round_up(at + (uint64_t)geometry->call_count * sizeof(tidings__call_body), TIDINGS__PAGE);
    geometry->file_size = at;
}

static uint32_t fold(uint32_t stamp, uint64_t number) {
    for (uint32_t i = 0; i < 8; i++) stamp = (stamp ^ (uint8_t)(number >> 8 * i)) * 16777619u;  // FNV-1a
    return stamp;
}

uint32_t tidings__layout_stamp(void) {
    const uint64_t parts[] = {
        sizeof(tidings__header),
        sizeof(tidings__participant),
        sizeof(tidings__presence),
        sizeof(tidings__observer_entry),
        sizeof(tidings__holds),
        sizeof(tidings__call),
        sizeof(tidings__call_body),
        sizeof(tidings__cell),
        sizeof(tidings__name),
        sizeof(tidings__tally),
        sizeof(tidings__shape),
        sizeof(tidings__padded),
        offsetof(tidings__header, shape),
        offsetof(tidings__header, eviction),
        offsetof(tidings__header, asleep),
        offsetof(tidings__header, lossless),
        offsetof(tidings__cell, body),
        offsetof(tidings__name, members),
        offsetof(tidings__name, key),
        TIDINGS__MAP_WORDS,
        TIDINGS__PAGE,
        TIDINGS__W_LAP_SHIFT,
        TIDINGS__EV_START_SHIFT,
        TIDINGS__NAMES_STEP,
        LAST_CLASS_COUNT,
    };
    uint32_t stamp = 2166136261u;
    for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++) stamp = fold(stamp, parts[i]);
    for (uint32_t i = 0; i < TIDINGS__CLASSES - 1; i++)
        stamp = fold(fold(stamp, class_table[i].size), class_table[i].count);
    return stamp;
}

// Each number must fit its field: chunk number + 1 in 16 bits, a name entry in 24 bits, all offsets below the lock
// bytes.
_Static_assert(TIDINGS__CHUNKS_MAX <= 65534,
               "a chunk's number fits the name entry's retained word, whatever the maximum payload");
_Static_assert(NAMES_MAX < 1u << 24, "a name entry's number fits a record");
_Static_assert(TIDINGS__PARTICIPANTS_MAX <= 1u << 12, "a participant fits a chunk word");
_Static_assert(LAST_CLASS_COUNT *(PAYLOAD_MAX + 8 * KIB) + NAMES_MAX * sizeof(tidings__name) +
                       SLOTS_MAX * sizeof(tidings__cell) + 256 * MIB <
                   TIDINGS__LOCK_BASE,
               "no center reaches the lock bytes");
