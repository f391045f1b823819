#include "fresh.h"

#include "retained/retained.h"

TEST(the_statistics_count_the_shared_words) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 10; p++) unit_post(s, p, 0);
    unit_evict_to(s, 4);
    s->header->revoked.word = 6;
    s->observers[1].owner = 1;
    s->observers[2].owner = 1;
    s->header->asleep[0] = 1 << 1 | 1 << 5;  // observer 5 has no owner
    s->header->lossless[0] = 1 << 2 | 1 << 5;
    dead_participant(s, 3);
    tidings_statistics statistics;
    CHECK_EQUAL(tidings_statistics_get(center, &statistics), 0);
    CHECK_EQUAL(statistics.posted, 10);
    CHECK_EQUAL(statistics.retained_from, 4);
    CHECK_EQUAL(statistics.revoked, 6);
    CHECK_EQUAL(statistics.participants, 2);
    CHECK_EQUAL(statistics.observers, 2);
    CHECK_EQUAL(statistics.observers_asleep, 1);
    CHECK_EQUAL(statistics.observers_lossless, 1);
}

TEST(a_chunk_whose_record_was_evicted_is_not_used) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 10; p++) unit_post(s, p, 0);
    unit_evict_to(s, 4);
    s->chunk_words[0] = tidings__chunk_word(3, 0, TIDINGS__CHUNK_IN_RING);
    s->chunk_words[1] = tidings__chunk_word(4, 0, TIDINGS__CHUNK_IN_RING);
    s->chunk_words[2] = tidings__chunk_word(3, 0, TIDINGS__CHUNK_RETAINED);
    tidings_statistics statistics;
    CHECK_EQUAL(tidings_statistics_get(center, &statistics), 0);
    CHECK_EQUAL(statistics.chunks_used, 2);
}

TEST(a_name_counts_while_it_is_observed_or_has_a_value) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t observed = joined(center, "a", false, 1), left = joined(center, "b", false, 1);
    s->names[left].members[0] = 0;
    tidings_statistics statistics;
    CHECK_EQUAL(tidings_statistics_get(center, &statistics), 0);
    CHECK_EQUAL(statistics.names, 1);
    tidings_name_info info;
    CHECK_EQUAL(tidings_name(center, observed, &info), 0);
    CHECK_TEXT(info.name, "a");
    CHECK_EQUAL(info.observers, 1);
    CHECK_EQUAL(tidings_name(center, left, &info), -ENOENT);
    CHECK_EQUAL(tidings_name(center, unit_smallest.names, &info), -ERANGE);
}

TEST(a_name_has_one_value_until_it_is_cleared) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t a = joined(center, "a", false, 1), b = joined(center, "b", false, 1);
    unit_post(s, 0, tidings__route_word(a, 0, TIDINGS__RECORD_RETAIN, 0));
    unit_post(s, 1, tidings__route_word(a, 0, TIDINGS__RECORD_RETAIN, 0));
    unit_post(s, 2, tidings__route_word(b, 0, TIDINGS__RECORD_RETAIN, 0));
    uint32_t values, most;
    CHECK_EQUAL(tidings_values(center, &values, &most), 0);
    CHECK_EQUAL(values, 2);
    CHECK_EQUAL(most, s->geometry.chunk_count);
    unit_post(s, 3, tidings__route_word(b, 0, TIDINGS__RECORD_RETAIN | TIDINGS__RECORD_CLEAR, 0));
    CHECK_EQUAL(tidings_values(center, &values, &most), 0);
    CHECK_EQUAL(values, 1);
}
