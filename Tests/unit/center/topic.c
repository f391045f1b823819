#include "fresh.h"

#define PREFIX TIDINGS__RESOLVED_PREFIX
#define ALL TIDINGS__RESOLVED_ALL

static uint64_t generation_of(const tidings_center *center) { return center->segment.header->generation.word; }
static uint64_t resolve(tidings_topic *topic) { return tidings__resolve(topic, generation_of(topic->center)); }

TEST(a_publisher_finds_the_entries_of_its_name_and_of_all_names) {
    tidings_center *center = fresh_center();
    tidings_topic *topic = opened_publisher(center, "name");
    CHECK_EQUAL(resolve(topic), 0);
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(resolve(topic), entry);
    (void)joined(center, "na", true, 1);
    (void)joined(center, "b", true, 1);
    CHECK_EQUAL(resolve(topic), entry | PREFIX);
    CHECK_EQUAL(tidings__name_join_all(&center->segment, 1), 0);
    CHECK_EQUAL(resolve(topic), entry | PREFIX | ALL);
}

TEST(a_publisher_keeps_its_route_until_the_generation_moves) {
    tidings_center *center = fresh_center();
    tidings_topic *topic = opened_publisher(center, "name");
    (void)resolve(topic);
    CHECK_EQUAL(topic->resolved_at, generation_of(center));
    topic->resolved = 42;
    CHECK_EQUAL(tidings__resolved(topic), 42);
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(tidings__resolved(topic), entry);
}

TEST(an_older_route_does_not_replace_a_newer_one) {
    tidings_center *center = fresh_center();
    tidings_topic *topic = opened_publisher(center, "name");
    (void)joined(center, "name", false, 1);
    topic->resolved = 42;
    topic->resolved_at = generation_of(center) + 1;
    (void)resolve(topic);
    CHECK_EQUAL(topic->resolved, 42);
    topic->resolved_at = TIDINGS__TOPIC_BUSY;
    (void)resolve(topic);
    CHECK_EQUAL(topic->resolved_at, TIDINGS__TOPIC_BUSY);
}
