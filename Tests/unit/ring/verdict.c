#include "ring/verdict.h"

#include "unit.h"

TEST(a_position_is_undecided_until_it_is_claimed) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__UNDECIDED);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__UNDECIDED);
    unit_claim(s, 0, UNIT_OWNER);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__CLAIMED);
    unit_commit(s, 0);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VALID);
}

TEST(a_slot_of_a_later_lap_is_lapped) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 0, 0);
    unit_claim(s, 4, UNIT_OWNER);
    CHECK_EQUAL(tidings__slot_status_slow(s, 0), TIDINGS__VALID);  // C still says so
    CHECK(!tidings__slot_valid_after_copy(s, 0));
    unit_commit(s, 4);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__LAPPED);
    CHECK(tidings__slot_valid_after_copy(s, 4));
}

TEST(a_skipped_position_and_one_of_a_dead_owner_are_void) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 0, UNIT_OWNER | TIDINGS__W_SKIPPED);
    unit_claim(s, 1, UNIT_OWNER | TIDINGS__W_DIED);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VOID);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VOID);
}

TEST(a_commit_of_an_owner_that_died_afterwards_is_valid) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 1, UNIT_OWNER | TIDINGS__W_DIED);
    unit_commit(s, 1);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VALID);
}

TEST(a_committed_position_with_a_dead_verdict_is_void) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 1, 0);
    s->cells[1].verdict = tidings__v_of(1, TIDINGS__V_DEAD);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VOID);
}

TEST(a_reader_of_a_committed_position_answers_the_open_question) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 1, 0);
    s->cells[1].verdict = tidings__v_of(1, TIDINGS__V_PENDING);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VALID);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(1, TIDINGS__V_ACCEPTED));
}

TEST(a_reader_without_write_access_leaves_the_question_open) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 1, 0);
    s->cells[1].verdict = tidings__v_of(1, TIDINGS__V_PENDING);
    s->writable = false;
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__CLAIMED);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(1, TIDINGS__V_PENDING));
}

TEST(revoking_a_claim_makes_it_void_and_is_counted) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 1, UNIT_OWNER);
    tidings__revoke(s, 1);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(1, TIDINGS__V_DEAD));
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VOID);
    CHECK_EQUAL(s->header->revoked.word, 1);
}

TEST(revoking_leaves_committed_and_undecided_positions_alone) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 1, 0);
    tidings__revoke_all(s, 1, 3);
    CHECK_EQUAL(tidings__slot_status(s, 1), TIDINGS__VALID);
    CHECK_EQUAL(tidings__slot_status(s, 2), TIDINGS__UNDECIDED);
    CHECK_EQUAL(s->header->revoked.word, 0);
}

TEST(a_revoker_that_finishes_an_earlier_one_accepts_a_commit) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 1, 0);
    s->cells[1].verdict = tidings__v_of(1, TIDINGS__V_PENDING);
    tidings__revoke(s, 1);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(1, TIDINGS__V_ACCEPTED));
}

TEST(a_late_revoker_cannot_set_a_verdict_back) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 5, UNIT_OWNER);
    s->cells[1].verdict = tidings__v_of(5, TIDINGS__V_PENDING);
    tidings__revoke(s, 1);
    CHECK_EQUAL(s->cells[1].verdict, tidings__v_of(5, TIDINGS__V_PENDING));
}

TEST(an_owner_takes_note_of_a_dead_verdict) {
    tidings__cell cell = {.verdict = tidings__v_of(6, TIDINGS__V_DEAD)};
    CHECK(!tidings__verdict_of_owner(&cell, 6));
    CHECK_EQUAL(cell.verdict, tidings__v_of(6, TIDINGS__V_KNOWN));
}
