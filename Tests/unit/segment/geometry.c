#include "segment/geometry.h"

#include <errno.h>

#include "platform/error.h"
#include "unit.h"

TEST(a_configuration_of_zeros_asks_for_the_defaults) {
    tidings__shape shape, other;
    const tidings_configuration zeros = {0};
    CHECK_EQUAL(tidings__shape_from(NULL, &shape), 0);
    CHECK_EQUAL(tidings__shape_from(&zeros, &other), 0);
    CHECK_EQUAL(shape.slots, 4096);
    CHECK_EQUAL(other.slots, shape.slots);
    CHECK_EQUAL(other.maximum_payload, shape.maximum_payload);
    CHECK(tidings__shape_valid(&shape));
}

// Whether the line of error names the field.
static void refused(tidings_configuration configuration, const char *field) {
    tidings__shape shape;
    CHECK_EQUAL(tidings__shape_from(&configuration, &shape), -EINVAL);
    CHECK_SAYS(tidings__last_error(), field);
}

TEST(a_configuration_out_of_bounds_is_refused_with_its_field) {
    refused((tidings_configuration){.slots = 255}, "slots");
    refused((tidings_configuration){.slots = 300}, "power of two");
    refused((tidings_configuration){.participants = 1}, "participants");
    refused((tidings_configuration){.observers = TIDINGS__OBSERVERS_MAX + 1}, "observers");
    refused((tidings_configuration){.names = 63}, "names");
    refused((tidings_configuration){.maximum_payload = (UINT64_C(1) << 30) + 1}, "payload");
    refused((tidings_configuration){.mode = 0060}, "mode");
}

TEST(a_shape_with_one_field_out_of_bounds_is_not_valid) {
    tidings__shape good, bad;
    CHECK_EQUAL(tidings__shape_from(&unit_smallest, &good), 0);
    CHECK(tidings__shape_valid(&good));
    bad = good, bad.slots = 257;
    CHECK(!tidings__shape_valid(&bad));
    bad = good, bad.buckets = 0;
    CHECK(!tidings__shape_valid(&bad));
    bad = good, bad.names_first = good.names + 1;
    CHECK(!tidings__shape_valid(&bad));
    bad = good, bad.participants = UINT32_MAX;
    CHECK(!tidings__shape_valid(&bad));
}

TEST(the_parts_of_a_center_lie_one_after_the_other_on_pages) {
    tidings__shape shape;
    tidings__geometry g;
    CHECK_EQUAL(tidings__shape_from(&unit_smallest, &shape), 0);
    tidings__geometry_of(&shape, &g);
    const uint64_t starts[] = {g.participants, g.observers, g.buckets, g.chunk_words, g.cells, g.names, g.chunks};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        CHECK_EQUAL(starts[i] % TIDINGS__PAGE, 0);
        CHECK(starts[i] > (i ? starts[i - 1] : 0));
    }
    CHECK(g.names - g.cells >= shape.slots * sizeof(tidings__cell));
    CHECK(g.base_size >= g.names + shape.names_first * sizeof(tidings__name));
    CHECK(g.chunks >= g.names + shape.names * sizeof(tidings__name));
}

TEST(the_layout_is_that_of_version_1) {
    // Each offset and size that a later minor version may not change. If this fails, programs of 1.0 refuse the centers
    // of this build, and this build refuses theirs.
    const uint64_t layout[] = {
        offsetof(tidings__header, version),
        offsetof(tidings__header, layout_stamp),
        offsetof(tidings__header, file_size),
        offsetof(tidings__header, instance),
        offsetof(tidings__header, home_namespace),
        offsetof(tidings__header, writers_file),
        offsetof(tidings__header, birthplace),
        offsetof(tidings__header, required),
        offsetof(tidings__header, optional),
        offsetof(tidings__header, parts),
        offsetof(tidings__header, frontier_hint),
        offsetof(tidings__header, generation),
        offsetof(tidings__header, names_used),
        offsetof(tidings__header, names_backed),
        offsetof(tidings__header, removed),
        offsetof(tidings__header, waiting_posters),
        offsetof(tidings__header, name_futexes),
        offsetof(tidings__header, presence_used),
        offsetof(tidings__header, calls_used),
        offsetof(tidings__header, holds_used),
        offsetof(tidings__header, reserved),
        offsetof(tidings__cell, commit),
        offsetof(tidings__cell, verdict),
        offsetof(tidings__cell, size_pid),
        offsetof(tidings__cell, poster),
        offsetof(tidings__cell, route),
        offsetof(tidings__participant, executable),
        offsetof(tidings__participant, reserved),
        offsetof(tidings__presence_line, poke),
        offsetof(tidings__presence_line, replies),
        offsetof(tidings__presence_line, reserved),
        offsetof(tidings__presence, report),
        offsetof(tidings__presence, will),
        offsetof(tidings__presence, role),
        offsetof(tidings__presence, program),
        offsetof(tidings__presence, id),
        offsetof(tidings__observer_entry, owner),
        offsetof(tidings__observer_entry, cursor),
        offsetof(tidings__observer_entry, history),
        offsetof(tidings__observer_entry, serves),
        offsetof(tidings__observer_entry, progress),
        offsetof(tidings__name, state),
        offsetof(tidings__name, retained),
        offsetof(tidings__name, birth),
        offsetof(tidings__name, lengths),
        offsetof(tidings__name, wake_group),
        offsetof(tidings__holds, held),
        offsetof(tidings__holds, held_since),
        offsetof(tidings__call, name),
        offsetof(tidings__call, request_text),
        offsetof(tidings__call, reply_text),
        offsetof(tidings__call, made_at),
        offsetof(tidings__call_body, reply),
        tidings__layout_stamp(),
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof layout / sizeof layout[0]; i++) sum = sum * UINT64_C(1099511628211) + layout[i];
    CHECK_EQUAL(sum, UINT64_C(0x888fb33e6f072a64));
}

TEST(the_largest_payload_fits_the_last_class) {
    const uint64_t payloads[] = {1, 1000, 8 << 10, 16 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        tidings__shape shape;
        tidings__geometry g;
        CHECK_EQUAL(tidings__shape_from(&(tidings_configuration){.maximum_payload = payloads[i]}, &shape), 0);
        tidings__geometry_of(&shape, &g);
        CHECK(g.classes[g.class_count - 1].size >= payloads[i] + TIDINGS__CHUNK_OVERHEAD + 64);
        uint32_t chunks = 0;
        for (uint32_t c = 0; c < g.class_count; c++) {
            CHECK_EQUAL(g.classes[c].first, chunks);
            CHECK(c == 0 || g.classes[c].size > g.classes[c - 1].size);
            chunks += g.classes[c].count;
        }
        CHECK_EQUAL(g.chunk_count, chunks);
    }
}
