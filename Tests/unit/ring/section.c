#include "ring/section.h"

#include <errno.h>

#include "platform/error.h"
#include "receiving/observing.h"

#define LATER (TIDINGS__RESERVED ? 16u : 0u)

static tidings_observer *o;
static tidings__segment *s;
static tidings_delivery d;
static tidings_publisher *publisher;

static tidings_post_options of(const tidings_section *sections, uint16_t count) {
    return (tidings_post_options){
        .flags = TIDINGS_POST_SECTIONS, .section_count = count, .sections = sections, .timeout_ns = -1};
}

static uint64_t size_of(const tidings_post_options options) {
    uint64_t size = 77;
    CHECK_EQUAL(tidings__sections_size(&options, &size), 0);
    return size;
}

TEST(an_area_has_8_bytes_and_for_each_section_8_and_its_bytes) {
    const tidings_section sections[] = {{"abc", 3, 1}, {NULL, 0, 2}, {"12345678", 8, 3}};
    CHECK_EQUAL(size_of(of(sections, 1)), 8 + 16 + LATER);
    CHECK_EQUAL(size_of(of(sections, 2)), 8 + 16 + 8 + LATER);
    CHECK_EQUAL(size_of(of(sections, 3)), 8 + 16 + 8 + 16 + LATER);
    // None is given.
    CHECK_EQUAL(size_of(of(sections, 0)), 0);
    CHECK_EQUAL(size_of((tidings_post_options){.section_count = 3, .sections = sections}), 0);
    uint64_t size = 77;
    CHECK_EQUAL(tidings__sections_size(NULL, &size), 0);
    CHECK_EQUAL(size, 0);
}

TEST(an_area_ends_where_its_first_word_says) {
    _Atomic uint64_t area[16];
    const tidings_section sections[] = {{"abc", 3, 1}, {"12345678", 8, 3}};
    for (size_t i = 0; i < 16; i++) tidings__set_relaxed(&area[i], 7);
    const tidings_post_options options = of(sections, 2);
    tidings__sections_write(area, &options);
    const uint64_t size = size_of(options);
    CHECK_EQUAL(tidings__sections_bytes(area[0]), size);
    CHECK_EQUAL(area[size / 8], 7);
    CHECK_EQUAL(tidings__sections_bytes(4), 0);
    CHECK_EQUAL(tidings__sections_bytes(TIDINGS_SECTIONS_MAX), 0);
    CHECK_EQUAL(tidings__sections_bytes(TIDINGS_SECTIONS_MAX - 8), TIDINGS_SECTIONS_MAX);
    CHECK_EQUAL(tidings__sections_bytes(UINT32_MAX), 0);
    CHECK_EQUAL(tidings__sections_bytes(UINT64_C(0xffffffff00000008)), 16);
}

static uint64_t section_word(uint64_t type, uint64_t size, uint64_t reserved) {
    return type | size << 16 | reserved << 48;
}

TEST(sections_of_unknown_types_are_passed_over) {
    const uint64_t words[] = {section_word(9, 9, 0xffff), 1, 2, section_word(2, 0, 0), section_word(1, 8, 7), 55,
                              section_word(1, 8, 0),      66};
    d = (tidings_delivery){.flags = TIDINGS_DELIVERY_SECTIONS, .sections = words, .sections_size = sizeof words};
    size_t size;
    CHECK(tidings_delivery_section(&d, 1, &size) == &words[5]);
    CHECK_EQUAL(size, 8);
    CHECK(tidings_delivery_section(&d, 2, &size) == &words[4]);
    CHECK_EQUAL(size, 0);
    CHECK(tidings_delivery_section(&d, 3, &size) == NULL);
    CHECK(tidings_delivery_section(&d, 0, &size) == NULL);
    d.flags = 0;
    CHECK(tidings_delivery_section(&d, 1, &size) == NULL);
}

TEST(a_section_that_says_it_is_longer_than_its_area_is_none) {
    uint64_t words[4] = {section_word(2, 8, 0), 1, 0, 0};
    const uint64_t lies[] = {9, 16, 100, UINT32_MAX, UINT32_MAX - 7};
    d = (tidings_delivery){.flags = TIDINGS_DELIVERY_SECTIONS, .sections = words, .sections_size = sizeof words};
    size_t size;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        words[2] = section_word(1, lies[i], 0);
        CHECK(tidings_delivery_section(&d, 1, &size) == NULL);
        CHECK_EQUAL(size, 0);
        CHECK(tidings_delivery_section(&d, 2, &size) == &words[1]);
    }
}

static void begin(void) {
    o = fresh_observer();
    s = &o->center->segment;
    added(o, NULL, 0);
    publisher = opened_publisher(o->center, "a");
}

// Posts `size` bytes with a section, and lets its first word say that the area has `bytes` after it.
static void post_with_a_lie(size_t size, uint64_t bytes) {
    static const char payload[5000];
    const tidings_section section = {"abcdefgh", 8, 1};
    const tidings_post_options options = of(&section, 1);
    uint64_t position, capacity;
    CHECK_EQUAL(tidings_post(publisher, payload, size, &options, &position), 0);
    tidings__record record;
    tidings__record_read(tidings__cell_at(s, position), &record);
    CHECK(record.flags & TIDINGS__RECORD_SECTIONS);
    uint64_t at = tidings__round8(size) + tidings__round8(record.name_length);
    if (record.flags & TIDINGS__RECORD_CHUNK) {
        uint8_t *chunk = tidings__chunk_bytes(s, record.chunk, &capacity);
        memcpy(chunk + TIDINGS__CHUNK_HEADER + at, &bytes, sizeof bytes);
    } else {
        tidings__set_relaxed(&tidings__cell_at(s, position)->body[at / 8], bytes);
    }
}

TEST(an_area_whose_length_does_not_fit_is_no_area) {
    begin();
    // In a cell, in a chunk, and at the end of a chunk of 1 KiB.
    const size_t sizes[] = {0, 100, 160, 500, 1024 - 64 - 8 - 24 - LATER};
    const uint64_t lies[] = {4, 1024, 2048, UINT32_MAX, UINT32_MAX - 7, UINT64_MAX, UINT64_MAX - 7};
    size_t size;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
            post_with_a_lie(sizes[i], lies[k]);
            CHECK_EQUAL(next_of(o, &d), 0);
            CHECK_EQUAL(d.kind, TIDINGS_DELIVERY_MESSAGE);
            CHECK_EQUAL(d.size, sizes[i]);
            CHECK(tidings_delivery_section(&d, 1, &size) == NULL);
        }
        post_with_a_lie(sizes[i], 16 + LATER);
        CHECK_EQUAL(next_of(o, &d), 0);
        CHECK(tidings_delivery_section(&d, 1, &size) != NULL);
        CHECK_EQUAL(size, 8);
    }
}

TEST(a_record_with_an_unknown_flag_is_delivered) {
    begin();
    CHECK_EQUAL(tidings_post(publisher, "x", 1, NULL, NULL), 0);
    _Atomic uint64_t *route = &tidings__cell_at(s, 0)->route;
    tidings__set_relaxed(route, tidings__relaxed(route) | (uint64_t)TIDINGS__RECORD_RESERVED << 24);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.flags, TIDINGS_DELIVERY_OWN);
    CHECK_EQUAL(*(const char *)d.payload, 'x');
}
