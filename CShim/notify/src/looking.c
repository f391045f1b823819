// What the two observers of a domain look at. Names are added one by one. They are taken away one by one while there
// are few, as each takes as long as the observer has names; of many, three quarters at a time: by another observer,
// which looks at the last quarter.
#include <errno.h>

#include "internal.h"

#define FEW 4096u   // below this nobody asks how many a center can hold
#define ROUNDS 100  // of moving, while others post so fast that the old one is lapped each time: then it stays

// So that a process with very many leaves others an eighth of a center's places for names.
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
    // No room in the center. All names, then, and a table of ours says which of these are wanted.
    uint32_t any;
    *subscription = 0;
    error = tidings_observer_add(view->observer, NULL, 0, NULL, 0, flags, &any);
    view->all = error == 0;
    return error;
}

bool notify__look_away(notify__view *view, uint32_t *subscription) {
    if (*subscription != 0 && view->names > NOTIFY__NAMES_FEW) return false;
    // Fails where memory is out, and then goes on being looked at, and found to be nobody's.
    if (*subscription != 0 && tidings_observer_remove(view->observer, *subscription) == 0) view->names--;
    *subscription = 0;
    return true;
}

bool notify__view_move(notify__domain *domain, notify__view *from, notify__view *to,
                       void (*hand)(notify__domain *domain, const tidings_delivery *delivery)) {
    tidings_delivery delivery;
    for (int round = 0; round < ROUNDS; round++) {
        // All up to here is the old one's, whether the new one was told of it, or that it missed it.
        int error;
        while ((error = tidings_next(to->observer, 0, &delivery)) == 0) continue;
        if (error != -EAGAIN) return false;
        const uint64_t border = tidings_observer_position(to->observer);
        bool beyond = false;
        while ((error = tidings_next(from->observer, 0, &delivery)) == 0 || error == -EINTR) {
            if (error != 0) continue;  // who interrupts the dispatcher may do so twice
            const bool missed = delivery.kind == TIDINGS_DELIVERY_MISSED;
            if (!missed && !beyond && delivery.sequence >= border) return true;
            // What it missed may lie on both sides of the border, by as much as was posted while the misses of all its
            // names were counted. So the border must lie further on.
            beyond |= missed;
            hand(domain, &delivery);
        }
        if (error != -EAGAIN) return false;
        if (!beyond) return true;
    }
    return false;
}
