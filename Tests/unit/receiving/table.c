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
