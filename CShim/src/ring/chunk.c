// Takes, frees and checks chunks, and finds out which ones eviction frees first.
#include "ring/chunk.h"

#include <errno.h>

#include "platform/error.h"
#include "ring/hold.h"
#include "ring/verdict.h"

// Eviction for a chunk frees those with the oldest positions: 1/SHARE of the class. One search of the class then serves
// several posts. The cost is that this much history is evicted earlier than necessary.
#define SHARE 16u
#define SOONEST_MAX 32u
typedef struct soonest {
    uint32_t count, most;
    uint32_t first;                  // the chunk with the least distance
    uint64_t distance[SOONEST_MAX];  // from E to the chunk's position, ascending
} soonest;

// Notes a chunk, in the order of distances. Returns the distance from which on no further chunk need be noted: `beyond`
// while `found` has room.
static uint64_t note(soonest *found, uint32_t chunk, uint64_t distance, uint64_t beyond) {
    uint32_t at = found->count < found->most ? found->count++ : found->most - 1;
    for (; at > 0 && found->distance[at - 1] > distance; at--) found->distance[at] = found->distance[at - 1];
    found->distance[at] = distance;
    if (at == 0) found->first = chunk;
    return found->count < found->most ? beyond : found->distance[found->most - 1];
}

static uint32_t share_of(const tidings__class *class) {
    const uint32_t share = class->count / SHARE;
    return share == 0 ? 1 : share < SOONEST_MAX ? share : SOONEST_MAX;
}

// Tries to find `room` without a search of the whole class. A single poster uses the chunks of a class in turn, and
// several posters nearly do, so the next few chunks are the oldest ones. They are accepted if all are in the ring, and
// lie within a twelfth of the distance from E to the chunk taken last (in perfect order: a sixteenth). The shared words
// are untrusted: `reach` is bounded by the number of slots, as in the search of all chunks.
static bool room_in_order(const tidings__segment *s, const tidings__class *class, uint32_t turn, uint32_t next,
                          uint64_t start, tidings__chunk_room *room) {
    const _Atomic uint64_t *words = &s->chunk_words[class->first];
    uint64_t word = tidings__acquire(&words[turn ? turn - 1 : class->count - 1]);  // the chunk this process took last
    const uint64_t reach = (uint64_t)tidings__chunk_distance(word, start);
    if (tidings__chunk_state(word) != TIDINGS__CHUNK_IN_RING || reach >= s->shape.slots) return false;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = share_of(class); i > 0; i--) {
        word = tidings__acquire(&words[next]);
        next = next + 1 < class->count ? next + 1 : 0;
        const uint64_t distance = (uint64_t)tidings__chunk_distance(word, start);
        // A chunk that may be held: eviction would perhaps not free it. The search of all chunks knows.
        if (tidings__chunk_state(word) != TIDINGS__CHUNK_IN_RING || word & TIDINGS__CHUNK_HELD || distance > reach / 12)
            return false;
        if (distance < least) least = distance;
        if (distance > most) most = distance;
    }
    room->least = start + least + 1;
    room->most = start + most + 1;
    return true;
}

// The chunks that participants hold, read once in a search of all chunks, and only if one has the held bit. A stale
// list makes eviction free a chunk that is held, or leave one out that is not.
typedef struct held_chunks {
    bool read;
    tidings__chunk_set set;
} held_chunks;

static __attribute__((noinline)) bool seems_held(tidings__segment *s, held_chunks *held, uint32_t chunk) {
    if (!held->read) tidings__holds_list(s, &held->set);
    held->read = true;
    return tidings__chunk_set_has(&held->set, chunk);
}

#define TRUST 15u  // uses of `room_in_order` for each search of the whole class

int tidings__chunk_take(tidings__segment *s, uint32_t participant, uint64_t size, tidings__chunk_turns *turns,
                        uint32_t *chunk, tidings__chunk_room *room) {
    bool any_class = false;
    int unbacked = 0;
    held_chunks held;
    held.read = false;
    room->least = room->most = 0;
    room->order = NULL;
    for (uint32_t c = 0; c < s->geometry.class_count; c++) {
        const tidings__class *class = &s->geometry.classes[c];
        if (class->size < size) continue;
        any_class = true;
        uint64_t start = tidings__oldest(s);
        soonest found;
        found.count = 0;
        found.most = share_of(class);
        uint64_t beyond = s->shape.slots;
        const uint32_t turn = tidings__relaxed(&turns->next[c]);
        uint32_t next = turn;
        for (uint32_t i = 0; i < class->count; i++) {
            const uint32_t candidate = class->first + next;
            uint64_t word = tidings__acquire(&s->chunk_words[candidate]);
            const uint32_t state = tidings__chunk_state(word);
            // Negative: evicted. The word holds 48 bits of a position, which is less than 2^47 away from `start`.
            const int64_t distance = state == TIDINGS__CHUNK_IN_RING ? tidings__chunk_distance(word, start) : INT64_MIN;
            // Eviction does not free a held chunk.
            if (distance >= 0 &&
                (__builtin_expect(!(word & TIDINGS__CHUNK_HELD), 1) || !seems_held(s, &held, candidate))) {
                // The shortcut is tried only at the first chunk in the ring that is not free. Any chunks checked before
                // it are being filled, retained or held. Relaxed: a stale `order` only decides whether to search all.
                const uint32_t trust = found.count == 0 ? tidings__relaxed(&turns->order[c]) : 0;
                if (trust && room_in_order(s, class, turn, next, start, room)) {
                    tidings__set_relaxed(&turns->order[c], trust - 1);
                    room->order = &turns->order[c];
                    return -EAGAIN;
                }
                if ((uint64_t)distance < beyond) beyond = note(&found, candidate, (uint64_t)distance, beyond);
            }
            next = next + 1 < class->count ? next + 1 : 0;
            // Invariant F5: nor one in an unknown state.
            if (state == TIDINGS__CHUNK_IN_RING ? !tidings__chunk_before(word, start)
                                                : state != TIDINGS__CHUNK_FREE && state != TIDINGS__CHUNK_DROPPED)
                continue;
#ifndef MUTANT_HELD_CHUNK_TAKEN  // Found by: interleaving holding
            // Invariant H3: after E (`start`) and the word. Invariant H4: so no hold of it begins any more.
            if (__builtin_expect((word & TIDINGS__CHUNK_HELD) != 0, 0)) {
                // Once one is held, the list tells which others are: the rows are not read for each chunk.
                if (held.read && tidings__chunk_set_has(&held.set, candidate)) continue;
                if (tidings__hold_found(s, candidate, word)) {
                    (void)seems_held(s, &held, candidate);
                    continue;
                }
            }
#endif
            // If backing a chunk has failed once, only chunks that already have memory are tried. A class has up to 512
            // chunks, and asking for memory for each one would be slow.
            if (unbacked && !tidings__chunk_has_memory(s, candidate, size)) continue;
            // Invariant R11: the CAS makes this participant the only one that writes the chunk.
            uint64_t owned = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, participant, TIDINGS__CHUNK_OWNED);
            if (!tidings__cas(&s->chunk_words[candidate], &word, owned)) continue;
            int error = tidings__back_chunk(s, candidate, size);
            if (error) {
                tidings__chunk_release(s, participant, candidate);
                unbacked = error;
                continue;
            }
            // The release fence orders the chunk word before the first byte. A reading thread that sees a byte of this
            // owner and then loads the chunk word sees this owner's word.
            tidings__fence_release();
            // Relaxed: a hint of this process, for speed only.
            tidings__set_relaxed(&turns->next[c], next);
            *chunk = candidate;
            return 0;
        }
        if (found.count != 0) {
            tidings__set_relaxed(&turns->next[c], found.first - class->first);
            tidings__set_relaxed(&turns->order[c], TRUST);
            room->least = start + found.distance[0] + 1;
            room->most = start + found.distance[found.count - 1] + 1;
            return -EAGAIN;
        }
        // All chunks of this size are being filled, retained or held: try the next size.
    }
    if (unbacked) return unbacked;
    if (any_class) return -EAGAIN;
    return tidings__fail(
        EMSGSIZE,
        "can't post %llu bytes to center \"%s\": its maximum is %llu; create it with a larger maximum_payload",
        (unsigned long long)size, s->name, (unsigned long long)s->shape.maximum_payload);
}

void tidings__chunk_release(tidings__segment *s, uint32_t participant, uint32_t chunk) {
    uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
    for (int tries = 0; tries < TIDINGS__TRIES && tidings__chunk_state(word) == TIDINGS__CHUNK_OWNED &&
                        tidings__chunk_owner(word) == participant;
         tries++) {
        if (tidings__cas(&s->chunk_words[chunk], &word, 0)) return;
    }
}

bool tidings__chunk_record(tidings__segment *s, uint32_t chunk, tidings__record *record) {
    if (tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER) != 0) return false;
    uint64_t capacity;
    tidings__record_header header;
    tidings__bytes_read(&header, tidings__chunk_bytes(s, chunk, &capacity), sizeof header);
    tidings__record_unpack(header, chunk, record);
    return true;
}

bool tidings__chunk_holds(const tidings__segment *s, uint32_t chunk, uint64_t position) {
    if (chunk >= s->geometry.chunk_count) return false;
    tidings__fence_acquire();
    uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
    const uint32_t state = tidings__chunk_state(word);
    return state != TIDINGS__CHUNK_FREE && state != TIDINGS__CHUNK_DROPPED &&
           tidings__chunk_position(word) == (position & TIDINGS__CHUNK_NOWHERE);
}

void tidings__chunk_reclaim(tidings__segment *s, const tidings__participant_set *dead) {
    for (uint32_t chunk = 0; chunk < s->geometry.chunk_count; chunk++) {
        uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
        if (tidings__chunk_state(word) != TIDINGS__CHUNK_OWNED ||
            !tidings__participant_set_has(dead, tidings__chunk_owner(word)))
            continue;
        uint64_t desired = 0;
        if (tidings__chunk_position(word) != TIDINGS__CHUNK_NOWHERE) {
            // Extends the 48 bits to a full position near E. If that position is committed, the chunk becomes "in
            // ring". If it has been evicted, or was never committed, the chunk becomes free.
            uint64_t start = tidings__oldest(s);
            uint64_t distance = (tidings__chunk_position(word) - start) & TIDINGS__CHUNK_NOWHERE;
            bool in_ring = distance < s->shape.slots && tidings__slot_status(s, start + distance) == TIDINGS__VALID;
#ifdef MUTANT_ORPHAN_CHUNK_POSITION_UNCHECKED  // Found by: fuzz opening
            in_ring = tidings__relaxed(&s->cells[distance].commit) >> 1 == start + distance;
#endif
            if (in_ring) desired = tidings__chunk_word(tidings__chunk_position(word), 0, TIDINGS__CHUNK_IN_RING);
        }
        // Not tried again: if the word has changed, eviction has promoted the chunk, or a holder has published it.
        tidings__cas(&s->chunk_words[chunk], &word, desired);
    }
}
