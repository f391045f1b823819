#include "ring/record.h"

#include "unit.h"

TEST(sizes_are_rounded_up_to_words_and_pairs_of_words) {
    CHECK_EQUAL(tidings__round8(0), 0);
    CHECK_EQUAL(tidings__round8(9), 16);
    CHECK_EQUAL(tidings__round16(16), 16);
    CHECK_EQUAL(tidings__round16(17), 32);
}

TEST(a_record_reads_each_field_of_the_header_words) {
    tidings__cell cell = {
        .time = 5, .size_pid = UINT64_C(7) << 32 | 6, .poster = UINT64_C(0x0908000a0000000b), .body[0] = 12};
    cell.route = tidings__route_word(0x111111, 0x222222, TIDINGS__RECORD_RETAIN | TIDINGS__RECORD_CHUNK, 0xfe);
    tidings__record r;
    tidings__record_read(&cell, &r);
    CHECK_EQUAL(r.time, 5);
    CHECK_EQUAL(r.size, 6);
    CHECK_EQUAL(r.pid, 7);
    CHECK_EQUAL(r.subject_length, 8);
    CHECK_EQUAL(r.name_length, 9);
    CHECK_EQUAL(r.participant, 10);
    CHECK_EQUAL(r.uid, 11);
    CHECK_EQUAL(r.chunk, 12);
    CHECK_EQUAL(r.name, 0x111111);
    CHECK_EQUAL(r.name_subject, 0x222222);
    CHECK_EQUAL(r.flags, TIDINGS__RECORD_RETAIN | TIDINGS__RECORD_CHUNK);
    CHECK_EQUAL(r.format, 0xfe);
}

TEST(a_body_of_every_size_is_read_as_it_was_written) {
    tidings__cell cell;
    uint8_t bytes[TIDINGS__BODY_SIZE], copy[TIDINGS__BODY_SIZE + 8];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + 1);
    // A read moves whole 16 bytes, up to the end of the body but for its odd last word.
    for (size_t size = 0; size <= TIDINGS__BODY_SIZE - 8; size++) {
        memset(copy, 0, sizeof copy);
        tidings__body_write(cell.body, bytes, size);
        tidings__body_read(cell.body, copy, size);
        CHECK(memcmp(copy, bytes, size) == 0);
    }
}

TEST(a_body_write_leaves_the_next_word_alone) {
    tidings__cell cell = {.body[3] = 99};
    const uint8_t bytes[24] = {1, 2, 3};
    for (size_t size = 0; size <= sizeof bytes; size++) tidings__body_write(cell.body, bytes, size);
    CHECK_EQUAL(cell.body[3], 99);
}
