// Scenes of retained values: each name keeps the newest one, whenever an observer asks.
#include "center/center.h"
#include "eviction/name_registration.h"
#include "posting/publisher.h"
#include "stage.h"

void values(void) {
    open_center();
    add_poster("poster A", "n", 2)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "n", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED);
}

void values_evicted(void) {
    open_center();
    add_poster("poster A", "n", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "m", SLOTS + 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED);
}

void values_of_many_names(void) {
    open_center();
    add_poster("poster A", "na", 2)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "nb", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED | TIDINGS_ADD_PREFIX);
}

void values_of_many_names_evicted(void) {
    open_center();
    add_poster("poster A", "na", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "m", SLOTS + 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED | TIDINGS_ADD_PREFIX);
}

void values_outlive(void) {
    open_center();
    add_poster("poster A", "n", 2)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "m", 3);
    add_poster("poster C", "m", SLOTS);
}

void the_newest_is_kept(void) {
    const board_post *newest = NULL;
    for (uint32_t i = 0; i < board.post_count; i++)
        if (board.posts[i].value && board.posts[i].known && (!newest || board.posts[i].sequence > newest->sequence))
            newest = &board.posts[i];
    if (!newest) return;
    tidings_publisher *asked = publisher(director, newest->name);
    uint64_t sequence = 0, payload[64];
    size_t size = sizeof payload;
    int result = tidings_state_get(asked, payload, &size, NULL, &sequence);
    if (result != 0) machine_violation("no value is kept: %d", result);
    if (sequence != newest->sequence)
        machine_violation("the value of %llu is kept, the newest is at %llu", (unsigned long long)sequence,
                          (unsigned long long)newest->sequence);
    tidings_publisher_close(asked);
}

void dead_value_poster(void) {
    values_evicted();
    machine.fibers[0].mortal = true;
}

// The table has room for this many names.
static void limit_names(uint32_t count) {
    director->segment.shape.names = TIDINGS__NAME_FIRST + count;
    for (uint32_t i = 0; i < machine.fiber_count; i++)
        machine.fibers[i].center->segment.shape.names = director->segment.shape.names;
}

// What a retained post does first. The post itself never comes.
static void begin_value(void *argument) {
    poster *p = argument;
    uint32_t entry;
    (void)tidings__join_name(p->publisher->center, &p->publisher->key, TIDINGS__TO_RETAIN, &entry);
}
static void add_and_close(void *argument) {
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(argument, 0, &observer) != 0) machine_violation("%s", tidings_last_error());
    (void)tidings_observer_add(observer, "b", 1, NULL, 0, 0, &subscription);  // there may be no room
    tidings_observer_close(observer);
}
void value_in_a_full_table(void) {
    open_center();
    add_watcher("observer X", "n");
    add_poster("poster A", "v", 1)->fiber->body = begin_value;
    tidings_center *center = handle();
    machine_fiber("observer B", center, add_and_close, center);
    limit_names(2);
}

static tidings_publisher *value_a, *cleared_a, *value_b;
static void read_value(void *argument) {
    (void)argument;
    char buffer[8];
    size_t size = sizeof buffer;
    if (tidings_state_get(value_a, buffer, &size, NULL, NULL) == 0 && buffer[0] != 'a')
        machine_violation("the value of a is '%c'", buffer[0]);
}
static void replace_name(void *argument) {
    (void)argument;
    tidings_publisher *z = publisher(cleared_a->center, "z");
    int result = tidings_state_set(cleared_a, NULL, 0, NULL, NULL);
    for (uint32_t i = 0; i <= SLOTS && result == 0; i++) result = tidings_post(z, "z", 1, NULL, NULL);
    if (result == 0) result = tidings_state_set(value_b, "b", 1, NULL, NULL);
    if (result != 0) machine_violation("%s", tidings_last_error());
    tidings_publisher_close(z);
}
void value_of_another_name(void) {
    open_center();
    tidings_center *one = handle(), *two = handle();
    value_a = publisher(one, "a");
    cleared_a = publisher(two, "a");
    value_b = publisher(two, "b");
    if (tidings_state_set(cleared_a, "a", 1, NULL, NULL) != 0) machine_violation("%s", tidings_last_error());
    machine_fiber("reads a", one, read_value, NULL);
    machine_fiber("replaces a", two, replace_name, NULL);
    limit_names(1);
}
