// Fills in a thread's state. Declared and described in thread.h.
#include "platform/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local tidings__thread tidings__thread_state __attribute__((tls_model("initial-exec")));

// glibc registers a robust list for every thread. For robust mutexes it needs the list; `list_op_pending` is set only
// during lock and unlock of such a mutex. Between those calls we may use it. The address never changes for the life of
// the thread. Other libraries (musl) register late or never: NULL then.
static struct robust_list_head *robust_head(void) {
    struct robust_list_head *head = NULL;
    size_t size = 0;
    if (syscall(SYS_get_robust_list, 0, &head, &size) != 0 || size != sizeof *head) return NULL;
    return head;
}

tidings__thread *tidings__thread_refresh(void) {
    const int saved = errno;
    tidings__fork_watch();
    tidings__thread *thread = &tidings__thread_state;
    struct robust_list_head *head = robust_head();
    thread->tid = (uint32_t)syscall(SYS_gettid);
    thread->pending = head ? (uintptr_t *)&head->list_op_pending : NULL;
    thread->pending_offset = head ? (intptr_t)head->futex_offset : 0;
    // `inside` keeps its value: if a signal handler interrupts a post and forks, the child returns into that post, too.
    // The epoch is stored last, behind a signal fence: a handler that runs in between does all of this itself.
    tidings__fence_compiler();
    thread->fork_epoch = tidings__relaxed(&tidings__fork_epoch);
    errno = saved;
    return thread;
}
