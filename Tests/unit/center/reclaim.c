#include "fresh.h"
#include "retained/retained.h"
#include "ring/hold.h"

#define DEAD 3u

TEST(reclaiming_frees_everything_that_a_dead_participant_held) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, DEAD);
    s->observers[2].owner = DEAD + 1;
    const uint32_t entry = joined(center, "a", false, 2);
    unit_claim(s, 0, TIDINGS__W_FOREIGN | DEAD);
    s->chunk_words[4] = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, DEAD, TIDINGS__CHUNK_OWNED);
    CHECK_EQUAL(tidings__back_holds(s), 0);
    s->chunk_words[5] = tidings__chunk_word(7, 0, TIDINGS__CHUNK_IN_RING);
    CHECK(tidings__hold_take(s, DEAD, 0, 5, 7, 1));
    CHECK_EQUAL(tidings__reclaim_dead(center), 1);
    CHECK_EQUAL(s->holds[DEAD].held[0], 0);
    CHECK_EQUAL(s->participants[DEAD].instance, 0);
    CHECK_EQUAL(s->observers[2].owner, 0);
    CHECK(!tidings__name_observed(&s->names[entry]));
    CHECK(s->cells[0].claim & TIDINGS__W_DIED);
    CHECK_EQUAL(s->chunk_words[4], 0);
}

TEST(reclaiming_leaves_living_participants_alone) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    s->observers[2].owner = center->participant + 1;
    CHECK_EQUAL(tidings__reclaim_dead(center), 0);
    CHECK_EQUAL(s->participants[center->participant].instance, center->instance);
    CHECK_EQUAL(s->observers[2].owner, center->participant + 1);
}

TEST(a_retained_chunk_that_its_entry_does_not_name_is_freed) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t entry = joined(center, "a", false, TIDINGS__TO_RETAIN);
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        s->chunk_words[chunk] = tidings__chunk_word(chunk, 0, TIDINGS__CHUNK_RETAINED);
        CHECK_EQUAL(tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER), 0);
        ((uint64_t *)(void *)tidings__chunk_bytes(s, chunk, NULL))[3] = entry;
    }
    s->names[entry].retained = UINT64_C(1) << 16 | (1 + 1);
    unit_evict_to(s, 2);
    CHECK_EQUAL(tidings__reclaim_retained(center), 1);
    CHECK_EQUAL(s->chunk_words[0], 0);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[1]), TIDINGS__CHUNK_RETAINED);
}
