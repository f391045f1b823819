// The loop that every rival shares: orders from standard input, answers to standard output. See Benchmarks/README.md.
#include "rival.h"
#include "process.h"

#include <benchmarks.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)
#define MARKER UINT32_MAX   // in place of a message's number: all that was sent has been sent
#define START_TIMEOUT_S 30  // a daemon or a peer that doesn't answer would leave the whole run waiting
#define SIZE_MAXIMUM (1u << 20)

// To side 1, and its answer.
typedef struct order {
    uint32_t count, size;
    uint32_t generation;
    bool stream, awake, call;
} order;

typedef struct report {
    uint64_t arrived;
    uint64_t end_ns;
} report;

uint64_t bench_monotonic_ns(void);

static int control[2], side;
static uint64_t *message;

void rival_meet(void) {
    char byte = 0;
    rival_try(send(control[side], &byte, 1, 0) == 1, "tell the other side");
    rival_try(recv(control[side], &byte, 1, 0) == 1, "hear from the other side");
}

// Every word depends on the number, so that what is torn or mixed up can't pass.
static void put(uint64_t *words, size_t size, uint64_t number) {
    for (size_t i = 0; i < size / 8; i++) words[i] = number + i * STEP;
}

static void check(const void *bytes, size_t size, uint64_t number) {
    uint64_t difference = 0, word;
    for (size_t i = 0; i < size / 8; i++) {
        memcpy(&word, (const char *)bytes + i * 8, 8);
        difference |= word ^ (number + i * STEP);
    }
    if (difference != 0) rival_fail("message %llx: wrong contents", (unsigned long long)number);
}

static void post(size_t size, uint64_t number) {
    uint64_t *words = this_rival.reserve != NULL ? this_rival.reserve(size) : message;
    put(words, size, number);
    this_rival.send(words, size);
}

static void flush(void) {
    if (this_rival.flush != NULL) this_rival.flush();
}

static uint64_t number_in(const order *it, const void *bytes, size_t size) {
    uint64_t number;
    if (size < 8) rival_fail("a message of %zu bytes in place of %u", size, it->size);
    memcpy(&number, bytes, 8);
    return number;
}

// The number of a message of this order, which is looked at whole.
static uint32_t checked(const order *it, const void *bytes, size_t size) {
    const uint64_t number = number_in(it, bytes, size);
    if (number >> 32 != it->generation)
        rival_fail("message %llx in order %x", (unsigned long long)number, it->generation);
    if (size != it->size) rival_fail("a message of %zu bytes in place of %u", size, it->size);
    check(bytes, size, number);
    return (uint32_t)number;
}

// The next message of this order; markers of earlier ones may still be on their way.
static uint32_t next(const order *it) {
    for (;;) {
        size_t size;
        const void *bytes = this_rival.receive(&size);
        if (this_rival.carries_nothing) return 0;
        const uint64_t number = number_in(it, bytes, size);
        if ((uint32_t)number != MARKER || number >> 32 >= it->generation) return checked(it, bytes, size);
    }
}

static uint64_t numbered(const order *it, uint32_t number) { return (uint64_t)it->generation << 32 | number; }

static void expect(const order *it, uint32_t number) {
    uint32_t found = next(it);
    if (!this_rival.carries_nothing && found != number) rival_fail("message %u in place of %u", found, number);
}

static void expect_in(const order *it, uint32_t number, const void *bytes, size_t size) {
    const uint32_t found = checked(it, bytes, size);
    if (found != number) rival_fail("message %u in place of %u", found, number);
}

// MARK: Side 1

static void reply_to_all(const order *it) {
    for (uint32_t i = 0; i < it->count; i++) {
        size_t size;
        const void *bytes = this_rival.next_request(&size);
        expect_in(it, i, bytes, size);
        put(message, it->size, numbered(it, i));
        this_rival.reply(message, it->size);
    }
}

static void answer(const order *it) {
    for (uint32_t i = 0; i < it->count; i++) {
        expect(it, i);
        post(it->size, numbered(it, i));
        flush();
    }
}

static void tell(report result) {
    result.end_ns = bench_monotonic_ns();
    rival_try(send(control[1], &result, sizeof result, 0) == sizeof result, "report");
}

// Up to the marker, also when all has arrived: side 0 may wait with the marker until this side reads.
static void gather(const order *it) {
    report result = {0};
    uint32_t following = 0;
    for (;;) {
        uint32_t number = next(it);
        if (!this_rival.carries_nothing && number == MARKER) break;
        if (!this_rival.carries_nothing && number < following) rival_fail("message %u after %u", number, following - 1);
        following = number + 1;
        result.arrived += 1;
        if (result.arrived == it->count) tell(result);
        if (result.arrived == it->count && this_rival.carries_nothing) return;
    }
    if (result.arrived < it->count) tell(result);
}

static void prepare(const order *it) {
    static bool calls_open;
    if (it->call && !calls_open) this_rival.open_calls(side);
    calls_open |= it->call;
    if (this_rival.prepare != NULL) this_rival.prepare(it->awake, it->stream);
    rival_meet();
}

static _Noreturn void serve(void) {
    order it;
    while (recv(control[1], &it, sizeof it, 0) == sizeof it) {
        prepare(&it);
        if (it.call)
            reply_to_all(&it);
        else if (it.stream)
            gather(&it);
        else
            answer(&it);
    }
    _exit(0);
}

// MARK: Side 0

static order new_order(order it) {
    static uint32_t generation;
    it.generation = ++generation;
    rival_try(send(control[0], &it, sizeof it, 0) == sizeof it, "order");
    prepare(&it);
    return it;
}

static void exchange(const order *it, uint32_t number) {
    if (!it->call) {
        post(it->size, numbered(it, number));
        flush();
        expect(it, number);
        return;
    }
    size_t size;
    put(message, it->size, numbered(it, number));
    const void *bytes = this_rival.call(message, it->size, &size);
    expect_in(it, number, bytes, size);
}

// Half a round trip, or half a call, each. A tenth more, before those that count, is warm-up.
static void latency(uint32_t count, uint32_t size, bool awake, bool call) {
    uint32_t warm = count / 10;
    uint64_t *samples = calloc(count, sizeof *samples);
    order it = new_order((order){.count = count + warm, .size = size, .awake = awake, .call = call});
    for (uint32_t i = 0; i < it.count; i++) {
        uint64_t start = bench_ticks();
        exchange(&it, i);
        uint64_t ticks = bench_ticks() - start;
        if (i >= warm) samples[i - warm] = bench_picoseconds(ticks) / 2;
    }
    for (uint32_t i = 0; i < count; i++) printf("%llu\n", (unsigned long long)(samples[i] + 500) / 1000);
    printf("\n");
    free(samples);
}

// How many have arrived; how long that took.
static uint64_t stream(uint32_t count, uint32_t size, uint64_t *arrived) {
    order it = new_order((order){.count = count, .size = size, .stream = true});
    uint64_t start = bench_monotonic_ns();
    for (uint32_t i = 0; i < count; i++) post(size, numbered(&it, i));
    flush();
    // One of these gets there, even where what finds no room is thrown away.
    struct pollfd there = {.fd = control[0], .events = POLLIN};
    do {
        if (this_rival.carries_nothing) continue;
        post(size, numbered(&it, MARKER));
        flush();
    } while (poll(&there, 1, 20) == 0);
    report result;
    rival_try(recv(control[0], &result, sizeof result, 0) == sizeof result, "hear the report");
    *arrived = result.arrived;
    return result.end_ns - start;
}

static void throughput(uint32_t count, uint32_t size) {
    uint64_t arrived;
    stream(count / 10 + 1, size, &arrived);
    uint64_t ns = stream(count, size, &arrived);
    printf("%llu", (unsigned long long)ns);
    if (arrived < count) printf(" %llu", (unsigned long long)arrived);
    printf("\n");
}

static bool obey(const char *line) {
    char verb[32] = "";
    uint32_t count = 0, size = 0;
    int words = sscanf(line, "%31s %u %u", verb, &count, &size);
    if (strcmp(verb, "quit") == 0) return false;
    bool awake = strcmp(verb, "latency-awake") == 0, call = strcmp(verb, "call") == 0;
    if (words != 3 || count == 0 || size < 8 || size % 8 != 0 || size > SIZE_MAXIMUM)
        rival_fail("what is \"%s\"?", line);
    if (awake && !this_rival.can_wait_awake) rival_fail("can't wait awake");
    if (call ? this_rival.open_calls == NULL : this_rival.send == NULL)
        rival_fail("has no %ss", call ? "call" : "message");
    if (this_rival.maximum > 0 && size > this_rival.maximum) rival_fail("%zu bytes at most", this_rival.maximum);
    if (awake || call || strcmp(verb, "latency") == 0)
        latency(count, size, awake, call);
    else if (strcmp(verb, "throughput") == 0)
        throughput(count, size);
    else
        rival_fail("what is \"%s\"?", verb);
    return true;
}

int main(int argc, char **argv) {
    int cores[2];
    if (argc != 3 || strcmp(argv[1], "--cpus") != 0 || sscanf(argv[2], "%d,%d", &cores[0], &cores[1]) != 2) {
        fprintf(stderr, "usage: %s --cpus A,B\n", argv[0]);
        return 64;
    }
    rival_begin();
    alarm(START_TIMEOUT_S);
    message = aligned_alloc(64, SIZE_MAXIMUM);
    memset(message, 0, SIZE_MAXIMUM);
    if (this_rival.start != NULL) this_rival.start();
    rival_try(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0, "socketpair");
    if (rival_fork() == 0) side = 1;
    close(control[1 - side]);
    rival_try(bench_pin(cores[side]) == 0, "go to that processor");
    bench_calibrate();
    if (this_rival.open != NULL) this_rival.open(side);
    rival_meet();
    if (side == 1) serve();
    printf("ready %s %s\n", this_rival.name, this_rival.version());
    fflush(stdout);
    alarm(0);
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (!obey(line)) break;
        fflush(stdout);
    }
    rival_end();
}
