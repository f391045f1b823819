// Presence in a center whose descriptor the program closed, whose words a peer has spoiled, or where a participant
// stands still.
#include <unistd.h>

#include "entries.h"
#include "platform/futex.h"
#include "posting/payload_chunk.h"
#include "presence/guard.h"
#include "ring/verdict.h"

// A will of a dead participant that waits to be posted.
static tidings__presence *entry_with_will(tidings_center *center, uint32_t index) {
    tidings__segment *s = &center->segment;
    tidings__presence *entry = dead_entry(center, index, TIDINGS__PRESENCE_WILL, 0);
    uint32_t chunk;
    CHECK_EQUAL(tidings__take_chunk(center, 64, 0, &chunk), 0);
    entry->will = (uint64_t)chunk + 1;
    s->chunk_words[chunk] = tidings__will_word(entry->announcement, index);
    return entry;
}

TEST(a_will_that_this_process_cannot_read_stays_for_another_one) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings__presence *entry = entry_with_will(center, 1);
    const uint64_t chunk = entry->will - 1;
    s->chunk_backed[chunk] = 0;  // as in a process that has not used this chunk
    close(s->fd);
    CHECK_EQUAL(report(center, 1, true), -EBADF);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_WILL);
    CHECK_EQUAL(s->chunk_words[chunk], tidings__will_word(101, 1));
    CHECK(!tidings__may_report(center));
    tidings_close(center);
}

TEST(a_guard_whose_descriptor_was_closed_says_that_it_is_dead) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings_presence_watch(center), 0);
    tidings__presence_line *line = tidings__presence_line_at(s, center->participant);
    const int fd = dup(s->fd);
    close(s->fd);
    line->poke++;
    tidings__futex_wake(&line->poke, 1);
    for (uint32_t life; !((life = line->life[2]) & TIDINGS__LIFE_DIED);) tidings__futex_wait(&line->life[2], life, -1);
    CHECK(line->life[0] & TIDINGS__LIFE_DIED);
    close(fd);
    tidings_close(center);
}

TEST(eviction_moves_reports_on_also_without_the_descriptor) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_PRESENT, 0);
    CHECK_EQUAL(report(center, 1, false), 0);
    entry->report = tidings__report_next(entry->report, 0, 5, TIDINGS__PRESENCE_DYING);
    s->presence_known = 0;  // as in a process that has not touched the table
    close(s->fd);
    tidings_publisher *publisher = opened_publisher(center, "n");
    for (uint32_t i = 0; i < s->shape.slots; i++) CHECK_EQUAL(tidings_post(publisher, "", 0, NULL, NULL), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

TEST(a_report_ahead_of_the_ring_ends_with_one_notice) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, UINT64_C(1) << 38);
    CHECK_EQUAL(report(center, 1, true), 0);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_LEFT);
    CHECK_EQUAL(notices(center, 1), 1);
    tidings_close(center);
}

TEST(claims_before_many_reports_are_waited_for_as_long_as_before_one) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings__report_budget budget = tidings__report_budget_of(s);
    const uint32_t checks = budget.checks;
    for (uint32_t i = 1; i < s->shape.participants; i++) {
        const uint64_t frontier = tidings__frontier(s, 0);
        (void)dead_entry(center, i, TIDINGS__PRESENCE_DYING, frontier);
        unit_claim(s, frontier, UNIT_OWNER);
        CHECK_EQUAL(tidings__report(center, i, true, 0, &budget), 0);
        CHECK_EQUAL(tidings__slot_status(s, frontier), TIDINGS__VOID);
    }
    CHECK(checks <= 16 && budget.checks <= checks);
    tidings_close(center);
}

TEST(a_guard_that_is_to_end_begins_no_report) {
    tidings_center *center = fresh_center();
    tidings__presence *entry = dead_entry(center, 1, TIDINGS__PRESENCE_DYING, 0);
    const tidings__guard guard = {.state = TIDINGS__GUARD_ENDS};
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    budget.guard = &guard;
    CHECK_EQUAL(tidings__report(center, 1, true, 0, &budget), -EINPROGRESS);
    CHECK_EQUAL(state_of(entry), TIDINGS__PRESENCE_DYING);
    tidings_close(center);
}

TEST(one_that_stands_still_after_its_joining_is_listed) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings_announce(center, "role", 4, NULL, 0), 0);
    tidings__presence *entry = &s->presence[center->participant];
    const uint64_t present = entry->report;
    const uint64_t joining = tidings__report_next(present, 0, center->participant, TIDINGS__PRESENCE_JOINING);
    tidings_participant_info info;
    entry->report = joining;
    CHECK_EQUAL(tidings_participant(center, center->participant, &info), 0);
    CHECK(info.announced);
    CHECK_TEXT(info.role, "role");
    entry->report = tidings__report_next(joining, 1, center->participant, TIDINGS__PRESENCE_JOINING);
    CHECK_EQUAL(tidings_participant(center, center->participant, &info), 0);
    CHECK(!info.announced);
    entry->report = present;
    tidings_close(center);
}

TEST(wills_leave_half_of_the_chunks_of_a_size_to_posts) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const tidings__class *class = &s->geometry.classes[0];
    for (uint32_t i = 0; i < class->count / 2; i++) s->chunk_words[class->first + i] = tidings__will_word(101, 1);
    const tidings_will will = {.name = "w", .name_length = 1, .payload = "x", .size = 1};
    CHECK_EQUAL(tidings_announce(center, "", 0, &will, 0), -EAGAIN);
    CHECK(strstr(tidings_last_error(), "last wills") != NULL);
    CHECK_EQUAL(notices(center, center->participant), 0);
    uint32_t wills = 0;
    for (uint32_t i = 0; i < class->count; i++) wills += s->chunk_words[class->first + i] != 0;
    CHECK_EQUAL(wills, class->count / 2);
    s->chunk_words[class->first] = 0;
    CHECK_EQUAL(tidings_announce(center, "", 0, &will, 0), 0);
    tidings_close(center);
}

static tidings_center *withdrawn;

static void *withdraws_cancelled(void *argument) {
    pthread_cancel(pthread_self());
    CHECK_EQUAL(tidings_withdraw(withdrawn), 0);
    pthread_testcancel();
    return argument;
}

TEST(a_thread_that_is_cancelled_while_it_withdraws_ends_afterwards) {
    withdrawn = fresh_center();
    CHECK_EQUAL(tidings_announce(withdrawn, "", 0, NULL, 0), 0);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, withdraws_cancelled, NULL), 0);
    void *result = NULL;
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQUAL(tidings_withdraw(withdrawn), -ENOENT);
    tidings_close(withdrawn);
}
