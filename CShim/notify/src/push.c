// Delivering. Each domain with tokens to deliver to has one dispatcher thread. It sleeps on the names of these tokens
// only.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

typedef struct dispatcher {
    notify__domain *domain;
    tidings_observer *observer;
    uint32_t turn;
} dispatcher;

void notify__deliver(notify__token *token) {
    const notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
    const notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    // A forked child that has not renewed the domain: the token's signal, pipe or handler is its parent's.
    if (atomic_load_explicit(&domain->stale, memory_order_relaxed)) return;
    if (token->suspensions > 0 || notify__process_suspensions > 0) {
        token->due = true;
        return;
    }
    if (token->signal != 0)
        kill(getpid(), token->signal);
    else if (token->pipe)
        notify__pipe_write(token);
    else if (token->handler.deliver)
        token->handler.deliver(token->handler.context, (int)atomic_load_explicit(&token->number, memory_order_relaxed));
}

// Delivers to the tokens that were registered before the post at `sequence`. If `missed`, the lost posts lie before
// `sequence`.
static void deliver(const notify__name *name, uint64_t sequence, bool missed) {
    for (notify__token *token = name->deliveries, *next; token; token = next) {
        next = token->next;
        if (missed ? token->since < sequence : token->since <= sequence) notify__deliver(token);
    }
}

static _Thread_local uint64_t sequence_for_all;
static void deliver_if_unsubscribed(notify__name *name) {
    if (name->push == 0) deliver(name, sequence_for_all, true);
}

static void hand(notify__domain *domain, const tidings_delivery *delivery) {
    const bool missed = delivery->kind == TIDINGS_DELIVERY_MISSED;
    notify__name *name = notify__name_find(domain, delivery->name, delivery->name_length);
    if (name) {
        deliver(name, delivery->sequence, missed);
    } else if (missed && delivery->name_length == 0) {
        sequence_for_all = delivery->sequence;
        notify__names_each(domain, deliver_if_unsubscribed);
    }
}

static uint32_t idle_most(const notify__domain *domain) {
    const uint32_t most = NOTIFY__IDLE_MOST + domain->push.names / 4 * 3;
    return most > domain->push_idle_most ? most : domain->push_idle_most;
}

// Called when three quarters of very many names have no deliveries any more: ends their subscriptions together.
static void drop_undelivered(notify__domain *domain) {
    uint32_t count = 0, *subscriptions = malloc(domain->push_idle * sizeof *subscriptions);
    for (uint32_t i = 0; i < domain->bucket_count && subscriptions; i++)
        for (const notify__name *name = domain->buckets[i]; name; name = name->next)
            if (name->push != 0 && !name->deliveries && count < domain->push_idle) subscriptions[count++] = name->push;
    const bool well = subscriptions && notify__look_away_many(&domain->push, subscriptions, count);
    free(subscriptions);
    if (!well) {
        domain->push_idle_most = 2 * domain->push_idle;
        return;
    }
    for (uint32_t i = 0; i < domain->bucket_count; i++)
        for (notify__name *name = domain->buckets[i]; name; name = name->next)
            if (!name->deliveries) name->push = 0;
    domain->push_idle = domain->push_idle_most = 0;
    domain->idle_most = 0;  // names that only the push view kept can be removed now
    domain->narrowing = true;
}

// A name's entry in the center is free when both views have removed the name. So a removal from one view may make room
// for the names of both.
static void narrow_views(notify__domain *domain) {
    domain->narrowing = false;
    notify__view_narrow(domain, &domain->push, hand);
    if (!domain->pull.all || !notify__reading_begin(domain)) return;
    notify__view_narrow(domain, &domain->pull, notify__count);
    // The first take after a change allocates memory: do it here, as a check in a signal handler must not.
    notify__take(domain);
    notify__reading_end(domain);
}

static void *run(void *argument) {
    dispatcher *d = argument;
    notify__domain *domain = d->domain;
    for (;;) {
        tidings_delivery delivery;
        const int error = tidings_next(d->observer, -1, &delivery);
        notify__lock_begin();
        const bool ours = atomic_load_explicit(&domain->pushing, memory_order_relaxed) == d->turn;
        if (!ours) {
            notify__lock_end();
            break;
        }
        if (error == 0) hand(domain, &delivery);
        if (domain->push_idle > idle_most(domain)) drop_undelivered(domain);
        if (domain->narrowing) narrow_views(domain);
        // The observer failed: for example, the program closed the center's descriptor, so the participant entry is
        // lost. A renewal opens another observer, and starts another thread for it; this one then ends.
        const bool ended = error != 0 && error != -EINTR && error != -ENOMEM;
        const bool again = error != -ESTALE || atomic_load_explicit(&notify__regenerating, memory_order_relaxed);
        if (ended && again && notify__domain_renew(domain, true) == NOTIFY_STATUS_OK) {
            notify__lock_end();
            continue;
        }
        // The center has ended, and this process does not continue in a successor, or not yet. A later renewal of the
        // domain starts another thread.
        if (ended) notify__push_forget(domain, false);
        notify__lock_end();
    }
    tidings_observer_close(d->observer);
    free(d);
    return NULL;
}

static uint32_t start(notify__domain *domain) {
    dispatcher *d = malloc(sizeof *d);
    if (!d) return notify__fail_memory("start a delivering thread");
    *d = (dispatcher){domain, NULL, atomic_load_explicit(&domain->pushing, memory_order_relaxed)};
    const int error = tidings_observer_open(atomic_load_explicit(&domain->center, memory_order_relaxed),
                                            TIDINGS_OBSERVE_BARE, &d->observer);
    if (error) {
        free(d);
        return notify__status(error);
    }
    domain->push.observer = d->observer;
    // Signals of the program go to the program's threads: block them all in this one.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        tidings_observer_close(d->observer);
        domain->push.observer = NULL;
        free(d);
        return notify__fail(NOTIFY_STATUS_FAILED,
                            "can't start a delivering thread: %s; end some threads, or raise the limit",
                            strerror(failed));
    }
    pthread_detach(thread);
    return NOTIFY_STATUS_OK;
}

uint32_t notify__push_begin(notify__name *name) {
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    if (!domain->push.observer) {
        const uint32_t status = start(domain);
        if (status != NOTIFY_STATUS_OK) return status;
    }
    if (name->push == 0) return notify__status(notify__look_at(domain, &domain->push, name, 0, &name->push));
    domain->push_idle--;
    return NOTIFY_STATUS_OK;
}

void notify__push_end(notify__name *name) {
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    if (name->push == 0 || notify__look_away(&domain->push, &name->push)) return;
    // Only the dispatcher thread uses the observer: wake it, so that it removes the idle names.
    if (++domain->push_idle > idle_most(domain)) tidings_observer_interrupt(domain->push.observer);
}

void notify__deliver_all(notify__name *name) {
    for (notify__token *token = name->deliveries, *next; token; token = next) {
        next = token->next;
        token->since = 0;
        notify__deliver(token);
    }
}

static bool unserved;  // notify__push_again failed for at least one name

void notify__push_again(notify__name *name) {
    if (!name->deliveries || notify__push_begin(name) == NOTIFY_STATUS_OK) return;
    unserved = true;
    notify__worker_wake();
}

static void try_again(notify__name *name) {
    if (!name->deliveries || name->push != 0) return;
    if (notify__push_begin(name) == NOTIFY_STATUS_OK)
        notify__deliver_all(name);  // posts of the meantime are lost, so each token is due
    else
        unserved = true;
}

int64_t notify__pushes_due(void) {
    bool unfinished = false;
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) {
        if (domain->unopened || domain->unfinished) (void)notify__domain_renew(domain, domain->unopened);
        unfinished |= domain->unopened || domain->unfinished;
    }
    if (unserved) {
        unserved = false;
        for (notify__domain *domain = notify__domains; domain; domain = domain->next)
            notify__names_each(domain, try_again);
    }
    return unserved || unfinished ? 1000 : -1;
}

static void forget(notify__name *name) { name->push = 0; }

void notify__push_forget(notify__domain *domain, bool child) {
    if (!domain->push.observer) return;
    atomic_fetch_add_explicit(&domain->pushing, 1, memory_order_relaxed);
    // The dispatcher thread closes its observer. A forked child does not have that thread.
    if (child)
        tidings_observer_close(domain->push.observer);
    else
        tidings_observer_interrupt(domain->push.observer);
    domain->push = (notify__view){0};
    domain->push_idle = domain->push_idle_most = 0;
    domain->narrowing = false;
    notify__names_each(domain, forget);
}
