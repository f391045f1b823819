#include "ring/claim.h"

#include "unit.h"

// One claim of a thread whose robust list is this variable.
static uintptr_t pending;
static tidings__thread thread = {.tid = 77, .pending = &pending};
static _Atomic uint64_t hint;
static uint32_t held;
static tidings__claim claim;

static tidings__claimant claimant(const tidings__segment *s) {
    return (tidings__claimant){s, &thread, &hint, UNIT_OWNER, true};
}
static int claim_next(const tidings__segment *s) {
    const tidings__claimant by = claimant(s);
    return tidings__claim_next(&by, &held, &claim);
}

TEST(the_first_claim_gets_position_0_and_tells_the_kernel_its_word) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(claim_next(s), 0);
    CHECK_EQUAL(claim.position, 0);
    CHECK_EQUAL(s->cells[0].claim, UINT64_C(1) << TIDINGS__W_LAP_SHIFT | TIDINGS__W_PHASE | UNIT_OWNER);
    CHECK_EQUAL(pending, (uintptr_t)&s->cells[0].claim);
    CHECK_EQUAL(hint, 1);
}

TEST(a_claim_skips_a_slot_that_its_earlier_owner_still_holds) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 0, 99);
    for (uint64_t p = 1; p < 4; p++) unit_post(s, p, 0);
    unit_evict_to(s, 2);
    hint = 4;
    CHECK_EQUAL(claim_next(s), 0);
    CHECK_EQUAL(claim.position, 5);
    const uint64_t w = s->cells[0].claim;
    CHECK_EQUAL(tidings__w_lap(w), 2);
    CHECK_EQUAL(w & TIDINGS__W_OWNER_MASK, 99);
    CHECK(w & TIDINGS__W_SKIPPED);
    CHECK_EQUAL(held, 1);
}

TEST(a_claim_takes_over_the_slot_of_a_dead_owner) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 0, 99 | TIDINGS__W_DIED);
    for (uint64_t p = 1; p < 4; p++) unit_post(s, p, 0);
    unit_evict_to(s, 1);
    hint = 4;
    CHECK_EQUAL(claim_next(s), 0);
    CHECK_EQUAL(claim.position, 4);
    CHECK_EQUAL(held, 0);
}

TEST(each_claim_of_a_slot_flips_the_phase) {
    tidings__segment *s = unit_ring(4);
    for (uint64_t p = 0; p < 4; p++) unit_post(s, p, 0);
    unit_evict_to(s, 1);
    hint = 4;
    CHECK_EQUAL(claim_next(s), 0);
    CHECK_EQUAL(claim.phase, 0);
    CHECK(tidings__busy(s->cells[0].claim, s->cells[0].commit, s->cells[0].verdict));
}

static bool claim_usual(const tidings__segment *s) {
    const tidings__claimant by = claimant(s);
    return tidings__claim_usual(&by, tidings__oldest(s), &claim);
}

TEST(the_usual_claim_is_the_claim_that_the_search_makes) {
    tidings__segment *s = unit_ring(4);
    for (uint64_t p = 0; p < 4; p++) unit_post(s, p, 0);
    unit_evict_to(s, 2);
    const tidings__cell before = s->cells[0];
    hint = 4;
    CHECK_EQUAL(claim_next(s), 0);
    const tidings__claim searched = claim;
    const uint64_t w = s->cells[0].claim;
    s->cells[0] = before;
    hint = 4;
    pending = 0;
    CHECK(claim_usual(s));
    CHECK_EQUAL(claim.position, searched.position);
    CHECK_EQUAL(claim.phase, searched.phase);
    CHECK_EQUAL(s->cells[0].claim, w);
    CHECK_EQUAL(pending, (uintptr_t)&s->cells[0].claim);
    CHECK_EQUAL(hint, 5);
}

static void leaves_it(const tidings__segment *s, uint64_t position) {
    const uint64_t w = tidings__cell_at(s, position)->claim;
    hint = position;
    CHECK(!claim_usual(s));
    CHECK_EQUAL(tidings__cell_at(s, position)->claim, w);
    CHECK_EQUAL(hint, position);
}

TEST(the_usual_claim_leaves_to_the_search_a_position_that_is_claimed_or_out_of_the_ring) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 0, 0);
    leaves_it(s, 0);
    leaves_it(s, 4);
    leaves_it(s, UINT64_C(1) << 40);
    for (uint64_t p = 1; p < 4; p++) unit_post(s, p, 0);
    leaves_it(s, 4);
    unit_evict_to(s, 2);
    leaves_it(s, 1);
    leaves_it(s, 6);
}

TEST(the_usual_claim_leaves_to_the_search_a_slot_that_is_held_or_was_revoked) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 0, 99);
    unit_claim(s, 1, 99 | TIDINGS__W_DIED);
    for (uint64_t p = 2; p < 4; p++) unit_post(s, p, 0);
    s->cells[2].verdict = tidings__v_of(2, TIDINGS__V_DEAD);
    unit_evict_to(s, 4);
    for (uint64_t p = 4; p < 7; p++) leaves_it(s, p);
}

TEST(a_full_ring_wants_eviction) {
    tidings__segment *s = unit_ring(4);
    for (uint64_t p = 0; p < 4; p++) unit_post(s, p, 0);
    CHECK_EQUAL(claim_next(s), -EAGAIN);
    CHECK_EQUAL(hint, 4);
}

TEST(a_hint_behind_the_order_costs_steps_only) {
    tidings__segment *s = unit_segment();
    for (uint64_t p = 0; p < 100; p++) unit_post(s, p, 0);
    CHECK_EQUAL(claim_next(s), 0);
    CHECK_EQUAL(claim.position, 100);
}

TEST(a_hint_beyond_the_order_leaves_no_gap) {
    tidings__segment *s = unit_ring(4);
    unit_post(s, 0, 0);
    hint = 3;
    s->header->frontier_hint.word = 3;
    CHECK_EQUAL(claim_next(s), 0);
    hint = UINT64_C(1) << 40;
    CHECK_EQUAL(claim_next(s), 0);
    CHECK(claim.position < 4);
}

TEST(a_claim_gives_up_once_a_whole_lap_of_slots_is_held) {
    tidings__segment *s = unit_ring(4);
    for (uint64_t p = 0; p < 4; p++) unit_claim(s, p, 99);
    unit_evict_to(s, 4);
    hint = 4;
    int result;
    // Each lap has to be evicted before the next.
    for (uint64_t oldest = 4; (result = claim_next(s)) == -EAGAIN; oldest += 4) unit_evict_to(s, oldest);
    CHECK_EQUAL(result, -EBUSY);
    CHECK_EQUAL(held, 5);
}

TEST(a_commit_clears_the_pending_word_and_counts) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(claim_next(s), 0);
    CHECK(tidings__commit(&claim, UNIT_OWNER, &thread));
    CHECK_EQUAL(s->cells[0].commit, tidings__c_of(0, 1));
    CHECK_EQUAL(pending, 0);
}

TEST(a_commit_after_a_revocation_does_not_count) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(claim_next(s), 0);
    s->cells[0].verdict = tidings__v_of(0, TIDINGS__V_DEAD);
    CHECK(!tidings__commit(&claim, UNIT_OWNER, &thread));
    CHECK_EQUAL(s->cells[0].verdict, tidings__v_of(0, TIDINGS__V_KNOWN));
    CHECK_EQUAL(pending, 0);
}

TEST(a_commit_during_a_revocation_decides_that_it_counts) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(claim_next(s), 0);
    s->cells[0].verdict = tidings__v_of(0, TIDINGS__V_PENDING);
    CHECK(tidings__commit(&claim, UNIT_OWNER, &thread));
    CHECK_EQUAL(s->cells[0].verdict, tidings__v_of(0, TIDINGS__V_ACCEPTED));
}

TEST(an_abandoned_position_is_void_and_its_slot_is_free) {
    tidings__segment *s = unit_ring(4);
    CHECK_EQUAL(claim_next(s), 0);
    tidings__abandon(&claim, UNIT_OWNER, &thread);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VOID);
    CHECK(!tidings__busy(s->cells[0].claim, s->cells[0].commit, s->cells[0].verdict));
    CHECK_EQUAL(pending, 0);
}

TEST(reclaiming_marks_each_foreign_claim_of_dead_participants_and_no_other) {
    tidings__segment *s = unit_ring(4);
    unit_claim(s, 0, TIDINGS__W_FOREIGN | 2);
    unit_claim(s, 1, TIDINGS__W_FOREIGN | 3);
    unit_claim(s, 2, 2);  // a TID
    unit_claim(s, 3, TIDINGS__W_FOREIGN | 2);
    unit_commit(s, 3);
    const tidings__participant_set dead = tidings__participant_only(2);
    tidings__claims_reclaim(s, &dead);
    for (uint32_t slot = 0; slot < 4; slot++)
        CHECK_EQUAL((s->cells[slot].claim & TIDINGS__W_DIED) != 0, slot == 0 || slot == 3);
    CHECK_EQUAL(s->cells[0].claim & ~(~UINT64_C(0) << 32), TIDINGS__W_DIED);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VOID);
    CHECK_EQUAL(tidings__slot_status(s, 3), TIDINGS__VALID);
}
