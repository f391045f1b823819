#include "fresh.h"

#include "ring/record.h"

TEST(a_state_is_posted_as_a_retained_record) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    CHECK_EQUAL(tidings_state_set(publisher, "on", 2, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&center->segment.cells[0], &record);
    CHECK_EQUAL(record.flags & (TIDINGS__RECORD_RETAIN | TIDINGS__RECORD_CLEAR), TIDINGS__RECORD_RETAIN);
    char text[8] = {0};
    size_t size = sizeof text;
    uint64_t sequence = 7;
    CHECK_EQUAL(tidings_state_get(publisher, text, &size, NULL, &sequence), 0);
    CHECK_EQUAL(size, 2);
    CHECK_EQUAL(sequence, 0);
    CHECK_TEXT(text, "on");
}

TEST(a_state_without_payload_clears_and_an_empty_one_does_not) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    size_t size = 0;
    CHECK_EQUAL(tidings_state_set(publisher, "", 0, NULL, NULL), 0);
    CHECK_EQUAL(tidings_state_get(publisher, NULL, &size, NULL, NULL), 0);
    CHECK_EQUAL(tidings_state_set(publisher, NULL, 0, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&center->segment.cells[1], &record);
    CHECK(record.flags & TIDINGS__RECORD_CLEAR);
    CHECK_EQUAL(tidings_state_get(publisher, NULL, &size, NULL, NULL), -ENOENT);
}

TEST(a_state_larger_than_the_buffer_is_not_copied_and_its_size_is_told) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    CHECK_EQUAL(tidings_state_set(publisher, "four", 4, NULL, NULL), 0);
    char text[8] = "kept";
    size_t size = 3;
    CHECK_EQUAL(tidings_state_get(publisher, text, &size, NULL, NULL), -ENOBUFS);
    CHECK_EQUAL(size, 4);
    CHECK_TEXT(text, "kept");
}

TEST(a_state_whose_chunk_holds_another_record_is_not_read) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_publisher *publisher = opened_publisher(center, "name");
    CHECK_EQUAL(tidings_state_set(publisher, "on", 2, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&s->cells[0], &record);
    s->chunk_words[record.chunk] = tidings__chunk_word(9, 0, TIDINGS__CHUNK_IN_RING);
    char text[8];
    size_t size = sizeof text;
    CHECK_EQUAL(tidings_state_get(publisher, text, &size, NULL, NULL), -ENOENT);
}

TEST(a_name_with_a_subject_has_no_state) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = NULL;
    CHECK_EQUAL(tidings_publisher_open(center, "name", 4, "subject", 7, &publisher), 0);
    size_t size = 0;
    CHECK_EQUAL(tidings_state_get(publisher, NULL, &size, NULL, NULL), -EINVAL);
    CHECK_EQUAL(tidings_state_set(publisher, "on", 2, NULL, NULL), -EINVAL);
    tidings_publisher_close(publisher);
}
