// Which observers sleep, which are woken, and at what cost.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "platform/clock.h"
#include "receiving/observer.h"
#include "trace.h"

// Also the `stat` calls of a post that checks whether the center has ended. The scenario counts these.
static void only_exit_and_complaints(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "%s", strerror(errno));
}

static void sleeps_on_another_name(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, "other");
    receive(observer);
}

#define END_WINDOW_NS (UINT64_C(1) << 28)  // a post checks for the end in each new window of the clock,
#define END_CALLS 3u                       // and makes so many system calls at most

static uint64_t *windows;  // shared: how many the measured posts have come to

static void posts_under_a_filter(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publishers[3] = {publisher_of(center, NAME), publisher_with(center, NAME, "subject"),
                                        publisher_of(center, "unobserved")};
    static uint8_t bytes[600];
    const size_t sizes[4] = {0, 8, 120, 600};
    // Whatever is done once is done now: memory for chunks, thread-local things.
    for (uint32_t i = 0; i < 3000; i++) OK(tidings_post(publishers[i % 3], bytes, sizes[i % 4], NULL, NULL));
    section_begin();
    if (!SANITIZED) only_exit_and_complaints();  // a sanitizer makes system calls of its own
    const uint64_t before = tidings__monotonic_ns();
    for (uint32_t i = 0; i < 20000; i++) OK(tidings_post(publishers[i % 3], bytes, sizes[i % 4], NULL, NULL));
    *windows = (tidings__monotonic_ns() - before) / END_WINDOW_NS + 2;
    section_end();
}

// Observers that are awake, and observers that sleep on other names, cost a post no system call, whatever its size,
// also when the ring turns.
void a_post_without_a_sleeper_on_its_name_makes_no_system_call(void) {
    windows = shared_memory(sizeof *windows);
    tidings_center *center = join_center(256);
    tidings_observer *awake = observer_of(center, NAME), *of_subject;
    uint32_t subscription;
    of_subject = observer_of_nothing(center);
    OK(tidings_observer_add(of_subject, NAME, strlen(NAME), "subject", 7, 0, &subscription));
    pid_t sleepers[4];
    for (int i = 0; i < 4; i++) sleepers[i] = start(sleeps_on_another_name);
    for (int i = 0; i < 4; i++) until_asleep(sleepers[i], center, 4);
    const pid_t poster = start_traced(posts_under_a_filter);
    const uint64_t before = statistics_of(center).posted;
    const uint32_t calls = CAN_STEP && !SANITIZED ? make_calls(poster, UINT32_MAX) : 0;
    let_go(poster);
    ends_well(poster);
    // Two calls install the filter.
    CHECK(calls <= 2 + END_CALLS * *windows, "%u calls in %lu windows", calls, (unsigned long)*windows);
    CHECK(statistics_of(center).posted - before == 20000, "%lu",
          (unsigned long)(statistics_of(center).posted - before));
    const account account = drain(awake);
    CHECK(account.received > 0 && account.missed > 0, "it was lapped, and is there");
    // Where the kernel refuses inotify, a sleeper wakes for a moment twice a second. One that was woken by a post ends.
    while (statistics_of(center).observers_asleep != 4) usleep(100);
    post_number(publisher_of(center, "other"), 0);
    for (int i = 0; i < 4; i++) ends_well(sleepers[i]);
}

typedef struct usage {
    unsigned long user, system, voluntary, involuntary;
} usage;

static usage usage_of(pid_t pid) {
    usage usage = {0};
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(line, sizeof line, file), "%s", path);
    fclose(file);
    CHECK(sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &usage.user,
                 &usage.system) == 2,
          "%s", line);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    CHECK((file = fopen(path, "r")), "%s", path);
    while (fgets(line, sizeof line, file)) {
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", &usage.voluntary);
        (void)sscanf(line, "nonvoluntary_ctxt_switches: %lu", &usage.involuntary);
    }
    fclose(file);
    return usage;
}

// A thousand posts on other names, in a ring they turn four times: the sleeper isn't scheduled once, and its doorbell
// is untouched.
void a_sleeper_is_left_alone_by_posts_on_other_names(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *similar = publisher_with(center, "other", NULL);
    const pid_t pid = start(sleeps_on_another_name);
    until_asleep(pid, center, 1);
    uint32_t index = 0;
    while (!(tidings__acquire(&center->segment.header->asleep[0]) >> index & 1)) index++;
    const uint32_t doorbell = tidings__acquire(&center->segment.observers[index].doorbell);
    // A thread counts as asleep shortly before the kernel counts its switch, and the watch thread may still begin.
    usage before, now = usage_of(pid);
    do {
        before = now;
        usleep(100000);
        now = usage_of(pid);
    } while (memcmp(&before, &now, sizeof now) != 0);
    for (uint32_t i = 0; i < 1000; i++) post_number(publisher, i);
    const usage after = usage_of(pid);
    CHECK(memcmp(&before, &after, sizeof before) == 0, "user %lu→%lu, system %lu→%lu, switches %lu→%lu", before.user,
          after.user, before.system, after.system, before.voluntary, after.voluntary);
    CHECK(tidings__acquire(&center->segment.observers[index].doorbell) == doorbell, "its doorbell was rung");
    post_number(similar, 0);
    ends_well(pid);
}

static tidings_observer *waited_on;
static _Atomic int result_of_wait;

static void *waits_without_end(void *argument) {
    tidings_delivery delivery;
    atomic_store(&result_of_wait, tidings_next(waited_on, -1, &delivery));
    return argument;
}

static void interrupts(int signal) {
    (void)signal;
    tidings_observer_interrupt(waited_on);
}

void an_interrupt_ends_one_wait_and_no_more(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    waited_on = observer_of(center, NAME);
    tidings_delivery delivery;
    // Before the wait.
    tidings_observer_interrupt(waited_on);
    tidings_observer_interrupt(waited_on);
    CHECK(tidings_next(waited_on, -1, &delivery) == -EINTR, "the next wait");
    CHECK(tidings_next(waited_on, 1000000, &delivery) == -ETIMEDOUT, "once");
    // During it, asleep or on its way there, from another thread.
    for (uint32_t round = 0; round < 300; round++) {
        pthread_t thread;
        tidings_observer_spin(waited_on, round % 3 == 0 ? 100000 : 0);
        OK(pthread_create(&thread, NULL, waits_without_end, NULL));
        if (round % 2)
            while (statistics_of(center).observers_asleep == 0 && round % 3 != 0) usleep(20);
        else
            spin_cycles(random_below(100000));
        tidings_observer_interrupt(waited_on);
        pthread_join(thread, NULL);
        CHECK(atomic_load(&result_of_wait) == -EINTR, "round %u: %d", round, atomic_load(&result_of_wait));
    }
    // From a signal handler on the waiting thread itself.
    struct sigaction action = {.sa_handler = interrupts};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "%s", strerror(errno));
    for (uint32_t round = 0; round < 50; round++) {
        pthread_t thread;
        // A further signal of the last round may have come after that round's wait.
        while (SANITIZED && tidings_next(waited_on, 0, &delivery) == -EINTR) {}
        OK(pthread_create(&thread, NULL, waits_without_end, NULL));
        while (statistics_of(center).observers_asleep == 0) usleep(20);
        OK(pthread_kill(thread, SIGUSR1));
        // The thread sanitizer puts a signal off until the next call that it knows of. One that comes right before the
        // sleep it puts off for ever: another, then.
        while (SANITIZED && pthread_tryjoin_np(thread, NULL) == EBUSY) {
            usleep(20000);
            (void)pthread_kill(thread, SIGUSR1);
        }
        if (!SANITIZED) pthread_join(thread, NULL);
        CHECK(atomic_load(&result_of_wait) == -EINTR, "round %u: %d", round, atomic_load(&result_of_wait));
    }
    while (SANITIZED && tidings_next(waited_on, 0, &delivery) == -EINTR) {}
    // And what is posted after that comes.
    post_number(publisher, 7);
    delivery = receive(waited_on);
    CHECK(stamp_of(&delivery).number == 7, "after all that");
}

// Another signal's handler interrupts the sleep, not the wait.
static void nothing(int signal) { (void)signal; }

void a_signal_does_not_end_a_wait(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    waited_on = observer_of(center, NAME);
    tidings_observer_spin(waited_on, 0);
    struct sigaction action = {.sa_handler = nothing};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "%s", strerror(errno));
    pthread_t thread;
    atomic_store(&result_of_wait, 99);
    OK(pthread_create(&thread, NULL, waits_without_end, NULL));
    for (uint32_t i = 0; i < 100; i++) {
        while (statistics_of(center).observers_asleep == 0) usleep(20);
        OK(pthread_kill(thread, SIGUSR1));
    }
    CHECK(atomic_load(&result_of_wait) == 99, "it ended with %d", atomic_load(&result_of_wait));
    post_number(publisher, 1);
    pthread_join(thread, NULL);
    OK(atomic_load(&result_of_wait));
}

static uint32_t how_many;

static void posts_now_and_then(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "other");
    for (uint32_t number = 0; number < how_many; number++) {
        OK(tidings_post(publisher, &(stamp){.number = number}, sizeof(stamp), &(tidings_post_options){.timeout_ns = -1},
                        NULL));
        if (number % 4 == 0) OK(tidings_post(other, "", 0, &(tidings_post_options){.timeout_ns = -1}, NULL));
        spin_cycles(random_below(number % 16 == 0 ? 300000 : 3000));
    }
}

static uint64_t processor_ns(void) {
    struct timespec now;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0, "%s", strerror(errno));
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// A thread that waits by a descriptor for a name with many observers sleeps meanwhile, also where a thread can sleep on
// only one word.
void an_armed_descriptor_of_a_wake_group_takes_no_time(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    for (uint32_t i = 0; i < 5; i++) (void)observer_of(center, NAME);
    int fd;
    OK(tidings_observer_descriptor(observer, &fd));
    tidings_delivery delivery;
    for (uint32_t round = 0; round < 3; round++) {
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "nothing was posted");
        const uint64_t before = processor_ns();
        CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 300) == 0, "readable, though there is nothing");
        const uint64_t used = processor_ns() - before;
        CHECK(used < 50000000, "%lu ns of processor time in 300 ms of sleep", (unsigned long)used);
        post_number(publisher, round);
        CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "%s", strerror(errno));
        delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == round, "%u instead of %u", stamp_of(&delivery).number, round);
    }
}

// The loop of an event loop, edge-triggered and level-triggered, with blocking waits in between: nothing is lost,
// nothing waits for ever.
void a_descriptor_tells_of_everything_also_beside_blocking_waits(void) {
    how_many = 3000;
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    int fd, again;
    OK(tidings_observer_descriptor(observer, &fd));
    OK(tidings_observer_descriptor(observer, &again));
    CHECK(fd == again && fd > 2, "one descriptor: %d, %d", fd, again);
    const int level = epoll_create1(EPOLL_CLOEXEC), edge = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll_ctl(level, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}) == 0, "%s", strerror(errno));
    CHECK(epoll_ctl(edge, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN | EPOLLET}) == 0, "%s",
          strerror(errno));
    const pid_t poster = start(posts_now_and_then);
    uint32_t expected = 0;
    while (expected < how_many) {
        tidings_delivery delivery;
        int result;
        // As the contract asks: until there is nothing.
        while ((result = tidings_next(observer, 0, &delivery)) == 0) {
            CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && stamp_of(&delivery).number == expected,
                  "%u instead of %u", stamp_of(&delivery).number, expected);
            expected++;
        }
        CHECK(result == -EAGAIN, "%d", result);
        if (expected == how_many) break;
        struct epoll_event event;
        switch (random_below(4)) {
            case 0: CHECK(epoll_wait(level, &event, 1, -1) == 1, "%s", strerror(errno)); break;
            case 1: CHECK(epoll_wait(edge, &event, 1, -1) == 1, "%s", strerror(errno)); break;
            case 2: CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "%s", strerror(errno)); break;
            default:
                delivery = receive(observer);
                CHECK(stamp_of(&delivery).number == expected, "%u instead of %u", stamp_of(&delivery).number, expected);
                expected++;
                // A wait on the edge needs a new one, so take the edges seen so far.
                while (epoll_wait(edge, &event, 1, 0) == 1) {}
        }
    }
    ends_well(poster);
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) != -EAGAIN) {}
    // An event loop that looks when it likes is not woken for its own looks.
    for (uint32_t i = 0; i < ROUNDS(1000); i++) {
        CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 0, "readable, though there is nothing");
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "there is something");
        spin_cycles(random_below(30000));
    }
    tidings_observer_interrupt(observer);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "an interrupt makes it readable");
    CHECK(tidings_next(observer, 0, &delivery) == -EINTR, "interrupted");
    tidings_observer_close(observer);
    CHECK(statistics_of(center).observers == 0, "closed");
}
