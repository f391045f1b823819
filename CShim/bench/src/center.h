// The few steps that every Tidings driver takes. A failed call ends the driver with its errno; `bench_last_error` has
// the sentence.
#ifndef BENCH_CENTER_H
#define BENCH_CENTER_H

#include "internal.h"

#include <tidings.h>

#define BENCH_TRY(call)                                                                                                \
    do {                                                                                                               \
        int bench_result = (call);                                                                                     \
        if (bench_result < 0) return bench_result;                                                                     \
    } while (0)

static inline int bench_publisher(tidings_center *center, const char *name, tidings_publisher **publisher) {
    return tidings_publisher_open(center, name, strlen(name), NULL, 0, publisher);
}

// Opens an observer of one name. A driver that succeeds closes what it has opened. If it fails or is killed, the end of
// its process closes everything.
static inline int bench_observe(tidings_center *center, const char *name, uint32_t flags, uint32_t spin_ns,
                                tidings_observer **observer) {
    uint32_t subscription;
    BENCH_TRY(tidings_observer_open(center, flags, observer));
    tidings_observer_spin(*observer, spin_ns);
    return tidings_observer_add(*observer, name, strlen(name), NULL, 0, 0, &subscription);
}

#endif
