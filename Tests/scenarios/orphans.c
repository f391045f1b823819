// Orphans: each kind of what dead and stopped participants leave in a center is told apart. It is reclaimed while other
// participants go on; then nothing is left.
#include "by_hand.h"
#include "eviction/evict.h"
#include "leave.h"
#include "receiving/observer.h"
#include "registry/name_table.h"
#include "ring/claim.h"
#include "segment/eviction.h"

enum { ALONE, OBSERVERS, PAYLOAD, CLAIM, NAME_HALF_MADE, VERDICT, KINDS };

static uint32_t kind;
static pipe_pair ready;

// Claims like a poster from another pid namespace, as far as its peers can know.
static uint64_t claims_as_foreign(tidings_center *own) {
    _Atomic uint64_t hint = 0;
    tidings__claim claim;
    const tidings__claimant by = {&own->segment, NULL, &hint, (uint32_t)TIDINGS__W_FOREIGN | own->participant, true};
    while (tidings__claim_next(&by, &(uint32_t){0}, &claim) != 0) {
        const int result = tidings__make_room(own, hint, &(tidings__effort){0}, &(uint32_t){0});
        CHECK(result == 0 || result == -EAGAIN, "%d", result);
    }
    return claim.position;
}

// Up to the moment of its death.
static void leaves(void) {
    tidings_center *own = join_center(0);
    tidings__segment *s = &own->segment;
    switch (kind) {
        case OBSERVERS:
            observer_with(own, "only.theirs", TIDINGS_OBSERVE_LOSSLESS, 0);
            observer_of(own, "only.theirs");
            break;
        case PAYLOAD: OK(tidings_reserve(own, 5000, &(tidings_reservation){0})); break;
        case CLAIM: (void)claims_as_foreign(own); break;
        case NAME_HALF_MADE: {
            tidings__key key;
            tidings__key_make(&key, "half", 4, NULL, 0);
            uint32_t index;
            OK(tidings__name_join(s, own->participant, &key, TIDINGS__TO_COUNT, &index));
            const uint64_t state = tidings__acquire(&s->names[index].state);
            tidings__set_release(&s->names[index].state,
                                 (state & ~UINT64_C(0xfffff)) | (uint64_t)own->participant << 4 | TIDINGS__NAME_GONE);
            break;
        }
        case VERDICT: {
            const uint64_t position = claims_as_foreign(own);
            uint64_t before = tidings__acquire(&tidings__cell_at(s, position)->verdict);
            // Another participant may have asked, and answered.
            if (before >> 2 != position)
                (void)tidings__cas(&tidings__cell_at(s, position)->verdict, &before,
                                   tidings__v_of(position, TIDINGS__V_PENDING));
            break;
        }
        default: break;
    }
    tell(&ready);
    for (;;) pause();
}

static pid_t start_leaving(uint32_t what) {
    kind = what;
    const pid_t pid = start(leaves);
    told(&ready);
    return pid;
}

bool leave_orphans(const char *what) {
    static const char *const names[KINDS] = {"alone", "observers", "payload", "claim", "name", "verdict"};
    for (uint32_t i = 0; i < KINDS; i++) {
        if (strcmp(names[i], what) != 0) continue;
        ready = pipe_open();
        kill_and_reap(start_leaving(i));
        return true;
    }
    return false;
}

static tidings_orphans orphans_of(tidings_center *center) {
    tidings_orphans orphans;
    OK(tidings_orphans_get(center, &orphans));
    return orphans;
}

#define IS(field)                                                                                                      \
    CHECK(found.field == expected.field, "kind %u: %u " #field " instead of %u", what, (unsigned)found.field,          \
          (unsigned)expected.field)
static void orphans_are(tidings_center *center, uint32_t what, tidings_orphans expected) {
    const tidings_orphans found = orphans_of(center);
    IS(participants);
    IS(observers);
    IS(observers_lossless);
    IS(names);
    IS(payloads);
    IS(claims);
    IS(evictions);
    IS(verdicts);
    IS(slots_held);
    IS(holder);
}

static void nothing_orphans(tidings_center *center, uint32_t what) { orphans_are(center, what, (tidings_orphans){0}); }

static void posts_and_receives(tidings_center *center) {
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < 600; i++) {
        post_number(publisher, i);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
    }
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
}

void each_kind_of_orphans_is_reported_and_reclaimed(void) {
    static const tidings_orphans expected[KINDS] = {
        [ALONE] = {.participants = 1},
        [OBSERVERS] = {.participants = 1, .observers = 2, .observers_lossless = 1, .names = 1},
        [PAYLOAD] = {.participants = 1, .payloads = 1},
        [CLAIM] = {.participants = 1, .claims = 1},
        [NAME_HALF_MADE] = {.participants = 1, .names = 1},
        [VERDICT] = {.participants = 1, .claims = 1, .verdicts = 1},
    };
    ready = pipe_open();
    tidings_center *center = join_center(256);
    posts_and_receives(center);
    for (uint32_t round = 0; round < 3 * KINDS; round++) {
        const pid_t pid = start_leaving(round % KINDS);
        // While alive it leaves no orphans, except a verdict: no participant can know that its owner is at work.
        orphans_are(center, round % KINDS, (tidings_orphans){.verdicts = round % KINDS == VERDICT});
        kill_and_reap(pid);
        orphans_are(center, round % KINDS, expected[round % KINDS]);
        CHECK(tidings_reclaim(center) == 1, "one died");
        nothing_orphans(center, round % KINDS);
        CHECK(statistics_of(center).participants == 1 && statistics_of(center).observers == 0 &&
                  statistics_of(center).names == 0 && statistics_of(center).chunks_used == 0,
              "left");
        posts_and_receives(center);
    }
}

// An evicting thread died while it counted the oldest notifications.
void an_eviction_left_half_way_is_told_and_finished(void) {
    tidings_center *center = join_center(256);
    const tidings__segment *s = &center->segment;
    posts_and_receives(center);
    for (uint32_t round = 0; round < 10; round++) {
        tidings__set_release(&s->header->eviction.word, tidings__ev_evicting(tidings__oldest(s), 1 + round * 7));
        orphans_are(center, round, (tidings_orphans){.evictions = 1});
        OK(tidings_reclaim(center));
        nothing_orphans(center, round);
        posts_and_receives(center);
    }
}

// A revoked post holds its slot as long as its poster stands still: that is told, with whose it is, and mends itself
// when it goes on or dies.
void a_slot_held_by_a_stopped_poster_is_reported_and_not_repaired(void) {
    ready = pipe_open();
    tidings_center *center = join_center(256);
    const pid_t pid = start_leaving(CLAIM);
    CHECK(kill(pid, SIGSTOP) == 0, "%s", strerror(errno));
    const uint64_t own = claim_by(center, (uint32_t)getpid());
    posts_and_receives(center);  // laps both
    tidings_orphans held = orphans_of(center);
    CHECK(held.slots_held == 2 && held.claims == 0 && (held.holder == pid || held.holder == getpid()),
          "%u slots, by %d", held.slots_held, held.holder);
    OK(tidings_reclaim(center));
    CHECK(orphans_of(center).slots_held == 2, "it isn't theirs any more");
    commit_at(center, own);
    CHECK(!tidings__verdict_of_owner(tidings__cell_at(&center->segment, own), own), "we are told");
    held = orphans_of(center);
    CHECK(held.slots_held == 1 && held.holder == pid, "%u slots, by %d", held.slots_held, held.holder);
    kill_and_reap(pid);
    orphans_are(center, CLAIM, (tidings_orphans){.participants = 1, .claims = 1});
    CHECK(tidings_reclaim(center) == 1, "it died");
    nothing_orphans(center, CLAIM);
    posts_and_receives(center);
}

// MARK: While other participants go on

static _Atomic uint32_t *over;

static void posts_numbers(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    stamp stamp = {.poster = kind};
    for (stamp.number = 1; !atomic_load(over); stamp.number++) {
        OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1}, NULL));
        if (stamp.number % 100 == 0) usleep(100);
    }
    stamp.number = 0;
    OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1}, NULL));
    tidings_publisher_close(publisher);
    tidings_close(center);
}

static void observes_without_a_gap(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    uint32_t last[2] = {0}, ends = 0;
    while (ends < 2) {
        const tidings_delivery delivery = receive(observer);
        const stamp stamp = stamp_of(&delivery);
        if (stamp.number == 0)
            ends++;
        else
            CHECK(stamp.number == last[stamp.poster] + 1, "poster %u: %u after %u", stamp.poster, stamp.number,
                  last[stamp.poster]);
        last[stamp.poster] = stamp.number;
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

void orphans_are_reclaimed_while_other_participants_go_on(void) {
    ready = pipe_open();
    over = shared_memory(4096);
    tidings_center *center = join_center(256);
    const pid_t observer = start(observes_without_a_gap);
    told(&ready);
    pid_t posters[2];
    for (kind = 0; kind < 2; kind++) posters[kind] = start(posts_numbers);
    for (uint32_t round = 0; round < ROUNDS(30); round++) {
        const uint32_t dying = 1 + (uint32_t)random_below(4);
        pid_t pids[4];
        for (uint32_t i = 0; i < dying; i++) pids[i] = start_leaving((uint32_t)random_below(KINDS));
        for (uint32_t i = 0; i < dying; i++) kill_and_reap(pids[i]);
        CHECK(orphans_of(center).participants >= 1, "%u died, and no orphan is found",
              dying);  // other participants have reclaimed some of them
        CHECK(tidings_reclaim(center) >= 0, "reclaim");
        const tidings_orphans left = orphans_of(center);
        CHECK(left.participants == 0 && left.observers == 0 && left.names == 0 && left.payloads == 0 &&
                  left.claims == 0,
              "round %u: %u participants, %u claims are left", round, left.participants, left.claims);
    }
    atomic_store(over, 1);
    for (int i = 0; i < 2; i++) ends_well(posters[i]);
    ends_well(observer);
    nothing_orphans(center, KINDS);
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.participants == 1 && statistics.observers == 0 && statistics.names == 0 &&
              statistics.chunks_used == 0,
          "left");
}
