#include <stdlib.h>

#include "observing.h"

TEST(an_interrupted_observer_returns_once) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    tidings_observer_interrupt(o);
    CHECK_EQUAL(tidings_next(o, -1, &d), -EINTR);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
}

TEST(a_lossless_cursor_is_published_when_the_ring_has_nothing_more) {
    tidings_observer *o = observer_with(fresh_center(), TIDINGS_OBSERVE_LOSSLESS);
    tidings_delivery d;
    post_of(o, 0, added(o, "a", 0)->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(o->published, 0);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK_EQUAL(o->published, 1);
}

TEST(each_observer_publishes_its_position_when_the_ring_has_nothing_more) {
    tidings_observer *o = fresh_observer();
    const _Atomic uint64_t *progress = &o->center->segment.observers[o->index].progress;
    tidings_delivery d;
    CHECK_EQUAL(*progress, TIDINGS__PROGRESS(0, 0));
    post_of(o, 0, added(o, "a", 0)->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(*progress, TIDINGS__PROGRESS(0, 0));
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK_EQUAL(*progress, TIDINGS__PROGRESS(1, 0));
}

TEST(each_observer_publishes_its_position_in_steps) {
    tidings_observer *o = fresh_observer();
    const _Atomic uint64_t *progress = &o->center->segment.observers[o->index].progress;
    const uint32_t entry = added(o, "a", 0)->entry;
    tidings_delivery d;
    for (uint64_t p = 0; p < 2 * o->publish_step; p++) post_of(o, p, entry);
    for (uint64_t p = 1; p <= 2 * o->publish_step; p++) {
        CHECK_EQUAL(next_of(o, &d), 0);
        CHECK_EQUAL(*progress, TIDINGS__PROGRESS(p - p % o->publish_step, 0));
    }
}

TEST(a_reader_publishes_no_position) {
    tidings_observer *o = fresh_reader();
    const tidings__segment *s = &o->center->segment;
    tidings_delivery d;
    const uint32_t a = counted(o->center, "a");
    (void)added(o, "a", 0);
    post_of(o, 0, a);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    for (uint32_t i = 0; i < s->shape.observers; i++) CHECK_EQUAL(s->observers[i].progress, 0);
}

TEST(the_next_call_frees_removed_subscriptions) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    const uint32_t id = added(o, "a", 0)->id;
    CHECK_EQUAL(tidings_observer_remove(o, id), 0);
    CHECK(o->removed != NULL);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK(o->removed == NULL);
}

// MARK: Several deliveries in one call

static tidings_delivery taken[TIDINGS_NEXT_MANY_MAX + 8];

static int next_many(tidings_observer *o, size_t count) { return tidings_next_many(o, 0, taken, count); }

// The first call of an observer takes one: afterwards it is known that records alone are due.
static tidings_observer *begun_observer(tidings_publisher **publisher, uint32_t flags) {
    tidings_observer *o = observer_with(fresh_center(), flags);
    (void)added(o, "name", 0);
    *publisher = opened_publisher(o->center, "name");
    CHECK_EQUAL(tidings_post(*publisher, "0", 1, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 1), 1);
    return o;
}

TEST(several_deliveries_of_one_call_have_payloads_of_their_own) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    const char *const texts[] = {"one", "", "three", "four"};
    for (int i = 0; i < 4; i++) CHECK_EQUAL(tidings_post(publisher, texts[i], strlen(texts[i]), NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 3), 3);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQUAL(taken[i].sequence, i + 1);
        CHECK_EQUAL(taken[i].size, strlen(texts[i]));
        CHECK(memcmp(taken[i].payload, texts[i], taken[i].size) == 0);
        CHECK_EQUAL(taken[i].subscription_count, 1);
        CHECK_EQUAL(taken[i].subscriptions[0], 1);
        CHECK_TEXT(taken[i].name, "name");
    }
    CHECK_EQUAL(next_many(o, 3), 1);
    CHECK(memcmp(taken[0].payload, "four", 4) == 0);
    CHECK_EQUAL(next_many(o, 3), -EAGAIN);
    CHECK_EQUAL(next_many(o, 0), 0);
}

TEST(one_call_takes_at_most_its_maximum) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    const int posts = (int)TIDINGS_NEXT_MANY_MAX + 4;
    for (int i = 0; i < posts; i++) CHECK_EQUAL(tidings_post(publisher, &i, sizeof i, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, sizeof taken / sizeof *taken), TIDINGS_NEXT_MANY_MAX);
    CHECK_EQUAL(*(const int *)taken[TIDINGS_NEXT_MANY_MAX - 1].payload, TIDINGS_NEXT_MANY_MAX - 1);
    CHECK_EQUAL(next_many(o, sizeof taken / sizeof *taken), 4);
}

TEST(several_deliveries_end_before_one_that_is_not_plain) {
    static const char large[1000];
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    for (int i = 0; i < 2; i++) CHECK_EQUAL(tidings_post(publisher, "a", 1, NULL, NULL), 0);
    CHECK_EQUAL(tidings_post(publisher, large, sizeof large, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) CHECK_EQUAL(tidings_post(publisher, "b", 1, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 8), 2);
    CHECK_EQUAL(next_many(o, 8), 1);
    CHECK_EQUAL(taken[0].size, sizeof large);
    CHECK_EQUAL(next_many(o, 8), 2);
    CHECK_EQUAL(next_many(o, 8), -EAGAIN);
}

TEST(several_deliveries_end_before_a_slot_that_a_later_lap_has_taken) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    for (int i = 0; i < 4; i++) CHECK_EQUAL(tidings_post(publisher, "a", 1, NULL, NULL), 0);
    o->center->segment.cells[3].claim += UINT64_C(1) << TIDINGS__W_LAP_SHIFT;
    CHECK_EQUAL(next_many(o, 8), 2);
    CHECK_EQUAL(o->cursor, 3);
}

TEST(several_deliveries_end_with_the_lap_and_go_on_in_the_next_call) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    const uint32_t slots = o->center->segment.shape.slots;
    for (uint32_t i = 1; i + 2 < slots; i++) CHECK_EQUAL(tidings_post(publisher, "a", 1, NULL, NULL), 0);
    for (int count; (count = next_many(o, TIDINGS_NEXT_MANY_MAX)) != -EAGAIN;) CHECK(count > 0);
    for (int i = 0; i < 5; i++) CHECK_EQUAL(tidings_post(publisher, "b", 1, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 8), 2);
    CHECK_EQUAL(next_many(o, 8), 3);
    CHECK_EQUAL(taken[2].sequence, slots + 2);
}

TEST(a_payload_of_several_deliveries_is_detached_and_the_later_ones_stay_readable) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, 0);
    for (int i = 0; i < 4; i++) CHECK_EQUAL(tidings_post(publisher, &i, sizeof i, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 3), 3);
    const int *read = taken[1].payload;
    void *memory;
    CHECK_EQUAL(tidings_observer_detach(o, &taken[1], 2, &memory), 0);
    CHECK_EQUAL(*(const int *)taken[2].payload, 2);
    CHECK(taken[1].payload != (const void *)read);
    CHECK_EQUAL(next_many(o, 3), 1);
    CHECK_EQUAL(*(const int *)taken[0].payload, 3);
    CHECK_EQUAL(*read, 1);
    free(memory);
}

TEST(several_deliveries_of_a_bare_observer_have_no_payload) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, TIDINGS_OBSERVE_BARE);
    for (int i = 0; i < 3; i++) CHECK_EQUAL(tidings_post(publisher, "text", 4, NULL, NULL), 0);
    CHECK_EQUAL(next_many(o, 3), 3);
    CHECK_EQUAL(taken[2].size, 4);
    CHECK_EQUAL(*(const char *)taken[2].payload, 0);
}

TEST(several_deliveries_of_a_lossless_observer_let_posters_go_on) {
    tidings_publisher *publisher;
    tidings_observer *o = begun_observer(&publisher, TIDINGS_OBSERVE_LOSSLESS);
    for (uint32_t i = 0; i + 1 < o->center->segment.shape.slots; i++)
        CHECK_EQUAL(tidings_post(publisher, "a", 1, NULL, NULL), 0);
    for (int count; (count = next_many(o, TIDINGS_NEXT_MANY_MAX)) != -EAGAIN;) CHECK(count > 0);
    CHECK_EQUAL(o->published, o->cursor);
}
