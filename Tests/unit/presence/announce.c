#include <sched.h>

#include "../calls/by_hand.h"
#include "entries.h"

static tidings__presence *own_entry(const tidings_center *center) {
    return &center->segment.presence[center->participant];
}

TEST(an_announced_participant_is_present_with_its_role) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    CHECK_EQUAL(state_of(own_entry(center)), TIDINGS__PRESENCE_PRESENT);
    CHECK_EQUAL(own_entry(center)->announcement, center->instance);
    CHECK_EQUAL(notices(center, center->participant), 1);
    tidings_participant_info info;
    CHECK_EQUAL(tidings_participant(center, center->participant, &info), 0);
    CHECK(info.announced);
    CHECK_TEXT(info.role, "role");
    CHECK_EQUAL(info.presence_id, own_entry(center)->id);
    tidings_close(center);
}

TEST(a_handle_that_announces_itself_again_has_another_id) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    const uint64_t id = own_entry(center)->id;
    CHECK_EQUAL(tidings_withdraw(center), 0);
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    CHECK(own_entry(center)->id != id);
    CHECK_EQUAL(own_entry(center)->id >> 52, 0);
    tidings_close(center);
}

TEST(a_watching_participant_posts_nothing) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_presence_watch(center), 0);
    CHECK_EQUAL(state_of(own_entry(center)), TIDINGS__PRESENCE_WATCHING);
    tidings_participant_info info;
    CHECK_EQUAL(tidings_participant(center, center->participant, &info), 0);
    CHECK(!info.announced);
    CHECK_EQUAL(tidings_withdraw(center), 0);
    CHECK_EQUAL(state_of(own_entry(center)), TIDINGS__PRESENCE_LEFT);
    CHECK_EQUAL(tidings__frontier(&center->segment, 0), 0);
    tidings_close(center);
}

TEST(a_will_lies_in_a_chunk_until_it_is_not_needed) {
    tidings_center *center = fresh_center();
    const tidings_will will = {.name = "w", .name_length = 1, .payload = "x", .size = 1};
    CHECK_EQUAL(tidings_announce(center, "", 0, &will, 0), 0);
    const uint64_t chunk = own_entry(center)->will - 1;
    CHECK_EQUAL(center->segment.chunk_words[chunk], tidings__will_word(center->instance, center->participant));
    CHECK_EQUAL(tidings_withdraw(center), 0);
    CHECK_EQUAL(center->segment.chunk_words[chunk], 0);
    tidings_close(center);
}

TEST(a_will_that_finds_no_memory_makes_the_announcement_fail) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        s->chunk_words[i] = tidings__chunk_word(0, 0, TIDINGS__CHUNK_RETAINED);
    const tidings_will will = {.name = "w", .name_length = 1, .payload = "x", .size = 1};
    CHECK_EQUAL(tidings_announce(center, "", 0, &will, 0), -EAGAIN);
    CHECK_EQUAL(state_of(own_entry(center)), TIDINGS__PRESENCE_LEFT);
    CHECK_EQUAL(notices(center, center->participant), 0);
    CHECK_EQUAL(tidings_announce(center, "", 0, NULL, 0), 0);
    tidings_close(center);
}

TEST(an_earlier_participant_of_this_index_is_reported_first) {
    tidings_center *center = fresh_center();
    const uint64_t own = center->instance;
    (void)dead_entry(center, center->participant, TIDINGS__PRESENCE_PRESENT, 0);
    center->segment.participants[center->participant].instance = own;
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    CHECK_EQUAL(notices(center, center->participant), 2);
    tidings_close(center);
}

TEST(an_earlier_participant_whose_reporter_stands_still_after_its_notice_is_reported) {
    tidings_center *center = fresh_center();
    const uint64_t own = center->instance;
    tidings__presence *entry = dead_entry(center, center->participant, TIDINGS__PRESENCE_JOINING, 0);
    center->segment.participants[center->participant].instance = own;
    uint64_t position;
    const uint64_t joining = entry->report;
    CHECK_EQUAL(tidings__notice_post(center, center->participant, TIDINGS_PRESENCE_JOINED, joining, 0, &position), 0);
    CHECK_EQUAL(entry->report, joining);
    // Another reporter has begun and stands still, and another death may be settled in between.
    center->segment.participants[5].instance = 301;
    (void)dead_entry(center, 1, TIDINGS__PRESENCE_PRESENT, 0);
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    CHECK_EQUAL(notices(center, center->participant), 3);
    tidings_close(center);
}

TEST(servers_that_an_announcement_cannot_tell_are_told_by_its_guard) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 3, 1);
    // A call that an earlier participant of this index has left to its server. The record can't be posted.
    s->presence[center->participant].report = tidings__report_next(0, 0, center->participant, TIDINGS__PRESENCE_LEFT);
    (void)put_call(s, 0, name, center->participant, 3, TIDINGS__CALL_CANCELLED);
    s->header->lossless[0] = 1 << 2;
    s->observers[2].owner = center->participant + 1;
    s->observers[2].instance = center->instance;
    tidings__name_join_all(s, 2);
    tidings_publisher *publisher = opened_publisher(center, "n");
    while (tidings_post(publisher, "", 0, NULL, NULL) == 0) {}
    const uint64_t full = records(center);
    CHECK_EQUAL(tidings_presence_watch(center), 0);
    CHECK_EQUAL(center->untold, 1);
    CHECK_EQUAL(records(center), full);
    s->observers[2].cursor = UINT64_MAX;
    while (records(center) == full) (void)sched_yield();
    tidings_close(center);
}

TEST(closing_a_handle_leaves_no_life_words) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    CHECK_EQUAL(tidings_withdraw(center), 0);
    const tidings__presence_line *line = tidings__presence_line_at(&center->segment, center->participant);
    CHECK_EQUAL(line->life[0] | line->life[2], 0);
    CHECK_EQUAL(tidings_withdraw(center), -ENOENT);
    tidings_close(center);
}
