#include "fresh.h"
#include "ring/hold.h"

#define DEAD 3u

static tidings_orphans orphans_of(tidings_center *center) {
    tidings_orphans orphans;
    CHECK_EQUAL(tidings_orphans_get(center, &orphans), 0);
    return orphans;
}

TEST(what_a_dead_participant_held_is_counted) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, DEAD);
    s->observers[2].owner = DEAD + 1;
    s->observers[1].owner = center->participant + 1;
    s->header->lossless[0] = 1 << 1 | 1 << 2;
    (void)joined(center, "a", false, 2);
    const uint32_t shared = joined(center, "b", false, 2);
    CHECK_EQUAL(joined(center, "b", false, 1), shared);
    unit_claim(s, 0, TIDINGS__W_FOREIGN | DEAD);
    s->chunk_words[4] = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, DEAD, TIDINGS__CHUNK_OWNED);
    s->chunk_words[5] = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 0, TIDINGS__CHUNK_OWNED);
    CHECK_EQUAL(tidings__back_holds(s), 0);
    s->chunk_words[6] = tidings__chunk_word(7, 0, TIDINGS__CHUNK_IN_RING);
    CHECK(tidings__hold_take(s, DEAD, 0, 6, 7, 1));
    const tidings_orphans orphans = orphans_of(center);
    CHECK_EQUAL(orphans.participants, 1);
    CHECK_EQUAL(orphans.holds, 1);
    CHECK_EQUAL(orphans.observers, 1);
    CHECK_EQUAL(orphans.observers_lossless, 1);
    CHECK_EQUAL(orphans.names, 1);
    CHECK_EQUAL(orphans.payloads, 1);
    CHECK_EQUAL(orphans.claims, 1);
    CHECK_EQUAL(orphans.slots_held, 0);
}

TEST(a_slot_is_held_only_by_a_poster_that_was_revoked) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    unit_claim(s, 0, UNIT_OWNER);
    CHECK_EQUAL(orphans_of(center).slots_held, 0);
    s->cells[0].verdict = tidings__v_of(0, TIDINGS__V_DEAD);
    const tidings_orphans orphans = orphans_of(center);
    CHECK_EQUAL(orphans.slots_held, 1);
    CHECK_EQUAL(orphans.holder, UNIT_OWNER);
    CHECK_EQUAL(orphans.claims, 0);
}

TEST(reclaiming_finishes_an_eviction_and_a_verdict) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 9; p++) unit_post(s, p, 0);
    unit_claim(s, 9, UNIT_OWNER);
    s->cells[9].verdict = tidings__v_of(9, TIDINGS__V_PENDING);
    s->header->eviction.word = tidings__ev_evicting(0, 8);
    const tidings_orphans orphans = orphans_of(center);
    CHECK_EQUAL(orphans.evictions, 1);
    CHECK_EQUAL(orphans.verdicts, 1);
    CHECK_EQUAL(tidings_reclaim(center), 0);
    CHECK_EQUAL(tidings__oldest(s), 8);
    CHECK_EQUAL(s->cells[9].verdict, tidings__v_of(9, TIDINGS__V_DEAD));
}

TEST(a_reader_reclaims_nothing) {
    tidings_center *center = fresh_center();
    dead_participant(&center->segment, DEAD);
    center->segment.writable = false;
    CHECK_EQUAL(tidings_reclaim(center), -EACCES);
    CHECK_EQUAL(center->segment.participants[DEAD].instance, 101);
}
