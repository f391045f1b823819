// The loop of the worker thread (worker.h).
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIXED 3u           // descriptors polled beside the full pipes
#define FEW (FIXED + 64u)  // as many need no memory from the heap
#define RETRY_MS 100       // when there is no memory to poll every full pipe

static int wake = -1;  // an eventfd
static bool running;

static int64_t earlier(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }  // -1: never

static void *run(void *argument) {
    (void)argument;
    struct pollfd few[FEW], *polls = few;
    uint32_t room = FEW;
    notify__lock_begin();
    for (;;) {
        notify__removals_look();
        notify__pipes_flush();
        int64_t due = earlier(notify__monitors_due(), notify__pushes_due());
        uint32_t full = notify__pipes_full(polls + FIXED, room - FIXED);
        if (FIXED + full > room) {
            struct pollfd *more = malloc(2 * (FIXED + full) * sizeof *more);
            if (more) {
                if (polls != few) free(polls);
                polls = more;
                room = 2 * (FIXED + full);
                (void)notify__pipes_full(polls + FIXED, full);
            } else {
                full = room - FIXED;
                due = earlier(due, RETRY_MS);
            }
        }
        polls[0] = (struct pollfd){.fd = wake, .events = POLLIN};
        polls[1] = (struct pollfd){.fd = notify__monitors_descriptor(), .events = POLLIN};
        polls[2] = (struct pollfd){.fd = notify__removals_descriptor(), .events = POLLIN};
        notify__lock_end();
        (void)poll(polls, FIXED + full, (int)due);
        uint64_t turns;
        if (polls[0].revents) (void)!read(wake, &turns, sizeof turns);
        notify__lock_begin();
        if (polls[1].revents) notify__monitors_read();
        if (polls[2].revents) notify__removals_read();
    }
    return NULL;
}

void notify__worker_wake(void) {
    if (wake < 0) wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) return;
    if (!running) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        running = pthread_create(&thread, NULL, run, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!running) return;
        pthread_detach(thread);
    }
    const uint64_t one = 1;
    (void)!write(wake, &one, sizeof one);
}

void notify__worker_forked(void) {
    // Parent and child share the eventfd: a child that drained it would keep the parent's worker asleep.
    if (wake >= 0) close(wake);
    wake = -1;
    running = false;
    notify__pipes_forked();
    notify__monitors_forked();
    notify__removals_forked();
}
