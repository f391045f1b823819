// Counts the tracks that the host plays, and tells it the count. In C, and without any name or path.
#include <stdio.h>
#include <string.h>
#include <tidings_extension.h>

#define TRACK "TrackStarted"
#define SCROBBLED "com.example.player.scrobbled"

static int failed(void) { return fprintf(stderr, "scrobbler: %s\n", tidings_last_error()), 1; }

int main(void) {
    tidings_extension *host;
    tidings_observer *observer;
    uint32_t subscription, count = 0;
    if (tidings_extension_open(NULL, &host) < 0) return failed();
    if (tidings_observer_open(tidings_extension_broadcast_center(host), 0, &observer) < 0) return failed();
    if (tidings_observer_add(observer, TRACK, strlen(TRACK), NULL, 0, 0, &subscription) < 0) return failed();
    if (tidings_extension_ready(host) < 0) return failed();

    tidings_delivery delivery;
    while (tidings_next(observer, -1, &delivery) == 0) {
        count += delivery.kind == TIDINGS_DELIVERY_MISSED ? (uint32_t)delivery.missed : 1;
        // As CBOR: {"count": a number of four bytes}.
        uint8_t payload[] = {0xa1, 0x65, 'c', 'o', 'u', 'n', 't', 0x1a, count >> 24, count >> 16, count >> 8, count};
        const tidings_post_options cbor = {.format = TIDINGS_FORMAT_CBOR, .timeout_ns = 1000000000};
        if (tidings_extension_post(host, SCROBBLED, strlen(SCROBBLED), payload, sizeof payload, &cbor) < 0)
            return failed();
    }
    tidings_observer_close(observer);
    tidings_extension_close(host);
    return 0;
}
