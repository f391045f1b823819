// What an observer pays for what is there already, and for what isn't its own.
#include "operations.h"

void next(int times) {
    tidings_delivery delivery;
    for (int i = 0; i < times; i++) {
        must(tidings_next(observer, 0, &delivery));
        if (delivery.kind != TIDINGS_DELIVERY_MESSAGE) must(-EBADMSG);
    }
}

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
