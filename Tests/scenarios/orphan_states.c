// Orphans of dead participants, made by hand: doorbells half rung, chunks half posted, orphans half reclaimed.
#include "peer.h"
#include "posting/publisher.h"
#include "receiving/observer.h"
#include "registry/doorbell.h"
#include "ring/chunk.h"

static tidings_center *center;
static tidings__segment *s;
static tidings_publisher *publisher;
static tidings_observer *observer;

static void begin(void) {
    center = join_center(256);
    s = &center->segment;
    publisher = publisher_of(center, NAME);
    observer = observer_of(center, NAME);
}

// The only observer that is asleep.
static uint32_t sleeping_observer(void) {
    uint32_t index = 0;
    while (!(tidings__acquire(&s->header->asleep[0]) >> index & 1)) index++;
    return index;
}

// A tombstone at the next position.
static void leave_tombstone(void) {
    const uint64_t position = tidings__frontier(s, tidings__oldest(s));
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t phase = ~tidings__relaxed(&cell->commit) & 1;
    tidings__set_release(&cell->claim,
                         tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | phase << 32 | TIDINGS__W_DIED);
}

static pipe_pair woken;

static void sleeps_once(void) {
    tidings_center *own = join_center(0);
    tidings_observer *sleeper = observer_of(own, NAME);
    tidings_observer_spin(sleeper, 0);
    receive(sleeper);
    tell(&woken);
    tidings_observer_close(sleeper);
}

// A poster bumped the doorbell and died before it woke the sleeper: the next poster wakes it.
void rings_again_where_a_ringer_died(void) {
    begin();
    woken = pipe_open();
    tidings_observer_close(observer);
    for (uint32_t round = 0; round < 20; round++) {
        const pid_t pid = start(sleeps_once);
        until_asleep(pid, center, 1);
        const uint32_t index = sleeping_observer();
        tidings__fetch_add(&s->observers[index].doorbell, 2);
        if (round % 2) leave_tombstone();
        post_number(publisher, round);
        told(&woken);
        ends_well(pid);
        tidings_reclaim(center);
        CHECK(statistics_of(center).observers_asleep == 0, "its bit is still up");
    }
}

// An observer that dies asleep stays in the map until it is reclaimed: posters ring it in vain, and only once.
void rings_a_dead_sleeper_once(void) {
    begin();
    woken = pipe_open();
    const pid_t pid = start(sleeps_once);
    until_asleep(pid, center, 1);
    kill_and_reap(pid);
    CHECK(statistics_of(center).observers_asleep == 1, "its bit is up");
    const uint32_t index = sleeping_observer();
    post_number(publisher, 1);
    const uint32_t after = tidings__acquire(&s->observers[index].doorbell);
    for (uint32_t i = 0; i < 100; i++) post_number(publisher, i);
    CHECK(tidings__acquire(&s->observers[index].doorbell) == after, "it was rung again");
    CHECK(tidings_reclaim(center) == 1 && statistics_of(center).observers == 1 &&
              statistics_of(center).observers_asleep == 0,
          "reclaimed");
}

static _Atomic uint32_t *chunk_kind;

static void dies_with_chunks(void) {
    tidings_center *own = join_center(0);
    tidings__segment *segment = &own->segment;
    tidings_publisher *own_publisher = publisher_of(own, "other");
    static uint8_t bytes[500];
    tidings_reservation reservation;
    OK(tidings_reserve(own, 500, &reservation));
    const uint32_t chunk = (uint32_t)reservation.internal;
    uint64_t sequence;
    OK(tidings_post(own_publisher, bytes, sizeof bytes, NULL, &sequence));
    const uint32_t posted = (uint32_t)tidings__relaxed(&tidings__cell_at(segment, sequence)->body[0]);
    switch (atomic_load(chunk_kind)) {
        case 0: break;  // being filled
        case 1:         // claimed, not committed
            tidings__chunk_claimed(segment, own->participant, chunk, sequence + 1);
            break;
        default:  // committed, not said to be in the ring
            tidings__chunk_claimed(segment, own->participant, posted, sequence);
            break;
    }
    kill(getpid(), SIGKILL);
}

void frees_the_chunks_of_the_dead_and_keeps_those_they_posted(void) {
    begin();
    chunk_kind = shared_memory(4096);
    tidings_observer *of_other = observer_of(center, "other");
    for (uint32_t round = 0; round < 30; round++) {
        atomic_store(chunk_kind, round % 3);
        waitpid(start(dies_with_chunks), NULL, 0);
        CHECK(tidings_reclaim(center) == 1, "one died");
        const tidings_delivery delivery = receive(of_other);
        CHECK(delivery.size == 500, "%zu bytes", delivery.size);
        for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
        CHECK(drain(of_other).received == 0, "nothing more");
        CHECK(statistics_of(center).chunks_used == 0, "kind %u: %u chunks", round % 3,
              statistics_of(center).chunks_used);
    }
}

// Orphans of a participant whose reclaimer died half-way. All that the participant had taken is still there, or some of
// it.
void reclaims_half_reclaimed_orphans(void) {
    begin();
    for (uint32_t round = 0; round < 10; round++) {
        woken = pipe_open();
        const pid_t pid = start(sleeps_once);
        until_asleep(pid, center, 1);
        kill_and_reap(pid);
        const uint32_t index = sleeping_observer();
        const uint32_t entry = tidings__name_find(s, &publisher->key);
        if (round & 1) tidings__fetch_and(&s->names[entry].members[0], ~(UINT64_C(1) << index));
        if (round & 2) tidings__doorbell_withdraw(s, index);
        if (round & 4) tidings__set_relaxed(&s->observers[index].instance, 0);
        CHECK(tidings_reclaim(center) == 1, "one");
        const tidings_statistics statistics = statistics_of(center);
        CHECK(statistics.participants == 1 && statistics.observers == 1 && statistics.observers_asleep == 0, "left");
        CHECK(tidings__relaxed(&s->names[entry].members[0]) == UINT64_C(1) << observer->index, "members");
    }
}
