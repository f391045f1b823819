// The worker thread. It waits for room in full pipes, for changes of files, and for the end of centers. It retries
// deliveries that could not begin. It is started when one of these is needed.
#ifndef NOTIFY_WORKER_H
#define NOTIFY_WORKER_H

#include <poll.h>

#include "internal.h"

// Under notify__lock.
uint32_t notify__pipes_full(struct pollfd *polls, uint32_t most);  // returns how many are full, also beyond `most`
void notify__pipes_flush(void);
void notify__pipes_forked(void);

int notify__monitors_descriptor(void);  // -1: none
void notify__monitors_read(void);
int64_t notify__monitors_due(void);  // delivers what is due; returns milliseconds until the next; -1: none
void notify__monitors_forked(void);

// Retries what notify__push_again could not begin, and unfinished renewals. Returns milliseconds until the next try;
// -1: none.
int64_t notify__pushes_due(void);

int notify__removals_descriptor(void);
void notify__removals_read(void);
void notify__removals_look(void);
void notify__removals_forked(void);

#endif
