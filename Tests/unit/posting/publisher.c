#include "posting/publisher.h"
#include "fresh.h"

#define PREFIX TIDINGS__RESOLVED_PREFIX
#define ALL TIDINGS__RESOLVED_ALL

static uint64_t generation_of(const tidings_center *center) { return center->segment.header->generation.word; }
static uint64_t resolve(tidings_publisher *publisher) {
    return tidings__resolve(publisher, generation_of(publisher->center));
}

TEST(a_publisher_finds_the_entries_of_its_name_and_of_all_names) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    CHECK_EQUAL(resolve(publisher), 0);
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(resolve(publisher), entry);
    (void)joined(center, "na", true, 1);
    (void)joined(center, "b", true, 1);
    CHECK_EQUAL(resolve(publisher), entry | PREFIX);
    CHECK_EQUAL(tidings__name_join_all(&center->segment, 1), 0);
    CHECK_EQUAL(resolve(publisher), entry | PREFIX | ALL);
}

TEST(a_publisher_keeps_its_route_until_the_generation_moves) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    (void)resolve(publisher);
    CHECK_EQUAL(publisher->resolved_at, generation_of(center));
    publisher->resolved = 42;
    CHECK_EQUAL(tidings__resolved(publisher), 42);
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(tidings__resolved(publisher), entry);
}

TEST(an_older_route_does_not_replace_a_newer_one) {
    tidings_center *center = fresh_center();
    tidings_publisher *publisher = opened_publisher(center, "name");
    (void)joined(center, "name", false, 1);
    publisher->resolved = 42;
    publisher->resolved_at = generation_of(center) + 1;
    (void)resolve(publisher);
    CHECK_EQUAL(publisher->resolved, 42);
    publisher->resolved_at = TIDINGS__RESOLVED_AT_BUSY;
    (void)resolve(publisher);
    CHECK_EQUAL(publisher->resolved_at, TIDINGS__RESOLVED_AT_BUSY);
}
