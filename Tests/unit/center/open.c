#include "fresh.h"

TEST(an_opened_center_has_joined_and_its_words_say_so) {
    tidings_center *center = fresh_center();
    const tidings__segment *s = &center->segment;
    CHECK_EQUAL(s->participants[center->participant].instance, center->instance);
    CHECK_EQUAL(center->instance & 1, 1);
    CHECK_EQUAL(center->poster >> 32, center->participant);
    CHECK(tidings__center_joined(center, tidings__thread_self()));
}

TEST(a_center_of_another_fork_epoch_is_joined_anew) {
    tidings_center *center = fresh_center();
    center->fork_epoch--;
    CHECK_EQUAL(tidings__center_check(center, tidings__thread_self()), 0);
    CHECK(tidings__center_joined(center, tidings__thread_self()));
    CHECK_EQUAL(center->segment.participants[center->participant].instance, center->instance);
}

TEST(a_process_whose_entry_another_one_has_taken_goes_no_further) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings__center_place(center), 0);
    center->segment.participants[center->participant].instance += 2;
    CHECK_EQUAL(tidings__center_place(center), -EBADF);
    CHECK_SAYS(tidings__last_error(), "took this process for dead");
}

TEST(closing_leaves_the_entry_and_frees_the_chunks_of_reservations) {
    tidings_configuration configuration = unit_smallest;
    configuration.directory = unit_directory();
    tidings_center *center = NULL, *peer = NULL;
    CHECK_EQUAL(tidings_open("unit", &configuration, &center), 0);
    CHECK_EQUAL(tidings_open("unit", &configuration, &peer), 0);
    const tidings__segment *s = &center->segment;
    const uint32_t participant = peer->participant;
    CHECK(participant != center->participant);
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(peer, 600, &reservation), 0);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[reservation.internal]), TIDINGS__CHUNK_OWNED);
    tidings_close(peer);
    CHECK_EQUAL(s->chunk_words[reservation.internal], 0);
    CHECK_EQUAL(s->participants[participant].instance, 0);
}

static tidings_observer *observer;
static tidings_server *server;
static tidings_caller *caller;

static void *observes(void *result) {
    tidings_delivery delivery;
    *(int *)result = tidings_next(observer, -1, &delivery);
    return NULL;
}

static void *serves(void *result) {
    tidings_request request;
    *(int *)result = tidings_server_next(server, -1, &request);
    return NULL;
}

static void *calls(void *result) {
    tidings_outcome outcome;
    uint64_t id;
    *(int *)result = tidings_call(caller, "x", 1, NULL, &id);
    if (*(int *)result == 0) *(int *)result = tidings_caller_next(caller, id, -1, &outcome);
    return NULL;
}

// As `tidings_close` asks of its caller. The address sanitizer finds a thread that uses the handle afterwards.
TEST(a_handle_is_closed_after_its_waiting_threads_were_interrupted) {
    tidings_center *center = fresh_center();
    uint32_t subscription;
    CHECK_EQUAL(tidings_observer_open(center, 0, &observer), 0);
    CHECK_EQUAL(tidings_observer_add(observer, "n", 1, NULL, 0, 0, &subscription), 0);
    // No thread receives the requests of "s".
    tidings_server *busy;
    CHECK_EQUAL(tidings_server_open(center, "s", 1, &busy), 0);
    CHECK_EQUAL(tidings_server_open(center, "t", 1, &server), 0);
    CHECK_EQUAL(tidings_caller_open(center, "s", 1, &caller), 0);
    void *(*const bodies[])(void *) = {observes, serves, calls};
    pthread_t threads[3];
    int results[3];
    for (int i = 0; i < 3; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, bodies[i], &results[i]), 0);
    tidings_observer_interrupt(observer);
    tidings_server_interrupt(server);
    tidings_caller_interrupt(caller);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
        CHECK_EQUAL(results[i], -EINTR);
    }
    tidings_observer_close(observer);
    tidings_server_close(server);
    tidings_server_close(busy);
    tidings_caller_close(caller);
    tidings_close(center);
}

TEST(a_center_without_a_name_is_refused) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_open(NULL, NULL, &center), -EINVAL);
    CHECK(center == NULL);
}
