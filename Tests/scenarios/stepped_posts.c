// Posters killed, or stopped for three laps of the ring, after any number of instructions: a debugger's single steps
// put the moment wherever it is wanted, so that no window is too short to be hit.
#include "steps.h"

static tidings_center *own_center;

// A process that runs `body`, and stands still after so many instructions of its section, or at the section's end.
// `*at`: how many it has executed.
static pid_t stopped_at(void (*body)(void), uint64_t instructions, uint64_t *at) {
    atomic_store(returned, 0);
    const pid_t pid = start_traced(body);
    *at = step(pid, instructions, false);
    return pid;
}

// A post that is killed anywhere is there as a whole or not at all. It holds up no process, and leaves nothing behind.
static void killed_in(act act) {
    what = act;
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME),
                     *bystander = observer_of(own_center, act.full ? NAME : NULL);
    const uint64_t length = length_of(posts_once);
    const uint32_t kills = moments(act.full ? KILLS / 3 : KILLS, length);  // an eviction is ten times as long
    uint64_t delivered_anyway = 0;
    CHECK(drain(observer).received == 1, "the one that wasn't killed");
    for (uint32_t kill = 0; kill < kills; kill++) {
        uint64_t at;
        const pid_t pid = stopped_at(posts_once, moment(kill, kills, length), &at);
        const bool was_returned = atomic_load(returned);
        kill_and_reap(pid);
        post_number(publisher, kill);
        tidings_delivery delivery = receive(observer);
        bool seen = false;
        if (stamp_of(&delivery).poster == 1) {
            CHECK(delivery.size == act.size && !memcmp((const char *)delivery.payload + sizeof(stamp),
                                                       payload + sizeof(stamp), act.size - sizeof(stamp)),
                  "killed after %lu of %lu instructions: %zu bytes came", (unsigned long)at, (unsigned long)length,
                  delivery.size);
            seen = true;
            delivery = receive(observer);
        }
        CHECK(stamp_of(&delivery).poster == 0 && stamp_of(&delivery).number == kill,
              "killed after %lu of %lu instructions: %u.%u", (unsigned long)at, (unsigned long)length,
              stamp_of(&delivery).poster, stamp_of(&delivery).number);
        CHECK(seen || !was_returned, "killed after %lu of %lu instructions: it returned, and nothing came",
              (unsigned long)at, (unsigned long)length);
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN,
              "killed after %lu of %lu instructions: something came twice", (unsigned long)at, (unsigned long)length);
        delivered_anyway += seen;
        if (act.flags & TIDINGS_POST_RETAIN) {
            size_t size = 0;
            const int result = tidings_state_get(publisher, NULL, &size, NULL, NULL);
            CHECK(!seen || result == -ENOBUFS, "killed after %lu of %lu instructions: delivered, but not retained",
                  (unsigned long)at, (unsigned long)length);
        }
    }
    // Under a sanitizer there are one or two kills, and each may come after the commit.
    CHECK(SANITIZED || delivered_anyway < kills, "every one came: none was killed before its commit");
    // An observer of all names that has been lapped counts the same, to the last one.
    const account seen = drain(bystander);
    const uint64_t expected = (act.full ? kills + 1 : 2 * kills + 2) + delivered_anyway;
    CHECK(seen.received + seen.missed == expected, "%lu + %lu of %lu", (unsigned long)seen.received,
          (unsigned long)seen.missed, (unsigned long)expected);
    nothing_is_left(own_center, publisher, 2, 2);
}

void killed_anywhere_in_a_small_post(void) { killed_in((act){.size = 64}); }
void killed_anywhere_in_a_chunk_post(void) { killed_in((act){.size = 300}); }
void killed_anywhere_in_a_retained_post(void) { killed_in((act){.size = 64, .flags = TIDINGS_POST_RETAIN}); }

void killed_anywhere_while_evicting(void) { killed_in((act){.size = 64, .full = true}); }

// MARK: Stopped

// The number a stopped poster posts, and what becomes of it: first other posts turn the ring three times, then it goes
// on.
static void stopped_in(act act) {
    what = act;
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME), *sluggish = observer_of(own_center, NAME);
    const uint64_t length = length_of(posts_once);
    uint64_t total = drain(observer).received;
    const uint32_t stops = moments(act.full ? KILLS / 8 : KILLS / 3, length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        uint64_t at;
        const pid_t pid = stopped_at(posts_once, moment(stop, stops, length), &at);
        uint32_t came = 0;
        // While it stands still, this process posts and receives: nothing here waits for it.
        for (uint32_t number = 0; number < 3 * 256; number++, total++) {
            post_number(publisher, number);
            if (number % 64 != 63) continue;
            for (uint32_t expected = number - 63; expected <= number;) {
                const tidings_delivery delivery = receive(observer);
                if (stamp_of(&delivery).poster == 1) {
                    came++;
                    continue;
                }
                CHECK(stamp_of(&delivery).number == expected, "stopped after %lu of %lu instructions: %u instead of %u",
                      (unsigned long)at, (unsigned long)length, stamp_of(&delivery).number, expected);
                expected++;
            }
        }
        let_go(pid);
        while (!atomic_load(returned)) usleep(50);
        kill_and_reap(pid);
        came += (uint32_t)drain(observer).received;
        total++;
        CHECK(came == 1, "stopped after %lu of %lu instructions: it came %u times", (unsigned long)at,
              (unsigned long)length, came);
    }
    // An observer that never read is told exactly how much it missed.
    const account account = drain(sluggish);
    CHECK(account.received + account.missed == total, "%lu + %lu of %lu", (unsigned long)account.received,
          (unsigned long)account.missed, (unsigned long)total);
    nothing_is_left(own_center, publisher, 2, 2);
}

void stopped_anywhere_in_a_small_post(void) { stopped_in((act){.size = 64}); }
void stopped_anywhere_in_a_chunk_post(void) { stopped_in((act){.size = 300}); }
void stopped_anywhere_in_a_retained_post(void) { stopped_in((act){.size = 64, .flags = TIDINGS_POST_RETAIN}); }

void stopped_anywhere_while_evicting(void) {
    stopped_in((act){.size = 300, .flags = TIDINGS_POST_RETAIN, .full = true});
}

// MARK: Batches

#define BATCH 4u
static const size_t sizes[BATCH] = {64, 8, 300, 64};

static void posts_a_batch(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME), *warm = publisher_of(center, "warm-up");
    static uint8_t bytes[BATCH][300];
    tidings_payload payloads[BATCH];
    for (uint32_t i = 0; i < BATCH; i++) {
        const stamp stamp = {.poster = 1, .number = i};
        memcpy(bytes[i], &stamp, sizeof stamp);
        payloads[i] = (tidings_payload){bytes[i], sizes[i]};
    }
    // Once before, so that everything lazy is done.
    OK(tidings_post_many(warm, payloads, BATCH, NULL, NULL, NULL));
    section_begin();
    const int result = tidings_post_many(publisher, payloads, BATCH, NULL, NULL, NULL);
    atomic_store(returned, 1);
    section_end();
    OK(result);
    for (;;) pause();
}

// Checks that this is the next notification of the batch.
static void check_next_of_batch(const tidings_delivery *delivery, uint32_t *came, uint64_t at) {
    CHECK(*came < BATCH && stamp_of(delivery).number == *came && delivery->size == sizes[*came],
          "after %lu instructions: %u of %zu bytes came, and %u had come", (unsigned long)at, stamp_of(delivery).number,
          delivery->size, *came);
    ++*came;
}

// Of a batch whose poster is killed, the first notifications arrive, in their order: all that it had committed.
void killed_anywhere_in_a_batch(void) {
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME), *bystander = observer_of(own_center, NULL);
    const uint64_t length = length_of(posts_a_batch);
    const uint32_t kills = moments(KILLS, length);
    uint64_t total = 2 * BATCH;
    CHECK(drain(observer).received == BATCH, "the one that wasn't killed");
    for (uint32_t kill = 0; kill < kills; kill++) {
        uint64_t at;
        const pid_t pid = stopped_at(posts_a_batch, moment(kill, kills, length), &at);
        const bool was_returned = atomic_load(returned);
        kill_and_reap(pid);
        post_number(publisher, kill);
        uint32_t came = 0;
        tidings_delivery delivery = receive(observer);
        for (; stamp_of(&delivery).poster == 1; delivery = receive(observer)) check_next_of_batch(&delivery, &came, at);
        CHECK(stamp_of(&delivery).number == kill, "killed after %lu of %lu instructions: %u", (unsigned long)at,
              (unsigned long)length, stamp_of(&delivery).number);
        CHECK(came == BATCH || !was_returned, "killed after %lu of %lu instructions: it returned, and %u came",
              (unsigned long)at, (unsigned long)length, came);
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN,
              "killed after %lu of %lu instructions: something came twice", (unsigned long)at, (unsigned long)length);
        total += BATCH + came + 1;  // with those of the warm-up
    }
    const account seen = drain(bystander);
    CHECK(seen.received + seen.missed == total, "%lu + %lu of %lu", (unsigned long)seen.received,
          (unsigned long)seen.missed, (unsigned long)total);
    nothing_is_left(own_center, publisher, 2, 2 * BATCH);
}

// While the poster of a batch stands still, other posts turn the ring three times. Then the rest of the batch comes.
void stopped_anywhere_in_a_batch(void) {
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME);
    const uint64_t length = length_of(posts_a_batch);
    (void)drain(observer);
    const uint32_t stops = moments(KILLS / 3, length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        uint64_t at;
        const pid_t pid = stopped_at(posts_a_batch, moment(stop, stops, length), &at);
        uint32_t came = 0;
        for (uint32_t number = 0; number < 3 * 256; number++) {
            post_number(publisher, number);
            tidings_delivery delivery = receive(observer);
            for (; stamp_of(&delivery).poster == 1; delivery = receive(observer))
                check_next_of_batch(&delivery, &came, at);
            CHECK(stamp_of(&delivery).number == number, "stopped after %lu of %lu instructions: %u instead of %u",
                  (unsigned long)at, (unsigned long)length, stamp_of(&delivery).number, number);
        }
        let_go(pid);
        while (!atomic_load(returned)) usleep(50);
        kill_and_reap(pid);
        for (tidings_delivery delivery; tidings_next(observer, 0, &delivery) == 0;)
            check_next_of_batch(&delivery, &came, at);
        CHECK(came == BATCH, "stopped after %lu of %lu instructions: %u came", (unsigned long)at, (unsigned long)length,
              came);
    }
    nothing_is_left(own_center, publisher, 1, 2 * BATCH);
}
