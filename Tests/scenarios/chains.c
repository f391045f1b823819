// Names come and go while another process stands anywhere in the middle of a search for them.
#include "peer.h"
#include "registry/name_table.h"

#define CHAIN 4

static char chain[CHAIN][32];
static char elsewhere[64][32];

// Names of one bucket, and names of other buckets.
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
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    section_begin();
    const int result = tidings_observer_add(observer, chain[0], strlen(chain[0]), NULL, 0, 0, &subscription);
    section_end();
    OK(result);
    atomic_store(stage, 1);
    receive(observer);
    tell(&got);
}

// While it stands anywhere in that, the middle name of the chain goes, the ring turns, and the middle name's entry
// serves names of other chains. The joined name must still be one name: its posters reach the observers that joined
// before and the ones that join now.
void a_name_joined_while_its_chain_is_rebuilt_stays_one_name(void) {
    choose_names();
    stage = shared_memory(4096);
    got = pipe_open();
    tidings_center *center =
        join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 128, .names = 64});
    tidings_publisher *publisher = publisher_of(center, chain[0]), *filler = publisher_of(center, "filler");
    uint64_t length = 0;
    uint32_t stops = 1;
    for (uint32_t stop = 0; stop <= stops; stop++) {
        // The chain from its head: 2, 1, 0.
        tidings_observer *last = observer_of(center, chain[0]), *middle = observer_of(center, chain[1]),
                         *head = observer_of(center, chain[2]);
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
                uint32_t subscription;
                tidings_observer *observer = observer_of_nothing(center);
                if (tidings_observer_add(observer, elsewhere[used], strlen(elsewhere[used]), NULL, 0, 0,
                                         &subscription) != 0) {
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
            CHECK(false, "stopped after %lu of %lu: it could not join (%x)", (unsigned long)done, (unsigned long)length,
                  (unsigned)status);
        }
        while (atomic_load(stage) == 0) usleep(100);
        while (used > 0) tidings_observer_close(users[--used]);
        post_number(publisher, stop);
        const tidings_delivery delivery = receive(last);
        CHECK(stamp_of(&delivery).number == stop, "%u at %u", stamp_of(&delivery).number, stop);
        told(&got);
        ends_well(pid);
        uint32_t entries = 0;
        tidings_name_info info;
        for (uint32_t i = 0; tidings_name(center, i, &info) != -ERANGE; i++)
            entries += strcmp(info.name, chain[0]) == 0;
        CHECK(entries <= 1, "stopped after %lu of %lu: %u entries of one name", (unsigned long)done,
              (unsigned long)length, entries);
        tidings_observer_close(last);
        tidings_observer_close(head);
        CHECK(tidings_reclaim(center) == 1, "it left without closing");
    }
}

static void sets_a_value(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    OK(tidings_state_set(publisher_of(center, "warm-up"), "w", 1, NULL, NULL));
    section_begin();
    const int result = tidings_state_set(publisher, "kept", 4, NULL, NULL);
    section_end();
    OK(result);
}

// A value cleared earlier leaves the ring, and its name the table, while a new one is being set, stopped anywhere.
void a_value_set_while_its_name_is_being_cleared_away_is_kept(void) {
    choose_names();
    tidings_center *center =
        join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 128, .names = 64});
    tidings_publisher *publisher = publisher_of(center, NAME), *filler = publisher_of(center, "filler");
    uint64_t length = 0;
    uint32_t stops = 1;
    for (uint32_t stop = 0; stop <= stops; stop++) {
        OK(tidings_state_set(publisher, "old", 3, NULL, NULL));
        OK(tidings_state_set(publisher, NULL, 0, NULL, NULL));
        const pid_t pid = start_traced(sets_a_value);
        const uint64_t done = step(pid, stop == 0 ? UINT64_MAX : moment(stop - 1, stops, length), false);
        if (stop == 0) {
            length = done;
            stops = moments(60, length);
        }
        for (int turn = 0; turn < 3; turn++) {
            for (uint32_t i = 0; i < 300; i++) post_number(filler, i);
            for (uint32_t i = 0; i < 64; i++) {
                uint32_t subscription;
                tidings_observer *observer = observer_of_nothing(center);
                (void)tidings_observer_add(observer, elsewhere[i], strlen(elsewhere[i]), NULL, 0, 0, &subscription);
                tidings_observer_close(observer);
            }
        }
        let_go(pid);
        ends_well(pid);
        for (int turn = 0; turn < 2; turn++) {
            char value[8];
            size_t size = sizeof value;
            const int result = tidings_state_get(publisher, value, &size, NULL, NULL);
            CHECK(result == 0 && size == 4 && memcmp(value, "kept", 4) == 0,
                  "stopped after %lu of %lu, turn %d: %d, %zu bytes", (unsigned long)done, (unsigned long)length, turn,
                  result, size);
            for (uint32_t i = 0; i < 600; i++) post_number(filler, i);
        }
        CHECK(tidings_reclaim(center) == 1, "it left without closing");
    }
}
