// Takes and leaves holds, and finds out which chunks are held.
#include "ring/hold.h"

// Sets the held bit. True if the hold counts.
static bool mark(tidings__segment *s, uint32_t chunk, uint64_t position) {
    uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        const uint32_t state = tidings__chunk_state(word);
        if (tidings__chunk_position(word) != (position & TIDINGS__CHUNK_NOWHERE)) return false;
        // The record is valid, so its owner is about to do this (`tidings__chunk_publish`), or has died before it.
        const uint32_t next = state == TIDINGS__CHUNK_OWNED ? TIDINGS__CHUNK_IN_RING : state;
        if (next != TIDINGS__CHUNK_IN_RING && next != TIDINGS__CHUNK_RETAINED) return false;
        const uint64_t held = tidings__chunk_word(position, 0, next) | TIDINGS__CHUNK_HELD;
        if (word != held && !tidings__cas(&s->chunk_words[chunk], &word, held)) continue;
        if (next == TIDINGS__CHUNK_RETAINED) return true;
#ifdef MUTANT_HOLD_OF_AN_EVICTED_RECORD  // Found by: interleaving holding_what_is_evicted
        return true;
#endif
        // Invariant H2: if p is before E, a poster may have read the entries before this entry was written.
        return (int64_t)(tidings__oldest(s) - position) <= 0;
    }
    return false;
}

// Raises the number of rows, or of entries of a row, that may be in use. A peer that sets it back makes holds
// invisible.
static void raise_end(_Atomic uint64_t *end, uint64_t to) {
    uint64_t before = tidings__acquire(end);
    for (int tries = 0; tries < TIDINGS__TRIES && before < to; tries++)
        if (tidings__cas(end, &before, to)) return;
}

bool tidings__hold_take(tidings__segment *s, uint32_t participant, uint32_t at, uint32_t chunk, uint64_t position,
                        uint64_t now) {
    // A number that a peer made up.
    if (chunk >= s->geometry.chunk_count) return false;
    const uint64_t hold = tidings__hold_word(chunk, position);
    raise_end(&s->header->holds_used.word, (uint64_t)participant + 1);
    raise_end(&s->holds[participant].held_end, (uint64_t)at + 1);
#ifdef MUTANT_HOLD_AFTER_CHECK  // Found by: interleaving holding
    if (!mark(s, chunk, position)) return false;
#endif
    if (TIDINGS__RESERVED) tidings__set_relaxed(&s->holds[participant].reserved, TIDINGS__RESERVED);
    // Relaxed: a description, for lists.
    tidings__set_relaxed(&s->holds[participant].held_since[at], now);
    uint64_t none = 0;
    // A CAS: if this program lost its participant entry a moment ago, the row may be another participant's.
    if (!tidings__cas(&s->holds[participant].held[at], &none, hold)) return false;
    // Invariant H1: the entry before the chunk word and E.
    tidings__barrier_after_rmw();
#ifdef MUTANT_HOLD_AFTER_CHECK
    return true;
#endif
    if (mark(s, chunk, position)) return true;
    tidings__hold_leave(s, participant, at, hold);
    return false;
}

void tidings__hold_leave(tidings__segment *s, uint32_t participant, uint32_t at, uint64_t hold) {
    tidings__cas(&s->holds[participant].held[at], &hold, 0);
}

// The rows that may be in use: `*end` of them. False: they can't be read.
static bool rows(tidings__segment *s, uint32_t *end) {
    const uint64_t used = tidings__acquire(&s->header->holds_used.word);
    *end = used < s->shape.participants ? (uint32_t)used : s->shape.participants;  // the shared word is untrusted
    return used == 0 || tidings__back_holds(s) == 0;
}

// The entries of a row that may be in use. Invariant H6: those of a participant that is declared dead do not count.
static uint32_t entries(const tidings__segment *s, uint32_t participant) {
    if (!(tidings__acquire(&s->participants[participant].instance) & 1)) return 0;
    const uint64_t end = tidings__acquire(&s->holds[participant].held_end);
    return end < TIDINGS__HOLDS ? (uint32_t)end : TIDINGS__HOLDS;  // the shared word is untrusted
}

bool tidings__hold_found(tidings__segment *s, uint32_t chunk, uint64_t word) {
    const uint64_t hold = tidings__hold_word(chunk, tidings__chunk_position(word));
    uint32_t end;
    // Invariant H3: the chunk word and E before the entries.
    tidings__fence_full();
    if (!rows(s, &end)) return true;
    for (uint32_t participant = 0; participant < end; participant++) {
        const uint32_t count = entries(s, participant);
        for (uint32_t at = 0; at < count; at++)
            if (tidings__acquire(&s->holds[participant].held[at]) == hold) return true;
    }
    return false;
}

// The chunk of an entry, if the chunk word still names its position. CHUNK_NONE: no hold, or one that does not count.
static uint32_t chunk_of(const tidings__segment *s, uint64_t hold) {
    const uint32_t chunk = (uint32_t)(hold & 0xffff) - 1;
    if (hold == 0 || chunk >= s->geometry.chunk_count) return TIDINGS__CHUNK_NONE;
    const uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
    return tidings__chunk_position(word) == hold >> 16 ? chunk : TIDINGS__CHUNK_NONE;
}

void tidings__holds_list(tidings__segment *s, tidings__chunk_set *held) {
    uint32_t end;
    const bool readable = rows(s, &end);
    memset(held, readable ? 0 : 0xff, sizeof *held);
    for (uint32_t participant = 0; readable && participant < end; participant++) {
        const uint32_t count = entries(s, participant);
        for (uint32_t at = 0; at < count; at++) {
            const uint32_t chunk = chunk_of(s, tidings__acquire(&s->holds[participant].held[at]));
            if (chunk != TIDINGS__CHUNK_NONE) held->words[chunk / 64] |= UINT64_C(1) << chunk % 64;
        }
    }
}

void tidings__holds_of(tidings__segment *s, uint32_t participant, uint64_t size, tidings__row *row) {
    uint32_t end;
    *row = (tidings__row){0};
    if (!rows(s, &end) || participant >= end) return;
    for (uint32_t at = 0; at < TIDINGS__HOLDS; at++) {
        const uint64_t hold = tidings__acquire(&s->holds[participant].held[at]);
        const uint32_t chunk = chunk_of(s, hold);
        const tidings__class *class = tidings__chunk_class(s, chunk);
        if (!class || class->size < size) continue;
        const uint64_t since = tidings__relaxed(&s->holds[participant].held_since[at]);
        tidings__fence_acquire();
        // The entry was cleared and used again while it was read.
        if (tidings__relaxed(&s->holds[participant].held[at]) != hold) continue;
        row->count++;
        row->bytes += class->size;
        if (row->since == 0 || since < row->since) row->since = since;
    }
}

void tidings__holds_reclaim(tidings__segment *s, const tidings__participant_set *dead) {
    uint32_t end;
    if (!rows(s, &end)) return;
    for (uint32_t participant = 0; participant < end; participant++) {
        if (!tidings__participant_set_has(dead, participant)) continue;
        for (uint32_t at = 0; at < TIDINGS__HOLDS; at++) tidings__set_release(&s->holds[participant].held[at], 0);
        tidings__set_release(&s->holds[participant].held_end, 0);
        tidings__set_relaxed(&s->holds[participant].reserved, 0);
    }
}
