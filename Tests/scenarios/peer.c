#include "peer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "conditions.h"

// MARK: The center of the scenario

// Scenarios end with their handles open. Here the leak sanitizer finds them, and complains only of what the library
// itself has lost.
static struct kept {
    struct kept *next;
    const void *handle;
} * _Atomic all_kept;

void keep(const void *handle) {
    struct kept *kept = malloc(sizeof *kept);
    CHECK(kept, "no memory");
    *kept = (struct kept){atomic_load(&all_kept), handle};
    while (!atomic_compare_exchange_weak(&all_kept, &kept->next, kept)) {}
}

tidings_center *join_center_with(tidings_configuration configuration) {
    tidings_center *center;
    OK(tidings_open("scenario", &configuration, &center));
    keep(center);
    condition_is_noticed(center);
    return center;
}

tidings_center *join_center(uint32_t slots) { return join_center_with((tidings_configuration){.slots = slots}); }

tidings_publisher *publisher_with(tidings_center *center, const char *name, const char *subject) {
    tidings_publisher *publisher;
    OK(tidings_publisher_open(center, name, strlen(name), subject, subject ? strlen(subject) : 0, &publisher));
    keep(publisher);
    return publisher;
}

tidings_publisher *publisher_of(tidings_center *center, const char *name) { return publisher_with(center, name, NULL); }

tidings_observer *observer_of_nothing(tidings_center *center) {
    tidings_observer *observer;
    OK(tidings_observer_open(center, 0, &observer));
    keep(observer);
    return observer;
}

tidings_observer *observer_with(tidings_center *center, const char *name, uint32_t flags, uint32_t add_flags) {
    tidings_observer *observer;
    uint32_t subscription;
    OK(tidings_observer_open(center, flags, &observer));
    keep(observer);
    if (add_flags & TIDINGS_ADD_HISTORY) OK(tidings_observer_seek(observer, 0));
    OK(tidings_observer_add(observer, name, name ? strlen(name) : 0, NULL, 0, add_flags, &subscription));
    return observer;
}

tidings_observer *observer_of(tidings_center *center, const char *name) { return observer_with(center, name, 0, 0); }

tidings_statistics statistics_of(tidings_center *center) {
    tidings_statistics statistics;
    OK(tidings_statistics_get(center, &statistics));
    return statistics;
}

uint64_t post_number(tidings_publisher *publisher, uint32_t number) {
    uint64_t sequence;
    const stamp stamp = {.number = number};
    OK(tidings_post(publisher, &stamp, sizeof stamp, NULL, &sequence));
    return sequence;
}

stamp stamp_of(const tidings_delivery *delivery) {
    stamp stamp;
    CHECK(delivery->size >= sizeof stamp, "%zu bytes", delivery->size);
    memcpy(&stamp, delivery->payload, sizeof stamp);
    return stamp;
}

account drain(tidings_observer *observer) {
    account account = {0};
    tidings_delivery delivery;
    int result;
    while ((result = tidings_next(observer, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED)
            account.missed += delivery.missed;
        else
            account.received++;
    }
    CHECK(result == -EAGAIN || result == -ESTALE, "the end of what is there is %d", result);
    return account;
}

tidings_delivery receive(tidings_observer *observer) {
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE, "missed %lu", (unsigned long)delivery.missed);
    return delivery;
}

// MARK: Others

static uint64_t state = 1;

uint64_t random_next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

void random_seed(uint64_t seed) {
    state = seed * 2 + 1;
    for (int i = 0; i < 16; i++) random_next();
}

uint64_t random_below(uint64_t limit) { return random_next() % limit; }

void spin_cycles(uint64_t cycles) {
    cpu_set_t mine;
    // Others are to go on meanwhile.
    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1) {
        usleep((useconds_t)(cycles / 3000));
        return;
    }
#if defined(__x86_64__)
    const uint64_t until = __builtin_ia32_rdtsc() + cycles;
    while (__builtin_ia32_rdtsc() < until) {}
#else
    for (volatile uint64_t i = 0; i < cycles / 4; i++) {}
#endif
}

uint32_t chances(uint32_t count) { return under_any_condition() ? (count + 2) / 3 : count; }

bool full(void) {
    const char *asked = getenv("TIDINGS_TEST_FULL");
    return asked && strcmp(asked, "1") == 0;
}

void watchdog(void) {
    if (!full()) alarm(WATCHDOG);
}

pid_t start_with(void (*body)(void), bool traced) {
    fflush(NULL);
    const pid_t pid = fork_into_condition();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid > 0) return pid;
    watchdog();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // a scenario that fails leaves no process behind
    if (traced) CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "%s", strerror(errno));
    body();
    _exit(0);
}

pid_t start(void (*body)(void)) { return start_with(body, false); }

void ends_well(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status %x", (unsigned)status);
}

void kill_and_reap(pid_t pid) {
    int status;
    CHECK(kill(pid, SIGKILL) == 0, "%s", strerror(errno));
    do CHECK(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
    while (!WIFSIGNALED(status) && !WIFEXITED(status));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it was gone already, with status %x", (unsigned)status);
}

void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "%s", strerror(errno));
    return memory;
}

pipe_pair pipe_open(void) {
    pipe_pair made;
    CHECK(pipe(made.ends) == 0, "%s", strerror(errno));
    return made;
}
void tell(const pipe_pair *pipe) { CHECK(write(pipe->ends[1], "x", 1) == 1, "%s", strerror(errno)); }
void told(const pipe_pair *pipe) {
    char byte;
    CHECK(read(pipe->ends[0], &byte, 1) == 1, "%s", strerror(errno));
}

char thread_state(pid_t pid, pid_t thread) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)thread);
    // Through no buffer of stdio's, as it is asked thousands of times.
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, line, sizeof line - 1);
    if (file >= 0) close(file);
    if (length <= 0) return 'X';
    line[length] = 0;
    return strrchr(line, ')')[2];
}

char process_state(pid_t pid) { return thread_state(pid, pid); }

void until_asleep(pid_t pid, tidings_center *center, uint32_t observers_asleep) {
    while (statistics_of(center).observers_asleep < observers_asleep) usleep(100);
    while (process_state(pid) != 'S') usleep(100);
}
