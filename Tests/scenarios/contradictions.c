// Words of a living center that contradict each other, written once and left alone (or, in the last scenario, again and
// again): whatever is asked of it then comes to an end. Bounds that multiply (names by the ring, observers by prefixes)
// are beyond what fuzzing sees, whose centers are small.
#include <pthread.h>
#include <sys/resource.h>

#include "center/center.h"
#include "eviction/evict.h"
#include "peer.h"
#include "posting/publisher.h"
#include "receiving/observer.h"
#include "registry/doorbell.h"
#include "registry/name_table.h"
#include "registry/participants.h"
#include "segment/eviction.h"
#include "segment/position.h"

// Each takes hundredths of it, and took more, or never ended. Of processor time: the machine may be busy.
#define ENDS_IN (SANITIZED ? 40.0 : 2.0)

static double used(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "%s", strerror(errno));
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

#define ENDS(call)                                                                                                     \
    do {                                                                                                               \
        const double before = used();                                                                                  \
        (void)(call);                                                                                                  \
        CHECK(used() - before < ENDS_IN, #call " took %.1f s", used() - before);                                       \
    } while (0)

static void fill(tidings_center *center) {
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < center->segment.shape.slots; i++) OK(tidings_post(publisher, "x", 1, NULL, NULL));
}

static void back_all_names(tidings__segment *s) {
    OK(tidings__back_names(s, s->shape.names));
    atomic_store(&s->header->names_used.word, s->shape.names);
}

// A prefix that fits what `fill` posts, linked to itself.
static tidings__name *endless_prefix(tidings__segment *s) {
    tidings__name *name = &s->names[5];
    atomic_store(&s->header->names_used.word, 10);
    atomic_store(&name->state, TIDINGS__NAME_LINKED);
    atomic_store(&name->lengths, TIDINGS__LENGTHS_PREFIX | 1);
    atomic_store(&name->key[0], (uint64_t)NAME[0]);
    atomic_store(&name->next, 5);
    atomic_store(&s->names[TIDINGS__NAME_ALL].next, 5);
    return name;
}

// A revoked claim whose owner goes on holds its slot. All slots look held only if as many threads were stopped, or if a
// peer has written so.
void posting_where_each_slot_looks_held_is_refused(void) {
    for (int how = 0; how < 2; how++) {
        tidings_center *center = join_center(256);
        tidings__segment *s = &center->segment;
        fill(center);
        fill(center);
        for (uint32_t i = 0; i < s->shape.slots; i++) {
            tidings__cell *cell = &s->cells[i];
            if (how == 0)
                atomic_store(&cell->verdict, tidings__v_of(atomic_load(&cell->commit) >> 1, TIDINGS__V_DEAD));
            else
                atomic_fetch_xor(&cell->commit, 1);
        }
        tidings_publisher *publisher = publisher_of(center, "refused");
        const int result = tidings_post(publisher, "x", 1, NULL, NULL);
        CHECK(result == -EBUSY && strstr(tidings_last_error(), "256 slots"), "%d: %s", result, tidings_last_error());
        OK(tidings_remove(center->segment.name, NULL));
    }
}

// Each entry on its way out, and all of them in one chain: to find each takes a walk along all before it.
void names_that_all_go_in_one_chain_are_left_after_a_while(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 65536});
    tidings__segment *s = &center->segment;
    back_all_names(s);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        tidings__name *name = &s->names[i];
        atomic_store(&name->state, TIDINGS__NAME_GONE);
        atomic_store(&name->lengths, 1);
        atomic_store(&name->next, TIDINGS__NEXT_MARK | (i + 1 < s->shape.names ? i + 1 : TIDINGS__NAME_NONE));
    }
    atomic_store(&s->buckets[0], TIDINGS__NEXT_MARK | TIDINGS__NAME_FIRST);
    tidings__key key;
    uint32_t entry;
    tidings__key_make(&key, "one more", 8, NULL, 0);
    ENDS(tidings__name_join(s, center->participant, &key, TIDINGS__TO_COUNT, &entry));
    ENDS(tidings_reclaim(center));
}

// A prefix on its way out that leads to itself, and is sought in the chain of all names.
void a_prefix_that_goes_and_comes_again_is_left_after_a_while(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 65536});
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    OK(tidings_observer_add(observer, "prefix", 6, NULL, 0, TIDINGS_ADD_PREFIX, &subscription));
    back_all_names(s);
    const uint32_t last = s->shape.names - 1;
    for (uint32_t i = TIDINGS__NAME_FIRST + 1; i < last; i++) {
        atomic_store(&s->names[i].state, TIDINGS__NAME_LINKED);
        atomic_store(&s->names[i].members[0], 2);
        atomic_store(&s->names[i].next, i + 1);
    }
    atomic_store(&s->buckets[0], TIDINGS__NAME_FIRST + 1);
    atomic_store(&s->names[last].state, TIDINGS__NAME_GONE);
    atomic_store(&s->names[last].lengths, 1);
    atomic_store(&s->names[last].next, TIDINGS__NEXT_MARK | last);
    atomic_store(&s->names[TIDINGS__NAME_ALL].next, last);
    ENDS(tidings_observer_remove(observer, subscription));
}

// Each name says that the ring may hold its value, and no record answers: the library must not walk the ring for each
// name.
void names_that_all_ask_for_the_ring_are_not_all_answered(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 32768, .names = 16384});
    tidings__segment *s = &center->segment;
    fill(center);
    back_all_names(s);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        atomic_store(&s->names[i].state, TIDINGS__NAME_LINKED);
        atomic_store(&s->names[i].retained, TIDINGS__RETAINED_EXPECTED);
    }
    tidings_statistics statistics;
    ENDS(tidings_statistics_get(center, &statistics));
    atomic_store(&tidings__cell_at(s, tidings__oldest(s))->commit, TIDINGS__C_NEVER);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    ENDS(tidings_observer_add(observer, "one more", 8, NULL, 0, 0, &subscription));
}

// All observers are one's, lossless, and far behind.
void a_participant_with_all_observers_is_looked_at_once(void) {
    tidings_center *center = join_center(512);
    tidings__segment *s = &center->segment;
    fill(center);
    endless_prefix(s);
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        atomic_store(&s->observers[i].owner, center->participant + 1);
        atomic_store(&s->observers[i].cursor, 0);
    }
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) atomic_store(&s->header->lossless[i], UINT64_MAX);
    tidings_participant_observers observers;
    ENDS(tidings_participant_observers_get(center, center->participant, &observers));
    CHECK(observers.observers == s->shape.observers && observers.lossless == observers.observers, "%u",
          observers.observers);
}

// Each name is observed by all, and they are of a participant that is asked after by system calls.
void names_that_all_observe_are_counted_without_asking_for_each(void) {
    const tidings_configuration configuration = {.slots = 256, .names = 8192};
    tidings_center *center = join_center_with(configuration), *other = join_center_with(configuration);
    tidings__segment *s = &center->segment;
    back_all_names(s);
    for (uint32_t i = 0; i < s->shape.observers; i++) atomic_store(&s->observers[i].owner, other->participant + 1);
    for (uint32_t i = TIDINGS__NAME_FIRST; i < s->shape.names; i++) {
        atomic_store(&s->names[i].state, TIDINGS__NAME_LINKED);
        for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++) atomic_store(&s->names[i].members[word], UINT64_MAX);
    }
    tidings_orphans orphans;
    ENDS(tidings_orphans_get(center, &orphans));
    CHECK(orphans.observers == 0 && orphans.names == 0, "%u observers, %u names without a dead participant",
          orphans.observers, orphans.names);
}

// One of three prefixes in a ring has no observer. The bound of the walk is then reached in the middle of the prefixes
// that are counted together.
void an_evicting_thread_leaves_a_ring_of_prefixes(void) {
    tidings_center *center = join_center(256);
    tidings__segment *s = &center->segment;
    fill(center);
    endless_prefix(s);
    for (uint32_t i = 0; i < 3; i++) {
        tidings__name *name = &s->names[5 + i];
        atomic_store(&name->state, TIDINGS__NAME_LINKED);
        atomic_store(&name->lengths, TIDINGS__LENGTHS_PREFIX | 1);
        atomic_store(&name->next, 5 + (i + 1) % 3);
        if (i == 2) continue;
        atomic_store(&name->members[0], 1);
        atomic_store(&name->wake_group, 1);
    }
    tidings_publisher *publisher = publisher_of(center, NAME);
    ENDS(tidings_post(publisher, "x", 1, NULL, NULL));
}

// A thousand lossless observers without a process hold back all there is to evict.
void lossless_observers_without_a_process_are_checked_once_a_range(void) {
    const uint32_t slots = ROUNDS(16384) < 16384 ? 2048 : 16384;
    tidings_center *center = join_center(slots);
    tidings__segment *s = &center->segment;
    tidings_observer *observer;
    OK(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer));
    keep(observer);
    fill(center);
    tidings__name *prefix = endless_prefix(s);
    for (uint32_t i = 0; i < s->shape.observers; i++) {
        if (i == observer->index) continue;
        atomic_store(&s->observers[i].owner, 1);
        atomic_store(&s->observers[i].instance, 4711);
        atomic_store(&s->observers[i].cursor, 0);
        atomic_fetch_or(&prefix->members[i / 64], UINT64_C(1) << i % 64);
    }
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) atomic_store(&s->header->lossless[i], UINT64_MAX);
    uint32_t holder;
    ENDS(tidings__evict_to(center, tidings__frontier(s, 0), &(tidings__effort){0}, &holder));
    CHECK(tidings__oldest(s) >= slots, "evicted to %lu", (unsigned long)tidings__oldest(s));
}

// Bits of observers that there is no place for, as members and as asleep: what lies behind the places is not taken for
// their doorbells.
void an_observer_without_a_place_is_not_rung(void) {
    tidings_center *center =
        join_center_with((tidings_configuration){.slots = 256, .participants = 4, .observers = 100});
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of(center, NAME);
    const uint32_t places = s->shape.observers;
    CHECK(places < TIDINGS__OBSERVERS_MAX && places % 64 != 0, "%u places", places);
    tidings__name *name = &s->names[tidings__relaxed(&observer->table)->of[0]->entry];
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) {
        atomic_store(&name->members[i], UINT64_MAX);
        atomic_store(&s->header->asleep[i], UINT64_MAX);
    }
    atomic_store(&name->wake_group, UINT32_MAX);
    static tidings__observer_entry behind[64];
    for (uint32_t i = 0; i < 64; i++) {
        atomic_store(&s->observers[places + i].doorbell, TIDINGS__ASLEEP);
        atomic_store(&s->observers[places + i].group_waits[0], (uint32_t)(name - s->names));
    }
    memcpy(behind, &s->observers[places], sizeof behind);
    tidings_publisher *publisher = publisher_of(center, NAME);
    ENDS(tidings_post(publisher, "x", 1, NULL, NULL));
    CHECK(memcmp(behind, &s->observers[places], sizeof behind) == 0, "a doorbell was rung behind the last place");
}

static tidings__name *valued;
static _Atomic bool has_ended;

// The value's chunk holds neither of the two positions.
static void *changes_the_value(void *unused) {
    (void)unused;
    const uint64_t value = atomic_load(&valued->retained);
    for (uint64_t turn = 0; !atomic_load(&has_ended); turn++)
        atomic_store(&valued->retained, value + ((1 + turn % 2) << 16));
    return NULL;
}

// A search that finds the value changed begins again, and each one is a walk along the ring.
void a_value_that_changes_again_and_again_is_searched_a_few_times(void) {
    tidings_center *center = join_center(4096);
    tidings_publisher *publisher = publisher_of(center, "value");
    OK(tidings_state_set(publisher, "x", 1, NULL, NULL));
    fill(center);
    fill(center);
    valued = &center->segment.names[tidings__name_find(&center->segment, &publisher->key)];
    const uint64_t first = atomic_load(&valued->retained);
    CHECK(first != 0, "the value is still in the ring");
    pthread_t thread;
    OK(pthread_create(&thread, NULL, changes_the_value, NULL));
    while (atomic_load(&valued->retained) == first) usleep(100);
    for (uint32_t i = 0; i < 20; i++) {
        uint8_t value;
        size_t size = sizeof value;
        ENDS(tidings_state_get(publisher, &value, &size, NULL, NULL));
    }
    atomic_store(&has_ended, true);
    OK(pthread_join(thread, NULL));
}
