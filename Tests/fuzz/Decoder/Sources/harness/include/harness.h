// What the target `swift` needs from C: changes of the center's memory, and dispatcher threads that run in turns.
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A directory of this process for the centers.
const char *_Nonnull harness_directory(void);

// An input begins. It ends when all its centers are closed, on whatever thread: fails if that does not come to pass.
// Then the directory is emptied.
void harness_begin(void);
void harness_end(void);

// Maps the center's file a second time, for the changes. False: it can't be mapped.
bool harness_map(const char *_Nonnull path);
// A change of the word that the bytes choose: by its kind, or by its place. Nothing happens if no file is mapped.
void harness_change_word(const uint8_t *_Nonnull bytes, size_t count);
void harness_change_place(const uint8_t *_Nonnull bytes, size_t count);
// Where the last post is, for changes near to it.
void harness_near(uint64_t sequence);

// After each use: fails if it took more processor time, or slept longer, than any use needs.
void harness_used(const char *_Nonnull what);
// Fails: a promise is broken.
void harness_fail(const char *_Nonnull what, int64_t value) __attribute__((noreturn));

// A turn for each helper thread of the core.
void harness_turn_helpers(void);
// Observers that are opened from now on have a dispatcher thread (true, at first), or are asked by this thread.
void harness_dispatched(bool dispatched);
// A turn for each dispatcher thread: it delivers all there is. Returns when all of them rest.
void harness_settle(void);

#endif
