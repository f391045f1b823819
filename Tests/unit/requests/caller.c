#include "../calls/by_hand.h"

static tidings_center *center;
static tidings__segment *s;
static tidings_server *server;
static tidings_caller *caller;

static void begin(void) {
    center = fresh_center();
    s = &center->segment;
    CHECK_EQUAL(tidings_server_open(center, "s", 1, &server), 0);
    CHECK_EQUAL(tidings_caller_open(center, "s", 1, &caller), 0);
}

static void end(void) {
    tidings_caller_close(caller);
    tidings_server_close(server);
    tidings_close(center);
}

static uint64_t called(const void *payload, size_t size) {
    uint64_t id;
    CHECK_EQUAL(tidings_call(caller, payload, size, NULL, &id), 0);
    return id;
}

static int outcome_error(uint64_t id) {
    tidings_outcome outcome;
    CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), 0);
    return outcome.error;
}

static uint32_t chunks_used(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) count += s->chunk_words[i] != 0;
    return count;
}

static uint32_t calls_in(uint32_t state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++) count += call_state(s, i) == state;
    return count;
}

TEST(a_call_is_posted_with_its_words_and_a_record) {
    begin();
    const tidings_call_options options = {.format = 9, .flags = TIDINGS_CALL_IDEMPOTENT};
    uint64_t id;
    CHECK_EQUAL(tidings_call(caller, "text", 4, &options, &id), 0);
    const uint32_t index = tidings__ticket_index(id);
    const uint64_t word = s->calls[index].state;
    CHECK_EQUAL(tidings__call_state(word), TIDINGS__CALL_POSTED);
    CHECK_EQUAL(tidings__call_caller(word), center->participant);
    CHECK(word & TIDINGS__CALL_IDEMPOTENT);
    CHECK(!(word & TIDINGS__CALL_AGAIN));
    CHECK_EQUAL(id, tidings__ticket(index, word));
    CHECK_EQUAL(s->calls[index].request_text & 0xffffffffff, 4 | UINT64_C(9) << 32);
    CHECK_EQUAL(s->calls[index].request_chunk, 0);
    CHECK_EQUAL(records(center), 1);
    end();
}

TEST(a_cancelled_call_is_idle_and_its_chunk_is_free) {
    begin();
    static const uint8_t large[1000];
    const uint64_t id = called(large, sizeof large);
    CHECK_EQUAL(chunks_used(), 1);
    CHECK_EQUAL(tidings_call_cancel(caller, id), 0);
    CHECK_EQUAL(chunks_used(), 0);
    CHECK_EQUAL(call_state(s, tidings__ticket_index(id)), TIDINGS__CALL_IDLE);
    CHECK_EQUAL(tidings_call_cancel(caller, id), -ENOENT);
    CHECK_EQUAL(tidings_call_cancel(caller, 0), -ENOENT);
    CHECK_EQUAL(tidings_call_cancel(caller, UINT64_MAX), -ENOENT);
    end();
}

// Only a peer that does not keep the rules frees a call that is in flight.
TEST(a_call_in_flight_is_not_taken_again_though_a_peer_frees_it) {
    begin();
    const uint64_t first = called("text", 4);
    const uint32_t index = tidings__ticket_index(first);
    // Both ways to take a call: from the center, and from those that the caller keeps.
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        s->calls[i].state = tidings__call_anew(s->calls[i].state, i == index ? 0 : 7,
                                               i == index ? TIDINGS__CALL_FREE : TIDINGS__CALL_IDLE);
    const uint64_t second = called("text", 4);
    CHECK(tidings__ticket_index(second) != index);
    CHECK_EQUAL(tidings_call_cancel(caller, second), 0);
    const uint64_t kept = s->calls[tidings__ticket_index(second)].state;
    const uint64_t third = called("text", 4);
    CHECK_EQUAL(tidings__ticket_index(third), tidings__ticket_index(second));
    s->calls[tidings__ticket_index(third)].state = kept;
    const uint64_t fourth = called("text", 4);
    CHECK(tidings__ticket_index(fourth) != tidings__ticket_index(third));
    CHECK_EQUAL(outcome_error(first), -ECONNRESET);
    CHECK_EQUAL(outcome_error(third), -ECONNRESET);
    CHECK_EQUAL(tidings_call_cancel(caller, fourth), 0);
    end();
}

TEST(a_call_that_was_not_announced_is_taken_back) {
    begin();
    static const uint8_t large[1000];
    s->header->removed.word = 1;
    uint64_t id;
    CHECK_EQUAL(tidings_call(caller, large, sizeof large, NULL, &id), -ESTALE);
    CHECK_EQUAL(id, 0);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_POSTED), 0);
    CHECK_EQUAL(chunks_used(), 0);
    s->header->removed.word = 0;
    end();
}

TEST(the_outcome_of_each_end_of_a_call) {
    begin();
    const uint32_t states[] = {TIDINGS__CALL_ENDED, TIDINGS__CALL_UNSERVED,  TIDINGS__CALL_FREE,
                               TIDINGS__CALL_IDLE,  TIDINGS__CALL_CANCELLED, 15};
    const int errors[] = {-ECONNRESET, -ECONNREFUSED, -ECONNRESET, -ECONNRESET, -ECONNRESET, -ECONNRESET};
    for (int i = 0; i < 6; i++) {
        const uint64_t id = called("x", 1);
        _Atomic uint64_t *state = &s->calls[tidings__ticket_index(id)].state;
        tidings_outcome outcome;
        CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), -EAGAIN);
        *state = tidings__call_with(*state, 3, states[i]);
        CHECK_EQUAL(outcome_error(id), errors[i]);
        CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), -ENOENT);
    }
    end();
}

// Its own chunks and calls stay whole.
TEST(a_call_that_peers_have_taken_away_ends_and_leaks_no_chunk) {
    begin();
    static const uint8_t large[1000];
    const uint64_t id = called(large, sizeof large);
    tidings__call *call = &s->calls[tidings__ticket_index(id)];
    call->state = call_word(77, 3, 2, TIDINGS__CALL_CLAIMED);
    call->request_chunk = UINT64_MAX;
    CHECK_EQUAL(outcome_error(id), -ECONNRESET);
    CHECK_EQUAL(call->state, call_word(77, 3, 2, TIDINGS__CALL_CLAIMED));
    CHECK_EQUAL(chunks_used(), 0);
    call->state = call_word(78, 0, 0, TIDINGS__CALL_FREE);
    end();
}

TEST(a_call_of_a_generation_that_no_caller_makes_is_not_used) {
    begin();
    const uint64_t first = called("x", 1);
    CHECK_EQUAL(tidings__ticket_index(first), 0);
    CHECK_EQUAL(tidings_call_cancel(caller, first), 0);
    // It is kept for the next call.
    s->calls[0].state = call_word(0, center->participant, 0, TIDINGS__CALL_IDLE);
    const uint64_t second = called("x", 1);
    CHECK(second != 0);
    CHECK_EQUAL(tidings__ticket_index(second), 1);
    end();
}

// Peers took this participant for dead, and another caller has the call that this one keeps for its next call.
TEST(an_idle_call_that_another_caller_has_is_left_alone) {
    static const uint8_t large[1000];
    for (int full = 0; full < 2; full++) {
        begin();
        CHECK_EQUAL(tidings_call_cancel(caller, called("x", 1)), 0);
        tidings__call *call = &s->calls[0];
        const uint64_t other = call_word(77, 3, 2, TIDINGS__CALL_REPLIED);
        call->state = other;
        call->request_text = 4711;
        // With `full`, a request of this size finds no memory.
        for (uint32_t i = 0; full && i < s->geometry.chunk_count; i++)
            s->chunk_words[i] = tidings__chunk_word(0, 3, TIDINGS__CHUNK_OWNED);
        uint64_t id;
        CHECK_EQUAL(tidings_call(caller, large, full ? sizeof large : 1, NULL, &id), full ? -EAGAIN : 0);
        CHECK_EQUAL(call->state, other);
        CHECK_EQUAL(call->request_text, 4711);
        for (uint32_t i = 0; full && i < s->geometry.chunk_count; i++) s->chunk_words[i] = 0;
        call->state = call_word(78, 0, 0, TIDINGS__CALL_FREE);
        end();
    }
}

TEST(a_reply_of_hostile_words_is_a_damaged_one) {
    begin();
    const struct {
        uint64_t reply, chunk;
    } spoilt[] = {{193, 0},        {UINT32_MAX, 0}, {300, UINT64_MAX}, {300, s->geometry.chunk_count + 1},
                  {UINT32_MAX, 1}, {300, 1}};
    for (int i = 0; i < 6; i++) {
        const uint64_t id = called("x", 1);
        tidings__call *call = &s->calls[tidings__ticket_index(id)];
        call->reply_text = spoilt[i].reply;
        call->reply_chunk = spoilt[i].chunk;
        call->state = tidings__call_with(call->state, 3, TIDINGS__CALL_REPLIED);
        CHECK_EQUAL(outcome_error(id), -EBADMSG);
    }
    end();
}

TEST(servers_of_another_entry_of_the_name_receive_no_call) {
    begin();
    // As if the entry had been taken out and added anew: the caller knows the earlier generation.
    const uint64_t id = called("x", 1);
    CHECK_EQUAL(tidings_call_cancel(caller, id), 0);
    tidings__key key;
    tidings__key_make(&key, SERVICE, strlen(SERVICE), NULL, 0);
    const uint32_t entry = tidings__name_find(s, &key);
    s->names[entry].state += UINT64_C(1) << 20;
    uint64_t none;
    CHECK_EQUAL(tidings_call(caller, "x", 1, NULL, &none), -ECONNREFUSED);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_POSTED), 0);
    s->names[entry].state -= UINT64_C(1) << 20;
    end();
}

TEST(a_caller_that_peers_take_for_dead_makes_no_call) {
    begin();
    s->presence[center->participant].announcement++;
    uint64_t id;
    CHECK(tidings_call(caller, "x", 1, NULL, &id) != 0);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_POSTED), 0);
    s->presence[center->participant].announcement--;
    end();
}

TEST(a_call_that_peers_have_given_to_another_caller_stays_its_own) {
    begin();
    CHECK_EQUAL(tidings_call_cancel(caller, called("x", 1)), 0);
    // It was kept for the next call.
    s->calls[0].state = call_word(9, 3, 0, TIDINGS__CALL_IDLE);
    CHECK_EQUAL(tidings__ticket_index(called("x", 1)), 1);
    CHECK_EQUAL(s->calls[0].state, call_word(9, 3, 0, TIDINGS__CALL_IDLE));
    end();
}

TEST(a_caller_whose_process_exits_writes_no_request) {
    begin();
    static const uint8_t large[1000];
    uint64_t id;
    CHECK(tidings__calls_leave(center));
    CHECK_EQUAL(tidings_call(caller, large, sizeof large, NULL, &id), -ECONNREFUSED);
    // As if another process served it.
    s->observers[0].serves = s->observers[1].serves = 1;
    CHECK_EQUAL(tidings_call(caller, large, sizeof large, NULL, &id), -EBADF);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_IDLE), 0);
    CHECK_EQUAL(chunks_used(), 0);
    end();
}

TEST(calls_get_memory_in_steps_until_all_are_in_use) {
    begin();
    CHECK_EQUAL(s->header->calls_used.word, 0);
    for (uint32_t i = 0; i < s->geometry.call_count; i++) {
        (void)called("x", 1);
        CHECK_EQUAL(s->header->calls_used.word, i / 64 * 64 + 64);
    }
    uint64_t id;
    CHECK_EQUAL(tidings_call(caller, "x", 1, NULL, &id), -EUSERS);
    CHECK_SAYS(tidings_last_error(), "all its 1024 calls are in use");
    end();
}

TEST(a_number_of_calls_that_a_peer_lowers_hides_none_of_this_caller) {
    begin();
    const uint64_t first = called("x", 1);
    s->header->calls_used.word = 0;
    const uint64_t second = called("y", 1);
    CHECK(first != second);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_POSTED), 2);
    end();
}

TEST(a_caller_that_closes_keeps_no_call) {
    begin();
    for (uint32_t i = 0; i < 200; i++) (void)called("x", 1);
    for (uint32_t i = 0; i < 100; i++) {
        _Atomic uint64_t *state = &s->calls[i].state;
        *state = tidings__call_with(*state, 3, TIDINGS__CALL_ENDED);
        tidings_outcome outcome;
        CHECK_EQUAL(tidings_caller_next(caller, 0, 0, &outcome), 0);
    }
    tidings_caller_close(caller);
    CHECK_EQUAL(calls_in(TIDINGS__CALL_FREE), tidings__calls_end(s));
    tidings_caller_close(NULL);
    tidings_server_close(server);
    tidings_close(center);
}

TEST(a_wait_for_an_outcome_ends_at_its_time) {
    begin();
    const uint64_t id = called("x", 1);
    tidings_outcome outcome;
    CHECK_EQUAL(tidings_caller_next(caller, id, 1000, &outcome), -ETIMEDOUT);
    CHECK_EQUAL(tidings_caller_next(caller, 0, 0, &outcome), -EAGAIN);
    tidings_caller_interrupt(caller);
    CHECK_EQUAL(tidings_caller_next(caller, id, -1, &outcome), -EINTR);
    CHECK_EQUAL(tidings_caller_next(caller, id + 1, -1, &outcome), -ENOENT);
    // Without a call in flight: for those that are not made yet.
    CHECK_EQUAL(tidings_call_cancel(caller, id), 0);
    CHECK_EQUAL(tidings_caller_next(caller, id, -1, &outcome), -ENOENT);
    CHECK_EQUAL(tidings_caller_next(caller, 0, 0, &outcome), -EAGAIN);
    CHECK_EQUAL(tidings_caller_next(caller, 0, 1000, &outcome), -ETIMEDOUT);
    end();
}

// MARK: Parts

// A call that the server has.
static uint64_t received(uint8_t flags) {
    const tidings_call_options options = {.flags = flags};
    uint64_t id;
    tidings_request request;
    CHECK_EQUAL(tidings_call(caller, "x", 1, &options, &id), 0);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(request.id, id);
    return id;
}

static int sent(uint64_t id, const void *payload, size_t size, bool more) {
    const tidings_reply_options options = {.format = 9, .code = 7, .more = more};
    return tidings_reply(server, id, payload, size, &options);
}

static void taken(uint64_t id) {
    tidings_outcome outcome;
    CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), 0);
    CHECK_EQUAL(outcome.error, 0);
    CHECK(outcome.more);
}

static _Atomic uint64_t *state_of(uint64_t id) { return &s->calls[tidings__ticket_index(id)].state; }

TEST(a_part_is_taken_once_and_the_call_goes_on) {
    begin();
    const uint64_t id = received(0);
    CHECK_EQUAL(sent(id, "part", 4, true), 0);
    const uint64_t word = *state_of(id);
    CHECK_EQUAL(tidings__call_state(word), TIDINGS__CALL_CLAIMED);
    CHECK(word & TIDINGS__CALL_PART);
    tidings_outcome outcome;
    CHECK_EQUAL(tidings_caller_next(caller, 0, 0, &outcome), 0);
    CHECK_EQUAL(outcome.id, id);
    CHECK_EQUAL(outcome.error, 0);
    CHECK(outcome.more);
    CHECK_EQUAL(outcome.format, 9);
    CHECK_EQUAL(outcome.code, 7);
    CHECK_EQUAL(outcome.size, 4);
    CHECK(memcmp(outcome.payload, "part", 4) == 0);
    CHECK_EQUAL(*state_of(id), word);
    CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), -EAGAIN);
    CHECK_EQUAL(tidings_caller_next(caller, 0, 1000, &outcome), -ETIMEDOUT);
    end();
}

TEST(a_call_is_continued_once_for_each_part) {
    begin();
    const uint64_t id = received(0);
    CHECK_EQUAL(tidings_call_continue(caller, id), -EINVAL);
    CHECK_SAYS(tidings_last_error(), "no part of its reply was taken");
    CHECK_EQUAL(sent(id, "part", 4, true), 0);
    CHECK_EQUAL(tidings_call_continue(caller, id), -EINVAL);
    taken(id);
    const uint64_t before = records(center);
    CHECK_EQUAL(tidings_call_continue(caller, id), 0);
    CHECK_EQUAL(records(center), before + 1);
    CHECK(!(*state_of(id) & TIDINGS__CALL_PART));
    CHECK_EQUAL(tidings_call_continue(caller, id), -EINVAL);
    CHECK_EQUAL(tidings_call_continue(caller, id + 1), -ENOENT);
    CHECK_EQUAL(tidings_call_continue(caller, 0), -ENOENT);
    end();
}

// A lossless observer of another name that is a whole ring behind: posts fail until it closes.
static tidings_observer *held_back(void) {
    tidings_observer *observer;
    uint32_t subscription;
    CHECK_EQUAL(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer), 0);
    CHECK_EQUAL(tidings_observer_add(observer, "other", 5, NULL, 0, 0, &subscription), 0);
    tidings_publisher *publisher = opened_publisher(center, "other");
    int result;
    while ((result = tidings_post(publisher, "x", 1, NULL, NULL)) == 0) {}
    CHECK_EQUAL(result, -EAGAIN);
    tidings_publisher_close(publisher);
    return observer;
}

TEST(a_continuation_that_was_not_announced_can_be_announced_again) {
    begin();
    const uint64_t id = received(0);
    CHECK_EQUAL(sent(id, "part", 4, true), 0);
    taken(id);
    tidings_observer *observer = held_back();
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    CHECK_EQUAL(tidings_call_continue(caller, id), -EAGAIN);
    CHECK_EQUAL(tidings_call_continue(caller, id), -EAGAIN);
    CHECK(!(*state_of(id) & TIDINGS__CALL_PART));
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    CHECK_EQUAL(sent(id, "part", 4, true), -EBUSY);
    tidings_observer_close(observer);
    CHECK_EQUAL(tidings_call_continue(caller, id), 0);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
    CHECK_EQUAL(request.id, id);
    CHECK_EQUAL(tidings_call_continue(caller, id), -EINVAL);
    end();
}

TEST(the_chunk_of_a_part_is_free_before_the_server_may_go_on) {
    begin();
    static const uint8_t large[1000];
    const uint64_t id = received(0);
    for (int part = 0; part < 3; part++) {
        CHECK_EQUAL(sent(id, large, sizeof large, true), 0);
        CHECK_EQUAL(chunks_used(), 1);
        taken(id);
        CHECK_EQUAL(chunks_used(), 0);
        CHECK_EQUAL(tidings_call_continue(caller, id), 0);
        tidings_request request;
        CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
    }
    CHECK_EQUAL(sent(id, large, sizeof large, false), 0);
    CHECK_EQUAL(outcome_error(id), 0);
    CHECK_EQUAL(chunks_used(), 0);
    end();
}

// A participant that settles the server's calls leaves the chunk: the caller may be copying it.
TEST(the_chunk_of_a_part_of_a_call_that_has_ended_is_freed_with_the_call) {
    begin();
    static const uint8_t large[1000];
    for (int takes = 0; takes < 2; takes++) {
        const uint64_t id = received(0);
        CHECK_EQUAL(sent(id, large, sizeof large, true), 0);
        if (takes) taken(id);
        CHECK(tidings__call_give_up(s, tidings__ticket_index(id), *state_of(id)));
        CHECK_EQUAL(chunks_used(), !takes);
        CHECK_EQUAL(tidings_call_continue(caller, id), takes ? 0 : -EINVAL);
        CHECK_EQUAL(outcome_error(id), -ECONNRESET);
        CHECK_EQUAL(chunks_used(), 0);
        CHECK_EQUAL(tidings_call_continue(caller, id), -ENOENT);
    }
    end();
}

TEST(a_cancelled_call_with_a_part_is_its_servers) {
    begin();
    static const uint8_t large[1000];
    for (int takes = 0; takes < 2; takes++) {
        const uint64_t id = received(0);
        CHECK_EQUAL(sent(id, large, sizeof large, true), 0);
        const uint64_t word = *state_of(id);
        if (takes) taken(id);
        CHECK_EQUAL(tidings_call_cancel(caller, id), 0);
        CHECK_EQUAL(*state_of(id), tidings__call_with(word, center->participant, TIDINGS__CALL_CANCELLED));
        CHECK(!(*state_of(id) & TIDINGS__CALL_PART));
        tidings_request request;
        CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
        CHECK_EQUAL(request.id, id);
        CHECK_EQUAL(chunks_used(), 0);
        CHECK_EQUAL(calls_in(TIDINGS__CALL_FREE), tidings__calls_end(s));
    }
    end();
}

// The server may wait for nothing but this call. The guard tries again until it can post.
TEST(a_cancellation_that_was_not_announced_is_announced_later) {
    for (int closes = 0; closes < 2; closes++) {
        begin();
        const uint64_t id = received(0);
        CHECK_EQUAL(sent(id, "part", 4, true), 0);
        tidings_observer *observer = held_back();
        tidings_request request;
        CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
        if (closes) {
            tidings_caller_close(caller);
            caller = NULL;
        } else {
            CHECK_EQUAL(tidings_call_cancel(caller, id), 0);
        }
        CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
        tidings_observer_close(observer);
        CHECK_EQUAL(tidings_server_next(server, -1, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
        CHECK_EQUAL(request.id, id);
        end();
    }
}

TEST(after_its_first_part_a_call_is_not_idempotent) {
    begin();
    const uint64_t id = received(TIDINGS_CALL_IDEMPOTENT);
    CHECK(*state_of(id) & TIDINGS__CALL_IDEMPOTENT);
    CHECK_EQUAL(sent(id, "part", 4, true), 0);
    CHECK(!(*state_of(id) & TIDINGS__CALL_IDEMPOTENT));
    tidings_server_close(server);
    CHECK_EQUAL(call_state(s, tidings__ticket_index(id)), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(outcome_error(id), -ECONNRESET);
    server = NULL;
    end();
}

TEST(a_part_of_hostile_words_is_a_damaged_reply_and_ends_the_call) {
    begin();
    const struct {
        uint64_t reply, chunk;
    } spoilt[] = {{193, 0},        {UINT32_MAX, 0}, {300, UINT64_MAX}, {300, s->geometry.chunk_count + 1},
                  {UINT32_MAX, 1}, {300, 1}};
    for (int i = 0; i < 6; i++) {
        const uint64_t id = received(0);
        CHECK_EQUAL(sent(id, "part", 4, true), 0);
        tidings__call *call = &s->calls[tidings__ticket_index(id)];
        call->reply_text = spoilt[i].reply;
        call->reply_chunk = spoilt[i].chunk;
        tidings_outcome outcome;
        CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), 0);
        CHECK_EQUAL(outcome.error, -EBADMSG);
        CHECK(!outcome.more);
        CHECK_EQUAL(outcome.size, 0);
        CHECK_EQUAL(tidings_caller_next(caller, id, 0, &outcome), -ENOENT);
        tidings_request request;
        CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
    }
    end();
}

TEST(the_flag_of_a_part_means_nothing_in_another_state) {
    begin();
    const uint32_t states[] = {TIDINGS__CALL_ENDED, TIDINGS__CALL_UNSERVED,  TIDINGS__CALL_FREE,
                               TIDINGS__CALL_IDLE,  TIDINGS__CALL_CANCELLED, TIDINGS__CALL_POSTED};
    const int errors[] = {-ECONNRESET, -ECONNREFUSED, -ECONNRESET, -ECONNRESET, -ECONNRESET, -EAGAIN};
    for (int i = 0; i < 6; i++) {
        const uint64_t id = called("x", 1);
        *state_of(id) = tidings__call_with(*state_of(id), 3, states[i]) | TIDINGS__CALL_PART;
        tidings_outcome outcome;
        const int result = tidings_caller_next(caller, id, 0, &outcome);
        CHECK_EQUAL(result ? result : outcome.error, errors[i]);
        CHECK_EQUAL(tidings_call_continue(caller, id), result ? -EINVAL : -ENOENT);
        *state_of(id) &= ~TIDINGS__CALL_PART;
    }
    end();
}

// Else one whose server is always quick would keep the program from all others.
TEST(a_call_whose_part_was_taken_comes_after_the_others) {
    begin();
    uint64_t ids[3];
    for (int i = 0; i < 3; i++) ids[i] = received(0);
    for (int i = 0; i < 3; i++) CHECK_EQUAL(sent(ids[i], "part", 4, true), 0);
    for (int turn = 0; turn < 9; turn++) {
        const uint64_t id = ids[turn % 3];
        tidings_outcome outcome;
        CHECK_EQUAL(tidings_caller_next(caller, 0, 0, &outcome), 0);
        CHECK_EQUAL(outcome.id, id);
        CHECK(outcome.more);
        CHECK_EQUAL(tidings_call_continue(caller, id), 0);
        tidings_request request;
        CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
        CHECK_EQUAL(sent(id, "part", 4, true), 0);
    }
    end();
}
