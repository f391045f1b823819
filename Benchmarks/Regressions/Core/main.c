#include "operations.h"

tidings_center *center;
tidings_publisher *publisher;
tidings_observer *observer;
_Alignas(64) unsigned char payload[4096];

void open_publisher(void) {
    const tidings_configuration configuration = {.directory = COUNTING_DIRECTORY};
    must(tidings_open("counted", &configuration, &center));
    must(tidings_publisher_open(center, NAME, sizeof NAME - 1, NULL, 0, &publisher));
}

void observe(const char *name, uint32_t flags) {
    uint32_t subscription;
    must(tidings_observer_open(center, flags, &observer));
    must(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
}

void drain(int times) {
    (void)times;
    tidings_delivery delivery;
    int result;
    while ((result = tidings_next(observer, 0, &delivery)) == 0) {}
    if (result != -EAGAIN) must(result);
}

int main(int count, char **arguments) {
    static const counting_operation operations[] = {
        {"post_8", open_publisher, NULL, post_8, 1024},
        {"post_64", open_publisher, NULL, post_64, 1024},
        {"post_64_observed", observed, drain, post_64, 1024},
        {"post_64_lossless", lossless, drain, post_64, 1024},
        {"post_many_16", open_publisher, NULL, post_16_of_64, 1024},
        {"post_many_64", open_publisher, NULL, post_64_of_64, 1024},
        {"post_many_64_observed", observed, drain, post_64_of_64, 1024},
        {"post_many_16_observed", observed, drain, post_16_of_64, 1024},
        {"post_4096", open_publisher, NULL, post_4096, 1024},
        {"next_64", observed, post_64, next, 1024},
        {"next_many_16", observed, post_64, next_16, 1024},
        {"next_many_64", observed, post_64, next_64, 1024},
        {"next_4096", observed, post_4096, next, 256},
        {"next_4096_in_place", in_place, post_4096, next, 128},
        {"pass_64", others, post_64, pass, 1024},
        {"state_set", open_publisher, NULL, state_set, 256},
        {"state_get", kept, NULL, state_get, 64},
        {"register", kept, NULL, subscriptions, 64},
        {"publisher", open_publisher, NULL, publishers, 64},
        {"observer", open_publisher, NULL, observers, 64},
        {"open", open_publisher, NULL, opens, 16},
    };
    return counting_main(count, arguments, operations, (int)(sizeof operations / sizeof *operations));
}
