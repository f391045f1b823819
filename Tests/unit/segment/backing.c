#include <errno.h>

#include "platform/error.h"
#include "platform/file.h"
#include "unit.h"

TEST(chunks_of_a_class_lie_side_by_side) {
    tidings__segment *s = unit_segment();
    uint64_t capacity;
    uint8_t *first = tidings__chunk_bytes(s, 0, &capacity);
    CHECK(first == s->base + s->geometry.classes[0].offset);
    CHECK_EQUAL(capacity, s->geometry.classes[0].size);
    CHECK_EQUAL(tidings__chunk_bytes(s, 1, NULL) - first, capacity);
}

TEST(a_number_that_no_chunk_has_leads_to_no_memory) {
    tidings__segment *s = unit_segment();
    CHECK(!tidings__chunk_bytes(s, s->geometry.chunk_count, NULL));
    CHECK_EQUAL(tidings__back_chunk(s, s->geometry.chunk_count, 8), -EINVAL);
    CHECK_EQUAL(tidings__back_chunk(s, 0, s->geometry.classes[0].size + 1), -EINVAL);
}

TEST(a_chunk_gets_memory_when_it_is_backed) {
    tidings__segment *s = unit_segment();
    const uint64_t before = tidings__file_memory(s->fd);
    CHECK_EQUAL(tidings__back_chunk(s, 3, 100), 0);
    CHECK_EQUAL(tidings__file_memory(s->fd) - before, TIDINGS__PAGE);
    CHECK_EQUAL(s->chunk_backed[3], 1);
}

TEST(a_reader_without_write_access_reads_zeros_where_nothing_was_written) {
    tidings__segment *s = unit_segment();
    s->writable = false;
    CHECK_EQUAL(tidings__back_chunk(s, 3, 100), 0);
    CHECK_EQUAL(s->chunk_backed[3], 1);
    CHECK_EQUAL(tidings__chunk_bytes(s, 3, NULL)[99], 0);
}

TEST(names_get_memory_up_to_the_end_of_the_table) {
    tidings__segment *s = unit_segment();
    s->names_known = 8;
    s->header->names_backed.word = 8;
    CHECK_EQUAL(tidings__back_names(s, s->shape.names), 0);
    CHECK_EQUAL(s->names_known, s->shape.names);
    CHECK_EQUAL(s->header->names_backed.word, s->shape.names);
    CHECK_EQUAL(tidings__back_names(s, s->shape.names + 1), -ENOSPC);
    CHECK_SAYS(tidings__last_error(), "64 name entries");
}
