#include "registry/prefixes.h"

#include "names.h"
#include "platform/error.h"

static bool begins(const char *text, const char *prefix) {
    _Atomic uint64_t words[2][4] = {{0}};
    memcpy((void *)words[0], text, strlen(text));
    memcpy((void *)words[1], prefix, strlen(prefix));
    return tidings__text_begins(words[0], (uint32_t)strlen(text), words[1], (uint32_t)strlen(prefix));
}

TEST(a_text_begins_with_a_prefix_of_whole_and_of_part_words) {
    CHECK(begins("com.example.light", "com.example."));
    CHECK(begins("com.example.light", "com.exam"));
    CHECK(begins("a", ""));
    CHECK(!begins("com.example", "com.example."));
    CHECK(!begins("com.example.light", "com.examplf"));
    CHECK(!begins("con.example.light", "com.example."));
}

TEST(an_entry_that_is_no_prefix_fits_no_name) {
    tidings__segment *s = unit_segment();
    const tidings__name *name = &s->names[joined(s, "ab", false, 1)], *prefix = &s->names[joined(s, "ab", true, 1)];
    CHECK(tidings__prefix_fits(prefix, name->key, 2));
    CHECK(!tidings__prefix_fits(prefix, name->key, 1));
    CHECK(!tidings__prefix_fits(name, name->key, 2));
}

TEST(a_walk_meets_observed_prefixes_only) {
    tidings__segment *s = unit_segment();
    const uint32_t a = joined(s, "a", true, 1), b = joined(s, "b", true, 1), c = joined(s, "c", true, 1);
    tidings__name_leave(s, b, 1);
    tidings__prefix_walk walk = tidings__prefixes(s);
    CHECK(tidings__prefixes_any(&walk));
    CHECK_EQUAL(tidings__prefix_next(s, &walk), c);
    CHECK_EQUAL(tidings__prefix_next(s, &walk), a);
    CHECK_EQUAL(tidings__prefix_next(s, &walk), TIDINGS__NAME_NONE);
}

TEST(a_walk_for_a_name_meets_the_prefixes_that_it_begins_with) {
    tidings__segment *s = unit_segment();
    const uint32_t a = joined(s, "a", true, 1);
    (void)joined(s, "b", true, 1);
    const uint32_t ab = joined(s, "ab", true, 1), name = joined(s, "abc", false, 1);
    tidings__prefix_walk walk = tidings__prefixes(s);
    CHECK_EQUAL(tidings__prefix_next_of(s, &walk, s->names[name].key, 3), ab);
    CHECK_EQUAL(tidings__prefix_next_of(s, &walk, s->names[name].key, 3), a);
    CHECK_EQUAL(tidings__prefix_next_of(s, &walk, s->names[name].key, 3), TIDINGS__NAME_NONE);
}

TEST(a_walk_along_a_chain_that_leads_to_itself_ends_and_stays_at_its_end) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", true, 1);
    s->names[index].next = index;
    tidings__prefix_walk walk = tidings__prefixes(s);
    uint32_t met = 0;
    while (tidings__prefix_next(s, &walk) != TIDINGS__NAME_NONE) met++;
    CHECK_EQUAL(met, 2 * TIDINGS_PREFIXES_MAX);
    CHECK_EQUAL(tidings__prefix_next(s, &walk), TIDINGS__NAME_NONE);
}

TEST(a_few_unused_prefixes_are_kept_and_more_are_reclaimed) {
    tidings__segment *s = unit_segment();
    const uint32_t spare = 8;
    for (uint32_t i = 0; i < spare; i++) {
        const char name[] = {(char)('a' + i), 0};
        tidings__name_leave(s, joined(s, name, true, 1), 1);
    }
    CHECK_EQUAL(tidings__prefixes_reclaim(s, OWN), spare);
    tidings__name_leave(s, joined(s, "z", true, 1), 1);
    const uint32_t observed = joined(s, "y", true, 1);
    CHECK_EQUAL(tidings__prefixes_reclaim(s, OWN), 1);
    CHECK_EQUAL((uint32_t)s->names[TIDINGS__NAME_ALL].next, observed);
}

TEST(there_is_room_for_a_prefix_until_the_chain_has_its_most) {
    tidings__segment *s = unit_segment();
    const tidings__key known = key_of("a", true), other = key_of("b", true);
    const uint32_t index = joined(s, "a", true, 1);
    CHECK_EQUAL(tidings__prefix_room(s, OWN, &other), 0);
    s->names[index].next = index;  // looks like a chain of many
    CHECK_EQUAL(tidings__prefix_room(s, OWN, &other), -ENOSPC);
    CHECK_SAYS(tidings__last_error(), "256 prefixes");
    CHECK_EQUAL(tidings__prefix_room(s, OWN, &known), 0);
}
