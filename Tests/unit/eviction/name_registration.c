#include "eviction/name_registration.h"
#include "fresh.h"

TEST(a_full_table_evicts_history_that_keeps_entries_in_quarantine) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t entry = joined(center, "a", false, 1);
    for (uint64_t p = 0; p < 20; p++) unit_post(s, p, tidings__route_word(entry, 0, 0, 0));
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) s->names[i].birth = 20;
    s->header->names_used.word = s->shape.names;
    s->names[entry].birth = 0;
    for (uint32_t i = entry + 1; i < s->shape.names; i++) s->names[i].state = 5;  // no entry is free
    s->names[entry + 1].state = 0;                                                // but this one, in quarantine
    unit_post(s, 20, tidings__route_word(entry + 1, 0, 0, 0));
    s->names[entry + 1].birth = 21;
    CHECK_EQUAL(joined(center, "b", false, 2), entry + 1);
    CHECK_EQUAL(tidings__oldest(s), 21);
}

TEST(a_new_prefix_counts_from_the_oldest_position) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < 9; p++) unit_post(s, p, 0);
    s->header->eviction.word = tidings__ev_evicting(0, 8);
    const uint32_t prefix = joined(center, "a", true, 1);
    CHECK_EQUAL(tidings__ev_length(s->header->eviction.word), 0);
    CHECK_EQUAL(tidings__oldest(s), 8);
    CHECK_EQUAL(s->names[prefix].tally.end, 8);
    CHECK_EQUAL(s->names[prefix].tally.count, 0);
}
