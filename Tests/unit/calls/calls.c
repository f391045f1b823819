#include "by_hand.h"

#include <pthread.h>

#include "platform/futex.h"
#include "presence/report.h"

#define IDEMPOTENT TIDINGS__CALL_IDEMPOTENT
#define AGAIN TIDINGS__CALL_AGAIN

// MARK: Words

TEST(a_call_word_keeps_generation_caller_server_flags_and_state) {
    const uint64_t word = call_word(0x1ffffffff, 0xfff, 0xabc, TIDINGS__CALL_CLAIMED) | IDEMPOTENT | AGAIN;
    CHECK_EQUAL(tidings__call_generation(word), 0x1ffffffff);
    CHECK_EQUAL(tidings__call_caller(word), 0xfff);
    CHECK_EQUAL(tidings__call_server(word), 0xabc);
    CHECK_EQUAL(tidings__call_state(word), TIDINGS__CALL_CLAIMED);
    const uint64_t replied = tidings__call_with(word, 0x123, TIDINGS__CALL_REPLIED);
    CHECK_EQUAL(replied, call_word(0x1ffffffff, 0xfff, 0x123, TIDINGS__CALL_REPLIED) | IDEMPOTENT | AGAIN);
}

TEST(the_next_generation_of_a_call_has_no_server_and_no_flags) {
    const uint64_t word = call_word(7, 3, 5, TIDINGS__CALL_REPLIED) | IDEMPOTENT | AGAIN;
    CHECK_EQUAL(tidings__call_anew(word, 2, TIDINGS__CALL_IDLE), call_word(8, 2, 0, TIDINGS__CALL_IDLE));
    // None has generation 0: a ticket would be 0.
    CHECK_EQUAL(tidings__call_anew(call_word(0x1ffffffff, 1, 1, 7), 0, TIDINGS__CALL_FREE), call_word(1, 0, 0, 0));
}

TEST(the_flag_of_a_part_is_no_other_field_and_ends_with_the_state) {
    for (uint32_t flag = 0; flag < 2; flag++) {
        const uint64_t word = call_word(5, 0xfff, 0xabc, TIDINGS__CALL_CLAIMED) | AGAIN |
                              (flag ? TIDINGS__CALL_PART : 0);
        CHECK_EQUAL(tidings__call_generation(word), 5);
        CHECK_EQUAL(tidings__call_server(word), 0xabc);
        CHECK_EQUAL(tidings__call_state(word), TIDINGS__CALL_CLAIMED);
        CHECK_EQUAL(tidings__ticket(3, word), tidings__ticket(3, call_word(5, 0, 0, 0)));
        CHECK_EQUAL(tidings__reply_word(3, word), tidings__reply_word(3, call_word(5, 0, 0xabc, 0)));
        CHECK_EQUAL(tidings__call_with(word, 0xabc, TIDINGS__CALL_CANCELLED),
                    call_word(5, 0xfff, 0xabc, TIDINGS__CALL_CANCELLED) | AGAIN);
        CHECK_EQUAL(tidings__call_anew(word, 2, TIDINGS__CALL_IDLE), call_word(6, 2, 0, TIDINGS__CALL_IDLE));
    }
}

TEST(a_ticket_is_of_one_index_and_generation) {
    const uint64_t word = call_word(9, 3, 5, TIDINGS__CALL_POSTED), ticket = tidings__ticket(16383, word);
    CHECK_EQUAL(tidings__ticket_index(ticket), 16383);
    CHECK(tidings__ticket_of(ticket, tidings__call_with(word, 1, TIDINGS__CALL_REPLIED)));
    CHECK(!tidings__ticket_of(ticket, tidings__call_anew(word, 3, TIDINGS__CALL_POSTED)));
}

TEST(the_chunk_word_of_a_reply_is_of_one_call_generation_and_server) {
    const uint64_t word = call_word(9, 3, 5, TIDINGS__CALL_CLAIMED);
    const uint64_t reply = tidings__reply_word(4, word);
    CHECK_EQUAL(reply & 0xf, TIDINGS__CHUNK_REPLY);
    CHECK(reply >> 63 == 1);  // no position of a ring
    CHECK_EQUAL(reply, tidings__reply_word(4, tidings__call_with(word, 5, TIDINGS__CALL_CANCELLED)));
    CHECK(reply != tidings__reply_word(5, word));
    CHECK(reply != tidings__reply_word(4, call_word(10, 3, 5, TIDINGS__CALL_CLAIMED)));
    CHECK(reply != tidings__reply_word(4, call_word(9, 3, 6, TIDINGS__CALL_CLAIMED)));
}

// MARK: The number of calls

TEST(a_center_without_callers_has_no_calls) { CHECK_EQUAL(tidings__calls_end(&fresh_center()->segment), 0); }

TEST(the_number_of_calls_is_bounded_by_the_table_and_its_memory) {
    tidings__segment *s = &center_with_calls()->segment;
    CHECK_EQUAL(tidings__calls_end(s), 64);
    s->header->calls_used.word = 10;
    CHECK_EQUAL(tidings__calls_end(s), 10);
    s->header->calls_used.word = UINT64_MAX;
    CHECK(tidings__calls_end(s) <= s->geometry.call_count);
    CHECK(tidings__calls_end(s) >= 64);
    CHECK_EQUAL(s->geometry.call_count, 1024);
}

// MARK: Servers

TEST(a_living_server_serves_its_name) {
    tidings_center *center = center_with_calls();
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    uint32_t budget = 10;
    CHECK(tidings__call_served(&center->segment, name, &budget));
    CHECK_EQUAL(budget, 9);
}

TEST(a_member_that_is_no_server_serves_nothing) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    s->observers[1].serves = 0;
    uint32_t budget = 10;
    CHECK(!tidings__call_served(s, name, &budget));
}

TEST(a_dead_server_serves_nothing) {
    tidings_center *center = center_with_calls();
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    died(&center->segment, 2);
    uint32_t budget = 10;
    CHECK(!tidings__call_served(&center->segment, name, &budget));
    (void)server_of(center, SERVICE, 3, 2);
    CHECK(tidings__call_served(&center->segment, name, &budget));
}

TEST(a_server_that_has_left_serves_nothing) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    const uint32_t states[] = {TIDINGS__PRESENCE_FREE, TIDINGS__PRESENCE_PREPARING, TIDINGS__PRESENCE_LEFT,
                               TIDINGS__PRESENCE_DYING};
    for (int i = 0; i < 4; i++) {
        s->presence[2].report = tidings__report_next(s->presence[2].report, 0, 2, states[i]);
        uint32_t budget = 10;
        CHECK(!tidings__call_served(s, name, &budget));
    }
}

TEST(an_observer_of_an_earlier_participant_serves_nothing) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    s->observers[1].instance = 99;
    uint32_t budget = 10;
    CHECK(!tidings__call_served(s, name, &budget));
    s->observers[1].instance = 101;
    s->observers[1].owner = 4000;
    CHECK(!tidings__call_served(s, name, &budget));
    s->observers[1].owner = 0;
    CHECK(!tidings__call_served(s, name, &budget));
}

TEST(servers_of_another_generation_of_the_name_entry_do_not_count) {
    tidings_center *center = center_with_calls();
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    uint32_t budget = 10;
    CHECK(!tidings__call_served(&center->segment, name + (UINT64_C(1) << 24), &budget));
    CHECK(!tidings__call_served(&center->segment, 0xffffff, &budget));
}

TEST(a_name_counts_as_served_when_the_budget_is_used_up) {
    tidings_center *center = center_with_calls();
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)server_of(center, SERVICE, 3, 2);
    died(&center->segment, 2);
    died(&center->segment, 3);
    uint32_t budget = 2;
    CHECK(!tidings__call_served(&center->segment, name, &budget));
    budget = 1;
    CHECK(tidings__call_served(&center->segment, name, &budget));
    CHECK_EQUAL(budget, 0);
}

// MARK: Settling

TEST(calls_that_a_dead_caller_has_not_taken_are_free) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    const uint32_t states[] = {TIDINGS__CALL_IDLE, TIDINGS__CALL_POSTED, TIDINGS__CALL_REPLIED, TIDINGS__CALL_ENDED,
                               TIDINGS__CALL_UNSERVED};
    for (uint32_t i = 0; i < 5; i++) (void)put_call(s, i, name, 1, i > 1 ? 2 : 0, states[i]);
    died(s, 1);
    CHECK_EQUAL(settle(center, 1), 0);
    for (uint32_t i = 0; i < 5; i++) CHECK_EQUAL(s->calls[i].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
    CHECK_EQUAL(records(center), 0);
}

TEST(a_claimed_call_of_a_dead_caller_is_cancelled_and_its_server_searches) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)put_call(s, 3, name, 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 1);
    CHECK_EQUAL(settle(center, 1), 0);
    CHECK_EQUAL(s->calls[3].state, call_word(5, 1, 2, TIDINGS__CALL_CANCELLED) | IDEMPOTENT);
    CHECK_EQUAL(records(center), 1);
    // Its server frees it, or the participant that settles the server's calls.
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(s->calls[3].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
}

TEST(a_call_that_a_dead_server_has_claimed_ends) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)server_of(center, SERVICE, 3, 2);
    (void)put_call(s, 3, name, 1, 2, TIDINGS__CALL_CLAIMED);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(s->calls[3].state, call_word(5, 1, 2, TIDINGS__CALL_ENDED));
    CHECK_EQUAL(records(center), 0);
}

TEST(an_idempotent_call_of_a_dead_server_is_posted_again_and_announced) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)server_of(center, SERVICE, 3, 2);
    for (uint32_t i = 3; i < 6; i++) (void)put_call(s, i, name, 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    for (uint32_t i = 3; i < 6; i++)
        CHECK_EQUAL(s->calls[i].state,
                    call_word(5, 1, 0, TIDINGS__CALL_POSTED) | IDEMPOTENT | AGAIN | TIDINGS__CALL_TURN);
    CHECK_EQUAL(records(center), 1);  // one record for all calls of the name
    // Any participant that settles announces it again: the first one may have died before.
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(records(center), 2);
}

TEST(an_idempotent_call_ends_with_its_last_server) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)put_call(s, 3, name, 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(records(center), 0);
}

TEST(an_unclaimed_call_ends_with_its_last_server) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)server_of(center, SERVICE, 3, 2);
    for (uint32_t i = 0; i < 64; i++) (void)put_call(s, i, name, 1, 0, TIDINGS__CALL_POSTED);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    for (uint32_t i = 0; i < 64; i++) CHECK_EQUAL(call_state(s, i), TIDINGS__CALL_POSTED);
    died(s, 3);
    CHECK_EQUAL(settle(center, 3), 0);
    // It names the participant whose end is the reason, so that the wake-up can be repeated.
    for (uint32_t i = 0; i < 64; i++) CHECK_EQUAL(s->calls[i].state, call_word(5, 1, 3, TIDINGS__CALL_UNSERVED));
}

TEST(calls_of_a_dead_participant_to_itself_are_free) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    const uint32_t states[] = {TIDINGS__CALL_CLAIMED, TIDINGS__CALL_CANCELLED, TIDINGS__CALL_REPLIED,
                               TIDINGS__CALL_ENDED};
    for (uint32_t i = 0; i < 4; i++) (void)put_call(s, i, name, 2, 2, states[i] | IDEMPOTENT);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    for (uint32_t i = 0; i < 4; i++) CHECK_EQUAL(s->calls[i].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
}

// A call with a part is a claimed one. Its chunk is freed with the call, as the caller may be copying it.
TEST(a_call_with_a_part_is_settled_as_a_claimed_one) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)server_of(center, SERVICE, 3, 2);
    const struct {
        uint32_t caller, server;
        uint64_t word;
        bool chunk;
    } calls[] = {{1, 2, call_word(5, 1, 2, TIDINGS__CALL_ENDED), true},
                 {2, 3, call_word(5, 2, 3, TIDINGS__CALL_CANCELLED), true},
                 {2, 2, call_word(6, 0, 0, TIDINGS__CALL_FREE), false},
                 {1, 3, call_word(5, 1, 3, TIDINGS__CALL_CLAIMED) | TIDINGS__CALL_PART, true}};
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t word = put_call(s, i, name, calls[i].caller, calls[i].server,
                                       TIDINGS__CALL_CLAIMED | TIDINGS__CALL_PART);
        s->calls[i].reply_chunk = i + 1;
        s->chunk_words[i] = tidings__reply_word(i, word);
    }
    *lane_of(s, 1, 0) = 1;
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQUAL(s->calls[i].state, calls[i].word);
        CHECK_EQUAL(s->chunk_words[i] != 0, calls[i].chunk);
    }
    CHECK(!(*lane_of(s, 1, 0) & 1));
    CHECK_EQUAL(records(center), 1);  // the server of the second searches
    for (uint32_t i = 0; i < 2; i++) CHECK(tidings__call_free(s, i, s->calls[i].state));
    for (uint32_t i = 0; i < 2; i++) CHECK_EQUAL(s->chunk_words[i], 0);
}

TEST(calls_of_other_participants_stay) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    for (uint32_t state = 0; state < 16; state++) (void)put_call(s, state, name, 1, 2, state);
    died(s, 3);
    CHECK_EQUAL(settle(center, 3), 0);
    for (uint32_t state = 0; state < 16; state++) CHECK_EQUAL(s->calls[state].state, call_word(5, 1, 2, state));
    CHECK_EQUAL(records(center), 0);
}

TEST(calls_that_a_living_caller_has_not_taken_stay_after_the_death_of_its_server) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    const uint32_t states[] = {TIDINGS__CALL_REPLIED, TIDINGS__CALL_ENDED, TIDINGS__CALL_UNSERVED};
    for (uint32_t i = 0; i < 3; i++) (void)put_call(s, i, name, 1, 2, states[i]);
    *lane_of(s, 1, 0) = 1;
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    for (uint32_t i = 0; i < 3; i++) CHECK_EQUAL(call_state(s, i), states[i]);
    // The server may have died before the wake-up.
    CHECK_EQUAL(*lane_of(s, 1, 0), 2);
}

TEST(calls_of_a_later_participant_of_the_index_are_not_settled) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1), report = s->presence[2].report;
    (void)put_call(s, 3, name, 1, 2, TIDINGS__CALL_CLAIMED);
    (void)put_call(s, 4, name, 2, 0, TIDINGS__CALL_POSTED);
    s->presence[2].report = tidings__report_next(report, 0, 2, TIDINGS__PRESENCE_WATCHING);
    CHECK_EQUAL(settle_at(center, 2, report), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_CLAIMED);
    CHECK_EQUAL(call_state(s, 4), TIDINGS__CALL_POSTED);
}

TEST(calls_of_several_participants_that_ended_are_settled_in_one_walk) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)put_call(s, 1, name, 1, 2, TIDINGS__CALL_CLAIMED);
    (void)put_call(s, 2, name, 3, 2, TIDINGS__CALL_CLAIMED);
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    (void)put_call(s, 4, name, 3, 0, TIDINGS__CALL_POSTED);
    tidings__ended ended = {.first = 1, .count = 2};
    for (uint32_t i = 0; i < 2; i++) ended.reports[i] = s->presence[1 + i].report;
    died(s, 1);
    died(s, 2);
    CHECK_EQUAL(tidings__calls_settle(center, &ended, &(uint64_t){TIDINGS__TELLS_ALL}), 0);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_FREE);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_FREE);
    CHECK_EQUAL(call_state(s, 4), TIDINGS__CALL_UNSERVED);
}

TEST(of_several_participants_that_ended_those_with_a_successor_are_left_out) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 3, 1);
    (void)put_call(s, 1, name, 1, 2, TIDINGS__CALL_CLAIMED);
    (void)put_call(s, 2, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings__ended ended = {.first = 1, .count = 2};
    for (uint32_t i = 0; i < 2; i++) ended.reports[i] = s->presence[1 + i].report;
    died(s, 2);
    s->presence[1].report = tidings__report_next(ended.reports[0], 0, 1, TIDINGS__PRESENCE_WATCHING);
    CHECK_EQUAL(tidings__calls_settle(center, &ended, &(uint64_t){TIDINGS__TELLS_ALL}), 0);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_POSTED);
    CHECK(ended.reports[0] == 0 && ended.reports[1] != 0);
}

TEST(deaths_are_reported_after_the_calls_of_all_were_settled) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 2, 1);
    (void)put_call(s, 1, name, 1, 2, TIDINGS__CALL_CLAIMED);
    (void)put_call(s, 2, name, 3, 2, TIDINGS__CALL_CLAIMED);
    died(s, 1);
    died(s, 2);
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    budget.posts = UINT64_MAX;
    tidings__report_all(center, &budget);
    for (uint32_t i = 1; i < 4; i++)
        CHECK_EQUAL(tidings__report_state(s->presence[i].report),
                    i < 3 ? TIDINGS__PRESENCE_LEFT : TIDINGS__PRESENCE_WATCHING);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_FREE);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_ENDED);
}

TEST(an_observer_that_a_peer_made_a_member_of_two_names_is_told_one) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t names[] = {server_of(center, SERVICE, 3, 1), server_of(center, SERVICE "2", 3, 1)};
    for (uint32_t i = 0; i < 2; i++) (void)put_call(s, i, names[i], 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(records(center), 1);
    for (uint32_t i = 0; i < 2; i++) CHECK_EQUAL(call_state(s, i), TIDINGS__CALL_POSTED);
}

TEST(a_call_that_has_ended_is_woken_whoever_has_ended_it) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = joined(center, SERVICE, false, 1);
    (void)put_call(s, 1, name, 3, 1, TIDINGS__CALL_ENDED);
    *lane_of(s, 3, 0) = 1;
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(*lane_of(s, 3, 0), 2);
}

TEST(servers_are_told_as_long_as_there_is_time_and_calls_are_settled_anyway) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t names[] = {server_of(center, SERVICE, 3, 1), server_of(center, SERVICE "2", 3, 2)};
    for (uint32_t i = 0; i < 2; i++) (void)put_call(s, i, names[i], 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    (void)put_call(s, 2, joined(center, SERVICE "3", false, 3), 1, 2, TIDINGS__CALL_CLAIMED);
    died(s, 2);
    tidings__ended ended = tidings__ended_alone(2, s->presence[2].report);
    uint64_t tells = 1;
    CHECK_EQUAL(tidings__calls_settle(center, &ended, &tells), -EINPROGRESS);
    CHECK_EQUAL(records(center), 1);
    CHECK_EQUAL(tells, 0);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_POSTED);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_ENDED);
    // The next settlement tells them.
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(records(center), 3);
}

TEST(deaths_that_find_no_time_are_reported_by_the_next_call) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    died(s, 1);
    died(s, 2);
    tidings__report_budget budget = tidings__report_budget_of(s);
    budget.posts = 1;
    tidings__report_all(center, &budget);
    const uint32_t left = TIDINGS__PRESENCE_LEFT;
    CHECK_EQUAL((tidings__report_state(s->presence[1].report) == left) +
                    (tidings__report_state(s->presence[2].report) == left),
                1);
    budget = tidings__report_budget_of(s);
    tidings__report_all(center, &budget);
    for (uint32_t i = 1; i < 3; i++) CHECK_EQUAL(tidings__report_state(s->presence[i].report), left);
}

TEST(servers_of_any_number_of_names_are_told) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    // Two names in turns: each is told once.
    const uint64_t names[] = {server_of(center, SERVICE, 3, 1), server_of(center, SERVICE "2", 3, 2)};
    for (uint32_t i = 0; i < 64; i++) (void)put_call(s, i, names[i % 2], 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(records(center), 2);
}

TEST(a_record_that_cannot_be_posted_is_an_error_and_settling_is_repeated) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    const uint64_t name = server_of(center, SERVICE, 3, 1);
    (void)put_call(s, 1, name, 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    died(s, 2);
    s->header->removed.word = 1;
    CHECK_EQUAL(settle(center, 2), -ESTALE);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_POSTED);
    // A server that gives up its own calls does not repeat it: the calls end.
    tidings__calls_posted_again(center, name);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_ENDED);
}

TEST(calls_of_names_that_are_none_are_passed_by) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    (void)put_call(s, 1, UINT64_MAX, 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    (void)put_call(s, 2, joined(center, "other", false, 1), 1, 2, TIDINGS__CALL_CLAIMED | IDEMPOTENT);
    (void)put_call(s, 3, 0, 4000, 4000, TIDINGS__CALL_REPLIED);
    died(s, 2);
    CHECK_EQUAL(settle(center, 2), 0);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(records(center), 0);
}

TEST(a_call_that_is_not_of_requests_is_not_announced) {
    tidings_center *center = center_with_calls();
    CHECK_EQUAL(tidings__call_announce(center, joined(center, "other", false, 1), 1), 0);
    CHECK_EQUAL(tidings__call_announce(center, joined(center, TIDINGS_REQUESTS_PREFIX, false, 2), 1), 0);
    CHECK_EQUAL(tidings__call_announce(center, UINT64_MAX, 1), 0);
    CHECK_EQUAL(records(center), 0);
}

TEST(a_participant_that_leaves_claims_nothing_and_its_observers_are_no_servers) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    s->presence[0].announcement = center->instance;
    s->presence[0].report = tidings__report_next(0, 0, 0, TIDINGS__PRESENCE_WATCHING);
    (void)server_of(center, SERVICE, 0, 1);
    s->observers[1].instance = center->instance;
    (void)server_of(center, SERVICE, 2, 2);
    center->requesting = 1;
    CHECK(tidings__calls_allowed(center));
    CHECK(tidings__calls_write(center));
    CHECK_EQUAL(center->writing, 1);
    tidings__calls_wrote(center);
    CHECK(tidings__calls_leave(center));
    CHECK(!tidings__calls_allowed(center));
    CHECK(!tidings__calls_write(center));
    CHECK_EQUAL(center->writing, 0);
    CHECK_EQUAL(s->observers[1].serves, 0);
    CHECK_EQUAL(s->observers[2].serves, 1);
}

TEST(calls_are_not_settled_while_a_thread_that_exits_is_in_the_middle_of_a_text) {
    tidings_center *center = center_with_calls();
    center->requesting = 1;
    CHECK(tidings__calls_write(center));
    CHECK(!tidings__calls_leave(center));
    tidings__calls_wrote(center);
    CHECK(tidings__calls_leave(center));
}

TEST(a_participant_that_peers_take_for_dead_claims_nothing) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    s->presence[0].announcement = center->instance;
    const uint32_t states[] = {TIDINGS__PRESENCE_LEAVING, TIDINGS__PRESENCE_DYING, TIDINGS__PRESENCE_LEFT};
    for (int i = 0; i < 3; i++) {
        s->presence[0].report = tidings__report_next(0, 0, 0, states[i]);
        CHECK(!tidings__calls_allowed(center));
    }
    s->presence[0].report = tidings__report_next(0, 0, 0, TIDINGS__PRESENCE_PRESENT);
    CHECK(tidings__calls_allowed(center));
    s->presence[0].announcement++;
    CHECK(!tidings__calls_allowed(center));
    s->presence[0].announcement--;
    died(s, 0);
    CHECK(!tidings__calls_allowed(center));
}

// MARK: Chunks of replies

TEST(the_chunk_of_a_reply_is_freed_by_its_own_call_alone) {
    tidings__segment *s = &center_with_calls()->segment;
    const uint64_t word = put_call(s, 3, 0, 1, 2, TIDINGS__CALL_REPLIED), held = tidings__reply_word(3, word);
    s->calls[3].reply_chunk = 2;
    s->chunk_words[1] = held;
    tidings__reply_free(s, 3, word + (UINT64_C(1) << 31));
    CHECK_EQUAL(s->chunk_words[1], held);
    s->calls[3].state = tidings__call_anew(word, 1, TIDINGS__CALL_IDLE);
    tidings__reply_free(s, 3, word);
    CHECK_EQUAL(s->chunk_words[1], held);
    s->calls[3].state = word;
    s->chunk_words[1] = held + 16;  // of another server
    tidings__reply_free(s, 3, word);
    CHECK_EQUAL(s->chunk_words[1], held + 16);
    s->chunk_words[1] = held;
    tidings__reply_free(s, 3, word);
    CHECK_EQUAL(s->chunk_words[1], 0);
    tidings__reply_free(s, 3, word);
}

TEST(a_chunk_number_that_is_none_is_passed_by) {
    tidings__segment *s = &center_with_calls()->segment;
    const uint64_t word = put_call(s, 3, 0, 1, 2, TIDINGS__CALL_REPLIED);
    const uint64_t chunks[] = {0, s->geometry.chunk_count + 1, UINT64_C(1) << 32 | 1, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        s->calls[3].reply_chunk = chunks[i];
        tidings__reply_free(s, 3, word);
    }
}

// MARK: Wake-ups

TEST(a_lane_is_woken_only_if_it_says_asleep) {
    tidings__segment *s = &center_with_calls()->segment;
    const uint64_t word = put_call(s, 3, 0, 1, 2, TIDINGS__CALL_REPLIED);
    s->calls[3].request_text = UINT64_C(5) << 40;
    for (uint32_t i = 0; i < TIDINGS__LANES; i++) *lane_of(s, 1, i) = 6;
    tidings__call_wake(s, 3, word);
    for (uint32_t i = 0; i < TIDINGS__LANES; i++) CHECK_EQUAL(*lane_of(s, 1, i), 6);
    for (uint32_t i = 0; i < TIDINGS__LANES; i++) *lane_of(s, 1, i) = 7;
    tidings__call_wake(s, 3, word);
    for (uint32_t i = 0; i < TIDINGS__LANES; i++) CHECK_EQUAL(*lane_of(s, 1, i), i == 5 ? 8 : 7);
}

TEST(a_caller_that_is_none_is_not_woken) {
    tidings__segment *s = &center_with_calls()->segment;
    *lane_of(s, 3, 0) = 1;
    tidings__call_wake(s, 3, call_word(5, 4, 2, TIDINGS__CALL_REPLIED));
    tidings__call_wake(s, 3, call_word(5, 4095, 2, TIDINGS__CALL_REPLIED));
    CHECK_EQUAL(*lane_of(s, 3, 0), 1);
}

TEST(each_announced_sleep_has_a_value_of_its_own) {
    tidings__segment *s = &center_with_calls()->segment;
    uint32_t first, second;
    CHECK(tidings__lane_announce(lane_of(s, 1, 2), &first));
    CHECK(tidings__lane_announce(lane_of(s, 1, 2), &second));
    CHECK(first & 1 && second & 1 && first != second);
    *lane_of(s, 1, 2) = UINT32_MAX;
    CHECK(tidings__lane_announce(lane_of(s, 1, 2), &first));
    CHECK_EQUAL(first, 1);
}

static void *sleeps_on_a_lane(void *argument) {
    _Atomic uint32_t *lane = argument;
    uint32_t value;
    CHECK(tidings__lane_announce(lane, &value));
    while (*lane == value) (void)tidings__futex_wait(lane, value, -1);
    return NULL;
}

TEST(a_thread_that_sleeps_on_a_lane_is_woken) {
    tidings__segment *s = &center_with_calls()->segment;
    const uint64_t word = put_call(s, 3, 0, 1, 2, TIDINGS__CALL_REPLIED);
    for (int round = 0; round < 100; round++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, sleeps_on_a_lane, (void *)lane_of(s, 1, 0)), 0);
        while (!(*lane_of(s, 1, 0) & 1)) {}
        tidings__call_wake(s, 3, word);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
    }
}
