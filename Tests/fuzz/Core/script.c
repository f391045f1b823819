// The program: what which byte means.
#include <string.h>

#include "uses.h"

#define STEPS_MAX 200

void script_close(void) {
    use_close_requests();
    for (unsigned i = 0; i < OBSERVERS; i++) use_close_observer(i);
    for (unsigned i = 0; i < NAMES; i++) {
        tidings_publisher_close(now.publishers[i]);
        tidings_publisher_close(now.others[i]);
    }
    if (now.reserved) tidings_abandon(now.center, &now.reservation);
    if (now.other_reserved) tidings_abandon(now.second, &now.other);
    tidings_close(now.second);
    tidings_close(now.center);
    const bool readable = now.readable, sealed = now.sealed;
    memset(&now, 0, sizeof now);
    now.readable = readable;
    now.sealed = sealed;
}

static bool reopen(void) {
    tidings_center *center = NULL;
    if (use_open(&center, 0) != 0) return false;
    script_close();
    now.center = center;
    use_changes();
    return true;
}

static bool more(input *in, uint8_t how) {
    const unsigned which = how >> 5, o = which % OBSERVERS, publisher = which % NAMES;
    switch (how & 31) {
        case 0: use_die(now.second); return true;
        case 1:
            process_fork();
            fuzz_step("fork");
            return true;
        case 2:
            use_descriptor(o);
            fuzz_step("descriptor");
            return true;
        case 3:
            process_turn();
            fuzz_step("helper");
            return true;
        case 4:
            use_hold_back(publisher);
            fuzz_step("held back");
            return true;
        case 5:
            use_post_of_second(publisher, 1);
            fuzz_step("post of the second");
            return true;
        case 6:
            use_reserve_of_second((uint8_t)which);
            fuzz_step("reservation of the second");
            return true;
        case 7:
            use_post_of_second(publisher, 8 | 4);
            fuzz_step("value of the second");
            return true;
        case 8:
            if (now.observers[o]) tidings_observer_spin(now.observers[o], which & 4 ? 20000 : UINT32_MAX);
            return true;
        case 9: process_processors(which & 1 ? 1 : 2); return true;
        case 10:
        case 16:
        case 17:
            use_posts(40, publisher, 1 | 8);
            fuzz_step("values");
            return true;
        case 11:
            use_posts(40, publisher, 5);
            fuzz_step("chunks");
            return true;
        case 12: use_die(now.center); return true;
        case 13:
            if (now.second) fuzz_result("reclaim", tidings_reclaim(now.second));
            fuzz_step("reclaim by the second");
            return true;
        case 14:
        case 18:
            for (unsigned i = 0; i < OBSERVERS; i++) use_next(i, 2, 0);
            fuzz_step("next of all");
            return true;
        case 15:
            use_next(o, 300, 1000000);
            fuzz_step("next, waiting");
            return true;
        case 19:
        case 20: use_many_names(); return true;
        case 21:
            if (now.second) use_look_around(now.second);
            fuzz_step("statistics of the second");
            return true;
        case 22:
            use_announce(now.center, which);
            fuzz_step("announce");
            return true;
        case 23:
            use_announce(now.second, which);
            fuzz_step("announce the second");
            return true;
        case 26:
            use_withdraw(which & 1 ? now.second : now.center);
            fuzz_step("withdraw");
            return true;
        case 24:
            use_server(which & 1 && now.second ? now.second : now.center, which);
            fuzz_step("server");
            return true;
        case 27:
            use_caller(which & 1 && now.second ? now.second : now.center, which);
            fuzz_step("caller");
            return true;
        case 28:
            use_call(which);
            fuzz_step("call");
            return true;
        case 29:
            if (which & 1)
                use_close_requests();
            else
                use_sections(publisher, (uint8_t)which);
            fuzz_step("close server and caller, or a post with sections");
            return true;
        case 30: change_call(in, (uint8_t)which); return true;
        case 25:
            process_guard_dies(which & 1 ? now.second : now.center);
            if (which & 2) use_die(which & 1 ? now.second : now.center);
            process_turn();
            fuzz_step("death of a guard");
            return true;
        default:
            use_posts(300, publisher, 1);
            fuzz_step("round the ring");
            return true;
    }
}

// True: go on.
static bool step(input *in) {
    const uint8_t what = input_byte(in);
    // Changes and posts fill most of the codes, so that random ones mean mostly those.
    if (what < 80) return change_now(in), true;
    if (what < 128) return change_armed(in), true;
    if (what == 248 || what == 249) return change_aimed(in, what == 249), true;
    if (what == 250) return change_word(in), true;
    if (what == 253) return change_presence(in), true;
    if (what == 254) return change_aimed_at_presence(in), true;
    const uint8_t how = input_byte(in);
    const unsigned o = how % OBSERVERS, publisher = how % NAMES;
    switch (what) {
        case 128 ... 159:
            (void)use_post(what % NAMES, how);
            fuzz_step("post");
            return true;
        case 160 ... 167:
            use_posts(how < 150 ? 2u * how : 300, what % NAMES, 1);
            fuzz_step("posts");
            return true;
        case 168 ... 191:
            use_next(o, 1 + how / 8, 0);
            fuzz_step("next");
            return true;
        case 192 ... 195:
            use_next(o, 1, 100000);
            fuzz_step("next, waiting");
            return true;
        case 196 ... 211:
            use_observe(what % OBSERVERS, how);
            fuzz_step("observe");
            return true;
        case 212 ... 214:
            if (now.observers[o] && how % 2)
                (void)tidings_observer_remove(now.observers[o], now.subscriptions[o]);
            else if (now.observers[o])
                (void)tidings_observer_remove_many(now.observers[o], &now.subscriptions[o], 1);
            fuzz_step("no longer observe");
            return true;
        case 215 ... 217:
            use_close_observer(o);
            fuzz_step("close observer");
            return true;
        case 218 ... 221:
            use_state(publisher, how);
            fuzz_step("state");
            return true;
        case 222 ... 224:
            use_look_around(now.center);
            fuzz_step("statistics");
            return true;
        case 225 ... 227:
            fuzz_result("reclaim", tidings_reclaim(now.center));
            fuzz_step("reclaim");
            return true;
        case 228 ... 234:
            use_reservation(how);
            fuzz_step("reservation");
            return true;
        case 235 ... 237:
            if (!now.second) (void)use_open(&now.second, now.readable && how & 1 ? TIDINGS_OPEN_READ_ONLY : 0);
            fuzz_step("open again");
            return true;
        case 238 ... 240:
            use_close_second();
            fuzz_step("close second");
            return true;
        case 241 ... 242:
            use_removal();
            fuzz_step("remove");
            return true;
        case 243 ... 246:
            reopen();
            fuzz_step("reopen");
            return true;
        case 251: return more(in, how);
        case 247:
            if (now.observers[o]) tidings_observer_interrupt(now.observers[o]);
            return true;
        case 255: return false;
        default: changes_disarm(); return true;
    }
}

void script_furnish(tidings_center *center) {
    now.center = center;
    use_observe(0, 0);       // "a"
    use_observe(1, 64 | 2);  // "b", lossless
    use_observe(2, 6);       // all names
    use_posts(600, 5, 1);
    for (unsigned i = 0; i < NAMES; i++) (void)use_post(i, (uint8_t)(i | (i % 2 ? 8 : 0)));
    (void)use_post(0, 8 | 5);
}

static void run(input *in, uint8_t beginning) {
    fuzz_step("open");
    if (now.center) {
        use_changes();
        if (beginning & 1) script_furnish(now.center);
        if (beginning & 2) use_observe(3, 8);
        if (beginning & 4) (void)use_open(&now.second, now.readable && beginning & 64 ? TIDINGS_OPEN_READ_ONLY : 0);
        if (beginning & 128) use_requests();
        for (int i = 0; i < STEPS_MAX && in->at < in->end && step(in); i++) {}
    }
    changes_disarm();
    script_close();
    fuzz_step("close");
    changes_in(NULL, 0, &(const tidings__shape){0});
    mapping_forget();
}

static uint8_t begin(input *in) {
    const uint8_t beginning = input_byte(in);
    changes_disarm();
    process_begin();
    if (beginning & 8) process_processors(2);
    now.readable = beginning & 16;
    now.sealed = beginning & 32;
    fuzz_step(NULL);
    return beginning;
}

void script_run(input *in) {
    const uint8_t beginning = begin(in);
    (void)use_open(&now.center, 0);
    run(in, beginning);
}

void script_run_received(int socket, input *in) {
    const uint8_t beginning = begin(in);
    now.sealed = true;
    (void)use_opened("receive", tidings_receive(socket, &now.center), now.center);
    now.readable = now.center && now.center->segment.observable;
    run(in, now.center && now.center->segment.writable ? beginning : 0);
}
