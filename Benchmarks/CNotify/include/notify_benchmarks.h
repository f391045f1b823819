/// Operations of notify(3), timed in C. Each fills in samples (picoseconds, the mean of a batch) and returns how many,
/// or a negative errno.
#ifndef NOTIFY_BENCHMARKS_H
#define NOTIFY_BENCHMARKS_H

#include <stdint.h>

int notify_bench_post(uint64_t *samples, int count, int batch);            // no process has registered
int notify_bench_check(uint64_t *samples, int count, int batch);           // nothing new
int notify_bench_news(uint64_t *samples, int count, int batch);            // post, and the check that finds it
int notify_bench_register(uint64_t *samples, int count, int batch);        // and cancel
int notify_bench_register_first(uint64_t *samples, int count, int batch);  // names not seen before, and cancel
int notify_bench_set_state(uint64_t *samples, int count, int batch);
int notify_bench_get_state(uint64_t *samples, int count, int batch);

#endif
