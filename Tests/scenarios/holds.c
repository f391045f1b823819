// Payloads that observers read in place and hold: they stay whole, no post waits for their holder, and nothing is left
// of a holder that died.
#include "receiving/observer.h"
#include "steps.h"

// More than 512 KiB: of this size there are sixteen chunks.
#define LARGE 530000u
#define CHUNKS 16u
#define MAXIMUM 600000u

static tidings_center *center_of_large(void) {
    return join_center_with((tidings_configuration){
        .slots = 256, .participants = 16, .observers = 16, .names = 64, .maximum_payload = MAXIMUM});
}

static tidings_observer *in_place(tidings_center *center, uint32_t flags, uint32_t add_flags) {
    tidings_observer *observer = observer_with(center, NAME, flags, add_flags);
    tidings_observer_in_place(observer, 0);
    return observer;
}

// Some words of a payload, all over it: enough to see that another post writes there.
#define WORDS 64u
static size_t place_of(size_t size, uint32_t i) { return size / WORDS * i / 8 * 8; }

static void write_words(uint8_t *bytes, size_t size, stamp stamp) {
    for (uint32_t i = 0; i < WORDS; i++) memcpy(bytes + place_of(size, i), &stamp, sizeof stamp);
}

// The words of one post, or of none.
static bool whole(const void *payload, size_t size, stamp *first) {
    memcpy(first, payload, sizeof *first);
    for (uint32_t i = 1; i < WORDS; i++)
        if (memcmp((const uint8_t *)payload + place_of(size, i), first, sizeof *first) != 0) return false;
    return true;
}

static int post_large(tidings_publisher *publisher, tidings_center *center, stamp stamp, int64_t timeout_ns) {
    tidings_reservation reservation;
    const int result = tidings_reserve(center, LARGE, &reservation);
    if (result != 0) return result;
    write_words(reservation.bytes, LARGE, stamp);
    return tidings_post_reserved(publisher, &reservation, LARGE, &(tidings_post_options){.timeout_ns = timeout_ns},
                                 NULL);
}

static tidings_participant_holds holds_of(tidings_center *center, pid_t pid) {
    tidings_participant_holds all = {0};
    for (uint32_t i = 0; i < 16; i++) {
        tidings_participant_info info;
        tidings_participant_holds holds;
        if (tidings_participant(center, i, &info) != 0 || (pid != 0 && info.pid != pid)) continue;
        tidings_participant_holds_get(center, i, &holds);
        all.payloads += holds.payloads;
        all.memory += holds.memory;
        if (holds.since_ns) all.since_ns = holds.since_ns;
    }
    return all;
}

// MARK: No poster waits for a holder

static pipe_pair holding, onward;
static uint32_t to_hold;

static void holds_all_it_receives(void) {
    tidings_center *center = center_of_large();
    tidings_observer *observer = in_place(center, 0, 0);
    tidings_held held[TIDINGS_HOLDS_MAX];
    stamp stamps[TIDINGS_HOLDS_MAX], now;
    tell(&holding);
    for (uint32_t i = 0; i < to_hold; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.flags & TIDINGS_DELIVERY_IN_PLACE, "copied");
        CHECK(whole(delivery.payload, delivery.size, &stamps[i]), "torn");
        OK(tidings_hold(observer, &delivery, &held[i]));
    }
    tell(&holding);
    told(&onward);
    for (uint32_t i = 0; i < to_hold; i++) {
        CHECK(whole(held[i].payload, held[i].size, &now) && memcmp(&now, &stamps[i], sizeof now) == 0,
              "payload %u changed", i);
        tidings_release(&held[i]);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

static pid_t start_holder(tidings_center *center, tidings_publisher *publisher, uint32_t payloads) {
    holding = pipe_open();
    onward = pipe_open();
    to_hold = payloads;
    const pid_t pid = start(holds_all_it_receives);
    told(&holding);
    for (uint32_t i = 0; i < payloads; i++) OK(post_large(publisher, center, (stamp){.number = i}, 0));
    told(&holding);
    return pid;
}

static void refused(tidings_publisher *publisher, tidings_center *center, pid_t pid) {
    char said[64];
    tidings_holder holder;
    snprintf(said, sizeof said, "process %d holds %u of the %u chunks", pid, CHUNKS, CHUNKS);
    // With a timeout without end, too: it fails at once.
    const int result = post_large(publisher, center, (stamp){0}, -1);
    CHECK(result == -EAGAIN, "a post answers %d", result);
    CHECK(strstr(tidings_last_error(), said), "it does not say '%s'", said);
    OK(tidings_last_error_holder(&holder));
    CHECK(holder.pid == pid && !holder.own, "the holder is %d", holder.pid);
    uint8_t *bytes = calloc(1, LARGE);
    CHECK(tidings_post(publisher, bytes, LARGE, &(tidings_post_options){.timeout_ns = -1}, NULL) == -EAGAIN, "posted");
    free(bytes);
    // Other sizes have other chunks.
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
    OK(tidings_post(publisher, said, sizeof said, &(tidings_post_options){.flags = TIDINGS_POST_IMMEDIATE}, NULL));
}

void a_post_fails_at_once_and_names_the_holder_of_all_chunks(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t pid = start_holder(center, publisher, CHUNKS);
    refused(publisher, center, pid);
    const tidings_participant_holds holds = holds_of(center, pid);
    CHECK(holds.payloads == CHUNKS && holds.memory >= CHUNKS * (uint64_t)LARGE && holds.since_ns != 0,
          "%u payloads, %lu bytes", holds.payloads, (unsigned long)holds.memory);
    tell(&onward);
    ends_well(pid);
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = i}, 0));
    CHECK(holds_of(center, 0).payloads == 0, "still held");
}

void a_stopped_holder_keeps_what_it_holds_and_a_dead_one_nothing(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    pid_t pid = start_holder(center, publisher, CHUNKS - 1);
    kill(pid, SIGSTOP);
    // One chunk is left, and serves each of these.
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = 100 + i}, 0));
    kill(pid, SIGCONT);
    tell(&onward);
    ends_well(pid);
    pid = start_holder(center, publisher, CHUNKS);
    kill(pid, SIGSTOP);
    refused(publisher, center, pid);
    kill_and_reap(pid);
    tidings_orphans orphans;
    OK(tidings_orphans_get(center, &orphans));
    CHECK(orphans.participants == 1 && orphans.holds == CHUNKS, "%u dead participants held %u payloads",
          orphans.participants, orphans.holds);
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = i}, 0));
    CHECK(tidings_reclaim(center) == 1, "none was reclaimed");
    OK(tidings_orphans_get(center, &orphans));
    CHECK(orphans.participants == 0 && orphans.holds == 0, "%u, %u", orphans.participants, orphans.holds);
    // Without a look at it, the first post that needs a chunk notices the death.
    pid = start_holder(center, publisher, CHUNKS);
    kill_and_reap(pid);
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = i}, 0));
    nothing_is_left(center, publisher, 0, 0);
}

// MARK: A forked child is not the holder

void a_forked_child_releases_nothing_of_its_parent(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = in_place(center, 0, 0);
    tidings_held held;
    stamp now;
    OK(post_large(publisher, center, (stamp){.number = 1}, 0));
    tidings_delivery delivery = receive(observer);
    OK(tidings_hold(observer, &delivery, &held));
    OK(post_large(publisher, center, (stamp){.number = 2}, 0));
    delivery = receive(observer);
    const pid_t pid = fork();
    if (pid == 0) {
        tidings_held of_child = held;
        if (tidings_hold(observer, &delivery, &of_child) != -ECHILD) _exit(2);
        of_child = held;
        tidings_release(&of_child);
        of_child = held;
        if (post_large(publisher, center, (stamp){.number = 3}, 0) != 0) _exit(3);
        tidings_release(&of_child);
        tidings_observer_close(observer);
        tidings_publisher_close(publisher);
        tidings_close(center);
        _exit(0);
    }
    ends_well(pid);
    CHECK(holds_of(center, getpid()).payloads == 2, "%u payloads", holds_of(center, getpid()).payloads);
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = 100 + i}, 0));
    CHECK(whole(held.payload, held.size, &now) && now.number == 1, "the held payload is of post %u", now.number);
    CHECK(whole(delivery.payload, delivery.size, &now) && now.number == 2, "the delivery is of post %u", now.number);
    tidings_release(&held);
    CHECK(drain(observer).missed > 0, "missed none");
    CHECK(holds_of(center, 0).payloads == 0, "still held");
}

// MARK: Lossless, retained, read-only

static void posts_a_stream(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    uint8_t bytes[400] = {0};
    for (uint32_t i = 0; i < ROUNDS(2000); i++) {
        const stamp stamp = {.poster = (uint32_t)getpid(), .number = i};
        const tidings_post_options options = {.timeout_ns = -1};
        write_words(bytes, sizeof bytes, stamp);
        int result = 0;
        // All chunks may be held for a moment, which is no reason to wait in the post.
        do result = tidings_post(publisher, bytes, sizeof bytes, &options, NULL);
        while (result == -EAGAIN && i % 8 != 0);
        OK(result);
    }
}

void a_lossless_observer_reads_a_whole_stream_in_place(void) {
    tidings_center *center = center_of_large();
    tidings_observer *observer = in_place(center, TIDINGS_OBSERVE_LOSSLESS, 0);
    const pid_t posters[2] = {start(posts_a_stream), start(posts_a_stream)};
    uint32_t next[2] = {0}, kept = 0;
    tidings_held held[4] = {0};
    stamp stamps[4], now;
    for (uint32_t i = 0; i < 2 * ROUNDS(2000); i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.flags & TIDINGS_DELIVERY_IN_PLACE, "copied");
        CHECK(whole(delivery.payload, delivery.size, &now), "torn");
        const uint32_t of = now.poster == (uint32_t)posters[1];
        CHECK(now.number == next[of]++, "number %u of poster %u", now.number, of);
        if (i % 3 != 0) continue;
        kept = (kept + 1) % 4;
        stamp then;
        CHECK(!held[kept].payload ||
                  (whole(held[kept].payload, held[kept].size, &then) && memcmp(&then, &stamps[kept], sizeof then) == 0),
              "a held payload changed");
        tidings_release(&held[kept]);
        stamps[kept] = now;
        OK(tidings_hold(observer, &delivery, &held[kept]));
    }
    for (uint32_t i = 0; i < 4; i++) tidings_release(&held[i]);
    ends_well(posters[0]);
    ends_well(posters[1]);
}

void a_value_that_is_held_outlives_those_that_replace_it(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME), *filler = publisher_of(center, "filler");
    uint8_t *bytes = calloc(1, LARGE);
    const uint32_t rounds = ROUNDS(60);
    tidings_held held[3] = {0};
    for (uint32_t i = 0; i < rounds; i++) {
        write_words(bytes, LARGE, (stamp){.number = i});
        OK(tidings_state_set(publisher, bytes, LARGE, NULL, NULL));
        // Every second one leaves the ring before it is asked for.
        for (uint32_t j = 0; i % 2 == 0 && j < 300; j++) post_number(filler, j);
        tidings_observer *observer = in_place(center, 0, TIDINGS_ADD_RETAINED);
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.flags & TIDINGS_DELIVERY_IN_PLACE && delivery.flags & TIDINGS_DELIVERY_RETAINED, "flags %x",
              delivery.flags);
        stamp now;
        if (held[i % 3].payload)
            CHECK(whole(held[i % 3].payload, LARGE, &now) && now.number == i - 3, "value %u is of %u", i - 3,
                  now.number);
        tidings_release(&held[i % 3]);
        OK(tidings_hold(observer, &delivery, &held[i % 3]));
        CHECK(whole(held[i % 3].payload, LARGE, &now) && now.number == i, "value %u is of %u", i, now.number);
        tidings_observer_close(observer);
    }
    OK(tidings_state_set(publisher, NULL, 0, NULL, NULL));
    for (uint32_t i = 0; i < 3; i++) tidings_release(&held[i]);
    free(bytes);
    nothing_is_left(center, publisher, 0, 0);
}

void an_observer_that_may_only_read_receives_copies(void) {
    tidings_configuration configuration = {.slots = 256, .maximum_payload = MAXIMUM, .mode = 0644};
    tidings_center *center = join_center_with(configuration);
    tidings_publisher *publisher = publisher_of(center, NAME);
    configuration.flags = TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_EXISTING;
    tidings_center *of_reader = join_center_with(configuration);
    tidings_observer *reader = in_place(of_reader, 0, 0);
    // All of it is written: a reader takes memory that was never touched for missing.
    uint8_t *bytes = calloc(1, LARGE);
    write_words(bytes, LARGE, (stamp){.number = 7});
    OK(tidings_post(publisher, bytes, LARGE, NULL, NULL));
    free(bytes);
    const tidings_delivery delivery = receive(reader);
    stamp now;
    CHECK(!(delivery.flags & TIDINGS_DELIVERY_IN_PLACE), "in place");
    tidings_held held;
    OK(tidings_hold(reader, &delivery, &held));
    for (uint32_t i = 0; i < 2 * CHUNKS; i++) OK(post_large(publisher, center, (stamp){.number = i}, 0));
    CHECK(whole(held.payload, held.size, &now) && now.number == 7, "the copy is of post %u", now.number);
    tidings_release(&held);
    tidings_participant_holds holds;
    tidings_participant_holds_get(of_reader, 0, &holds);
    CHECK(holds.payloads == 0, "%u", holds.payloads);
}

// MARK: At full speed, and killed at random

static _Atomic uint32_t *rounds_of_holder;

// Keeps some payloads for random times, and finds each whole in the end.
static void holds_at_random(void) {
    tidings_center *center = center_of_large();
    tidings_observer *observer = in_place(center, 0, 0);
    tidings_observer_spin(observer, 0);
    tidings_held held[3] = {0};
    stamp stamps[3], now;
    for (uint32_t i = 0;; i++) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) continue;
        CHECK(whole(delivery.payload, delivery.size, &now), "torn");
        const uint32_t at = (uint32_t)random_below(6);
        atomic_store(rounds_of_holder, i + 1);
        if (at >= 3) continue;
        stamp then;
        CHECK(!held[at].payload ||
                  (whole(held[at].payload, held[at].size, &then) && memcmp(&then, &stamps[at], sizeof then) == 0),
              "a held payload changed");
        tidings_release(&held[at]);
        stamps[at] = now;
        OK(tidings_hold(observer, &delivery, &held[at]));
    }
}

void holders_killed_at_random_leave_no_chunk_behind(void) {
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    rounds_of_holder = shared_memory(4096);
    uint32_t number = 0;
    for (uint32_t i = 0; i < chances(60); i++) {
        atomic_store(rounds_of_holder, 0);
        const pid_t pid[2] = {start(holds_at_random), start(holds_at_random)};
        // Six chunks may be held, and ten are not.
        while (atomic_load(rounds_of_holder) < 20) OK(post_large(publisher, center, (stamp){.number = number++}, 0));
        for (uint64_t left = random_below(20); left > 0; left--)
            OK(post_large(publisher, center, (stamp){.number = number++}, 0));
        kill_and_reap(pid[0]);
        for (uint32_t left = 0; left < CHUNKS; left++)
            OK(post_large(publisher, center, (stamp){.number = number++}, 0));
        kill_and_reap(pid[1]);
    }
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    CHECK(holds_of(center, 0).payloads == 0, "still held");
    nothing_is_left(center, publisher, 0, 0);
}

// MARK: Killed and stopped anywhere

// Holds two payloads and releases one of them, in its section.
static void holds_and_releases(void) {
    tidings_center *center = center_of_large();
    tidings_observer *observer = in_place(center, 0, 0);
    tidings_held held[2] = {0};
    stamp first, now;
    // Once before, so that everything lazy is done.
    OK(post_large(publisher_of(center, NAME), center, (stamp){.number = 1}, 0));
    tidings_delivery delivery = receive(observer);
    OK(tidings_hold(observer, &delivery, &held[0]));
    tidings_release(&held[0]);
    section_begin();
    int result = tidings_next(observer, 0, &delivery);
    if (result == 0) result = tidings_hold(observer, &delivery, &held[0]);
    if (result == 0) result = tidings_next(observer, 0, &delivery);
    if (result == 0) result = tidings_hold(observer, &delivery, &held[1]);
    if (result == 0) memcpy(&first, delivery.payload, sizeof first);
    tidings_release(&held[0]);
    atomic_store(returned, 1);
    section_end();
    // If it was stopped, and lapped, what it received first is that it missed some: nothing to hold.
    CHECK(result == 0 || result == -EINVAL, "it answers %d", result);
    if (result == 0) CHECK(whole(held[1].payload, LARGE, &now) && memcmp(&now, &first, sizeof now) == 0, "torn");
    tidings_release(&held[1]);
    while (tidings_next(observer, 0, &delivery) == 0)
        CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED || whole(delivery.payload, LARGE, &now), "torn");
    CHECK(holds_of(center, getpid()).payloads == 0, "still held");
    tidings_observer_close(observer);
}

static uint32_t numbers;

static void posts_to_all_chunks(tidings_publisher *publisher, tidings_center *center, uint64_t at, uint64_t length) {
    for (uint32_t i = 0; i < 3 * CHUNKS; i++) {
        const int result = post_large(publisher, center, (stamp){.number = numbers++}, 0);
        CHECK(result == 0, "after %lu of %lu instructions a post answers %d", (unsigned long)at, (unsigned long)length,
              result);
    }
}

static void faulted_while_holding(bool killed) {
    returned = shared_memory(4096);
    tidings_center *center = center_of_large();
    tidings_publisher *publisher = publisher_of(center, NAME);
    uint64_t length = 0;
    uint32_t moments_of_all = 1;
    for (uint32_t i = 0; i <= moments_of_all; i++) {
        const pid_t pid = start_traced(holds_and_releases);
        for (uint32_t posts = 0; posts < 2; posts++) OK(post_large(publisher, center, (stamp){.number = numbers++}, 0));
        const uint64_t at = step(pid, i == 0 ? UINT64_MAX : moment(i - 1, moments_of_all, length), false);
        if (i == 0) {
            length = at;
            moments_of_all = moments(KILLS, length);
        }
        if (killed) kill_and_reap(pid);
        posts_to_all_chunks(publisher, center, at, length);
        if (!killed) {
            let_go(pid);
            ends_well(pid);
        }
        CHECK(tidings_reclaim(center) >= 0, "reclaim");
        CHECK(holds_of(center, 0).payloads == 0, "%u payloads are held after %lu of %lu instructions",
              holds_of(center, 0).payloads, (unsigned long)at, (unsigned long)length);
    }
    nothing_is_left(center, publisher, 0, 0);
    // Each chunk is used again: as many as there are, and not one less.
    tidings_reservation reservations[CHUNKS];
    for (uint32_t i = 0; i < CHUNKS; i++) OK(tidings_reserve(center, LARGE, &reservations[i]));
}

void killed_anywhere_while_holding(void) { faulted_while_holding(true); }
void stopped_anywhere_while_holding(void) { faulted_while_holding(false); }
