// Other processes, instruction by instruction.
#include <dirent.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "trace.h"

static _Atomic uint32_t *in_section;  // shared: 1 between begin and end

void section_begin(void) {
    atomic_store(in_section, 1);
    raise(SIGSTOP);
}
__attribute__((noinline)) void section_end(void) { atomic_store(in_section, 0); }

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
    CHECK(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)) == 0,
          "%s", strerror(errno));
    return pid;
}

#if CAN_STEP
#define FUTEX_WAITV_CALL 449  // older headers don't name it

static bool is_sleep(uint64_t call, const struct user_regs_struct *registers) {
    return call == FUTEX_WAITV_CALL || (call == SYS_futex && (registers->rsi & 0x7f) == FUTEX_WAIT);
}

static bool about_to_sleep(pid_t pid) {
    struct user_regs_struct registers;
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0, "%s", strerror(errno));
    if (!is_sleep(registers.rax, &registers)) return false;
    return (ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)registers.rip, NULL) & 0xffff) == 0x050f;
}
#else
static bool about_to_sleep(pid_t pid) { return pid == 0; }
#endif

uint64_t step(pid_t pid, uint64_t most, bool or_sleep) {
    uint64_t done = 0;
    // Both on one processor: a step is a switch to the other and back, and across processors each waits for a wake-up,
    // on a busy machine for a time slice.
    cpu_set_t before, here;
    const int processor = sched_getcpu();
    CHECK(processor >= 0 && sched_getaffinity(pid, sizeof before, &before) == 0, "%s", strerror(errno));
    CPU_ZERO(&here);
    CPU_SET(processor, &here);
    cpu_set_t own;
    CHECK(sched_getaffinity(0, sizeof own, &own) == 0, "%s", strerror(errno));
    CHECK(sched_setaffinity(0, sizeof here, &here) == 0 && sched_setaffinity(pid, sizeof here, &here) == 0, "%s",
          strerror(errno));
    for (; done < most && atomic_load(in_section); done++) {
        if (or_sleep && about_to_sleep(pid)) break;
        CHECK(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0, "%s", strerror(errno));
        const int signal = wait_stop(pid);
        CHECK(signal == SIGTRAP, "stopped by signal %d", signal);
    }
    CHECK(sched_setaffinity(pid, sizeof before, &before) == 0 && sched_setaffinity(0, sizeof own, &own) == 0, "%s",
          strerror(errno));
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

// MARK: Shorter ways

#define STEP_COSTS 3u  // times what a breakpoint does

#if CAN_STEP
static uint64_t instruction_of(pid_t pid) {
    errno = 0;
    const long value = ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user_regs_struct, rip), NULL);
    CHECK(errno == 0, "%s", strerror(errno));
    return (uint64_t)value;
}

// A count for each key, by open addressing.
typedef struct counts {
    uint64_t places;
    struct {
        uint64_t key;
        uint32_t count;
    } * of;
} counts;

static counts counts_for(uint64_t keys) {
    counts counts = {.places = 64};
    while (counts.places < 2 * keys) counts.places *= 2;
    counts.of = calloc(counts.places, sizeof *counts.of);
    CHECK(counts.of, "no memory");
    return counts;
}

static uint32_t *count_of(counts *counts, uint64_t key) {
    uint64_t place = key * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    while (counts->of[place & (counts->places - 1)].count && counts->of[place & (counts->places - 1)].key != key)
        place++;
    counts->of[place & (counts->places - 1)].key = key;
    return &counts->of[place & (counts->places - 1)].count;
}

// The cheapest way to each place: a breakpoint where the address comes for the first time, or at an earlier place and
// single steps from there.
static void plan(path *path) {
    counts seen = counts_for(path->length);
    uint64_t least = 0;
    for (uint64_t at = 0; at < path->length; at++, least += STEP_COSTS) {
        if (at == 0) continue;  // where it starts isn't passed
        path->from[at] = path->from[at - 1];
        path->passes[at] = path->passes[at - 1];
        // Not into the middle of a repeated instruction: a breakpoint meets it once, single steps each time round.
        if (path->addresses[at] == path->addresses[at - 1]) continue;
        const uint32_t passes = ++*count_of(&seen, path->addresses[at]);
        const uint64_t costs = passes + (uint64_t)(passes - 1) * STEP_COSTS;
        if (costs >= least) continue;
        least = costs;
        path->passes[at] = passes;
        path->from[at] = (uint32_t)at;
    }
    free(seen.of);
}

#define EVERY_PLACE 4000u  // of paths up to this long
#define ROUNDS_OF_LOOPS 3u

// `calls`: for each place, a number that identifies its chain of calls.
static void choose(path *path, const uint64_t *calls) {
    counts in_all = counts_for(path->length), so_far = counts_for(path->length);
    for (uint64_t at = 0; at < path->length; at++) ++*count_of(&in_all, path->addresses[at] ^ calls[at]);
    for (uint64_t at = 0; at < path->length; at++) {
        const uint64_t key = path->addresses[at] ^ calls[at];
        const uint32_t round = ++*count_of(&so_far, key);
        if (path->length <= EVERY_PLACE || round <= ROUNDS_OF_LOOPS || round == *count_of(&in_all, key))
            path->moments[path->count++] = (uint32_t)at;
    }
    free(in_all.of);
    free(so_far.of);
}

path path_along(pid_t pid, uint64_t most) {
    path path = {0};
    uint64_t room = 0, *calls = NULL, stack = 0, chain[256] = {0};
    uint32_t depth = 0;
    do {
        if (path.length == room) {
            room = room ? 2 * room : 4096;
            path.addresses = realloc(path.addresses, room * sizeof *path.addresses);
            calls = realloc(calls, room * sizeof *calls);
            CHECK(path.addresses && calls, "no memory");
        }
        struct user_regs_struct registers;
        CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0, "%s", strerror(errno));
        const uint64_t before = path.length ? path.addresses[path.length - 1] : registers.rip;
        // A call moves the stack by a word, and goes further than any instruction is long; a return the other way.
        if (registers.rip - before > 15) {
            if (registers.rsp + 8 == stack && depth < 255)
                depth++, chain[depth] = (chain[depth - 1] + before) * UINT64_C(0xff51afd7ed558ccd);
            else if (registers.rsp == stack + 8 && depth > 0)
                depth--;
        }
        stack = registers.rsp;
        calls[path.length] = chain[depth];
        path.addresses[path.length++] = registers.rip;
    } while (step(pid, 1, false) == 1 && path.length <= most);
    path.length--;
    path.from = calloc(path.length + 1, sizeof *path.from);
    path.passes = calloc(path.length + 1, sizeof *path.passes);
    path.moments = calloc(path.length + 1, sizeof *path.moments);
    CHECK(path.from && path.passes && path.moments, "no memory");
    plan(&path);
    choose(&path, calls);
    free(calls);
    return path;
}

// By an instruction, not by the processor's debug registers: setting these costs a virtual machine a trip to its host
// each time.
static uint64_t plant(pid_t pid, uint64_t address) {
    errno = 0;
    const uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)address, NULL);
    CHECK(errno == 0, "%s", strerror(errno));
    const uint64_t planted = (word & ~UINT64_C(0xff)) | 0xcc;
    CHECK(ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)address, (void *)(uintptr_t)planted) == 0, "%s",
          strerror(errno));
    return word;
}

static void uproot(pid_t pid, uint64_t address, uint64_t word) {
    CHECK(ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)address, (void *)(uintptr_t)word) == 0, "%s",
          strerror(errno));
}

// Breakpoints are in code that all threads share, and only the first thread is traced: another thread that came to one
// would die of it. So the other threads stand still while there are breakpoints.
typedef struct others {
    pid_t of[8];
    uint32_t count;
} others;

#define INTERRUPTED_FIRST                                                                                              \
    UINT64_C(512)  // what a system call that waits answers when it is interrupted, and begun anew afterwards:
                   // -ERESTARTSYS to -ERESTART_RESTARTBLOCK
#define INTERRUPTED_LAST UINT64_C(516)

// Where it waits for something, so that it holds nothing that the first may need. False: it ended.
static bool hold_one(pid_t pid, pid_t thread) {
    for (;;) {
        char state;
        while ((state = thread_state(pid, thread)) != 'S' && state != 'X' && state != 'Z') usleep(20);
        if (state != 'S' || ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) return false;
        CHECK(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0, "%s", strerror(errno));
        int status;
        CHECK(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status),
              "a thread of the traced child ended with status %x", (unsigned)status);
        struct user_regs_struct registers;
        CHECK(ptrace(PTRACE_GETREGS, thread, NULL, &registers) == 0, "%s", strerror(errno));
        if (-registers.rax >= INTERRUPTED_FIRST && -registers.rax <= INTERRUPTED_LAST) return true;
        let_go(thread);
    }
}

static others hold_others(pid_t pid) {
    others held = {.count = 0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    CHECK(threads, "%s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread == 0 || thread == pid) continue;
        CHECK(held.count < sizeof held.of / sizeof held.of[0], "more threads than expected");
        if (hold_one(pid, thread)) held.of[held.count++] = thread;
    }
    closedir(threads);
    return held;
}

static void let_others_go(const others *held) {
    for (uint32_t i = 0; i < held->count; i++) let_go(held->of[i]);
}

bool step_along(pid_t pid, const path *path, uint64_t most) {
    const uint64_t nearest = most < path->length ? most : path->length - 1, from = path->from[nearest];
    const uint64_t address = path->addresses[from], end = (uint64_t)(uintptr_t)section_end;
    const others held = from > 0 ? hold_others(pid) : (others){.count = 0};
    const uint64_t at_end = from > 0 ? plant(pid, end) : 0;
    for (uint32_t pass = 0; from > 0 && pass < path->passes[nearest]; pass++) {
        // Over the one it stands at.
        if (pass > 0 || instruction_of(pid) == address) step(pid, 1, false);
        const uint64_t word = plant(pid, address);
        CHECK(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0, "%s", strerror(errno));
        const int signal = wait_stop(pid);
        CHECK(signal == SIGTRAP, "stopped by signal %d", signal);
        uproot(pid, address, word);
        const uint64_t at = instruction_of(pid) - 1;
        CHECK(ptrace(PTRACE_POKEUSER, pid, (void *)offsetof(struct user_regs_struct, rip), (void *)(uintptr_t)at) == 0,
              "%s", strerror(errno));
        if (at == address) continue;
        CHECK(at == end, "trapped at %lx", (unsigned long)at);
        uproot(pid, end, at_end);
        let_others_go(&held);
        return false;
    }
    if (from > 0) uproot(pid, end, at_end);
    let_others_go(&held);
    step(pid, most - from, false);
    return true;
}

// To the entry of a system call, or to its end.
static struct user_regs_struct next_call(pid_t pid) {
    CHECK(ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0, "%s", strerror(errno));
    const int signal = wait_stop(pid);
    CHECK(signal == (SIGTRAP | 0x80), "stopped by signal %d", signal);
    struct user_regs_struct registers;
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0, "%s", strerror(errno));
    return registers;
}

uint32_t make_calls(pid_t pid, uint32_t most) {
    uint32_t made = 0;
    while (made < most && atomic_load(in_section)) {
        next_call(pid);
        if (!atomic_load(in_section)) break;
        next_call(pid);
        made++;
    }
    return made;
}

void run_into_sleep(pid_t pid) {
    for (;;) {
        const struct user_regs_struct registers = next_call(pid);
        if (is_sleep(registers.orig_rax, &registers)) return;
        CHECK(atomic_load(in_section), "it did not sleep");
        next_call(pid);
    }
}
#else
// Where no scenario is told that would get here.
path path_along(pid_t pid, uint64_t most) {
    CHECK(pid == 0 && most > 0, "it can't step here");
    return (path){0};
}
bool step_along(pid_t pid, const path *path, uint64_t most) {
    CHECK(path->length > 0, "it can't step here");
    return step(pid, most, false) == most;
}
uint32_t make_calls(pid_t pid, uint32_t most) {
    CHECK(pid == 0, "it can't step here");
    return most;
}
void run_into_sleep(pid_t pid) { CHECK(pid == 0, "it can't step here"); }
#endif

void path_end(path *path) {
    free(path->addresses);
    free(path->from);
    free(path->passes);
    free(path->moments);
    *path = (struct path){0};
}

void let_go(pid_t pid) { CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "%s", strerror(errno)); }
