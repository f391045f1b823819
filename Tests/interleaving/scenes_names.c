// Scenes of names, and of observers that come, change and go.
#include <errno.h>

#include "center/center.h"
#include "platform/clock.h"
#include "registry/name_table.h"
#include "stage.h"

void registering(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", "n", 0);
}

void registering_in_a_full_ring(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", NULL, 0);
}

void prefixes(void) {
    open_center();
    add_poster("poster A", "na", 2);
    add_poster("poster B", "nb", 1);
    add_watcher("observer X", "nb");
    add_newcomer("observer Y", "n", TIDINGS_ADD_PREFIX);
}

void prefixes_in_a_full_ring(void) {
    open_center();
    prefill("na", SLOTS);
    add_poster("poster A", "na", SLOTS + 3);
    add_newcomer("observer X", "n", TIDINGS_ADD_PREFIX);
}

static void look_and_leave(void *argument) {
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(argument, 0, &observer) != 0 ||
        tidings_observer_add(observer, "n", 1, NULL, 0, TIDINGS_ADD_PREFIX, &subscription) != 0)
        machine_violation("can't look by prefix: %s", tidings_last_error());
    tidings_observer_close(observer);
}
void prefixes_and_a_late_hand(void) {
    open_center();
    prefill("na", SLOTS);
    add_poster("poster A", "na", SLOTS + 3);
    add_poster("poster B", "na", 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_PREFIX);
}

void prefixes_come_and_go(void) {
    open_center();
    prefill("na", SLOTS - 1);
    add_poster("poster A", "na", 3);
    add_newcomer("observer X", "n", TIDINGS_ADD_PREFIX);
    tidings_center *center = handle();
    machine_fiber("observer Y", center, look_and_leave, center);
}

void history(void) {
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_HISTORY);
}

// Two threads of one handle share one publisher while observers register: the name's entry is resolved once and kept.
void one_publisher(void) {
    open_center();
    tidings_center *shared = handle();
    poster *a = add_poster_of("thread A", shared, "n", 2), *b = add_poster_of("thread B", shared, "n", 2);
    b->publisher = a->publisher;
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", "n", 0);
}

void one_publisher_alone(void) {
    open_center();
    tidings_center *shared = handle();
    poster *first = add_poster_of("thread A", shared, "n", 1);
    add_newcomer("observer X", "n", 0);
    add_poster_of("thread B", shared, "n", 2)->publisher = first->publisher;
    add_poster_of("thread C", shared, "n", 1)->publisher = first->publisher;
}

// Looks at one more name, and then no longer at the first, while another thread waits.
static watcher *changed;
static uint32_t second;
static void change(void *argument) {
    watcher *w = argument;
    watcher *more = &board.watchers[1];
    more->adding = ++board.events;
    int result = tidings_observer_add(w->observer, "m", 1, NULL, 0, 0, &second);
    if (result != 0) machine_violation("can't add: %d", result);
    more->added = ++board.events;
    w->removing = ++board.events;
    result = tidings_observer_remove(w->observer, w->subscription);
    if (result != 0) machine_violation("can't remove: %d", result);
    w->removed = ++board.events;
}
static void watch_changing(void *argument) {
    watcher *w = argument, *more = &board.watchers[1];
    tidings_delivery d;
    for (;;) {
        int result = tidings_next(w->observer, -1, &d);
        if (result == -EINTR && machine.over) break;
        if (result == -EINTR) continue;
        if (result != 0) machine_violation("tidings_next: %d", result);
        // Which of the two it is for; the removal may return while we look.
        uint64_t removed = w->removed;
        w->removed = 0;
        board_note(d.subscriptions[0] == w->subscription ? w : more, &d);
        w->removed = removed;
    }
    board_rest(w, more);
    more->left = true;
}
void changing(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 2);
    changed = mode ? add_reader("reader X", "n", false) : add_watcher("observer X", "n");
    machine.fibers[2].body = watch_changing;
    watcher *more = board_watcher("m", 0);
    more->fiber = changed->fiber;
    more->reader = changed->reader;
    machine_fiber("its thread", changed->center, change, changed);
}

void one_reader_changing(void) {
    mode = 0644;
    changing();
}

// Told of nothing once its removal has returned, though a poster may be about to ring.
static void cancel(void *argument) {
    watcher *w = argument;
    w->removing = ++board.events;
    if (tidings_observer_remove(w->observer, w->subscription) != 0) machine_violation("can't remove");
    tidings_delivery d;
    w->removed = ++board.events;
    int result = tidings_next(w->observer, 0, &d);
    if (result != -EAGAIN) machine_violation("after its removal: %d", result);
    board_leave(w);
}
void cancelling(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_watcher("observer X", "n");
    machine.fibers[2].body = cancel;
    add_watcher("observer Y", "n");
}

// Names come and go in a table whose entries are all used: an entry is taken out and serves another name.
static void come_and_go(void *argument) {
    watcher *w = argument;
    static const char *const names[] = {"n", "a", "b"};
    for (int i = 0; i < 3; i++) {
        tidings_observer *observer;
        uint32_t subscription;
        if (tidings_observer_open(w->center, 0, &observer) != 0) machine_violation("can't open an observer");
        int result = tidings_observer_add(observer, names[i], 1, NULL, 0, 0, &subscription);
        // Full: other observers hold the names, or are about to take them out.
        if (result != 0 && result != -ENOSPC) machine_violation("can't add: %d", result);
        tidings_observer_close(observer);
    }
    register_and_watch(w);
}
static bool both_come_and_go;
void names_come_and_go(void) {
    open_center();
    add_poster("poster A", "n", 2);
    watcher *y = add_newcomer("observer Y", "n", 0);
    add_newcomer("observer X", "n", 0)->fiber->body = come_and_go;
    if (both_come_and_go) y->fiber->body = come_and_go;
    // Two places for three names. One more place if two observers add names: each may have prepared an entry beside the
    // one that it joins.
    director->segment.shape.names = TIDINGS__NAME_FIRST + (both_come_and_go ? 3 : 2);
    for (uint32_t i = 0; i < machine.fiber_count; i++)
        machine.fibers[i].center->segment.shape.names = director->segment.shape.names;
}

void names_come_and_go_twice(void) {
    both_come_and_go = true;
    names_come_and_go();
}

// One thread adds names, posts and closes its observers, in a table with a single place. Another one searches the table
// meanwhile: it may have found the place free before.
static void use_and_free(void *center) {
    tidings_publisher *a = publisher(center, "a");
    static const char *const names[] = {"a", "c"};
    for (int i = 0; i < 2; i++) {
        tidings_observer *observer;
        uint32_t subscription;
        if (tidings_observer_open(center, 0, &observer) != 0) machine_violation("can't open an observer");
        int result = tidings_observer_add(observer, names[i], 1, NULL, 0, 0, &subscription);
        if (result != 0 && result != -ENOSPC) machine_violation("can't add: %d", result);
        result = tidings_post(a, "a", 1, NULL, NULL);
        if (result != 0) machine_violation("can't post: %d", result);
        tidings_observer_close(observer);
    }
    tidings_publisher_close(a);
}
static void find_no_record(void *center) {
    tidings_observer *observer;
    uint32_t subscription;
    tidings_delivery d;
    if (tidings_observer_open(center, 0, &observer) != 0) machine_violation("can't open an observer");
    int result = tidings_observer_add(observer, "b", 1, NULL, 0, TIDINGS_ADD_HISTORY, &subscription);
    if (result != 0 && result != -ENOSPC) machine_violation("can't add: %d", result);
    if (result == 0 && (result = tidings_next(observer, 0, &d)) == 0)
        machine_violation("a record of \"a\" at %lu counts as one of \"b\"", (unsigned long)d.sequence);
    tidings_observer_close(observer);
}
void place_freed_again(void) {
    open_center();
    tidings_center *one = handle(), *two = handle();
    machine_fiber("observer X", one, find_no_record, one);
    machine_fiber("observer Y", two, use_and_free, two);
    director->segment.shape.names = one->segment.shape.names = two->segment.shape.names = TIDINGS__NAME_FIRST + 1;
}

static void interrupt(void *argument) { tidings_observer_interrupt(((watcher *)argument)->observer); }
static void watch_until_interrupted(void *argument) {
    watcher *w = argument;
    tidings_delivery d;
    int result;
    while ((result = tidings_next(w->observer, -1, &d)) == 0) board_note(w, &d);
    if (result != -EINTR || machine.over) machine_violation("interrupted, and it went on waiting");
    board_watch(w);
}
void interrupting(void) {
    open_center();
    add_poster("poster A", "n", 1);
    watcher *w = add_watcher("observer X", "n");
    w->fiber->body = watch_until_interrupted;
    machine_fiber("its thread", w->center, interrupt, w);
}

// After the first call, the descriptor's helper watches. The second one makes it leave, and sleeps itself.
static void poll_and_wait(void *argument) {
    watcher *w = argument;
    tidings_delivery d;
    const int result = tidings_next(w->observer, 0, &d);
    if (result == 0)
        board_note(w, &d);
    else if (result != -EAGAIN)
        machine_violation("tidings_next: %d", result);
    tidings__yield();
    board_watch(w);
}
void polling_and_waiting(void) {
    open_center();
    watcher *w = add_watcher("observer X", "n");
    w->fiber->body = poll_and_wait;
    int descriptor;
    if (tidings_observer_descriptor(w->observer, &descriptor) != 0) machine_violation("%s", tidings_last_error());
    add_poster("poster A", "n", 1);
}

static tidings_observer *observe_at_first(const char *name) {
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(director, 0, &observer) != 0 ||
        tidings_observer_add(observer, name, 1, NULL, 0, 0, &subscription) != 0)
        machine_violation("%s", tidings_last_error());
    return observer;
}
static uint32_t taken_out;
static void take_out(void *argument) {
    tidings_center *center = argument;
    uint64_t budget = UINT64_MAX;
    (void)tidings__name_take_out(&center->segment, center->participant, taken_out, &budget);
}
static void add_prefix(void *argument) {
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(argument, 0, &observer) != 0) machine_violation("%s", tidings_last_error());
    (void)tidings_observer_add(observer, "q", 1, NULL, 0, TIDINGS_ADD_PREFIX, &subscription);
    tidings_observer_close(observer);
}
// The chain is u, p, e (u and p have taken the places of others): while the walk for e stands on p, p goes to the chain
// of prefixes.
void predecessor_reused(void) {
    open_center();
    const uint32_t names = director->segment.shape.names = TIDINGS__NAME_FIRST + 3;
    tidings_observer *a = observe_at_first("a"), *e = observe_at_first("e"), *t = observe_at_first("t");
    taken_out = TIDINGS__NAME_FIRST + 1;
    tidings_observer_close(a);
    tidings_observer *p = observe_at_first("p");
    tidings_observer_close(t);
    tidings_center *center = handle();
    center->segment.shape.names = names;
    add_watcher_of("observer U", center, "u", false);
    tidings_observer_close(e);
    tidings_observer_close(p);
    tidings_center *one = handle(), *two = handle();
    one->segment.shape.names = two->segment.shape.names = names;
    machine_fiber("takes e out", one, take_out, one);
    machine_fiber("adds a prefix", two, add_prefix, two);
}
