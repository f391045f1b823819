// What a post takes: small, more than fits a slot, kept.
#include "operations.h"

void post_8(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, 8, NULL, NULL));
}

void post_64(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, 64, NULL, NULL));
}

void post_4096(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, sizeof payload, NULL, NULL));
}

void state_set(int times) {
    for (int i = 0; i < times; i++) must(tidings_state_set(publisher, payload, 64, NULL));
}

// An awake observer has the name.
void observed(void) {
    open_publisher();
    observe(NAME, 0);
}

void lossless(void) {
    open_publisher();
    observe(NAME, TIDINGS_OBSERVE_LOSSLESS);
}
