// Scenes of lossless observers.
#include "stage.h"

void lossless(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_watcher_of("observer X", handle(), "n", true);
    add_watcher("observer Y", "n");
}

// Posters wait in the writers file.
void lossless_beside_readers(void) {
    mode = 0644;
    open_center();
    prefill("m", SLOTS);
    add_poster("poster A", "n", SLOTS + 2);
    add_watcher_of("observer X", handle(), "n", true);
    add_reader("reader Y", "n", false);
}

void dead_lossless(void) {
    lossless();
    machine.fibers[2].mortal = true;
}

// A poster without a timeout is told that it would have to wait, and no observer hears of that post.
void refused(void) {
    lossless();
    for (uint32_t i = 0; i < poster_count; i++) {
        posters[i].options.timeout_ns = 0;
        posters[i].may_be_refused = true;
        posters[i].posts = 3;
    }
}

void lossless_history(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", 2);
    add_newcomer("observer X", "n", TIDINGS_ADD_HISTORY)->lossless = true;
    add_watcher("observer Y", "n");
}

static void add_another_then_watch(void *argument) {
    watcher *w = argument;
    uint32_t another;
    if (tidings_observer_add(w->observer, "m", 1, NULL, 0, TIDINGS_ADD_HISTORY, &another) != 0)
        machine_violation("%s", tidings_last_error());
    board_watch(w);
}
void lossless_second_name(void) {
    open_center();
    add_watcher_of("observer X", handle(), "n", true)->fiber->body = add_another_then_watch;
    add_poster("poster A", "n", SLOTS + 1);
}
