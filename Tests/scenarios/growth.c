// A center that grows until it has filled its file system: each process is told so in the middle of growing, and what
// the center has got by then it can use.
#include "foreign.h"
#include "privileges.h"

#define SMALL 64u           // fits a slot
#define LITTLE 65536u       // of room
#define LARGEST (4u << 20)  // sixteen of them are more than any file system here

static struct progress {
    _Atomic uint32_t full;     // nearly
    _Atomic uint32_t refused;  // names
    _Atomic uint64_t largest;  // payload that was posted
} * progress;
static tidings_configuration configuration;
static pipe_pair ready;

static void check_bytes(const tidings_delivery *delivery) {
    const uint8_t *bytes = delivery->payload;
    for (size_t i = 1; i < delivery->size; i += 1 + i / 64)
        CHECK(bytes[i] == bytes[0], "byte %zu of %zu is %u, not %u", i, delivery->size, bytes[i], bytes[0]);
}

// An empty one is the end.
static void receives_until_told(uint32_t flags) {
    tidings_center *center = join_center_with(configuration);
    tidings_observer *observer = observer_with(center, NAME, flags, 0);
    tell(&ready);
    for (;;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE || !flags, "missed %lu", (unsigned long)delivery.missed);
        if (delivery.kind != TIDINGS_DELIVERY_MESSAGE) continue;
        if (delivery.size == 0) break;
        check_bytes(&delivery);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}
static void receives_all(void) { receives_until_told(TIDINGS_OBSERVE_LOSSLESS); }
static void receives_some(void) { receives_until_told(0); }

// Until hardly a page is free, and two laps after that. Most payloads then take the place of earlier ones; where there
// are none of their size, they are refused.
static void posts_of_all_sizes(void) {
    tidings_center *center = join_center_with(configuration);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static uint8_t bytes[LARGEST];
    uint32_t rest = 2 * statistics_of(center).slots;
    for (uint32_t number = 0; rest > 0; number++) {
        const size_t size = 1 + random_below(number % 64 == 0 ? LARGEST : number % 8 == 0 ? 8192 : SMALL);
        memset(bytes, (int)number, size);
        const int result = tidings_post(publisher, bytes, size, &(tidings_post_options){.timeout_ns = -1}, NULL);
        CHECK(result == 0 || (result == -ENOSPC && size > SMALL), "%zu bytes: %d", size, result);
        if (result != 0) CHECK(strstr(tidings_last_error(), "is full (needs "), "not what was asked for");
        for (uint64_t before = atomic_load(&progress->largest); result == 0 && before < size;) {
            if (atomic_compare_exchange_weak(&progress->largest, &before, size)) break;
        }
        if (room() >= LITTLE) continue;
        atomic_store(&progress->full, 1);
        rest--;
    }
    tidings_close(center);
}

// The little that is left is soon gone. Names that were made are there for good.
static void observes_more_and_more_names(void) {
    tidings_center *center = join_center_with(configuration);
    tidings_observer *observer = observer_of_nothing(center);
    while (!atomic_load(&progress->full)) usleep(100);
    char name[32];
    uint32_t count = 0;
    for (int result = 0; result == 0;) {
        snprintf(name, sizeof name, "name.%u", count);
        result = tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &(uint32_t){0});
        CHECK(result == 0 || result == -ENOSPC, "%d", result);
        count += result == 0;
    }
    CHECK(strstr(tidings_last_error(), "is full (needs "), "after %u names", count);
    atomic_store(&progress->refused, 1);
    CHECK(count > 0, "there was room for some at birth");
    snprintf(name, sizeof name, "name.%u", count - 1);
    // The two post on, and may be a lap further before it is taken: then it is told as missed, and posted again.
    tidings_delivery delivery;
    do {
        OK(tidings_post(publisher_of(center, name), name, sizeof name, &(tidings_post_options){.timeout_ns = -1},
                        NULL));
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE || delivery.missed == 1, "missed %lu",
              (unsigned long)delivery.missed);
    } while (delivery.kind != TIDINGS_DELIVERY_MESSAGE);
    CHECK(delivery.size == sizeof name && memcmp(delivery.payload, name, sizeof name) == 0, "%zu bytes", delivery.size);
    tidings_observer_close(observer);
    tidings_close(center);
}

static void fills(const char *options, tidings_configuration with) {
    small_file_system(options);
    const uint64_t all = room();
    progress = shared_memory(sizeof *progress);
    ready = pipe_open();
    configuration = with;
    tidings_center *center = join_center_with(configuration);
    const pid_t observers[2] = {start(receives_all), start(receives_some)};
    for (int i = 0; i < 2; i++) told(&ready);
    const pid_t posters[2] = {start(posts_of_all_sizes), (random_next(), start(posts_of_all_sizes))};
    ends_well(start(observes_more_and_more_names));
    for (int i = 0; i < 2; i++) ends_well(posters[i]);
    CHECK(atomic_load(&progress->refused), "it was never full");
    CHECK(statistics_of(center).memory + room() == all, "%lu bytes are the center's, %lu are free",
          (unsigned long)statistics_of(center).memory, (unsigned long)room());
    // A lap makes free what holds payloads, and it serves again: also the largest there was, though the file system has
    // no room.
    tidings_publisher *publisher = publisher_of(center, NAME), *end = publisher_of(center, NAME);
    static uint8_t bytes[LARGEST];
    memset(bytes, 7, sizeof bytes);
    for (uint32_t i = 0; i < statistics_of(center).slots; i++)
        OK(tidings_post(publisher, bytes, SMALL, &(tidings_post_options){.timeout_ns = -1}, NULL));
    OK(tidings_post(publisher, bytes, atomic_load(&progress->largest), &(tidings_post_options){.timeout_ns = -1},
                    NULL));
    OK(tidings_post(end, "", 0, &(tidings_post_options){.timeout_ns = -1}, NULL));
    for (int i = 0; i < 2; i++) ends_well(observers[i]);
    OK(tidings_remove("scenario", NULL));
    tidings_close(center);
    CHECK(room() == all && files_there() == 0, "%lu of %lu bytes are free again", (unsigned long)room(),
          (unsigned long)all);
}

void a_small_center_fills_a_file_system_of_1_mib_and_works_on(void) { fills("size=1m", tidings_small_configuration); }
void a_center_fills_a_file_system_of_64_mib_and_works_on(void) { fills("size=64m", (tidings_configuration){0}); }
