#include "explore.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEPTH (STEPS * 4)
#define CHANGE_POINTS 8

typedef struct node {
    uint8_t chosen, count, free;  // `free`: no option costs anything
    uint8_t kinds[5 * FIBERS];
} node;

typedef enum mode { EXHAUST, RANDOM, REPLAY } mode;

// Not among what is put back between schedules.
static struct explorer {
    mode mode;
    uint32_t depth, prefix, changes;
    uint32_t spent, deaths, late;  // in this schedule so far
    node path[DEPTH];

    uint64_t seed, state;
    uint64_t priorities[FIBERS], change_at[CHANGE_POINTS], points, usual;
    uint32_t change_count, switch_one_in, time_one_in, late_one_in, drain_one_in, die_one_in, stop_one_in;
    bool by_priority;
} * x;

void explorer_boot(void) {
    x = mmap(NULL, sizeof *x, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x == MAP_FAILED) abort();
}

// MARK: All of them

static bool affordable(const node *n, uint32_t option, uint32_t spent, uint32_t deaths, uint32_t late) {
    if (option == 0 || n->free) return true;
    if (n->kinds[option] == DIE) return deaths < 1;
    if (n->kinds[option] == STORE_LATE) return late < 1;
    return spent < x->changes;
}
static void consume_budget(const node *n, uint32_t *spent, uint32_t *deaths, uint32_t *late) {
    if (n->chosen == 0 || n->free) return;
    if (n->kinds[n->chosen] == DIE)
        ++*deaths;
    else if (n->kinds[n->chosen] == STORE_LATE)
        ++*late;
    else
        ++*spent;
}

void explorer_exhaust(uint32_t changes) {
    x->mode = EXHAUST;
    x->changes = changes;
    x->depth = x->prefix = 0;
    x->spent = x->deaths = x->late = 0;
}

bool explorer_next(void) {
    // What had been spent before each node.
    uint32_t spent = x->spent, deaths = x->deaths, late = x->late;
    for (uint32_t at = x->depth; at-- > 0;) {
        node *n = &x->path[at];
        uint32_t used = 0, died = 0, held = 0;
        consume_budget(n, &used, &died, &held);
        spent -= used, deaths -= died, late -= held;
        for (uint32_t option = n->chosen + 1u; option < n->count; option++) {
            if (!affordable(n, option, spent, deaths, late)) continue;
            n->chosen = (uint8_t)option;
            x->prefix = at + 1;
            x->depth = 0;
            x->spent = x->deaths = x->late = 0;
            return true;
        }
    }
    return false;
}

static uint32_t exhaust(const option *options, uint32_t count, int self) {
    if (x->depth == DEPTH) machine_violation("more choices than there is room for");
    node *n = &x->path[x->depth];
    if (x->depth >= x->prefix) {
        n->chosen = 0;
        n->count = (uint8_t)count;
        n->free = self < 0;
        for (uint32_t i = 0; i < count; i++) n->kinds[i] = options[i].kind;
    } else if (n->count != count) {
        machine_violation("this test isn't deterministic: choice %u has %u options, and had %u", x->depth, count,
                          n->count);
    }
    x->depth++;
    consume_budget(n, &x->spent, &x->deaths, &x->late);
    return n->chosen;
}

// MARK: At random

static uint64_t chance(void) {
    x->state ^= x->state << 13;
    x->state ^= x->state >> 7;
    x->state ^= x->state << 17;
    return x->state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}
static bool one_in(uint64_t many) { return many > 0 && chance() % many == 0; }

void explorer_random(uint64_t seed, uint64_t usual_points) {
    x->mode = RANDOM;
    x->seed = seed;
    x->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x->depth = 0;
    x->points = 0;
    x->usual = usual_points ? usual_points : 100;
    for (int i = 0; i < 8; i++) chance();
    // Half of them run by priorities that change at a few points (a fiber with low priority stays behind). The other
    // half walk at random, with short or with long steps.
    x->by_priority = one_in(2);
    x->change_count = (uint32_t)(chance() % CHANGE_POINTS);
    for (uint32_t i = 0; i < x->change_count; i++) x->change_at[i] = chance() % x->usual;
    for (uint32_t i = 0; i < FIBERS; i++) x->priorities[i] = (UINT64_C(1) << 32) + chance() % 1000000;
    static const uint32_t steps[] = {2, 4, 10, 40};
    static const uint32_t times[] = {0, 0, 10, 200};
    static const uint32_t lates[] = {0, 1, 3, 20};
    static const uint32_t drains[] = {0, 5, 30};
    x->switch_one_in = steps[chance() % 4];
    x->time_one_in = times[chance() % 4];
    x->late_one_in = lates[chance() % 4];
    x->drain_one_in = drains[chance() % 3];
    x->stop_one_in = one_in(2) ? 0 : (uint32_t)(1 + x->usual / 2);
    x->die_one_in = one_in(4) ? 0 : (uint32_t)(1 + x->usual / 3);
}

uint64_t explorer_points(void) { return x->points; }

static uint32_t at_random(const option *options, uint32_t count, int self) {
    if (self < 0) return (uint32_t)(chance() % count);
    if (options[0].kind == STORE_NOW) return one_in(x->late_one_in);
    uint64_t point = x->points++;
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (options[i].kind == DIE && one_in(x->die_one_in)) return i;
        if (options[i].kind == STOP && one_in(x->stop_one_in)) return i;
        if (options[i].kind == DRAIN && one_in(x->drain_one_in)) return i;
        if (options[i].kind == TIME_OUT && i > 0 && one_in(x->time_one_in * count)) return i;
    }
    if (x->by_priority) {
        for (uint32_t i = 0; i < x->change_count; i++)
            if (x->change_at[i] == point) x->priorities[self] = i + 1;
        for (uint32_t i = 0; i < count; i++)
            if (options[i].kind <= SWITCH && options[best].kind <= SWITCH &&
                x->priorities[options[i].fiber] > x->priorities[options[best].fiber])
                best = i;
        return best;
    }
    if (options[0].kind == GO_ON && !one_in(x->switch_one_in)) return 0;
    uint32_t ready = 0;
    while (ready < count && options[ready].kind <= SWITCH) ready++;
    return ready ? (uint32_t)(chance() % ready) : 0;
}

// MARK: Once more

void explorer_replay(const char *choices) {
    x->mode = REPLAY;
    x->depth = 0;
    memset(x->path, 0, sizeof x->path);
    while (*choices) {
        char *end;
        unsigned long at = strtoul(choices, &end, 10), chosen = 0;
        if (*end == ':') chosen = strtoul(end + 1, &end, 10);
        if (at < DEPTH) x->path[at].chosen = (uint8_t)chosen;
        if (*end != ',') break;
        choices = end + 1;
    }
}

void explorer_again(void) {
    if (x->mode == RANDOM) {
        explorer_random(x->seed, x->usual);
    } else {
        if (x->mode == EXHAUST) memset(&x->path[x->depth], 0, sizeof x->path - x->depth * sizeof x->path[0]);
        x->mode = REPLAY;
        x->depth = 0;
    }
}

void explorer_describe(FILE *to) {
    if (x->mode == RANDOM) {
        fprintf(to, "--seed %llu --schedules 1", (unsigned long long)x->seed);
        return;
    }
    fprintf(to, "--choices ");
    bool any = false;
    for (uint32_t i = 0; i < x->depth; i++)
        if (x->path[i].chosen) fprintf(to, "%s%u:%u", any ? "," : "", i, x->path[i].chosen), any = true;
    if (!any) fprintf(to, "0:0");
}

uint32_t explorer_choose(const option *options, uint32_t count, int self) {
    if (x->mode == EXHAUST) return exhaust(options, count, self);
    if (x->mode == RANDOM) return at_random(options, count, self);
    uint32_t chosen = x->depth < DEPTH ? x->path[x->depth].chosen : 0;
    x->depth++;
    return chosen < count ? chosen : 0;
}
