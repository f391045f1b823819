#include "names.h"
#include "ring/record.h"

static uint64_t effort = UINT64_MAX;

TEST(an_entry_that_no_observer_needs_is_unlinked_and_freed) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    const tidings__key key = key_of("a", false);
    tidings__name_leave(s, index, 1);
    const uint64_t generation = s->header->generation.word;
    CHECK(tidings__name_take_out(s, OWN, index, &effort));
    CHECK_EQUAL(state_in(&s->names[index]), TIDINGS__NAME_FREE);
    CHECK_EQUAL(tidings__name_find(s, &key), TIDINGS__NAME_NONE);
    CHECK_EQUAL(s->header->generation.word, generation + 1);
}

TEST(a_freed_entry_waits_until_the_ring_has_forgotten_it) {
    tidings__segment *s = unit_segment();
    for (uint64_t p = 0; p < 5; p++) unit_post(s, p, 0);
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_COUNT);
    CHECK(tidings__name_take_out(s, OWN, index, &effort));
    CHECK_EQUAL(s->names[index].birth, 5);
}

TEST(an_entry_with_an_observer_or_a_retained_value_stays) {
    tidings__segment *s = unit_segment();
    const uint32_t observed = joined(s, "a", false, 1), retains = joined(s, "b", false, TIDINGS__TO_COUNT);
    s->names[retains].retained = UINT64_C(5) << 16 | 1;
    CHECK(!tidings__name_take_out(s, OWN, observed, &effort));
    CHECK(!tidings__name_take_out(s, OWN, retains, &effort));
    CHECK_EQUAL(state_in(&s->names[observed]), TIDINGS__NAME_LINKED);
}

TEST(an_entry_whose_retained_record_is_in_the_ring_stays) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_RETAIN);
    unit_post(s, 0, tidings__route_word(index, 0, TIDINGS__RECORD_RETAIN, 0));
    CHECK(!tidings__name_take_out(s, OWN, index, &effort));
    CHECK_EQUAL(state_in(&s->names[index]), TIDINGS__NAME_LINKED);
    unit_evict_to(s, 1);
    CHECK(tidings__name_take_out(s, OWN, index, &effort));
}

TEST(an_entry_in_the_middle_of_a_chain_is_unlinked) {
    tidings__segment *s = unit_segment();
    s->shape.buckets = 1;
    const uint32_t first = joined(s, "a", false, 1), middle = joined(s, "b", false, TIDINGS__TO_COUNT);
    const uint32_t last = joined(s, "c", false, 1);
    CHECK(tidings__name_take_out(s, OWN, middle, &effort));
    CHECK_EQUAL((uint32_t)s->names[last].next, first);
    CHECK_EQUAL((uint32_t)s->buckets[0], last);
}

TEST(taking_out_ends_with_its_effort_in_a_chain_that_leads_to_itself) {
    tidings__segment *s = unit_segment();
    s->shape.buckets = 1;
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_COUNT), other = joined(s, "b", false, 1);
    s->names[other].next = other;
    uint64_t little = 1000;
    CHECK(!tidings__name_take_out(s, OWN, index, &little));
    CHECK(little < 1000);
}

static const tidings__observer_set none;

TEST(reclaiming_finishes_what_dead_participants_did_to_entries) {
    tidings__segment *s = unit_segment();
    const uint32_t preparing = joined(s, "a", false, TIDINGS__TO_COUNT);
    const uint32_t leaving = joined(s, "b", false, TIDINGS__TO_COUNT), gone = joined(s, "c", false, TIDINGS__TO_COUNT);
    const uint32_t living = joined(s, "d", false, TIDINGS__TO_COUNT);
    s->names[preparing].state = state_word(1, OWN, TIDINGS__NAME_PREPARING);
    s->names[leaving].state = state_word(1, OWN, TIDINGS__NAME_LEAVING);
    s->names[gone].state = state_word(1, OWN, TIDINGS__NAME_GONE);
    s->names[living].state = state_word(1, OWN + 1, TIDINGS__NAME_PREPARING);
    const tidings__participant_set dead = tidings__participant_only(OWN);
    tidings__name_reclaim(s, &dead, &none);
    CHECK_EQUAL(state_in(&s->names[preparing]), TIDINGS__NAME_FREE);
    CHECK_EQUAL(state_in(&s->names[leaving]), TIDINGS__NAME_LINKED);
    CHECK_EQUAL(state_in(&s->names[gone]), TIDINGS__NAME_FREE);
    CHECK_EQUAL(state_in(&s->names[living]), TIDINGS__NAME_PREPARING);
}

TEST(reclaiming_frees_an_entry_that_was_taken_and_not_counted) {
    tidings__segment *s = unit_segment();
    tidings__name *entry = &s->names[s->header->names_used.word];
    entry->state = state_word(1, OWN, TIDINGS__NAME_PREPARING);
    const tidings__participant_set dead = tidings__participant_only(OWN);
    tidings__name_reclaim(s, &dead, &none);
    CHECK_EQUAL(state_in(entry), TIDINGS__NAME_FREE);
}

TEST(reclaiming_takes_dead_observers_out_of_every_entry) {
    tidings__segment *s = unit_segment();
    const uint32_t a = joined(s, "a", false, 1), b = joined(s, "b", false, 1);
    (void)joined(s, "b", false, 2);
    const tidings__participant_set dead = tidings__participant_only(OWN);
    tidings__observer_set observers = {0};
    tidings__observer_set_add(&observers, 1);
    tidings__name_reclaim(s, &dead, &observers);
    CHECK_EQUAL(s->names[a].members[0], 0);
    CHECK_EQUAL(s->names[b].members[0], 1 << 2);
    CHECK_EQUAL(s->header->generation.word, 4);
}

TEST(an_entry_is_half_way_while_a_participant_prepares_or_takes_it_out) {
    tidings__name entry = {.state = state_word(1, OWN, TIDINGS__NAME_LEAVING)};
    uint64_t participant;
    CHECK(tidings__name_half_way(&entry, &participant));
    CHECK_EQUAL(participant, OWN);
    entry.state = state_word(1, OWN, TIDINGS__NAME_LINKED);
    CHECK(!tidings__name_half_way(&entry, &participant));
}
