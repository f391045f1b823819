// Names without an observer make room; half-made names of dead participants are freed.
#include "center/center.h"
#include "peer.h"
#include "receiving/observer.h"
#include "registry/name_table.h"

static void observe_once(tidings_center *center, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "passing.%u", number);
    uint32_t subscription;
    tidings_observer *observer = observer_of_nothing(center);
    OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
    tidings_observer_close(observer);
}

// Thousands of names pass through a table of 64; one that stays is not disturbed.
void names_that_are_observed_no_longer_make_room(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *stays = observer_of(center, NAME);
    for (uint32_t i = 0; i < 3000; i++) {
        observe_once(center, i);
        if (i % 50 != 0) continue;
        post_number(publisher, i);
        const tidings_delivery delivery = receive(stays);
        CHECK(stamp_of(&delivery).number == i, "%u", i);
    }
    CHECK(statistics_of(center).names == 1, "%u names", statistics_of(center).names);
}

void names_whose_value_was_cleared_make_room(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_publisher *filler = publisher_of(center, "filler");
    for (uint32_t i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "session.%u", i);
        tidings_publisher *publisher = publisher_of(center, name);
        int result = tidings_state_set(publisher, "here", 4, NULL, NULL);
        CHECK(result == 0, "value %u can't be set (%d), though all others were cleared", i, result);
        OK(tidings_state_set(publisher, NULL, 0, NULL, NULL));
        tidings_publisher_close(publisher);
        for (uint32_t n = 0; n < 30; n++) post_number(filler, n);
    }
}

// A retained post that is refused must not leave its name in the table for ever.
void retained_posts_that_failed_leave_no_name(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *holds = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    while (tidings_post(publisher, "x", 1, NULL, NULL) == 0) {}
    for (uint32_t i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "refused.%u", i);
        tidings_publisher *refused = publisher_of(center, name);
        const int result = tidings_state_set(refused, "x", 1, NULL, NULL);
        CHECK(result == -EAGAIN, "state %u: %d", i, result);
        tidings_publisher_close(refused);
    }
    tidings_observer_close(holds);
    for (uint32_t i = 0; i < 300; i++) OK(tidings_post(publisher, "x", 1, NULL, NULL));
    CHECK(statistics_of(center).names == 0, "%u names are left, without an observer or a retained value",
          statistics_of(center).names);
    for (uint32_t i = 0; i < 200; i++) observe_once(center, i);
}

static uint64_t members_of(tidings_center *center, const char *name) {
    tidings__key key;
    tidings__key_make(&key, name, strlen(name), NULL, 0);
    const uint32_t entry = tidings__name_find(&center->segment, &key);
    return entry == TIDINGS__NAME_NONE ? 0 : tidings__name_members(&center->segment.names[entry]);
}

// Subscriptions that go together: all of them or none, and the others receive as before.
void many_subscriptions_go_together_or_none_does(void) {
    enum { COUNT = 200 };
    tidings_center *center = join_center(1024);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscriptions[COUNT], again, gone[COUNT], count = 0;
    tidings_publisher *publishers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "of many.%u", i);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscriptions[i]));
        publishers[i] = publisher_of(center, name);
    }
    // A second subscription to a name whose first one goes.
    OK(tidings_observer_add(observer, "of many.0", 9, NULL, 0, 0, &again));
    for (uint32_t i = COUNT; i-- > 0;)
        if (i % 3 == 0) gone[count++] = subscriptions[i];
    OK(tidings_observer_remove_many(observer, NULL, 0));
    gone[count] = again + 1;
    CHECK(tidings_observer_remove_many(observer, gone, count + 1) == -ENOENT, "one of them is none");
    gone[count] = gone[0];
    CHECK(tidings_observer_remove_many(observer, gone, count + 1) == -ENOENT, "one of them twice");
    for (uint32_t i = 0; i < COUNT; i++) post_number(publishers[i], i);
    for (uint32_t i = 0; i < COUNT; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u, though none was removed", stamp_of(&delivery).number);
        CHECK(delivery.subscription_count == (i == 0 ? 2 : 1), "%zu of %u", delivery.subscription_count, i);
    }
    // Posted before the removal: what the subscriptions that stay had not received yet.
    for (uint32_t i = 0; i < COUNT; i++) post_number(publishers[i], i);
    OK(tidings_observer_remove_many(observer, gone, count));
    CHECK(tidings_observer_remove_many(observer, gone, count) == -ENOENT, "twice");
    for (uint32_t i = 0; i < COUNT; i++) post_number(publishers[i], i);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        if (i % COUNT % 3 == 0 && i % COUNT > 0) continue;
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i % COUNT, "%u, not %u", stamp_of(&delivery).number, i % COUNT);
        CHECK(delivery.subscriptions[0] == (i % COUNT == 0 ? again : subscriptions[i % COUNT]), "%u of %u",
              delivery.subscriptions[0], i);
    }
    CHECK(drain(observer).received == 0, "more than was posted to them");
    CHECK(members_of(center, "of many.0") == 1 && members_of(center, "of many.1") == 1, "those that stay");
    CHECK(members_of(center, "of many.3") == 0, "%llu members", (unsigned long long)members_of(center, "of many.3"));
    // A lap counts for those that stay, and for no other.
    for (uint32_t i = 0; i < 5 * COUNT; i++) post_number(publishers[i % 5], i);
    for (uint32_t i = 0; i < 1024; i++) post_number(publishers[3], i);
    uint64_t missed[5] = {0};
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == 0) {
        CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED, "%s was evicted", delivery.name);
        missed[atoi(strchr(delivery.name, '.') + 1) % 5] += delivery.missed;
    }
    for (uint32_t i = 0; i < 5; i++)
        CHECK(missed[i] == (i == 3 ? 0 : COUNT), "%llu missed of %u", (unsigned long long)missed[i], i);
}

// One that leaves when a newcomer turns it back, one that is gone and comes again by another number while the ring may
// know the old one.
void a_name_on_its_way_out_is_turned_back_or_made_anew(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of(center, NAME);
    tidings__key key;
    tidings__key_make(&key, "leaves", 6, NULL, 0);
    uint32_t first, again;
    OK(tidings__name_join(s, center->participant, &key, observer->index, &first));
    tidings__name_leave(s, first, observer->index);
    const uint64_t state = tidings__relaxed(&s->names[first].state),
                   of_another = (state & ~UINT64_C(0xfffff)) | 99 << 4;
    tidings__set_release(&s->names[first].state, of_another | TIDINGS__NAME_LEAVING);
    OK(tidings__name_join(s, center->participant, &key, observer->index, &again));
    CHECK(again == first, "entry %u instead of %u", again, first);
    tidings__name_leave(s, first, observer->index);
    tidings__set_release(&s->names[first].state, of_another | TIDINGS__NAME_GONE);
    CHECK(tidings__name_find(s, &key) == TIDINGS__NAME_NONE, "it is found, though it is gone");
    const tidings__participant_set dead = tidings__participant_only(99);
    tidings__name_reclaim(s, &dead, &(tidings__observer_set){0});
    OK(tidings__name_join(s, center->participant, &key, observer->index, &again));
    CHECK(again != first && tidings__name_find(s, &key) == again, "entry %u again", again);
}

// A thread about to sleep in a group wait has read the wake group's count, and may be stopped then. If the entry serves
// other names meanwhile, it must have another count when the thread goes on.
void an_entry_used_again_goes_on_counting_its_wake_groups(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t first = 0, used_again = 0;
    for (uint32_t i = 0; i < 1000 && used_again < 3; i++) {
        char name[16];
        uint32_t subscription;
        snprintf(name, sizeof name, "name.%u", i);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
        const uint32_t entry = tidings__relaxed(&observer->table)->of[0]->entry;
        if (i == 0) {
            first = entry;
            tidings__fetch_add(&s->names[entry].wake_group, 5 * TIDINGS__WAKE_GROUP_RUNG);
        }
        if (i > 0 && entry == first) {
            const uint32_t wake_group = tidings__relaxed(&s->names[entry].wake_group);
            CHECK(wake_group / TIDINGS__WAKE_GROUP_RUNG == 5 && wake_group % TIDINGS__WAKE_GROUP_RUNG == 1,
                  "%x for its next name", wake_group);
            used_again++;
        }
        OK(tidings_observer_remove(observer, subscription));
    }
    CHECK(used_again == 3, "entry %u was used again %u times", first, used_again);
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
    const uint64_t state = tidings__relaxed(&entry->state), generation = state >> 20 << 20,
                   own = (uint64_t)center->participant << 4;
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
    tidings_publisher *publisher = publisher_of(center, "half");
    for (uint32_t round = 0; round < 60; round++) {
        atomic_store(kind, round % 6);
        int status;
        waitpid(start(dies_half_way), &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", (unsigned)status);
        CHECK(tidings_reclaim(center) == 1, "one died");
        CHECK(statistics_of(center).names == 0 && statistics_of(center).observers == 0, "kind %u: %u names", round % 6,
              statistics_of(center).names);
        tidings_observer *observer = observer_of(center, "half");
        post_number(publisher, round);
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == round, "%u", round);
        tidings_observer_close(observer);
        for (uint32_t i = 0; i < 100; i++) observe_once(center, i);
    }
}

static pipe_pair ready;

static void makes_room_for_names(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of_nothing(center);
    char name[32];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name.%u", i);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &(uint32_t){0}));
    }
    tell(&ready);
    const tidings_delivery delivery = receive(observer);
    CHECK(stamp_of(&delivery).number == 4711 && strcmp(delivery.name, "name.999") == 0, "%s", delivery.name);
}

// Each process finds out by itself which of the table has memory.
void names_that_another_made_room_for_are_found(void) {
    ready = pipe_open();
    tidings_center *center = join_center(256);
    const pid_t other = start(makes_room_for_names);
    told(&ready);
    CHECK(statistics_of(center).names == 1000, "%u names", statistics_of(center).names);
    tidings_observer *observer = observer_of(center, "name.998");
    tidings_publisher *publisher = publisher_of(center, "name.999"), *own = publisher_of(center, "name.998");
    post_number(publisher, 4711);
    ends_well(other);
    post_number(own, 1);
    CHECK(drain(observer).received == 1, "its own name as well");
}
