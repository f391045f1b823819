// What a post takes: small, more than fits a slot, kept.
#include "operations.h"

void post_8(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, 8, NULL, NULL));
}

void post_64(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, 64, NULL, NULL));
}

static void post_many(int times, int batch) {
    tidings_payload payloads[64];
    for (int i = 0; i < batch; i++) payloads[i] = (tidings_payload){payload, 64};
    for (int i = 0; i < times; i += batch)
        must(tidings_post_many(publisher, payloads, (size_t)batch, NULL, NULL, NULL));
}

void post_16_of_64(int times) { post_many(times, 16); }
void post_64_of_64(int times) { post_many(times, 64); }

void post_4096(int times) {
    for (int i = 0; i < times; i++) must(tidings_post(publisher, payload, sizeof payload, NULL, NULL));
}

void state_set(int times) {
    for (int i = 0; i < times; i++) must(tidings_state_set(publisher, payload, 64, NULL, NULL));
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
