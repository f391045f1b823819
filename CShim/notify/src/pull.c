// Taking posts without a thread. The thread that checks a token reads the new posts of the center, and counts them for
// all names of this process.
#include <errno.h>
#include <sched.h>

#include "internal.h"

#define SPINS 64
// The most deliveries and retries of one call. No ring holds as many, so the limit only matters if posters are faster
// than this thread.
#define MOST (1u << 22)

static _Thread_local char self __attribute__((tls_model("initial-exec")));

bool notify__reading_begin(notify__domain *domain) {
    const uintptr_t me = (uintptr_t)&self;
    uintptr_t other = 0;
    for (int spins = 0; !atomic_compare_exchange_weak_explicit(&domain->reading, &other, me, memory_order_acquire,
                                                               memory_order_relaxed);
         spins++) {
        if (other == me) return false;
        other = 0;
        if (spins >= SPINS) sched_yield();
    }
    return true;
}

void notify__reading_end(notify__domain *domain) { atomic_store_explicit(&domain->reading, 0, memory_order_release); }

bool notify__reading_is_mine(const notify__domain *domain) {
    return atomic_load_explicit(&domain->reading, memory_order_relaxed) == (uintptr_t)&self;
}

static void add(notify__name *name, uint64_t count) {
    // Relaxed: only the thread that holds `reading` writes it.
    const uint64_t now = atomic_load_explicit(&name->count, memory_order_relaxed);
    atomic_store_explicit(&name->count, now + count, memory_order_release);
}

static void add_if_unsubscribed(notify__name *name) {
    if (name->pull == 0) add(name, 1);
}

void notify__count(notify__domain *domain, const tidings_delivery *delivery) {
    const bool missed = delivery->kind == TIDINGS_DELIVERY_MISSED;
    notify__name *name = notify__name_find(domain, delivery->name, delivery->name_length);
    if (name) add(name, missed ? delivery->missed : 1);
    // Missed by the subscription to all names: the lost posts' names are unknown, so each name without a subscription
    // of its own may have had one.
    else if (missed && delivery->name_length == 0)
        notify__names_each(domain, add_if_unsubscribed);
}

void notify__take(notify__domain *domain) {
    const tidings_center *center = atomic_load_explicit(&domain->center, memory_order_relaxed);
    tidings_delivery delivery;
    for (uint32_t round = 0; round < MOST; round++) {
        const int error = tidings_next(domain->pull.observer, 0, &delivery);
        if (error == 0) {
            notify__count(domain, &delivery);
            continue;
        }
        if (error != -EAGAIN) break;
        const uint64_t position = tidings_observer_position(domain->pull.observer);
        atomic_store_explicit(&domain->position, position, memory_order_release);
        // If not, an unfinished post is at this position, and a post that has returned may lie behind it. Repeat until
        // the unfinished post is committed, or revoked after a few milliseconds.
        if (tidings_nothing_since(center, position)) break;
    }
}

void notify__pull(notify__domain *domain) {
    if (atomic_load_explicit(&domain->stale, memory_order_acquire)) {
        if (notify__lock_is_mine()) return;
        notify__lock_begin();
        if (atomic_load_explicit(&domain->stale, memory_order_relaxed)) (void)notify__domain_renew(domain, false);
        notify__lock_end();
    }
    // False in a signal handler above code that holds `reading`: that code counts the new posts, and the next check
    // includes them.
    if (!notify__reading_begin(domain)) return;
    if (domain->pull.observer) notify__take(domain);
    notify__reading_end(domain);
}
