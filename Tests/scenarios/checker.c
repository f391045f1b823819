// The checker: what a fault in the target does to other processes. Posts return at once; there is one order without a
// gap; counts are exact; no process spins; nothing is left behind.
#include <sys/resource.h>
#include <time.h>

#include "faults.h"
#include "receiving/observer.h"

#define BATCH 32u
// Processor time: ten times what a batch takes on a slow machine, and far less than a wait for another process.
#define BATCH_NS (SANITIZED ? UINT64_C(1000000000) : UINT64_C(50000000))
#define LISTENER_NS (SANITIZED ? UINT64_C(3000000000) : UINT64_C(200000000))

static uint8_t bytes[1000];
static uint64_t last_sequence;
static uint32_t seen;  // of the checker's posts

void fill_payload(uint8_t *into, size_t size, uint32_t poster, uint32_t number) {
    const stamp stamp = {.poster = poster, .number = number};
    if (size == 0) return;
    memcpy(into, &stamp, sizeof stamp);
    for (size_t i = sizeof stamp; i < size; i++) into[i] = (uint8_t)(i * 31 + number * 7 + poster);
}

bool payload_is_whole(const uint8_t *from, size_t size) {
    uint8_t expected[1000];
    stamp stamp;
    if (size < sizeof stamp || size > sizeof expected) return false;
    memcpy(&stamp, from, sizeof stamp);
    fill_payload(expected, size, stamp.poster, stamp.number);
    return memcmp(expected, from, size) == 0;
}

uint32_t posted_under_name(void) { return world.named + world.of_target + world.of_child + world.empties; }

static bool post(tidings_publisher *publisher, size_t size, uint8_t flags) {
    fill_payload(bytes, size, 0, world.number);
    const tidings_post_options options = {.flags = flags};
    const int result = tidings_post(publisher, bytes, size, &options, NULL);
    if (result == -EAGAIN && operation->lossless) return false;
    SO(result == 0, "post %u answers %d", world.number, result);
    world.number++;
    return true;
}

bool checker_posts(bool named, size_t size, uint8_t flags) {
    if (!post(named ? world.publisher : world.filler, size, flags)) return false;
    world.named += named;
    return true;
}

void checker_posts_rare(void) {
    last_sequence = 0;
    seen = 0;
    post(world.rare, sizeof(stamp), 0);
}

static uint64_t processor_ns(clockid_t clock) {
    struct timespec time;
    CHECK(clock_gettime(clock, &time) == 0, "%s", strerror(errno));
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// How often it went to sleep. A page of the program that the kernel had dropped and fetches again does not count; it
// costs two sleeps: one for the page, one for the thread that fetches it.
static long naps(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0, "%s", strerror(errno));
    return usage.ru_nvcsw - 2 * usage.ru_majflt;
}

// One delivery to `prompt`.
static void see(const tidings_delivery *delivery) {
    SO(delivery->kind == TIDINGS_DELIVERY_MESSAGE, "missed %lu of everything", (unsigned long)delivery->missed);
    SO(delivery->sequence > last_sequence || seen == 0, "%lu after %lu", (unsigned long)delivery->sequence,
       (unsigned long)last_sequence);
    last_sequence = delivery->sequence;
    if (delivery->size == 0) {
        world.empties++;
        return;
    }
    SO(payload_is_whole(delivery->payload, delivery->size), "torn: %zu bytes at %lu", delivery->size,
       (unsigned long)delivery->sequence);
    const stamp stamp = stamp_of(delivery);
    switch (stamp.poster) {
        case 0:
            SO(stamp.number == seen, "the checker's %u came after %u of them", stamp.number, seen);
            seen++;
            break;
        case 1:
            SO(stamp.number == world.of_target && delivery->size == operation->size,
               "the target's %u, %zu bytes, came after %u", stamp.number, delivery->size, world.of_target);
            world.of_target++;
            break;
        case 2:
            SO(stamp.number == world.of_child, "the forked child's %u came after %u of them", stamp.number,
               world.of_child);
            world.of_child++;
            break;
        default: break;  // part of a scene
    }
}

void checker_sees(void) {
    tidings_delivery delivery;
    int result;
    // The checker's own posts have returned, so they are committed. Before them may be positions that no participant
    // has decided yet.
    while (seen < world.number) {
        result = tidings_next(world.prompt, (int64_t)hang_timeout_ns(), &delivery);
        SO(result == 0, "waiting for post %u: %d", seen, result);
        see(&delivery);
    }
    while ((result = tidings_next(world.prompt, 0, &delivery)) == 0) see(&delivery);
    SO(result == -EAGAIN, "the end of what is there is %d", result);
}

void checker_posts_laps(uint32_t laps) {
    bool held = false;
    for (uint32_t i = 0; i < laps * SLOTS && !held;) {
        const long before = naps();
        const uint64_t began = processor_ns(CLOCK_THREAD_CPUTIME_ID);
        do {
            const bool named = i % 8 == 3;
            const size_t size = i % 16 == 3 ? 300 : i % 16 == 9 ? 900 : 8 + i % 5 * 8;
            const uint8_t flags = named && i % 64 == 3 ? operation->flags & TIDINGS_POST_RETAIN : 0;
            // Held back under one name, perhaps not under the other.
            held = !checker_posts(named, size, flags) && !checker_posts(false, size, 0);
        } while (++i % BATCH != 0 && !held);
        const uint64_t took = processor_ns(CLOCK_THREAD_CPUTIME_ID) - began;
        SO(took < BATCH_NS, "%u posts took %lu us of processor time", BATCH, (unsigned long)took / 1000);
        // The thread may have waited in the kernel for a running thread.
        SO(naps() - before <= BATCH / 8, "%u posts went to sleep %ld times", BATCH, naps() - before);
        checker_sees();
    }
}

// MARK: Those beside it

void listen(void) {
    tidings_center *center;
    const tidings_configuration existing = {.flags = TIDINGS_OPEN_EXISTING};
    OK(tidings_open("scenario", &existing, &center));
    tidings_observer *observer = observer_of(center, NAME);
    tidings_observer_spin(observer, 0);
    atomic_store(&board->listener, observer->index + 1);
    tidings_delivery delivery;
    for (uint64_t last = 0; atomic_load(&board->listens);) {
        SO(tidings_next(observer, -1, &delivery) == 0, "the listener could not go on");
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            atomic_fetch_add(&board->lost, delivery.missed);
            continue;
        }
        SO(delivery.sequence > last || last == 0, "the listener heard %lu after %lu", (unsigned long)delivery.sequence,
           (unsigned long)last);
        last = delivery.sequence;
        atomic_fetch_add(&board->heard, 1);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

void listener_rests(void) {
    tidings__segment *s = &world.center->segment;
    const _Atomic uint32_t *doorbell = tidings__doorbell(s, atomic_load(&board->listener) - 1);
    // A poster that rings takes the flag. The listener sets it again after it has looked for notifications.
    while (!(atomic_load(doorbell) & 1) || process_state(world.listener) != 'S') usleep(50);
    clockid_t clock;
    CHECK(clock_getcpuclockid(world.listener, &clock) == 0, "no clock of the listener");
    const uint64_t took = processor_ns(clock);
    SO(took < LISTENER_NS, "an observer took %lu us of processor time", (unsigned long)took / 1000);
    checker_sees();
    const uint64_t heard = atomic_load(&board->heard), lost = atomic_load(&board->lost);
    const uint32_t posted = posted_under_name();
    SO(heard + lost == posted, "asleep, having heard %lu and missed %lu of %u", (unsigned long)heard,
       (unsigned long)lost, posted);
}

void child_lives(tidings_center *center, tidings_publisher *publisher) {
    uint8_t contents[400];
    tidings_observer *observer;
    uint32_t subscription;
    int result = 0;
    for (uint32_t i = 0; i < 9; i++) {
        if (i == 8) {
            OK(tidings_observer_open(center, 0, &observer));
            OK(tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, 0, &subscription));
        }
        const uint32_t number = atomic_load(&board->child_posted);
        const size_t size = i % 4 == 1 ? 300 : 24;
        fill_payload(contents, size, 2, number);
        result = tidings_post(publisher, contents, size, NULL, NULL);
        if (result == -EAGAIN && operation->lossless) continue;
        SO(result == 0, "a forked child's post %u answers %d", number, result);
        atomic_store(&board->child_posted, number + 1);
    }
    tidings_delivery delivery;
    while (result == 0) {
        SO(tidings_next(observer, (int64_t)hang_timeout_ns(), &delivery) == 0,
           "a forked child's own post does not come to it");
        if (delivery.kind == TIDINGS_DELIVERY_MISSED || delivery.size == 0) continue;
        SO(payload_is_whole(delivery.payload, delivery.size), "torn: %zu bytes at %lu", delivery.size,
           (unsigned long)delivery.sequence);
        if (stamp_of(&delivery).poster == 2) break;
    }
    tidings_observer_close(observer);
}

// MARK: At last

static void account_is_exact(tidings_observer *observer, uint64_t expected, const char *name) {
    const account account = drain(observer);
    SO(account.received + account.missed == expected, "%s: %lu received and %lu missed of %lu", name,
       (unsigned long)account.received, (unsigned long)account.missed, (unsigned long)expected);
}

static void once_around(void) {
    for (uint32_t i = 0; i < SLOTS; i++) {
        checker_posts(false, 8, 0);
        if (i % BATCH == BATCH - 1) checker_sees();
    }
}

void nothing_is_lost_nor_left(uint32_t participants) {
    tidings_center *center = world.center;
    tidings__segment *s = &center->segment;
    SO(tidings_reclaim(center) >= 0, "can't reclaim");
    if (operation->flags & TIDINGS_POST_RETAIN)
        SO(tidings_state_set(world.publisher, NULL, 0, NULL, NULL) == 0, "can't clear the value");
    // Once around without a look at them, so that nothing that is over holds a chunk; and once more, when every slot
    // has to serve.
    once_around();
    tidings_statistics before, now = statistics_of(center);
    // On a busy machine one of these posts may be revoked, and take another position: around again then.
    int rounds = 0;
    do {
        before = now;
        once_around();
        now = statistics_of(center);
    } while (now.revoked != before.revoked && ++rounds < 10);
    SO(now.posted == before.posted + SLOTS, "%lu positions for %u posts: a slot is held",
       (unsigned long)(now.posted - before.posted), SLOTS);
    listener_rests();
    SO(tidings_reclaim(center) == 0, "no participant died since");
    SO(now.participants == participants, "%u participants instead of %u", now.participants, participants);
    SO(now.observers == 4 && now.observers_lossless == 0, "%u observers instead of 4, %u of them lossless",
       now.observers, now.observers_lossless);
    for (uint32_t i = 0; now.chunks_used > 0 && i < s->geometry.chunk_count; i++) {
        const uint64_t word = atomic_load(&s->chunk_words[i]), state = word & 0xf;
        const bool over = word >> 16 != TIDINGS__CHUNK_NOWHERE && (int64_t)(word - (now.retained_from << 16)) < 0;
        SO(state == TIDINGS__CHUNK_FREE || state == TIDINGS__CHUNK_DROPPED || (state == TIDINGS__CHUNK_IN_RING && over),
           "chunk %u is left as %lx, the oldest is %lx", i, (unsigned long)word, (unsigned long)now.retained_from);
    }
    SO(now.chunks_used == 0, "%u chunks in use", now.chunks_used);
    for (uint32_t i = 0; i < PLACES; i++) {
        tidings_participant_holds holds;
        tidings_participant_holds_get(center, i, &holds);
        SO(holds.payloads == 0, "participant %u holds %u payloads", i, holds.payloads);
    }
    // Also those that do not count any more.
    for (uint32_t i = 0; s->header->holds_used.word != 0 && i < PLACES * TIDINGS__HOLDS; i++)
        SO(atomic_load(&s->holds[i / TIDINGS__HOLDS].held[i % TIDINGS__HOLDS]) == 0, "a hold is left as an orphan");
    const uint32_t names = operation->prefixes ? 3 : 2;
    SO(now.names == names, "%u names instead of %u", now.names, names);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < atomic_load(&s->header->names_used.word); i++) {
        const uint64_t state = atomic_load(&s->names[i].state) & 0xf;
        SO(state == TIDINGS__NAME_FREE || state == TIDINGS__NAME_LINKED, "name entry %u is left in state %lu", i,
           (unsigned long)state);
    }
    account_is_exact(world.sluggish, posted_under_name(), NAME);
    account_is_exact(world.seldom, 1, "rare");
}
