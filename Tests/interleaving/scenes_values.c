// Scenes of retained values: each name keeps the newest one, whenever an observer asks.
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
