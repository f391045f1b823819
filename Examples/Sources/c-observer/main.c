// Prints what is posted under the names it is given, without Swift. c-observer CENTER NAME…
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tidings.h>

static int failed(void) {
    fprintf(stderr, "c-observer: %s\n", tidings_last_error());
    return 1;
}

int main(int count, char **arguments) {
    tidings_center *center;
    tidings_observer *observer;
    if (count < 3) return fprintf(stderr, "usage: c-observer CENTER NAME...\n"), 64;
    if (tidings_open(arguments[1], NULL, &center) < 0) return failed();
    if (tidings_observer_open(center, 0, &observer) < 0) return failed();
    for (int i = 2; i < count; i++) {
        uint32_t subscription;
        if (tidings_observer_add(observer, arguments[i], strlen(arguments[i]), NULL, 0, TIDINGS_ADD_RETAINED,
                                 &subscription) < 0)
            return failed();
    }

    tidings_delivery delivery;
    while (tidings_next(observer, -1, &delivery) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED)
            printf("missed %" PRIu64 "\n", delivery.missed);
        else
            printf("#%" PRIu64 " %s, %zu bytes from %d\n", delivery.sequence, delivery.name, delivery.size,
                   delivery.pid);
        fflush(stdout);
    }
    int result = failed();
    tidings_observer_close(observer);
    tidings_close(center);
    return result;
}
