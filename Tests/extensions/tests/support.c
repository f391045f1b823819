// What scenarios share. Declared and described in test.h.
#include <dirent.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test.h"

#define ACTIONS_MAX 16

tidings_launcher *opened(void) {
    tidings_launcher *launcher;
    EXPECT(0, tidings_launcher_open(&launcher));
    return launcher;
}

tidings_launch launch_of(const char *const actions[]) {
    // Until the next call.
    static _Thread_local const char *arguments[ACTIONS_MAX + 2];
    arguments[0] = "peer";
    int count = 1;
    for (const char *const *action = actions; *action; action++) {
        CHECK(count <= ACTIONS_MAX, "%s", *action);
        arguments[count++] = *action;
    }
    arguments[count] = NULL;
    return (tidings_launch){.executable = peer, .arguments = arguments, .input = -1};
}

running start(tidings_launcher *launcher, tidings_launch launch) {
    running one = {.launcher = launcher};
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "%s", strerror(errno));
    one.socket = ends[0];
    launch.input = ends[1];
    tidings_launch_failure failure;
    const int result = tidings_launcher_start(launcher, &launch, &one.id, &one.pid, &failure);
    CHECK(result == 0, "can't %s %s: %s", failure.step, failure.path, strerror(-result));
    CHECK(one.id > 0 && one.pid > 0, "id %llu, pid %d", (unsigned long long)one.id, one.pid);
    (void)close(ends[1]);
    return one;
}

int start_fails(tidings_launcher *launcher, tidings_launch launch, tidings_launch_failure *failure) {
    uint64_t id;
    int32_t pid;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "%s", strerror(errno));
    launch.input = ends[1];
    const int result = tidings_launcher_start(launcher, &launch, &id, &pid, failure);
    CHECK(result < 0 && id == 0 && pid == 0, "it started: %d", pid);
    (void)close(ends[1]);
    char byte;
    CHECK(recv(ends[0], &byte, 1, 0) == 0, "a process is left");
    (void)close(ends[0]);
    return result;
}

const char *heard(int socket) {
    static _Thread_local char line[4096];
    ssize_t got;
    do got = recv(socket, line, sizeof line - 1, 0);
    while (got < 0 && errno == EINTR);
    // ECONNRESET: it did not read all.
    CHECK(got >= 0 || errno == ECONNRESET, "%s", strerror(errno));
    line[got > 0 ? got : 0] = 0;
    return line;
}

void says(const running *one, const char *line) {
    const char *said = heard(one->socket);
    CHECK(strcmp(said, line) == 0, "it says \"%s\", not \"%s\"", said, line);
}

void none_left(const running *one) { says(one, ""); }

tidings_launch_event next(tidings_launcher *launcher) {
    tidings_launch_event event;
    EXPECT(0, tidings_launcher_next(launcher, -1, &event));
    return event;
}

static void ended(const running *one, bool signaled, int code) {
    const tidings_launch_event event = next(one->launcher);
    CHECK(event.id == one->id && event.pid == one->pid, "the end of %llu, process %d, not of %llu, process %d",
          (unsigned long long)event.id, event.pid, (unsigned long long)one->id, one->pid);
    CHECK(event.signaled == signaled && event.code == code, "%s %d, not %s %d", event.signaled ? "signal" : "status",
          event.code, signaled ? "signal" : "status", code);
}

void exited(const running *one, int status) { ended(one, false, status); }
void killed(const running *one, int signal) { ended(one, true, signal); }

// MARK: Hosts

host host_begin(void (*body)(int socket)) {
    int ends[2], life[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0 && pipe(life) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid == 0) {
        (void)dup2(life[1], STDERR_FILENO);
        (void)close(life[0]);
        (void)close(life[1]);
        (void)close(ends[0]);
        alarm(WATCHDOG);
        body(ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    (void)close(life[1]);
    return (host){pid, ends[0], life[0]};
}

void host_kill(const host *one) {
    CHECK(kill(one->pid, SIGKILL) == 0, "%s", strerror(errno));
    int status;
    CHECK(waitpid(one->pid, &status, 0) == one->pid, "%s", strerror(errno));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the host ended before: status %#x", (unsigned)status);
}

void host_left_none(const host *one) {
    char text[1024];
    ssize_t got;
    do got = read(one->life, text, sizeof text);
    while (got < 0 && errno == EINTR);
    CHECK(got == 0, "the host says: %.*s", (int)got, text);
    (void)close(one->life);
}

pid_t only_child(pid_t parent) {
    for (;;) {
        DIR *proc = opendir("/proc");
        CHECK(proc != NULL, "%s", strerror(errno));
        pid_t found = 0;
        for (const struct dirent *entry; (entry = readdir(proc));) {
            char path[300], text[512] = {0};
            (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
            FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
            if (!file) continue;
            if (!fgets(text, sizeof text, file)) text[0] = 0;
            (void)fclose(file);
            const char *at = strrchr(text, ')');
            if (!at || at[2] == 'Z' || atoi(at + 4) != parent) continue;
            CHECK(found == 0, "%d has more children than one", parent);
            found = atoi(entry->d_name);
        }
        (void)closedir(proc);
        if (found) return found;
    }
}
