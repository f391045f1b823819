#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "platform/clock.h"
#include "scenario.h"
#include "stage.h"

static void two_and_two(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", "n");
}

static void two_names(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

static void one_post(void) {
    open_center();
    add_poster("poster A", "n", 1);
    add_watcher("observer X", "n");
}

static void turning(void) {
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

static void one_lap(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", SLOTS + 2);
    add_watcher("observer X", "n");
}

static void two_hands(void) {
    open_center();
    add_watcher("observer X", "n");
    prefill("n", SLOTS);
    add_poster("poster A", "n", 1);
    add_poster("poster B", "n", 1);
}

static void a_slow_hand(void) {
    open_center();
    prefill("n", SLOTS);
    watcher *w = add_watcher("observer X", "k");
    add_poster("poster A", "n", 1);
    poster *b = add_poster("poster B", "m", 6);
    b->rare = topic(b->fiber->center, "k");
    b->rarely = 3;
    (void)w;
}

static void three_laps(void) {
    open_center();
    add_poster("poster A", "n", 6);
    add_poster("poster B", "n", 6);
    add_watcher("observer X", "n");
}

static void lossless(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_watcher_of("observer X", handle(), "n", true);
    add_watcher("observer Y", "n");
}

static void dead_lossless(void) {
    lossless();
    machine.fibers[2].mortal = true;
}

// Who may not wait for it is told so, and nobody hears of that post.
static void refused(void) {
    lossless();
    for (uint32_t i = 0; i < poster_count; i++) {
        posters[i].options.deadline_ns = 0;
        posters[i].may_be_refused = true;
        posters[i].posts = 3;
    }
}

// Somebody has died before all this, with a lossless observer, a chunk and a name; and who tidies up after it may die of that.
static void tidy(void *argument) {
    int result = tidings_tidy(argument);
    if (result < 0) machine_violation("tidings_tidy: %d", result);
}
static void dead_tidier(void) {
    open_center();
    tidings_center *dead = handle(), *first = handle(), *second = handle();
    tidings_observer *observer;
    uint32_t interest;
    tidings_reservation reservation;
    if (tidings_observer_open(dead, TIDINGS_OBSERVE_LOSSLESS, &observer) != 0 || tidings_observer_add(observer, "n", 1, NULL, 0, 0, &interest) != 0 ||
        tidings_reserve(dead, 100, &reservation) != 0)
        machine_violation("%s", tidings_last_error());
    machine.holders[dead->participant] = 0;
    machine_fiber("tidier A", first, tidy, first)->mortal = true;
    machine_fiber("tidier B", second, tidy, second);
    add_poster("poster C", "n", SLOTS + 1);
    add_watcher("observer X", "n");
}

// Encoders fill chunks, and think better of it.
static void fill_and_post(void *argument) {
    poster *p = argument;
    for (uint32_t i = 0; i < p->posts; i++) {
        tidings_reservation reservation;
        int result = tidings_reserve(p->topic->center, p->size, &reservation);
        if (result == -EAGAIN) continue;
        if (result == 0 && i % 2 == 0) tidings_abandon(p->topic->center, &reservation);
        else if (result == 0) result = board_send_reserved(p->topic, p->name, p->size, &reservation);
        if (result != 0) machine_violation("a reservation: %d", result);
    }
}
static void reserving(void) {
    open_center();
    poster *a = add_poster("poster A", "n", 3), *b = add_poster("poster B", "n", 4);
    a->size = b->size = 320;
    a->fiber->body = b->fiber->body = fill_and_post;
    add_watcher("observer X", "n");
}
static void dead_filler(void) {
    reserving();
    machine.fibers[0].mortal = true;
}

static void dead_poster(void) {
    open_center();
    prefill("m", 1);
    add_poster("poster A", "n", 2);
    machine.fibers[0].mortal = true;
    add_poster("poster B", "n", 3);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

static void dead_observer(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_watcher("observer X", "n");
    machine.fibers[2].mortal = true;
    add_watcher("observer Y", "n");
}

static void foreign_poster(void) {
    dead_poster();
    machine.fibers[0].thread.pending = NULL;  // the kernel knows nothing of its claims
}

static void without_barrier(void) {
    machine.registered = false;
    two_and_two();
    poster_count = 0;
}

static void large(void) {
    open_center();
    add_poster("poster A", "n", 3)->size = 320;
    add_poster("poster B", "n", 3)->size = 240;
    add_watcher("observer X", "n");
}

static void dead_large_poster(void) {
    large();
    machine.fibers[0].mortal = true;
}

static void registering(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", "n", 0);
}

static void registering_in_a_full_ring(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", NULL, 0);
}

static void prefixes(void) {
    open_center();
    add_poster("poster A", "na", 2);
    add_poster("poster B", "nb", 1);
    add_watcher("observer X", "nb");
    add_newcomer("observer Y", "n", TIDINGS_ADD_PREFIX);
}

static void prefixes_in_a_full_ring(void) {
    open_center();
    prefill("na", SLOTS);
    add_poster("poster A", "na", SLOTS + 3);
    add_newcomer("observer X", "n", TIDINGS_ADD_PREFIX);
}

static void look_and_leave(void *argument) {
    tidings_observer *observer;
    uint32_t interest;
    if (tidings_observer_open(argument, 0, &observer) != 0 || tidings_observer_add(observer, "n", 1, NULL, 0, TIDINGS_ADD_PREFIX, &interest) != 0)
        machine_violation("can't look by prefix: %s", tidings_last_error());
    tidings_observer_close(observer);
}
static void prefixes_come_and_go(void) {
    open_center();
    prefill("na", SLOTS - 1);
    add_poster("poster A", "na", 3);
    add_newcomer("observer X", "n", TIDINGS_ADD_PREFIX);
    tidings_center *center = handle();
    machine_fiber("observer Y", center, look_and_leave, center);
}

static void history(void) {
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_HISTORY);
}

static void lossless_history(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_newcomer("observer X", "n", TIDINGS_ADD_HISTORY)->lossless = true;
    add_watcher("observer Y", "n");
}

// Values: kept under a name, the newest of them, whoever asks when.
static void values(void) {
    open_center();
    add_poster("poster A", "n", 2)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "n", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED);
}

static void values_evicted(void) {
    open_center();
    add_poster("poster A", "n", 1)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "m", SLOTS + 1);
    add_newcomer("observer X", "n", TIDINGS_ADD_RETAINED);
}

static void values_outlive(void) {
    open_center();
    add_poster("poster A", "n", 2)->options.flags = TIDINGS_POST_RETAIN;
    add_poster("poster B", "m", 3);
    add_poster("poster C", "m", SLOTS);
}

static void the_newest_is_kept(void) {
    const board_post *newest = NULL;
    for (uint32_t i = 0; i < board.post_count; i++)
        if (board.posts[i].value && board.posts[i].known && (!newest || board.posts[i].sequence > newest->sequence)) newest = &board.posts[i];
    if (!newest) return;
    tidings_topic *asked = topic(director, newest->name);
    uint64_t sequence = 0, payload[64];
    size_t size = sizeof payload;
    int result = tidings_state_get(asked, payload, &size, NULL, &sequence);
    if (result != 0) machine_violation("no value is kept: %d", result);
    if (sequence != newest->sequence)
        machine_violation("the value of %llu is kept, the newest is at %llu", (unsigned long long)sequence, (unsigned long long)newest->sequence);
    tidings_topic_close(asked);
}

static void dead_value_poster(void) {
    values_evicted();
    machine.fibers[0].mortal = true;
}

// Two threads of one handle, with one topic, while somebody registers: what the name stands for is resolved once and kept.
static void one_topic(void) {
    open_center();
    tidings_center *shared = handle();
    poster *a = add_poster_of("thread A", shared, "n", 2), *b = add_poster_of("thread B", shared, "n", 2);
    b->topic = a->topic;
    add_newcomer("observer X", "n", 0);
    add_newcomer("observer Y", "n", 0);
}

static void one_topic_alone(void) {
    open_center();
    tidings_center *shared = handle();
    poster *first = add_poster_of("thread A", shared, "n", 1);
    add_newcomer("observer X", "n", 0);
    add_poster_of("thread B", shared, "n", 2)->topic = first->topic;
    add_poster_of("thread C", shared, "n", 1)->topic = first->topic;
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
    result = tidings_observer_remove(w->observer, w->interest);
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
        board_note(d.interests[0] == w->interest ? w : more, &d);
        w->removed = removed;
    }
    board_rest(w, more);
    more->left = true;
}
static void changing(void) {
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

static void one_reader_changing(void) {
    mode = 0644;
    changing();
}

// Told of nothing once its removal has returned, though a poster may be about to ring.
static void cancel(void *argument) {
    watcher *w = argument;
    w->removing = ++board.events;
    if (tidings_observer_remove(w->observer, w->interest) != 0) machine_violation("can't remove");
    tidings_delivery d;
    w->removed = ++board.events;
    int result = tidings_next(w->observer, 0, &d);
    if (result != -EAGAIN) machine_violation("after its removal: %d", result);
    board_leave(w);
}
static void cancelling(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_watcher("observer X", "n");
    machine.fibers[2].body = cancel;
    add_watcher("observer Y", "n");
}

// Names come and go in a table of which all places are used: entries are taken out and serve others.
static void come_and_go(void *argument) {
    watcher *w = argument;
    static const char *const names[] = {"n", "a", "b"};
    for (int i = 0; i < 3; i++) {
        tidings_observer *observer;
        uint32_t interest;
        if (tidings_observer_open(w->center, 0, &observer) != 0) machine_violation("can't open an observer");
        int result = tidings_observer_add(observer, names[i], 1, NULL, 0, 0, &interest);
        // Full: of names that others hold or are about to take out.
        if (result != 0 && result != -ENOSPC) machine_violation("can't add: %d", result);
        tidings_observer_close(observer);
    }
    register_and_watch(w);
}
static bool both_come_and_go;
static void names_come_and_go(void) {
    open_center();
    add_poster("poster A", "n", 2);
    watcher *y = add_newcomer("observer Y", "n", 0);
    add_newcomer("observer X", "n", 0)->fiber->body = come_and_go;
    if (both_come_and_go) y->fiber->body = come_and_go;
    // Two places for three names; one more for two who add, as each may have prepared an entry beside the one that it joins.
    director->segment.shape.names = TIDINGS__NAME_FIRST + (both_come_and_go ? 3 : 2);
    for (uint32_t i = 0; i < machine.fiber_count; i++) machine.fibers[i].center->segment.shape.names = director->segment.shape.names;
}

static void names_come_and_go_twice(void) {
    both_come_and_go = true;
    names_come_and_go();
}

static void readers(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 1);
    add_reader("reader X", "n", false);
    add_watcher("observer Y", NULL);
}

static void one_reader(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 1);
    add_reader("reader X", "n", false);
}

static void lapped_readers(void) {
    mode = 0644;
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 3);
    add_poster("poster B", "m", 3);
    add_reader("reader X", "n", false);
    add_reader("reader Y", NULL, false);
}

static void new_readers(void) {
    mode = 0644;
    open_center();
    prefill("n", 2);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_reader("reader X", "n", true);
    add_reader("reader Y", "m", true);
}

static void dead_poster_of_readers(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 2)->fiber->mortal = true;
    add_poster("poster B", "n", 2);
    add_reader("reader X", "n", false);
}

static void interrupt(void *argument) {
    tidings_observer_interrupt(((watcher *)argument)->observer);
}
static void watch_until_interrupted(void *argument) {
    watcher *w = argument;
    tidings_delivery d;
    int result;
    while ((result = tidings_next(w->observer, -1, &d)) == 0) board_note(w, &d);
    if (result != -EINTR || machine.over) machine_violation("interrupted, and it went on waiting");
    board_watch(w);
}
static void interrupting(void) {
    open_center();
    add_poster("poster A", "n", 1);
    watcher *w = add_watcher("observer X", "n");
    w->fiber->body = watch_until_interrupted;
    machine_fiber("its thread", w->center, interrupt, w);
}

const scenario scenarios[] = {
    {"one_post", "a post and an observer that may just be falling asleep", one_post, .changes = 3, .buffers = true},
    {"two_and_two", "two post twice, two observe", two_and_two, .changes = 2},
    {"late_stores", "the same, and each store may be late", two_and_two, .changes = 1, .buffers = true},
    {"without_barrier", "the same, where the kernel has no barrier for us", without_barrier, .changes = 1, .buffers = true},
    {"two_names", "two post under different names, one looks at one of them, one at all", two_names, .changes = 2},
    {"turning", "the ring goes round: evictions, laps, exact losses", turning, .changes = 1, .buffers = true},
    {"one_lap", "an observer is lapped while it reads", one_lap, .changes = 2},
    {"two_hands", "two evict the same", two_hands, .changes = 2},
    {"a_slow_hand", "who helps to evict is laps behind", a_slow_hand, .changes = 1},
    {"three_laps", "twelve posts in four slots", three_laps, .changes = 1},
    {"lossless", "one loses nothing, and the posters wait for it", lossless, .changes = 1, .buffers = true},
    {"refused", "nobody waits for it: some posts are refused, and come to nobody", refused, .changes = 1},
    {"dead_lossless", "it dies anywhere, and holds nobody back", dead_lossless, .changes = 1, .deaths = true},
    {"dead_poster", "a poster dies anywhere", dead_poster, .changes = 1, .deaths = true, .buffers = true},
    {"dead_observer", "an observer dies anywhere", dead_observer, .changes = 1, .deaths = true},
    {"foreign_poster", "a poster dies anywhere, and the kernel tells nobody", foreign_poster, .changes = 1, .deaths = true},
    {"large", "payloads in chunks, of which there are three", large, .changes = 1, .buffers = true},
    {"dead_large_poster", "one dies anywhere filling or posting one", dead_large_poster, .changes = 1, .deaths = true},
    {"reserving", "two fill chunks, post some and give some back", reserving, .changes = 1, .buffers = true},
    {"dead_filler", "one dies anywhere doing so", dead_filler, .changes = 1, .deaths = true},
    {"dead_tidier", "one dies anywhere tidying up after another that had died", dead_tidier, .changes = 1, .deaths = true},
    {"registering", "two register while others post", registering, .changes = 1, .buffers = true},
    {"registering_in_a_full_ring", "the same, while the ring goes round", registering_in_a_full_ring, .changes = 1},
    {"prefixes", "one begins to look at all that begins with a letter", prefixes, .changes = 1, .buffers = true},
    {"prefixes_in_a_full_ring", "the same, while the ring goes round and it is lapped", prefixes_in_a_full_ring, .changes = 2},
    {"prefixes_come_and_go", "the same, and another that looks so comes and goes", prefixes_come_and_go, .changes = 1},
    {"history", "one begins with what is there, while it is evicted", history, .changes = 1},
    {"lossless_history", "the same, and nothing of it is lost", lossless_history, .changes = 1},
    {"values", "kept values, set by two, asked for by one who comes", values, .changes = 1, .verify = the_newest_is_kept},
    {"values_evicted", "a value outlives the ring's memory of it", values_evicted, .changes = 1, .verify = the_newest_is_kept, .buffers = true},
    {"values_outlive", "the newer of two values outlives it", values_outlive, .changes = 1, .verify = the_newest_is_kept},
    {"dead_value_poster", "one dies anywhere setting one", dead_value_poster, .changes = 1, .verify = the_newest_is_kept, .deaths = true},
    {"one_topic", "two threads share a topic while others register", one_topic, .changes = 1, .buffers = true},
    {"one_topic_alone", "the same, and nothing but what the threads share matters", one_topic_alone, .changes = 4, .focus = true},
    {"changing", "names are added and removed while another thread waits", changing, .changes = 1, .buffers = true},
    {"cancelling", "nothing comes after a removal", cancelling, .changes = 1},
    {"names_come_and_go", "names take each other's places in a full table", names_come_and_go, .changes = 1},
    {"names_come_and_go_twice", "two do so", names_come_and_go_twice, .changes = 1},
    {"one_reader", "one may only read, and may just be falling asleep", one_reader, .changes = 3, .buffers = true},
    {"one_reader_changing", "names are added and removed while a thread that may only read waits", one_reader_changing,
     .changes = 1, .buffers = true},
    {"readers", "one of two may only read", readers, .changes = 1, .buffers = true},
    {"lapped_readers", "two may only read, and the ring goes round", lapped_readers, .changes = 1, .buffers = true},
    {"new_readers", "two begin to read while others post", new_readers, .changes = 1},
    {"dead_poster_of_readers", "a poster dies anywhere, and one may only read", dead_poster_of_readers, .changes = 1, .deaths = true},
    {"interrupting", "an interruption is never missed", interrupting, .changes = 3, .buffers = true},
};
const uint32_t scenario_count = sizeof scenarios / sizeof scenarios[0];
