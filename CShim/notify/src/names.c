// The names of this process: found by text, joined by tokens, looked at through the domain's pull observer.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

// Adding a name to an observer costs as much as it has names, and an entry of the center each. Beyond so many the observer looks at all names instead, and a table of ours says which are wanted.
#define CROWD 512u
#define IDLE_MOST 64u  // names without tokens that are kept a while: to register and cancel the same one again and again is then cheap
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
    while (name && (name->hash != hash || name->text.length != length || memcmp(name->text.bytes, text, length) != 0)) name = name->next;
    return name;
}

void notify__names_each(notify__domain *domain, void (*each)(notify__name *name)) {
    for (uint32_t i = 0; i < domain->bucket_count; i++)
        for (notify__name *name = domain->buckets[i]; name; name = name->next) each(name);
}

// Within reading, as whoever takes posts looks names up.
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
    const uint32_t flags = history ? TIDINGS_ADD_HISTORY : 0;
    if (domain->pull_all) return NOTIFY_STATUS_OK;
    if (domain->pull_names < CROWD) {
        const int error = tidings_observer_add(domain->pull, name->text.bytes, name->text.length, NULL, 0, flags, &name->pull);
        domain->pull_names += error == 0;
        return notify__status(error);
    }
    uint32_t interest;
    const int error = tidings_observer_add(domain->pull, NULL, 0, NULL, 0, flags, &interest);
    domain->pull_all = error == 0;
    return notify__status(error);
}

static void idle_begin(notify__domain *domain, notify__name *name) {
    name->idle = true;
    name->idle_next = NULL;
    name->idle_previous = domain->idle_last;
    if (domain->idle_last) domain->idle_last->idle_next = name;
    else domain->idle_first = name;
    domain->idle_last = name;
    domain->idle_count++;
}

static void idle_end(notify__domain *domain, notify__name *name) {
    if (name->idle_previous) name->idle_previous->idle_next = name->idle_next;
    else domain->idle_first = name->idle_next;
    if (name->idle_next) name->idle_next->idle_previous = name->idle_previous;
    else domain->idle_last = name->idle_previous;
    name->idle = false;
    domain->idle_count--;
}

uint32_t notify__name_join(notify__domain *domain, const notify__text *text, notify__name **result) {
    notify__name *name = notify__name_find(domain, text->bytes, text->length);
    if (name) {
        if (name->idle) idle_end(domain, name);
        name->token_count++;
        *result = name;
        return NOTIFY_STATUS_OK;
    }
    name = take_free();
    if (!name) return NOTIFY_STATUS_FAILED;
    name->text = *text;
    name->hash = notify__hash(text->bytes, text->length);
    name->pull = name->push = 0;
    name->token_count = 1;
    name->deliveries = NULL;
    name->idle = false;
    atomic_store_explicit(&name->state_at, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&name->stated, false, memory_order_relaxed);
    atomic_store_explicit(&name->domain, domain, memory_order_release);
    // A signal handler must not register.
    if (!notify__reading_begin(domain)) return NOTIFY_STATUS_FAILED;
    uint32_t status = NOTIFY_STATUS_FAILED;
    if (put(domain, name)) {
        status = notify__name_pull(name, false);
        if (status != NOTIFY_STATUS_OK) drop(domain, name);
        // The first look after a change takes memory, which one in a signal handler must not.
        else notify__take(domain);
    } else {
        name->next = free_names;
        free_names = name;
    }
    notify__reading_end(domain);
    *result = name;
    return status;
}

void notify__name_leave(notify__name *name) {
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    if (--name->token_count > 0) return;
    idle_begin(domain, name);
    if (domain->idle_count <= IDLE_MOST || !notify__reading_begin(domain)) return;
    name = domain->idle_first;
    idle_end(domain, name);
    if (name->pull != 0) {
        // Fails where memory is out, and then goes on being looked at, and found to be nobody's.
        domain->pull_names -= tidings_observer_remove(domain->pull, name->pull) == 0;
        notify__take(domain);
    }
    drop(domain, name);
    notify__reading_end(domain);
}
