// Observers and deliveries as a test needs them.
#ifndef UNIT_OBSERVING_H
#define UNIT_OBSERVING_H

#include "fresh.h"
#include "receiving/observer.h"

static inline tidings_observer *observer_with(tidings_center *center, uint32_t flags) {
    static tidings_observer *observer;  // one that is lost would be a leak
    CHECK_EQUAL(tidings_observer_open(center, flags, &observer), 0);
    return observer;
}

static inline tidings_observer *fresh_observer(void) { return observer_with(fresh_center(), 0); }

// An observer of a center that this process may only read, as far as its handle knows.
static inline tidings_observer *fresh_reader(void) {
    tidings_center *center = fresh_center();
    center->segment.writable = false;
    center->segment.observable = true;
    return observer_with(center, 0);
}

// Adds a subscription to this name (NULL: to all names), and returns it.
static inline tidings__subscription *added(tidings_observer *observer, const char *name, uint32_t flags) {
    uint32_t id = 0;
    CHECK_EQUAL(tidings_observer_add(observer, name, name ? strlen(name) : 0, NULL, 0, flags, &id), 0);
    tidings__subscription *subscription = NULL;
    CHECK_EQUAL(tidings__table_select(observer->table, &id, 1, &subscription), 1);
    return subscription;
}

// The entry of a name that no observer is a member of, and that posters count for.
static inline uint32_t counted(tidings_center *center, const char *name) {
    return joined(center, name, false, TIDINGS__TO_COUNT);
}

// A committed record of this entry, without a payload.
static inline void post_of(tidings_observer *observer, uint64_t position, uint32_t entry) {
    unit_post(&observer->center->segment, position, tidings__route_word(entry, 0, 0, 0));
}

static inline int next_of(tidings_observer *observer, tidings_delivery *delivery) {
    return tidings_next(observer, 0, delivery);
}

#endif
