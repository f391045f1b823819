// Ends: of extensions, descendants, hosts and launchers. No process is left.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test.h"

// MARK: Signals

void a_signal_reaches_the_process_group(void) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("-c", "sleep 1000 & echo >/dev/null; exec sleep 1000");
    launch.executable = "/bin/sh";
    const running one = start(launcher, launch);
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGTERM));
    killed(&one, SIGTERM);
    none_left(&one);
    EXPECT(-ESRCH, tidings_launcher_signal(launcher, one.id, SIGTERM));
    tidings_launcher_close(launcher);
}

void an_ended_extension_receives_no_signal(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("wait")), two = start(launcher, LAUNCH("hang"));
    EXPECT(0, tidings_launcher_signal(launcher, one.id, 0));
    EXPECT(-EINVAL, tidings_launcher_signal(launcher, one.id, 4711));
    EXPECT(-EINVAL, tidings_launcher_signal(launcher, one.id, -1));
    CHECK(send(one.socket, "x", 1, 0) == 1, "%s", strerror(errno));
    exited(&one, 0);
    EXPECT(-ESRCH, tidings_launcher_signal(launcher, one.id, SIGKILL));
    EXPECT(-ESRCH, tidings_launcher_kill(launcher, one.id));
    EXPECT(-ESRCH, tidings_launcher_kill(launcher, 0));
    EXPECT(-ESRCH, tidings_launcher_kill(launcher, two.id + 1));
    EXPECT(0, tidings_launcher_kill(launcher, two.id));
    killed(&two, SIGKILL);
    tidings_launcher_close(launcher);
}

void an_extension_that_ignores_sigterm_is_killed(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("ignore", "say:deaf", "hang"));
    says(&one, "deaf");
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGTERM));
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGHUP));
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    tidings_launcher_close(launcher);
}

void a_stopped_extension_is_killed(void) {
    tidings_launcher *launcher = opened();
    running one = start(launcher, LAUNCH("daemon:stop", "say:there", "hang"));
    (void)heard(one.socket);
    (void)heard(one.socket);
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGSTOP));
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    // A stop is not an end.
    one = start(launcher, LAUNCH("wait", "exit:5"));
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGSTOP));
    EXPECT(0, tidings_launcher_signal(launcher, one.id, SIGCONT));
    CHECK(send(one.socket, "x", 1, 0) == 1, "%s", strerror(errno));
    exited(&one, 5);
    tidings_launcher_close(launcher);
}

// MARK: Descendants

void a_kill_ends_descendants_that_left_the_group(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("daemon:hang", "daemon:ignore", "daemon:stop", "say:there", "hang"));
    int daemons = 0;
    for (int i = 0; i < 4; i++) daemons += strcmp(heard(one.socket), "daemon") == 0;
    CHECK(daemons == 3, "%d", daemons);
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    tidings_launcher_close(launcher);
}

void the_end_of_an_extension_ends_its_descendants(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("daemon:ignore", "daemon:stop", "wait", "exit:4"));
    says(&one, "daemon");
    says(&one, "daemon");
    CHECK(send(one.socket, "x", 1, 0) == 1, "%s", strerror(errno));
    exited(&one, 4);
    none_left(&one);
    tidings_launcher_close(launcher);
}

void orphans_live_as_long_as_their_extension(void) {
    tidings_launcher *launcher = opened();
    // An orphan that waits for a message, as long as other extensions come and go.
    const running one = start(launcher, LAUNCH("daemon:hang", "say:there", "hang"));
    (void)heard(one.socket);
    (void)heard(one.socket);
    for (int i = 0; i < 20; i++) {
        const running other = start(launcher, LAUNCH("daemon:hang", "wait"));
        says(&other, "daemon");
        CHECK(send(other.socket, "x", 1, 0) == 1, "%s", strerror(errno));
        exited(&other, 0);
        none_left(&other);
    }
    CHECK(recv(one.socket, &(char){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "its orphan has ended with it");
    // The orphan is a child of the extension.
    CHECK(only_child(one.pid) > 0, "it has none");
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    tidings_launcher_close(launcher);
}

void an_orphan_of_one_extension_leaves_the_other_alone(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("daemon:hang", "say:there", "hang")),
                  two = start(launcher, LAUNCH("daemon:hang", "say:there", "hang"));
    (void)heard(one.socket);
    (void)heard(one.socket);
    (void)heard(two.socket);
    (void)heard(two.socket);
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    EXPECT(0, tidings_launcher_signal(launcher, two.id, 0));
    CHECK(only_child(two.pid) > 0, "its orphan is gone");
    tidings_launcher_close(launcher);
    none_left(&two);
}

// A hostile extension can undo PR_SET_CHILD_SUBREAPER. Its orphans then are the launcher's, and killed.
void an_extension_that_gives_its_orphans_away_loses_them(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("give-away", "daemon:ignore", "say:there", "hang"));
    (void)heard(one.socket);
    (void)heard(one.socket);
    const running other = start(launcher, LAUNCH("exit:0"));
    exited(&other, 0);
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    tidings_launcher_close(launcher);
}

// Many times: whether a sweep meets such a process is chance.
void a_process_that_only_forks_and_exits_is_killed(void) {
    for (int round = 0; round < 10; round++) {
        tidings_launcher *launcher = opened();
        running one = start(launcher, LAUNCH("fork-and-exit"));
        exited(&one, 0);
        none_left(&one);
        // Also with the host's end.
        one = start(launcher, LAUNCH("fork-and-exit"));
        const running two = start(launcher, LAUNCH("fork-and-exit"));
        tidings_launcher_close(launcher);
        none_left(&one);
        none_left(&two);
    }
}

void a_process_that_only_forks_and_kills_itself_is_killed(void) {
    for (int round = 0; round < 10; round++) {
        tidings_launcher *launcher = opened();
        const running one = start(launcher, LAUNCH("fork-and-die"));
        killed(&one, SIGKILL);
        none_left(&one);
        tidings_launcher_close(launcher);
    }
}

void processes_that_fork_without_end_are_killed(void) {
    tidings_launcher *launcher = opened();
    running one = start(launcher, LAUNCH("fork-without-end:60"));
    says(&one, "full");
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    none_left(&one);
    one = start(launcher, LAUNCH("fork-without-end:60"));
    says(&one, "full");
    tidings_launcher_close(launcher);
    none_left(&one);
}

void an_extension_that_closes_descriptor_0_is_reported(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("close", "hang"));
    none_left(&one);
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    tidings_launcher_close(launcher);
}

// MARK: Many

static uint32_t ended_once(tidings_launcher *launcher, const running *all, uint32_t count) {
    bool *seen = calloc(count, sizeof *seen);
    for (uint32_t i = 0; i < count; i++) {
        const tidings_launch_event event = next(launcher);
        uint32_t k = 0;
        while (k < count && all[k].id != event.id) k++;
        CHECK(k < count && !seen[k] && all[k].pid == event.pid, "the end of %llu, process %d",
              (unsigned long long)event.id, event.pid);
        seen[k] = true;
    }
    free(seen);
    return count;
}

void two_hundred_extensions_live_at_once(void) {
    enum { COUNT = 200 };
    static running all[COUNT];
    tidings_launcher *launcher = opened();
    for (int i = 0; i < COUNT; i++) all[i] = start(launcher, LAUNCH("say:there", "wait"));
    for (int i = 0; i < COUNT; i++) says(&all[i], "there");
    for (int i = 0; i < COUNT; i++) EXPECT(0, tidings_launcher_signal(launcher, all[i].id, 0));
    for (int i = 0; i < COUNT; i++) CHECK(send(all[i].socket, "x", 1, 0) == 1, "%s", strerror(errno));
    (void)ended_once(launcher, all, COUNT);
    for (int i = 0; i < COUNT; i++) none_left(&all[i]);
    tidings_launcher_close(launcher);
}

void there_are_at_most_as_many_extensions_as_promised(void) {
    enum { COUNT = TIDINGS_LAUNCHER_EXTENSIONS_MAX };
    static running all[COUNT];
    tidings_launcher *launcher = opened();
    for (int i = 0; i < COUNT; i++) all[i] = start(launcher, LAUNCH("hang"));
    tidings_launch_failure failure;
    EXPECT(-EUSERS, start_fails(launcher, LAUNCH("exit:0"), &failure));
    EXPECT(0, tidings_launcher_kill(launcher, all[COUNT / 2].id));
    killed(&all[COUNT / 2], SIGKILL);
    all[COUNT / 2] = start(launcher, LAUNCH("hang"));
    tidings_launcher_close(launcher);
    for (int i = 0; i < COUNT; i++) none_left(&all[i]);
}

void ends_that_are_not_taken_wait(void) {
    enum { COUNT = 400 };  // more than the socket holds
    static running all[COUNT];
    tidings_launcher *launcher = opened();
    for (int i = 0; i < COUNT; i++) {
        all[i] = start(launcher, LAUNCH("exit:0"));
        none_left(&all[i]);
    }
    // The launcher still answers.
    const running one = start(launcher, LAUNCH("hang"));
    EXPECT(0, tidings_launcher_signal(launcher, one.id, 0));
    (void)ended_once(launcher, all, COUNT);
    tidings_launcher_close(launcher);
    none_left(&one);
}

static int descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL, "%s", strerror(errno));
    int count = 0;
    while (readdir(folder)) count++;
    (void)closedir(folder);
    return count;
}

void closing_leaves_no_process_and_no_descriptor(void) {
    const int before = descriptors();
    for (int round = 0; round < 20; round++) {
        tidings_launcher *launcher = opened();
        const running one = start(launcher, LAUNCH("daemon:ignore", "ignore", "hang")),
                      two = start(launcher, LAUNCH("exit:0"));
        tidings_launch launch = LAUNCH("exit:0");
        launch.executable = "/nonexistent";
        tidings_launch_failure failure;
        EXPECT(-ENOENT, start_fails(launcher, launch, &failure));
        if (round % 2) exited(&two, 0);
        tidings_launcher_close(launcher);
        CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child is left");
        for (const char *said; *(said = heard(one.socket));) CHECK(strcmp(said, "daemon") == 0, "%s", said);
        none_left(&two);
        (void)close(one.socket);
        (void)close(two.socket);
    }
    CHECK(descriptors() == before, "%d descriptors, and %d before", descriptors(), before);
}

// MARK: The host's end

static tidings_launcher *host_launches(int socket, const char *const actions[], uint64_t *id) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = launch_of(actions);
    launch.input = socket;
    int32_t pid;
    tidings_launch_failure failure;
    EXPECT(0, tidings_launcher_start(launcher, &launch, id, &pid, &failure));
    return launcher;
}

static void hosts_all_kinds(int socket) {
    uint64_t id;
    (void)host_launches(
        socket, (const char *const[]){"daemon:ignore", "daemon:stop", "say:there", "ignore", "hang", NULL}, &id);
    (void)host_launches(socket, (const char *const[]){"say:there", "fork-without-end:40", NULL}, &id);
    (void)host_launches(socket, (const char *const[]){"say:there", "fork-and-exit", NULL}, &id);
    (void)close(socket);
    for (;;) (void)pause();
}

void a_killed_host_leaves_no_process(void) {
    const host one = host_begin(hosts_all_kinds);
    int there = 0, daemons = 0, full = 0;
    while (there < 3 || daemons < 2 || full < 1) {
        const char *said = heard(one.socket);
        CHECK(*said, "its extensions ended before");
        there += strcmp(said, "there") == 0;
        daemons += strcmp(said, "daemon") == 0;
        full += strcmp(said, "full") == 0;
    }
    host_kill(&one);
    CHECK(!*heard(one.socket), "it says more");
    host_left_none(&one);
}

static void starts_without_end(int socket) {
    tidings_launcher *launcher = opened();
    bool said = false;
    for (;;) {
        tidings_launch launch = LAUNCH("daemon:ignore", "ignore", "hang");
        launch.input = socket;
        uint64_t id;
        int32_t pid;
        tidings_launch_failure failure;
        if (tidings_launcher_start(launcher, &launch, &id, &pid, &failure) == -EUSERS) (void)pause();
        if (!said && send(socket, "began", 5, 0) == 5) said = true;
    }
}

void a_host_that_is_killed_during_starts_leaves_no_process(void) {
    for (int round = 0; round < 10; round++) {
        const host one = host_begin(starts_without_end);
        // After a number of messages that differs, so at another instruction of a start.
        for (uint64_t left = random_below(40); left > 0; left--) CHECK(*heard(one.socket), "its extensions ended");
        host_kill(&one);
        while (*heard(one.socket)) continue;
        host_left_none(&one);
        (void)close(one.socket);
    }
}

static void without_proc(int socket) {
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) _exit(0);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", "/proc", "tmpfs", 0, NULL) < 0)
        _exit(0);
    uint64_t id;
    const running one = start(opened(), LAUNCH("daemon:ignore", "wait"));
    says(&one, "daemon");
    CHECK(send(one.socket, "x", 1, 0) == 1, "%s", strerror(errno));
    exited(&one, 0);
    none_left(&one);
    (void)host_launches(socket, (const char *const[]){"daemon:ignore", "daemon:stop", "say:there", "hang", NULL}, &id);
    (void)close(socket);
    for (;;) (void)pause();
}

void a_killed_host_without_proc_leaves_no_process(void) {
    const host one = host_begin(without_proc);
    for (int i = 0; i < 3; i++)
        if (!*heard(one.socket)) skip("it needs the right to mount");
    host_kill(&one);
    CHECK(!*heard(one.socket), "it says more");
    host_left_none(&one);
}

static void forks_a_child_that_keeps_all(int socket) {
    uint64_t id;
    tidings_launcher *launcher = host_launches(socket, (const char *const[]){"daemon:hang", "say:there", "hang", NULL},
                                               &id);
    const pid_t child = fork();
    if (child == 0) {
        // A library of the host may do this. It inherits the host's ends of all sockets.
        (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        (void)close(socket);
        alarm(WATCHDOG);
        for (;;) (void)pause();
    }
    CHECK(launcher && send(socket, &child, sizeof child, 0) == sizeof child, "%s", strerror(errno));
    (void)close(socket);
    for (;;) (void)pause();
}

void a_forked_child_of_the_host_keeps_nothing_alive(void) {
    const host one = host_begin(forks_a_child_that_keeps_all);
    pid_t child = 0;
    for (int i = 0; i < 3; i++) {
        char said[16];
        const ssize_t got = recv(one.socket, said, sizeof said, 0);
        CHECK(got > 0, "its extensions ended before");
        if (got == sizeof child) memcpy(&child, said, sizeof child);
    }
    host_kill(&one);
    CHECK(!*heard(one.socket), "it says more");
    host_left_none(&one);
    CHECK(child > 0 && kill(child, SIGKILL) == 0, "the child of the host has ended: %d", child);
}

// MARK: The launcher's end

void a_killed_launcher_takes_its_extensions_along(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("ignore", "hang")), two = start(launcher, LAUNCH("exit:9"));
    none_left(&two);
    exited(&two, 9);
    CHECK(kill(only_child(getpid()), SIGKILL) == 0, "%s", strerror(errno));
    none_left(&one);
    tidings_launch_event event;
    EXPECT(-EPIPE, tidings_launcher_next(launcher, -1, &event));
    EXPECT(-EPIPE, tidings_launcher_next(launcher, 0, &event));
    tidings_launch_failure failure;
    EXPECT(-EPIPE, start_fails(launcher, LAUNCH("exit:0"), &failure));
    EXPECT(-EPIPE, tidings_launcher_signal(launcher, one.id, SIGTERM));
    EXPECT(-EPIPE, tidings_launcher_kill(launcher, one.id));
    tidings_launcher_close(launcher);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child is left");
    launcher = opened();
    const running three = start(launcher, LAUNCH("exit:2"));
    exited(&three, 2);
    tidings_launcher_close(launcher);
}

void a_stopped_launcher_is_continued(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("daemon:hang", "say:there", "hang"));
    (void)heard(one.socket);
    (void)heard(one.socket);
    CHECK(kill(only_child(getpid()), SIGSTOP) == 0, "%s", strerror(errno));
    const running two = start(launcher, LAUNCH("exit:3"));
    exited(&two, 3);
    CHECK(kill(only_child(getpid()), SIGSTOP) == 0, "%s", strerror(errno));
    tidings_launcher_close(launcher);
    none_left(&one);
}

// MARK: The host's calls

static void *interrupt(void *launcher) {
    tidings_launcher_interrupt(launcher);
    return NULL;
}

void an_interruption_ends_one_wait(void) {
    tidings_launcher *launcher = opened();
    tidings_launch_event event;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, interrupt, launcher) == 0, "no thread");
    EXPECT(-EINTR, tidings_launcher_next(launcher, -1, &event));
    CHECK(pthread_join(thread, NULL) == 0, "no thread");
    EXPECT(-ETIMEDOUT, tidings_launcher_next(launcher, 0, &event));
    EXPECT(-ETIMEDOUT, tidings_launcher_next(launcher, 1000000, &event));
    tidings_launcher_interrupt(launcher);
    tidings_launcher_interrupt(launcher);
    EXPECT(-EINTR, tidings_launcher_next(launcher, 0, &event));
    EXPECT(-ETIMEDOUT, tidings_launcher_next(launcher, 0, &event));
    tidings_launcher_close(launcher);
}

void a_forked_child_is_refused(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("wait", "exit:6"));
    const pid_t child = fork();
    if (child == 0) {
        tidings_launch_event event;
        tidings_launch_failure failure;
        EXPECT(-ECHILD, tidings_launcher_next(launcher, -1, &event));
        EXPECT(-ECHILD, tidings_launcher_kill(launcher, one.id));
        EXPECT(-ECHILD, tidings_launcher_signal(launcher, one.id, SIGKILL));
        uint64_t id;
        int32_t pid;
        tidings_launch launch = LAUNCH("exit:0");
        launch.input = one.socket;
        EXPECT(-ECHILD, tidings_launcher_start(launcher, &launch, &id, &pid, &failure));
        tidings_launcher_close(launcher);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %#x", (unsigned)status);
    CHECK(send(one.socket, "x", 1, 0) == 1, "%s", strerror(errno));
    exited(&one, 6);
    tidings_launcher_close(launcher);
}

enum { THREADS = 4, STARTS = 25 };

static void *starts_and_kills(void *launcher) {
    for (int i = 0; i < STARTS; i++) {
        const running one = start(launcher, i % 2 ? LAUNCH("hang") : LAUNCH("exit:0"));
        const int result = tidings_launcher_kill(launcher, one.id);
        CHECK(result == 0 || result == -ESRCH, "%s", strerror(-result));
        none_left(&one);
        (void)close(one.socket);
    }
    return NULL;
}

void threads_start_and_kill_at_once(void) {
    tidings_launcher *launcher = opened();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, starts_and_kills, launcher) == 0, "no thread");
    for (int i = 0; i < THREADS * STARTS; i++) {
        const tidings_launch_event event = next(launcher);
        CHECK(event.signaled ? event.code == SIGKILL : event.code == 0, "code %d", event.code);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0, "no thread");
    tidings_launcher_close(launcher);
}

static atomic_bool done;

static void *uses_the_heap(void *unused) {
    while (!done) {
        void *block = malloc(100000);
        memset(block, 1, 100);
        free(block);
        FILE *file = tmpfile();
        if (file) (void)fclose(file);
    }
    return unused;
}

void a_launcher_opens_beside_threads_that_hold_locks(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, uses_the_heap, NULL) == 0, "no thread");
    for (int round = 0; round < 40; round++) {
        tidings_launcher *launcher = opened();
        const running one = start(launcher, LAUNCH("exit:0"));
        exited(&one, 0);
        tidings_launcher_close(launcher);
        (void)close(one.socket);
    }
    done = true;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0, "no thread");
}

static void reap(int signal) {
    (void)signal;
    const int saved = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    errno = saved;
}

void a_host_that_ignores_or_reaps_its_children_hears_of_ends(void) {
    void (*const handlers[])(int) = {SIG_IGN, reap};
    for (int i = 0; i < 2; i++) {
        CHECK(signal(SIGCHLD, handlers[i]) != SIG_ERR, "%s", strerror(errno));
        tidings_launcher *launcher = opened();
        const running one = start(launcher, LAUNCH("exit:8"));
        exited(&one, 8);
        tidings_launcher_close(launcher);
        launcher = opened();
        const running two = start(launcher, LAUNCH("hang"));
        CHECK(kill(only_child(getpid()), SIGKILL) == 0, "%s", strerror(errno));
        none_left(&two);
        tidings_launch_event event;
        EXPECT(-EPIPE, tidings_launcher_next(launcher, -1, &event));
        tidings_launcher_close(launcher);
    }
}
