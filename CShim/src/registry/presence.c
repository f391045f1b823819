// Presence entries: their state, and the death of their participants. Declared and described in presence.h.
#include "registry/presence.h"

#include "platform/futex.h"

uint32_t tidings__presence_end(tidings__segment *s) {
    // Clamp: the shared word is untrusted.
    const uint64_t used = tidings__acquire(&s->header->presence_used.word);
    if (used == 0 || tidings__back_presence(s) != 0) return 0;
    return used < s->shape.participants ? (uint32_t)used : s->shape.participants;
}

bool tidings__presence_dead(const tidings__segment *s, uint32_t index) {
    const tidings__presence_line *line = tidings__presence_line_at(s, index);
    if ((tidings__acquire(&line->life[0]) | tidings__acquire(&line->life[2])) & TIDINGS__LIFE_DIED) return true;
    // Its participant entry was declared dead, reclaimed or taken again. So the lock was free.
    return tidings__acquire(&s->participants[index].instance) != tidings__acquire(&s->presence[index].announcement);
}

bool tidings__report_move(tidings__segment *s, uint32_t index, uint64_t report, uint64_t to) {
    tidings__presence *entry = &s->presence[index];
    if (!tidings__cas(&entry->report, &report, to)) return false;
    tidings__futex_wake(tidings__report_futex(entry), TIDINGS__REPORT_WAKES);
    return true;
}

void tidings__presence_posted(tidings__segment *s, uint32_t index, uint32_t kind, uint64_t position) {
    if (index >= tidings__presence_end(s)) return;
    tidings__presence *entry = &s->presence[index];
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        const uint64_t report = tidings__acquire(&entry->report);
        const uint32_t state = tidings__report_state(report), owner = tidings__report_owner(report);
        // A record of an earlier announcement at this index, or of an earlier state.
        if (tidings__report_distance(report, position) < 0) return;
        uint64_t to;
        if (kind & TIDINGS__RECORD_NOTICE && state == TIDINGS__PRESENCE_JOINING)
            to = tidings__report_next(report, tidings__report_bits(tidings__acquire(&entry->announcement)), index,
                                      TIDINGS__PRESENCE_PRESENT);
        else if (kind & TIDINGS__RECORD_NOTICE && state == TIDINGS__PRESENCE_DYING && tidings__acquire(&entry->will))
            to = tidings__report_next(report, position + 1, owner, TIDINGS__PRESENCE_WILL);
        else if (kind & TIDINGS__RECORD_NOTICE ? state == TIDINGS__PRESENCE_DYING || state == TIDINGS__PRESENCE_LEAVING
                                               : state == TIDINGS__PRESENCE_WILL)
            to = tidings__report_next(report, 0, owner, TIDINGS__PRESENCE_LEFT);
        else
            return;
        if (tidings__report_move(s, index, report, to)) return;
    }
}

void tidings__will_free(tidings__segment *s, uint32_t index, uint64_t report) {
    tidings__presence *entry = &s->presence[index];
    const uint64_t will = tidings__acquire(&entry->will);
    if (will == 0 || will > s->geometry.chunk_count) return;
    uint64_t word = tidings__will_word(tidings__acquire(&entry->announcement), index);
    // Invariant P6: both words were of this announcement if the report is unchanged. And the chunk word carries bits of
    // the announcement. So the chunk of a later will is not freed.
    tidings__fence_acquire();
#ifndef MUTANT_WILL_FREED_UNCHECKED  // Found by: interleaving a_will_of_a_successor
    if (tidings__acquire(&entry->report) != report) return;
#else
    (void)report;
#endif
    (void)tidings__cas(&s->chunk_words[will - 1], &word, 0);
}
