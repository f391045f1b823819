// Presence in a center whose descriptor the program closed, or whose words a peer has spoiled.
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
