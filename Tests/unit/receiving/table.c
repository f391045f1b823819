#include "observing.h"

TEST(subscriptions_of_one_name_are_adjacent_in_the_table) {
    tidings_observer *o = fresh_observer();
    const tidings__subscription *first = added(o, "a", 0), *other = added(o, "b", 0), *again = added(o, "a", 0);
    uint32_t count;
    tidings__subscription *const *of = tidings__table_find(o->table, first->entry, &count);
    CHECK_EQUAL(count, 2);
    CHECK(of[0] == first && of[1] == again);
    of = tidings__table_find(o->table, other->entry, &count);
    CHECK_EQUAL(count, 1);
    CHECK(of[0] == other);
}

TEST(a_table_without_a_subscription_finds_all_others) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *first = added(o, "a", 0);
    const tidings__subscription *other = added(o, "b", 0);
    tidings__table *table = tidings__table_without(o->table, &first, 1);
    uint32_t count;
    CHECK_EQUAL(table->count, 1);
    CHECK(!tidings__table_find(table, first->entry, &count));
    CHECK(tidings__table_find(table, other->entry, &count)[0] == other);
    tidings__table_free(table);
}

TEST(an_old_table_does_not_find_what_a_newer_one_added_to_their_map) {
    tidings__subscription of[4];
    tidings__table *tables[5] = {tidings__table_empty()};
    for (uint32_t i = 0; i < 4; i++) {
        of[i] = (tidings__subscription){.id = i + 1, .entry = i + 5};
        tables[i + 1] = tidings__table_with(tables[i], &of[i]);
    }
    uint32_t count;
    CHECK(tables[4]->map == tables[3]->map);
    CHECK(!tidings__table_find(tables[3], of[3].entry, &count));
    CHECK(tidings__table_find(tables[4], of[3].entry, &count)[0] == &of[3]);
    // Tables that share a map share the memory of their subscriptions, too.
    for (uint32_t i = 0; i < 5; i++) {
        if (i < 4 && tables[i]->of == tables[i + 1]->of) tables[i]->of = NULL;
        tidings__table_free(tables[i]);
    }
}

TEST(a_selection_finds_only_the_numbers_that_exist) {
    tidings_observer *o = fresh_observer();
    const tidings__subscription *first = added(o, "a", 0), *other = added(o, "b", 0);
    const uint32_t ids[] = {first->id, other->id, 99};
    tidings__subscription *selected[3];
    CHECK_EQUAL(tidings__table_select(o->table, ids, 3, selected), 2);
    CHECK_EQUAL(tidings__table_select(o->table, ids + 1, 1, selected), 1);
    CHECK(selected[0] == other);
}

static bool is_given(const tidings__subscription *subscription, const char *name) {
    return strncmp(subscription->name, name, subscription->name_length) == 0 &&
           (subscription->prefix || !name[subscription->name_length]);
}

// Texts of two letters begin with each other often, and some come twice.
TEST(a_record_is_given_to_each_prefix_that_its_name_begins_with) {
    tidings_observer *o = fresh_observer();
    tidings__segment *s = &o->center->segment;
    tidings__subscription *of[100];
    uint32_t count = 0, state = 1, matched = 0;
    for (uint32_t i = 0; i < 300; i++) {
        char text[20] = {0};
        for (uint32_t k = 0; k == 0 || (k < 19 && state >> 29 != 0); k++)
            text[k] = (state = state * 1664525 + 1013904223) & 0x40000000 ? 'a' : 'b';
        if (i % 4 == 0) {
            of[count++] = added(o, text, i % 8 ? TIDINGS_ADD_PREFIX : 0);
        } else if (i % 10 == 9 && count > 0) {
            const uint32_t gone = state % count;
            CHECK_EQUAL(tidings_observer_remove(o, of[gone]->id), 0);
            of[gone] = of[--count];
        } else {
            unit_post(s, o->cursor, tidings__route_word(counted(o->center, text), 0, 0, 0));
            tidings_delivery d = {0};
            const int result = tidings__look_for(o, o->cursor + 1, &d);
            uint32_t all = 0;
            for (uint32_t k = 0; k < count; k++) all += is_given(of[k], text);
            CHECK_EQUAL(result, all ? TIDINGS__DELIVERED : TIDINGS__NOTHING);
            CHECK_EQUAL(d.subscription_count, all);
            for (uint32_t k = 0; k < all; k++) {
                tidings__subscription *given = NULL;
                CHECK_EQUAL(tidings__table_select(o->table, &d.subscriptions[k], 1, &given), 1);
                CHECK(is_given(given, text));
                for (uint32_t j = 0; j < k; j++) CHECK(d.subscriptions[j] != d.subscriptions[k]);
            }
            matched += all;
        }
    }
    CHECK(matched > 100);
}

// A peer made a prefix of the entry of a name.
TEST(a_name_whose_entry_became_that_of_a_prefix_is_removed) {
    tidings_observer *o = fresh_observer();
    const tidings__subscription *name = added(o, "x", 0);
    tidings__segment *s = &o->center->segment;
    tidings__name *entry = &s->names[name->entry];
    tidings__key key;
    tidings__key_make(&key, "a", 1, NULL, 0);
    key.prefix = true;
    entry->hash = key.hash;
    entry->lengths = 1 | TIDINGS__LENGTHS_PREFIX;
    entry->key[0] = 'a';
    entry->next = TIDINGS__NAME_NONE;
    s->names[TIDINGS__NAME_ALL].next = name->entry;
    const tidings__subscription *prefix = added(o, "a", TIDINGS_ADD_PREFIX);
    CHECK_EQUAL(prefix->entry, name->entry);
    CHECK_EQUAL(o->table->prefixes.used, 1);
    CHECK_EQUAL(tidings_observer_remove(o, name->id), 0);
    CHECK_EQUAL(o->table->prefixes.used, 1);
}
