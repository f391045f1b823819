// The subscriptions of the two observers of a domain. Names are added one by one. To remove one name takes time in
// proportion to the observer's names. An observer with few names removes them one by one. An observer with many is
// replaced when three quarters are unused: the new observer subscribes to the last quarter.
#include <errno.h>

#include "internal.h"

#define FEW 4096u   // below this the center's limit of names is not read
#define ROUNDS 100  // tries to move while posters lap the old observer each time; then the old one stays

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
    uint32_t any;
    *subscription = 0;
    error = tidings_observer_add(view->observer, NULL, 0, NULL, 0, flags, &any);
    view->all = error == 0;
    return error;
}

bool notify__look_away(notify__view *view, uint32_t *subscription) {
    if (*subscription != 0 && view->names > NOTIFY__NAMES_FEW) return false;
    // Without memory the removal fails. The subscription then remains, and its deliveries find no name.
    if (*subscription != 0 && tidings_observer_remove(view->observer, *subscription) == 0) view->names--;
    *subscription = 0;
    return true;
}

bool notify__view_move(notify__domain *domain, notify__view *from, notify__view *to,
                       void (*hand)(notify__domain *domain, const tidings_delivery *delivery)) {
    tidings_delivery delivery;
    for (int round = 0; round < ROUNDS; round++) {
        // Discard what the new observer has: all deliveries and misses before its cursor are the old observer's to
        // report.
        int error;
        while ((error = tidings_next(to->observer, 0, &delivery)) == 0) continue;
        if (error != -EAGAIN) return false;
        const uint64_t border = tidings_observer_position(to->observer);
        bool beyond = false;
        while ((error = tidings_next(from->observer, 0, &delivery)) == 0 || error == -EINTR) {
            if (error != 0) continue;  // the observer may be interrupted more than once
            const bool missed = delivery.kind == TIDINGS_DELIVERY_MISSED;
            if (!missed && !beyond && delivery.sequence >= border) return true;
            // The missed posts may lie on both sides of the border: posts go on while the misses of all names are
            // counted. Repeat with a later border.
            beyond |= missed;
            hand(domain, &delivery);
        }
        if (error != -EAGAIN) return false;
        if (!beyond) return true;
    }
    return false;
}
