// What is counted in C, and what each needs for it.
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <counting.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tidings.h>

#define NAME "org.example.regression.name"

static inline __attribute__((always_inline)) void must(int result) {
    if (__builtin_expect(result < 0, 0)) {
        fprintf(stderr, "%s (%d)\n", tidings_last_error(), result);
        exit(1);
    }
}

// The one center of this process, and what is open there (main.c).
extern tidings_center *center;
extern tidings_publisher *publisher;  // NAME
extern tidings_observer *observer;    // awake, looks at NAME if `observe` has been called
extern unsigned char payload[4096];
void open_publisher(void);
void observe(const char *name, uint32_t flags);
void drain(int times);  // until there is nothing left

// posts.c
void post_8(int times);
void post_64(int times);
void post_16_of_64(int times);  // batches
void post_64_of_64(int times);
void post_4096(int times);
void state_set(int times);
void observed(void);
void lossless(void);

// observers.c
void next(int times);
void next_16(int times);  // batches
void next_64(int times);
void pass(int times);
void in_place(void);
void others(void);

// handles.c
void kept(void);
void state_get(int times);
void publishers(int times);
void subscriptions(int times);
void observers(int times);
void opens(int times);

#endif
