#include "fresh.h"
#include "ring/hold.h"

TEST(a_participant_is_described_by_its_entry) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, 3);
    s->participants[3].pid = 42;
    s->participants[3].uid = 43;
    tidings_participant_info info;
    CHECK_EQUAL(tidings_participant(center, 3, &info), 0);
    CHECK_EQUAL(info.index, 3);
    CHECK_EQUAL(info.pid, 42);
    CHECK_EQUAL(info.uid, 43);
    CHECK(!info.own);
    CHECK(!info.alive);
    CHECK_EQUAL(tidings_participant(center, center->participant, &info), 0);
    CHECK(info.own);
    CHECK(info.alive);
}

TEST(an_entry_without_a_participant_has_no_description) {
    tidings_center *center = fresh_center();
    tidings_participant_info info;
    CHECK_EQUAL(tidings_participant(center, 3, &info), -ENOENT);
    CHECK_EQUAL(tidings_participant(center, unit_smallest.participants, &info), -ERANGE);
}

TEST(a_lossless_observer_is_behind_from_its_first_record_on) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t a = joined(center, "a", false, 2), b = joined(center, "b", false, 1);
    s->observers[2].owner = 3 + 1;
    s->observers[4].owner = 3 + 1;
    s->header->lossless[0] = 1 << 2;
    for (uint64_t p = 0; p < 10; p++) unit_post(s, p, tidings__route_word(p == 6 || p == 2 ? a : b, 0, 0, 0));
    tidings_participant_observers found;
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.observers, 2);
    CHECK_EQUAL(found.lossless, 1);
    CHECK_EQUAL(found.behind, 8);
    s->observers[2].cursor = 3;
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.behind, 4);
}

TEST(an_observer_of_a_prefix_is_behind_at_the_records_of_its_names) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t name = joined(center, "abc", false, 1), other = joined(center, "b", false, 1);
    (void)joined(center, "ab", true, 2);
    s->observers[2].owner = 3 + 1;
    s->header->lossless[0] = 1 << 2;
    for (uint64_t p = 0; p < 5; p++) unit_post(s, p, tidings__route_word(p == 3 ? name : other, 0, 0, 0));
    tidings_participant_observers found;
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.behind, 2);
}

TEST(an_observer_is_at_a_distance_by_what_it_has_published) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t a = joined(center, "a", false, 2), b = joined(center, "b", false, 1);
    for (uint32_t i = 2; i <= 4; i++) s->observers[i].owner = 3 + 1, s->observers[i].instance = 11;
    for (uint64_t p = 0; p < 10; p++) unit_post(s, p, tidings__route_word(p == 6 || p == 2 ? a : b, 0, 0, 0));
    s->observers[2].progress = TIDINGS__PROGRESS(0, 5);
    s->observers[4].progress = TIDINGS__PROGRESS(0, 0x7fffffff);
    tidings_participant_observers found;
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.observers, 3);
    CHECK_EQUAL(found.known, 2);
    CHECK_EQUAL(found.missed, 4);
    CHECK_EQUAL(found.distance, 8);
    CHECK_EQUAL(found.behind, 0);
    s->observers[2].progress = TIDINGS__PROGRESS(3, 5);
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.distance, 4);
    // Beyond the end: it needs nothing.
    s->observers[2].progress = TIDINGS__PROGRESS(7, 5);
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.distance, 0);
    // An entry that is being taken.
    s->observers[2].instance = 0;
    tidings_participant_observers_get(center, 3, &found);
    CHECK_EQUAL(found.known, 1);
}

TEST(the_holds_of_a_participant_are_described) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_participant_holds holds = {.payloads = 9};
    tidings_participant_holds_get(center, center->participant, &holds);
    CHECK_EQUAL(holds.payloads, 0);
    CHECK_EQUAL(tidings__back_holds(s), 0);
    s->chunk_words[1] = tidings__chunk_word(4, 0, TIDINGS__CHUNK_IN_RING);
    CHECK(tidings__hold_take(s, center->participant, 0, 1, 4, 1234));
    tidings_participant_holds_get(center, center->participant, &holds);
    CHECK_EQUAL(holds.payloads, 1);
    CHECK_EQUAL(holds.since_ns, 1234);
    CHECK_EQUAL(holds.memory, s->geometry.classes[0].size);
    tidings_participant_holds_get(center, s->shape.participants, &holds);
    CHECK_EQUAL(holds.payloads, 0);
}
