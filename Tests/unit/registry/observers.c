#include "registry/observers.h"

#include "names.h"
#include "platform/error.h"
#include "registry/doorbell.h"

// A place of this participant, which lives.
static uint32_t taken(tidings__segment *s, uint32_t participant) {
    uint32_t index = UINT32_MAX;
    s->participants[participant].instance = 100 * participant + 1;
    CHECK_EQUAL(tidings__observer_take(s, participant, &index), 0);
    return index;
}

TEST(an_observer_takes_the_first_free_place) {
    tidings__segment *s = unit_segment();
    s->observers[0].owner = 2;
    s->observers[1].history = 9;
    s->observers[1].group_waits[2] = 9;
    CHECK_EQUAL(taken(s, OWN), 1);
    CHECK_EQUAL(s->observers[1].owner, OWN + 1);
    CHECK_EQUAL(s->observers[1].instance, 301);
    CHECK_EQUAL(s->observers[1].history, 0);
    CHECK_EQUAL(s->observers[1].group_waits[2], TIDINGS__NAME_NONE);
}

TEST(an_observer_is_refused_when_all_places_are_taken) {
    tidings__segment *s = unit_segment();
    for (uint32_t i = 0; i < s->shape.observers; i++) s->observers[i].owner = 1;
    uint32_t index;
    CHECK_EQUAL(tidings__observer_take(s, OWN, &index), -EUSERS);
    CHECK_SAYS(tidings__last_error(), "observers");
}

TEST(a_released_place_is_free_awake_and_holds_no_post_back) {
    tidings__segment *s = unit_segment();
    const uint32_t index = taken(s, OWN);
    (void)tidings__doorbell_announce(s, index);
    s->header->lossless[0] = s->header->asleep[0] = UINT64_MAX;
    tidings__observer_release(s, index);
    CHECK_EQUAL(s->observers[index].owner, 0);
    CHECK_EQUAL(s->header->lossless[0], ~UINT64_C(1));
    CHECK_EQUAL(s->header->asleep[0], ~UINT64_C(1));
    CHECK_EQUAL(*tidings__doorbell(s, index) & TIDINGS__ASLEEP, 0);
}

TEST(a_lossless_observer_keeps_what_is_not_being_evicted) {
    tidings__segment *s = unit_segment();
    s->header->eviction.word = tidings__ev_evicting(10, 5);
    CHECK_EQUAL(tidings__lossless_begin(s, 3, 0), 15);
    CHECK_EQUAL(s->observers[3].cursor, 15);
    CHECK_EQUAL(s->header->lossless[0], 1 << 3);
    CHECK_EQUAL(tidings__lossless_begin(s, 3, 40), 40);
}

TEST(a_lossless_observer_changes_an_idle_eviction_word) {
    tidings__segment *s = unit_segment();
    s->header->eviction.word = tidings__ev_idle(10, 7);
    CHECK_EQUAL(tidings__lossless_begin(s, 3, 0), 10);
    CHECK_EQUAL(s->header->eviction.word, tidings__ev_idle(10, 8));
}

TEST(the_least_cursor_is_that_of_a_living_lossless_observer) {
    tidings__segment *s = unit_segment();
    const uint32_t dead = taken(s, 1), slow = taken(s, 2), quick = taken(s, 3), historian = taken(s, 4);
    s->header->lossless[0] = 0xf;
    s->observers[dead].cursor = 1;
    s->participants[1].instance &= ~UINT64_C(1);
    s->observers[slow].cursor = 5;
    s->observers[quick].cursor = 9;
    s->observers[historian].cursor = 7;
    s->observers[historian].history = 8;
    tidings__observer_set living;
    uint64_t history;
    uint32_t holder = UINT32_MAX;
    CHECK_EQUAL(tidings__lossless_least(s, &living, &history, &holder), 5);
    CHECK_EQUAL(living.words[0], 0xe);
    CHECK_EQUAL(history, 7);
    CHECK_EQUAL(holder, historian);
}

TEST(bits_of_observers_that_there_are_not_are_left_out) {
    tidings__segment *s = unit_segment();
    // Where an observer after the last would lie, there is a bucket: it looks alive.
    s->shape.observers = 4;
    const uint32_t beyond = 5;
    s->participants[1].instance = 11;
    s->observers[beyond].owner = 2;
    s->observers[beyond].instance = 11;
    s->header->lossless[0] = 1 << beyond;
    tidings__observer_set living;
    uint64_t history;
    uint32_t holder;
    CHECK_EQUAL(tidings__lossless_least(s, &living, &history, &holder), UINT64_MAX);
    CHECK_EQUAL(living.words[0], 0);
}

TEST(at_a_position_are_the_observers_whose_cursor_has_come_there) {
    tidings__segment *s = unit_segment();
    const tidings__observer_set all = {.words = {0x7}};
    s->observers[0].cursor = 3;
    s->observers[1].cursor = 4;
    s->observers[2].cursor = 9;
    tidings__observer_set here;
    CHECK_EQUAL(tidings__lossless_at(s, &all, 4, &here), 9);
    CHECK_EQUAL(here.words[0], 0x3);
}

TEST(a_taken_entry_has_published_nothing) {
    tidings__segment *s = unit_segment();
    s->observers[0].progress = TIDINGS__PROGRESS(3, 4);
    CHECK_EQUAL(taken(s, OWN), 0);
    CHECK(!tidings__progress_of(s, 0, 5).published);
}

TEST(a_published_position_is_the_last_one_before_the_end_that_it_can_mean) {
    tidings__segment *s = unit_segment();
    const uint64_t wrapped = UINT64_C(1) << 32;
    s->observers[0].progress = TIDINGS__PROGRESS(wrapped + 3, UINT64_C(1) << 31 | 4);
    tidings__progress progress = tidings__progress_of(s, 0, wrapped + 5);
    CHECK(progress.published);
    CHECK_EQUAL(progress.missed, 4);
    CHECK_EQUAL(progress.position, wrapped + 3);
    CHECK_EQUAL(tidings__progress_of(s, 0, wrapped + 2).position, 3);
    CHECK_EQUAL(tidings__progress_of(s, 0, 3).position, 3);
    s->observers[0].progress = UINT64_MAX;
    progress = tidings__progress_of(s, 0, 5);
    CHECK_EQUAL(progress.missed, 0x7fffffff);
    CHECK_EQUAL(progress.position, 0);
}

TEST(an_observer_is_dead_once_its_participant_is_another_incarnation) {
    tidings__segment *s = unit_segment();
    const uint32_t index = taken(s, OWN);
    CHECK(tidings__observer_alive(s, index));
    s->participants[OWN].instance += 2;
    CHECK(!tidings__observer_alive(s, index));
    s->observers[index].owner = s->shape.participants + 1;
    CHECK(!tidings__observer_alive(s, index));
}

TEST(reclaiming_frees_the_places_and_the_memberships_of_dead_participants) {
    tidings__segment *s = unit_segment();
    const uint32_t dead = taken(s, OWN), living = taken(s, OWN + 1);
    const uint32_t entry = joined(s, "a", false, dead);
    (void)joined(s, "a", false, living);
    const tidings__participant_set set = tidings__participant_only(OWN);
    tidings__observers_reclaim(s, &set);
    CHECK_EQUAL(s->observers[dead].owner, 0);
    CHECK_EQUAL(s->observers[living].owner, OWN + 2);
    CHECK_EQUAL(s->names[entry].members[0], UINT64_C(1) << living);
}
