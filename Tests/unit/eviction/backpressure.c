#include "eviction/backpressure.h"
#include "fresh.h"

#include "platform/clock.h"
#include "registry/observers.h"

// A lossless observer of this process, whose cursor stays at 0.
static uint32_t lossless_observer(tidings_center *center) {
    uint32_t index = 0;
    CHECK_EQUAL(tidings__observer_take(&center->segment, center->participant, &index), 0);
    (void)tidings__lossless_begin(&center->segment, index, 0);
    return index;
}

TEST(a_deadline_follows_from_the_timeout) {
    tidings_post_options options = {0};
    CHECK_EQUAL(tidings__deadline(NULL), 0);
    CHECK_EQUAL(tidings__deadline(&options), 0);
    options.timeout_ns = -1;
    CHECK_EQUAL(tidings__deadline(&options), UINT64_MAX);
    options.timeout_ns = INT64_MAX;
    const uint64_t before = tidings__monotonic_ns();
    CHECK(tidings__deadline(&options) >= before + INT64_MAX);
    CHECK(tidings__deadline(&options) < UINT64_MAX);
}

TEST(a_living_lossless_observer_fails_a_post_that_does_not_wait) {
    tidings_center *center = fresh_center();
    const uint32_t observer = lossless_observer(center);
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, observer, 0, &effort), -EAGAIN);
    CHECK_EQUAL(effort.passed, 0);
    tidings_holder holder;
    CHECK_EQUAL(tidings_last_error_holder(&holder), 0);
    CHECK_EQUAL(holder.participant, center->participant);
    CHECK(holder.own);
    CHECK_EQUAL(tidings__held_back(center, observer, 1, &effort), -ETIMEDOUT);
}

TEST(an_observer_that_is_lossless_no_more_holds_no_post_back) {
    tidings_center *center = fresh_center();
    const uint32_t observer = lossless_observer(center);
    center->segment.header->lossless[0] = 0;
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, observer, 0, &effort), 0);
    CHECK_EQUAL(effort.passed, 1);
}

TEST(a_dead_observer_is_reclaimed_and_holds_no_post_back) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, 3);
    s->observers[2].owner = 3 + 1;
    s->observers[2].instance = 101;
    s->header->lossless[0] = 1 << 2;
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, 2, 0, &effort), 0);
    CHECK_EQUAL(s->observers[2].owner, 0);
    CHECK_EQUAL(s->participants[3].instance, 0);
}

TEST(a_post_passes_a_bounded_number_of_dead_observers) {
    tidings_center *center = fresh_center();
    tidings__effort effort = {.passed = 63};
    CHECK_EQUAL(tidings__held_back(center, 2, 0, &effort), 0);
    CHECK_EQUAL(tidings__held_back(center, 2, 0, &effort), -EAGAIN);
    effort.passed = 0;
    CHECK_EQUAL(tidings__held_back(center, 2, 1, &effort), -ETIMEDOUT);
}

TEST(a_post_that_is_held_back_learns_that_its_center_has_ended) {
    tidings_center *center = fresh_center();
    const uint32_t observer = lossless_observer(center);
    center->segment.header->removed.word = 1;
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, observer, UINT64_MAX, &effort), -ESTALE);
}
