// Who we are, and what becomes of it in a forked child.
#ifndef TIDINGS__PROCESS_H
#define TIDINGS__PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Goes up in every forked child, before anything else of ours runs there. Starts at 1, so that 0 can mean "never
// looked".
extern _Atomic uint32_t tidings__fork_epoch;

// Registers with pthread_atfork; cheap when done before. Everything that caches something about this process calls it
// first.
void tidings__fork_watch(void);

// Runs `hook` in forked children, in the order of registration. The same hook twice counts once; there is room for
// eight. A hook is held to what is async-signal-safe: other threads of the parent may have held any lock.
void tidings__at_fork_child(void (*hook)(void));

uint32_t tidings__process_id(void);  // cached
uint32_t tidings__user_id(void);     // effective
// False: this process's user namespace has no such user, so files that seem to be that user's are an unknown user's.
// Reads /proc; true without it.
bool tidings__user_known(uint32_t user);
uint64_t tidings__pid_namespace(void);  // inode number, cached; 0: unknown

// The basename of what was executed (of a script that one, not its interpreter), at most TIDINGS_EXECUTABLE_MAX bytes,
// whole UTF-8 characters, no control characters. `size` counts the NUL. Returns the length.
size_t tidings__executable_name(char *text, size_t size);

uint64_t tidings__random(void);  // never 0

#endif
