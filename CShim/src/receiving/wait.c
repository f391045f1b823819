// Waits for a claim to be committed and for the next notification: the observer spins for a moment, then sleeps.
// design/3-wake-ups.md.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "center/ends.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/event.h"
#include "platform/futex.h"
#include "receiving/kind.h"
#include "receiving/reader.h"
#include "registry/observers.h"
#include "ring/verdict.h"

#define BURST 4  // consecutive notifications that show that more will follow
// How long the observer waits after such a burst before it polls again (see `spin`). Measured: half as long is too
// short. With it, a lossless stream from one poster to one observer takes 87 ns per message in place of 204, on a
// machine where moving a cache line takes 100 ns.
#define BURST_NS 5000u
#define SPIN_LONGEST_NS 20000u  // longest spin before sleeping: four times the cost of a wake-up
#define SPIN_WORTH_NS 50000u    // spin only if the last wait was shorter

bool tidings__rung(const tidings_observer *o, uint32_t announced) { return o->kind->rung(o, announced); }

void tidings__sleep(tidings_observer *o, uint32_t announced, int64_t timeout_ns) {
    const bool watched = tidings__end_watched(o->center) && !tidings__relaxed(&o->center->doubted_at);
    if (!watched && (timeout_ns < 0 || timeout_ns > TIDINGS__END_ASK_NS)) timeout_ns = TIDINGS__END_ASK_NS;
    o->kind->sleep(o, announced, timeout_ns);
    if (!watched) tidings__end_look_seldom(o->center);
}

void tidings__cursor_begin(tidings_observer *o) {
    o->published = o->cursor;
    o->publish_at = o->publish_step ? o->cursor + o->publish_step : UINT64_MAX;
    o->take_at = o->lossless ? 0 : o->publish_at;
    if (o->publish_step) tidings__progress_set(&o->center->segment, o->index, o->cursor, o->reported);
}

void tidings__publish_cursor(tidings_observer *o, bool wake) {
    if (!o->publish_step || (o->published == o->cursor && (!o->lossless || !wake || o->woken == o->cursor))) return;
#ifdef MUTANT_POSITION_NOT_PUBLISHED  // Found by: fault-injection an_observer_shows_how_far_it_is_and_what_it_missed
    if (!o->lossless) return;
#endif
    tidings__segment *s = &o->center->segment;
    if (!tidings__has_place(o->center)) return;
    if (o->lossless) tidings__lossless_advance(s, o->index, o->cursor);
    tidings__cursor_begin(o);
    if (!o->lossless) return;
    // Not every advance wakes a waiting poster: a wake-up costs as much as hundreds of posts.
    if (!wake && o->cursor - o->woken < s->shape.slots / 4) return;
    o->woken = o->cursor;
    // The cursor is stored before `waiting` is read: a poster announces itself, then reads the cursor. A poster waits
    // in steps, so a missed wake-up would cost it a millisecond.
    tidings__fence_full();
    _Atomic uint32_t *waiting = tidings__waiting_posters(s, o->index);
    uint32_t value = tidings__relaxed(waiting);
    if (value & 1 && tidings__cas(waiting, &value, (value + 2) & ~1u)) tidings__futex_wake(waiting, INT_MAX);
}

static bool take_interrupt(tidings_observer *o) {
    return tidings__relaxed(&o->interrupted) && tidings__fetch_and(&o->interrupted, 0);
}

int tidings__look_for(tidings_observer *o, uint64_t limit, tidings_delivery *d) {
    int result = tidings__advance(o, tidings__table_use(o), limit, d);
    tidings__table_leave(o);
    if (__builtin_expect(result < 0, 0))
        tidings__fail(-result, "can't deliver from center \"%s\": no memory", o->center->segment.name);
    return result;
}

// Polls the cursor's cell for a while. True: the cell changed, the wait was interrupted, or the center has ended.
static bool spin(tidings_observer *o, uint32_t nanoseconds, uint64_t deadline) {
    const tidings__segment *s = &o->center->segment;
    tidings__cell *cell = tidings__cell_at(s, o->cursor);
    uint64_t lap = tidings__lap_at(s, o->cursor);
    // An observer that spins without end checks for the end of its center in between.
    const uint32_t round = nanoseconds == TIDINGS__SPIN_FOREVER ? SPIN_LONGEST_NS : nanoseconds;
    uint64_t until = 0;
    // If a poster posts without a pause and the observer has caught up, the observer waits for a moment first. Directly
    // behind the poster, it would take each line that the poster is about to write. Both would then run at the speed of
    // cache line transfers. A few microseconds behind, lines arrive in whole batches. If this handle has posted since
    // the last wait, the next notification may be the answer: the observer does not wait.
    const bool posted = (int64_t)(tidings__relaxed(&o->center->hint) - o->dry_at) > 0;
    if (o->cursor - o->dry_at >= BURST && !posted) {
        uint64_t begun = tidings__monotonic_ns();
        while (tidings__monotonic_ns() - begun < BURST_NS) tidings__cpu_relax();
    }
    o->dry_at = o->cursor;
    for (uint32_t i = 1;; i++) {
        // Check the commit first: a claimed cell alone is no reason to return.
        if (tidings__c_is(tidings__acquire(&cell->commit), o->cursor)) return true;
        // Polling without a pause would take the line back between claim and commit. The poster would have to fetch it
        // twice.
        tidings__cpu_relax();
        if (i % 16 != 0) continue;
        if (tidings__lap_ahead(tidings__acquire(&cell->claim), lap) >= 0 || tidings__relaxed(&o->interrupted) ||
            tidings__end_known(o->center))
            return true;
        uint64_t now = tidings__monotonic_ns();
        if (until == 0) until = now + round < deadline ? now + round : deadline;
        if (now >= until) return false;
    }
}

static uint32_t spin_time(const tidings_observer *o) {
    if (o->spin_ns == 0 || o->spin_ns == TIDINGS__SPIN_FOREVER) return o->spin_ns;
    if (tidings__processors() < 2) return 0;
    if (o->spin_ns != TIDINGS__SPIN_ADAPTIVE) return o->spin_ns;
    return o->last_wait_ns < SPIN_WORTH_NS ? SPIN_LONGEST_NS : 0;
}

// All posted records have been delivered: checks whether the center has ended. Before a sleep, it must follow the
// announcement: the thread or remover that notes the end wakes sleepers afterwards.
static int over(tidings_observer *o) {
    return tidings__end_doubted(o->center) ? tidings__end_fail(o->center, "go on observing") : 0;
}

// Invariant A12. After a check of the ring that found nothing. If the center has ended, checks the ring again: a record
// that was committed after the first check, and before the end, is delivered before -ESTALE.
static int end_after_check(tidings_observer *o, tidings_delivery *d) {
    const int ended = over(o);
    if (__builtin_expect(ended == 0, 1)) return TIDINGS__NOTHING;
    // Pairs with the release store of `ended`: this check sees each record that was committed before the end.
    tidings__fence_acquire();
    const int result = tidings__look_for(o, o->cursor + UINT32_MAX, d);
    return result == TIDINGS__NOTHING ? ended : result;
}

int tidings__announce(tidings_observer *o, uint32_t *announced, tidings_delivery *d) {
    *announced = 0;
    // Invariant W7: each word before the last check. Our own futex first: a thread that interrupts, or that changes a
    // reader's table, changes this futex afterwards.
    tidings__set_relaxed(&o->own_heard, tidings__acquire(&o->sleeper.own_futex));
    int result = o->kind->hear(o, announced);
    if (result) return result;
    result = o->kind->look(o, d);
    return result == TIDINGS__NOTHING ? end_after_check(o, d) : result;
}

void tidings__withdraw(tidings_observer *o) { o->kind->withdraw(o); }

// Announces, checks the ring once more, and sleeps. Returns TIDINGS__DELIVERED, IN_FLIGHT or an error. NOTHING: slept,
// or not; the caller checks again.
static int sleep_once(tidings_observer *o, uint64_t deadline, tidings_delivery *d) {
    uint32_t announced;
    int result = tidings__announce(o, &announced, d);
    if (result == TIDINGS__NOTHING) {
        tidings__publish_cursor(o, true);
        int64_t timeout = -1;
        uint64_t now = tidings__monotonic_ns();
        if (deadline != UINT64_MAX) timeout = now < deadline ? (int64_t)(deadline - now) : 0;
        if (timeout != 0 && !tidings__relaxed(&o->interrupted)) {
            tidings__sleep(o, announced, timeout);
            o->last_wait_ns = tidings__monotonic_ns() - now;
        }
    }
    tidings__withdraw(o);
    return result;
}

// Bounds the retries before the deadline is checked again: a peer may change the claimed cell for ever.
#define TURNS 1000u
// The same after laps for which so many subscriptions were visited: that takes about 5 ms.
#define VISITED_MOST 50000u

// Checks the ring once more after the end is known: records posted before the end come first. Returns
// TIDINGS__DELIVERED or an error. TIDINGS__IN_FLIGHT: a poster is still at work. TIDINGS__NOTHING: the mark of the end
// was taken back, by a remover that could not unlink or by a hostile peer.
static __attribute__((noinline, cold)) int end_of(tidings_observer *o, tidings_delivery *d) {
    tidings__fence_acquire();
    const int result = tidings__look_for(o, o->cursor + UINT32_MAX, d);
    if (result == TIDINGS__DELIVERED || result < 0) return result;
    // A reader can't revoke, and after the end no poster revokes for it.
    if (result == TIDINGS__IN_FLIGHT && !(o->pending_claim.over && o->pending_claim.at == o->cursor)) return result;
    if (o->descriptor) tidings__event_signal(tidings__descriptor_number(o));
    return over(o);
}

// A thread that is adding history uses the observer's buffer with the lock held.
static __attribute__((noinline, cold)) void begin(tidings_observer *o) {
    pthread_mutex_lock(&o->lock);
    tidings__set_relaxed(&o->started, true);
    pthread_mutex_unlock(&o->lock);
}

static int next(tidings_observer *o, int64_t timeout_ns, tidings_delivery *d) {
    const int forked = tidings__observer_own(o);
    if (forked) return forked;
    if (!tidings__relaxed(&o->started)) begin(o);
    if (tidings__relaxed(&o->removed) != NULL) tidings__subscriptions_free(o);
    tidings__place_leave(o);
    if (o->descriptor) tidings__descriptor_disarm(o);
    uint64_t deadline = timeout_ns < 0 ? UINT64_MAX : 0;
    uint64_t spun_at = UINT64_MAX;
    uint32_t turns = 0;
    o->visited = 0;
    for (;;) {
        if (take_interrupt(o)) return -EINTR;
        int result = tidings__look_for(o, o->cursor + UINT32_MAX, d);
        if (result == TIDINGS__DELIVERED) return 0;
        if (result < 0) return result;
        if (timeout_ns > 0 && deadline == 0) {
            uint64_t now = tidings__monotonic_ns();
            deadline = now + (uint64_t)timeout_ns < now ? UINT64_MAX : now + (uint64_t)timeout_ns;
        }
        if (result == TIDINGS__IN_FLIGHT) {
            tidings__wait_claimed(o->center, &o->pending_claim, o->cursor, timeout_ns != 0);
            if (turns++ < TURNS && o->visited <= VISITED_MOST &&
                tidings__slot_status(&o->center->segment, o->cursor) != TIDINGS__CLAIMED)
                continue;
            if (o->pending_claim.over && o->pending_claim.at == o->cursor && tidings__reader_pass(o, timeout_ns != 0))
                continue;
        } else if (o->lossless || timeout_ns == 0) {
            // An observer that is awake and not lossless publishes its cursor in steps only.
            tidings__publish_cursor(o, true);
        }
        if (tidings__end_doubted(o->center)) {
            result = end_of(o, d);
            if (result == TIDINGS__DELIVERED) return 0;
            if (result < 0) return result;
        }
        if (timeout_ns == 0) return o->descriptor ? tidings__descriptor_arm(o, d) : -EAGAIN;
        if (result == TIDINGS__NOTHING) {
            uint32_t nanoseconds = spin_time(o);
            // Spin once per cursor: if `spin` sees a change and the check does not, the cell's words contradict each
            // other.
            if (nanoseconds != 0 && spun_at != o->cursor && spin(o, nanoseconds, deadline)) {
                spun_at = o->cursor;
                continue;
            }
            if (nanoseconds == TIDINGS__SPIN_FOREVER) {
                if (deadline != UINT64_MAX && tidings__monotonic_ns() >= deadline) return -ETIMEDOUT;
                continue;
            }
            result = sleep_once(o, deadline, d);
            if (result == TIDINGS__DELIVERED) return 0;
            if (result < 0) return result;
            if (result == TIDINGS__IN_FLIGHT && turns++ < TURNS && o->visited <= VISITED_MOST) continue;
        }
        if (deadline != UINT64_MAX && tidings__monotonic_ns() >= deadline) {
            // A last check: a record committed before the deadline is delivered now.
            result = tidings__look_for(o, o->cursor + UINT32_MAX, d);
            return result == TIDINGS__DELIVERED ? 0 : -ETIMEDOUT;
        }
    }
}

// All but the plain deliveries. Afterwards, decides whether the next one may be plain: after a payload that fits no
// cell, another one is likely.
static __attribute__((noinline)) int next_otherwise(tidings_observer *o, int64_t timeout_ns, tidings_delivery *d) {
    const int result = next(o, timeout_ns, d);
    const bool likely = result == 0 ? d->size <= TIDINGS__BODY_SIZE : o->plain;
    o->plain = likely && !o->telling && o->skipped_count == 0 && !o->descriptor && !o->matches &&
               o->matched_capacity > 0;
    return result;
}

// True if the next delivery may be plain. In a forked child, `plain` may still be set: compares the epoch first.
static inline bool may_be_plain(const tidings_observer *o) {
    return o->plain && o->fork_epoch == tidings__relaxed(&tidings__fork_epoch) &&
           tidings__relaxed(&o->removed) == NULL && !tidings__relaxed(&o->interrupted);
}

int tidings_next(tidings_observer *o, int64_t timeout_ns, tidings_delivery *d) {
#ifdef MUTANT_SLOW_NEXT  // Found by: instructions next_64
    for (volatile int turns = 0; turns < 6; turns++) {}
#endif
    if (__builtin_expect(may_be_plain(o), 1)) {
        const bool taken = tidings__take_plain(o, tidings__table_use(o), d);
        tidings__table_leave(o);
        if (__builtin_expect(taken, 1)) return 0;
    }
    return next_otherwise(o, timeout_ns, d);
}

int tidings_next_many(tidings_observer *o, int64_t timeout_ns, tidings_delivery *deliveries, size_t count) {
    if (count == 0) return 0;
    if (count > TIDINGS_NEXT_MANY_MAX) count = TIDINGS_NEXT_MANY_MAX;
    for (size_t taken = 0;; taken = 1) {
        if (may_be_plain(o) && (o->batch || (o->batch = aligned_alloc(64, TIDINGS__BATCH_SIZE)))) {
            taken += tidings__take_more(o, tidings__table_use(o), deliveries + taken, count - taken);
            tidings__table_leave(o);
        }
        if (taken > 0) return (int)taken;
        const int result = next_otherwise(o, timeout_ns, deliveries);
        if (result != 0) return result;
    }
}
