// Very many registrations.
#include "peer.h"

void a_hundred_thousand_registrations_live_side_by_side(void) {
    enum { COUNT = SANITIZED ? 10000 : 100000 };
    int *tokens = calloc(COUNT, sizeof *tokens), delivered, shared;
    char name[64];
    // Half of them on one name, some of these and of the others delivered to one descriptor.
    int descriptor = descriptor_of("com.example.one", &shared);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, i % 2 ? "com.example.%d" : "com.example.one", i);
        if (i % 100 < 2) OK(notify_register_file_descriptor(name, &descriptor, NOTIFY_REUSE, &tokens[i]));
        else OK(notify_register_check(name, &tokens[i]));
    }
    for (int i = 0; i < COUNT; i++) CHECK(is_new(tokens[i]), "first of %d", i);
    OK(notify_post("com.example.one"));
    int news = 0;
    for (int i = 0; i < COUNT; i++) news += is_new(tokens[i]);
    CHECK(news == COUNT / 2, "%d", news);
    for (int i = 0; i < 1 + COUNT / 100; i++) {
        delivered = read_token(descriptor);
        CHECK(notify_is_valid_token(delivered), "%d", delivered);
    }
    for (int round = 0; round < 50; round++) {
        const int one = 1 + 2 * (int)random_below(COUNT / 2);
        snprintf(name, sizeof name, "com.example.%d", one);
        OK(notify_post(name));
        if (one % 100 < 2) CHECK(read_token(descriptor) == tokens[one], "%d", one);
        CHECK(is_new(tokens[one]) && !is_new(tokens[one]), "%d", one);
    }
    for (int i = 0; i < COUNT; i++) OK(notify_cancel(tokens[i]));
    OK(notify_post("com.example.one"));
    CHECK(read_token(descriptor) == shared, "the one that is left");
    free(tokens);
}
