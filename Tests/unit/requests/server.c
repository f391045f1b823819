#include "../calls/by_hand.h"

static tidings_center *center;
static tidings__segment *s;
static tidings_server *server;
static tidings_publisher *publisher;
static uint64_t name;

// A server in a center with calls. Participants 1, 2 and 3 live.
static void begin(void) {
    center = center_with_calls();
    s = &center->segment;
    CHECK_EQUAL(tidings_server_open(center, "s", 1, &server), 0);
    publisher = opened_publisher(center, SERVICE);
    tidings__key key;
    uint64_t generation;
    tidings__key_make(&key, SERVICE, strlen(SERVICE), NULL, 0);
    const uint32_t entry = tidings__name_find_now(s, &key, &generation);
    name = tidings__call_name(entry, generation);
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
}

static void end(void) {
    tidings_server_close(server);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

static int next_after(uint64_t ticket, tidings_request *request) {
    CHECK_EQUAL(tidings_post(publisher, &ticket, sizeof ticket, NULL, NULL), 0);
    return tidings_server_next(server, 0, request);
}

TEST(the_call_of_a_ticket_is_claimed) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    s->calls[3].request_text = 4 | UINT64_C(9) << 32;
    s->calls[3].process = 4711 | UINT64_C(23) << 32;
    memcpy((void *)s->call_bodies[3].request, "text", 4);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    CHECK_EQUAL(s->calls[3].state, call_word(5, 1, 0, TIDINGS__CALL_CLAIMED));
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_NEW);
    CHECK_EQUAL(request.size, 4);
    CHECK(memcmp(request.payload, "text", 4) == 0);
    CHECK_EQUAL(request.format, 9);
    CHECK_EQUAL(request.pid, 4711);
    CHECK_EQUAL(request.uid, 23);
    CHECK_EQUAL(request.participant, 1);
    CHECK(!request.again && !request.own);
    CHECK_EQUAL(tidings_reply(server, request.id, "reply", 5, NULL), 0);
    CHECK_EQUAL(s->calls[3].state, call_word(5, 1, 0, TIDINGS__CALL_REPLIED));
    CHECK_EQUAL(tidings_reply(server, request.id, "reply", 5, NULL), -ECANCELED);
    end();
}

TEST(a_ticket_of_another_call_claims_nothing) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    const uint64_t tickets[] = {tidings__ticket(4, word),
                                tidings__ticket(16383, word),
                                tidings__ticket(100, word),
                                tidings__ticket(3, word + (UINT64_C(1) << 31)),
                                0,
                                UINT64_MAX - 1};
    for (int i = 0; i < 6; i++) {
        CHECK_EQUAL(next_after(tickets[i], &request), -EAGAIN);
        CHECK_EQUAL(s->calls[3].state, word);
    }
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_IDLE);
    end();
}

TEST(a_call_in_another_state_is_not_claimed) {
    begin();
    tidings_request request;
    for (uint32_t state = 0; state < 8; state++) {
        if (state == TIDINGS__CALL_POSTED) continue;
        const uint64_t word = put_call(s, 3, name, 1, 2, state);
        CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), -EAGAIN);
        CHECK_EQUAL(s->calls[3].state, word);
    }
    end();
}

TEST(a_call_of_another_name_is_not_claimed) {
    begin();
    tidings_request request;
    const uint64_t names[] = {0, name + 1, name + (UINT64_C(1) << 24), UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        const uint64_t word = put_call(s, 3, names[i], 1, 0, TIDINGS__CALL_POSTED);
        CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), -EAGAIN);
        CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), -EAGAIN);
        CHECK_EQUAL(s->calls[3].state, word);
    }
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_IDLE);
    end();
}

TEST(records_of_another_size_are_passed_by) {
    begin();
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(tidings_post(publisher, "", 0, NULL, NULL), 0);
    CHECK_EQUAL(tidings_post(publisher, "seven b", 7, NULL, NULL), 0);
    CHECK_EQUAL(tidings_post(publisher, "a longer record", 16, NULL, NULL), 0);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_POSTED);
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_IDLE);
    end();
}

TEST(a_search_finds_the_calls_of_the_name_in_the_order_in_which_they_were_made) {
    begin();
    const uint64_t made[] = {70, UINT64_MAX, 71, 9, 0x10000, 0x100};  // modulo 2^64
    for (uint32_t i = 0; i < 6; i++) {
        (void)put_call(s, 10 + i, name, 1, 0, TIDINGS__CALL_POSTED);
        s->calls[10 + i].made_at = made[i];
    }
    (void)put_call(s, 20, name + 1, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), 0);
    const uint32_t order[] = {11, 13, 10, 12, 15, 14};
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_EQUAL(tidings__ticket_index(request.id), order[i]);
        CHECK_EQUAL(tidings_server_next(server, 0, &request), i < 5 ? 0 : -EAGAIN);
    }
    (void)put_call(s, 20, name, 1, 0, TIDINGS__CALL_IDLE);
    end();
}

TEST(a_new_server_searches_first) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_server *second;
    CHECK_EQUAL(tidings_server_open(center, "s", 1, &second), 0);
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(second, 0, &request), 0);
    CHECK_EQUAL(request.id, tidings__ticket(3, word));
    tidings_server_close(second);
    end();
}

TEST(a_record_that_is_older_than_the_last_search_starts_none) {
    begin();
    const uint64_t ticket = TIDINGS__TICKET_SEARCH;
    for (int i = 0; i < 2; i++) CHECK_EQUAL(tidings_post(publisher, &ticket, sizeof ticket, NULL, NULL), 0);
    (void)put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    (void)put_call(s, 4, name, 1, 0, TIDINGS__CALL_POSTED);  // it was announced by no record
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), 0);
    end();
}

// A dead caller's call is cancelled without a ticket. A search that is made before its record is read finds no such
// call.
TEST(a_record_that_is_older_than_the_last_search_tells_of_cancelled_calls) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED), ticket = tidings__ticket(3, word);
    tidings_request request;
    CHECK_EQUAL(next_after(ticket, &request), 0);
    tidings_server_hold(server, true);
    const uint64_t other = put_call(s, 4, name, 2, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(4, other), &request), -EAGAIN);  // a search is owed
    s->calls[3].state = tidings__call_with(s->calls[3].state, 0, TIDINGS__CALL_CANCELLED);
    const uint64_t search = TIDINGS__TICKET_SEARCH;
    CHECK_EQUAL(tidings_post(publisher, &search, sizeof search, NULL, NULL), 0);
    tidings_server_hold(server, false);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(request.id, tidings__ticket(4, other));
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
    CHECK_EQUAL(request.id, ticket);
    end();
}

TEST(a_request_that_cannot_be_read_ends_also_if_it_is_idempotent) {
    begin();
    const struct {
        uint64_t request, chunk;
    } spoilt[] = {{UINT32_MAX, 0}, {300, 0}, {300, UINT64_MAX}, {300, s->geometry.chunk_count}, {UINT32_MAX, 1}};
    for (int i = 0; i < 5; i++) {
        const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED | TIDINGS__CALL_IDEMPOTENT);
        s->calls[3].request_text = spoilt[i].request;
        s->calls[3].request_chunk = spoilt[i].chunk;
        tidings_request request;
        CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), -EAGAIN);
        CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    }
    s->calls[3].request_chunk = 0;
    end();
}

// Peers may have freed the chunk, and another participant may have written to it.
TEST(a_request_in_a_chunk_of_a_dead_caller_is_not_delivered) {
    begin();
    const tidings_post_options none = {0};
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_post(publisher, large, sizeof large, &none, NULL), 0);  // gives chunks memory
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    uint32_t chunk = 0;
    while (s->chunk_words[chunk] == 0) chunk++;
    uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    s->calls[3].request_text = sizeof large;
    s->calls[3].request_chunk = chunk + 1;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    died(s, 1);
    word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), -EAGAIN);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    s->calls[3].request_chunk = 0;
    end();
}

TEST(a_cancelled_call_is_freed_by_its_server_and_told_once) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED), ticket = tidings__ticket(3, word);
    tidings_request request;
    CHECK_EQUAL(next_after(ticket, &request), 0);
    s->calls[3].state = tidings__call_with(s->calls[3].state, 0, TIDINGS__CALL_CANCELLED);
    CHECK_EQUAL(next_after(ticket, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
    CHECK_EQUAL(request.id, ticket);
    CHECK_EQUAL(s->calls[3].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
    CHECK_EQUAL(next_after(ticket, &request), -EAGAIN);
    CHECK_EQUAL(tidings_reply(server, ticket, "x", 1, NULL), -ECANCELED);
    end();
}

TEST(a_server_that_is_held_receives_cancellations_alone) {
    begin();
    tidings_request request;
    const uint64_t has = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(3, has), &request), 0);
    const uint64_t taken = request.id;
    tidings_server_hold(server, true);
    // Announced by a ticket and by a search; the later one was made first.
    const uint64_t late = put_call(s, 4, name, 1, 0, TIDINGS__CALL_POSTED);
    s->calls[4].made_at = 9;
    const uint64_t early = put_call(s, 5, name, 1, 0, TIDINGS__CALL_POSTED);
    s->calls[5].made_at = 8;
    CHECK_EQUAL(next_after(tidings__ticket(4, late), &request), -EAGAIN);
    CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), -EAGAIN);
    CHECK_EQUAL(s->calls[4].state, late);
    CHECK_EQUAL(s->calls[5].state, early);
    s->calls[3].state = call_word(5, 1, 0, TIDINGS__CALL_CANCELLED);
    CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
    CHECK_EQUAL(request.id, taken);
    tidings_server_hold(server, false);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(tidings__ticket_index(request.id), 5);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK_EQUAL(tidings__ticket_index(request.id), 4);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), -EAGAIN);
    end();
}

TEST(a_reply_to_a_cancelled_call_frees_the_call_and_its_chunk) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED), ticket = tidings__ticket(3, word);
    tidings_request request;
    CHECK_EQUAL(next_after(ticket, &request), 0);
    s->calls[3].state = tidings__call_with(s->calls[3].state, 0, TIDINGS__CALL_CANCELLED);
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_reply(server, ticket, large, sizeof large, NULL), -ECANCELED);
    CHECK_EQUAL(s->calls[3].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) CHECK_EQUAL(s->chunk_words[i], 0);
    end();
}

TEST(a_server_whose_process_exits_writes_no_reply) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED), ticket = tidings__ticket(3, word);
    tidings_request request;
    CHECK_EQUAL(next_after(ticket, &request), 0);
    const uint64_t claimed = s->calls[3].state;
    CHECK(tidings__calls_leave(center));
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_reply(server, ticket, large, sizeof large, NULL), -ECANCELED);
    CHECK_EQUAL(s->calls[3].state, claimed);
    CHECK_EQUAL(s->calls[3].reply_chunk, 0);
    end();
}

TEST(a_large_reply_lies_in_a_chunk_of_its_call) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_reply(server, request.id, large, sizeof large, NULL), 0);
    const uint64_t chunk = s->calls[3].reply_chunk;
    CHECK(chunk > 0 && chunk <= s->geometry.chunk_count);
    CHECK_EQUAL(s->chunk_words[chunk - 1], tidings__reply_word(3, s->calls[3].state));
    tidings__reply_free(s, 3, s->calls[3].state);
    CHECK_EQUAL(s->chunk_words[chunk - 1], 0);
    end();
}

TEST(a_reply_that_finds_no_chunk_leaves_the_request_to_a_shorter_one) {
    begin();
    // A call of this process: the reply that finds no chunk reclaims the participants 1, 2 and 3, which hold no locks.
    const uint64_t word = put_call(s, 3, name, center->participant, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    CHECK(request.own);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        s->chunk_words[i] = tidings__chunk_word(0, 0, TIDINGS__CHUNK_RETAINED);
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_reply(server, request.id, large, sizeof large, NULL), -EAGAIN);
    CHECK_EQUAL(tidings_reply(server, request.id, large, 192, NULL), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_REPLIED);
    end();
}

TEST(closing_a_server_gives_up_its_calls_and_ends_unclaimed_ones) {
    begin();
    tidings_request request;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t flags = i == 1 ? TIDINGS__CALL_IDEMPOTENT : 0;
        const uint64_t word = put_call(s, i, name, 1, 0, TIDINGS__CALL_POSTED | flags);
        if (i < 2) CHECK_EQUAL(next_after(tidings__ticket(i, word), &request), 0);
    }
    tidings_server_close(server);
    CHECK_EQUAL(call_state(s, 0), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(call_state(s, 1), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(call_state(s, 2), TIDINGS__CALL_UNSERVED);
    tidings_server_close(NULL);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

TEST(a_participant_that_peers_take_for_dead_claims_no_call) {
    begin();
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    died(s, 0);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), -EBADF);
    CHECK_EQUAL(s->calls[3].state, word);
    end();
}

// MARK: Parts

static const tidings_reply_options more = {.more = true};

// A call of participant 1 after its first part: a server had it.
static uint64_t call_after_part(uint32_t state) { return call_word(5, 1, 0, state) | TIDINGS__CALL_AGAIN; }

// Call `index` has a part that its caller, participant 1, has not taken.
static uint64_t part_sent(uint32_t index, size_t size) {
    static const uint8_t large[1000];
    const uint64_t word = put_call(s, index, name, 1, 0, TIDINGS__CALL_POSTED);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(index, word), &request), 0);
    CHECK_EQUAL(tidings_reply(server, request.id, large, size, &more), 0);
    CHECK_EQUAL(s->calls[index].state, call_after_part(TIDINGS__CALL_CLAIMED) | TIDINGS__CALL_PART);
    return request.id;
}

static uint32_t chunks_used(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) count += s->chunk_words[i] != 0;
    return count;
}

TEST(a_part_waits_in_a_claimed_call_and_wakes_its_caller) {
    begin();
    _Atomic uint32_t *lane = lane_of(s, 1, 2);
    *lane = 1;
    s->calls[3].request_text = UINT64_C(2) << 40;
    const uint64_t id = part_sent(3, 4);
    CHECK(*lane != 1);
    CHECK(!(*lane & 1));
    CHECK_EQUAL(tidings__call_size(s->calls[3].reply_text), 4);
    const uint64_t text = s->calls[3].reply_text;
    for (int last = 0; last < 2; last++)
        CHECK_EQUAL(tidings_reply(server, id, "another", 7, last ? NULL : &more), -EBUSY);
    CHECK_SAYS(tidings_last_error(), "has not taken the part before");
    CHECK_EQUAL(s->calls[3].reply_text, text);
    end();
}

TEST(a_continued_call_is_told_once) {
    begin();
    for (int by_ticket = 0; by_ticket < 2; by_ticket++) {
        const uint64_t id = part_sent(3, 4), record = by_ticket ? id : TIDINGS__TICKET_SEARCH;
        tidings_request request;
        CHECK_EQUAL(next_after(record, &request), -EAGAIN);
        s->calls[3].state &= ~TIDINGS__CALL_PART;
        // Not before the server was told.
        CHECK_EQUAL(tidings_reply(server, id, "part", 4, &more), -EBUSY);
        CHECK_EQUAL(next_after(record, &request), 0);
        CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
        CHECK_EQUAL(request.id, id);
        CHECK_EQUAL(request.size, 0);
        CHECK_EQUAL(next_after(record, &request), -EAGAIN);
        CHECK_EQUAL(tidings_reply(server, id, "part", 4, &more), 0);
        s->calls[3].state &= ~TIDINGS__CALL_PART;
        CHECK_EQUAL(next_after(record, &request), 0);
        CHECK_EQUAL(tidings_reply(server, id, "reply", 5, NULL), 0);
        CHECK_EQUAL(s->calls[3].state, call_after_part(TIDINGS__CALL_REPLIED));
        CHECK_EQUAL(next_after(record, &request), -EAGAIN);
    }
    end();
}

TEST(a_continued_call_is_told_to_the_server_that_has_it_alone) {
    begin();
    const uint64_t id = part_sent(3, 4);
    tidings_server *second;
    CHECK_EQUAL(tidings_server_open(center, "s", 1, &second), 0);
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(second, 0, &request), -EAGAIN);
    s->calls[3].state &= ~TIDINGS__CALL_PART;
    CHECK_EQUAL(tidings_post(publisher, &id, sizeof id, NULL, NULL), 0);
    CHECK_EQUAL(tidings_server_next(second, 0, &request), -EAGAIN);
    CHECK_EQUAL(next_after(TIDINGS__TICKET_SEARCH, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
    CHECK_EQUAL(tidings_server_next(second, 0, &request), -EAGAIN);
    CHECK_EQUAL(tidings_reply(second, id, "part", 4, &more), -ECANCELED);
    tidings_server_close(second);
    CHECK_EQUAL(s->calls[3].state, call_after_part(TIDINGS__CALL_CLAIMED));
    end();
}

TEST(a_server_that_is_held_is_told_of_continued_calls) {
    begin();
    const uint64_t id = part_sent(3, 4);
    tidings_server_hold(server, true);
    s->calls[3].state &= ~TIDINGS__CALL_PART;
    tidings_request request;
    CHECK_EQUAL(next_after(id, &request), 0);
    CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
    end();
}

TEST(a_cancelled_call_with_a_part_is_told_and_freed_once) {
    begin();
    for (int told = 0; told < 2; told++) {
        // The caller has taken the part, or not.
        for (int taken = 0; taken < 2; taken++) {
            const uint64_t id = part_sent(3, 1000);
            CHECK_EQUAL(chunks_used(), 1);
            if (taken) tidings__reply_free(s, 3, s->calls[3].state);
            s->calls[3].state = call_after_part(TIDINGS__CALL_CANCELLED);
            tidings_request request;
            if (told) {
                CHECK_EQUAL(next_after(id, &request), 0);
                CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CANCELLED);
            }
            CHECK_EQUAL(tidings_reply(server, id, "part", 4, &more), -ECANCELED);
            CHECK_EQUAL(s->calls[3].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
            CHECK_EQUAL(chunks_used(), 0);
            CHECK_EQUAL(next_after(id, &request), -EAGAIN);
        }
    }
    end();
}

TEST(a_part_of_a_cancelled_call_frees_the_call_and_its_chunk) {
    begin();
    static const uint8_t large[1000];
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED | TIDINGS__CALL_IDEMPOTENT);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    s->calls[3].state = call_word(5, 1, 0, TIDINGS__CALL_CANCELLED) | TIDINGS__CALL_IDEMPOTENT;
    CHECK_EQUAL(tidings_reply(server, request.id, large, sizeof large, &more), -ECANCELED);
    CHECK_EQUAL(s->calls[3].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
    CHECK_EQUAL(chunks_used(), 0);
    CHECK_EQUAL(tidings_reply(server, request.id, large, sizeof large, &more), -ECANCELED);
    end();
}

TEST(a_part_that_finds_no_chunk_leaves_the_call_as_it_was) {
    begin();
    // A call of this process: the reply that finds no chunk reclaims the participants 1, 2 and 3, which hold no locks.
    const uint32_t own = center->participant;
    const uint64_t word = put_call(s, 3, name, own, 0, TIDINGS__CALL_POSTED | TIDINGS__CALL_IDEMPOTENT);
    tidings_request request;
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++)
        s->chunk_words[i] = tidings__chunk_word(0, 0, TIDINGS__CHUNK_RETAINED);
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings_reply(server, request.id, large, sizeof large, &more), -EAGAIN);
    CHECK_EQUAL(s->calls[3].state, call_word(5, own, 0, TIDINGS__CALL_CLAIMED) | TIDINGS__CALL_IDEMPOTENT);
    CHECK_EQUAL(tidings_reply(server, request.id, large, 192, &more), 0);
    CHECK_EQUAL(s->calls[3].state,
                call_word(5, own, 0, TIDINGS__CALL_CLAIMED) | TIDINGS__CALL_AGAIN | TIDINGS__CALL_PART);
    end();
}

// The caller may have continued meanwhile, and the server has not been told.
TEST(closing_a_server_ends_calls_with_parts) {
    begin();
    (void)part_sent(3, 4);
    (void)part_sent(4, 1000);
    (void)part_sent(5, 4);
    s->calls[3].state &= ~TIDINGS__CALL_PART;
    s->calls[5].state = call_after_part(TIDINGS__CALL_CANCELLED);
    tidings_server_close(server);
    CHECK_EQUAL(s->calls[3].state, call_after_part(TIDINGS__CALL_ENDED));
    CHECK_EQUAL(s->calls[4].state, call_after_part(TIDINGS__CALL_ENDED));
    CHECK_EQUAL(s->calls[5].state, call_word(6, 0, 0, TIDINGS__CALL_FREE));
    // The caller may be copying it, and frees it with the call.
    CHECK_EQUAL(chunks_used(), 1);
    CHECK(tidings__call_free(s, 4, s->calls[4].state));
    CHECK_EQUAL(chunks_used(), 0);
    tidings_publisher_close(publisher);
    tidings_close(center);
}

// MARK: Waiting

TEST(a_wait_ends_at_its_time_though_records_of_others_go_on) {
    begin();
    const uint64_t ticket = 77;
    for (uint32_t i = 0; i < 100; i++) CHECK_EQUAL(tidings_post(publisher, &ticket, sizeof ticket, NULL, NULL), 0);
    tidings_request request;
    CHECK_EQUAL(tidings_server_next(server, 1, &request), -ETIMEDOUT);
    end();
}

TEST(a_request_ends_without_a_reply) {
    begin();
    tidings_request request;
    // As if the server had ended with it.
    uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    CHECK(!request.idempotent);
    CHECK_EQUAL(tidings_request_end(server, request.id, -EIO), -EINVAL);
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNRESET), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNRESET), -ECANCELED);
    // No server has received it.
    word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNREFUSED), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_UNSERVED);
    // After a part, a server has; also if its caller has continued, and the server knows that.
    for (int continued = 0; continued < 2; continued++) {
        const uint64_t id = part_sent(3, 4);
        if (continued) {
            s->calls[3].state &= ~TIDINGS__CALL_PART;
            CHECK_EQUAL(next_after(id, &request), 0);
            CHECK_EQUAL(request.kind, TIDINGS_REQUEST_CONTINUED);
        }
        CHECK_EQUAL(tidings_request_end(server, id, -ECONNREFUSED), 0);
        CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    }
    // Its caller has cancelled it.
    word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED);
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    s->calls[3].state = call_word(5, 1, 0, TIDINGS__CALL_CANCELLED);
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNRESET), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_FREE);
    end();
}

TEST(an_idempotent_request_that_ends_is_received_again) {
    begin();
    tidings_request request;
    const uint64_t word = put_call(s, 3, name, 1, 0, TIDINGS__CALL_POSTED | TIDINGS__CALL_IDEMPOTENT);
    CHECK_EQUAL(next_after(tidings__ticket(3, word), &request), 0);
    CHECK(request.idempotent && !request.again);
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNRESET), 0);
    CHECK_EQUAL(tidings_server_next(server, 0, &request), 0);
    CHECK(request.idempotent && request.again);
    // A server may have done the work the first time.
    CHECK_EQUAL(tidings_request_end(server, request.id, -ECONNREFUSED), 0);
    CHECK_EQUAL(call_state(s, 3), TIDINGS__CALL_ENDED);
    end();
}
