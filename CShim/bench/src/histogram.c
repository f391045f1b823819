// Histograms of durations, in the manner of HdrHistogram: 64 counts for each power of two.
#include "internal.h"

#include <stdlib.h>

// Below this, each value has a count of its own.
#define SINGLE 128u
// 2^41 nanoseconds are 36 minutes: longer durations count as that.
#define MOST_BITS 40u

static uint32_t index_of(uint64_t ns) {
    if (ns < SINGLE) return (uint32_t)ns;
    const uint32_t bits = 63 - (uint32_t)__builtin_clzll(ns);
    if (bits > MOST_BITS) return BENCH_HISTOGRAM_COUNTS - 1;
    return SINGLE + (bits - 7) * 64 + (uint32_t)(ns >> (bits - 6)) - 64;
}

// The greatest duration that has this count.
static uint64_t value_of(uint32_t index) {
    if (index < SINGLE) return index;
    const uint32_t bits = (index - SINGLE) / 64 + 7;
    return ((uint64_t)((index - SINGLE) % 64 + 65) << (bits - 6)) - 1;
}

int bench_histogram_create(bench_histogram **histogram) {
    *histogram = calloc(1, sizeof **histogram);
    return *histogram ? 0 : -ENOMEM;
}

void bench_histogram_free(bench_histogram *histogram) { free(histogram); }

void bench_histogram_add(bench_histogram *histogram, uint64_t ns) {
    histogram->counts[index_of(ns)]++;
    histogram->total++;
    if (ns > histogram->most) histogram->most = ns;
}

void bench_histogram_merge(bench_histogram *into, const bench_histogram *from) {
    for (uint32_t i = 0; i < BENCH_HISTOGRAM_COUNTS; i++) into->counts[i] += from->counts[i];
    into->total += from->total;
    if (from->most > into->most) into->most = from->most;
}

uint64_t bench_histogram_total(const bench_histogram *histogram) { return histogram->total; }

uint64_t bench_histogram_most(const bench_histogram *histogram) { return histogram->most; }

uint64_t bench_histogram_at(const bench_histogram *histogram, double part) {
    if (histogram->total == 0) return 0;
    // The least duration that so many are not above.
    double wanted = part * (double)histogram->total;
    uint64_t passed = 0;
    for (uint32_t i = 0; i < BENCH_HISTOGRAM_COUNTS; i++) {
        passed += histogram->counts[i];
        if (histogram->counts[i] > 0 && (double)passed >= wanted) {
            const uint64_t value = value_of(i);
            return value < histogram->most ? value : histogram->most;
        }
    }
    return histogram->most;
}

uint64_t bench_histogram_below(const bench_histogram *histogram, uint64_t ns) {
    uint64_t below = 0;
    for (uint32_t i = 0; i < BENCH_HISTOGRAM_COUNTS && value_of(i) < ns; i++) below += histogram->counts[i];
    return below;
}
