#include "receiving/copy.h"

#include "observing.h"

TEST(a_grown_buffer_has_room_and_little_more) {
    tidings_observer *o = fresh_observer();
    CHECK(tidings__buffer_grow(o, 100000));
    CHECK(o->capacity >= 100000);
    CHECK(o->capacity <= 100000 + 100000 / 8 + 4096);
    const uint8_t *before = o->buffer;
    CHECK(tidings__buffer_room(o, 100000));
    CHECK(o->buffer == before);
}

TEST(a_record_larger_than_its_slot_or_the_center_is_not_copied) {
    tidings_observer *o = fresh_observer();
    tidings__record r = {.size = TIDINGS__BODY_SIZE};
    CHECK(tidings__record_copy(o, 0, &r));
    r.size++;
    CHECK(!tidings__record_copy(o, 0, &r));
    r = (tidings__record){.size = 8, .name_length = TIDINGS__BODY_SIZE - 7};
    CHECK(!tidings__record_copy(o, 0, &r));
}

// A record at position 0 whose payload is in this chunk.
static tidings_observer *with_chunk(uint32_t chunk, uint64_t holder) {
    tidings_observer *o = fresh_observer();
    tidings__segment *s = &o->center->segment;
    CHECK_EQUAL(tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER + 8), 0);
    *(uint64_t *)(void *)(tidings__chunk_bytes(s, chunk, NULL) + TIDINGS__CHUNK_HEADER) = 0x1234;
    s->chunk_words[chunk] = tidings__chunk_word(holder, 0, TIDINGS__CHUNK_IN_RING);
    return o;
}

TEST(a_payload_in_a_chunk_is_copied_while_the_chunk_is_its_own) {
    tidings_observer *o = with_chunk(3, 0);
    const tidings__record r = {.size = 8, .flags = TIDINGS__RECORD_CHUNK, .chunk = 3};
    CHECK(tidings__record_copy(o, 0, &r));
    CHECK_EQUAL(*(uint64_t *)(void *)o->buffer, 0x1234);
    CHECK(!tidings__record_copy(o, 1, &r));
}

TEST(a_payload_larger_than_its_chunk_is_not_copied) {
    tidings_observer *o = with_chunk(0, 0);
    uint64_t capacity;
    CHECK(tidings__chunk_bytes(&o->center->segment, 0, &capacity) != NULL);
    const tidings__record r = {.size = 8, .flags = TIDINGS__RECORD_CHUNK, .chunk = 0};
    CHECK(tidings__chunk_copy(o, 0, &r, capacity - TIDINGS__CHUNK_HEADER, 0));
    CHECK(!tidings__chunk_copy(o, 0, &r, capacity - TIDINGS__CHUNK_HEADER + 8, 0));
}
