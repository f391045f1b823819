// What servers and callers share.
#ifndef TIDINGS__REQUESTS_H
#define TIDINGS__REQUESTS_H

#include "calls/calls.h"

// Checks the handle and the name, and starts the guard. `what` continues "can't". 0, or an error with the line written.
int tidings__requests_begin(tidings_center *center, const char *what, const char *name, size_t name_length);
// The handle has one server or caller less. `fork_epoch`: of the process that opened it.
void tidings__requests_end(tidings_center *center, uint32_t fork_epoch);
// The name of the records that announce its requests. Returns its length.
size_t tidings__requests_name(char text[TIDINGS_NAME_MAX + 1], const char *name, size_t name_length);

// Returns `array`, enlarged if necessary so that it has a member for call `index`. New members are zero. NULL: no
// memory; the array is unchanged.
void *tidings__reach_call(void *array, size_t member, uint32_t *capacity, uint32_t index);

// A text that was copied out of a call: memory that grows.
typedef struct tidings__copied {
    uint8_t *bytes;
    size_t capacity;
} tidings__copied;

// Copies a request or a reply. `text`: the word with its size and format. `chunk`: its chunk + 1, or 0 if it lies in
// `body`. The caller checks afterwards that the call's state is unchanged. -EBADMSG: no such text can be there.
// -ENOMEM. Neither has an error line.
int tidings__text_copy(tidings__segment *s, uint64_t text, uint64_t chunk, const _Atomic uint64_t *body,
                       tidings__copied *to);
// Writes a text into `body`, or takes a chunk for it. `*chunk` receives the chunk + 1, or 0. 0 or the error of taking
// one.
int tidings__text_place(tidings_center *center, const void *bytes, size_t size, uint64_t deadline,
                        _Atomic uint64_t *body, uint64_t *chunk);

#endif
