// An extension that does what its arguments say, one after the other, and then ends with status 0. It says what it
// finds on descriptor 0, one message each.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tidings_extension.h"

static void say(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (send(0, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1, MSG_NOSIGNAL) < 0) _exit(99);
}

static int outcome(long result) { return result < 0 ? errno : 0; }

// Seconds after which each process ends by itself. Longer than a scenario may take: it only limits what a fault of the
// launcher leaves behind.
#define LIFE 300

static time_t begin;

static void hang(void) {
    while (time(NULL) < begin + LIFE) (void)sleep(LIFE);
    _exit(98);
}

static void ignore_all(void) {
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGCHLD) (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

// Returns in a process that is no child of the extension and in a session of its own.
static bool in_daemon(void) {
    const pid_t child = fork();
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
        return false;
    }
    (void)setsid();
    if (fork() > 0) _exit(0);
    (void)setsid();
    return true;
}

static void say_descriptors(void) {
    char text[1024] = {0};
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        say("%s", strerror(errno));
        return;
    }
    int numbers[256] = {0};
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < 256) numbers[fd] = 1;
    }
    for (int fd = 0; fd < 256; fd++)
        if (numbers[fd]) (void)sprintf(text + strlen(text), "%d ", fd);
    (void)closedir(folder);
    say("%s", text);
}

static void say_status(const char *field) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, field, strlen(field)) != 0) continue;
        line[strcspn(line, "\n")] = 0;
        say("%s", line);
    }
    if (file) (void)fclose(file);
}

static int connect_abstract(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    memcpy(address.sun_path + 1, name, length);
    return outcome(connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&address,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)));
}

static int write_file(const char *path) {
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd < 0 ? errno : outcome(write(fd, "x", 1));
}

static void spend_processor_time(void) {
    while (time(NULL) < begin + LIFE) continue;
}

// Each process has a session of its own, and replaces those that are killed.
static void fork_without_end(uint32_t most) {
    _Atomic uint32_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (bool full = false; time(NULL) < begin + LIFE;) {
        if (atomic_fetch_add(count, 1) < most) {
            if (fork() != 0) continue;
            (void)setsid();
            full = true;  // the first process alone says it
        } else {
            atomic_fetch_sub(count, 1);
            if (!full) say("full");
            full = true;
            while (waitpid(-1, NULL, WNOHANG) > 0) atomic_fetch_sub(count, 1);
            (void)sched_yield();
        }
    }
}

// Each process lives for one fork.
static void fork_and_end(bool by_signal) {
    while (time(NULL) < begin + LIFE) {
        if (fork() > 0) {
            if (by_signal) (void)raise(SIGKILL);
            _exit(0);
        }
        (void)setsid();
    }
}

// MARK: The header for extensions

#define TRY(status, call)                                                                                              \
    do {                                                                                                               \
        const int result_ = (call);                                                                                    \
        if (result_ != 0) {                                                                                            \
            (void)fprintf(stderr, "%s: %d: %s\n", #call, result_, tidings_last_error());                               \
            return (status);                                                                                           \
        }                                                                                                              \
    } while (0)

static int observe(tidings_center *center, const char *name, tidings_observer **observer) {
    const int error = tidings_observer_open(center, 0, observer);
    return error ? error
                 : tidings_observer_add(*observer, name, strlen(name), NULL, 0, TIDINGS_ADD_RETAINED, &(uint32_t){0});
}

// Posts the configuration, and then what it observes in the broadcast center; ends with the host.
static int take_part(void) {
    tidings_extension *extension;
    const int error = tidings_extension_open(NULL, &extension);
    if (error == -EPROTO)
        return strcmp(tidings_last_error(),
                      "can't connect to a host of version 4711 with version 1: Protocol error; build both with the "
                      "same major version of Tidings") == 0
                   ? 30
                   : 32;
    if (error) {
        // A test compares the line.
        (void)fprintf(stderr, "%s\n", tidings_last_error());
        return error == -ENOTSOCK ? 31 : 32;
    }
    tidings_observer *configurations, *tracks;
    tidings_delivery delivery;
    TRY(33, observe(tidings_extension_private_center(extension), "configuration", &configurations));
    TRY(34, observe(tidings_extension_broadcast_center(extension), "track", &tracks));
    TRY(35, tidings_extension_ready(extension));
    TRY(36, tidings_extension_ready(extension));
    TRY(37, tidings_next(configurations, -1, &delivery));
    TRY(38, tidings_extension_post(extension, "liked", 5, delivery.payload, delivery.size, NULL));
    if (tidings_extension_post(extension, "forbidden", 9, "x", 1, NULL) != -EPERM) return 39;
    if (strcmp(tidings_last_error(),
               "can't post \"forbidden\" to the host: Operation not permitted; add a grant that posts this name to the "
               "launch") != 0)
        return 40;
    tidings_publisher *publisher;
    TRY(41, tidings_publisher_open(tidings_extension_broadcast_center(extension), "track", 5, NULL, 0, &publisher));
    if (tidings_post(publisher, "x", 1, NULL, NULL) != -EACCES) return 42;
    tidings_publisher_close(publisher);
    TRY(43, tidings_next(tracks, -1, &delivery));
    TRY(44, tidings_extension_post(extension, "liked", 5, delivery.payload, delivery.size, NULL));
    if (tidings_extension_await_end(extension, 0) != -ETIMEDOUT) return 45;
    TRY(46, tidings_extension_await_end(extension, -1));
    tidings_observer_close(configurations);
    tidings_observer_close(tracks);
    tidings_extension_close(extension);
    return 0;
}

// Checks what an extension without grants receives.
static int take_part_alone(void) {
    tidings_extension *extension;
    TRY(50, tidings_extension_open(NULL, &extension));
    const tidings_grant *grants;
    if (tidings_extension_broadcast_center(extension)) return 51;
    if (tidings_extension_grants(extension, &grants) != 1 || grants[0].kind != TIDINGS_GRANT_POSTS) return 52;
    if (!tidings_extension_is_granted(extension, TIDINGS_GRANT_POSTS, "liked", 5)) return 53;
    if (tidings_extension_is_granted(extension, TIDINGS_GRANT_POSTS, "like", 4)) return 54;
    if (tidings_extension_is_granted(extension, TIDINGS_GRANT_SERVES, "liked", 5)) return 55;
    char byte;
    if (read(0, &byte, 1) != 0) return 56;
    TRY(57, tidings_extension_ready(extension));
    tidings_extension *second;
    if (tidings_extension_open(NULL, &second) != -ENOTSOCK) return 58;
    TRY(59, tidings_extension_await_end(extension, -1));
    tidings_extension_close(extension);
    return 0;
}

// Leaves a last will, and dies or closes.
static int leave_a_will(bool dies) {
    const tidings_will will = {.name = "liked", .name_length = 5, .payload = "died", .size = 4};
    tidings_extension *extension;
    TRY(60, tidings_extension_open(&will, &extension));
    TRY(61, tidings_extension_ready(extension));
    TRY(62, tidings_extension_post(extension, "liked", 5, "lived", 5, NULL));
    if (dies) (void)raise(SIGKILL);
    tidings_extension_close(extension);
    return 0;
}

// MARK: Actions

// "NAME" or "NAME:PARAMETER". Returns the parameter, "" or NULL.
static const char *is(const char *action, const char *name) {
    const size_t length = strlen(name);
    if (strncmp(action, name, length) != 0) return NULL;
    return action[length] == ':' ? action + length + 1 : action[length] == 0 ? "" : NULL;
}

static void act(const char *action, char **arguments) {
    const char *with;
    if ((with = is(action, "exit"))) _exit(atoi(with));
    if ((with = is(action, "kill"))) (void)raise(atoi(with));
    if (is(action, "hang")) hang();
    if (is(action, "wait")) (void)recv(0, &(char){0}, 1, 0);
    if ((with = is(action, "say"))) say("%s", with);
    if (is(action, "ignore")) ignore_all();
    if (is(action, "close")) (void)close(0);
    if (is(action, "argument0")) say("%s", arguments[0]);
    if ((with = is(action, "environment"))) say("%s", getenv(with) ? getenv(with) : "none");
    if (is(action, "directory")) say("%s", getcwd(NULL, 0));
    if ((with = is(action, "length"))) say("%zu", strlen(with));
    if (is(action, "descriptors")) say_descriptors();
    if ((with = is(action, "status"))) say_status(with);
    if (is(action, "session")) say("%d %d", getsid(0) == getpid(), getpgid(0) == getpid());
    if (is(action, "parent")) say("%d", getppid());
    if ((with = is(action, "memory"))) {
        void *got = mmap(NULL, strtoull(with, NULL, 10), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        say("%s", got == MAP_FAILED ? strerror(errno) : "mapped");
    }
    if (is(action, "score")) {
        char text[16] = "none";
        const int fd = open("/proc/self/oom_score_adj", O_RDONLY);
        (void)!read(fd, text, sizeof text - 1);
        say("%d", atoi(text));
    }
    if (is(action, "files")) {
        int last = 0;
        for (int fd; (fd = dup(0)) >= 0;) last = fd;
        say("%d %s", last, strerror(errno));
    }
    if (is(action, "spend")) spend_processor_time();
    if ((with = is(action, "limit"))) {
        struct rlimit limit;
        (void)getrlimit((__rlimit_resource_t)atoi(with), &limit);
        say("%llu %llu", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
    if ((with = is(action, "read"))) say("%s", strerror(outcome(open(with, O_RDONLY))));
    if ((with = is(action, "write"))) say("%s", strerror(write_file(with)));
    if ((with = is(action, "remove"))) say("%s", strerror(outcome(unlink(with))));
    if ((with = is(action, "execute"))) {
        const pid_t child = fork();
        int status = 0;
        if (child == 0) {
            (void)execl(with, with, NULL);
            _exit(errno);
        }
        (void)waitpid(child, &status, 0);
        say("%s", strerror(WEXITSTATUS(status)));
    }
    if ((with = is(action, "signal"))) say("%s", strerror(outcome(kill(atoi(with), 0))));
    if ((with = is(action, "socket"))) say("%s", strerror(outcome(socket(atoi(with), SOCK_DGRAM, 0))));
    if ((with = is(action, "pair"))) say("%s", strerror(outcome(socketpair(atoi(with), SOCK_STREAM, 0, (int[2]){0}))));
    if (is(action, "ring")) say("%s", strerror(outcome(syscall(425, 1, NULL))));
    if ((with = is(action, "abstract"))) say("%s", strerror(connect_abstract(with)));
    if ((with = is(action, "daemon")) && in_daemon()) {
        if (strcmp(with, "ignore") == 0) ignore_all();
        say("daemon");
        if (strcmp(with, "stop") == 0) (void)raise(SIGSTOP);
        hang();
    }
    if (is(action, "give-away")) (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    if (is(action, "fork-and-exit")) fork_and_end(false);
    if (is(action, "fork-and-die")) fork_and_end(true);
    if ((with = is(action, "fork-without-end"))) fork_without_end((uint32_t)atoi(with));
    if (is(action, "extension")) _exit(take_part());
    if (is(action, "extension-alone")) _exit(take_part_alone());
    if ((with = is(action, "extension-will"))) _exit(leave_a_will(strcmp(with, "die") == 0));
}

int main(int count, char **arguments) {
    begin = time(NULL);
    for (int i = 1; i < count; i++) act(arguments[i], arguments);
    return 0;
}
