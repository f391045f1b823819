// The subscriptions of the two observers of a domain. Names are added one by one. A removal takes time in proportion to
// the observer's names, however many it removes. An observer with few names removes them one by one. An observer with
// many removes them together, when three quarters are unused.
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

#define FEW 4096u   // below this the center's limit of names is not read
#define ROUNDS 100  // waits for unfinished posts, a few milliseconds each, after which a view stays as it is
// Deliveries and waits, after which a view stays as it is. Posters that lap the observer again and again make it report
// misses without end. No ring and its misses are as many.
#define MOST (1u << 22)

// A process with very many names leaves an eighth of a center's name entries to other processes.
static uint32_t names_most(notify__domain *domain) {
    tidings_statistics statistics;
    if (domain->names_most == 0)
        domain->names_most = tidings_statistics_get(atomic_load_explicit(&domain->center, memory_order_relaxed),
                                                    &statistics) == 0
                                 ? statistics.names_max / 8 * 7
                                 : FEW;
    return domain->names_most;
}

int notify__look_at(notify__domain *domain, notify__view *view, const notify__name *name, uint32_t flags,
                    uint32_t *subscription) {
    *subscription = 0;
    if (view->all) return 0;
    int error = -ENOSPC;
    if (view->names < FEW || view->names < names_most(domain))
        error = tidings_observer_add(view->observer, name->text.bytes, name->text.length, NULL, 0, flags, subscription);
    if (error == 0) view->names++;
    if (error != -ENOSPC) return error;
    // No room in the center: subscribe to all names, and filter by this process's table of names.
    *subscription = 0;
    return tidings_observer_add(view->observer, NULL, 0, NULL, 0, flags, &view->all);
}

bool notify__look_away(notify__view *view, uint32_t *subscription) {
    if (*subscription != 0 && view->names > NOTIFY__NAMES_FEW) return false;
    // Without memory the removal fails. The subscription then remains, and its deliveries find no name.
    if (*subscription != 0 && tidings_observer_remove(view->observer, *subscription) == 0) view->names--;
    *subscription = 0;
    return true;
}

bool notify__look_away_many(notify__view *view, const uint32_t *subscriptions, uint32_t count) {
    if (tidings_observer_remove_many(view->observer, subscriptions, count) != 0) return false;
    view->names -= count;
    return true;
}

// MARK: From all names to each

static bool is_push(const notify__domain *domain, const notify__view *view) { return view == &domain->push; }

static bool is_wanted(const notify__domain *domain, const notify__view *view, const notify__name *name) {
    if (is_push(domain, view)) return name->push == 0 && name->deliveries;
    return name->pull == 0 && name->token_count > 0;
}

static uint32_t count_wanted(const notify__domain *domain, const notify__view *view) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < domain->bucket_count; i++)
        for (const notify__name *name = domain->buckets[i]; name; name = name->next)
            count += is_wanted(domain, view, name);
    return count;
}

// Adds a subscription for each wanted name. Stops at the first that fails. Returns how many there are.
static uint32_t add_wanted(const notify__domain *domain, const notify__view *view, uint32_t *subscriptions) {
    uint32_t added = 0;
    for (uint32_t i = 0; i < domain->bucket_count; i++) {
        for (notify__name *name = domain->buckets[i]; name; name = name->next) {
            if (!is_wanted(domain, view, name)) continue;
            if (tidings_observer_add(view->observer, name->text.bytes, name->text.length, NULL, 0, 0, &name->moved) !=
                0)
                return added;
            subscriptions[added++] = name->moved;
        }
    }
    return added;
}

// Passes to `hand` all deliveries and misses up to the center's end as of now. False: no memory, or a post stays
// unfinished.
static bool catch_up(notify__domain *domain, notify__view *view,
                     void (*hand)(notify__domain *domain, const tidings_delivery *delivery)) {
    tidings_statistics now;
    if (tidings_statistics_get(atomic_load_explicit(&domain->center, memory_order_relaxed), &now) != 0) return false;
    uint32_t waits = 0;
    for (uint32_t round = 0; round < MOST && waits < ROUNDS; round++) {
        tidings_delivery delivery;
        const int error = tidings_next(view->observer, 0, &delivery);
        if (error == -EINTR) continue;
        if (error != 0 && error != -EAGAIN) return false;
        if (error == 0) hand(domain, &delivery);
        // An observer reports all that it missed before it delivers a message. So after a message, or with nothing
        // left, all before its position was handed over.
        const bool reported = error != 0 || delivery.kind == TIDINGS_DELIVERY_MESSAGE;
        if (reported && (int64_t)(tidings_observer_position(view->observer) - now.posted) >= 0) return true;
        waits += error != 0;
    }
    return false;
}

void notify__view_narrow(notify__domain *domain, notify__view *view,
                         void (*hand)(notify__domain *domain, const tidings_delivery *delivery)) {
    const uint32_t wanted = view->all ? count_wanted(domain, view) : 0;
    if (view->all == 0 || view->names + wanted > names_most(domain)) return;
    uint32_t *subscriptions = malloc((wanted + 1) * sizeof *subscriptions);
    if (!subscriptions) return;
    const uint32_t added = add_wanted(domain, view, subscriptions);
    // Until the observer has passed the beginnings of the new subscriptions, a loss of the subscription to all names
    // may be one of these names. So each name keeps the subscription 0 until then.
    const bool well = added == wanted && catch_up(domain, view, hand) &&
                      tidings_observer_remove(view->observer, view->all) == 0;
    // Without memory these subscriptions stay. Each delivery is handed over once, however many subscriptions match.
    if (!well && added > 0) (void)tidings_observer_remove_many(view->observer, subscriptions, added);
    free(subscriptions);
    if (well) {
        view->all = 0;
        view->names += added;
    }
    for (uint32_t i = 0; i < domain->bucket_count; i++) {
        for (notify__name *name = domain->buckets[i]; name; name = name->next) {
            if (well && name->moved != 0) *(is_push(domain, view) ? &name->push : &name->pull) = name->moved;
            name->moved = 0;
        }
    }
}
