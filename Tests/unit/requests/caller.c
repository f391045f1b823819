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
