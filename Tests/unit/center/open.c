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

TEST(a_center_without_a_name_is_refused) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings_open(NULL, NULL, &center), -EINVAL);
    CHECK(center == NULL);
}
