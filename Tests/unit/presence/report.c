#include "presence/report.h"

#include <sched.h>

#include "../calls/by_hand.h"
#include "entries.h"
#include "platform/futex.h"
#include "presence/guard.h"
#include "ring/verdict.h"

TEST(a_death_is_posted_in_the_name_of_the_dead_participant) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_PRESENT, 0);
    CHECK_EQUAL(report(center, 1, false), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    tidings__record record;
    tidings__record_read(&center->segment.cells[0], &record);
    CHECK_EQUAL(record.participant, 1);
    CHECK_EQUAL(record.pid, 4711);
    CHECK_EQUAL(record.uid, 23);
    CHECK_EQUAL(record.flags, TIDINGS__RECORD_NOTICE);
    CHECK_EQUAL(record.format, TIDINGS_FORMAT_CBOR);
}

TEST(a_participant_that_lives_is_not_reported) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_PRESENT, 0);
    center->segment.participants[1].instance = 101;
    CHECK(!tidings__to_report(&center->segment, 1));
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_PRESENT);
    CHECK_EQUAL(notices(center, 1), 0);
}

TEST(a_participant_that_died_before_its_notice_leaves_none) {
    tidings_center *center = fresh_center();
    const uint32_t states[] = {TIDINGS__PRESENCE_PREPARING, TIDINGS__PRESENCE_WATCHING, TIDINGS__PRESENCE_JOINING};
    for (int i = 0; i < 3; i++) {
        tidings__presence *entry = dead_entry(center, 1, states[i], 0);
        CHECK_EQUAL(report(center, 1, true), 0);
        CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    }
    CHECK_EQUAL(notices(center, 1), 0);
}

TEST(a_notice_that_is_in_the_ring_is_not_posted_again) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_PRESENT, 0);
    CHECK_EQUAL(report(center, 1, false), 0);
    entry->report = tidings__report_next(entry->report, 0, 5, TIDINGS__PRESENCE_DYING);
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    CHECK_EQUAL(notices(center, 1), 1);
    // One that lies before the report's position is of an earlier announcement.
    entry->report = tidings__report_next(entry->report, 1, 5, TIDINGS__PRESENCE_DYING);
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(notices(center, 1), 2);
}

TEST(a_living_reporter_is_left_alone_until_it_takes_too_long) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    center->segment.participants[5].instance = 301;
    CHECK_EQUAL(report(center, 1, false), -EINPROGRESS);
    CHECK_EQUAL(tidings__report_owner(entry->report), 5);
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(notices(center, 1), 1);
}

TEST(a_report_of_this_participant_is_tried_again_by_a_call_and_later_by_a_guard) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    entry->report = tidings__report_next(entry->report, 0, center->participant, TIDINGS__PRESENCE_DYING);
    const tidings__guard guard = {.state = TIDINGS__GUARD_WATCHES};
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    budget.guard = &guard;
    CHECK_EQUAL(tidings__report(center, 1, false, 0, &budget), -EINPROGRESS);
    CHECK_EQUAL(report(center, 1, false), 0);
    CHECK_EQUAL(notices(center, 1), 1);
}

TEST(a_reporter_that_is_dead_is_replaced_at_once) {
    tidings_center *center = fresh_center();
    (void)dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    center->segment.participants[5].instance = 300;
    CHECK_EQUAL(report(center, 1, false), 0);
    CHECK_EQUAL(notices(center, 1), 1);
}

TEST(a_claim_on_the_way_is_decided_before_the_notice_is_posted) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    (void)dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    unit_claim(s, 0, UNIT_OWNER);
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VOID);
    CHECK_EQUAL(notices(center, 1), 1);
}

TEST(a_report_that_changes_after_the_claim_is_not_posted) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    uint64_t position;
    CHECK_EQUAL(tidings__notice_post(center, 1, TIDINGS_PRESENCE_DIED, entry->report + 1, 0, &position), -ECANCELED);
    CHECK_EQUAL(notices(center, 1), 0);
    CHECK_EQUAL(tidings__slot_status(&center->segment, 0), TIDINGS__VOID);
}

TEST(searches_end_with_their_budget) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 100; p++) unit_post(s, p, 0);
    (void)dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    tidings__report_budget budget = {.positions = 99};
    CHECK_EQUAL(tidings__report(center, 1, true, 0, &budget), -EINPROGRESS);
    budget.positions = 100;
    CHECK_EQUAL(tidings__report(center, 1, true, 0, &budget), 0);
    CHECK_EQUAL(budget.positions, 0);
}

TEST(a_spoiled_will_is_left_out) {
    tidings_center *center = fresh_center();
    const uint64_t wills[] = {1, 1000000, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_WILL, 0);
        entry->will = wills[i];
        CHECK_EQUAL(report(center, 1, true), 0);
        CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    }
    CHECK_EQUAL(tidings__frontier(&center->segment, 0), 0);
}

TEST(an_evicted_notice_has_moved_the_report_on) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    uint64_t position;
    CHECK_EQUAL(tidings__notice_post(center, 1, TIDINGS_PRESENCE_DIED, entry->report, 0, &position), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_DYING);
    tidings_publisher *publisher = opened_publisher(center, "name");
    for (uint32_t i = 0; i <= s->shape.slots; i++) CHECK_EQUAL(tidings_post(publisher, "x", 1, NULL, NULL), 0);
    CHECK(tidings__oldest(s) > position);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
}

TEST(all_dead_participants_are_reported_together) {
    tidings_center *center = fresh_center();
    for (uint32_t i = 1; i < center->segment.shape.participants; i++)
        (void)dead_entry(center, i, TIDINGS__PRESENCE_PRESENT, 0);
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    budget.posts = UINT64_MAX;
    tidings__report_all(center, &budget);
    for (uint32_t i = 1; i < center->segment.shape.participants; i++) CHECK_EQUAL(notices(center, i), 1);
}

// Participant 3 has died, as its lock is free, and there is no time to tell the server of a call. `guard`: the state of
// participant 1. The server, participant 2, has that state too, or is about to end.
static tidings__presence *reported_without_time(tidings_center *center, uint32_t guard) {
    tidings__segment *s = &center->segment;
    (void)put_call(s, 0, server_of(center, SERVICE, 2, 1), 1, 0, TIDINGS__CALL_POSTED | TIDINGS__CALL_AGAIN);
    s->presence[1].report = tidings__report_next(s->presence[1].report, 0, 1, guard);
    s->presence[2].report = tidings__report_next(s->presence[2].report, 0, 2, TIDINGS__PRESENCE_LEAVING);
    s->presence[3].report = tidings__report_next(s->presence[3].report, 0, 3, TIDINGS__PRESENCE_PRESENT);
    s->participants[3].instance = 0;
    tidings__report_budget budget = tidings__report_budget_of(s);
    budget.tells = 0;
    tidings__report_all(center, &budget);
    return &s->presence[3];
}

TEST(a_death_is_left_to_a_guard_that_watches_if_servers_are_not_told) {
    const struct {
        uint32_t guard, left;
    } cases[] = {{TIDINGS__PRESENCE_PRESENT, TIDINGS__PRESENCE_PRESENT},
                 {TIDINGS__PRESENCE_WATCHING, TIDINGS__PRESENCE_PRESENT},
                 {TIDINGS__PRESENCE_JOINING, TIDINGS__PRESENCE_LEFT},
                 {TIDINGS__PRESENCE_LEAVING, TIDINGS__PRESENCE_LEFT},
                 {TIDINGS__PRESENCE_LEFT, TIDINGS__PRESENCE_LEFT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tidings_center *center = center_with_calls();
        CHECK_EQUAL(state_of(reported_without_time(center, cases[i].guard)), cases[i].left);
        tidings_close(center);
    }
}

TEST(guards_that_a_death_is_left_to_are_poked) {
    tidings_center *center = center_with_calls();
    const _Atomic uint32_t *poke = &tidings__presence_line_at(&center->segment, 1)->poke;
    const uint32_t before = *poke;
    (void)reported_without_time(center, TIDINGS__PRESENCE_WATCHING);
    CHECK_EQUAL(*poke, before + 1);
    tidings_close(center);
}
