#include "registry/name_table.h"

#include <errno.h>
#include <unistd.h>

#include "names.h"
#include "platform/error.h"
#include "ring/record.h"

TEST(a_key_differs_by_name_and_by_subject) {
    tidings__key name, subject, other;
    tidings__key_make(&name, "ab", 2, NULL, 0);
    tidings__key_make(&subject, "a", 1, "b", 1);
    tidings__key_make(&other, "ab", 2, "", 0);
    CHECK(name.hash != subject.hash);
    CHECK(name.hash != other.hash);
}

TEST(the_first_observer_of_a_name_takes_a_fresh_entry_and_moves_the_generation) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 5);
    const tidings__name *entry = &s->names[index];
    CHECK_EQUAL(index, TIDINGS__NAME_FIRST);
    CHECK_EQUAL(state_in(entry), TIDINGS__NAME_LINKED);
    CHECK_EQUAL(entry->members[0], 1 << 5);
    CHECK_EQUAL(tidings__member_words(entry), 1);
    CHECK_EQUAL(s->header->names_used.word, TIDINGS__NAME_FIRST + 1);
    CHECK_EQUAL(s->header->generation.word, 1);
}

TEST(observers_of_one_name_share_an_entry) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    CHECK_EQUAL(joined(s, "a", false, 7), index);
    CHECK_EQUAL(s->names[index].members[0], 1 << 1 | 1 << 7);
    CHECK_EQUAL(tidings__name_members(&s->names[index]), 2);
    CHECK_EQUAL(s->header->generation.word, 2);
}

TEST(a_name_and_its_prefix_have_entries_of_their_own) {
    tidings__segment *s = unit_segment();
    const uint32_t name = joined(s, "a", false, 1), prefix = joined(s, "a", true, 1);
    CHECK(name != prefix);
    CHECK_EQUAL((uint32_t)s->names[TIDINGS__NAME_ALL].next, prefix);
    const tidings__key key = key_of("a", false);
    CHECK_EQUAL(tidings__name_find(s, &key), name);
}

TEST(entries_of_one_chain_are_all_found) {
    tidings__segment *s = unit_segment();
    s->shape.buckets = 1;
    const uint32_t a = joined(s, "a", false, 1), b = joined(s, "b", false, 1);
    const tidings__key first = key_of("a", false), second = key_of("b", false), third = key_of("c", false);
    CHECK_EQUAL(tidings__name_find(s, &first), a);
    CHECK_EQUAL(tidings__name_find(s, &second), b);
    CHECK_EQUAL(tidings__name_find(s, &third), TIDINGS__NAME_NONE);
}

TEST(a_chain_that_leads_to_itself_ends_a_search) {
    tidings__segment *s = unit_segment();
    s->shape.buckets = 1;
    const uint32_t index = joined(s, "a", false, 1);
    s->names[index].next = index;
    const tidings__key key = key_of("b", false);
    CHECK_EQUAL(tidings__name_find(s, &key), TIDINGS__NAME_NONE);
}

TEST(an_observer_that_joins_a_leaving_entry_turns_it_back) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    s->names[index].state = state_word(9, OWN + 1, TIDINGS__NAME_LEAVING);
    CHECK_EQUAL(joined(s, "a", false, 2), index);
    CHECK_EQUAL(state_in(&s->names[index]), TIDINGS__NAME_LINKED);
    CHECK_EQUAL(s->names[index].state >> 20, 9);
}

TEST(an_observer_does_not_join_an_entry_that_is_gone) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    s->names[index].state = state_word(9, OWN + 1, TIDINGS__NAME_GONE);
    CHECK(joined(s, "a", false, 2) != index);
    CHECK_EQUAL(s->names[index].members[0], 1 << 1);
}

TEST(an_entry_for_a_retained_value_expects_one_and_has_no_members) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_RETAIN);
    CHECK_EQUAL(s->names[index].retained, TIDINGS__RETAINED_EXPECTED);
    CHECK(!tidings__name_observed(&s->names[index]));
    CHECK_EQUAL(s->names[joined(s, "b", false, TIDINGS__TO_COUNT)].retained, 0);
}

TEST(an_observer_that_leaves_moves_the_generation) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    tidings__name_leave(s, index, 1);
    CHECK_EQUAL(tidings__name_members(&s->names[index]), 0);
    CHECK_EQUAL(s->header->generation.word, 2);
}

TEST(an_entry_stays_for_a_claimed_record_of_its_name_only) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_RETAIN);
    const tidings__key key = key_of("a", false), other = key_of("b", false);
    CHECK(tidings__name_stays(s, index, &key));
    CHECK(!tidings__name_stays(s, index, &other));
    s->names[index].state = state_word(1, OWN, TIDINGS__NAME_LEAVING);
    CHECK(tidings__name_stays(s, index, &key));
    CHECK_EQUAL(state_in(&s->names[index]), TIDINGS__NAME_LINKED);
    s->names[index].state = state_word(1, OWN, TIDINGS__NAME_GONE);
    CHECK(!tidings__name_stays(s, index, &key));
}

TEST(an_entry_was_the_name_of_records_since_its_birth) {
    tidings__segment *s = unit_segment();
    unit_evict_to(s, 10);
    const uint32_t index = joined(s, "a", false, 1);
    CHECK(tidings__name_was(s, index, 10));
    CHECK(!tidings__name_was(s, index, 9));
    s->names[index].state = state_word(1, OWN, TIDINGS__NAME_PREPARING);
    CHECK(!tidings__name_was(s, index, 10));
}

// Of whatever birth: a participant that takes an entry out sets it to the frontier.
TEST(an_entry_that_was_taken_out_has_its_text_until_the_record_is_evicted) {
    tidings__segment *s = unit_segment();
    unit_evict_to(s, 10);
    const uint32_t index = joined(s, "a", false, TIDINGS__TO_COUNT);
    char name[256];
    uint32_t length;
    for (uint32_t state = TIDINGS__NAME_FREE; state <= TIDINGS__NAME_GONE; state++) {
        if (state == TIDINGS__NAME_PREPARING) continue;
        s->names[index].state = state_word(1, OWN, state);
        s->names[index].birth = 12;
        unit_evict_to(s, 10);
        CHECK(tidings__name_text_at(s, index, 10, name, &length));
        CHECK_TEXT(name, "a");
        CHECK_EQUAL(length, 1);
        unit_evict_to(s, 11);
        CHECK(!tidings__name_text_at(s, index, 10, name, &length));
    }
}

TEST(numbers_that_no_entry_has_lead_to_no_entry) {
    tidings__segment *s = unit_segment();
    CHECK(!tidings__name_at(s, TIDINGS__NAME_NONE));
    CHECK(!tidings__name_at(s, s->shape.names));
    CHECK(tidings__name_at(s, s->shape.names - 1));
}

TEST(a_count_of_used_entries_beyond_the_table_is_clamped) {
    tidings__segment *s = unit_segment();
    s->header->names_used.word = UINT64_MAX;
    CHECK_EQUAL(tidings__names_end(s), s->shape.names);
}

TEST(a_full_table_refuses_one_more_name) {
    tidings__segment *s = unit_segment();
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        const char name[] = {(char)('0' + i), 0};
        (void)joined(s, name, false, 1);
    }
    const tidings__key key = key_of("one more", false);
    uint32_t index;
    CHECK_EQUAL(tidings__name_join(s, OWN, &key, 1, &index), -ENOSPC);
    CHECK_SAYS(tidings__last_error(), "names");
}

TEST(a_free_entry_that_the_ring_still_names_is_not_used_again) {
    tidings__segment *s = unit_segment();
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        const char name[] = {(char)('0' + i), 0};
        (void)joined(s, name, false, 1);
    }
    s->names[7].state = state_word(1, 0, TIDINGS__NAME_FREE);
    s->names[7].birth = 2;
    s->names[9].state = state_word(1, 0, TIDINGS__NAME_FREE);
    s->names[9].birth = 2;
    unit_post(s, 0, tidings__route_word(7, 0, 0, 0));
    CHECK_EQUAL(joined(s, "one more", false, 1), 9);
    CHECK_EQUAL(state_in(&s->names[7]), TIDINGS__NAME_FREE);
}

TEST(the_text_of_an_entry_is_its_name_and_its_subject) {
    tidings__segment *s = unit_segment();
    tidings__key key;
    tidings__key_make(&key, "name", 4, "subject", 7);
    uint32_t index, name_length, subject_length;
    CHECK_EQUAL(tidings__name_join(s, OWN, &key, 1, &index), 0);
    char name[256], subject[256];
    CHECK(tidings__name_text(s, index, name, &name_length, subject, &subject_length));
    CHECK_TEXT(name, "name");
    CHECK_TEXT(subject, "subject");
    CHECK_EQUAL(name_length + subject_length, 11);
}

TEST(an_entry_with_impossible_lengths_has_no_text) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", false, 1);
    s->names[index].lengths = TIDINGS_NAME_MAX + 1;
    CHECK(!tidings__name_text(s, index, NULL, NULL, NULL, NULL));
    s->names[index].lengths = (uint32_t)(TIDINGS_SUBJECT_MAX + 2) << 16 | 1;
    CHECK(!tidings__name_text(s, index, NULL, NULL, NULL, NULL));
}

TEST(an_entry_that_gets_no_memory_fails_with_the_reason) {
    tidings__segment *s = unit_segment();
    s->names_known = TIDINGS__NAME_FIRST;
    s->header->names_backed.word = s->shape.names;
    CHECK_EQUAL(close(s->fd), 0);
    const tidings__key key = key_of("a", false);
    uint32_t index = TIDINGS__NAME_NONE;
    CHECK_EQUAL(tidings__name_join(s, OWN, &key, 1, &index), -EBADF);
    CHECK_SAYS(tidings__last_error(), "was closed by this program");
}
