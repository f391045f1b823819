#include "eviction/pending_claim.h"
#include "fresh.h"

#include "ring/verdict.h"

#define MS UINT64_C(1000000)

TEST(each_observer_that_a_post_wakes_extends_the_revoke_timeout) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    unit_claim(s, 0, UNIT_OWNER);
    CHECK_EQUAL(tidings__revoke_timeout(s, 0), 2 * MS);
    const uint32_t entry = joined(center, "a", false, 1);
    s->cells[0].route = tidings__route_word(entry, 0, 0, 0);
    CHECK_EQUAL(tidings__revoke_timeout(s, 0), 2 * MS + 20000);
    (void)joined(center, "b", true, 2);
    (void)joined(center, "c", true, 2);
    CHECK_EQUAL(tidings__revoke_timeout(s, 0), 2 * MS + 40000);
    CHECK_EQUAL(tidings__name_join_all(s, 3), 0);
    CHECK_EQUAL(tidings__revoke_timeout(s, 0), 2 * MS + 60000);
}

TEST(each_revocation_of_the_same_poster_just_before_doubles_the_timeout) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 8; p++) {
        unit_claim(s, p, UNIT_OWNER);
        s->cells[p].verdict = tidings__v_of(p, TIDINGS__V_DEAD);
    }
    CHECK_EQUAL(tidings__revoke_timeout(s, 0), 2 * MS);
    CHECK_EQUAL(tidings__revoke_timeout(s, 2), 8 * MS);
    CHECK_EQUAL(tidings__revoke_timeout(s, 7), 64 * MS);
    unit_claim(s, 6, UNIT_OWNER + 1);
    CHECK_EQUAL(tidings__revoke_timeout(s, 7), 2 * MS);
}

TEST(a_claim_that_outlasts_its_timeout_is_revoked) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    unit_claim(s, 0, UNIT_OWNER);
    tidings__pending_claim claim = {.at = 0, .since = 0, .calls = 5};
    tidings__wait_claimed(center, &claim, 0, false);
    CHECK_EQUAL(s->cells[0].verdict, tidings__v_of(0, TIDINGS__V_DEAD));
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__VOID);
    CHECK_EQUAL(claim.calls, 0);
}

TEST(a_reader_revokes_nothing_and_gives_up_after_enough_calls) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    unit_claim(s, 0, UNIT_OWNER);
    s->writable = false;
    const uint64_t verdict = s->cells[0].verdict;
    tidings__pending_claim claim = {.at = 0, .since = 0, .calls = 99};
    tidings__wait_claimed(center, &claim, 0, false);
    CHECK(!claim.over);
    tidings__wait_claimed(center, &claim, 0, false);
    CHECK(claim.over);
    CHECK_EQUAL(s->cells[0].verdict, verdict);
}

TEST(the_wait_for_another_position_begins_anew) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    unit_claim(s, 0, UNIT_OWNER);
    unit_claim(s, 1, UNIT_OWNER);
    const uint64_t verdict = s->cells[1].verdict;
    tidings__pending_claim claim = {.at = 0, .since = 0, .calls = 500, .over = true};
    tidings__wait_claimed(center, &claim, 1, false);
    CHECK_EQUAL(claim.at, 1);
    CHECK_EQUAL(claim.calls, 1);
    CHECK(!claim.over);
    CHECK(claim.since > 0);
    CHECK_EQUAL(s->cells[1].verdict, verdict);
}
