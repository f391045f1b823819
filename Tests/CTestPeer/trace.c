// Other processes, instruction by instruction.
#include <linux/futex.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "peer.h"

static _Atomic uint32_t *in_section;  // shared: 1 between begin and end

void section_begin(void) {
    atomic_store(in_section, 1);
    raise(SIGSTOP);
}
void section_end(void) { atomic_store(in_section, 0); }

static int wait_stop(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
    CHECK(WIFSTOPPED(status), "the traced child ended with status %x", (unsigned)status);
    return WSTOPSIG(status);
}

pid_t start_traced(void (*body)(void)) {
    if (!in_section) in_section = shared_memory(4096);
    const pid_t pid = start_with(body, true);
    const int signal = wait_stop(pid);
    CHECK(signal == SIGSTOP, "stopped by signal %d", signal);
    CHECK(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL) == 0, "%s", strerror(errno));
    return pid;
}

#if CAN_STEP
static bool about_to_sleep(pid_t pid) {
    struct user_regs_struct registers;
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0, "%s", strerror(errno));
    if (registers.rax != SYS_futex || (registers.rsi & 0x7f) != FUTEX_WAIT) return false;
    return (ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)registers.rip, NULL) & 0xffff) == 0x050f;
}
#else
static bool about_to_sleep(pid_t pid) { return pid == 0; }
#endif

uint64_t step(pid_t pid, uint64_t most, bool or_sleep) {
    uint64_t done = 0;
    // Both on one processor: a step is a switch to the other and back, and across processors each waits for a wake-up, on a busy machine for a time slice.
    cpu_set_t before, here;
    const int processor = sched_getcpu();
    CHECK(processor >= 0 && sched_getaffinity(pid, sizeof before, &before) == 0, "%s", strerror(errno));
    CPU_ZERO(&here);
    CPU_SET(processor, &here);
    cpu_set_t own;
    CHECK(sched_getaffinity(0, sizeof own, &own) == 0, "%s", strerror(errno));
    CHECK(sched_setaffinity(0, sizeof here, &here) == 0 && sched_setaffinity(pid, sizeof here, &here) == 0, "%s", strerror(errno));
    for (; done < most && atomic_load(in_section); done++) {
        if (or_sleep && about_to_sleep(pid)) break;
        CHECK(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0, "%s", strerror(errno));
        const int signal = wait_stop(pid);
        CHECK(signal == SIGTRAP, "stopped by signal %d", signal);
    }
    CHECK(sched_setaffinity(pid, sizeof before, &before) == 0 && sched_setaffinity(0, sizeof own, &own) == 0, "%s", strerror(errno));
    return done;
}

uint32_t moments(uint32_t sample, uint64_t length) {
    CHECK(length > 0, "nothing to step through");
    sample = chances(sample);
    // Steps of a sanitizer's own code find nothing, and are most of them.
    if (full()) fprintf(stderr, "%lu instructions, at every one\n", (unsigned long)length);
    const uint64_t count = full() ? length : SANITIZED ? (sample + 19) / 20 : sample;
    return (uint32_t)(count < length ? count : length);
}

uint64_t moment(uint32_t number, uint32_t count, uint64_t length) {
    const uint64_t from = length * number / count, to = length * (number + 1) / count;
    return from + random_below(to - from);
}

void let_go(pid_t pid) { CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "%s", strerror(errno)); }
