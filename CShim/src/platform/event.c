// Eventfds and threads that take no signals. Declared and described in event.h.
#include "platform/event.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "platform/file.h"

int tidings__event_open(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd < 0 ? -errno : tidings__above_standard(fd);
}

void tidings__event_close(int fd) { close(fd); }

void tidings__event_signal(int fd) {
    int saved = errno;
    uint64_t one = 1;
    // If the counter is full (2^64 - 2 unread signals), the write fails. The descriptor is readable already.
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
    errno = saved;
}

void tidings__event_clear(int fd) {
    int saved = errno;
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);
    (void)ignored;
    errno = saved;
}

int tidings__thread_start(pthread_t *thread, void *(*body)(void *), void *argument, size_t stack) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) return error;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)PTHREAD_STACK_MIN;
    if (stack) (void)pthread_attr_setstacksize(&attributes, (least + stack + page - 1) / page * page);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, body, argument);
    // The program's thread-local variables lie in the stack, too, and may be larger than it is.
    if (error == EINVAL) error = pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return error;
}
