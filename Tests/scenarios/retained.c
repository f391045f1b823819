// Retained values: the newest one, whichever process set it, and whichever died since.
#include "foreign.h"
#include "peer.h"

static _Atomic uint64_t
    *set_by;  // shared: per poster, the number it returned from; and the highest of all, by position

static void sets_values(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t number = 1; number <= 3000; number++) {
        uint64_t sequence;
        const stamp stamp = {.poster = (uint32_t)getpid(), .number = number};
        OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.flags = TIDINGS_POST_RETAIN},
                        &sequence));
        uint64_t newest = atomic_load(set_by);
        while (newest < sequence && !atomic_compare_exchange_weak(set_by, &newest, sequence)) {}
        // A value read now is at least as new as each value whose setter had returned before.
        const uint64_t floor = atomic_load(set_by);
        struct stamp value;
        size_t size = sizeof value;
        OK(tidings_state_get(publisher, &value, &size, NULL, &sequence));
        CHECK(sequence >= floor, "the value of %lu, though %lu was set", (unsigned long)sequence, (unsigned long)floor);
    }
}

void the_newest_value_wins_across_posters(void) {
    set_by = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t posters[3] = {start(sets_values), start(sets_values), start(sets_values)};
    for (int i = 0; i < 3; i++) ends_well(posters[i]);
    uint64_t sequence;
    stamp value;
    size_t size = sizeof value;
    OK(tidings_state_get(publisher, &value, &size, NULL, &sequence));
    CHECK(sequence == atomic_load(set_by), "%lu instead of %lu", (unsigned long)sequence,
          (unsigned long)atomic_load(set_by));
    CHECK(value.number == 3000, "the last value of a poster");
    // Turned over, only one chunk is left.
    for (uint32_t i = 0; i < 600; i++) post_number(publisher_of(center, "filler"), i);
    tidings_reclaim(center);
    CHECK(statistics_of(center).chunks_used <= 1, "%u chunks", statistics_of(center).chunks_used);
}

static void sets_for_ever(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (;;) {
        const uint64_t number = atomic_load(&set_by[0]) + 1;
        OK(tidings_state_set(publisher, &number, sizeof number, NULL, NULL));
        atomic_store(&set_by[0], number);
    }
}

// Killed again and again, at random moments, in the middle of setting the next number: what is read is the last one
// that returned, or the one after it.
void a_killed_poster_never_brings_back_an_older_value(void) {
    set_by = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *filler = publisher_of(center, "filler");
    for (uint32_t round = 0; round < 200; round++) {
        const pid_t pid = start(sets_for_ever);
        const uint64_t enough = atomic_load(&set_by[0]) + 1 + random_below(40);
        while (atomic_load(&set_by[0]) < enough) {}
        spin_cycles(random_below(20000));
        kill_and_reap(pid);
        uint64_t value, returned = atomic_load(&set_by[0]), before = 0;
        // At once, after the ring has turned, and after the dead poster's orphans were reclaimed.
        for (int look = 0; look < 3; look++) {
            size_t size = sizeof value;
            OK(tidings_state_get(publisher, &value, &size, NULL, NULL));
            CHECK(value == returned || value == returned + 1, "round %u, look %d: %lu, after %lu had returned", round,
                  look, (unsigned long)value, (unsigned long)returned);
            CHECK(look == 0 || value == before, "round %u, look %d: %lu, and %lu before", round, look,
                  (unsigned long)value, (unsigned long)before);
            before = value;
            if (look == 0 && round % 2)
                for (uint32_t i = 0; i < 300; i++) post_number(filler, i);
            if (look == 1) CHECK(tidings_reclaim(center) >= 0, "reclaim");
        }
        atomic_store(&set_by[0], value);
    }
    for (uint32_t i = 0; i < 600; i++) post_number(filler, i);
    tidings_reclaim(center);
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.chunks_used <= 1 && statistics.participants == 1 && statistics.names == 1,
          "%u chunks, %u participants, %u names", statistics.chunks_used, statistics.participants, statistics.names);
}

void a_value_survives_every_participant_and_the_ring(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *filler = publisher_of(center, "filler");
    static uint8_t large[70000];
    for (size_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 7);
    for (uint32_t round = 0; round < 4; round++) {
        const size_t length = round % 2 ? sizeof large - round : 3 + round;
        OK(tidings_state_set(publisher, large, length, &(tidings_post_options){.format = TIDINGS_FORMAT_CBOR}, NULL));
        for (uint32_t i = 0; i < 300 * round; i++) post_number(filler, i);
        tidings_publisher_close(publisher);
        tidings_publisher_close(filler);
        tidings_close(center);  // no participant is left
        center = join_center(256);
        publisher = publisher_of(center, NAME);
        filler = publisher_of(center, "filler");
        for (uint32_t i = 0; i < 300 * (3 - round); i++) post_number(filler, i);
        static uint8_t copy[70000];
        size_t size = sizeof copy;
        uint8_t format = 0;
        OK(tidings_state_get(publisher, copy, &size, &format, NULL));
        CHECK(size == length && memcmp(copy, large, length) == 0 && format == TIDINGS_FORMAT_CBOR,
              "round %u: %zu bytes", round, size);
    }
    OK(tidings_state_set(publisher, NULL, 0, NULL, NULL));
    size_t size = 0;
    CHECK(tidings_state_get(publisher, NULL, &size, NULL, NULL) == -ENOENT, "cleared");
    for (uint32_t i = 0; i < 600; i++) post_number(filler, i);
    CHECK(tidings_state_get(publisher, NULL, &size, NULL, NULL) == -ENOENT, "cleared, and the ring has turned");
    tidings_reclaim(center);
    CHECK(statistics_of(center).chunks_used == 0, "%u chunks", statistics_of(center).chunks_used);
    // An empty value is a value.
    OK(tidings_state_set(publisher, "", 0, NULL, NULL));
    size = 5;
    OK(tidings_state_get(publisher, large, &size, NULL, NULL));
    CHECK(size == 0, "%zu", size);
}

void a_late_comer_is_told_that_it_is_retained(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *with_subject = publisher_with(center, NAME, "s"),
                      *filler = publisher_of(center, "filler");
    tidings_observer *early = observer_of(center, NAME);
    for (uint32_t round = 0; round < 4; round++) {
        OK(tidings_state_set(publisher, &round, sizeof round, NULL, NULL));
        if (round % 2)
            for (uint32_t i = 0; i < 300; i++) post_number(filler, i);
        tidings_observer *late = observer_with(center, NAME, 0, TIDINGS_ADD_RETAINED),
                         *indifferent = observer_of(center, NAME);
        tidings_delivery delivery = receive(late);
        CHECK(delivery.flags & TIDINGS_DELIVERY_RETAINED && *(const uint32_t *)delivery.payload == round,
              "the value first");
        CHECK(tidings_next(late, 0, &delivery) == -EAGAIN && tidings_next(indifferent, 0, &delivery) == -EAGAIN,
              "once, and for observers that asked");
        post_number(publisher, 99);
        delivery = receive(late);
        CHECK(!(delivery.flags & TIDINGS_DELIVERY_RETAINED) && stamp_of(&delivery).number == 99, "then what is posted");
        tidings_observer_close(late);
        tidings_observer_close(indifferent);
        const account account = drain(early);
        CHECK(account.received + account.missed == 2, "an early observer got it once: %lu + %lu",
              (unsigned long)account.received, (unsigned long)account.missed);
    }
    // One value a name: none for a subject, and none for an observer of one.
    uint32_t value = 5678, read;
    size_t size = sizeof read;
    REFUSED(
        tidings_post(with_subject, &value, sizeof value, &(tidings_post_options){.flags = TIDINGS_POST_RETAIN}, NULL),
        EINVAL, "put the subject into the name");
    REFUSED(tidings_state_set(with_subject, &value, sizeof value, NULL, NULL), EINVAL, "put the subject into the name");
    REFUSED(tidings_state_set(with_subject, NULL, 0, NULL, NULL), EINVAL, "put the subject into the name");
    REFUSED(tidings_state_get(with_subject, &read, &size, NULL, NULL), EINVAL, "put the subject into the name");
    tidings_reservation reservation;
    OK(tidings_reserve(center, sizeof value, &reservation));
    memcpy(reservation.bytes, &value, sizeof value);
    REFUSED(tidings_post_reserved(with_subject, &reservation, sizeof value,
                                  &(tidings_post_options){.flags = TIDINGS_POST_RETAIN}, NULL),
            EINVAL, "put the subject");
    // What was refused changed nothing.
    OK(tidings_state_get(publisher, &read, &size, NULL, NULL));
    CHECK(size == sizeof read && read == 3, "%zu bytes, %u", size, read);
    tidings_observer *of_subject = observer_of_nothing(center);
    uint32_t subscription;
    OK(tidings_observer_add(of_subject, NAME, strlen(NAME), "s", 1, TIDINGS_ADD_RETAINED, &subscription));
    tidings_delivery delivery;
    CHECK(tidings_next(of_subject, 0, &delivery) == -EAGAIN, "a value of another subject");
}

void a_cleared_value_is_told_as_one(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME), *of_all = observer_of_nothing(center);
    uint32_t subscription;
    OK(tidings_observer_add(of_all, NULL, 0, NULL, 0, 0, &subscription));
    OK(tidings_state_set(publisher, "value", 5, NULL, NULL));
    OK(tidings_state_set(publisher, NULL, 0, &(tidings_post_options){.flags = TIDINGS_POST_IMMEDIATE}, NULL));
    OK(tidings_state_set(publisher, "", 0, NULL, NULL));
    OK(tidings_post(publisher, NULL, 0, NULL, NULL));
    const uint32_t state = TIDINGS_DELIVERY_STATE;
    const uint32_t flags[] = {state, state | TIDINGS_DELIVERY_CLEARED | TIDINGS_DELIVERY_IMMEDIATE, state, 0};
    for (uint32_t i = 0; i < 4; i++) {
        const tidings_delivery one = receive(observer), other = receive(of_all);
        CHECK(one.flags == (flags[i] | TIDINGS_DELIVERY_OWN) && other.flags == one.flags, "%u: flags %u and %u", i,
              one.flags, other.flags);
        CHECK(one.size == (i == 0 ? 5 : 0), "%u: %zu bytes", i, one.size);
    }
}

static tidings_publisher *kept_publisher(tidings_center *center, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "kept.%u", number);
    return publisher_of(center, name);
}

void values_that_have_taken_every_place_can_be_cleared(void) {
    const tidings_configuration configuration = {
        .slots = 256, .names = 4096, .maximum_payload = 1000, .flags = TIDINGS_OPEN_EXCLUSIVE};
    tidings_center *center;
    OK(tidings_open("full of values", &configuration, &center));
    tidings_observer *observer = observer_of(center, "kept.0");
    uint8_t bytes[900] = {0};
    uint32_t kept = 0;
    int result;
    while ((result = tidings_state_set(kept_publisher(center, kept), &kept, sizeof kept, NULL, NULL)) == 0)
        CHECK(++kept < 4000, "there is no end of places");
    CHECK(result == -EAGAIN && strstr(tidings_last_error(), "hold retained values; clear some"), "%d: %s", result,
          tidings_last_error());
    CHECK(kept > 8, "only %u values", kept);
    CHECK(tidings_post(kept_publisher(center, 0), bytes, sizeof bytes, NULL, NULL) == -EAGAIN,
          "a large payload has found a place");
    account account = drain(observer);
    OK(tidings_state_set(kept_publisher(center, 0), NULL, 0, NULL, NULL));
    tidings_delivery delivery;
    OK(tidings_next(observer, 0, &delivery));
    CHECK(delivery.size == 0 && delivery.flags & TIDINGS_DELIVERY_CLEARED && strcmp(delivery.name, "kept.0") == 0,
          "%zu bytes of \"%s\"", delivery.size, delivery.name);
    for (uint32_t i = 1; i < kept; i++) OK(tidings_state_set(kept_publisher(center, i), NULL, 0, NULL, NULL));
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t value;
        size_t size = sizeof value;
        CHECK(tidings_state_get(kept_publisher(center, i), &value, &size, NULL, NULL) == -ENOENT,
              "value %u is still there", i);
    }
    OK(tidings_post(kept_publisher(center, 0), bytes, sizeof bytes, NULL, NULL));
    OK(tidings_state_set(kept_publisher(center, 1), bytes, sizeof bytes, NULL, NULL));
    account = drain(observer);
    CHECK(account.received == 1, "%lu of one", (unsigned long)account.received);
    // Turned over once, every place serves again and no name is left but that value's.
    for (uint32_t i = 0; i < 2 * 256; i++) post_number(publisher_of(center, "filler"), i);
    CHECK(tidings_reclaim(center) >= 0 && statistics_of(center).chunks_used == 1, "%u places in use",
          statistics_of(center).chunks_used);
    tidings_observer_close(observer);
    CHECK(statistics_of(center).names == 1, "%u names", statistics_of(center).names);
}

static bool listed_as_kept(tidings_center *center, const char *name) {
    tidings_name_info info;
    int result;
    for (uint32_t i = 0; (result = tidings_name(center, i, &info)) != -ERANGE; i++)
        if (result == 0 && strcmp(info.name, name) == 0) return info.retained;
    return false;
}

// Whether its record is still in the ring or not, and not once it has been cleared.
void a_retained_value_is_listed_from_the_first(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "other");
    for (uint32_t round = 0; round < 3; round++) {
        OK(tidings_state_set(publisher, "x", 1, NULL, NULL));
        CHECK(listed_as_kept(center, NAME), "just posted, round %u", round);
        for (uint32_t i = 0; i < 600; i++) post_number(other, i);
        CHECK(listed_as_kept(center, NAME), "moved to its name, round %u", round);
        OK(tidings_state_set(publisher, NULL, 0, NULL, NULL));
        for (uint32_t i = 0; i < 600; i++) post_number(other, i);
        CHECK(!listed_as_kept(center, NAME), "cleared, round %u", round);
    }
}
