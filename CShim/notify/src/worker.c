// The loop of the worker thread (worker.h).
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PIPES_MOST 256u  // pipes polled at a time

static int wake = -1;  // an eventfd
static bool running;

static void *run(void *argument) {
    (void)argument;
    struct pollfd polls[PIPES_MOST + 3];
    pthread_mutex_lock(&notify__lock);
    for (;;) {
        notify__removals_look();
        notify__pipes_flush();
        int64_t due = notify__monitors_due();
        const int64_t pushes_due = notify__pushes_due();
        if (due < 0 || (pushes_due >= 0 && pushes_due < due)) due = pushes_due;
        uint32_t count = 0;
        polls[count++] = (struct pollfd){.fd = wake, .events = POLLIN};
        polls[count++] = (struct pollfd){.fd = notify__monitors_descriptor(), .events = POLLIN};
        polls[count++] = (struct pollfd){.fd = notify__removals_descriptor(), .events = POLLIN};
        count += notify__pipes_full(&polls[count], PIPES_MOST);
        pthread_mutex_unlock(&notify__lock);
        (void)poll(polls, count, (int)due);
        uint64_t turns;
        if (polls[0].revents) (void)!read(wake, &turns, sizeof turns);
        pthread_mutex_lock(&notify__lock);
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
