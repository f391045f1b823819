// The processes of one host of run.py. Each opens the center that $TIDINGS_DIRECTORY has under the name CENTER.
//
//   host agent CENTER SLOTS [FAULT]   makes the center, accounts for what arrives, and answers lines on standard input
//   with lines:
//                                  ends      how many names have had their last notification
//                                  values    a digest of all values under "ns.v.", and how many there are
//                                  report    a line for each name (below), a line "missed N", and a line "."
//   host post CENTER NAME EACH US  posts EACH notifications, pauses US microseconds, and so on until it is killed
//   host end CENTER NAME           posts the last notification of a name: its number is UINT64_MAX
//   host set CENTER SEED HOST US   sets and clears values "ns.v.0" to "ns.v.7" at random, until it is killed
//   host watch CENTER              observes everything and forgets it, until it is killed
//
//   host create CENTER SLOTS       makes the center
//   host time CENTER NAME COUNT    takes COUNT notifications whose payload begins with CLOCK_MONOTONIC, and prints ns:
//                                  the median time on the way, and that from the first one's post to the last arrival
//   host stamp CENTER NAME COUNT US   posts these, pauses after each, and prints the processor time of one, in ps
//
// FAULT is for the self-test: "drop" ignores each 500th arrival, "twice" takes it twice, "swap" takes it after the
// next.
//
// A line of `report`: NAME ORIGIN received last ended lost unsure base count twice wrong untold.
// ORIGIN is 0 for a notification of this center. `wrong`: a number or a sequence that is not above the one before.
// `untold`: a gap in the numbers that is not what the section tells as lost.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <tidings.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "ns.n."
#define VALUES 8
#define ACCOUNTS 16384
#define ORIGINS 64
#define LAST UINT64_MAX

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, tidings_last_error());
    return 1;
}

typedef struct account {
    char name[48];
    uint64_t origin, received, number, lost, unsure, base, count, twice, wrong, untold;
    bool ended;
} account;

static account accounts[ACCOUNTS];
static size_t account_count, ends;
static uint64_t missed;
static struct { uint64_t incarnation, sequence; } origins[ORIGINS];

static uint64_t hash(const void *bytes, size_t size, uint64_t state) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) state = (state ^ byte[i]) * UINT64_C(0x100000001B3);
    return state;
}

static account *account_of(uint64_t origin, const char *name) {
    size_t i = hash(name, strlen(name), origin) % ACCOUNTS;
    for (; accounts[i].name[0]; i = (i + 1) % ACCOUNTS)
        if (accounts[i].origin == origin && !strcmp(accounts[i].name, name)) return &accounts[i];
    if (++account_count > ACCOUNTS / 2) exit(fail("too many names"));
    accounts[i].origin = origin;
    snprintf(accounts[i].name, sizeof accounts[i].name, "%s", name);
    return &accounts[i];
}

static uint64_t *last_of(uint64_t incarnation) {
    for (int i = 0; i < ORIGINS; i++) {
        if (!origins[i].incarnation) origins[i].incarnation = incarnation;
        if (origins[i].incarnation == incarnation) return &origins[i].sequence;
    }
    exit(fail("too many origins"));
}

static void arrived(const tidings_delivery *d) {
    size_t size;
    const uint64_t *section = tidings_delivery_section(d, TIDINGS_SECTION_ORIGIN, &size);
    if (section && size < 104) exit(fail("a section of another size"));
    if (section && (section[10] & 1)) return;  // a value of a comparison is not counted
    account *a = account_of(section ? section[0] : 0, d->name);
    uint64_t number = 0;
    if (d->size >= sizeof number) memcpy(&number, d->payload, sizeof number);
    if (section) {
        uint64_t *sequence = last_of(section[0]);
        a->twice += section[1] == *sequence;
        a->wrong += section[1] < *sequence;
        *sequence = section[1];
        // What is missing before this one was told with it, or before. A loss that is not sure may be none.
        const uint64_t told = section[4] - a->lost, unsure = section[5] - a->unsure;
        const uint64_t gap = section[2] - a->count - 1;
        a->untold += a->received > 0 && (gap > told || gap + unsure < told);
        a->lost = section[4];
        a->unsure = section[5];
        a->count = section[2];
        a->base = section[11];
    } else {
        a->count++;
    }
    a->wrong += a->received > 0 && number <= a->number;
    a->received++;
    if (number == LAST) {
        a->ended = true;
        ends++;
    } else {
        a->number = number;
    }
}

static void values(tidings_publisher **publishers) {
    uint64_t digest = UINT64_C(0xCBF29CE484222325);
    int count = 0;
    for (int i = 0; i < VALUES; i++) {
        uint64_t value[8] = {0};
        size_t size = sizeof value;
        const int result = tidings_state_get(publishers[i], value, &size, NULL, NULL);
        if (result == 0)
            count++;
        else
            size = 0;
        digest = hash(&i, sizeof i, digest);
        digest = hash(value, size, digest);
    }
    printf("%016" PRIx64 " %d\n", digest, count);
}

static void report(void) {
    for (size_t i = 0; i < ACCOUNTS; i++) {
        const account *a = &accounts[i];
        if (a->name[0])
            printf("%s %016" PRIx64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                   " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                   a->name, a->origin, a->received, a->number, a->ended, a->lost, a->unsure, a->base, a->count,
                   a->twice, a->wrong, a->untold);
    }
    printf("missed %" PRIu64 "\n.\n", missed);
}

// The faults of the self-test.
static void take(const tidings_delivery *d, const char *fault) {
    static uint64_t taken;
    static tidings_delivery late;
    static char name[48];
    static uint64_t payload, sections[32];
    size_t size;
    if (!*fault || !tidings_delivery_section(d, TIDINGS_SECTION_ORIGIN, &size)) {
        arrived(d);
        return;
    }
    if (late.name) {
        arrived(d);
        arrived(&late);
        late.name = NULL;
    } else if (++taken % 500) {
        arrived(d);
    } else if (*fault == 't') {
        arrived(d);
        arrived(d);
    } else if (*fault == 's' && d->size >= sizeof payload && d->sections_size <= sizeof sections) {
        late = *d;
        snprintf(name, sizeof name, "%s", d->name);
        memcpy(&payload, d->payload, sizeof payload);
        memcpy(sections, d->sections, d->sections_size);
        late.name = name;
        late.payload = &payload;
        late.size = sizeof payload;
        late.sections = sections;
    }
}

static int agent(tidings_center *center, const char *fault) {
    tidings_observer *observer;
    tidings_publisher *publishers[VALUES];
    uint32_t subscription;
    if (tidings_observer_open(center, 0, &observer) < 0 ||
        tidings_observer_add(observer, PREFIX, strlen(PREFIX), NULL, 0, TIDINGS_ADD_PREFIX, &subscription) < 0)
        return fail("observe");
    for (int i = 0; i < VALUES; i++) {
        char name[32];
        snprintf(name, sizeof name, "ns.v.%d", i);
        if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &publishers[i]) < 0) return fail("publisher");
    }
    int descriptor;
    if (tidings_observer_descriptor(observer, &descriptor) < 0) return fail("descriptor");
    puts("ready");
    fflush(stdout);
    for (;;) {
        tidings_delivery d;
        int result, taken = 0;
        while (taken++ < 4096 && (result = tidings_next(observer, 0, &d)) == 0)
            if (d.kind == TIDINGS_DELIVERY_MISSED)
                missed += d.missed;
            else
                take(&d, fault);
        if (result < 0 && result != -EAGAIN && result != -EINTR) return fail("next");
        struct pollfd polled[2] = {{.fd = 0, .events = POLLIN}, {.fd = descriptor, .events = POLLIN}};
        if (poll(polled, 2, result == 0 ? 0 : -1) < 0 || !polled[0].revents) continue;
        char line[64];
        size_t length = 0;
        while (length < sizeof line - 1 && read(0, line + length, 1) == 1 && line[length] != '\n') length++;
        line[length] = 0;
        if (!length) return 0;
        if (!strcmp(line, "ends")) printf("%zu\n", ends);
        if (!strcmp(line, "values")) values(publishers);
        if (!strcmp(line, "report")) report();
        fflush(stdout);
    }
}

// Numbers from 1 on.
static int post(tidings_center *center, const char *name, uint64_t number, uint64_t each, useconds_t pause) {
    tidings_publisher *publisher;
    if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) < 0) return fail("publisher");
    for (uint64_t payload[8] = {number};; payload[0]++) {
        if (tidings_post(publisher, payload, sizeof payload, NULL, NULL) < 0) return fail("post");
        if (payload[0] == LAST) return 0;
        if (payload[0] % each == 0) usleep(pause);
    }
}

static int set(tidings_center *center, unsigned seed, uint64_t host, useconds_t pause) {
    srandom(seed);
    for (uint64_t number = 1;; number++) {
        char name[32];
        snprintf(name, sizeof name, "ns.v.%ld", random() % VALUES);
        tidings_publisher *publisher;
        if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) < 0) return fail("publisher");
        const uint64_t payload[8] = {host, seed, number};
        const bool clears = random() % 5 == 0;
        if (tidings_state_set(publisher, clears ? NULL : payload, clears ? 0 : sizeof payload, NULL, NULL) < 0)
            return fail("state");
        tidings_publisher_close(publisher);
        usleep(pause);
    }
}

static int watch(tidings_center *center) {
    tidings_observer *observer;
    tidings_delivery d;
    uint32_t subscription;
    if (tidings_observer_open(center, 0, &observer) < 0 ||
        tidings_observer_add(observer, NULL, 0, NULL, 0, TIDINGS_ADD_RETAINED, &subscription) < 0)
        return fail("observe");
    int result;
    while ((result = tidings_next(observer, -1, &d)) == 0 || result == -EINTR) {}
    return fail("next");
}

static uint64_t monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int time_arrivals(tidings_center *center, const char *name, size_t count) {
    tidings_observer *observer;
    uint32_t subscription;
    uint64_t *times = malloc(count * sizeof *times), first = 0, last = 0;
    if (!times || tidings_observer_open(center, 0, &observer) < 0 ||
        tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription) < 0)
        return fail("observe");
    puts("ready");
    fflush(stdout);
    size_t taken = 0;
    while (taken < count) {
        tidings_delivery d;
        const int result = tidings_next(observer, -1, &d);
        if (result == -EINTR) continue;
        if (result < 0) return fail("next");
        last = monotonic();
        if (d.kind == TIDINGS_DELIVERY_MISSED) {
            count -= d.missed < count - taken ? d.missed : count - taken;
            continue;
        }
        uint64_t stamp;
        memcpy(&stamp, d.payload, sizeof stamp);
        if (!first) first = stamp;
        times[taken++] = last - stamp;
    }
    qsort(times, taken, sizeof *times, compare);
    printf("%zu %" PRIu64 " %" PRIu64 "\n", taken, times[taken / 2], last - first);
    return 0;
}

static int stamp(tidings_center *center, const char *name, size_t count, useconds_t pause) {
    tidings_publisher *publisher;
    if (tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) < 0) return fail("publisher");
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (size_t i = 0; i < count; i++) {
        const uint64_t payload[8] = {monotonic()};
        if (tidings_post(publisher, payload, sizeof payload, NULL, NULL) < 0) return fail("post");
        if (pause) usleep(pause);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.0f\n", ns * 1000 / (double)count);
    return 0;
}

int main(int argc, char **argv) {
    tidings_center *center;
    if (argc < 3) return 64;
    // The run's end, however it comes, is theirs.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool is_agent = !strcmp(argv[1], "agent") && argc >= 4;
    const tidings_configuration configuration = {
        .slots = is_agent || !strcmp(argv[1], "create") ? (uint32_t)atoi(argv[3]) : 0};
    if (tidings_open(argv[2], &configuration, &center) < 0) return fail("open");
    if (!strcmp(argv[1], "create")) return 0;
    if (is_agent) return agent(center, argc > 4 ? argv[4] : "");
    if (!strcmp(argv[1], "post") && argc == 6)
        return post(center, argv[3], 1, strtoull(argv[4], NULL, 10), (useconds_t)atoi(argv[5]));
    if (!strcmp(argv[1], "end") && argc == 4) return post(center, argv[3], LAST, 1, 0);
    if (!strcmp(argv[1], "set") && argc == 6)
        return set(center, (unsigned)atoi(argv[3]), strtoull(argv[4], NULL, 10), (useconds_t)atoi(argv[5]));
    if (!strcmp(argv[1], "time") && argc == 5) return time_arrivals(center, argv[3], strtoull(argv[4], NULL, 10));
    if (!strcmp(argv[1], "stamp") && argc == 6)
        return stamp(center, argv[3], strtoull(argv[4], NULL, 10), (useconds_t)atoi(argv[5]));
    if (!strcmp(argv[1], "watch")) return watch(center);
    return 64;
}
