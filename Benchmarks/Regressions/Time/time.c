// How long a post of 64 B takes, in picoseconds: the fastest of a thousand laps, and their median. `without` builds it
// with a core that lacks a part. Takes the number of the ring's slots.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tidings.h>

#define LAPS 1000
#define POSTS 4096

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    const tidings_configuration configuration = {.slots = count > 1 ? (uint32_t)atoi(arguments[1]) : 0};
    static const char name[] = "org.example.regression.name";
    static long laps[LAPS];
    static _Alignas(64) unsigned char payload[64];
    tidings_center *center;
    tidings_publisher *publisher;
    if (tidings_create_sealed("time", &configuration, &center) ||
        tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher)) {
        fprintf(stderr, "%s\n", tidings_last_error());
        return 1;
    }
    for (int lap = -3; lap < LAPS; lap++) {
        long start = now();
        for (int i = 0; i < POSTS; i++) {
            if (tidings_post(publisher, payload, sizeof payload, NULL, NULL)) return 1;
        }
        if (lap >= 0) laps[lap] = now() - start;
    }
    qsort(laps, LAPS, sizeof *laps, by_size);
    printf("%ld %ld\n", laps[0] * 1000 / POSTS, laps[LAPS / 2] * 1000 / POSTS);
    return 0;
}
