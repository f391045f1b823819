#include "notify_benchmarks.h"

#include <benchmarks.h>
#include <errno.h>
#include <notify.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int token, check;
static uint64_t state;
static uint32_t number;

static bool prepare(void) {
    // The run's own center, whatever this machine's administrator has set up.
    setenv("TIDINGS_NOTIFY_CONFIGURATION", "/nonexistent", 1);
    return token != 0 || notify_register_check("com.example.benchmark", &token) == NOTIFY_STATUS_OK;
}

static bool post(void) { return notify_post("com.example.unregistered.name") == NOTIFY_STATUS_OK; }
static bool look(void) { return notify_check(token, &check) == NOTIFY_STATUS_OK && !check; }
static bool news(void) {
    return notify_post("com.example.benchmark") == NOTIFY_STATUS_OK &&
           notify_check(token, &check) == NOTIFY_STATUS_OK && check;
}
static bool come_and_go(void) {
    int other;
    return notify_register_check("com.example.another", &other) == NOTIFY_STATUS_OK &&
           notify_cancel(other) == NOTIFY_STATUS_OK;
}
static bool come_first(void) {
    int other;
    char name[64];
    snprintf(name, sizeof name, "com.example.first.%u", number++);
    return notify_register_check(name, &other) == NOTIFY_STATUS_OK && notify_cancel(other) == NOTIFY_STATUS_OK;
}
static bool set(void) { return notify_set_state(token, ++state) == NOTIFY_STATUS_OK; }
static bool get(void) {
    uint64_t found;
    return notify_get_state(token, &found) == NOTIFY_STATUS_OK && found == state;
}

// Inlined into each caller, so that the operation is a direct call.
static inline __attribute__((always_inline)) int measure(bool (*operation)(void), uint64_t *samples, int count,
                                                         int batch) {
    if (!prepare() || notify_check(token, &check) != NOTIFY_STATUS_OK) return -EIO;
    for (int i = -count / 10; i < count; i++) {  // the first tenth is warm-up
        bool well = true;
        const uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) well &= operation();
        if (!well) return -EBADMSG;
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
    }
    return count;
}

int notify_bench_post(uint64_t *samples, int count, int batch) { return measure(post, samples, count, batch); }
int notify_bench_check(uint64_t *samples, int count, int batch) { return measure(look, samples, count, batch); }
int notify_bench_news(uint64_t *samples, int count, int batch) { return measure(news, samples, count, batch); }
int notify_bench_register(uint64_t *samples, int count, int batch) {
    return measure(come_and_go, samples, count, batch);
}
int notify_bench_register_first(uint64_t *samples, int count, int batch) {
    return measure(come_first, samples, count, batch);
}
int notify_bench_set_state(uint64_t *samples, int count, int batch) { return measure(set, samples, count, batch); }
int notify_bench_get_state(uint64_t *samples, int count, int batch) { return measure(get, samples, count, batch); }
