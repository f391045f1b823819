// What is posted is what arrives: every size, every field, from every place in the order.
#include <time.h>

#include "foreign.h"
#include "receiving/observer.h"

#define MOST (16u << 20)

static void arrives(tidings_observer *observer, const void *bytes, size_t size, uint64_t sequence) {
    const tidings_delivery delivery = receive(observer);
    CHECK(delivery.size == size && memcmp(delivery.payload, bytes, size) == 0, "%zu bytes came as %zu, or damaged",
          size, delivery.size);
    CHECK((uintptr_t)delivery.payload % 16 == 0, "%zu bytes came at %p", size, delivery.payload);
    CHECK(delivery.sequence == sequence, "sequence %lu, posted as %lu", (unsigned long)delivery.sequence,
          (unsigned long)sequence);
}

void payloads_of_every_size_arrive_whole(void) {
    tidings_center *center = join_center(512);
    tidings_publisher *publishers[2] = {publisher_of(center, NAME),
                                        publisher_with(center, "unobserved", "with a subject")};
    tidings_observer *of_name = observer_of(center, NAME), *of_all = observer_of(center, NULL);
    uint8_t *bytes = malloc(MOST);
    for (size_t i = 0; i < MOST; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 9));
    const size_t large[] = {1023,  1024,  1025,   4096,    8176,    8192,     8193,
                            65535, 65536, 500000, 1 << 20, 5 << 20, MOST - 1, MOST};
    for (size_t i = 0; i < 450 + sizeof large / sizeof large[0]; i++) {
        const size_t size = i < 450 ? i : large[i - 450];
        for (int which = 0; which < 2; which++) {
            uint64_t sequence;
            OK(tidings_post(publishers[which], bytes, size, NULL, &sequence));
            if (which == 0) arrives(of_name, bytes, size, sequence);
            arrives(of_all, bytes, size, sequence);
        }
    }
    CHECK(drain(of_name).received == 0 && drain(of_all).received == 0, "more than was posted");
    free(bytes);
}

static void posts_with_everything(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_with(center, NAME, "subject");
    OK(tidings_post(publisher, "payload", 7, &(tidings_post_options){.format = TIDINGS_FORMAT_JSON}, NULL));
    tidings_observer *own = observer_with(center, NAME, 0, TIDINGS_ADD_HISTORY);
    const tidings_delivery delivery = receive(own);
    CHECK(delivery.flags == TIDINGS_DELIVERY_OWN, "flags %u", delivery.flags);
}

void a_delivery_names_its_poster_and_its_time(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t of_name, of_subject, of_another;
    OK(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, 0, &of_name));
    OK(tidings_observer_add(observer, NAME, strlen(NAME), "subject", 7, 0, &of_subject));
    OK(tidings_observer_add(observer, NAME, strlen(NAME), "another", 7, 0, &of_another));
    struct timespec before, after;
    // The coarse clock: a stamp may be as old as the tick it was made in.
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    const pid_t pid = start(posts_with_everything);
    const tidings_delivery delivery = receive(observer);
    clock_gettime(CLOCK_REALTIME, &after);
    CHECK(strcmp(delivery.name, NAME) == 0 && delivery.name_length == strlen(NAME), "name %s", delivery.name);
    CHECK(strcmp(delivery.subject, "subject") == 0 && delivery.subject_length == 7, "subject %s", delivery.subject);
    CHECK(delivery.size == 7 && memcmp(delivery.payload, "payload", 7) == 0 && delivery.format == TIDINGS_FORMAT_JSON,
          "payload");
    CHECK(delivery.pid == pid && delivery.uid == geteuid() && delivery.flags == 0 && delivery.missed == 0,
          "pid %d, uid %u", delivery.pid, delivery.uid);
    const uint64_t from = (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec,
                   to = (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec;
    CHECK(delivery.posted_at_ns >= from && delivery.posted_at_ns <= to, "posted at %lu, not in %lu…%lu",
          (unsigned long)delivery.posted_at_ns, (unsigned long)from, (unsigned long)to);
    bool seen[2] = {false, false};
    for (size_t i = 0; i < delivery.subscription_count; i++) {
        CHECK(delivery.subscriptions[i] == of_name || delivery.subscriptions[i] == of_subject, "subscription %u",
              delivery.subscriptions[i]);
        seen[delivery.subscriptions[i] == of_subject] = true;
    }
    CHECK(delivery.subscription_count == 2 && seen[0] && seen[1], "%zu subscriptions", delivery.subscription_count);
    ends_well(pid);
}

void a_reservation_grows_and_arrives(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    static uint8_t bytes[300000];
    random_bytes(bytes, sizeof bytes);
    for (uint32_t round = 0; round < 300; round++) {
        tidings_reservation reservation;
        size_t used = 0;
        OK(tidings_reserve(center, random_below(500), &reservation));
        for (uint64_t parts = 1 + random_below(5); parts > 0; parts--) {
            const size_t more = random_below(round % 10 == 0 ? sizeof bytes / 5 : 300);
            OK(tidings_reserve_more(center, &reservation, used, used + more));
            CHECK(reservation.capacity >= used + more, "%zu", reservation.capacity);
            memcpy((uint8_t *)reservation.bytes + used, bytes + used, more);
            used += more;
        }
        uint64_t sequence;
        if (random_below(4) == 0) {
            tidings_abandon(center, &reservation);
            continue;
        }
        OK(tidings_post_reserved(publisher, &reservation, used, NULL, &sequence));
        arrives(observer, bytes, used, sequence);
    }
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
    CHECK(statistics_of(center).chunks_used == 0, "%u chunks are taken", statistics_of(center).chunks_used);
}

void a_reader_receives_a_payload_that_was_written_in_part(void) {
    tidings_configuration configuration = {.slots = 256, .mode = 0644};
    tidings_center *center = join_center_with(configuration);
    tidings_publisher *publisher = publisher_of(center, NAME);
    configuration.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_EXISTING;
    tidings_observer *reader = observer_of(join_center_with(configuration), NAME);
    static uint8_t bytes[300000];
    tidings_reservation reservation;
    for (size_t written = 0; written < sizeof bytes; written += 70000) {
        OK(tidings_reserve(center, sizeof bytes, &reservation));
        random_bytes(bytes, written);
        memcpy(reservation.bytes, bytes, written);
        uint64_t sequence;
        OK(tidings_post_reserved(publisher, &reservation, sizeof bytes, NULL, &sequence));
        arrives(reader, bytes, sizeof bytes, sequence);
    }
}

// History as far back as the ring has it, or from a place in it; and between what was and what comes, nothing is
// missing and nothing comes twice.
void history_and_what_comes_meet_without_a_seam(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "other");
    uint64_t sequence_of[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        sequence_of[i] = post_number(publisher, i);
        if (i % 3 == 0) post_number(other, i);
    }
    const uint64_t oldest = statistics_of(center).retained_from;
    const uint64_t places[] = {
        0, 1, oldest, sequence_of[900], sequence_of[900] + 1, sequence_of[999], sequence_of[999] + 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint32_t subscription, first = 0;
        tidings_observer *observer = observer_of_nothing(center);
        CHECK(tidings_observer_seek(observer, sequence_of[999] + 3) == -ERANGE, "beyond the end");
        OK(tidings_observer_seek(observer, places[i]));
        OK(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, TIDINGS_ADD_HISTORY, &subscription));
        CHECK(tidings_observer_seek(observer, 0) == -EBUSY, "too late");
        while (first < 1000 && (sequence_of[first] < places[i] || sequence_of[first] < oldest)) first++;
        for (uint32_t number = first; number < 1000; number++) {
            const tidings_delivery delivery = receive(observer);
            CHECK(delivery.sequence == sequence_of[number], "from %lu on: %lu instead of %lu", (unsigned long)places[i],
                  (unsigned long)delivery.sequence, (unsigned long)sequence_of[number]);
        }
        tidings_delivery delivery;
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "from %lu on: more than there was",
              (unsigned long)places[i]);
        tidings_observer_close(observer);
    }
    tidings_observer *observer = observer_with(center, NAME, 0, TIDINGS_ADD_HISTORY);
    const uint64_t next = post_number(publisher, 1000);
    uint64_t last = 0, count = 0;
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == 0) {
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.sequence > last, "%lu after %lu",
              (unsigned long)delivery.sequence, (unsigned long)last);
        last = delivery.sequence;
        count++;
    }
    CHECK(last == next && count > 100, "%lu, the last was %lu", (unsigned long)count, (unsigned long)last);
}

// MARK: When no chunk is free

#define MIDDLING 300  // more than fits a cell: 512 places

static uint64_t in_the_ring(tidings_center *center) {
    const tidings_statistics now = statistics_of(center);
    return now.posted - now.retained_from;
}

// No more history goes than an eighth of what there are places for, however many post; and none as long as there is a
// place.
void places_for_payloads_are_found_in_order_and_history_stays(void) {
    static const uint8_t bytes[MIDDLING];
    tidings_center *centers[3];
    tidings_publisher *publishers[3];
    for (int i = 0; i < 3; i++) {
        centers[i] = join_center(1024);
        publishers[i] = publisher_of(centers[i], NAME);
    }
    // All are taken, and two given back. Another poster begins at the first place, which is not free.
    tidings_reservation back[2];
    for (int k = 0; k < 510; k++) {
        if (k == 100 || k == 300) OK(tidings_reserve(centers[0], 100, &back[k / 300]));
        OK(tidings_post(publishers[0], bytes, sizeof bytes, NULL, NULL));
    }
    for (int i = 0; i < 2; i++) tidings_abandon(centers[0], &back[i]);
    for (int i = 1; i < 3; i++) OK(tidings_post(publishers[i], bytes, sizeof bytes, NULL, NULL));
    CHECK(in_the_ring(centers[0]) == 512, "%lu left, though there was room", (unsigned long)in_the_ring(centers[0]));
    for (int posters = 1; posters <= 3; posters++) {
        uint64_t least = UINT64_MAX;
        for (uint32_t k = 0; k < 4000; k++) {
            OK(tidings_post(publishers[posters == 3 ? random_below(3) : k % posters], bytes, sizeof bytes, NULL, NULL));
            const uint64_t there = in_the_ring(centers[0]);
            if (there < least) least = there;
            CHECK(there <= 512, "%lu", (unsigned long)there);
        }
        CHECK(least >= 512 * 7 / 8, "%d posters: %lu of 512 left", posters, (unsigned long)least);
    }
    // Reserved in one order, posted in another.
    tidings_reservation held[3][40] = {0};
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < 12000; k++) {
        const uint64_t i = random_below(3);
        tidings_reservation *one = &held[i][random_below(k % 1000 < 500 ? 40 : 2)];
        if (one->bytes) OK(tidings_post_reserved(publishers[i], one, sizeof bytes, NULL, NULL));
        OK(tidings_reserve(centers[i], sizeof bytes, one));
        const uint64_t there = in_the_ring(centers[0]);
        if (k > 600 && there < least) least = there;
    }
    CHECK(least >= 512 * 7 / 8 - 3 * 40, "%lu of %u left", (unsigned long)least, 512 - 3 * 40);
}

// A free chunk is found, wherever it is, before a poster is held back for want of one.
void a_place_that_is_free_is_found_before_a_post_is_held_back(void) {
    static const uint8_t bytes[MIDDLING];
    tidings_center *center = join_center(1024);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *slow = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    for (uint32_t round = 0; round < ROUNDS(30); round++) {
        tidings_reservation kept[3];
        uint32_t taken = 0, posted = 0;
        while (taken < 3 || posted < 509) {
            if (taken < 3 && (posted == 509 || random_below(170) == 0)) {
                OK(tidings_reserve(center, 100, &kept[taken++]));
            } else {
                OK(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL));
                posted++;
            }
        }
        for (uint32_t i = 0; i < 3; i++) {
            const int full = tidings_post(publisher, bytes, sizeof bytes, NULL, NULL);
            CHECK(full == -EAGAIN, "%d with %u places given back", full, i);
            tidings_abandon(center, &kept[i]);
            OK(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL));
        }
        const account account = drain(slow);
        CHECK(account.received == 512 && account.missed == 0, "%lu, and %lu missed", (unsigned long)account.received,
              (unsigned long)account.missed);
        // Taken in another order next time.
        for (uint32_t i = random_below(100); i > 0; i--) OK(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL));
        drain(slow);
    }
}

// Sizes just above a power of two: a buffer that doubled would be twice as large.
void an_observer_takes_little_more_memory_than_a_payload(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256});
    tidings_publisher *publisher = publisher_of(center, NAME);
    static uint8_t bytes[(8 << 20) + 1];
    for (size_t size = 1025; size <= sizeof bytes; size = (size - 1) * 2 + 1) {
        tidings_observer *observer = observer_of(center, NAME);
        OK(tidings_post(publisher, bytes, size, NULL, NULL));
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == size, "%zu bytes of %zu", (size_t)delivery.size, size);
        CHECK(observer->capacity <= size + size / 100 * 12 + 4096, "%zu bytes for a payload of %zu", observer->capacity,
              size);
        tidings_observer_close(observer);
    }
}

// Memory that a program lends to an observer, for one payload at a time.
typedef struct loan {
    tidings_observer *observer;
    void *memory;
    size_t size;
    int asked;
    bool refuses;
} loan;

static void *lend(void *context, size_t size) {
    loan *of = context;
    CHECK(of->observer->buffer == NULL, "asked for memory with a buffer of %zu bytes", of->observer->capacity);
    of->asked++;
    of->size = size;
    free(of->memory);
    of->memory = of->refuses ? NULL : malloc(size);
    return of->memory;
}

void large_payloads_lie_in_memory_that_the_program_lends(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_with(center, NAME, "subject");
    tidings_observer *observer = observer_of(center, NULL);
    loan own = {.observer = observer};
    CHECK(tidings_observer_lend(observer, TIDINGS_LEND_MIN - 1, lend, &own) == -EINVAL, "it lends for small payloads");
    OK(tidings_observer_lend(observer, 8000, lend, &own));
    static uint8_t bytes[1 << 20];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 9));
    const size_t sizes[] = {8000, 10, 7999, 8001, sizeof bytes, 7999, 10, 300, sizeof bytes - 1, 0};
    int asked = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(tidings_post(publisher, bytes, sizes[i], NULL, NULL));
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == sizes[i] && memcmp(delivery.payload, bytes, sizes[i]) == 0,
              "%zu bytes came as %zu, or damaged", sizes[i], delivery.size);
        CHECK(strcmp(delivery.name, NAME) == 0 && strcmp(delivery.subject, "subject") == 0, "%s, %s", delivery.name,
              delivery.subject);
        const bool is_large = sizes[i] >= 8000;
        asked += is_large;
        CHECK(own.asked == asked, "asked %d times instead of %d", own.asked, asked);
        CHECK(is_large == (delivery.payload == own.memory), "%zu bytes lie in the other memory", sizes[i]);
        CHECK(!is_large || (own.size >= sizes[i] && own.size <= sizes[i] + 528), "asked for %zu bytes of %zu", own.size,
              sizes[i]);
    }
    // A payload without memory counts as missed, and the next one comes.
    own.refuses = true;
    OK(tidings_post(publisher, bytes, 8000, NULL, NULL));
    OK(tidings_post(publisher, "next", 4, NULL, NULL));
    tidings_delivery delivery;
    const int result = tidings_next(observer, 0, &delivery);
    CHECK(result == -ENOMEM, "%d", result);
    OK(tidings_next(observer, 0, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED && delivery.missed == 1, "not told as missed");
    CHECK(memcmp(receive(observer).payload, "next", 4) == 0, "another came");
    // Back to the observer's own memory. What was lent last stays the program's, also when the observer goes.
    own.refuses = false;
    OK(tidings_post(publisher, bytes, 9000, NULL, NULL));
    CHECK(receive(observer).payload == own.memory, "not lent");
    OK(tidings_observer_lend(observer, 0, NULL, NULL));
    OK(tidings_post(publisher, bytes, 9000, NULL, NULL));
    CHECK(receive(observer).payload != own.memory, "still lent");
    OK(tidings_observer_lend(observer, 8000, lend, &own));
    OK(tidings_post(publisher, bytes, 9000, NULL, NULL));
    CHECK(receive(observer).payload == own.memory, "not lent");
    tidings_observer_close(observer);
    CHECK(memcmp(own.memory, bytes, 9000) == 0, "the observer used memory of the program after its end");
    free(own.memory);
    // Without payloads an observer needs no memory for them.
    tidings_observer *bare = observer_with(center, NULL, TIDINGS_OBSERVE_BARE, 0);
    own = (loan){.observer = bare};
    OK(tidings_observer_lend(bare, 8000, lend, &own));
    OK(tidings_post(publisher, bytes, 9000, NULL, NULL));
    CHECK(receive(bare).size == 9000 && own.asked == 0, "asked %d times", own.asked);
}

void a_detached_payload_outlives_later_deliveries(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_with(center, NAME, "subject");
    tidings_observer *observer = observer_of(center, NULL),
                     *bare = observer_with(center, NULL, TIDINGS_OBSERVE_BARE, 0);
    tidings_delivery delivery = {0};
    void *memory;
    OK(tidings_observer_detach(observer, &delivery, 1, &memory));
    CHECK(memory == NULL, "memory before the first delivery");
    static uint8_t bytes[100000], later[100000];
    memset(later, 0xff, sizeof later);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 9));
    const size_t sizes[] = {10, 100, 5000, sizeof bytes, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(tidings_post(publisher, bytes, sizes[i], NULL, NULL));
        delivery = receive(observer);
        const void *before = delivery.payload;
        OK(tidings_observer_detach(observer, &delivery, 1, &memory));
        CHECK(memory == before && delivery.payload != before, "%zu bytes are not detached", sizes[i]);
        CHECK(memcmp(delivery.payload, bytes, sizes[i]) == 0 && strcmp(delivery.subject, "subject") == 0,
              "the delivery of %zu bytes has changed", sizes[i]);
        OK(tidings_post(publisher, later, sizeof later, NULL, NULL));
        CHECK(receive(observer).size == sizeof later, "another came");
        CHECK(memcmp(memory, bytes, sizes[i]) == 0, "%zu detached bytes have changed", sizes[i]);
        free(memory);
        for (int post = 0; post < 2; post++) delivery = receive(bare);
        before = delivery.payload;
        OK(tidings_observer_detach(bare, &delivery, 1, &memory));
        CHECK(delivery.payload == before, "a payload that no observer copied has moved");
        free(memory);
    }
    // A loss has no payload.
    for (uint32_t i = 0; i < 600; i++) OK(tidings_post(publisher, bytes, 10, NULL, NULL));
    OK(tidings_next(observer, 0, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED, "not told as missed");
    OK(tidings_observer_detach(observer, &delivery, 1, &memory));
    free(memory);
    CHECK(memcmp(receive(observer).payload, bytes, 10) == 0, "another came");
}
