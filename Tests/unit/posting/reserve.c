#include "fresh.h"

#include "ring/record.h"
#include "ring/verdict.h"

static uint32_t state_of_chunk(const tidings__segment *s, const tidings_reservation *reservation) {
    return tidings__chunk_state(s->chunk_words[reservation->internal]);
}

TEST(a_reservation_owns_its_chunk_and_has_the_requested_capacity) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 601, &reservation), 0);
    CHECK_EQUAL(reservation.capacity, 608);
    CHECK(reservation.bytes == tidings__chunk_bytes(s, (uint32_t)reservation.internal, NULL) + TIDINGS__CHUNK_HEADER);
    CHECK_EQUAL(s->chunk_words[reservation.internal],
                tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED));
}

TEST(a_reservation_beyond_the_maximum_payload_is_refused) {
    tidings_center *center = fresh_center();
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, unit_smallest.maximum_payload + 1, &reservation), -EMSGSIZE);
    CHECK(reservation.bytes == NULL);
}

TEST(a_large_payload_is_posted_in_its_reserved_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 600, &reservation), 0);
    const uint32_t chunk = (uint32_t)reservation.internal;
    memset(reservation.bytes, 'x', 600);
    CHECK_EQUAL(tidings_post_reserved(opened_publisher(center, "name"), &reservation, 600, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&s->cells[0], &record);
    CHECK_EQUAL(record.chunk, chunk);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[chunk]), TIDINGS__CHUNK_IN_RING);
    CHECK(reservation.bytes == NULL);
}

TEST(a_small_payload_moves_into_the_slot_and_frees_its_reserved_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 600, &reservation), 0);
    memcpy(reservation.bytes, "small", 5);
    CHECK_EQUAL(tidings_post_reserved(opened_publisher(center, "name"), &reservation, 5, NULL, NULL), 0);
    CHECK(memcmp((const void *)s->cells[0].body, "small", 5) == 0);
    CHECK_EQUAL(state_of_chunk(s, &reservation), TIDINGS__CHUNK_FREE);
}

TEST(a_reservation_whose_chunk_another_participant_owns_is_not_posted) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 600, &reservation), 0);
    const uint64_t other = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 5, TIDINGS__CHUNK_OWNED);
    s->chunk_words[reservation.internal] = other;
    CHECK_EQUAL(tidings_post_reserved(opened_publisher(center, "name"), &reservation, 600, NULL, NULL), -EINVAL);
    CHECK_EQUAL(s->chunk_words[reservation.internal], other);
    CHECK_EQUAL(tidings__slot_status(s, 0), TIDINGS__UNDECIDED);
}

TEST(a_reservation_that_was_used_up_is_not_enlarged) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 600, &reservation), 0);
    tidings_reservation copy = reservation;
    tidings_abandon(center, &reservation);
    CHECK_EQUAL(tidings_reserve_more(center, &reservation, 0, 0), -EINVAL);
    CHECK_EQUAL(tidings_reserve_more(center, &reservation, 0, 700), -EINVAL);
    // Even if this participant owns the chunk again, for another reservation.
    s->chunk_words[reservation.internal] = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant,
                                                               TIDINGS__CHUNK_OWNED);
    CHECK_EQUAL(tidings_reserve_more(center, &reservation, 0, 0), -EINVAL);
    s->chunk_words[reservation.internal] = 0;
    // A copy of the struct still has the chunk's address.
    CHECK_EQUAL(tidings_reserve_more(center, &copy, 0, 100), -EINVAL);
    CHECK_EQUAL(tidings_reserve_more(center, &copy, 0, 700), -EINVAL);
    CHECK_EQUAL(state_of_chunk(s, &copy), TIDINGS__CHUNK_FREE);
}

TEST(a_reservation_keeps_its_bytes_and_never_shrinks) {
    tidings_center *center = fresh_center();
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 100, &reservation), 0);
    memcpy(reservation.bytes, "kept", 4);
    CHECK_EQUAL(tidings_reserve_more(center, &reservation, 4, 1000), 0);
    CHECK_EQUAL(reservation.capacity, 1000);
    CHECK(memcmp(reservation.bytes, "kept", 4) == 0);
    CHECK_EQUAL(tidings_reserve_more(center, &reservation, 4, 10), 0);
    CHECK_EQUAL(reservation.capacity, 1000);
}
