#include "fresh.h"

#include "registry/doorbell.h"
#include "ring/record.h"
#include "ring/verdict.h"

static tidings_payload texts[600];

static size_t batch(size_t count, size_t size) {
    static const char zeros[4096];
    for (size_t i = 0; i < count; i++) texts[i] = (tidings_payload){zeros, size};
    return count;
}

TEST(a_batch_is_posted_in_its_order_and_leaves_the_post) {
    tidings_center *center = fresh_center();
    const tidings_payload payloads[] = {{"a", 1}, {"", 0}, {"c", 1}};
    size_t posted = 0;
    uint64_t sequences[3] = {0};
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), payloads, 3, NULL, &posted, sequences), 0);
    CHECK_EQUAL(posted, 3);
    for (uint64_t p = 0; p < 3; p++) {
        tidings__record record;
        tidings__record_read(&center->segment.cells[p], &record);
        CHECK_EQUAL(sequences[p], p);
        CHECK_EQUAL(tidings__slot_status(&center->segment, p), TIDINGS__VALID);
        CHECK_EQUAL(record.size, payloads[p].size);
        CHECK(memcmp((const void *)center->segment.cells[p].body, payloads[p].bytes, payloads[p].size) == 0);
    }
    CHECK_EQUAL(tidings__thread_self()->inside, 0);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), payloads, 0, NULL, &posted, NULL), 0);
    CHECK_EQUAL(posted, 0);
}

TEST(a_batch_that_is_larger_than_the_ring_evicts) {
    tidings_center *center = fresh_center();
    size_t posted = 0;
    const size_t count = batch(600, 64);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, count, NULL, &posted, NULL), 0);
    CHECK_EQUAL(posted, 600);
    CHECK_EQUAL(tidings__slot_status(&center->segment, 599), TIDINGS__VALID);
}

TEST(a_batch_ends_at_the_first_payload_that_can_not_be_posted) {
    tidings_center *center = fresh_center();
    size_t posted = 0;
    const size_t count = batch(4, 8);
    texts[2].size = center->segment.shape.maximum_payload + 1;
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, count, NULL, &posted, NULL), -EMSGSIZE);
    CHECK_EQUAL(posted, 2);
    CHECK_EQUAL(tidings__slot_status(&center->segment, 2), TIDINGS__UNDECIDED);
}

TEST(a_batch_has_payloads_that_no_cell_takes) {
    tidings_center *center = fresh_center();
    const size_t count = batch(3, 8);
    texts[1].size = 1000;
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, count, NULL, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&center->segment.cells[1], &record);
    CHECK_EQUAL(record.flags, TIDINGS__RECORD_CHUNK);
    CHECK_EQUAL(record.size, 1000);
}

TEST(the_positions_of_a_batch_are_told_across_the_end_of_a_lap) {
    tidings_center *center = fresh_center();
    const uint32_t slots = center->segment.shape.slots;
    uint64_t sequences[600];
    tidings_publisher *publisher = opened_publisher(center, "name");
    for (uint32_t i = 0; i + 3 < slots; i++) CHECK_EQUAL(tidings_post(publisher, "a", 1, NULL, NULL), 0);
    CHECK_EQUAL(tidings_post_many(publisher, texts, batch(8, 8), NULL, NULL, sequences), 0);
    for (uint64_t i = 0; i < 8; i++) {
        CHECK_EQUAL(sequences[i], slots - 3 + i);
        CHECK_EQUAL(tidings__slot_status(&center->segment, sequences[i]), TIDINGS__VALID);
    }
    CHECK_EQUAL(center->hint, slots + 5);
}

TEST(a_batch_goes_on_behind_posts_of_others) {
    tidings_center *center = fresh_center();
    uint64_t sequences[2];
    for (uint64_t p = 0; p < 3; p++) unit_post(&center->segment, p, 0);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(2, 8), NULL, NULL, sequences), 0);
    CHECK_EQUAL(sequences[0], 3);
    CHECK_EQUAL(sequences[1], 4);
}

TEST(after_a_batch_the_kernel_knows_no_word_of_this_thread) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(3, 8), NULL, NULL, NULL), 0);
    CHECK(tidings__thread_self()->pending != NULL);
    CHECK_EQUAL(*tidings__thread_self()->pending, 0);
}

TEST(a_lossless_observer_holds_the_rest_of_a_batch_back) {
    tidings_center *center = fresh_center();
    const uint32_t slots = center->segment.shape.slots;
    tidings_observer *observer = NULL;
    uint32_t id = 0;
    CHECK_EQUAL(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer), 0);
    CHECK_EQUAL(tidings_observer_add(observer, "name", 4, NULL, 0, 0, &id), 0);
    size_t posted = 0;
    tidings_publisher *publisher = opened_publisher(center, "name");
    const size_t count = batch(slots + 8, 8);
    CHECK_EQUAL(tidings_post_many(publisher, texts, count, NULL, &posted, NULL), -EAGAIN);
    CHECK_EQUAL(posted, slots);
    tidings_delivery delivery;
    for (uint32_t i = 0; i < slots; i++) CHECK_EQUAL(tidings_next(observer, 0, &delivery), 0);
    CHECK_EQUAL(tidings_next(observer, 0, &delivery), -EAGAIN);
    CHECK_EQUAL(tidings_post_many(publisher, texts, 8, NULL, &posted, NULL), 0);
    CHECK_EQUAL(posted, 8);
    tidings_observer_close(observer);
}

TEST(a_batch_goes_on_under_an_entry_that_the_name_got_meanwhile) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    const size_t count = batch(2, 8);
    CHECK_EQUAL(tidings_post_many(publisher, texts, count, NULL, NULL, NULL), 0);
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(tidings_post_many(publisher, texts, count, NULL, NULL, NULL), 0);
    for (uint64_t p = 0; p < 4; p++) {
        tidings__record record;
        tidings__record_read(&center->segment.cells[p], &record);
        CHECK_EQUAL(record.name, p < 2 ? TIDINGS__NAME_NONE : entry);
    }
}

TEST(each_post_of_a_batch_rings_the_observers_of_its_name) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    (void)joined(center, "name", false, 1);
    (void)joined(center, "other", false, 2);
    (void)tidings__doorbell_announce(s, 1);
    const uint32_t other = tidings__doorbell_announce(s, 2);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(2, 8), NULL, NULL, NULL), 0);
    CHECK_EQUAL(*tidings__doorbell(s, 1) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(*tidings__doorbell(s, 2), other);
}

TEST(a_batch_rings_the_observers_of_a_name_whose_members_may_be_in_several_words) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings__name_at(s, joined(center, "name", false, 1))->wake_group |= 2;
    (void)tidings__doorbell_announce(s, 1);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(2, 8), NULL, NULL, NULL), 0);
    CHECK_EQUAL(*tidings__doorbell(s, 1) & TIDINGS__ASLEEP, 0);
}

TEST(a_batch_rings_the_observers_of_a_prefix_and_of_all_names) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    (void)joined(center, "na", true, 1);
    CHECK_EQUAL(tidings__name_join_all(s, 2), 0);
    (void)tidings__doorbell_announce(s, 1);
    (void)tidings__doorbell_announce(s, 2);
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(2, 8), NULL, NULL, NULL), 0);
    CHECK_EQUAL(*tidings__doorbell(s, 1) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(*tidings__doorbell(s, 2) & TIDINGS__ASLEEP, 0);
}

TEST(a_batch_leaves_other_processes_a_hint_of_the_frontier) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_post_many(opened_publisher(center, "name"), texts, batch(64, 8), NULL, NULL, NULL), 0);
    CHECK_EQUAL(center->segment.header->frontier_hint.word, 64);
}
