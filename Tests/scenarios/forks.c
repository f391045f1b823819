// fork and exec: what a child inherits works or says why not, and never keeps the dead alive.
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "peer.h"

static tidings_center *inherited;
static tidings_publisher *inherited_publisher;
static tidings_observer *inherited_observer;
static pipe_pair ready, finish;

static void uses_what_it_inherited(void) {
    tidings_delivery delivery;
    uint32_t subscription;
    int fd;
    CHECK(tidings_next(inherited_observer, 0, &delivery) == -ECHILD, "next");
    CHECK(tidings_next(inherited_observer, -1, &delivery) == -ECHILD, "next, without end");
    CHECK(strlen(tidings_last_error()) > 20, "and says why");
    CHECK(tidings_observer_add(inherited_observer, "x", 1, NULL, 0, 0, &subscription) == -ECHILD, "add");
    CHECK(tidings_observer_remove(inherited_observer, 1) == -ECHILD, "remove");
    CHECK(tidings_observer_seek(inherited_observer, 0) == -ECHILD, "seek");
    CHECK(tidings_observer_descriptor(inherited_observer, &fd) == -ECHILD, "descriptor");
    tidings_observer_interrupt(inherited_observer);  // harmless
    static uint8_t large[5000];
    for (uint32_t i = 0; i < 50; i++) {
        post_number(inherited_publisher, i);
        OK(tidings_post(inherited_publisher, large, sizeof large, NULL, NULL));
    }
    OK(tidings_state_set(inherited_publisher, "child", 5, NULL, NULL));
    tidings_observer *own = observer_of(inherited, NAME);
    post_number(inherited_publisher, 99);
    delivery = receive(own);
    CHECK(delivery.flags & TIDINGS_DELIVERY_OWN && delivery.pid == getpid(), "its own post");
    tidings_participant_info info;
    OK(tidings_participant(inherited, delivery.participant, &info));
    CHECK(info.own && info.alive && info.pid == getpid(), "a participant of its own");
    tidings_observer_close(inherited_observer);  // frees, and takes nothing from the parent
    tidings_observer_close(own);
    tidings_publisher_close(inherited_publisher);
    tidings_close(inherited);
}

void a_forked_child_posts_through_what_it_inherited(void) {
    inherited = join_center(256);
    inherited_publisher = publisher_of(inherited, NAME);
    inherited_observer = observer_of(inherited, NAME);
    post_number(inherited_publisher, 1);
    tidings_delivery delivery = receive(inherited_observer);
    CHECK(delivery.flags & TIDINGS_DELIVERY_OWN, "own");
    for (uint32_t round = 0; round < 5; round++) {
        ends_well(start(uses_what_it_inherited));
        int result;
        uint64_t count = 0;
        while ((result = tidings_next(inherited_observer, 0, &delivery)) == 0) {
            CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && !(delivery.flags & TIDINGS_DELIVERY_OWN) &&
                      delivery.pid != getpid(),
                  "the child's, not ours");
            count++;
        }
        CHECK(result == -EAGAIN || result == -EINTR, "%d", result);
        count += drain(inherited_observer).received;
        CHECK(count == 102, "%lu", (unsigned long)count);
    }
    CHECK(statistics_of(inherited).participants == 1 && statistics_of(inherited).observers == 1, "they left");
}

static void *posts_for_a_while(void *argument) {
    static uint8_t bytes[300];
    for (uint32_t i = 0; atomic_load((_Atomic bool *)argument); i++)
        OK(tidings_post(inherited_publisher, bytes, i % 2 ? 8 : 300, NULL, NULL));
    return NULL;
}

static void posts_a_few(void) {
    for (uint32_t i = 0; i < 20; i++) post_number(inherited_publisher, i);
    tidings_center *another = join_center(0);
    post_number(publisher_of(another, NAME), 1);
}

// Forked in the middle of other threads' posts and opens: the child posts all the same.
void a_child_forked_beside_posting_threads_can_post(void) {
    inherited = join_center(256);
    inherited_publisher = publisher_of(inherited, NAME);
    _Atomic bool going = true;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) OK(pthread_create(&threads[i], NULL, posts_for_a_while, &going));
    for (uint32_t round = 0; round < 40; round++) ends_well(start(posts_a_few));
    atomic_store(&going, false);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    tidings_reclaim(inherited);
    CHECK(statistics_of(inherited).participants == 1, "%u participants", statistics_of(inherited).participants);
}

static _Atomic pid_t *survivor;

static void waits_to_finish(void) {
    CHECK(prctl(PR_SET_PDEATHSIG, 0) == 0, "%s", strerror(errno));  // it outlives its parent
    tell(&ready);
    told(&finish);
}

static void forks_and_is_killed(void) {
    tidings_center *center = join_center(0);
    observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    atomic_store(survivor, start(waits_to_finish));
    for (;;) pause();
}

static void execs_and_is_killed(void) {
    tidings_center *center = join_center(0);
    observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    int executed[2];
    CHECK(pipe2(executed, O_CLOEXEC) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        // Reads from the pipe as `cat`, with whatever descriptors exec leaves it.
        dup2(finish.ends[0], 0);
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        close(finish.ends[1]);
        execl("/bin/cat", "cat", NULL);
        _exit(1);
    }
    atomic_store(survivor, pid);
    close(executed[1]);
    char none;
    CHECK(read(executed[0], &none, 1) == 0, "exec closes the other end");
    tell(&ready);
    for (;;) pause();
}

static void counts_as_dead_at_once(void (*parent)(void)) {
    survivor = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t round = 0; round < 5; round++) {
        ready = pipe_open();
        finish = pipe_open();
        const pid_t pid = start(parent);
        told(&ready);
        while (atomic_load(survivor) == 0) usleep(20);
        kill_and_reap(pid);
        CHECK(kill(atomic_load(survivor), 0) == 0, "the grandchild lives");
        // It was lossless: noticed dead by the first poster it would hold back.
        for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
        CHECK(tidings_reclaim(center) == 0, "noticed before");
        CHECK(statistics_of(center).participants == 1 && statistics_of(center).observers == 0, "%u participants",
              statistics_of(center).participants);
        CHECK(kill(atomic_load(survivor), 0) == 0, "the grandchild still lives");
        kill(atomic_load(survivor), SIGKILL);
        atomic_store(survivor, 0);
        close(finish.ends[0]);
        close(finish.ends[1]);
        close(ready.ends[0]);
        close(ready.ends[1]);
    }
}

void a_forked_child_does_not_keep_its_dead_parent_alive(void) { counts_as_dead_at_once(forks_and_is_killed); }
void a_program_that_was_executed_does_not_keep_its_dead_parent_alive(void) {
    counts_as_dead_at_once(execs_and_is_killed);
}

static void checks_descriptors(void) {
    // In the child of a child that exec'd nothing: just the flags.
    for (int fd = 3; fd < 256; fd++) {
        char path[64], target[512];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 0) continue;
        target[length] = 0;
        if (!strstr(target, "scenario") && !strstr(target, "eventfd")) continue;
        CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%s would survive an exec", target);
    }
}

void no_descriptor_survives_an_exec(void) {
    inherited = join_center(256);
    inherited_publisher = publisher_of(inherited, NAME);
    inherited_observer = observer_of(inherited, NAME);
    int fd;
    OK(tidings_observer_descriptor(inherited_observer, &fd));
    checks_descriptors();
    post_number(inherited_publisher, 1);
    ends_well(start(checks_descriptors));
    tidings_observer_close(inherited_observer);
}

// A raw clone runs no fork handlers.
static void clones_and_is_killed(void) {
    tidings_center *center = join_center(256);
    observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        alarm(WATCHDOG);
        for (;;) pause();
    }
    atomic_store(survivor, pid);
    tell(&ready);
    for (;;) pause();
}

// The limit of the promise about deaths (tidings.h, Docs/Trust.md): posts are held back until their deadline, and not
// longer than that child lives.
void a_child_without_fork_handlers_keeps_its_dead_parent_alive(void) {
    survivor = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    ready = pipe_open();
    const pid_t pid = start(clones_and_is_killed);
    told(&ready);
    kill_and_reap(pid);
    int result;
    while ((result = tidings_post(publisher, "x", 1, NULL, NULL)) == 0) continue;
    CHECK(result == -EAGAIN, "%d", result);
    const tidings_post_options patient = {.timeout_ns = 10000000};
    CHECK(tidings_post(publisher, "x", 1, &patient, NULL) == -ETIMEDOUT, "not at its deadline");
    CHECK(tidings_reclaim(center) == 0, "no participant seems dead");
    kill(atomic_load(survivor), SIGKILL);
    const tidings_post_options without_end = {.timeout_ns = -1};
    OK(tidings_post(publisher, "x", 1, &without_end, NULL));
    CHECK(statistics_of(center).participants == 1, "%u participants", statistics_of(center).participants);
}
