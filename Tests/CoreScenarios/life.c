// System calls, forks, values that stay, crowds, and rubbish.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "scenario.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static gate ready;

static void sleep_on_other_name(void *argument) {
    tidings_center *center = center_open(0);
    tidings_observer *observer = observer_open(center, "other", 0, 0);
    gate_open(&ready);
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    (void)argument;
}

static void post_without_the_kernel(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    uint8_t bytes[64] = {0};
    for (int i = 0; i < 1000; i++) OK(tidings_post(topic, bytes, sizeof bytes, NULL, NULL));
    if (SANITIZED) return;  // a sanitizer makes system calls of its own
    // From here on any system call but write (for a complaint) and exit kills.
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp: %s", strerror(errno));
    for (int i = 0; i < 20000; i++) OK(tidings_post(topic, bytes, sizeof bytes, NULL, NULL));
    (void)argument;
}

// With 16 processes asleep on another name and nobody on this one, 20,000 posts make no system call at all, and wake nobody.
void no_system_call(void) {
    tidings_center *center = center_open(512);
    tidings_topic *other = topic_open(center, "other");
    ready = gate_make();
    pid_t sleepers[16];
    for (int i = 0; i < 16; i++) sleepers[i] = child(sleep_on_other_name, NULL);
    for (int i = 0; i < 16; i++) gate_await(&ready);
    tidings_statistics statistics;
    do OK(tidings_statistics_get(center, &statistics));
    while (statistics.observers_asleep < 16);
    child_ends_well(child(post_without_the_kernel, NULL));
    OK(tidings_statistics_get(center, &statistics));
    CHECK(statistics.observers_asleep == 16, "%u still asleep", statistics.observers_asleep);
    OK(tidings_post(other, "", 0, NULL, NULL));
    for (int i = 0; i < 16; i++) child_ends_well(sleepers[i]);
    tidings_topic_close(other);
    tidings_close(center);
}

static void expect_state(tidings_topic *topic, const char *expected) {
    char buffer[64];
    size_t size = sizeof buffer;
    int result = tidings_state_get(topic, buffer, &size, NULL, NULL);
    if (!expected) CHECK(result == -ENOENT, "result %d", result);
    else CHECK(result == 0 && size == strlen(expected) && memcmp(buffer, expected, size) == 0, "result %d, %.*s", result, (int)size, buffer);
}

static void set_state_to_b(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    OK(tidings_state_set(topic, "b", 1, NULL));
    kill(getpid(), SIGKILL);
    (void)argument;
}

// The newest value stays: through others' deaths, a turned ring, and everybody's leaving.
void state(void) {
    tidings_center *center = center_open(256);
    tidings_topic *topic = topic_open(center, NAME);
    expect_state(topic, NULL);
    OK(tidings_state_set(topic, "a", 1, NULL));
    expect_state(topic, "a");
    waitpid(child(set_state_to_b, NULL), NULL, 0);
    expect_state(topic, "b");
    for (int i = 0; i < 1000; i++) OK(tidings_post(topic, "not kept", 8, NULL, NULL));
    expect_state(topic, "b");
    tidings_topic_close(topic);
    tidings_close(center);
    center = center_open(0);
    topic = topic_open(center, NAME);
    expect_state(topic, "b");
    tidings_delivery delivery;
    tidings_observer *late = observer_open(center, NAME, 0, TIDINGS_ADD_RETAINED);
    OK(tidings_post(topic, "live", 4, NULL, NULL));
    OK(tidings_next(late, -1, &delivery));
    CHECK(delivery.flags & TIDINGS_DELIVERY_RETAINED && delivery.size == 1 && *(const char *)delivery.payload == 'b', "retained first");
    OK(tidings_next(late, -1, &delivery));
    CHECK(!(delivery.flags & TIDINGS_DELIVERY_RETAINED) && delivery.size == 4, "then live");
    OK(tidings_state_set(topic, NULL, 0, NULL));
    expect_state(topic, NULL);
    for (int i = 0; i < 1000; i++) OK(tidings_post(topic, "", 0, NULL, NULL));
    expect_state(topic, NULL);
    // History: what is in the ring, and the seam to what comes.
    tidings_observer *historian = observer_open(center, NAME, 0, TIDINGS_ADD_HISTORY);
    OK(tidings_post(topic, "seam", 4, NULL, NULL));
    uint64_t count = 0, last = 0;
    while (tidings_next(historian, 0, &delivery) == 0) {
        CHECK(count == 0 || delivery.sequence == last + 1, "%lu after %lu", delivery.sequence, last);
        last = delivery.sequence;
        count++;
    }
    CHECK(count >= 192 && delivery.size == 4, "%lu of history", count);
    tidings_observer_close(late);
    tidings_observer_close(historian);
    tidings_topic_close(topic);
    tidings_close(center);
}

static tidings_center *inherited;
static tidings_topic *inherited_topic;
static tidings_observer *inherited_observer;

static void use_what_was_inherited(void *argument) {
    tidings_delivery delivery;
    OK(tidings_post(inherited_topic, "child", 5, NULL, NULL));
    CHECK(tidings_next(inherited_observer, 0, &delivery) == -ECHILD, "an observer is its process's");
    tidings_observer *own = observer_open(inherited, NAME, 0, 0);
    OK(tidings_post(inherited_topic, "again", 5, NULL, NULL));
    OK(tidings_next(own, -1, &delivery));
    (void)argument;
}

static volatile pid_t *grandchild;

static void fork_and_leave_a_child(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    OK(tidings_post(topic, "", 0, NULL, NULL));
    if (fork() == 0) {
        *grandchild = getpid();
        gate_open(&ready);
        pause();  // does nothing with the center, and outlives its parent
    }
    kill(getpid(), SIGKILL);
    (void)argument;
}

void forked(void) {
    inherited = center_open(256);
    inherited_topic = topic_open(inherited, NAME);
    inherited_observer = observer_open(inherited, NAME, 0, 0);
    child_ends_well(child(use_what_was_inherited, NULL));
    tidings_delivery delivery;
    for (int i = 0; i < 2; i++) {
        OK(tidings_next(inherited_observer, -1, &delivery));
        CHECK(delivery.size == 5 && !(delivery.flags & TIDINGS_DELIVERY_OWN) && delivery.pid != getpid(), "the child's post");
    }
    ready = gate_make();
    grandchild = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = child(fork_and_leave_a_child, NULL);
    waitpid(pid, NULL, 0);
    gate_await(&ready);
    // The grandchild lives, and has never used the center: that must not make its parent look alive.
    int tidied = tidings_tidy(inherited);
    kill(*grandchild, SIGKILL);
    CHECK(tidied >= 1, "the dead parent wasn't noticed");
    tidings_statistics statistics;
    OK(tidings_statistics_get(inherited, &statistics));
    CHECK(statistics.participants == 1, "%u participants", statistics.participants);
    tidings_observer_close(inherited_observer);
    tidings_topic_close(inherited_topic);
    tidings_close(inherited);
}

static void take_part(void *argument) {
    tidings_center *center = center_open(0);
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, "start", 0, 0);
    gate_open(&ready);
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    for (int i = 0; i < 10; i++) OK(tidings_post(topic, "", 0, NULL, NULL));
    tidings_observer_close(observer);
    tidings_close(center);
    (void)argument;
}

// 300 processes on one center, 100,000 names posted, 10,000 observed by one observer, all observer places taken.
void many(void) {
    tidings_center *center = center_open(4096);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    tidings_topic *start = topic_open(center, "start");
    ready = gate_make();
    static pid_t pids[300];
    for (int i = 0; i < 300; i++) pids[i] = child(take_part, NULL);
    for (int i = 0; i < 300; i++) gate_await(&ready);
    OK(tidings_post(start, "", 0, NULL, NULL));
    tidings_delivery delivery;
    for (int i = 0; i < 3000; i++) {
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE, "missed %lu", delivery.missed);
    }
    for (int i = 0; i < 300; i++) child_ends_well(pids[i]);
    char name[32];
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "name.%d", i);
        tidings_topic *topic = topic_open(center, name);
        OK(tidings_post(topic, &i, sizeof i, NULL, NULL));
        tidings_topic_close(topic);
    }
    tidings_observer *of_many;
    OK(tidings_observer_open(center, 0, &of_many));
    for (int i = 0; i < 2000; i++) {
        uint32_t interest;
        snprintf(name, sizeof name, "name.%d", i);
        OK(tidings_observer_add(of_many, name, strlen(name), NULL, 0, 0, &interest));
    }
    for (int i = 0; i < 2000; i += 7) {
        snprintf(name, sizeof name, "name.%d", i);
        tidings_topic *topic = topic_open(center, name);
        OK(tidings_post(topic, &i, sizeof i, NULL, NULL));
        tidings_topic_close(topic);
        OK(tidings_next(of_many, -1, &delivery));
        CHECK(strcmp(delivery.name, name) == 0 && *(const int *)delivery.payload == i, "%s came as %s", name, delivery.name);
    }
    static tidings_observer *all[1024];
    int count = 0, result;
    while ((result = tidings_observer_open(center, 0, &all[count])) == 0) count++;
    CHECK(result == -EUSERS && count == 1022, "%d after %d", result, count);
    for (int i = 0; i < count; i++) tidings_observer_close(all[i]);
    tidings_observer_close(of_many);
    tidings_observer_close(observer);
    tidings_topic_close(start);
    tidings_close(center);
}

void bad_input(void) {
    tidings_center *center = NULL;
    char longer[300];
    memset(longer, 'x', sizeof longer);
    longer[299] = 0;
    CHECK(tidings_open("", NULL, &center) == -EINVAL && !center && strlen(tidings_last_error()) > 20, "empty center name");
    CHECK(tidings_open("a/b", NULL, &center) == -EINVAL, "slash");
    CHECK(tidings_open("..", NULL, &center) == -EINVAL, "dots");
    CHECK(tidings_open(longer, NULL, &center) == -EINVAL, "long");
    CHECK(tidings_open("none", &(tidings_configuration){.flags = TIDINGS_OPEN_EXISTING}, &center) == -ENOENT, "missing");
    CHECK(tidings_open("x", &(tidings_configuration){.slots = 1000}, &center) == -EINVAL, "slots");
    center = center_open(256);
    tidings_topic *topic;
    CHECK(tidings_topic_open(center, "", 0, NULL, 0, &topic) == -EINVAL, "empty");
    CHECK(tidings_topic_open(center, longer, 256, NULL, 0, &topic) == -EINVAL, "256 bytes");
    CHECK(tidings_topic_open(center, "a\0b", 3, NULL, 0, &topic) == -EINVAL, "NUL");
    CHECK(tidings_topic_open(center, "\xff\xfe", 2, NULL, 0, &topic) == -EINVAL, "UTF-8");
    CHECK(tidings_topic_open(center, "a", 1, longer, 256, &topic) == -EINVAL, "subject");
    OK(tidings_topic_open(center, longer, 255, longer, 255, &topic));
    tidings_observer *observer;
    OK(tidings_observer_open(center, 0, &observer));
    uint32_t interest;
    OK(tidings_observer_add(observer, longer, 255, longer, 255, 0, &interest));
    OK(tidings_post(topic, "x", 1, NULL, NULL));
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    CHECK(delivery.name_length == 255 && delivery.subject_length == 255 && memcmp(delivery.subject, longer, 255) == 0, "longest names");
    CHECK(tidings_observer_remove(observer, interest + 1) == -ENOENT, "interest");
    OK(tidings_observer_remove(observer, interest));
    OK(tidings_post(topic, "x", 1, NULL, NULL));
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "removed");
    CHECK(tidings_next(observer, 1000000, &delivery) == -ETIMEDOUT, "time-out");
    tidings_observer_interrupt(observer);
    CHECK(tidings_next(observer, -1, &delivery) == -EINTR, "interrupted");
    OK(tidings_remove("scenario", NULL));
    CHECK(tidings_post(topic, "x", 1, NULL, NULL) == -ESTALE, "removed center");
    CHECK(tidings_remove("scenario", NULL) == -ENOENT, "twice");
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}

// The descriptor is readable exactly when there may be something, also between blocking waits.
void descriptor(void) {
    tidings_center *center = center_open(256);
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    int fd;
    OK(tidings_observer_descriptor(observer, &fd));
    tidings_delivery delivery;
    for (uint32_t i = 0; i < 2000; i++) {
        int result;
        while ((result = tidings_next(observer, 0, &delivery)) == 0) {}
        CHECK(result == -EAGAIN, "result %d", result);
        OK(tidings_post(topic, &i, sizeof i, NULL, NULL));
        if (i % 3 != 0) {
            CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1, "poll: %s", strerror(errno));
            while ((result = tidings_next(observer, 0, &delivery)) == -EAGAIN) poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
            OK(result);
        } else {
            OK(tidings_next(observer, -1, &delivery));
        }
        CHECK(*(const uint32_t *)delivery.payload == i, "%u at %u", *(const uint32_t *)delivery.payload, i);
    }
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}
