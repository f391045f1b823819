#include "center/record_name.h"
#include "fresh.h"

static _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
static uint32_t length;

static const _Atomic uint64_t *name_at(tidings_center *center, uint64_t position) {
    return tidings__record_name(&center->segment, position, copy, &length);
}

TEST(a_record_that_carries_an_entry_has_the_entrys_name) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t entry = joined(center, "name", false, 1), prefix = joined(center, "na", true, 1);
    unit_post(s, 0, tidings__route_word(entry, 0, 0, 0));
    CHECK(name_at(center, 0) == s->names[entry].key);
    CHECK_EQUAL(length, 4);
    unit_post(s, 1, tidings__route_word(prefix, 0, 0, 0));
    CHECK(name_at(center, 1) == NULL);
    unit_post(s, 2, tidings__route_word(TIDINGS__NAME_ALL, 0, 0, 0));
    CHECK(name_at(center, 2) == NULL);
}

TEST(an_entry_whose_length_is_hostile_gives_no_name) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t entry = joined(center, "name", false, 1);
    unit_post(s, 0, tidings__route_word(entry, 0, 0, 0));
    s->names[entry].lengths = TIDINGS_NAME_MAX + 1;
    CHECK(name_at(center, 0) == NULL);
}

TEST(the_name_of_a_small_record_lies_behind_its_payload) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings_post(opened_publisher(center, "name"), "123456789", 9, NULL, NULL), 0);
    CHECK(name_at(center, 0) == &s->cells[0].body[2]);
    CHECK_EQUAL(length, 4);
    s->cells[0].size_pid = TIDINGS__BODY_SIZE;
    CHECK(name_at(center, 0) == NULL);
}

TEST(the_name_of_a_large_record_is_copied_from_its_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    char large[601] = {0};
    CHECK_EQUAL(tidings_post(opened_publisher(center, "name"), large, sizeof large, NULL, NULL), 0);
    CHECK(name_at(center, 0) == copy);
    CHECK_EQUAL(length, 4);
    CHECK(memcmp((const void *)copy, "name\0\0\0\0", 8) == 0);
    tidings__record record;
    tidings__record_read(&s->cells[0], &record);
    s->chunk_words[record.chunk] = tidings__chunk_word(9, 0, TIDINGS__CHUNK_IN_RING);
    CHECK(name_at(center, 0) == NULL);
}
