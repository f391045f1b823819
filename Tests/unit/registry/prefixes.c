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

// The prefixes of a name, in the order and by comparison with each: they are the same.
static void check_order(tidings__segment *s, tidings__chain_order *chain, const char *name) {
    _Atomic uint64_t text[TIDINGS_NAME_MAX / 8 + 1] = {0};
    const uint32_t length = (uint32_t)strlen(name);
    memcpy((void *)text, name, length);
    uint32_t fitting = 0, found = 0, entry;
    tidings__prefix_walk walk = tidings__prefixes(s);
    while ((entry = tidings__prefix_next_of(s, &walk, text, length)) != TIDINGS__NAME_NONE) fitting++;
    CHECK(tidings__chain_order_read(s, chain));
    const tidings__ordered_prefix *of = chain->of;
    for (uint32_t i = tidings__prefix_order_find(&chain->order, text, length); i > 0; i = of[i].outer, found++)
        CHECK(tidings__prefix_fits(&s->names[of[i].entry], text, length));
    CHECK_EQUAL(found, fitting);
}

TEST(the_order_of_prefixes_leads_to_each_prefix_of_a_name) {
    tidings__segment *s = unit_segment();
    tidings__chain_order chain;
    tidings__chain_order_begin(&chain);
    CHECK(!tidings__chain_order_read(s, &chain));
    uint32_t state = 1;
    char text[41] = {0};
    for (uint32_t i = 0; i < 60; i++) {
        // Texts of two letters begin with each other often.
        uint32_t length = 0;
        for (; length == 0 || (length < 40 && state >> 28 != 0); length++)
            text[length] = (state = state * 1664525 + 1013904223) & 0x40000000 ? 'a' : 'b';
        text[length] = 0;
        if (i % 2)
            (void)joined(s, text, true, 1);
        else if (i > 0)
            check_order(s, &chain, text);
    }
    for (uint32_t length = 1; length <= 20; length++) {
        memset(text, 'a', length);
        text[length] = 0;
        (void)joined(s, text, true, 1);
        check_order(s, &chain, text);
        text[length - 1] = 'b';
        check_order(s, &chain, text);
    }
}

TEST(an_order_of_prefixes_that_begin_with_the_same_words_leads_to_each) {
    tidings__segment *s = unit_segment();
    tidings__chain_order chain;
    tidings__chain_order_begin(&chain);
    (void)joined(s, "com.example.", true, 1);
    (void)joined(s, "com.example.b", true, 1);
    (void)joined(s, "com.example.bc", true, 1);
    for (const char *const *name =
             (const char *const[]){"a", "com.exam", "com.example", "com.example.", "com.example.a", "com.example.bb",
                                   "com.example.bcd", "com.z", "d", NULL};
         *name; name++)
        check_order(s, &chain, *name);
    CHECK_EQUAL(chain.order.common, 8);
}

TEST(an_order_of_a_chain_that_leads_to_itself_ends) {
    tidings__segment *s = unit_segment();
    const uint32_t index = joined(s, "a", true, 1);
    s->names[index].next = index;
    tidings__chain_order chain;
    tidings__chain_order_begin(&chain);
    CHECK(tidings__chain_order_read(s, &chain));
    CHECK_EQUAL(chain.order.used, TIDINGS__PREFIXES_WALKED);
}
