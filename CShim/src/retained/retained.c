// Retained values: moves them from the ring to name entries, finds them, and frees their chunks.
#include "retained/retained.h"

#include <string.h>

#include "ring/chunk.h"
#include "ring/verdict.h"

#define POSITION48 TIDINGS__CHUNK_NOWHERE

// Invariant N7: true if the retained word has this position or a later one.
static bool newer(uint64_t retained, uint64_t position) {
    return (int64_t)((retained & ~UINT64_C(0xffff)) - (position << 16)) >= 0 && retained > TIDINGS__RETAINED_EXPECTED;
}

// Frees the chunk of a value that was replaced or cleared, if the chunk still holds that value.
static void free_chunk(tidings__segment *s, uint64_t retained) {
    uint32_t chunk = (uint32_t)(retained & 0xffff);
    if (chunk == 0 || chunk == TIDINGS__RETAINED_EXPECTED) return;
#ifndef MUTANT_RETAINED_CHUNK_UNCHECKED  // Found by: fuzz image
    if (chunk > s->geometry.chunk_count) return;
#endif
    uint64_t word = tidings__acquire(&s->chunk_words[chunk - 1]);
    for (int tries = 0; tries < TIDINGS__TRIES && tidings__chunk_state(word) == TIDINGS__CHUNK_RETAINED &&
                        tidings__chunk_position(word) == retained >> 16;
         tries++)
        if (tidings__cas(&s->chunk_words[chunk - 1], &word, tidings__chunk_freed(word))) return;
}

// Marks the chunk as retained, before the name entry changes: once EV has moved on, the state "in ring" would mean
// free. False: the chunk does not hold this record, or not any more; or a peer changes its word all the time.
static bool keep_chunk(tidings__segment *s, uint32_t chunk, uint64_t position) {
#ifndef MUTANT_PROMOTED_CHUNK_UNCHECKED  // Found by: fuzz image
    if (chunk >= s->geometry.chunk_count) return false;
#endif
    uint64_t now = tidings__acquire(&s->chunk_words[chunk]);
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        const uint32_t state = tidings__chunk_state(now);
        if (tidings__chunk_position(now) != (position & POSITION48)) return false;
        if (state == TIDINGS__CHUNK_RETAINED) return true;
        if (state != TIDINGS__CHUNK_OWNED && state != TIDINGS__CHUNK_IN_RING) return false;
        const uint64_t held = state == TIDINGS__CHUNK_IN_RING ? now & TIDINGS__CHUNK_HELD : 0;
        const uint64_t retained = tidings__chunk_word(tidings__chunk_position(now), 0, TIDINGS__CHUNK_RETAINED) | held;
        if (tidings__cas(&s->chunk_words[chunk], &now, retained)) return true;
    }
    return false;
}

void tidings__retained_promote(tidings__segment *s, uint64_t position) {
    tidings__record record;
    tidings__record_read(tidings__cell_at(s, position), &record);
    if (!tidings__slot_valid_after_copy(s, position)) return;
    tidings__name *entry = tidings__name_at(s, record.name);
    if (!entry) return;
    const bool clear = record.flags & TIDINGS__RECORD_CLEAR, in_chunk = record.flags & TIDINGS__RECORD_CHUNK;
    if (in_chunk ? !keep_chunk(s, record.chunk, position) : !clear || (int64_t)(tidings__oldest(s) - position) > 0)
        return;
    const uint64_t own = position << 16 | (in_chunk ? record.chunk + 1 : 0);
    uint64_t value = clear ? position << 16 | TIDINGS__RETAINED_EXPECTED : own;
    uint64_t old = tidings__acquire(&entry->retained);
    int tries = 0;
    do {
        if (old == value || ++tries > TIDINGS__TRIES) return;
#ifndef MUTANT_OLDER_VALUE_WINS  // Found by: interleaving values_outlive
        if (newer(old, position)) {
            free_chunk(s, own);
            return;
        }
#endif
    } while (!tidings__cas(&entry->retained, &old, value));
    free_chunk(s, old);
    if (clear) free_chunk(s, own);
}

bool tidings__retained_in(const tidings__segment *s, uint64_t retained, uint64_t *position, uint32_t *chunk) {
    const uint32_t number = (uint32_t)(retained & 0xffff);
    if (number == 0 || number == TIDINGS__RETAINED_EXPECTED || number > s->geometry.chunk_count) return false;
    *chunk = number - 1;
    const uint64_t now = tidings__oldest(s), ahead = ((retained >> 16) - now) & POSITION48;
    if (ahead < s->shape.slots) {
        // Promoted and not yet evicted. A hostile word may name a position that no poster has claimed.
        *position = now + ahead;
#ifndef MUTANT_RETAINED_BEYOND_FRONTIER  // Found by: fuzz image
        const uint64_t claim = tidings__acquire(&tidings__cell_at(s, *position)->claim);
        if (tidings__lap_ahead(claim, tidings__lap_at(s, *position)) < 0) return false;
#endif
        return true;
    }
    // Before EV. A hostile word may name a position before 0.
    const uint64_t behind = (now - (retained >> 16)) & POSITION48;
#ifndef MUTANT_RETAINED_BEFORE_ZERO  // Found by: fuzz image
    if (behind > now) return false;
#endif
    *position = now - behind;
    return true;
}

// One search. Returns 1: found; 0: there is no value; -1: the value was replaced during the search.
static int find_once(tidings__segment *s, tidings__name *entry, uint32_t index, uint64_t from, uint64_t limit,
                     uint64_t *position, uint32_t *chunk, tidings__record *record) {
    uint64_t oldest = tidings__oldest(s);
    // Records in the ring are newer than the entry's value, so the ring is searched first, from the newest position on.
    // A value that is evicted meanwhile is in the entry when the search gets there.
    uint64_t end = tidings__frontier(s, oldest);
    if (limit < end) end = limit;
    if ((int64_t)(end - oldest) > (int64_t)s->shape.slots) oldest = end - s->shape.slots;
    if ((int64_t)(from - oldest) > 0) oldest = from;
    for (uint64_t p = end; p > oldest && p-- > 0;) {
        if (tidings__slot_status(s, p) != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
        if (tidings__route_name(route) != index || !(tidings__route_flags(route) & TIDINGS__RECORD_RETAIN)) continue;
        tidings__record_read(tidings__cell_at(s, p), record);
        if (!tidings__slot_valid_after_copy(s, p)) continue;
        *position = p;
        *chunk = record->chunk;
        return !(record->flags & TIDINGS__RECORD_CLEAR);
    }
    if (!tidings__retained_in(s, tidings__acquire(&entry->retained), position, chunk)) return 0;
    if (!tidings__chunk_record(s, *chunk, record)) return 0;
    record->name = index;  // whatever a hostile chunk says
    if (!tidings__chunk_holds(s, *chunk, *position)) return -1;
    return *position >= from && *position < limit;
}

bool tidings__retained_find(tidings__segment *s, uint32_t index, uint64_t from, uint64_t limit, uint64_t *position,
                            uint32_t *chunk, tidings__record *record) {
    tidings__name *entry = tidings__name_at(s, index);
    if (!entry) return false;
    // A further round is needed only if the value was replaced during the search, by a value that was posted after the
    // search had begun and has been evicted since. In a small ring that can happen again.
    for (uint32_t round = 0; round < 4 + (1u << 16) / s->shape.slots; round++) {
        uint64_t seen = tidings__acquire(&entry->retained);
        int found = find_once(s, entry, index, from, limit, position, chunk, record);
        if (found >= 0) return found;
        // The entry is unchanged, but its chunk holds another record: the center is damaged, so no third search of the
        // ring. In an honest center, the entry changes before its chunk is freed.
        if (tidings__acquire(&entry->retained) == seen && round >= 1) return false;
    }
    return false;
}

uint32_t tidings__reclaim_retained(tidings_center *center) {
    tidings__segment *s = &center->segment;
    uint32_t freed = 0;
    for (uint32_t chunk = 0; chunk < s->geometry.chunk_count; chunk++) {
        uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
        if (tidings__chunk_state(word) != TIDINGS__CHUNK_RETAINED || !tidings__chunk_before(word, tidings__oldest(s)))
            continue;
        tidings__record record;
        if (!tidings__chunk_record(s, chunk, &record)) continue;
        tidings__name *entry = tidings__name_at(s, record.name);
        uint64_t expected = tidings__chunk_position(word) << 16 | (chunk + 1);
        // Promotion writes the entry before EV moves on, and EV has moved on. So if the entry does not name the chunk
        // now, it never will.
        if (entry && tidings__acquire(&entry->retained) == expected) continue;
        if (tidings__cas(&s->chunk_words[chunk], &word, tidings__chunk_freed(word))) freed++;
    }
    return freed;
}
