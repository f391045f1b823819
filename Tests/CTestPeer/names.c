// Names that come and go while others stand in the middle of looking for them, or die there.
#include "center/center.h"
#include "peer.h"
#include "registry/name_table.h"

#define CHAIN 4

static char chain[CHAIN][32];
static char elsewhere[64][32];

// Names of one bucket, and others of none of it.
static void choose_names(void) {
    uint32_t found = 0, others = 0;
    uint64_t bucket = 0;
    for (uint32_t i = 0; found < CHAIN || others < 64; i++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "chain.%u", i);
        tidings__key key;
        tidings__key_make(&key, name, (size_t)length, NULL, 0);
        if (found == 0) bucket = key.hash & 511;
        if ((key.hash & 511) != bucket) {
            if (others < 64) memcpy(elsewhere[others++], name, sizeof name);
        } else if (found < CHAIN) {
            memcpy(chain[found++], name, sizeof name);
        }
    }
}

static _Atomic uint32_t *stage;
static pipe_pair got;

// Joins the last name of a chain of three.
static void joins(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer;
    OK(tidings_observer_open(center, 0, &observer));
    uint32_t interest;
    section_begin();
    const int result = tidings_observer_add(observer, chain[0], strlen(chain[0]), NULL, 0, 0, &interest);
    section_end();
    OK(result);
    atomic_store(stage, 1);
    receive(observer);
    tell(&got);
}

// While it stands anywhere in that, the middle one of the chain goes, the ring turns, and the middle one's entry serves names of other chains. The name
// that is joined must still be one name: who posts it reaches those who joined before and those who join now.
void a_name_joined_while_its_chain_is_rebuilt_stays_one_name(void) {
    choose_names();
    stage = shared_memory(4096);
    got = pipe_open();
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 128, .names = 64});
    tidings_topic *topic = topic_of(center, chain[0]), *filler = topic_of(center, "filler");
    uint64_t length = 0;
    uint32_t stops = 1;
    for (uint32_t stop = 0; stop <= stops; stop++) {
        // The chain from its head: 2, 1, 0.
        tidings_observer *last = observer_of(center, chain[0]), *middle = observer_of(center, chain[1]), *head = observer_of(center, chain[2]);
        atomic_store(stage, 0);
        const pid_t pid = start_traced(joins);
        const uint64_t done = step(pid, stop == 0 ? UINT64_MAX : moment(stop - 1, stops, length), false);
        if (stop == 0) {
            length = done;
            stops = moments(60, length);
        }
        tidings_observer_close(middle);
        tidings_observer *users[64];
        uint32_t used = 0;
        for (int turn = 0; turn < 3; turn++) {
            for (uint32_t i = 0; i < 300; i++) post_number(filler, i);
            // Fills the table, so that entries are taken out of it, and used again.
            while (used < 64) {
                tidings_observer *observer;
                uint32_t interest;
                OK(tidings_observer_open(center, 0, &observer));
                if (tidings_observer_add(observer, elsewhere[used], strlen(elsewhere[used]), NULL, 0, 0, &interest) != 0) {
                    tidings_observer_close(observer);
                    break;
                }
                users[used++] = observer;
            }
        }
        let_go(pid);
        // A full table may have left no room for it: then it is told so.
        while (atomic_load(stage) == 0 && used > 0) {
            tidings_observer_close(users[--used]);
            usleep(100);
            int status;
            if (waitpid(pid, &status, WNOHANG) == 0) continue;
            CHECK(false, "stopped after %lu of %lu: it could not join (%x)", (unsigned long)done, (unsigned long)length, (unsigned)status);
        }
        while (atomic_load(stage) == 0) usleep(100);
        while (used > 0) tidings_observer_close(users[--used]);
        post_number(topic, stop);
        const tidings_delivery delivery = receive(last);
        CHECK(stamp_of(&delivery).number == stop, "%u at %u", stamp_of(&delivery).number, stop);
        told(&got);
        ends_well(pid);
        uint32_t entries = 0;
        tidings_name_info info;
        for (uint32_t i = 0; tidings_name(center, i, &info) != -ERANGE; i++) entries += strcmp(info.name, chain[0]) == 0;
        CHECK(entries <= 1, "stopped after %lu of %lu: %u entries of one name", (unsigned long)done, (unsigned long)length, entries);
        tidings_observer_close(last);
        tidings_observer_close(head);
        CHECK(tidings_tidy(center) == 1, "it left without closing");
    }
}

static void sets_a_value(void) {
    tidings_center *center = join_center(0);
    tidings_topic *topic = topic_of(center, NAME);
    OK(tidings_state_set(topic_of(center, "warm-up"), "w", 1, NULL));
    section_begin();
    const int result = tidings_state_set(topic, "kept", 4, NULL);
    section_end();
    OK(result);
}

// A value cleared earlier leaves the ring, and its name the table, while a new one is being set, stopped anywhere.
void a_value_set_while_its_name_is_being_cleared_away_is_kept(void) {
    choose_names();
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 128, .names = 64});
    tidings_topic *topic = topic_of(center, NAME), *filler = topic_of(center, "filler");
    uint64_t length = 0;
    uint32_t stops = 1;
    for (uint32_t stop = 0; stop <= stops; stop++) {
        OK(tidings_state_set(topic, "old", 3, NULL));
        OK(tidings_state_set(topic, NULL, 0, NULL));
        const pid_t pid = start_traced(sets_a_value);
        const uint64_t done = step(pid, stop == 0 ? UINT64_MAX : moment(stop - 1, stops, length), false);
        if (stop == 0) {
            length = done;
            stops = moments(60, length);
        }
        for (int turn = 0; turn < 3; turn++) {
            for (uint32_t i = 0; i < 300; i++) post_number(filler, i);
            for (uint32_t i = 0; i < 64; i++) {
                tidings_observer *observer;
                uint32_t interest;
                OK(tidings_observer_open(center, 0, &observer));
                (void)tidings_observer_add(observer, elsewhere[i], strlen(elsewhere[i]), NULL, 0, 0, &interest);
                tidings_observer_close(observer);
            }
        }
        let_go(pid);
        ends_well(pid);
        for (int turn = 0; turn < 2; turn++) {
            char value[8];
            size_t size = sizeof value;
            const int result = tidings_state_get(topic, value, &size, NULL, NULL);
            CHECK(result == 0 && size == 4 && memcmp(value, "kept", 4) == 0, "stopped after %lu of %lu, turn %d: %d, %zu bytes", (unsigned long)done,
                  (unsigned long)length, turn, result, size);
            for (uint32_t i = 0; i < 600; i++) post_number(filler, i);
        }
        CHECK(tidings_tidy(center) == 1, "it left without closing");
    }
}

static void observe_once(tidings_center *center, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "passing.%u", number);
    tidings_observer *observer;
    uint32_t interest;
    OK(tidings_observer_open(center, 0, &observer));
    OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &interest));
    tidings_observer_close(observer);
}

// Thousands of names pass through a table of 64; one that stays is not disturbed.
void names_that_are_observed_no_longer_make_room(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_topic *topic = topic_of(center, NAME);
    tidings_observer *stays = observer_of(center, NAME);
    for (uint32_t i = 0; i < 3000; i++) {
        observe_once(center, i);
        if (i % 50 != 0) continue;
        post_number(topic, i);
        const tidings_delivery delivery = receive(stays);
        CHECK(stamp_of(&delivery).number == i, "%u", i);
    }
    CHECK(statistics_of(center).names == 1, "%u names", statistics_of(center).names);
}

void names_whose_value_was_cleared_make_room(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_topic *filler = topic_of(center, "filler");
    for (uint32_t i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "session.%u", i);
        tidings_topic *topic = topic_of(center, name);
        int result = tidings_state_set(topic, "here", 4, NULL);
        CHECK(result == 0, "value %u can't be set (%d), though all others were cleared", i, result);
        OK(tidings_state_set(topic, NULL, 0, NULL));
        tidings_topic_close(topic);
        for (uint32_t n = 0; n < 30; n++) post_number(filler, n);
    }
}

// A retained post that is refused must not leave its name in the table for ever.
void retained_posts_that_failed_leave_no_name(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_topic *topic = topic_of(center, NAME);
    tidings_observer *holds = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    while (tidings_post(topic, "x", 1, NULL, NULL) == 0) {}
    for (uint32_t i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "refused.%u", i);
        tidings_topic *refused = topic_of(center, name);
        const int result = tidings_state_set(refused, "x", 1, NULL);
        CHECK(result == -EAGAIN, "state %u: %d", i, result);
        tidings_topic_close(refused);
    }
    tidings_observer_close(holds);
    for (uint32_t i = 0; i < 300; i++) OK(tidings_post(topic, "x", 1, NULL, NULL));
    CHECK(statistics_of(center).names == 0, "%u names are left, nobody observes and nothing is retained", statistics_of(center).names);
    for (uint32_t i = 0; i < 200; i++) observe_once(center, i);
}

static _Atomic uint32_t *kind;

// Leaves an entry in a state that its death in the middle of joining leaves, by hand.
static void dies_half_way(void) {
    tidings_center *center = join_center(0);
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of(center, "half");
    tidings__key key;
    tidings__key_make(&key, "half", 4, NULL, 0);
    tidings__name *entry = &s->names[tidings__name_find(s, &key)];
    const uint64_t state = tidings__relaxed(&entry->state), generation = state >> 20 << 20, own = (uint64_t)center->participant << 4;
    _Atomic uint64_t *bucket = &s->buckets[key.hash & (s->shape.buckets - 1)];
    switch (atomic_load(kind)) {
    case 0:  // prepared, not linked
        tidings__set_release(bucket, 0);
        tidings__set_release(&entry->state, generation | own | TIDINGS__NAME_PREPARING);
        break;
    case 1:  // linked by its state, but no chain leads to it
        tidings__set_release(bucket, 0);
        break;
    case 2:  // deciding whether it may go
        tidings__set_release(&entry->state, generation | own | TIDINGS__NAME_LEAVING);
        break;
    case 3:  // decided, not unlinked
        tidings__set_release(&entry->members[0], 0);
        tidings__set_release(&entry->state, generation | own | TIDINGS__NAME_GONE);
        break;
    case 4:  // and marked
        tidings__set_release(&entry->members[0], 0);
        tidings__set_release(&entry->state, generation | own | TIDINGS__NAME_GONE);
        tidings__fetch_or(&entry->next, TIDINGS__NEXT_MARK);
        break;
    default:  // unlinked, not free yet
        tidings__set_release(&entry->members[0], 0);
        tidings__set_release(&entry->state, generation | own | TIDINGS__NAME_GONE);
        tidings__fetch_or(&entry->next, TIDINGS__NEXT_MARK);
        tidings__set_release(bucket, 0);
        break;
    }
    (void)observer;
    kill(getpid(), SIGKILL);
}

void half_made_names_of_the_dead_are_freed(void) {
    kind = shared_memory(4096);
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_topic *topic = topic_of(center, "half");
    for (uint32_t round = 0; round < 60; round++) {
        atomic_store(kind, round % 6);
        int status;
        waitpid(start(dies_half_way), &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", (unsigned)status);
        CHECK(tidings_tidy(center) == 1, "one died");
        CHECK(statistics_of(center).names == 0 && statistics_of(center).observers == 0, "kind %u: %u names", round % 6, statistics_of(center).names);
        tidings_observer *observer = observer_of(center, "half");
        post_number(topic, round);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == round, "%u", round);
        tidings_observer_close(observer);
        for (uint32_t i = 0; i < 100; i++) observe_once(center, i);
    }
}
