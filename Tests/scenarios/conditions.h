// Circumstances that a scenario can be told in: a kernel that lacks something, one processor, strangers to each other's
// process numbers or clocks.
#ifndef CONDITIONS_H
#define CONDITIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tidings.h"

// "CONDITION/SCENARIO": brings the condition about and executes this program anew, so that it holds from the first
// instruction on. Then, or without a condition, it returns.
void under_condition(const char *told, char **arguments);
// The core has noticed, too.
void condition_is_noticed(const tidings_center *center);
// As fork; under a condition of namespaces, into which they are born.
pid_t fork_into_condition(void);
bool under_any_condition(void);

// A system call that fails with `error` (0: that kills, by SIGSYS), for this process and all to come: always (mask 0),
// or if argument `which` has `value` in the bits of `mask`. With `given`, only if that argument isn't NULL either.
typedef struct refusal {
    int call, error, which;
    unsigned mask, value;
    int given;
} refusal;
void refuse_calls(const refusal *refusals, unsigned count);

// Where children get their pids (namespaces.c).
bool try_namespaces(void);
void recycle_pids(void);  // this process goes on as a child, the first in a namespace of its own
pid_t fork_with_recycled_pid(void);
pid_t fork_every_other_apart(bool pids, bool times);

#endif
