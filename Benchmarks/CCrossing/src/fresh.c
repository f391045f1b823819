// What a process pays that has just begun: time, page faults, memory.
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static uint64_t faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

typedef struct moment {
    uint64_t faults, ticks;
} moment;

// The faults first and last, so that asking isn't timed.
static moment begin(void) {
    uint64_t before = faults();
    return (moment){before, bench_ticks()};
}

static void end(moment start, uint64_t *values) {
    uint64_t ticks = bench_ticks() - start.ticks;
    values[1] = faults() - start.faults;
    values[0] = ticks;
}

static int post_twice(tidings_center *center, uint64_t *first, uint64_t *second) {
    static const unsigned char payload[64];
    tidings_publisher *publisher;
    moment start = begin();
    CROSSING_TRY(crossing_publisher(center, "fresh", &publisher));
    CROSSING_TRY(tidings_post(publisher, payload, sizeof payload, NULL, NULL));
    end(start, first);
    start = begin();
    CROSSING_TRY(tidings_post(publisher, payload, sizeof payload, NULL, NULL));
    end(start, second);
    return 0;
}

int crossing_fresh_open(const char *name, uint64_t values[CROSSING_VALUES]) {
    tidings_center *center;
    uint64_t unused[2];
    end(begin(), unused);  // the clock's own pages
    moment start = begin();
    CROSSING_TRY(tidings_open(name, NULL, &center));
    end(start, values);
    return post_twice(center, values + 2, values + 4);
}

int crossing_fresh_create(const char *name, uint64_t values[CROSSING_VALUES]) {
    CROSSING_TRY(crossing_fresh_open(name, values));
    return tidings_remove(name, NULL);
}

int crossing_limit_open(const char *path, uint64_t values[CROSSING_VALUES]) {
    uint64_t unused[2];
    end(begin(), unused);
    moment start = begin();
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return -errno;
    volatile unsigned char *memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                                          0);
    if (memory == MAP_FAILED) return -errno;
    (void)memory[0];
    close(descriptor);
    end(start, values);
    start = begin();
    memory[(size_t)status.st_size / 2] = 1;  // far from what this process has seen
    end(start, values + 2);
    return 0;
}

int crossing_limit_create(const char *path, size_t bytes, uint64_t values[CROSSING_VALUES]) {
    uint64_t unused[2];
    end(begin(), unused);
    moment start = begin();
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0) return -errno;
    CROSSING_TRY(-posix_fallocate(descriptor, 0, (off_t)bytes));
    volatile unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return -errno;
    memory[0] = 1;
    close(descriptor);
    end(start, values);
    unlink(path);
    return 0;
}

// A line like "Private_Dirty:      12 kB", in bytes.
static uint64_t field(const char *path, const char *label) {
    char line[256];
    uint64_t found = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0) found += strtoull(line + strlen(label), NULL, 10) * 1024;
    }
    fclose(file);
    return found;
}

static uint64_t own_memory(void) {
    static const char sums[] = "/proc/self/smaps_rollup";
    return field(sums, "Private_Clean:") + field(sums, "Private_Dirty:") + field("/proc/self/status", "VmPTE:");
}

int crossing_observer_memory(const char *name, uint64_t values[CROSSING_VALUES]) {
    static const unsigned char payload[64];
    tidings_center *center;
    tidings_publisher *publisher;
    tidings_observer *observer;
    tidings_delivery delivery;
    tidings_statistics statistics;
    own_memory();  // what asking takes is there before
    values[0] = own_memory();
    CROSSING_TRY(tidings_open(name, NULL, &center));
    CROSSING_TRY(crossing_observe(center, "memory", 0, &observer));
    CROSSING_TRY(crossing_publisher(center, "memory", &publisher));
    CROSSING_TRY(tidings_statistics_get(center, &statistics));
    for (uint32_t i = 0; i < 2 * statistics.slots; i++) {
        CROSSING_TRY(tidings_post(publisher, payload, sizeof payload, NULL, NULL));
        CROSSING_TRY(tidings_next(observer, 0, &delivery));
    }
    values[1] = own_memory();
    return 0;
}

int crossing_center_memory(const char *name, uint64_t values[CROSSING_VALUES]) {
    tidings_center *center;
    tidings_statistics statistics;
    struct stat status;
    CROSSING_TRY(tidings_open(name, NULL, &center));
    CROSSING_TRY(tidings_statistics_get(center, &statistics));
    if (stat(tidings_path(center), &status) != 0) return -errno;
    values[0] = (uint64_t)status.st_blocks * 512;
    values[1] = statistics.memory;
    values[2] = (uint64_t)statistics.slots * 256;
    tidings_close(center);
    return 0;
}

void crossing_remove(const char *center) { (void)tidings_remove(center, NULL); }
