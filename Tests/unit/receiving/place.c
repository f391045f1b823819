#include "observing.h"
#include "ring/hold.h"

static tidings_observer *o;
static tidings_center *center;
static tidings__segment *s;
static tidings_delivery d;
static char large[600];

static tidings_observer *in_place(tidings_center *of) {
    tidings_observer *observer = observer_with(of, 0);
    tidings_observer_in_place(observer, 0);
    return observer;
}

static void begin(void) {
    o = in_place(fresh_center());
    center = o->center;
    s = &center->segment;
    added(o, "a", 0);
}

// Posts 600 bytes of this letter under "a".
static void post_large(char letter) {
    memset(large, letter, sizeof large);
    CHECK_EQUAL(tidings_post(opened_publisher(center, "a"), large, sizeof large, NULL, NULL), 0);
}

static uint32_t chunk_of_delivery(void) { return (uint32_t)s->cells[d.sequence].body[0]; }
static uint32_t held(void) {
    tidings_participant_holds holds;
    tidings_participant_holds_get(center, center->participant, &holds);
    return holds.payloads;
}
static bool is_all(const void *payload, char letter) {
    memset(large, letter, sizeof large);
    return memcmp(payload, large, sizeof large) == 0;
}

TEST(a_large_payload_is_delivered_where_it_lies) {
    begin();
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags, TIDINGS_DELIVERY_OWN | TIDINGS_DELIVERY_IN_PLACE);
    CHECK((const uint8_t *)d.payload == tidings__chunk_bytes(s, chunk_of_delivery(), NULL) + TIDINGS__CHUNK_HEADER);
    CHECK_EQUAL(d.size, sizeof large);
    CHECK(is_all(d.payload, 'x'));
    CHECK_TEXT(d.name, "a");
    CHECK_EQUAL(held(), 1);
}

TEST(the_next_call_releases_what_was_delivered) {
    begin();
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK_EQUAL(held(), 0);
    CHECK_EQUAL(center->holding, 0);
}

TEST(closing_an_observer_releases_what_was_delivered) {
    begin();
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    tidings_observer_close(o);
    CHECK_EQUAL(held(), 0);
}

TEST(a_small_payload_is_copied_also_if_it_lies_in_a_chunk) {
    begin();
    tidings_publisher *publisher = opened_publisher(center, "a");
    CHECK_EQUAL(tidings_post(publisher, "small", 5, NULL, NULL), 0);
    CHECK_EQUAL(tidings_state_set(publisher, "small", 5, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(next_of(o, &d), 0);
        CHECK_EQUAL(d.flags, TIDINGS_DELIVERY_OWN | (i == 1 ? TIDINGS_DELIVERY_STATE : 0));
        CHECK(memcmp(d.payload, "small", 5) == 0);
    }
    CHECK_EQUAL(held(), 0);
}

TEST(a_payload_below_the_limit_is_copied) {
    begin();
    tidings_observer_in_place(o, sizeof large + 1);
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags, TIDINGS_DELIVERY_OWN);
    tidings_observer_in_place(o, sizeof large);
    post_large('y');
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags, TIDINGS_DELIVERY_OWN | TIDINGS_DELIVERY_IN_PLACE);
}

TEST(a_held_payload_stays_when_its_record_is_evicted) {
    begin();
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    const uint32_t chunk = chunk_of_delivery();
    tidings_held held_payload;
    CHECK_EQUAL(tidings_hold(o, &d, &held_payload), 0);
    CHECK(held_payload.payload == d.payload);
    CHECK_EQUAL(held_payload.size, sizeof large);
    for (uint32_t i = 0; i < 2 * s->geometry.chunk_count; i++) post_large('y');
    CHECK(tidings__oldest(s) > 0);
    CHECK(is_all(held_payload.payload, 'x'));
    CHECK_EQUAL(s->chunk_words[chunk], tidings__chunk_word(0, 0, TIDINGS__CHUNK_IN_RING) | TIDINGS__CHUNK_HELD);
    tidings_observer_close(o);
    CHECK_EQUAL(held(), 1);
    tidings_release(&held_payload);
    CHECK_EQUAL(held(), 0);
    CHECK(!held_payload.payload);
    tidings_release(&held_payload);
    for (uint32_t i = 0; i < 2 * s->geometry.chunk_count; i++) post_large('y');
    CHECK(tidings__chunk_position(s->chunk_words[chunk]) != 0);
}

TEST(a_payload_is_held_once_and_only_the_latest) {
    begin();
    tidings_held first, second;
    d.kind = TIDINGS_DELIVERY_MESSAGE;
    CHECK_EQUAL(tidings_hold(o, &d, &first), -EINVAL);
    post_large('x');
    post_large('y');
    CHECK_EQUAL(next_of(o, &d), 0);
    const tidings_delivery before = d;
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(tidings_hold(o, &before, &first), -EINVAL);
    CHECK_EQUAL(tidings_hold(o, &d, &first), 0);
    CHECK_EQUAL(tidings_hold(o, &d, &second), -EINVAL);
    CHECK(!second.payload);
    tidings_release(&first);
}

TEST(a_copied_payload_is_held_in_memory_of_the_process) {
    begin();
    tidings_publisher *publisher = opened_publisher(center, "a");
    tidings_held held_payloads[2];
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQUAL(tidings_post(publisher, i ? "two" : "one", 3, NULL, NULL), 0);
        CHECK_EQUAL(next_of(o, &d), 0);
        CHECK_EQUAL(tidings_hold(o, &d, &held_payloads[i]), 0);
        CHECK(held_payloads[i].payload == d.payload);
    }
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK(memcmp(held_payloads[0].payload, "one", 3) == 0);
    CHECK(memcmp(held_payloads[1].payload, "two", 3) == 0);
    CHECK_EQUAL(held(), 0);
    tidings_release(&held_payloads[0]);
    tidings_release(&held_payloads[1]);
}

TEST(beyond_the_entries_of_a_row_payloads_are_copied) {
    begin();
    tidings_held held_payloads[TIDINGS_HOLDS_MAX + 1];
    for (uint32_t i = 0; i <= TIDINGS_HOLDS_MAX; i++) {
        post_large((char)('a' + i % 26));
        CHECK_EQUAL(next_of(o, &d), 0);
        CHECK_EQUAL((d.flags & TIDINGS_DELIVERY_IN_PLACE) != 0, i < TIDINGS_HOLDS_MAX);
        CHECK_EQUAL(tidings_hold(o, &d, &held_payloads[i]), 0);
    }
    CHECK_EQUAL(held(), TIDINGS_HOLDS_MAX);
    for (uint32_t i = 0; i <= TIDINGS_HOLDS_MAX; i++) {
        CHECK(is_all(held_payloads[i].payload, (char)('a' + i % 26)));
        tidings_release(&held_payloads[i]);
    }
    CHECK_EQUAL(held(), 0);
    CHECK_EQUAL(center->holding, 0);
}

TEST(a_retained_value_is_delivered_in_place_and_stays_when_it_is_replaced) {
    tidings_center *center_of_value = fresh_center();
    tidings_publisher *publisher = opened_publisher(center_of_value, "a");
    memset(large, 'x', sizeof large);
    CHECK_EQUAL(tidings_state_set(publisher, large, sizeof large, NULL, NULL), 0);
    for (uint32_t i = 0; i < 300; i++) CHECK_EQUAL(tidings_post(publisher, "", 0, NULL, NULL), 0);
    o = in_place(center_of_value);
    center = center_of_value;
    s = &center->segment;
    added(o, "a", TIDINGS_ADD_RETAINED);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags,
                TIDINGS_DELIVERY_RETAINED | TIDINGS_DELIVERY_STATE | TIDINGS_DELIVERY_OWN | TIDINGS_DELIVERY_IN_PLACE);
    tidings_held value;
    CHECK_EQUAL(tidings_hold(o, &d, &value), 0);
    for (uint32_t i = 0; i < 3 * s->geometry.chunk_count; i++) {
        memset(large, 'y', sizeof large);
        CHECK_EQUAL(tidings_state_set(publisher, large, sizeof large, NULL, NULL), 0);
    }
    CHECK(is_all(value.payload, 'x'));
    tidings_release(&value);
}

TEST(a_payload_in_place_can_not_be_detached) {
    begin();
    post_large('x');
    CHECK_EQUAL(next_of(o, &d), 0);
    void *memory;
    CHECK_EQUAL(tidings_observer_detach(o, &d, 1, &memory), -EINVAL);
    CHECK_SAYS(tidings__last_error(), "tidings_hold");
}

TEST(an_observer_without_write_access_receives_a_copy) {
    tidings_center *of_poster = fresh_center();
    of_poster->segment.observable = true;
    o = in_place(of_poster);
    center = of_poster;
    s = &center->segment;
    added(o, "a", 0);
    post_large('x');
    s->writable = false;
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags & TIDINGS_DELIVERY_IN_PLACE, 0);
    CHECK(is_all(d.payload, 'x'));
    CHECK_EQUAL(s->header->holds_used.word, 0);
}

TEST(a_process_that_lost_its_entry_receives_a_copy) {
    begin();
    post_large('x');
    s->participants[center->participant].instance += 2;
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags & TIDINGS_DELIVERY_IN_PLACE, 0);
    CHECK_EQUAL(s->header->holds_used.word, 0);
}
