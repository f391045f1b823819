#include "receiving/describe.h"

#include "observing.h"

TEST(a_record_without_a_name_of_its_own_has_that_of_its_entry) {
    tidings_observer *o = fresh_observer();
    const tidings__record r = {.name = counted(o->center, "a")};
    tidings_delivery d;
    CHECK(tidings__buffer_begin(o));
    CHECK(tidings__describe_text(o, &r, 0, &d));
    CHECK_TEXT(d.name, "a");
    CHECK_EQUAL(d.name_length, 1);
    CHECK_EQUAL(d.subject_length, 0);
}

TEST(a_record_older_than_its_entry_is_not_described_by_it) {
    tidings_observer *o = fresh_observer();
    const tidings__record r = {.name = counted(o->center, "a")};
    tidings_delivery d;
    CHECK(tidings__buffer_begin(o));
    o->center->segment.names[r.name].birth = 1;
    unit_evict_to(&o->center->segment, 1);
    CHECK(!tidings__describe_text(o, &r, 0, &d));
    CHECK(tidings__describe_text(o, &r, 1, &d));
}

TEST(a_record_of_an_impossible_entry_has_no_name) {
    tidings_observer *o = fresh_observer();
    const tidings__record r = {.name = o->center->segment.shape.names + 1000};
    tidings_delivery d;
    CHECK(tidings__buffer_begin(o));
    o->name[0] = 'x';
    CHECK(!tidings__describe_text(o, &r, 0, &d));
    CHECK_TEXT(d.name, "");
    CHECK_EQUAL(d.name_length, 0);
}
