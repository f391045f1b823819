// An eventfd for event loops, and a helper thread that takes no signals.
#ifndef TIDINGS__EVENT_H
#define TIDINGS__EVENT_H

#include <pthread.h>

int tidings__event_open(void);  // a descriptor, or a negative errno
void tidings__event_close(int fd);
void tidings__event_signal(int fd);  // readable from now on
void tidings__event_clear(int fd);   // unreadable

// Signals are blocked in it: they belong to the program's own threads. 0 or a positive errno.
int tidings__thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
