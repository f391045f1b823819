// Side 0 may be killed at any moment. Its children then get SIGKILL from the kernel, and what they can't take with
// them, the janitor removes: a process that does nothing but wait for the end of a pipe that both sides hold.
#include "process.h"
#include "rival.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 8, TIMEOUT_MS = 3000 };

static char directory[64];
static char log_path[96];
static int lifeline = -1;
static pid_t janitor, owner;
static pid_t children[CHILDREN_MAX];
static int child_count;

const char *rival_directory(void) { return directory; }

const char *rival_path(const char *name) {
    char *path;
    rival_try(asprintf(&path, "%s/%s", directory, name) > 0, "name a file");
    return path;
}

static void show_log(void) {
    char bytes[2000];
    int file = open(log_path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? 0 : read(file, bytes, sizeof bytes);
    if (count > 0 && write(STDERR_FILENO, bytes, (size_t)count) < 0) return;
}

void rival_fail(const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", this_rival.name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (side %d%s%s)\n", getpid() == owner ? 0 : 1, error != 0 ? ", errno: " : "",
            error != 0 ? strerror(error) : "");
    va_end(arguments);
    if (getpid() == owner) show_log();
    _exit(1);
}

void rival_try(bool good, const char *what) {
    if (!good) rival_fail("can't %s", what);
    errno = 0;
}

static bool one_ended(void) {
    for (int i = 0; i < child_count; i++) {
        siginfo_t found = {0};
        if (waitid(P_PID, (id_t)children[i], &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == children[i])
            return true;
    }
    return false;
}

// A side that waits for one that is gone would wait for ever. (Programs that were only asked for their version end,
// too.)
static void child_ended(int number) {
    (void)number;
    static const char text[] = ": the other side, or a daemon, ended by itself\n";
    if (getpid() != owner || !one_ended()) return;
    if (write(STDERR_FILENO, this_rival.name, strlen(this_rival.name)) < 0 ||
        write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    show_log();
    _exit(1);
}

// MARK: The janitor

static void end_group(pid_t group) {
    const struct timespec step = {.tv_nsec = 1000000};
    for (int ms = 0; ms < TIMEOUT_MS && kill(-group, SIGKILL) == 0; ms++) nanosleep(&step, NULL);
}

static _Noreturn void keep_reclaim(int end) {
    setsid();
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(nothing, i);
    pid_t groups[CHILDREN_MAX];
    int count = 0;
    while (count < CHILDREN_MAX && read(end, &groups[count], sizeof groups[count]) == sizeof groups[count]) count++;
    for (int i = 0; i < count; i++) end_group(groups[i]);
    execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
    _exit(1);
}

void rival_begin(void) {
    owner = getpid();
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before the line above
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);  // the parent may have been confined to a processor
    snprintf(directory, sizeof directory, "%s/tidings-rival.%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)owner);
    snprintf(log_path, sizeof log_path, "%s/log", directory);
    int ends[2];
    rival_try(pipe2(ends, O_CLOEXEC) == 0, "make a pipe");
    janitor = fork();
    rival_try(janitor >= 0, "fork");
    if (janitor == 0) {
        close(ends[1]);
        keep_reclaim(ends[0]);
    }
    close(ends[0]);
    lifeline = ends[1];
    rival_try(mkdir(directory, 0700) == 0, "create a directory");
    struct sigaction action = {.sa_handler = child_ended, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
}

pid_t rival_fork(void) {
    fflush(NULL);
    pid_t child = fork();
    rival_try(child >= 0, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != owner) _exit(1);
        signal(SIGCHLD, SIG_DFL);
        return 0;
    }
    children[child_count++] = child;
    return child;
}

void rival_daemon(const char *const arguments[]) {
    if (rival_fork() == 0) {
        setpgid(0, 0);
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600), nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, 0);
        dup2(log, 1);
        dup2(log, 2);
        execvp(arguments[0], (char *const *)arguments);
        rival_fail("can't start %s: %s", arguments[0], strerror(errno));
    }
    pid_t group = children[child_count - 1];
    setpgid(group, group);  // whichever of the two is first
    rival_try(write(lifeline, &group, sizeof group) == sizeof group, "tell the janitor");
}

void rival_end(void) {
    signal(SIGCHLD, SIG_DFL);
    // What a library's thread has to say about a daemon that is gone is no news.
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDERR_FILENO);
    for (int i = child_count - 1; i >= 0; i--) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    close(lifeline);
    waitpid(janitor, NULL, 0);
    _exit(0);
}

const char *rival_output(const char *command, const char *prefix) {
    static char line[256];
    FILE *output = popen(command, "r");
    bool good = output != NULL && fgets(line, sizeof line, output) != NULL &&
                strncmp(line, prefix, strlen(prefix)) == 0;
    if (output != NULL) pclose(output);
    line[strcspn(line, "\n")] = 0;
    return good ? line + strlen(prefix) : "?";
}

// MARK: Places of one's own

static bool write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool good = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return good;
}

void rival_private_mounts(void) {
    uid_t user = geteuid();
    gid_t group = getegid();
    rival_try(unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0,
              "have mounts of one's own (root can, and others where unprivileged user namespaces are allowed)");
    if (user != 0) {
        char text[64];
        snprintf(text, sizeof text, "%u %u 1", user, user);
        bool good = write_file("/proc/self/uid_map", text) && write_file("/proc/self/setgroups", "deny");
        snprintf(text, sizeof text, "%u %u 1", group, group);
        rival_try(good && write_file("/proc/self/gid_map", text), "stay the same user");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten with a change of credentials
    rival_try(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "keep mounts to oneself");
    rival_try(mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0 && mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0,
              "mount a tmpfs");
    rival_try(mkdir(directory, 0700) == 0, "create a directory");
}
