// What the calls of notify(3) take that a program makes often.
#include <counting.h>
#include <notify.h>
#include <stdio.h>
#include <stdlib.h>
#include <tidings.h>

// Aligned: the instructions of the C library's string functions depend on where a text lies.
#define TEXT(name, text) static const char name[] __attribute__((aligned(64))) = text
TEXT(NAME, "org.example.regression.name");
TEXT(ABSENT, "org.example.regression.absent");
TEXT(ANOTHER, "org.example.regression.another");

static int token;

static inline __attribute__((always_inline)) void must(uint32_t status) {
    if (__builtin_expect(status != NOTIFY_STATUS_OK, 0)) {
        fprintf(stderr, "%s (%u)\n", tidings_last_error(), status);
        exit(1);
    }
}

static void set_up(void) {
    setenv("TIDINGS_DIRECTORY", COUNTING_DIRECTORY, 1);
    setenv("TIDINGS_NOTIFY_CONFIGURATION", "/nonexistent", 1);
    must(notify_register_check(NAME, &token));
    must(notify_set_state(token, 5));
}

// Up to there has everything been looked at.
static void look(int times) {
    (void)times;
    int check;
    must(notify_check(token, &check));
}

static void check(int times) {
    for (int i = 0; i < times; i++) {
        int check;
        must(notify_check(token, &check));
        if (check) must(NOTIFY_STATUS_FAILED);
    }
}

static void get_state(int times) {
    for (int i = 0; i < times; i++) {
        uint64_t state;
        must(notify_get_state(token, &state));
        if (state != 5) must(NOTIFY_STATUS_FAILED);
    }
}

// Of a name that is not registered.
static void post(int times) {
    for (int i = 0; i < times; i++) must(notify_post(ABSENT));
}

static void news(int times) {
    for (int i = 0; i < times; i++) {
        int check;
        must(notify_post(NAME));
        must(notify_check(token, &check));
        if (!check) must(NOTIFY_STATUS_FAILED);
    }
}

// And away with it: a name lately used.
static void come_and_go(int times) {
    for (int i = 0; i < times; i++) {
        int another;
        must(notify_register_check(ANOTHER, &another));
        must(notify_cancel(another));
    }
}

int main(int count, char **arguments) {
    static const counting_operation operations[] = {
        {"notify_check", set_up, look, check, 1024},        {"notify_get_state", set_up, look, get_state, 1024},
        {"notify_post", set_up, NULL, post, 1024},          {"notify_news", set_up, NULL, news, 1024},
        {"notify_register", set_up, NULL, come_and_go, 64},
    };
    return counting_main(count, arguments, operations, (int)(sizeof operations / sizeof *operations));
}
