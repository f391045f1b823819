// An eventfd for event loops, and threads that take no signals.
#ifndef TIDINGS__EVENT_H
#define TIDINGS__EVENT_H

#include <pthread.h>
#include <stddef.h>

int tidings__event_open(void);  // a descriptor, or a negative errno
void tidings__event_close(int fd);
void tidings__event_signal(int fd);  // makes it readable
void tidings__event_clear(int fd);   // makes it unreadable

// Starts a thread in which all signals are blocked: signals belong to the program's own threads. `stack`: bytes that it
// needs on top of what the C library needs; 0: the default. 0 or a positive errno.
int tidings__thread_start(pthread_t *thread, void *(*body)(void *), void *argument, size_t stack);

#endif
