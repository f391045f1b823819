// A rival: a way to tell another process something that isn't Tidings, behind five functions, so that `rival.c`
// measures all of them (and ours) with the same loops, the same clock and the same pinning. Two processes: side 0 reads
// orders and holds the clock, side 1 answers.
//
// What fails ends the program with a sentence on standard error: there is nothing to be measured then.
#ifndef RIVAL_H
#define RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rival {
    const char *name;
    /// What it says when it is ready: the version that is measured.
    const char *(*version)(void);
    /// Once, before there are two processes: starts a daemon, creates what both inherit. May be NULL.
    void (*start)(void);
    /// In each of the two processes, confined to its processor: connects. When it has returned on both sides nothing
    /// sent is lost for want of a subscription.
    void (*open)(int side);
    /// One message to the other side; what `reserve` returned, or memory that may be used again at once.
    void (*send)(const void *bytes, size_t size);
    /// The next message, waiting for it asleep (or awake, if told so). Valid until the next call.
    const void *(*receive)(size_t *size);
    /// Memory to build a message in, for those that send it from where it is. May be NULL.
    void *(*reserve)(size_t size);
    /// What has been sent and is still held back in this process goes out. May be NULL.
    void (*flush)(void);
    /// Before each measurement: whether to wait by looking around without end, and whether a stream of messages comes,
    /// rather than one at a time. May be NULL: makes no difference, and there is no waiting awake.
    void (*prepare)(bool awake, bool stream);
    bool can_wait_awake;
    /// On both sides, before the first call: connects them for calls. NULL: there are none. One that has calls alone
    /// has no `send`.
    void (*open_calls)(int side);
    /// Side 0: a request, and the wait for its reply, asleep. The reply is valid until the next call.
    const void *(*call)(const void *bytes, size_t size, size_t *reply_size);
    /// Side 1: the next request, waiting for it asleep. Valid until its reply.
    const void *(*next_request)(size_t *size);
    /// Side 1: the reply to it.
    void (*reply)(const void *bytes, size_t size);
    /// It only wakes: what it carries isn't looked at.
    bool carries_nothing;
    /// Of a message, in bytes; 0: none that matters here.
    size_t maximum;
} rival;

/// Each rival's file defines one.
extern const rival this_rival;

/// Of this run only; gone when it ends, however it ends.
const char *rival_directory(void);
/// A path in it. Not to be freed.
const char *rival_path(const char *name);
/// Starts a program on all processors, in a process group of its own. It dies with this process; its output is shown if
/// something fails.
void rival_daemon(const char *const arguments[]);
/// What a program says first, less that beginning. To be called in `start`. Valid until the next call.
const char *rival_output(const char *command, const char *beginning);
/// Waits until a socket of that path can be connected to.
void rival_await_socket(const char *path);
/// The same of a TCP port on loopback.
void rival_await_port(int port);
/// An unused TCP port on loopback.
int rival_free_port(void);
/// An empty /tmp and /dev/shm for this process and its children, for what insists on names of its own there.
void rival_private_mounts(void);
/// From here on: that side has got so far. Returns when the other has, too.
void rival_meet(void);

_Noreturn void rival_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// For calls that return -1 and set errno.
void rival_try(bool good, const char *what);

#endif
