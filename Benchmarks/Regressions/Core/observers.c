// What an observer pays for what is there already, and for what isn't its own.
#include "operations.h"

void next(int times) {
    tidings_delivery delivery;
    for (int i = 0; i < times; i++) {
        must(tidings_next(observer, 0, &delivery));
        if (delivery.kind != TIDINGS_DELIVERY_MESSAGE) must(-EBADMSG);
    }
}

void in_place(void) {
    observed();
    tidings_observer_in_place(observer, 0);
}

static void next_many(int times, size_t batch) {
    tidings_delivery deliveries[64];
    for (int i = 0, taken; i < times; i += taken) {
        taken = tidings_next_many(observer, 0, deliveries, batch);
        must(taken < 0 ? taken : 0);
    }
}

void next_16(int times) { next_many(times, 16); }
void next_64(int times) { next_many(times, 64); }

void others(void) {
    open_publisher();
    observe("org.example.regression.other", 0);
}

// One `tidings_next` that goes past so many of another name, and finds nothing.
void pass(int times) {
    (void)times;
    tidings_delivery delivery;
    if (tidings_next(observer, 0, &delivery) != -EAGAIN) must(-EBADMSG);
}
