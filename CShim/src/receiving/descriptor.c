// A descriptor for event loops. While the program waits in its event loop, a helper thread sleeps on the observer's
// doorbell. When the helper is woken, it makes an eventfd readable.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "platform/error.h"
#include "platform/event.h"
#include "platform/futex.h"
#include "receiving/observer.h"

typedef struct tidings__descriptor {
    tidings_observer *observer;
    int fd;
    bool armed;  // used by the observer's thread only
    // Odd: the helper is to watch. Each arming and each disarming increments it. A futex between the two threads.
    _Atomic uint32_t request;
    _Atomic uint32_t announced;  // the doorbell's value to sleep on
    _Atomic uint32_t ending;
    pthread_t thread;
    pthread_mutex_t lock;  // under it, a disarmed helper signals no more
    uint32_t told;         // the request for which the descriptor was last made readable
} tidings__descriptor;

static void *helper(void *argument) {
    tidings__descriptor *descriptor = argument;
    tidings_observer *o = descriptor->observer;
    uint32_t done = 0;
    for (;;) {
        const uint32_t request = tidings__acquire(&descriptor->request);
        if (tidings__acquire(&descriptor->ending)) return NULL;
        if (request % 2 == 0 || request == done) {
            tidings__futex_wait(&descriptor->request, request, -1);
            continue;
        }
        const uint32_t announced = tidings__acquire(&descriptor->announced);
        // If no thread watches the center's file, this sleep ends twice a second, to check for the end.
        if (!tidings__rung(o, announced) && !tidings__end_known(o->center)) {
            tidings__sleep(o, announced, -1);
            continue;
        }
        // No signal if the observer has disarmed meanwhile: the program would be woken for nothing, again and again.
        pthread_mutex_lock(&descriptor->lock);
        if (tidings__relaxed(&descriptor->request) == request) {
            descriptor->told = request;
            tidings__event_signal(descriptor->fd);
        }
        pthread_mutex_unlock(&descriptor->lock);
        done = request;
    }
}

int tidings_observer_descriptor(tidings_observer *o, int *fd) {
    tidings__clear_error();
    *fd = -1;
    const int forked = tidings__observer_own(o);
    if (forked) return forked;
    if (!o->descriptor) {
        tidings__descriptor *descriptor = calloc(1, sizeof *descriptor);
        if (!descriptor)
            return tidings__fail(ENOMEM, "can't make a descriptor for an observer of center \"%s\": no memory",
                                 o->center->segment.name);
        descriptor->observer = o;
        pthread_mutex_init(&descriptor->lock, NULL);
        descriptor->fd = tidings__event_open();
        int error = descriptor->fd < 0 ? -descriptor->fd : 0;
        if (!error) {
            // Readable at first, so that the program calls `tidings_next`.
            tidings__event_signal(descriptor->fd);
            error = tidings__thread_start(&descriptor->thread, helper, descriptor, 0);
            if (error) tidings__event_close(descriptor->fd);
        }
        if (error) {
            free(descriptor);
            return tidings__fail(
                error, "can't make a descriptor for an observer of center \"%s\": %s; close some, or raise the limit",
                o->center->segment.name, strerror(error));
        }
        o->descriptor = descriptor;
        o->plain = false;
    }
    *fd = o->descriptor->fd;
    return 0;
}

// Nothing to deliver: makes the descriptor unreadable and lets the helper watch. Announces before the last check, as
// before any sleep.
int tidings__descriptor_arm(tidings_observer *o, tidings_delivery *d) {
    tidings__descriptor *descriptor = o->descriptor;
    tidings__event_clear(descriptor->fd);
    uint32_t announced;
    int result = tidings__announce(o, &announced, d);
    if (result != TIDINGS__NOTHING || tidings__relaxed(&o->interrupted)) {
        tidings__withdraw(o);
        tidings__event_signal(descriptor->fd);
        return result == TIDINGS__DELIVERED ? 0 : result < 0 ? result : -EAGAIN;
    }
    descriptor->armed = true;
    tidings__set_release(&descriptor->announced, announced);
    tidings__fetch_add(&descriptor->request, 1);
    tidings__futex_wake(&descriptor->request, 1);
    return -EAGAIN;
}

void tidings__descriptor_disarm(tidings_observer *o) {
    tidings__descriptor *descriptor = o->descriptor;
    if (!descriptor->armed) return;
    descriptor->armed = false;
    pthread_mutex_lock(&descriptor->lock);
    const bool told = descriptor->told == tidings__fetch_add(&descriptor->request, 1);
    pthread_mutex_unlock(&descriptor->lock);
    tidings__withdraw(o);
    // Makes the helper leave the futex: a poster wakes one sleeper, and from now on that must be this thread.
    if (!told) tidings__nudge(&o->sleeper);
}

int tidings__descriptor_number(const tidings_observer *o) { return o->descriptor->fd; }

void tidings__descriptor_close(tidings_observer *o) {
    tidings__descriptor *descriptor = o->descriptor;
    if (!descriptor) return;
    o->descriptor = NULL;
    if (o->fork_epoch != tidings__thread_self()->fork_epoch) {
        // A forked child has the descriptor, but neither the helper thread nor the observer's entry.
        tidings__event_close(descriptor->fd);
        free(descriptor);
        return;
    }
    tidings__set_release(&descriptor->ending, 1);
    tidings__fetch_add(&descriptor->request, 1);
    tidings__futex_wake(&descriptor->request, 1);
    tidings__nudge(&o->sleeper);
    pthread_join(descriptor->thread, NULL);
    pthread_mutex_destroy(&descriptor->lock);
    tidings__event_close(descriptor->fd);
    free(descriptor);
}
