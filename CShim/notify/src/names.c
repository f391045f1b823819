// The names of this process: a table by text, joined by tokens, with subscriptions of the domain's pull observer.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define BLOCK 256u

static notify__name *free_names;  // under notify__lock

static notify__name *take_free(void) {
    if (!free_names) {
        notify__name *block = calloc(BLOCK, sizeof *block);
        if (!block) return NULL;
        for (uint32_t i = 0; i < BLOCK; i++) {
            block[i].next = free_names;
            free_names = &block[i];
        }
    }
    notify__name *name = free_names;
    free_names = name->next;
    return name;
}

notify__name *notify__name_find(const notify__domain *domain, const char *text, size_t length) {
    if (domain->bucket_count == 0) return NULL;
    const uint64_t hash = notify__hash(text, length);
    notify__name *name = domain->buckets[hash & (domain->bucket_count - 1)];
    while (name && (name->hash != hash || name->text.length != length || memcmp(name->text.bytes, text, length) != 0))
        name = name->next;
    return name;
}

void notify__names_each(notify__domain *domain, void (*each)(notify__name *name)) {
    for (uint32_t i = 0; i < domain->bucket_count; i++)
        for (notify__name *name = domain->buckets[i]; name; name = name->next) each(name);
}

// Under `reading`: the thread that takes posts reads the table.
static bool put(notify__domain *domain, notify__name *name) {
    if (domain->name_count >= domain->bucket_count) {
        const uint32_t count = domain->bucket_count ? 2 * domain->bucket_count : 64;
        notify__name **buckets = calloc(count, sizeof *buckets);
        if (!buckets) return false;
        for (uint32_t i = 0; i < domain->bucket_count; i++) {
            for (notify__name *old = domain->buckets[i], *next; old; old = next) {
                next = old->next;
                old->next = buckets[old->hash & (count - 1)];
                buckets[old->hash & (count - 1)] = old;
            }
        }
        free(domain->buckets);
        domain->buckets = buckets;
        domain->bucket_count = count;
    }
    notify__name **bucket = &domain->buckets[name->hash & (domain->bucket_count - 1)];
    name->next = *bucket;
    *bucket = name;
    domain->name_count++;
    return true;
}

static void drop(notify__domain *domain, notify__name *name) {
    notify__name **link = &domain->buckets[name->hash & (domain->bucket_count - 1)];
    while (*link != name) link = &(*link)->next;
    *link = name->next;
    domain->name_count--;
    name->next = free_names;
    free_names = name;
}

uint32_t notify__name_pull(notify__name *name, bool history) {
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    return notify__status(notify__look_at(domain, &domain->pull, name, history ? TIDINGS_ADD_HISTORY : 0, &name->pull));
}

static void idle_begin(notify__domain *domain, notify__name *name) {
    name->idle = true;
    name->idle_next = NULL;
    name->idle_previous = domain->idle_last;
    if (domain->idle_last)
        domain->idle_last->idle_next = name;
    else
        domain->idle_first = name;
    domain->idle_last = name;
    domain->idle_count++;
}

static void idle_end(notify__domain *domain, notify__name *name) {
    if (name->idle_previous)
        name->idle_previous->idle_next = name->idle_next;
    else
        domain->idle_first = name->idle_next;
    if (name->idle_next)
        name->idle_next->idle_previous = name->idle_previous;
    else
        domain->idle_last = name->idle_previous;
    name->idle = false;
    domain->idle_count--;
}

// For a name in the table to which the dispatcher still has a subscription, and the pull observer has none any more.
static uint32_t join_again(notify__domain *domain, notify__name *name, notify__name **result) {
    if (!notify__reading_begin(domain))
        return notify__fail(NOTIFY_STATUS_FAILED, "can't register inside a signal handler; register outside");
    const uint32_t status = notify__name_pull(name, false);
    if (status == NOTIFY_STATUS_OK) {
        notify__take(domain);
        if (name->idle) idle_end(domain, name);
        name->token_count++;
        *result = name;
    }
    notify__reading_end(domain);
    return status;
}

uint32_t notify__name_join(notify__domain *domain, const notify__text *text, notify__name **result) {
    notify__name *name = notify__name_find(domain, text->bytes, text->length);
    if (name && (name->pull != 0 || domain->pull.all)) {
        if (name->idle) idle_end(domain, name);
        name->token_count++;
        *result = name;
        return NOTIFY_STATUS_OK;
    }
    if (name) return join_again(domain, name, result);
    name = take_free();
    if (!name) return notify__fail_memory("register a name");
    name->text = *text;
    name->hash = notify__hash(text->bytes, text->length);
    name->pull = name->push = name->moved = 0;
    name->token_count = 1;
    name->deliveries = NULL;
    name->idle = false;
    atomic_store_explicit(&name->domain, domain, memory_order_release);
    notify__state_forget(name);  // last: a get that began before keeps nothing
    // This fails only inside a signal handler, which must not register.
    if (!notify__reading_begin(domain))
        return notify__fail(NOTIFY_STATUS_FAILED, "can't register inside a signal handler; register outside");
    uint32_t status = NOTIFY_STATUS_FAILED;
    if (put(domain, name)) {
        status = notify__name_pull(name, false);
        if (status != NOTIFY_STATUS_OK) drop(domain, name);
        // The first take after a change allocates memory: do it here, as a check in a signal handler must not.
        else
            notify__take(domain);
    } else {
        name->next = free_names;
        free_names = name;
        status = notify__fail_memory("register a name");
    }
    notify__reading_end(domain);
    *result = name;
    return status;
}

// Removes the oldest names without tokens, one by one, until NOTIFY__IDLE_MOST are left.
static void drop_idle(notify__domain *domain) {
    notify__name *kept = NULL;
    while (domain->idle_count > NOTIFY__IDLE_MOST && domain->idle_first != kept) {
        notify__name *name = domain->idle_first;
        idle_end(domain, name);
        if (name->push == 0 && notify__look_away(&domain->pull, &name->pull)) {
            drop(domain, name);
        } else {
            // The dispatcher still has a subscription to it.
            if (!kept) kept = name;
            idle_begin(domain, name);
        }
    }
}

// Removes the oldest names without tokens, together, until NOTIFY__IDLE_MOST are left. Called when three quarters of
// very many names have no tokens. The time is in proportion to all names, and all names are at most four thirds of the
// removed ones.
static void drop_many_idle(notify__domain *domain) {
    const uint32_t dropped = domain->idle_count - NOTIFY__IDLE_MOST;
    uint32_t count = 0, *subscriptions = malloc(dropped * sizeof *subscriptions);
    notify__name *name = domain->idle_first;
    for (uint32_t i = 0; i < dropped && subscriptions; i++, name = name->idle_next)
        if (name->pull != 0) subscriptions[count++] = name->pull;
    const bool well = subscriptions && notify__look_away_many(&domain->pull, subscriptions, count);
    free(subscriptions);
    name = domain->idle_first;
    for (uint32_t i = 0; i < dropped && well; i++) {
        notify__name *next = name->idle_next;
        name->pull = 0;
        if (name->push == 0) {
            idle_end(domain, name);
            drop(domain, name);
        }
        name = next;
    }
    if (well) notify__view_narrow(domain, &domain->pull, notify__count);
    if (well && domain->push.all) {
        domain->narrowing = true;
        tidings_observer_interrupt(domain->push.observer);
    }
    // If idle names stay: the dispatcher still observes them, or there was no memory. Try again when there are twice as
    // many.
    domain->idle_most = domain->idle_count > NOTIFY__IDLE_MOST ? 2 * domain->idle_count : 0;
}

void notify__name_leave(notify__name *name) {
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    if (--name->token_count > 0) return;
    idle_begin(domain, name);
    const bool few = domain->pull.names <= NOTIFY__NAMES_FEW;
    const uint32_t most = NOTIFY__IDLE_MOST + (few ? 0 : 3 * (domain->name_count - domain->idle_count));
    if (domain->idle_count <= (most > domain->idle_most ? most : domain->idle_most) || !notify__reading_begin(domain))
        return;
    if (few)
        drop_idle(domain);
    else
        drop_many_idle(domain);
    notify__take(domain);
    notify__reading_end(domain);
}
