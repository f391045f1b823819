#include "registry/doorbell.h"

#include "names.h"

static uint32_t name_futex(const tidings__segment *s, uint32_t observer) { return *tidings__doorbell(s, observer); }

// An observer that sleeps on its doorbell, and on the futex of this entry.
static void sleep_on(tidings__segment *s, uint32_t observer, uint32_t entry) {
    s->observers[observer].group_waits[0] = entry;
    (void)tidings__doorbell_announce(s, observer);
}

TEST(an_announcement_is_a_new_value_and_shows_in_the_map) {
    tidings__segment *s = unit_segment();
    *tidings__doorbell(s, 2) = 8 | TIDINGS__ASLEEP;
    CHECK_EQUAL(tidings__doorbell_announce(s, 2), 10 | TIDINGS__ASLEEP);
    CHECK_EQUAL(name_futex(s, 2), 10 | TIDINGS__ASLEEP);
    CHECK_EQUAL(s->header->asleep[0], 1 << 2);
}

TEST(a_withdrawn_announcement_leaves_neither_flag_nor_bit) {
    tidings__segment *s = unit_segment();
    (void)tidings__doorbell_announce(s, 2);
    (void)tidings__doorbell_announce(s, 3);
    tidings__doorbell_withdraw(s, 2);
    CHECK_EQUAL(name_futex(s, 2) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(s->header->asleep[0], 1 << 3);
}

TEST(a_rung_doorbell_has_a_new_value_and_is_awake) {
    tidings__segment *s = unit_segment();
    const uint32_t announced = tidings__doorbell_announce(s, 2);
    tidings__doorbell_ring(s, 2);
    CHECK_EQUAL(name_futex(s, 2), (announced + 2) & ~TIDINGS__ASLEEP);
}

TEST(ringing_an_observer_that_is_awake_changes_nothing) {
    tidings__segment *s = unit_segment();
    *tidings__doorbell(s, 2) = 6;
    tidings__doorbell_ring(s, 2);
    CHECK_EQUAL(name_futex(s, 2), 6);
}

TEST(a_post_rings_only_members_that_sleep) {
    tidings__segment *s = unit_segment();
    const uint32_t entry = joined(s, "a", false, 1);
    (void)joined(s, "a", false, 2);
    sleep_on(s, 1, TIDINGS__NAME_NONE);
    sleep_on(s, 3, TIDINGS__NAME_NONE);  // no member
    CHECK_EQUAL(tidings__ring_members(s, &s->names[entry]), 1);
    CHECK_EQUAL(name_futex(s, 1) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(name_futex(s, 3) & TIDINGS__ASLEEP, TIDINGS__ASLEEP);
    CHECK_EQUAL(s->names[entry].wake_group, 1);
}

TEST(a_group_that_sleeps_on_an_entry_is_rung_there_once) {
    tidings__segment *s = unit_segment();
    uint32_t entry = 0;
    for (uint32_t i = 0; i < TIDINGS__WAKE_GROUP + 1; i++) entry = joined(s, "a", false, i);
    for (uint32_t i = 0; i < TIDINGS__WAKE_GROUP; i++) sleep_on(s, i, entry);
    sleep_on(s, TIDINGS__WAKE_GROUP, TIDINGS__NAME_NONE);
    CHECK_EQUAL(tidings__ring_asleep(s, &s->names[entry], NULL), TIDINGS__WAKE_GROUP + 1);
    CHECK_EQUAL(s->names[entry].wake_group, TIDINGS__WAKE_GROUP_RUNG | 1);
    for (uint32_t i = 0; i < TIDINGS__WAKE_GROUP + 1; i++) CHECK_EQUAL(name_futex(s, i) & TIDINGS__ASLEEP, 0);
}

TEST(fewer_sleepers_than_a_group_are_rung_one_by_one) {
    tidings__segment *s = unit_segment();
    uint32_t entry = 0;
    for (uint32_t i = 0; i < TIDINGS__WAKE_GROUP - 1; i++) {
        entry = joined(s, "a", false, i);
        sleep_on(s, i, entry);
    }
    CHECK_EQUAL(tidings__ring_asleep(s, &s->names[entry], NULL), TIDINGS__WAKE_GROUP - 1);
    CHECK_EQUAL(s->names[entry].wake_group, 1);
}

TEST(an_observer_that_this_post_has_rung_is_not_rung_again) {
    tidings__segment *s = unit_segment();
    const uint32_t entry = joined(s, "a", false, 1);
    (void)joined(s, "a", false, 2);
    tidings__observer_set rung = {0};
    sleep_on(s, 1, TIDINGS__NAME_NONE);
    CHECK_EQUAL(tidings__ring_asleep(s, &s->names[entry], &rung), 1);
    sleep_on(s, 1, TIDINGS__NAME_NONE);
    sleep_on(s, 2, TIDINGS__NAME_NONE);
    CHECK_EQUAL(tidings__ring_asleep(s, &s->names[entry], &rung), 1);
    CHECK_EQUAL(name_futex(s, 1) & TIDINGS__ASLEEP, TIDINGS__ASLEEP);
    CHECK_EQUAL(name_futex(s, 2) & TIDINGS__ASLEEP, 0);
}

TEST(bits_beyond_the_table_of_observers_are_not_rung) {
    tidings__segment *s = unit_segment();
    const uint32_t entry = joined(s, "a", false, 1);
    s->names[entry].members[0] = s->header->asleep[0] = UINT64_C(1) << s->shape.observers;
    CHECK_EQUAL(tidings__ring_asleep(s, &s->names[entry], NULL), 0);
}
