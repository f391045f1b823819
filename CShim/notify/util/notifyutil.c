// notifyutil: notify(3) from the command line, with Apple's options. CShim/notify/man/notifyutil.1
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "notify.h"
#include "notify_private.h"
#include "tidings.h"

#define CHECKED_MS 100  // between two checks of -check

typedef enum kind { BY_FILE, BY_CHECK, BY_SIGNAL, BY_DISPATCH } kind;
static const char *const kind_names[] = {"file", "check", "signal", "dispatch"};

typedef struct registration {
    const char *key;
    kind kind;
    int token, signal;
    long left;  // notifications to wait for; -1: for ever
} registration;

static registration *registrations;
static int count;
static long unfinished;  // registrations that still wait for some
static bool quiet, verbose, with_time;
static long pause_ms;            // after a post
static int file = -1;            // of all that are told by file
static int news[2];              // signals and blocks tell the main loop here
static kind kind_now = BY_FILE;  // of Apple's default, ports, there are none here
static int signal_now = SIGHUP;

static void fail(const char *what, const char *key, uint32_t status) {
    static const char *const words[] = {"ok",           "invalid name",   "invalid token",   "invalid port",
                                        "invalid file", "invalid signal", "invalid request", "not authorized",
                                        "disabled",     "no such center", "missing argument"};
    const char *why = status < sizeof words / sizeof words[0] ? words[status]
                      : *tidings_last_error()                 ? tidings_last_error()
                                                              : "failed";
    fprintf(stderr, "notifyutil: %s %s: %s (%u)\n", what, key, why, status);
    exit(1);
}

static void usage(FILE *to) {
    fprintf(
        to,
        "usage: notifyutil [-q] [-v] [-t] [-z MSEC] [-M] [-R] [COMMAND …]\n"
        "  -p KEY        post                            -w KEY   register, and wait for notifications for ever\n"
        "  -# KEY        register, and wait for # of them (-1, -2 …)\n"
        "  -g KEY        print the state                 -s KEY VALUE   set the state\n"
        "  -file -check -signal [#] -dispatch -port      how the registrations that follow are told (port: as file)\n"
        "  -q quiet   -v time, key, state and kind   -t time   -z milliseconds to pause after each post (0)\n"
        "  -M            accepted: there is no port to multiplex   -R   go on if the center is removed and made "
        "anew\n");
}

static void print_time(void) {
    struct timespec now;
    struct tm local;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(text, sizeof text, "%H:%M:%S", &local);
    printf("%s.%06ld ", text, now.tv_nsec / 1000);
}

static void heard(registration *r) {
    if (r->left == 0) return;
    if (!quiet) {
        if (verbose || with_time) print_time();
        uint64_t state = 0;
        if (verbose) (void)notify_get_state(r->token, &state);
        if (verbose)
            printf("\"%s\" %" PRIu64 " %s\n", r->key, state, kind_names[r->kind]);
        else
            printf("%s\n", r->key);
        fflush(stdout);
    }
    if (r->left > 0 && --r->left == 0) {
        unfinished--;
        (void)notify_cancel(r->token);
    }
}

static void heard_token(int token) {
    for (int i = 0; i < count; i++)
        if (registrations[i].token == token) heard(&registrations[i]);
}

static void on_signal(int number) {
    const int saved = errno, message = -number;
    (void)!write(news[1], &message, sizeof message);
    errno = saved;
}

// A signal says which registrations it may be for, and a check for which it is.
static void heard_signal(int number) {
    for (int i = 0; i < count; i++) {
        registration *r = &registrations[i];
        int check = 0;
        if (r->kind == BY_SIGNAL && r->signal == number && r->left != 0 &&
            notify_check(r->token, &check) == NOTIFY_STATUS_OK && check)
            heard(r);
    }
}

static void add(const char *key, long left) {
    registration *more = realloc(registrations, (size_t)(count + 1) * sizeof *more);
    if (!more) fail("no memory for", key, NOTIFY_STATUS_FAILED);
    registrations = more;
    registration *r = &registrations[count];
    *r = (registration){.key = key, .kind = kind_now, .signal = signal_now, .left = left};
    uint32_t status = NOTIFY_STATUS_FAILED;
    int check;
    switch (kind_now) {
        case BY_FILE:
            status = notify_register_file_descriptor(key, &file, file >= 0 ? NOTIFY_REUSE : 0, &r->token);
            break;
        case BY_CHECK: status = notify_register_check(key, &r->token); break;
        case BY_SIGNAL: {
            struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
            sigemptyset(&action.sa_mask);
            if (sigaction(signal_now, &action, NULL) != 0)
                fail("can't catch the signal of", key, NOTIFY_STATUS_INVALID_SIGNAL);
            status = notify_register_signal(key, signal_now, &r->token);
            break;
        }
        case BY_DISPATCH:
#ifdef NOTIFY_HAS_DISPATCH
            status = notify_register_dispatch(key, &r->token, dispatch_get_global_queue(0, 0),
                                              ^(int token) { (void)!write(news[1], &token, sizeof token); });
#else
            fprintf(stderr, "notifyutil: this one was built without Dispatch; use -file\n");
            exit(1);
#endif
            break;
    }
    if (status != NOTIFY_STATUS_OK) fail("can't register for", key, status);
    // The first check says nothing but that it is the first.
    if (kind_now == BY_CHECK || kind_now == BY_SIGNAL) (void)notify_check(r->token, &check);
    count++;
    unfinished++;
}

static bool some_are_checked(void) {
    for (int i = 0; i < count; i++)
        if (registrations[i].kind == BY_CHECK && registrations[i].left != 0) return true;
    return false;
}

static void wait_for_all(void) {
    while (unfinished > 0) {
        struct pollfd polls[] = {{.fd = news[0], .events = POLLIN}, {.fd = file, .events = POLLIN}};
        const int ready = poll(polls, 2, some_are_checked() ? CHECKED_MS : -1);
        if (ready < 0 && errno != EINTR) fail("can't wait for", "notifications", NOTIFY_STATUS_FAILED);
        int message;
        uint32_t token;
        if (ready > 0 && polls[0].revents & POLLIN && read(news[0], &message, sizeof message) == sizeof message) {
            if (message < 0)
                heard_signal(-message);
            else
                heard_token(message);
        }
        if (ready > 0 && polls[1].revents & POLLIN && read(file, &token, sizeof token) == sizeof token)
            heard_token((int)ntohl(token));
        if (ready > 0 && polls[1].revents & POLLNVAL) file = -1;  // closed with its last token
        for (int i = 0; i < count; i++) {
            int check = 0;
            if (registrations[i].kind == BY_CHECK && registrations[i].left != 0 &&
                notify_check(registrations[i].token, &check) == NOTIFY_STATUS_OK && check)
                heard(&registrations[i]);
        }
    }
}

static void get(const char *key) {
    int token;
    uint64_t state = 0;
    uint32_t status = notify_register_plain(key, &token);
    if (status == NOTIFY_STATUS_OK) status = notify_get_state(token, &state);
    if (status != NOTIFY_STATUS_OK) fail("can't get the state of", key, status);
    // With -q too, as Apple's does. At once: the next command of this line may wait.
    printf("%s %" PRIu64 "\n", key, state);
    fflush(stdout);
    (void)notify_cancel(token);
}

static uint64_t state_of(const char *text) {
    char *end;
    errno = 0;
    // Decimal, as Apple's: 010 is 10, -1 is 2^64 - 1.
    const uint64_t value = strtoull(text, &end, 10);
    if (end != text && *end == 0 && errno == 0) return value;
    fprintf(stderr,
            "notifyutil: \"%s\" is no state: pass a decimal number from -9223372036854775808 to 18446744073709551615\n",
            text);
    exit(64);
}

static void set(const char *key, uint64_t value) {
    int token;
    uint32_t status = notify_register_plain(key, &token);
    if (status == NOTIFY_STATUS_OK) status = notify_set_state(token, value);
    if (status != NOTIFY_STATUS_OK) fail("can't set the state of", key, status);
    (void)notify_cancel(token);
}

static long number_of(const char *text, long most) {
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && number <= most ? number : -1;
}

static void post(const char *key) {
    const uint32_t status = notify_post(key);
    if (status != NOTIFY_STATUS_OK) fail("can't post", key, status);
    if (pause_ms > 0) (void)poll(NULL, 0, (int)pause_ms);
}

static bool is(const char *option, const char *name) { return strcmp(option, name) == 0; }

static void refuse(const char *what, const char *option) {
    fprintf(stderr, "notifyutil: %s %s\n", option, what);
    usage(stderr);
    exit(64);
}

// The first argument, with those that belong to it: how many these are. Everything is read once before anything is done
// (`acts`): -q, -v, -t, -z, -M and -R hold for the whole line, as Apple's do, and a line that is wrong somewhere does
// nothing.
static int take(char **arguments, int left, bool acts) {
    const char *option = arguments[0], *next = left > 1 ? arguments[1] : NULL, *value = left > 2 ? arguments[2] : NULL;
    const long number = option[0] == '-' ? number_of(option + 1, LONG_MAX) : -1;
    if (is(option, "-h") || is(option, "-help") || is(option, "--help")) {
        usage(stdout);
        exit(0);
    }
    if (is(option, "-q")) return quiet = true, 1;
    if (is(option, "-v")) return verbose = true, 1;
    if (is(option, "-t")) return with_time = true, 1;
    if (is(option, "-M")) return notify_set_options(NOTIFY_OPT_DISPATCH), 1;
    if (is(option, "-R")) return notify_set_options(NOTIFY_OPT_REGEN), 1;
    if (is(option, "-port") || is(option, "-file")) return kind_now = BY_FILE, 1;
    if (is(option, "-check") || is(option, "-plain")) return kind_now = BY_CHECK, 1;
    if (is(option, "-dispatch")) return kind_now = BY_DISPATCH, 1;
    if (is(option, "-signal") || is(option, "-sig")) {
        const long given = next ? number_of(next, 64) : -1;
        kind_now = BY_SIGNAL;
        if (given > 0) signal_now = (int)given;
        return given > 0 ? 2 : 1;
    }
    const bool known = is(option, "-p") || is(option, "-w") || is(option, "-g") || is(option, "-s") ||
                       is(option, "-z") || number > 0;
    if (!known) refuse("is no option", option);
    if (!next) refuse("needs an argument", option);
    if (is(option, "-s") && !value) refuse("needs a key and a value", option);
    if (is(option, "-z")) {
        pause_ms = number_of(next, 3600000);
        if (pause_ms < 0) refuse("takes milliseconds, 0 to 3600000", option);
        return 2;
    }
    const uint64_t state = is(option, "-s") ? state_of(value) : 0;
    if (!acts) return is(option, "-s") ? 3 : 2;
    if (is(option, "-p"))
        post(next);
    else if (is(option, "-w"))
        add(next, -1);
    else if (is(option, "-g"))
        get(next);
    else if (is(option, "-s"))
        set(next, state);
    else
        add(next, number);
    return is(option, "-s") ? 3 : 2;
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments < 2) {
        usage(stderr);
        return 64;
    }
    if (pipe(news) != 0) fail("no descriptors for", "signals", NOTIFY_STATUS_FAILED);
    for (int acts = 0; acts < 2; acts++) {
        kind_now = BY_FILE;
        signal_now = SIGHUP;
        for (int i = 1; i < count_of_arguments;) i += take(&arguments[i], count_of_arguments - i, acts);
    }
    wait_for_all();
    return 0;
}
