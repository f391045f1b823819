#include "observing.h"
#include "retained/retained.h"

// A retained record of this entry, without a payload that is in a chunk.
static void retain(tidings_observer *o, uint64_t position, uint32_t entry, uint32_t chunk) {
    tidings__segment *s = &o->center->segment;
    unit_post(s, position, tidings__route_word(entry, 0, TIDINGS__RECORD_RETAIN | TIDINGS__RECORD_CHUNK, 0));
    s->cells[position].body[0] = chunk;
    s->chunk_words[chunk] = tidings__chunk_word(position, 0, TIDINGS__CHUNK_IN_RING);
}

TEST(a_value_in_the_ring_is_delivered_first_and_once) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    retain(o, 0, joined(o->center, "a", false, TIDINGS__TO_RETAIN), 3);
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_RETAINED);
    CHECK(sub->retained);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.sequence, 0);
    CHECK(d.flags & TIDINGS_DELIVERY_RETAINED);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
}

TEST(the_newest_value_of_each_of_many_names_is_listed_in_posting_order) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = joined(o->center, "a", false, TIDINGS__TO_RETAIN);
    const uint32_t b = joined(o->center, "b", false, TIDINGS__TO_RETAIN);
    retain(o, 0, a, 3);
    retain(o, 1, b, 4);
    retain(o, 2, a, 5);
    const tidings__subscription *sub = added(o, NULL, TIDINGS_ADD_RETAINED);
    CHECK_EQUAL(sub->listed_count, 2);
    CHECK_EQUAL(sub->listed[0].position, 1);
    CHECK_EQUAL(sub->listed[0].entry, b);
    CHECK_EQUAL(sub->listed[1].position, 2);
    CHECK_EQUAL(sub->listed[1].entry, a);
}

TEST(a_value_that_the_history_lists_is_not_delivered_twice) {
    tidings_observer *o = fresh_observer();
    retain(o, 0, joined(o->center, "a", false, TIDINGS__TO_RETAIN), 3);
    CHECK(!added(o, "a", TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY)->retained);
    CHECK_EQUAL(added(o, NULL, TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY)->listed_count, 0);
}

TEST(values_of_names_without_the_prefix_are_not_listed) {
    tidings_observer *o = fresh_observer();
    retain(o, 0, joined(o->center, "ab", false, TIDINGS__TO_RETAIN), 3);
    retain(o, 1, joined(o->center, "b", false, TIDINGS__TO_RETAIN), 4);
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_RETAINED | TIDINGS_ADD_PREFIX);
    CHECK_EQUAL(sub->listed_count, 1);
    CHECK_EQUAL(sub->listed[0].position, 0);
}

// A reader that lists the values of all names while the post at position 1 is unfinished.
static tidings_observer *o;
static tidings__subscription *sub;
static tidings_delivery d;
static uint32_t a;

static void list_beside_an_unfinished_post(void) {
    o = fresh_reader();
    o->center->segment.writable = true;
    a = joined(o->center, "a", false, TIDINGS__TO_RETAIN);
    retain(o, 0, a, 3);
    unit_claim(&o->center->segment, 1, UNIT_OWNER);
    retain(o, 2, joined(o->center, "b", false, TIDINGS__TO_RETAIN), 4);
    o->center->segment.writable = false;
    sub = added(o, NULL, TIDINGS_ADD_RETAINED);
    CHECK_EQUAL(sub->listed_count, 2);
    CHECK_EQUAL(sub->unfinished_count, 1);
}

static void receives(uint64_t position) {
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.sequence, position);
}

TEST(a_reader_receives_the_listed_value_if_the_post_stays_unfinished) {
    list_beside_an_unfinished_post();
    receives(0);
    receives(2);
}

TEST(a_reader_receives_the_newer_value_whose_post_was_unfinished_and_not_the_older) {
    list_beside_an_unfinished_post();
    retain(o, 1, a, 5);
    receives(1);
    receives(2);
}

TEST(a_reader_receives_the_newer_value_also_if_it_was_evicted) {
    list_beside_an_unfinished_post();
    tidings__segment *s = &o->center->segment;
    retain(o, 1, a, 5);
    tidings__retained_promote(s, 0);
    tidings__retained_promote(s, 1);
    unit_evict_to(s, 2);
    receives(1);
    receives(2);
}
