// Observer entries: takes and frees them, and finds the cursors at which eviction must stop.
#include "registry/observers.h"

#include <errno.h>

#include "platform/error.h"
#include "registry/doorbell.h"
#include "registry/name_table.h"
#include "registry/prefixes.h"
#include "segment/eviction.h"

#define BIT(index) (UINT64_C(1) << (index) % 64)

int tidings__observer_take(tidings__segment *s, uint32_t participant, uint32_t *index) {
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        uint32_t free = 0;
        if (tidings__relaxed(&s->observers[i].owner) != 0) continue;
        if (!tidings__cas(&s->observers[i].owner, &free, participant + 1)) continue;
        tidings__set_relaxed(&s->observers[i].history, 0);
        tidings__set_relaxed(&s->observers[i].serves, 0);
        tidings__set_relaxed(&s->observers[i].progress, 0);
        for (uint32_t group_wait = 0; group_wait < TIDINGS__GROUP_WAITS; group_wait++)
            tidings__set_relaxed(&s->observers[i].group_waits[group_wait], TIDINGS__NAME_NONE);
        tidings__set_release(&s->observers[i].instance, tidings__relaxed(&s->participants[participant].instance));
        *index = i;
        return 0;
    }
    return tidings__fail(EUSERS,
                         "can't observe center \"%s\": all its %u observer entries are taken; close some, or create it "
                         "with more observers",
                         s->name, s->shape.observers);
}

void tidings__observer_release(tidings__segment *s, uint32_t index) {
    tidings__fetch_and(&s->header->lossless[index / 64], ~BIT(index));
    tidings__doorbell_withdraw(s, index);
    tidings__set_relaxed(&s->observers[index].instance, 0);
    tidings__set_release(&s->observers[index].owner, 0);
}

uint64_t tidings__lossless_begin(tidings__segment *s, uint32_t index, uint64_t from) {
    _Atomic uint64_t *word = &s->header->eviction.word;
    uint64_t ev = tidings__acquire(word);
    // If the observer is lossless already and adds history for a second name, it still needs the records from its
    // cursor on.
    if (!(tidings__acquire(&s->header->lossless[index / 64]) & BIT(index)))
        tidings__set_relaxed(&s->observers[index].cursor, UINT64_MAX);
#ifdef MUTANT_LOSSLESS_CURSOR_LET_GO  // Found by: interleaving lossless_second_name
    tidings__set_relaxed(&s->observers[index].cursor, UINT64_MAX);
#endif
    tidings__fetch_or(&s->header->lossless[index / 64], BIT(index));
    for (int tries = 0;; tries++) {
        uint64_t kept = tidings__ev_start(ev) + tidings__ev_length(ev);
        if ((int64_t)(from - kept) > 0) kept = from;
        tidings__set_release(&s->observers[index].cursor, kept);
        // A range that is being evicted ends before `kept`. A thread that decided to evict before our cursor was stored
        // expects the old EV, so the new tag makes its CAS fail.
        if (tidings__ev_length(ev) > 0) {
            tidings__barrier_after_rmw();
            tidings__fence_full();
            uint64_t now = tidings__acquire(word);
            if (now == ev || tries > TIDINGS__TRIES) return kept;
            ev = now;
            continue;
        }
#ifdef MUTANT_LOSSLESS_START_WITHOUT_TAG  // Found by: interleaving lossless_history
        return kept;
#endif
        if (tidings__cas(word, &ev, tidings__ev_idle(tidings__ev_start(ev), ev + 1)) || tries > TIDINGS__TRIES)
            return kept;
    }
}

uint64_t tidings__lossless_least(const tidings__segment *s, tidings__observer_set *living, uint64_t *history,
                                 uint32_t *holder) {
    uint64_t least = *history = UINT64_MAX;
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) {
        living->words[word] = 0;
        for (uint64_t bits = tidings__acquire(&s->header->lossless[word]); bits; bits &= bits - 1) {
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
#ifndef MUTANT_OBSERVER_NUMBER_UNCHECKED  // Found by: fuzz image
            if (index >= s->shape.observers) break;
#endif
            if (!tidings__observer_alive(s, index)) continue;
            tidings__observer_set_add(living, index);
            uint64_t cursor = tidings__acquire(&s->observers[index].cursor);
            if (cursor < least) least = cursor;
            if (cursor < *history && cursor < tidings__acquire(&s->observers[index].history)) {
                *history = cursor;
                *holder = index;
            }
        }
    }
    return least;
}

uint64_t tidings__lossless_at(const tidings__segment *s, const tidings__observer_set *all, uint64_t position,
                              tidings__observer_set *here) {
    uint64_t next = UINT64_MAX;
    *here = (tidings__observer_set){0};
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) {
        for (uint64_t bits = all->words[word]; bits; bits &= bits - 1) {
            const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            const uint64_t cursor = tidings__acquire(&s->observers[index].cursor);
            if (cursor <= position)
                tidings__observer_set_add(here, index);
            else if (cursor < next)
                next = cursor;
        }
    }
    return next;
}

tidings__progress tidings__progress_of(const tidings__segment *s, uint32_t index, uint64_t end) {
    const uint64_t word = tidings__relaxed(&s->observers[index].progress);
    // Of the positions that these 32 bits can mean, the last one that is not beyond the end.
    const uint64_t back = (uint32_t)((uint32_t)end - (uint32_t)word);
    return (tidings__progress){word >> 63, (uint32_t)(word >> 32) & 0x7fffffff, back < end ? end - back : 0};
}

void tidings__observers_reclaim(tidings__segment *s, const tidings__participant_set *dead) {
    tidings__observer_set orphans = {0};
    for (uint32_t i = 0; i < s->shape.observers; i++)
        if (tidings__participant_set_has(dead, (uint64_t)tidings__acquire(&s->observers[i].owner) - 1))
            tidings__observer_set_add(&orphans, i);
#ifdef MUTANT_MEMBERS_NOT_RECLAIMED  // Found by: interleaving dead_observer
    tidings__name_reclaim(s, dead, &(tidings__observer_set){0});
#else
    tidings__name_reclaim(s, dead, &orphans);
#endif
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        // Checked again: a participant that only seems dead may give the entry up itself, and another participant may
        // take it.
        if (!tidings__observer_set_has(&orphans, i) ||
            !tidings__participant_set_has(dead, (uint64_t)tidings__acquire(&s->observers[i].owner) - 1))
            continue;
        // If the participant only seems dead because its program closed its lock, this observer may sleep. The wake-up
        // lets it find out.
        tidings__doorbell_ring(s, i);
        tidings__observer_release(s, i);
    }
    tidings__prefixes_reclaim(s, tidings__participant_set_first(dead));
}
