// Scenes of payloads that are read in place: no poster writes to a chunk that is held.
#include <string.h>

#include "center/center.h"
#include "eviction/evict.h"
#include "retained/retained.h"
#include "ring/hold.h"
#include "stage.h"

void holding(void) {
    open_center();
    add_poster("poster A", "n", 4)->size = 320;
    add_poster("poster B", "n", 3)->size = 240;
    add_watcher_in_place("observer X", "n", false, true);
}

void two_holding(void) {
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 5)->size = 320;
    add_watcher_in_place("observer X", "n", false, true);
    add_watcher_in_place("observer Y", "n", false, false);
}

void holding_without_loss(void) {
    open_center();
    add_poster("poster A", "n", 4)->size = 320;
    add_watcher_in_place("observer X", "n", true, false);
    add_watcher_in_place("observer Y", "n", true, true);
}

void dead_holder(void) {
    open_center();
    add_poster("poster A", "n", 5)->size = 320;
    add_watcher_in_place("observer X", "n", false, true);
    machine.fibers[1].mortal = true;
    add_watcher_in_place("observer Y", "n", false, true);
}

void dead_poster_beside_a_holder(void) {
    holding();
    machine.fibers[0].mortal = true;
}

// The record of post 0, in its chunk. `hold_record` holds it to the end, if the hold counts.
static tidings_center *of_holder;
static uint32_t held_chunk;
static uint64_t held_position;
static bool held;

static void hold_record(void *argument) {
    (void)argument;
    held = tidings__hold_take(&of_holder->segment, of_holder->participant, 0, held_chunk, held_position, 1);
}

void what_is_held_is_whole(void) {
    tidings__segment *s = &of_holder->segment;
    if (!held) return;
    board_still_whole(of_holder, tidings__chunk_bytes(s, held_chunk, NULL) + TIDINGS__CHUNK_HEADER, 0);
    tidings__hold_leave(s, of_holder->participant, 0, tidings__hold_word(held_chunk, held_position));
}

static void add_holder(const char *who) {
    of_holder = handle();
    machine_fiber(who, of_holder, hold_record, NULL);
}

// Posts one in a chunk. It has been held before, so its held bit is set.
static void post_held(const char *name, const tidings_post_options *options) {
    tidings__segment *s = &director->segment;
    tidings_publisher *before = publisher(director, name);
    if (board_send(before, name, 320, options) != 0) machine_violation("%s", tidings_last_error());
    tidings_publisher_close(before);
    held_position = board.posts[0].sequence;
    held_chunk = (uint32_t)s->cells[held_position].body[0];
    if (!tidings__hold_take(s, director->participant, 0, held_chunk, held_position, 1))
        machine_violation("a record in the ring can't be held");
    tidings__hold_leave(s, director->participant, 0, tidings__hold_word(held_chunk, held_position));
}

// Evicts the record, takes chunks and writes to them, as a poster does before its claim.
static void take_and_write(void *argument) {
    tidings_center *center = argument;
    uint32_t holder;
    if (tidings__evict_to(center, held_position + 1, &(tidings__effort){0}, &holder) != 0)
        machine_violation("%s", tidings_last_error());
    tidings_reservation reservations[2];
    uint32_t count = 0;
    // More may be held, or have values.
    while (count < 2 && tidings_reserve(center, 320, &reservations[count]) == 0) {
        machine_dirty(machine_canonical(reservations[count].bytes), 320);
        memset(reservations[count++].bytes, 0xee, 320);
    }
    while (count > 0) tidings_abandon(center, &reservations[--count]);
}
static void add_taker(const char *who) {
    tidings_center *center = handle();
    machine_fiber(who, center, take_and_write, center);
}

void holding_what_is_evicted(void) {
    open_center();
    post_held("n", NULL);
    add_holder("holder X");
    add_taker("poster A");
}

void held_values(void) {
    open_center();
    const tidings_post_options retained = {.flags = TIDINGS_POST_RETAIN, .timeout_ns = -1};
    poster *a = add_poster("poster A", "n", 2);
    a->options = retained;
    a->size = 320;
    add_poster("poster B", "m", SLOTS + 1)->size = 320;
    watcher *w = add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED);
    w->in_place = w->holds = true;
    board_send(publisher(director, "n"), "n", 320, &retained);
}

// The value was promoted, and a newer one has replaced it. A thread that helped to evict it promotes it late.
static void promote_late(void *argument) {
    tidings__retained_promote(&((tidings_center *)argument)->segment, held_position);
}
void a_dropped_value_beside_a_late_hand(void) {
    open_center();
    const tidings_post_options retained = {.flags = TIDINGS_POST_RETAIN, .timeout_ns = -1};
    post_held("n", &retained);
    if (board_send(publisher(director, "n"), "n", 320, &retained) != 0) machine_violation("%s", tidings_last_error());
    uint32_t holder;
    if (tidings__evict_to(director, held_position + 2, &(tidings__effort){0}, &holder) != 0)
        machine_violation("%s", tidings_last_error());
    add_holder("holder X");
    add_taker("poster A");
    tidings_center *late = handle();
    machine_fiber("late hand B", late, promote_late, late);
}
