#include "fresh.h"

#include "eviction/backpressure.h"
#include "eviction/evict.h"
#include "ring/record.h"

static uint32_t holder;

// `count` records of this entry, from position 0 on.
static void post_all(tidings__segment *s, uint32_t entry, uint64_t count) {
    for (uint64_t p = 0; p < count; p++) unit_post(s, p, tidings__route_word(entry, 0, 0, 0));
}

TEST(evicted_records_are_counted_for_their_names_and_for_all_names) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t a = joined(center, "a", false, 1), b = joined(center, "b", false, 1);
    post_all(s, a, 5);
    unit_post(s, 5, tidings__route_word(b, a, 0, 0));
    CHECK_EQUAL(tidings__evict_to(center, 6, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(tidings__oldest(s), 6);
    CHECK_EQUAL(s->names[a].tally.count, 6);
    CHECK_EQUAL(s->names[a].tally.end, 6);
    CHECK_EQUAL(s->names[b].tally.count, 1);
    CHECK_EQUAL(s->names[TIDINGS__NAME_ALL].tally.count, 6);
}

TEST(evicted_records_are_counted_for_the_prefixes_of_their_names) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t name = joined(center, "abc", false, 1);
    const uint32_t fits = joined(center, "ab", true, 1), other = joined(center, "b", true, 1);
    post_all(s, name, 3);
    CHECK_EQUAL(tidings__evict_to(center, 1, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(center->orders_taken, 0);
    // Other threads, or those that a signal handler has interrupted, use all orders.
    center->orders_taken = UINT32_MAX;
    CHECK_EQUAL(tidings__evict_to(center, 3, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(center->orders_taken, UINT32_MAX);
    CHECK_EQUAL(s->names[fits].tally.count, 3);
    CHECK_EQUAL(s->names[other].tally.count, 0);
}

TEST(an_eviction_that_was_begun_is_finished_and_counted_once) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t a = joined(center, "a", false, 1);
    post_all(s, a, 8);
    const uint64_t range = tidings__ev_evicting(0, 8);
    s->header->eviction.word = range;
    s->names[a].tally.count = 8;  // the thread that began it died after it had counted
    s->names[a].tally.end = 8;
    tidings__evict_finish(center);
    CHECK_EQUAL(s->header->eviction.word, tidings__ev_idle(8, 0));
    CHECK_EQUAL(s->names[a].tally.count, 8);
}

TEST(eviction_revokes_a_claim_in_its_way) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    post_all(s, 0, 2);
    unit_claim(s, 1, UNIT_OWNER);
    s->cells[1].commit = 0;
    CHECK_EQUAL(tidings__evict_to(center, 2, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(1, TIDINGS__V_DEAD));
    CHECK_EQUAL(s->names[TIDINGS__NAME_ALL].tally.count, 1);
}

TEST(a_range_longer_than_an_eviction_may_have_is_cut) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    post_all(s, 0, 200);
    s->header->eviction.word = tidings__ev_evicting(0, 200);
    tidings__evict_finish(center);
    CHECK_EQUAL(tidings__oldest(s), TIDINGS__EV_LENGTH_MAX);
}

TEST(eviction_stops_at_the_record_that_a_lossless_observer_needs) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t observer = 2, a = joined(center, "a", false, observer), b = joined(center, "b", false, 1);
    post_all(s, b, 10);
    unit_post(s, 6, tidings__route_word(a, 0, 0, 0));
    s->observers[observer].owner = center->participant + 1;
    s->observers[observer].instance = center->instance;
    s->observers[observer].cursor = 2;
    s->header->lossless[0] = 1 << observer;
    CHECK_EQUAL(tidings__evict_to(center, 10, &(tidings__effort){0}, &holder), -EAGAIN);
    CHECK_EQUAL(tidings__oldest(s), 6);
    CHECK_EQUAL(holder, observer);
    s->observers[observer].cursor = 7;
    CHECK_EQUAL(tidings__evict_to(center, 10, &(tidings__effort){0}, &holder), 0);
}

TEST(a_dead_lossless_observer_holds_no_post_back) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t observer = 2;
    dead_participant(s, 3);
    s->observers[observer].owner = 4;
    s->observers[observer].instance = s->participants[3].instance;
    s->header->lossless[0] = 1 << observer;
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, observer, 0, &effort), 0);
    CHECK_EQUAL(s->header->lossless[0], 0);
    CHECK_EQUAL(effort.passed, 1);
}

TEST(a_living_lossless_observer_refuses_a_post_without_a_deadline) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    s->observers[2].owner = center->participant + 1;
    s->observers[2].instance = center->instance;
    s->header->lossless[0] = 1 << 2;
    tidings__effort effort = {0};
    CHECK_EQUAL(tidings__held_back(center, 2, 0, &effort), -EAGAIN);
    CHECK_SAYS(tidings__last_error(), "lossless observer");
}

TEST(an_observer_that_joins_a_prefix_finishes_the_eviction_under_way) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    post_all(s, 0, 8);
    s->header->eviction.word = tidings__ev_evicting(0, 8);
    const uint32_t prefix = joined(center, "a", true, 1);
    CHECK_EQUAL(tidings__ev_length(s->header->eviction.word), 0);
    CHECK_EQUAL(s->names[prefix].tally.end, 8);
}

TEST(room_is_made_for_a_position_and_for_some_after_it) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    post_all(s, 0, s->shape.slots);
    CHECK_EQUAL(tidings__make_room(center, s->shape.slots - 1, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(tidings__oldest(s), 0);
    CHECK_EQUAL(tidings__make_room(center, s->shape.slots, &(tidings__effort){0}, &holder), 0);
    CHECK_EQUAL(tidings__oldest(s), s->shape.slots / 4);
}
