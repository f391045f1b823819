// The other processes of the relay's tests.
//
//   peer post CENTER NAME COUNT [PAUSE]    posts COUNT notifications; the payload is their number (8 bytes) and 56
//   more.
//                                          PAUSE: microseconds after each; prints how many it has posted
//   peer check CENTER PREFIX ENDS          observes PREFIX, all of it from now on. Prints "ready". Ends on SIGTERM, or
//                                          after ENDS relayed notifications whose name ends with ".end". Then prints,
//                                          for each name of each origin, a line: INCARNATION NAME received first last
//                                          lost base count twice wrong and a line "own RECEIVED missed MISSED"
//   peer hold CENTER NAME                  observes NAME losslessly and takes nothing. Prints "ready". Ends on SIGTERM
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidings.h>
#include <unistd.h>

static tidings_observer *interrupted;
static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
    if (interrupted) tidings_observer_interrupt(interrupted);
}

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, tidings_last_error());
    return 1;
}

static int post(tidings_center *center, const char *name, uint64_t count, useconds_t pause) {
    tidings_publisher *publisher;
    if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) < 0) return fail("publisher");
    uint64_t payload[8] = {0};
    for (; payload[0] < count && !ended; payload[0]++) {
        // An own lossless observer may hold it back.
        tidings_post_options options = {.timeout_ns = INT64_C(10000000000)};
        if (tidings_post(publisher, payload, sizeof payload, &options, NULL) < 0) return fail("post");
        if (pause) usleep(pause);
    }
    printf("posted %llu\n", (unsigned long long)payload[0]);
    return 0;
}

typedef struct account {
    uint64_t origin, received, first, last, lost, base, count, sequence, twice, wrong;
    char name[TIDINGS_NAME_MAX + 1];
} account;

static account accounts[4096];
static size_t account_count;

static account *find(uint64_t origin, const char *name) {
    for (size_t i = 0; i < account_count; i++)
        if (accounts[i].origin == origin && !strcmp(accounts[i].name, name)) return &accounts[i];
    if (account_count == sizeof accounts / sizeof *accounts) exit(fail("too many accounts"));
    account *a = &accounts[account_count++];
    a->origin = origin;
    strcpy(a->name, name);
    return a;
}

// Docs/Design/Relay.md, section 5, has the fields.
static bool count(const tidings_delivery *d) {
    size_t size;
    const uint64_t *section = tidings_delivery_section(d, TIDINGS_SECTION_ORIGIN, &size);
    if (!section) return false;
    if (size != 104) exit(fail("a section of another size"));
    if (((const uint32_t *)section)[20] & 1) return true;  // a value of a comparison is not counted
    account *a = find(section[0], d->name);
    uint64_t number = 0;
    if (d->size >= sizeof number) memcpy(&number, d->payload, sizeof number);
    if (a->received == 0) {
        a->first = number;
        a->base = section[11];
    } else {
        a->twice += section[1] == a->sequence;
        // The order of the origin, by its sequence and by the poster's numbers; and each difference was told as lost.
        a->wrong += section[1] < a->sequence || (d->size == 64 && number <= a->last) ||
                    section[2] - a->count != 1 + section[4] - a->lost;
    }
    a->received++;
    a->last = number;
    a->lost = section[4];
    a->count = section[2];
    a->sequence = section[1];
    return true;
}

static int check(tidings_center *center, const char *prefix, uint64_t wanted) {
    tidings_observer *observer;
    tidings_delivery d;
    uint32_t number;
    uint64_t ends = 0, own = 0, missed = 0;
    if (tidings_observer_open(center, 0, &observer) < 0 ||
        tidings_observer_add(observer, prefix, strlen(prefix), NULL, 0, TIDINGS_ADD_PREFIX, &number) < 0)
        return fail("observe");
    interrupted = observer;
    puts("ready");
    fflush(stdout);
    while (!ended && (wanted == 0 || ends < wanted)) {
        const int result = tidings_next(observer, -1, &d);
        if (result == -EINTR) continue;
        if (result < 0) return fail("next");
        if (d.kind == TIDINGS_DELIVERY_MISSED)
            missed += d.missed;
        else if (!count(&d))
            own++;
        else if (d.name_length > 4 && !strcmp(d.name + d.name_length - 4, ".end"))
            ends++;
    }
    for (size_t i = 0; i < account_count; i++) {
        const account *a = &accounts[i];
        printf("%llx %s %llu %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)a->origin, a->name,
               (unsigned long long)a->received, (unsigned long long)a->first, (unsigned long long)a->last,
               (unsigned long long)a->lost, (unsigned long long)a->base, (unsigned long long)a->count,
               (unsigned long long)a->twice, (unsigned long long)a->wrong);
    }
    printf("own %llu missed %llu\n", (unsigned long long)own, (unsigned long long)missed);
    return 0;
}

static int hold(tidings_center *center, const char *name) {
    tidings_observer *observer;
    uint32_t number;
    if (tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer) < 0 ||
        tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &number) < 0)
        return fail("observe");
    puts("ready");
    fflush(stdout);
    while (!ended) pause();
    tidings_observer_close(observer);
    return 0;
}

int main(int argc, char **argv) {
    tidings_center *center;
    if (argc < 4) return 64;
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    if (tidings_open(argv[2], NULL, &center) < 0) return fail("open");
    const uint64_t number = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    if (!strcmp(argv[1], "post")) return post(center, argv[3], number, argc > 5 ? (useconds_t)atoi(argv[5]) : 0);
    if (!strcmp(argv[1], "check")) return check(center, argv[3], number);
    if (!strcmp(argv[1], "hold")) return hold(center, argv[3]);
    return 64;
}
