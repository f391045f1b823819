#include "receiving/account.h"

#include "observing.h"

TEST(a_subscription_begins_at_the_end_and_counts_the_records_before) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a"), b = counted(o->center, "b");
    post_of(o, 0, a);
    post_of(o, 1, b);
    post_of(o, 2, a);
    const tidings__subscription *sub = added(o, "a", 0);
    CHECK_EQUAL(sub->since, 3);
    CHECK_EQUAL(sub->passed, 2);
    CHECK_EQUAL(sub->history_count, 0);
}

TEST(a_record_that_the_tally_has_counted_is_not_counted_twice) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    post_of(o, 1, a);
    o->center->segment.names[a].tally.count = 5;
    o->center->segment.names[a].tally.end = 1;
    CHECK_EQUAL(added(o, "a", 0)->passed, 6);
}

TEST(a_history_lists_the_records_of_its_name_from_the_cursor_on) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a"), b = counted(o->center, "b");
    post_of(o, 0, a);
    post_of(o, 1, a);
    post_of(o, 2, b);
    post_of(o, 3, a);
    o->cursor = 1;
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK_EQUAL(sub->history_count, 2);
    CHECK_EQUAL(sub->history[0], 1);
    CHECK_EQUAL(sub->history[1], 3);
}

TEST(a_history_lists_records_whose_entry_was_taken_out) {
    tidings_observer *o = fresh_observer();
    tidings__segment *s = &o->center->segment;
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    CHECK(tidings__name_take_out(s, 0, a, &(uint64_t){UINT64_MAX}));
    CHECK_EQUAL(tidings_observer_seek(o, 0), 0);
    tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK(sub->entry != a);
    CHECK_EQUAL(sub->history_count, 1);
}

TEST(records_before_the_birth_of_the_entry_are_not_of_the_name) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    post_of(o, 1, a);
    o->center->segment.names[a].birth = 1;
    CHECK_EQUAL(added(o, "a", 0)->passed, 1);
}

// An observer that begins at position 0, of a center with two records of "a": an empty one, and one in a chunk.
static tidings_observer *observer_of_two(tidings_publisher **publisher) {
    tidings_configuration configuration = unit_smallest;
    configuration.maximum_payload = 2 * TIDINGS_LEND_MIN;
    tidings_center *center;
    CHECK_EQUAL(tidings_create_sealed("unit", &configuration, &center), 0);
    tidings_observer *o = observer_with(center, 0);
    *publisher = opened_publisher(center, "a");
    static const char payload[TIDINGS_LEND_MIN] = "in a chunk";
    CHECK_EQUAL(tidings_post(*publisher, "", 0, NULL, NULL), 0);
    CHECK_EQUAL(tidings_post(*publisher, payload, sizeof payload, NULL, NULL), 0);
    CHECK_EQUAL(tidings_observer_seek(o, 0), 0);
    return o;
}

// Called while the name of the record at position 1 is read: evicts it, and frees its chunk.
static void *evicts(void *context, size_t size) {
    static uint8_t memory[16384];
    tidings__segment *s = context;
    tidings__set_release(&s->header->eviction.word, UINT64_C(2) << TIDINGS__EV_START_SHIFT);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) tidings__set_release(&s->chunk_words[i], 0);
    return size <= sizeof memory ? memory : NULL;
}

TEST(a_history_has_no_gap_where_a_record_was_evicted_before_its_name_was_read) {
    tidings_publisher *publisher;
    tidings_observer *o = observer_of_two(&publisher);
    CHECK_EQUAL(tidings_post(publisher, "", 0, NULL, NULL), 0);
    CHECK_EQUAL(tidings_observer_lend(o, TIDINGS_LEND_MIN, evicts, &o->center->segment), 0);
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK_EQUAL(sub->history_count, 1);
    CHECK_EQUAL(sub->history[0], 2);
    tidings_publisher_close(publisher);
}

// Called while the name of the record at position 1 is read: the records up to there are evicted, two more are posted
// and are being evicted. The tally has counted them, EV has not moved on.
static uint32_t entry_of_a;
static void *evicts_to_beyond(void *context, size_t size) {
    static uint8_t memory[16384];
    tidings_observer *o = context;
    tidings__segment *s = &o->center->segment;
    const uint64_t end = tidings__frontier(s, 0) + 2;
    post_of(o, end - 2, entry_of_a);
    post_of(o, end - 1, entry_of_a);
    tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(end - 2, 2));
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) tidings__set_release(&s->chunk_words[i], 0);
    s->names[entry_of_a].tally.count = 2;
    s->names[entry_of_a].tally.end = end;
    return size <= sizeof memory ? memory : NULL;
}

TEST(a_history_goes_on_to_where_the_tally_ends) {
    tidings_publisher *publisher;
    tidings_observer *o = observer_of_two(&publisher);
    entry_of_a = counted(o->center, "a");
    CHECK_EQUAL(tidings_observer_lend(o, TIDINGS_LEND_MIN, evicts_to_beyond, o), 0);
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK_EQUAL(sub->since, 4);
    CHECK_EQUAL(sub->passed, 2);
    CHECK_EQUAL(sub->history_count, 2);
    CHECK_EQUAL(sub->history[0], 2);
    CHECK_EQUAL(sub->history[1], 3);
    tidings_publisher_close(publisher);
}
