// What is done now and then: opening, preparing, registering; reading a kept value.
#include "operations.h"

// A value that is still in the ring, posted last, and an observer without subscriptions.
void kept(void) {
    open_publisher();
    must(tidings_observer_open(center, 0, &observer));
    must(tidings_state_set(publisher, payload, 64, NULL, NULL));
}

void state_get(int times) {
    for (int i = 0; i < times; i++) {
        unsigned char buffer[64];
        size_t size = sizeof buffer;
        must(tidings_state_get(publisher, buffer, &size, NULL, NULL));
    }
}

void publishers(int times) {
    for (int i = 0; i < times; i++) {
        tidings_publisher *opened;
        must(tidings_publisher_open(center, NAME, sizeof NAME - 1, NULL, 0, &opened));
        tidings_publisher_close(opened);
    }
}

void subscriptions(int times) {
    for (int i = 0; i < times; i++) {
        uint32_t subscription;
        must(tidings_observer_add(observer, NAME, sizeof NAME - 1, NULL, 0, 0, &subscription));
        must(tidings_observer_remove(observer, subscription));
    }
}

void observers(int times) {
    for (int i = 0; i < times; i++) {
        tidings_observer *opened;
        must(tidings_observer_open(center, 0, &opened));
        tidings_observer_close(opened);
    }
}

void opens(int times) {
    for (int i = 0; i < times; i++) {
        const tidings_configuration configuration = {.directory = COUNTING_DIRECTORY};
        tidings_center *opened;
        must(tidings_open("counted", &configuration, &opened));
        tidings_close(opened);
    }
}
