#include "registry/participants.h"

#include "platform/error.h"
#include "platform/file.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "unit.h"

// The locks of another participant: a second open file description of the same file.
static int other_locks(const tidings__segment *s) {
    const int fd = tidings__file_reopen(s->fd, true, s->path);
    CHECK(fd >= 0);
    return fd;
}

TEST(a_participant_takes_the_first_place_that_is_not_described) {
    tidings__segment *s = unit_segment();
    s->participants[0].instance = 1;
    uint32_t index;
    bool orphans = true;
    CHECK_EQUAL(tidings__participant_take(s, &index, &orphans), 0);
    CHECK_EQUAL(index, 1);
    CHECK(!orphans);
}

TEST(a_participant_takes_the_place_of_a_dead_one_if_there_is_no_other) {
    tidings__segment *s = unit_segment();
    const int locks = other_locks(s);
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        s->participants[i].instance = 101;
        if (i != 5) CHECK_EQUAL(tidings__lock_try(locks, i, true), 0);
    }
    uint32_t index;
    bool orphans = false;
    CHECK_EQUAL(tidings__participant_take(s, &index, &orphans), 0);
    CHECK_EQUAL(index, 5);
    CHECK(orphans);
    CHECK_EQUAL(s->participants[5].instance, 100);
}

TEST(a_participant_is_refused_when_all_places_are_held) {
    tidings__segment *s = unit_segment();
    const int locks = other_locks(s);
    for (uint32_t i = 0; i < s->shape.participants; i++) CHECK_EQUAL(tidings__lock_try(locks, i, true), 0);
    uint32_t index;
    bool orphans;
    CHECK_EQUAL(tidings__participant_take(s, &index, &orphans), -EUSERS);
    CHECK_SAYS(tidings__last_error(), "participants");
}

TEST(a_described_participant_has_an_odd_instance_and_its_process) {
    tidings__segment *s = unit_segment();
    const uint64_t instance = tidings__participant_describe(s, 2);
    CHECK_EQUAL(s->participants[2].instance, instance);
    CHECK(instance & 1);
    CHECK_EQUAL(s->participants[2].pid, tidings__process_id());
    CHECK_EQUAL(s->participants[2].uid, tidings__user_id());
}

TEST(a_participant_that_leaves_frees_its_place_and_its_lock) {
    tidings__segment *s = unit_segment();
    uint32_t index;
    bool orphans;
    CHECK_EQUAL(tidings__participant_take(s, &index, &orphans), 0);
    (void)tidings__participant_describe(s, index);
    tidings__participant_leave(s, index);
    CHECK_EQUAL(s->participants[index].instance, 0);
    CHECK_EQUAL(tidings__lock_held(other_locks(s), index), 0);
}

TEST(a_described_participant_without_a_lock_is_declared_dead) {
    tidings__segment *s = unit_segment();
    s->participants[2].instance = 101;
    CHECK(tidings__participant_dead(s, 2, UINT32_MAX));
    CHECK_EQUAL(s->participants[2].instance, 100);
}

TEST(a_participant_with_a_lock_lives) {
    tidings__segment *s = unit_segment();
    s->participants[2].instance = 101;
    CHECK_EQUAL(tidings__lock_try(other_locks(s), 2, true), 0);
    CHECK(!tidings__participant_dead(s, 2, UINT32_MAX));
    CHECK_EQUAL(s->participants[2].instance, 101);
}

TEST(the_caller_and_empty_places_are_not_dead) {
    tidings__segment *s = unit_segment();
    s->participants[2].instance = 101;
    CHECK(!tidings__participant_dead(s, 2, 2));
    CHECK(!tidings__participant_dead(s, 3, 2));
    CHECK(!tidings__participant_dead(s, s->shape.participants, 2));
}

TEST(a_reader_without_write_access_sees_a_death_and_does_not_declare_it) {
    tidings__segment *s = unit_segment();
    s->participants[2].instance = 101;
    s->writable = false;
    CHECK(tidings__participant_dead(s, 2, UINT32_MAX));
    CHECK_EQUAL(s->participants[2].instance, 101);
}
