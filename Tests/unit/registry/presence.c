#include "registry/presence.h"

#include "unit.h"

static tidings__presence *entry_with(tidings__segment *s, uint32_t state, uint64_t from) {
    CHECK_EQUAL(tidings__back_presence(s), 0);
    s->header->presence_used.word = 4;
    s->presence[2].announcement = 101;
    s->participants[2].instance = 101;
    s->presence[2].report = tidings__report_next(0, from, 3, state);
    return &s->presence[2];
}

static uint32_t state_of(const tidings__presence *entry) { return tidings__report_state(entry->report); }

TEST(a_report_keeps_position_reporter_and_state_and_counts) {
    const uint64_t first = tidings__report_next(0, 77, 9, TIDINGS__PRESENCE_DYING);
    CHECK_EQUAL(tidings__report_state(first), TIDINGS__PRESENCE_DYING);
    CHECK_EQUAL(tidings__report_owner(first), 9);
    CHECK_EQUAL(tidings__report_distance(first, 80), 3);
    CHECK_EQUAL(tidings__report_distance(first, 70), -7);
    CHECK(tidings__report_next(first, 77, 9, TIDINGS__PRESENCE_DYING) != first);
}

TEST(positions_of_a_report_are_compared_modulo_their_bits) {
    const uint64_t report = tidings__report_next(0, TIDINGS__REPORT_FROM_MASK, 0, TIDINGS__PRESENCE_WILL);
    CHECK_EQUAL(tidings__report_distance(report, TIDINGS__REPORT_FROM_MASK + 3), 3);
    CHECK_EQUAL(tidings__report_distance(report, (UINT64_C(7) << 40) - 1), 0);
}

TEST(a_center_without_announcements_has_no_presence_entries) { CHECK_EQUAL(tidings__presence_end(unit_segment()), 0); }

TEST(the_number_of_presence_entries_is_bounded_by_the_table) {
    tidings__segment *s = unit_segment();
    s->header->presence_used.word = UINT64_MAX;
    CHECK_EQUAL(tidings__presence_end(s), s->shape.participants);
}

TEST(a_mark_of_the_kernel_in_either_word_is_a_death) {
    tidings__segment *s = unit_segment();
    (void)entry_with(s, TIDINGS__PRESENCE_PRESENT, 0);
    CHECK(!tidings__presence_dead(s, 2));
    tidings__presence_line_at(s, 2)->life[2] = TIDINGS__LIFE_DIED;
    CHECK(tidings__presence_dead(s, 2));
    tidings__presence_line_at(s, 2)->life[2] = 0;
    tidings__presence_line_at(s, 2)->life[0] = TIDINGS__LIFE_DIED;
    CHECK(tidings__presence_dead(s, 2));
}

TEST(an_entry_whose_participant_is_declared_dead_or_another_one_is_dead) {
    tidings__segment *s = unit_segment();
    (void)entry_with(s, TIDINGS__PRESENCE_PRESENT, 0);
    const uint64_t others[] = {100, 0, 103};
    for (int i = 0; i < 3; i++) {
        s->participants[2].instance = others[i];
        CHECK(tidings__presence_dead(s, 2));
    }
}

TEST(a_notice_moves_each_state_that_waits_for_one) {
    const uint32_t from[] = {TIDINGS__PRESENCE_JOINING, TIDINGS__PRESENCE_LEAVING, TIDINGS__PRESENCE_DYING};
    const uint32_t to[] = {TIDINGS__PRESENCE_PRESENT, TIDINGS__PRESENCE_LEFT, TIDINGS__PRESENCE_LEFT};
    tidings__segment *s = unit_segment();
    for (int i = 0; i < 3; i++) {
        tidings__presence *entry = entry_with(s, from[i], 10);
        tidings__presence_posted(s, 2, TIDINGS__RECORD_NOTICE, 9);
        CHECK_EQUAL(state_of(entry), from[i]);
        tidings__presence_posted(s, 2, TIDINGS__RECORD_WILL, 10);
        CHECK_EQUAL(state_of(entry), from[i]);
        tidings__presence_posted(s, 2, TIDINGS__RECORD_NOTICE, 10);
        CHECK_EQUAL(state_of(entry), to[i]);
    }
}

TEST(a_will_follows_the_notice_of_a_death_and_nothing_follows_the_will) {
    tidings__segment *s = unit_segment();
    tidings__presence *entry = entry_with(s, TIDINGS__PRESENCE_DYING, 10);
    entry->will = 1;
    tidings__presence_posted(s, 2, TIDINGS__RECORD_NOTICE, 12);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_WILL);
    CHECK_EQUAL(tidings__report_owner(entry->report), 3);
    CHECK_EQUAL(tidings__report_distance(entry->report, 13), 0);
    tidings__presence_posted(s, 2, TIDINGS__RECORD_NOTICE, 13);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_WILL);
    tidings__presence_posted(s, 2, TIDINGS__RECORD_WILL, 13);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
}

TEST(a_record_about_no_participant_moves_nothing) {
    tidings__segment *s = unit_segment();
    (void)entry_with(s, TIDINGS__PRESENCE_DYING, 10);
    tidings__presence_posted(s, s->shape.participants, TIDINGS__RECORD_NOTICE, 12);
    tidings__presence_posted(s, 70000, TIDINGS__RECORD_NOTICE, 12);
    CHECK_EQUAL(state_of(&s->presence[2]), TIDINGS__PRESENCE_DYING);
}

TEST(a_will_is_freed_by_its_own_announcement_and_report_alone) {
    tidings__segment *s = unit_segment();
    tidings__presence *entry = entry_with(s, TIDINGS__PRESENCE_LEFT, 0);
    entry->will = 2;
    const uint64_t word = tidings__will_word(101, 2);
    s->chunk_words[1] = word;
    tidings__will_free(s, 2, entry->report + 1);
    CHECK_EQUAL(s->chunk_words[1], word);
    entry->announcement = 101 + (1 << 20);
    tidings__will_free(s, 2, entry->report);
    CHECK_EQUAL(s->chunk_words[1], word);
    entry->announcement = 101;
    tidings__will_free(s, 2, entry->report);
    CHECK_EQUAL(s->chunk_words[1], 0);
    entry->will = UINT64_MAX;
    tidings__will_free(s, 2, entry->report);
}

TEST(the_words_of_wills_name_no_position_that_a_ring_comes_to) {
    CHECK(tidings__will_word(1, 0) >> 63 == 1);
    CHECK_EQUAL(tidings__will_word(0, 5) & 0xf, TIDINGS__CHUNK_WILL);
}
