#include "ring/cell.h"

#include "unit.h"

#define LAP(number) ((uint64_t)(number) << TIDINGS__W_LAP_SHIFT)
static const uint64_t never = TIDINGS__V_NEVER;

TEST(a_new_slot_is_not_busy) { CHECK(!tidings__busy(0, 0, 0)); }

TEST(a_claimed_slot_is_busy_until_its_commit_has_the_same_phase) {
    const uint64_t w = LAP(1) | TIDINGS__W_PHASE | UNIT_OWNER;
    CHECK(tidings__busy(w, tidings__c_of(2, 0), never));
    CHECK(!tidings__busy(w, tidings__c_of(6, 1), never));
}

TEST(a_slot_whose_owner_has_not_noticed_its_revocation_is_busy) {
    const uint64_t w = LAP(2) | TIDINGS__W_PHASE | UNIT_OWNER, c = tidings__c_of(6, 1);
    CHECK(tidings__busy(w, c, tidings__v_of(6, TIDINGS__V_DEAD)));
    CHECK(!tidings__busy(w, c, tidings__v_of(6, TIDINGS__V_KNOWN)));
    CHECK(!tidings__busy(w, c, tidings__v_of(2, TIDINGS__V_DEAD)));
}

TEST(a_slot_of_a_dead_owner_is_not_busy) {
    const uint64_t w = LAP(1) | TIDINGS__W_PHASE | UNIT_OWNER;
    CHECK(!tidings__busy(w | TIDINGS__W_DIED, 0, never));
    CHECK(!tidings__busy(LAP(1) | TIDINGS__W_PHASE | TIDINGS__W_FOREIGN | TIDINGS__W_DIED, 0, never));
}

TEST(a_claim_of_participant_0_is_busy_although_its_owner_bits_are_0) {
    CHECK(tidings__busy(LAP(1) | TIDINGS__W_PHASE | TIDINGS__W_FOREIGN, 0, never));
}

TEST(only_dead_and_known_verdicts_of_a_position_void_it) {
    CHECK(tidings__v_void(tidings__v_of(5, TIDINGS__V_DEAD), 5));
    CHECK(tidings__v_void(tidings__v_of(5, TIDINGS__V_KNOWN), 5));
    CHECK(!tidings__v_void(tidings__v_of(5, TIDINGS__V_PENDING), 5));
    CHECK(!tidings__v_void(tidings__v_of(5, TIDINGS__V_ACCEPTED), 5));
    CHECK(!tidings__v_void(tidings__v_of(4, TIDINGS__V_DEAD), 5));
}

TEST(the_futex_of_a_claim_is_the_half_of_the_word_with_the_owner) {
    tidings__cell cell = {.claim = LAP(3) | TIDINGS__W_PHASE | UNIT_OWNER};
    CHECK_EQUAL(*tidings__claim_futex(&cell), UNIT_OWNER);
}
