// `NotifyPeer --serve SEED DIRECTORY`: a program that knows notify.h and nothing else, and does what a Swift test tells
// it, a line each on standard input. It answers each with one line on standard output.
//
//   post NAME                 → posted
//   posts NAME NAME N         posts N times one or the other, by chance → posted
//   check NAME                registers                     → registered TOKEN     plain NAME likewise
//   descriptor NAME           registers; all share one pipe → registered TOKEN
//   signal NAME               registers, for SIGUSR1        → registered TOKEN
//   asked TOKEN               notify_check                  → new, nothing
//   peek TOKEN                notify_peek                   → N
//   told N                    waits for N tokens            → told TOKEN TOKEN …
//   silent                    is there none?                → silent, told
//   signaled                  waits for one                 → signaled
//   set TOKEN N, get TOKEN    the state                     → set, N
//   cancel TOKEN              → canceled
#include <arpa/inet.h>
#include <inttypes.h>

#include "peer.h"

static int descriptor = -1;
static sigset_t watched;

static void say_registered(uint32_t status, int token) {
    OK(status);
    printf("registered %d\n", token);
}

static void posts(const char *names) {
    char two[2][256];
    int count;
    CHECK(sscanf(names, "%255s %255s %d", two[0], two[1], &count) == 3, "\"%s\"", names);
    for (int i = 0; i < count; i++) OK(notify_post(two[random_below(2)]));
    puts("posted");
}

static void tokens(int count) {
    printf("told");
    for (int i = 0; i < count; i++) printf(" %d", read_token(descriptor));
    puts("");
}

static void do_as_told(const char *command, char *rest) {
    const int number = atoi(rest);
    int token;
    if (strcmp(command, "post") == 0) {
        OK(notify_post(rest));
        puts("posted");
    } else if (strcmp(command, "posts") == 0) {
        posts(rest);
    } else if (strcmp(command, "check") == 0) {
        say_registered(notify_register_check(rest, &token), token);
    } else if (strcmp(command, "plain") == 0) {
        say_registered(notify_register_plain(rest, &token), token);
    } else if (strcmp(command, "descriptor") == 0) {
        const uint32_t status = notify_register_file_descriptor(rest, &descriptor, descriptor < 0 ? 0 : NOTIFY_REUSE,
                                                                &token);
        say_registered(status, token);
    } else if (strcmp(command, "signal") == 0) {
        say_registered(notify_register_signal(rest, SIGUSR1, &token), token);
    } else if (strcmp(command, "asked") == 0) {
        puts(is_new(number) ? "new" : "nothing");
    } else if (strcmp(command, "peek") == 0) {
        uint32_t count;
        OK(notify_peek(number, &count));
        printf("%" PRIu32 "\n", count);
    } else if (strcmp(command, "told") == 0) {
        tokens(number);
    } else if (strcmp(command, "silent") == 0) {
        puts(is_readable(descriptor) ? "told" : "silent");
    } else if (strcmp(command, "signaled") == 0) {
        int got;
        CHECK(sigwait(&watched, &got) == 0 && got == SIGUSR1, "signal %d", got);
        puts("signaled");
    } else if (strcmp(command, "set") == 0) {
        const char *value = strchr(rest, ' ');
        CHECK(value, "set what?");
        OK(notify_set_state(number, strtoull(value, NULL, 10)));
        puts("set");
    } else if (strcmp(command, "get") == 0) {
        uint64_t state;
        OK(notify_get_state(number, &state));
        printf("%" PRIu64 "\n", state);
    } else if (strcmp(command, "cancel") == 0) {
        OK(notify_cancel(number));
        puts("canceled");
    } else {
        CHECK(false, "what is \"%s\"?", command);
    }
}

void serve(void) {
    // Blocked, so that the signal comes to the thread that waits for it.
    sigemptyset(&watched);
    sigaddset(&watched, SIGUSR1);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest) *rest++ = 0;
        do_as_told(line, rest ? rest : line + strlen(line));
        fflush(stdout);
    }
}
