// What a post does when a lossless observer holds it back: detects dead observers, waits, or fails.
#include "eviction/backpressure.h"

#include <errno.h>

#include "center/ends.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "registry/observers.h"
#include "registry/participants.h"

uint64_t tidings__deadline(const tidings_post_options *options) {
    if (!options || options->timeout_ns == 0) return 0;
    if (options->timeout_ns < 0) return UINT64_MAX;
    uint64_t now = tidings__monotonic_ns();
    return now + (uint64_t)options->timeout_ns < now ? UINT64_MAX - 1 : now + (uint64_t)options->timeout_ns;
}

// The participant of an observer entry's `owner` word, and its process. A hostile word gives participant 0.
static uint32_t participant_of(const tidings__segment *s, uint32_t owner) {
#ifdef MUTANT_OWNER_NUMBER_UNCHECKED  // Found by: fuzz image
    return owner - 1;
#endif
    return owner - 1 < s->shape.participants ? owner - 1 : 0;
}

// A failure with its holder. `how`: the rest of the error line, after the process.
static int held_by(const tidings_center *center, uint32_t owner, int error, const char *how) {
    const tidings__segment *s = &center->segment;
    const uint32_t participant = participant_of(s, owner);
    const uint32_t pid = tidings__relaxed(&s->participants[participant].pid);
    error = tidings__fail(error, "can't post to center \"%s\": a lossless observer (process %u) %s", s->name, pid, how);
    return tidings__error_held_by(error, participant, pid, owner - 1 == center->participant);
}

#define PASSED_MOST 64u

int tidings__held_back(tidings_center *center, uint32_t holder, uint64_t deadline, tidings__effort *effort) {
    tidings__segment *s = &center->segment;
    tidings__observer_entry *entry = &s->observers[holder];
    uint32_t owner = tidings__acquire(&entry->owner);
    // A dead observer must not hold a post back. Its death is detected here.
#ifdef MUTANT_DEAD_OBSERVER_HOLDS_POSTS  // Found by: interleaving dead_lossless
    const bool died = false;
#else
    const bool died = owner != 0 && tidings__participant_dead(s, owner - 1, center->participant);
#endif
    // One walk along all names reclaims all dead participants, once a post. A participant that dies later is declared
    // dead here, and the next post reclaims it.
    if (died && effort->passed == 0) (void)tidings__reclaim_dead(center);
    // An observer that closes clears its lossless bit before it gives up its entry.
    const bool gone = !(tidings__acquire(&s->header->lossless[holder / 64]) >> holder % 64 & 1) ||
                      !tidings__observer_alive(s, holder);
    // A hostile peer can create dead observers as fast as a post finds them. The walk above has reclaimed all earlier
    // ones. So a post retries for at most PASSED_MOST of them, and for none after its deadline.
    if (gone && effort->passed++ < PASSED_MOST &&
        (deadline == 0 || deadline == UINT64_MAX || tidings__monotonic_ns() < deadline))
        return 0;
    if (tidings__end_known(center)) return tidings__end_fail(center, "post to");
    if (deadline == 0)
        return held_by(center, owner, EAGAIN, "is a whole ring behind; give a timeout, or let it catch up");
    // Checked before the cursor: a cursor that moves back and forth must not hold the post beyond its deadline.
    if (deadline != UINT64_MAX && tidings__monotonic_ns() >= deadline)
        return held_by(center, owner, ETIMEDOUT, "stayed a whole ring behind for the whole timeout; let it catch up");
    // The bounds are for a post that does not wait.
    effort->length = effort->wasted = effort->begun = effort->rounds = 0;
    uint64_t cursor = tidings__acquire(&entry->cursor);
    // The cursor usually moves within a microsecond, so poll it before sleeping. Not on a single processor, which the
    // observer needs for its progress.
    if (tidings__processors() > 1) {
        for (int i = 0; i < 300; i++) {
            if (tidings__acquire(&entry->cursor) != cursor) return 0;
            tidings__cpu_relax();
        }
    }
    const uint64_t now = tidings__monotonic_ns();
    // Sleeps for at most a millisecond at a time, so that the observer's death is detected. The observer wakes this
    // word when its cursor has moved.
    const uint64_t left = deadline > now ? deadline - now : 0, step = left < 1000000 ? left : 1000000;
    _Atomic uint32_t *waiting = tidings__waiting_posters(s, holder);
    uint32_t value = tidings__fetch_or(waiting, 1) | 1;
    if (tidings__acquire(&entry->cursor) == cursor) tidings__futex_wait(waiting, value, (int64_t)step);
    tidings__end_look_seldom(center);
    return 0;
}
