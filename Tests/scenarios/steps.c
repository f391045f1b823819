#include "steps.h"

act what;
_Atomic uint32_t *returned;
uint8_t payload[4096];

void posts_once(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const stamp stamp = {.poster = 1};
    memcpy(payload, &stamp, sizeof stamp);
    const tidings_post_options options = {.flags = what.flags};
    // Once before, so that everything lazy is done.
    OK(tidings_post(publisher_of(center, "warm-up"), payload, what.size, &options, NULL));
    tidings_publisher *filler = publisher_of(center, "filler");
    while (what.full && statistics_of(center).posted - statistics_of(center).retained_from < 256)
        post_number(filler, 0);
    section_begin();
    const int result = tidings_post(publisher, payload, what.size, &options, NULL);
    atomic_store(returned, 1);
    section_end();
    OK(result);
    for (;;) pause();
}

#define MOST_SANITIZED 60000u

uint64_t length_of(void (*body)(void)) {
    atomic_store(returned, 0);
    const pid_t pid = start_traced(body);
    // A sanitizer makes some sections millions of instructions long: there the beginning has to do.
    const uint64_t length = step(pid, SANITIZED ? MOST_SANITIZED : UINT64_MAX, false);
    CHECK(atomic_load(returned) || length == MOST_SANITIZED, "the section ended early");
    kill_and_reap(pid);
    return length;
}

void nothing_is_left(tidings_center *center, tidings_publisher *publisher, uint32_t observers, uint32_t chunks) {
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    for (uint32_t i = 0; i < 3 * 256; i++) post_number(publisher, i);
    CHECK(tidings_reclaim(center) == 0, "no participant died since");
    // Every slot serves again: none is passed over.
    for (uint64_t i = 0, last = post_number(publisher, 0); i < 2 * 256; i++, last++) {
        const uint64_t next = post_number(publisher, 0);
        CHECK(next == last + 1, "%lu after %lu: a slot is still held", (unsigned long)next, (unsigned long)last);
    }
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.participants == 1, "%u participants", statistics.participants);
    CHECK(statistics.observers == observers, "%u observers", statistics.observers);
    CHECK(statistics.chunks_used <= chunks, "%u chunks in use", statistics.chunks_used);
    CHECK(statistics.observers_asleep == 0, "%u asleep", statistics.observers_asleep);
}
