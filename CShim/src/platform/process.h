// Identity of this process, and what a forked child must renew.
#ifndef TIDINGS__PROCESS_H
#define TIDINGS__PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Incremented in every forked child, before other code of this library runs there. Starts at 1; 0 means "never set".
extern __attribute__((visibility("hidden"))) _Atomic uint32_t tidings__fork_epoch;

// Registers with pthread_atfork; cheap if that was done before. Code that caches something about this process calls it
// first.
void tidings__fork_watch(void);

// Runs `hook` in forked children, in the order of registration. Registering a hook twice counts once; there is room for
// eight. A hook may call async-signal-safe functions only: other threads of the parent may have held any lock.
void tidings__at_fork_child(void (*hook)(void));

uint32_t tidings__process_id(void);      // cached
uint32_t tidings__process_id_now(void);  // asks the kernel: a child made by `vfork` or raw `clone` has its own
uint32_t tidings__user_id(void);         // effective
// False: this process's user namespace has no such user, so files that seem to be that user's belong to an unknown
// user. Reads /proc; true without it.
bool tidings__user_known(uint32_t user);
uint64_t tidings__pid_namespace(void);  // inode number, cached; 0: unknown

// The basename of the executed file; for a script, the script's, not its interpreter's. At most `size` - 1 bytes of
// whole UTF-8 characters, without control characters, and a NUL. Returns the length.
size_t tidings__executable_name(char *text, size_t size);

uint64_t tidings__random(void);  // never 0

#endif
