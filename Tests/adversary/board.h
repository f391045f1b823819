// What a target says of itself while it is attacked: one page per thread, written by the target, read by the director.
// It is descriptor 3 of a target.
#ifndef BOARD_H
#define BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#define BOARD_DESCRIPTOR 3
#define BOARD_THREADS 8

// The Swift target writes the same bytes (Tests/integration/peer/Adversary.swift).
typedef struct board_thread {
    _Atomic uint64_t calls;    // calls begun and returned: odd while a call runs
    _Atomic uint64_t longest;  // nanoseconds of processor time that the longest call took
    _Atomic uint64_t from;     // the thread's processor time in nanoseconds when the last call began
    _Atomic uint64_t thread;   // the thread's number, for its processor time while a call runs
    char call[48];             // the call that runs, or ran last
    char longest_call[48];
    char unused[4096 - 128];
} board_thread;
_Static_assert(sizeof(board_thread) == 4096, "a page each");

#endif
