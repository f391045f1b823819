// Sections of a notification arrive with it, in every way in which it can arrive.
#include "foreign.h"
#include "receiving/observer.h"

static const char traceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate[] = "a=1,b=2";
static char baggage[256];
static uint8_t bytes[70000];

static tidings_post_options with(uint8_t flags, uint16_t count, const tidings_section *sections) {
    return (tidings_post_options){.flags = flags | TIDINGS_POST_SECTIONS,
                                  .format = TIDINGS_FORMAT_TEXT,
                                  .section_count = count,
                                  .sections = sections};
}

// The first `count` of three.
static tidings_post_options with_some(uint8_t flags, uint16_t count) {
    static tidings_section sections[3];
    memset(baggage, 'b', sizeof baggage);
    sections[0] = (tidings_section){traceparent, strlen(traceparent), TIDINGS_SECTION_TRACEPARENT};
    sections[1] = (tidings_section){baggage, sizeof baggage, TIDINGS_SECTION_BAGGAGE};
    sections[2] = (tidings_section){tracestate, strlen(tracestate), TIDINGS_SECTION_TRACESTATE};
    return with(flags, count, sections);
}

static void has(const tidings_delivery *d, uint16_t type, const void *of, size_t size) {
    size_t found = 7;
    const void *section = tidings_delivery_section(d, type, &found);
    CHECK(of ? section && found == size && memcmp(section, of, size) == 0 : !section && found == 0,
          "type %u: %zu bytes, not %zu, or others", type, found, size);
    CHECK((uintptr_t)section % 8 == 0, "a section at %p", section);
}

static void has_some(const tidings_delivery *d, uint16_t count) {
    CHECK(!(d->flags & TIDINGS_DELIVERY_SECTIONS) == (count == 0), "flags %u", d->flags);
    has(d, TIDINGS_SECTION_TRACEPARENT, count > 0 ? traceparent : NULL, strlen(traceparent));
    has(d, TIDINGS_SECTION_BAGGAGE, count > 1 ? baggage : NULL, sizeof baggage);
    has(d, TIDINGS_SECTION_TRACESTATE, count > 2 ? tracestate : NULL, strlen(tracestate));
    has(d, 99, NULL, 0);
}

static void *lent(void *context, size_t size) {
    (void)context;
    static _Alignas(16) uint8_t memory[80000];
    return size <= sizeof memory ? memory : NULL;
}

static bool bare(const tidings_observer *o) { return o->flags & TIDINGS_OBSERVE_BARE; }

// `flags`: those of a retained value, or 0.
static void arrives_as(uint32_t flags, tidings_observer *o, size_t size, uint16_t count) {
    const tidings_delivery d = receive(o);
    CHECK((d.flags & (TIDINGS_DELIVERY_RETAINED | TIDINGS_DELIVERY_STATE)) == flags, "flags %u", d.flags);
    CHECK(d.size == size && (bare(o) || memcmp(d.payload, bytes, size) == 0), "%zu bytes came as %zu, or damaged", size,
          d.size);
    CHECK(d.format == TIDINGS_FORMAT_TEXT || count == 0, "format %u", d.format);
    has_some(&d, bare(o) ? 0 : count);
}

static void arrives(tidings_observer *o, size_t size, uint16_t count) { arrives_as(0, o, size, count); }

static const size_t sizes[] = {0, 1, 8, 64, 128, 136, 137, 200, 201, 700, 1024, 4000, 8000, 60000, 65535, 65536};
#define SIZES (sizeof sizes / sizeof sizes[0])

void sections_arrive_however_a_notification_is_received(void) {
    tidings_center *center =
        join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 65536, .mode = 0644});
    random_bytes(bytes, sizeof bytes);
    tidings_center *reading;
    OK(tidings_open("scenario", &(tidings_configuration){.flags = TIDINGS_OPEN_READ_ONLY}, &reading));
    keep(reading);
    tidings_observer *observers[] = {observer_of(center, NAME),
                                     observer_of(center, NULL),
                                     observer_with(center, NAME, TIDINGS_OBSERVE_BARE, 0),
                                     observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0),
                                     observer_of(center, NAME),
                                     observer_of(center, NULL),
                                     observer_of(reading, NAME)};
    OK(tidings_observer_lend(observers[4], TIDINGS_LEND_MIN, lent, NULL));
    tidings_observer_in_place(observers[5], 0);
    tidings_publisher *publishers[] = {publisher_of(center, NAME), publisher_with(center, NAME, "a subject")};
    for (size_t i = 0; i < SIZES * 8; i++) {
        const size_t size = sizes[i / 8];
        const uint16_t count = i % 4;
        tidings_publisher *publisher = publishers[i / 4 % 2];
        const tidings_post_options options = with_some(0, count);
        if (i % 3 == 0) {
            tidings_reservation reservation;
            OK(tidings_reserve(center, size, &reservation));
            memcpy(reservation.bytes, bytes, size);
            OK(tidings_post_reserved(publisher, &reservation, size, &options, NULL));
        } else {
            OK(tidings_post(publisher, bytes, size, &options, NULL));
        }
        for (size_t k = 0; k < sizeof observers / sizeof observers[0]; k++) arrives(observers[k], size, count);
        // As history, and together with others.
        tidings_observer *late = observer_of_nothing(center);
        uint32_t id;
        OK(tidings_observer_seek(late, statistics_of(center).posted - 1));
        OK(tidings_observer_add(late, NAME, strlen(NAME), NULL, 0, TIDINGS_ADD_HISTORY, &id));
        arrives(late, size, count);
        OK(tidings_post(publisher, bytes, size, &options, NULL));
        OK(tidings_post(publishers[0], bytes, 8, NULL, NULL));
        tidings_delivery two[2];
        int came = 0;
        for (int result; came < 2 && (result = tidings_next_many(late, 0, two + came, (size_t)(2 - came))) > 0;) {
            for (int k = came; k < came + result; k++) has_some(&two[k], k == 0 ? count : 0);
            came += result;
        }
        CHECK(came == 2, "%d came", came);
        tidings_observer_close(late);
        for (size_t k = 0; k < sizeof observers / sizeof observers[0]; k++) {
            arrives(observers[k], size, count);
            arrives(observers[k], 8, 0);
        }
    }
}

void a_retained_value_keeps_its_sections(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 65536});
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "another");
    tidings_observer *observer = observer_of(center, NAME);
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < SIZES * 8; i++) {
        const uint16_t count = i % 4;
        const size_t size = sizes[i / 8];
        const tidings_post_options options = with_some(TIDINGS_POST_RETAIN, count);
        uint64_t set, clear;
        OK(tidings_state_set(publisher, bytes, size, &options, &set));
        arrives_as(TIDINGS_DELIVERY_STATE, observer, size, count);
        // In the ring, or evicted.
        for (uint32_t n = 0; i / 4 % 2 && n < 300; n++) post_number(other, n);
        tidings_observer *late = observer_of_nothing(center);
        uint32_t id;
        OK(tidings_observer_add(late, NAME, strlen(NAME), NULL, 0, TIDINGS_ADD_RETAINED, &id));
        if (i % 5 == 0) tidings_observer_in_place(late, 0);
        arrives_as(TIDINGS_DELIVERY_RETAINED | TIDINGS_DELIVERY_STATE, late, size, count);
        static uint8_t value[sizeof bytes];
        size_t length = sizeof value;
        OK(tidings_state_get(publisher, value, &length, NULL, NULL));
        CHECK(length == size && memcmp(value, bytes, size) == 0, "the state of %zu bytes has %zu", size, length);
        // Clearing says whose trace it belongs to, too.
        OK(tidings_state_set(publisher, NULL, 0, &options, &clear));
        CHECK(receive(observer).sequence == clear && clear > set, "it tells %llu", (unsigned long long)clear);
        const tidings_delivery cleared = receive(late);
        const uint32_t flags = TIDINGS_DELIVERY_CLEARED | TIDINGS_DELIVERY_STATE;
        CHECK((cleared.flags & flags) == flags, "flags %u", cleared.flags);
        has_some(&cleared, count);
        CHECK(tidings_state_get(publisher, value, &length, NULL, NULL) == -ENOENT, "there is a value");
        tidings_observer_close(late);
    }
}

void sections_that_cannot_be_are_refused(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NULL);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static const char text[1024];
    const size_t most = TIDINGS_SECTIONS_MAX - 16 - (TIDINGS__RESERVED ? 16 : 0);
    for (int large = 0; large < 2; large++) {
        const size_t size = large ? 5000 : 8;
        for (uint32_t type = 0; type < 300; type += type < 6 ? 1 : 50) {
            const tidings_section section = {"x", 1, (uint16_t)type};
            const tidings_post_options options = with(0, 1, &section);
            if (type >= TIDINGS_SECTION_TRACEPARENT && type <= TIDINGS_SECTION_ORIGIN) continue;
            REFUSED(tidings_post(publisher, bytes, size, &options, NULL), EINVAL, "can't post a section of type");
        }
        tidings_section section = {text, most, TIDINGS_SECTION_BAGGAGE}, two[2] = {section, {text, 0, 1}};
        const tidings_post_options one = with(0, 1, &section), both = with(0, 2, two);
        OK(tidings_post(publisher, bytes, size, &one, NULL));
        const tidings_delivery d = receive(observer);
        has(&d, TIDINGS_SECTION_BAGGAGE, text, most);
        REFUSED(tidings_post(publisher, bytes, size, &both, NULL), EMSGSIZE, "more than 1024 bytes");
        const size_t sizes_of[] = {most + 1, 100000, SIZE_MAX, SIZE_MAX - 8};
        for (int i = 0; i < 4; i++) {
            section.size = sizes_of[i];
            REFUSED(tidings_post(publisher, bytes, size, &one, NULL), EMSGSIZE, "more than 1024 bytes");
            tidings_reservation reservation;
            OK(tidings_reserve(center, size, &reservation));
            REFUSED(tidings_post_reserved(publisher, &reservation, size, &one, NULL), EMSGSIZE, "more than");
            CHECK(!reservation.bytes, "a reservation is left");
        }
    }
    CHECK(drain(observer).received == 0, "what was refused was posted");
}

// Every chunk has a retained value: a payload in a slot, and the end of a value, go without their sections; or they do
// not go, if the sections are required.
void sections_make_no_post_fail_for_lack_of_memory(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 1});
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_reservation reservations[2];
    for (int i = 0; i < 2; i++) OK(tidings_reserve(center, 1, &reservations[i]));
    char name[16];
    int result = 0;
    for (uint32_t n = 0; result == 0; n++) {
        snprintf(name, sizeof name, "n%u", n);
        result = tidings_state_set(publisher_of(center, name), "x", 1, NULL, NULL);
    }
    CHECK(result == -EAGAIN, "it answers %d", result);
    // Too large for the chunk of a reservation.
    static const char text[1024];
    const tidings_section section = {text, TIDINGS_SECTIONS_MAX - 16 - (TIDINGS__RESERVED ? 16 : 0),
                                     TIDINGS_SECTION_BAGGAGE};
    for (int i = 0; i < 2; i++) {
        const tidings_post_options options = with(i ? TIDINGS_POST_SECTIONS_REQUIRED : 0, 1, &section);
        result = tidings_post_reserved(publisher, &reservations[i], 1, &options, NULL);
        CHECK(result == (i ? -EAGAIN : 0) && !reservations[i].bytes, "a reservation answers %d", result);
        CHECK(drain(observer).received == (i ? 0 : 1), "what was refused was posted");
    }
    // The two chunks can be used again: that of the notification is evicted.
    for (uint32_t n = 0; n < 2; n++) OK(tidings_state_set(publisher_of(center, n ? "m1" : "m0"), "x", 1, NULL, NULL));
    for (uint16_t count = 0; count < 4; count++) {
        const tidings_post_options options = with_some(TIDINGS_POST_SECTIONS_REQUIRED, count);
        result = tidings_post(publisher, "x", 1, &options, NULL);
        CHECK(result == (count < 2 ? 0 : -EAGAIN), "with required sections it answers %d", result);
        if (count < 2) {
            const tidings_delivery d = receive(observer);
            has_some(&d, count);
        }
        CHECK(drain(observer).received == 0, "what was refused was posted");
    }
    for (uint16_t count = 0; count < 4; count++) {
        const tidings_post_options options = with_some(0, count);
        OK(tidings_post(publisher, "x", 1, &options, NULL));
        const tidings_delivery d = receive(observer);
        CHECK(d.size == 1, "%zu bytes", d.size);
        has_some(&d, count == 1 ? 1 : 0);
        const tidings_post_options retained = with_some(TIDINGS_POST_RETAIN, count);
        snprintf(name, sizeof name, "n%u", count);
        OK(tidings_state_set(publisher_of(center, name), NULL, 0, &retained, NULL));
    }
}

void a_delivery_with_sections_can_be_held_and_detached(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 65536});
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    random_bytes(bytes, sizeof bytes);
    const tidings_post_options options = with_some(0, 3);
    for (size_t i = 0; i < 2 * SIZES; i++) {
        const size_t size = sizes[i / 2];
        tidings_observer_in_place(observer, i % 2 ? 0 : SIZE_MAX);
        OK(tidings_post(publisher, bytes, size, &options, NULL));
        OK(tidings_post(publisher, bytes, 8, NULL, NULL));
        tidings_delivery d = receive(observer);
        void *memory = NULL;
        if (!(d.flags & TIDINGS_DELIVERY_IN_PLACE)) OK(tidings_observer_detach(observer, &d, 1, &memory));
        if (memory) memset(memory, 0, size);
        free(memory);
        has_some(&d, 3);
        tidings_held held;
        OK(tidings_hold(observer, &d, &held));
        arrives(observer, 8, 0);
        CHECK(held.size == size && memcmp(held.payload, bytes, size) == 0, "%zu bytes are held as others", size);
        tidings_release(&held);
    }
}

static void lies_in(tidings_center *center, uint64_t position, uint64_t word, uint64_t lie) {
    tidings__segment *s = &center->segment;
    tidings__record record;
    tidings__record_read(tidings__cell_at(s, position), &record);
    const uint64_t at = tidings__round8(record.size) + tidings__round8(record.name_length) + 8 * word;
    uint64_t capacity;
    if (record.flags & TIDINGS__RECORD_CHUNK)
        memcpy(tidings__chunk_bytes(s, record.chunk, &capacity) + TIDINGS__CHUNK_HEADER + at, &lie, sizeof lie);
    else
        tidings__set_relaxed(&tidings__cell_at(s, position)->body[at / 8], lie);
}

// Of the area, or of a section: in a cell, in a chunk, and at the end of a chunk.
void sections_whose_lengths_lie_are_none(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 65536});
    tidings_observer *observer = observer_of(center, NULL);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const size_t most[] = {0, 100, 700, 1024 - 64 - 24 - 72, 8192 - 64 - 24 - 72, 65536};
    const uint64_t lies[] = {9, 120, 1000, 1016, 1024, 4096, UINT32_MAX - 7, UINT32_MAX};
    const tidings_post_options options = with_some(0, 1);
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++) {
        for (size_t k = 0; k < 2 * sizeof lies / sizeof lies[0]; k++) {
            const uint64_t lie = lies[k / 2];
            uint64_t position;
            OK(tidings_post(publisher, bytes, most[i], &options, &position));
            if (k % 2)
                lies_in(center, position, TIDINGS__RESERVED ? 3 : 1, TIDINGS_SECTION_TRACEPARENT | lie << 16);
            else
                lies_in(center, position, 0, lie);
            const tidings_delivery d = receive(observer);
            CHECK(d.size == most[i], "%zu bytes", d.size);
            size_t size;
            const uint8_t *section = tidings_delivery_section(&d, TIDINGS_SECTION_TRACEPARENT, &size);
            // A lie within what was copied is none that can be noticed.
            CHECK(!section || size == strlen(traceparent) || size == 9, "a section of %zu bytes", size);
            CHECK(!(d.flags & TIDINGS_DELIVERY_SECTIONS) || most[i] > 200 || d.sections_size <= 200, "%zu bytes",
                  d.sections_size);
            uint8_t sum = 0;
            for (size_t n = 0; n < size; n++) sum ^= section[n];
            if (d.flags & TIDINGS_DELIVERY_SECTIONS)
                for (size_t n = 0; n < d.sections_size; n++) sum ^= ((const uint8_t *)d.sections)[n];
            CHECK(size == 0 || section[0] == '0', "it begins with %u (%u)", section[0], sum);
        }
    }
}
