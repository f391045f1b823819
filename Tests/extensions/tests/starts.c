// Starting: what fails and is named, and what an extension inherits.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test.h"

void the_exit_status_of_an_extension_is_reported(void) {
    tidings_launcher *launcher = opened();
    for (int status = 0; status < 256; status += 51) {
        char action[16];
        (void)snprintf(action, sizeof action, "exit:%d", status);
        const running one = start(launcher, LAUNCH(action));
        exited(&one, status);
    }
    tidings_launcher_close(launcher);
}

void the_signal_that_ended_an_extension_is_reported(void) {
    tidings_launcher *launcher = opened();
    const int signals[] = {SIGTERM, SIGSEGV, SIGKILL, SIGUSR1, SIGRTMAX};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char action[16];
        (void)snprintf(action, sizeof action, "kill:%d", signals[i]);
        const running one = start(launcher, LAUNCH(action));
        killed(&one, signals[i]);
    }
    tidings_launcher_close(launcher);
}

static char *temporary(void) {
    static char path[64];
    (void)strcpy(path, "/tmp/tidings-extensions.XXXXXX");
    CHECK(mkdtemp(path), "%s", strerror(errno));
    return path;
}

static const char *file_in(const char *directory, const char *name, const char *text, mode_t mode) {
    static char path[4][128];
    static int at;
    char *result = path[at++ % 4];
    (void)snprintf(result, sizeof path[0], "%s/%s", directory, name);
    const int fd = open(result, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0, "%s",
          strerror(errno));
    (void)close(fd);
    return result;
}

static void remove_all(const char *directory) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK(system(command) == 0, "%s", command);
}

static void step_fails(tidings_launcher *launcher, tidings_launch launch, int error, const char *step,
                       const char *path) {
    tidings_launch_failure failure;
    EXPECT(-error, start_fails(launcher, launch, &failure));
    CHECK(strcmp(failure.step, step) == 0 && strcmp(failure.path, path) == 0, "can't %s %s, not %s %s", failure.step,
          failure.path, step, path);
}

void each_failed_step_is_named_and_leaves_nothing(void) {
    tidings_launcher *launcher = opened();
    const char *directory = temporary();
    const char *locked = file_in(directory, "locked", "#!/bin/sh\n", 0600);
    const char *text = file_in(directory, "text", "no program", 0700);
    const char *orphaned = file_in(directory, "orphaned", "#!/nonexistent/interpreter\n", 0700);
    struct {
        const char *executable;
        int error;
    } const executables[] = {{"/nonexistent", ENOENT}, {locked, EACCES},       {text, ENOEXEC},
                             {directory, EACCES},      {"", ENOENT},           {orphaned, ENOENT},
                             {"/dev/null", EACCES},    {"nonexistent", ENOENT}};
    for (size_t i = 0; i < sizeof executables / sizeof executables[0]; i++) {
        tidings_launch launch = LAUNCH("exit:0");
        launch.executable = executables[i].executable;
        step_fails(launcher, launch, executables[i].error, "run", executables[i].executable);
    }
    tidings_launch launch = LAUNCH("exit:0");
    launch.directory = "/nonexistent";
    step_fails(launcher, launch, ENOENT, "enter the directory", "/nonexistent");
    launch.directory = text;
    step_fails(launcher, launch, ENOTDIR, "enter the directory", text);
    launch.directory = NULL;
    // The kernel takes at most 128 KiB for one argument.
    char *long_text = malloc(200000);
    memset(long_text, 'x', 199999);
    long_text[199999] = 0;
    launch = LAUNCH(long_text);
    step_fails(launcher, launch, E2BIG, "run", peer);
    free(long_text);
    // Nothing of these is reported.
    const running one = start(launcher, LAUNCH("exit:7"));
    exited(&one, 7);
    tidings_launcher_close(launcher);
    remove_all(directory);
}

void invalid_launches_are_refused(void) {
    tidings_launcher *launcher = opened();
    tidings_launch_failure failure;
    uint64_t id;
    int32_t pid;
    tidings_launch launch = LAUNCH("exit:0");
    EXPECT(-EINVAL, tidings_launcher_start(launcher, &launch, &id, &pid, &failure));  // no input
    launch.input = 4711;
    EXPECT(-EBADF, tidings_launcher_start(launcher, &launch, &id, &pid, &failure));
    launch.arguments = (const char *const[]){NULL};
    EXPECT(-EINVAL, start_fails(launcher, launch, &failure));
    launch = LAUNCH("exit:0");
    launch.executable = NULL;
    EXPECT(-EINVAL, start_fails(launcher, launch, &failure));
    launch = LAUNCH("exit:0");
    launch.path_count = TIDINGS_LAUNCH_PATHS_MAX + 1;
    EXPECT(-E2BIG, start_fails(launcher, launch, &failure));
    char *text = malloc(TIDINGS_LAUNCH_BYTES_MAX + 1);
    memset(text, 'x', TIDINGS_LAUNCH_BYTES_MAX);
    text[TIDINGS_LAUNCH_BYTES_MAX] = 0;
    launch = LAUNCH(text);
    EXPECT(-E2BIG, start_fails(launcher, launch, &failure));
    free(text);
    tidings_launcher_close(launcher);
    tidings_launcher_close(NULL);
}

void arguments_environment_and_directory_arrive(void) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("argument0", "say:a b\"c$d", "environment:GIVEN", "environment:HOME", "directory",
                                   "parent");
    launch.environment = (const char *const[]){"GIVEN=a=b", "EMPTY=", NULL};
    launch.directory = "/usr";
    const running one = start(launcher, launch);
    says(&one, "peer");
    says(&one, "a b\"c$d");
    says(&one, "a=b");
    says(&one, "none");
    says(&one, "/usr");
    CHECK(atoi(heard(one.socket)) == only_child(getpid()), "its parent is not the launcher");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}

void an_environment_of_none_is_the_hosts(void) {
    tidings_launcher *launcher = opened();
    // As it is at the start, and not when the launcher was opened.
    CHECK(setenv("TIDINGS_TEST_GIVEN", "late", 1) == 0, "%s", strerror(errno));
    running one = start(launcher, LAUNCH("environment:TIDINGS_TEST_GIVEN"));
    says(&one, "late");
    exited(&one, 0);
    tidings_launch launch = LAUNCH("environment:TIDINGS_TEST_GIVEN");
    launch.environment = (const char *const[]){NULL};
    one = start(launcher, launch);
    says(&one, "none");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}

void texts_up_to_the_kernels_limit_arrive(void) {
    tidings_launcher *launcher = opened();
    enum { SIZE = 120000, COUNT = 14 };
    char *text = malloc(SIZE + 8);
    memset(text, 'x', SIZE + 7);
    memcpy(text, "length:", 7);
    text[SIZE + 7] = 0;
    const running one =
        start(launcher, LAUNCH(text, text, text, text, text, text, text, text, text, text, text, text, text, text));
    for (int i = 0; i < COUNT; i++) says(&one, "120000");
    exited(&one, 0);
    free(text);
    tidings_launcher_close(launcher);
}

void relative_paths_count_from_the_hosts_directory_of_the_moment(void) {
    tidings_launcher *launcher = opened();
    const char *directory = temporary();
    CHECK(chdir(directory) == 0 && symlink(peer, "peer") == 0, "%s", strerror(errno));
    tidings_launch launch = LAUNCH("directory");
    launch.executable = "./peer";
    running one = start(launcher, launch);
    says(&one, directory);
    exited(&one, 0);
    // The directory is the extension's, the path of the executable is the host's.
    CHECK(mkdir("below", 0700) == 0, "%s", strerror(errno));
    launch.directory = "below";
    one = start(launcher, launch);
    char below[128];
    (void)snprintf(below, sizeof below, "%s/below", directory);
    says(&one, below);
    exited(&one, 0);
    // The launcher itself uses no directory that an administrator may want to unmount.
    char path[64], link[128] = {0};
    (void)snprintf(path, sizeof path, "/proc/%d/cwd", only_child(getpid()));
    CHECK(readlink(path, link, sizeof link - 1) > 0 && strcmp(link, "/") == 0, "it is in %s", link);
    tidings_launcher_close(launcher);
    CHECK(chdir("/") == 0, "%s", strerror(errno));
    remove_all(directory);
}

void an_extension_inherits_descriptors_0_to_2_alone(void) {
    // Without close-on-exec, below and above those of the launcher, before and after it was opened.
    for (int fd = 3; fd < 60; fd++) CHECK(dup2(1, fd) == fd, "%s", strerror(errno));
    tidings_launcher *launcher = opened();
    for (int fd = 100; fd < 120; fd++) CHECK(dup2(1, fd) == fd, "%s", strerror(errno));
    for (int i = 0; i < 3; i++) {
        const running one = start(launcher, LAUNCH("descriptors"));
        says(&one, "0 1 2 ");
        none_left(&one);
        exited(&one, 0);
    }
    tidings_launcher_close(launcher);
}

static void without_standard_descriptors(int socket) {
    CHECK(dup2(socket, 10) == 10 && dup2(STDERR_FILENO, 11) == 11, "%s", strerror(errno));
    for (int fd = 0; fd < 10; fd++) (void)close(fd);
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("descriptors", "hang");
    launch.input = 10;
    uint64_t id;
    int32_t pid;
    tidings_launch_failure failure;
    if (tidings_launcher_start(launcher, &launch, &id, &pid, &failure) != 0) _exit(1);
    (void)close(10);
    (void)pause();
}

void a_host_without_standard_descriptors_has_extensions(void) {
    const host one = host_begin(without_standard_descriptors);
    const running extension = {.socket = one.socket};
    says(&extension, "0 1 2 ");
    host_kill(&one);
    none_left(&extension);
    host_left_none(&one);
}

void an_extension_has_default_signals_and_no_new_privileges(void) {
    sigset_t some;
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGUSR1);
    (void)sigaddset(&some, SIGTERM);
    CHECK(sigprocmask(SIG_BLOCK, &some, NULL) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR &&
              signal(SIGHUP, SIG_IGN) != SIG_ERR,
          "%s", strerror(errno));
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("status:SigBlk", "status:SigIgn", "status:SigPnd", "status:NoNewPrivs"));
    says(&one, "SigBlk:\t0000000000000000");
    says(&one, "SigIgn:\t0000000000000000");
    says(&one, "SigPnd:\t0000000000000000");
    says(&one, "NoNewPrivs:\t1");
    exited(&one, 0);
    tidings_launcher_close(launcher);
    // The host's own mask is as before.
    sigset_t now;
    (void)sigprocmask(SIG_BLOCK, NULL, &now);
    CHECK(sigismember(&now, SIGUSR1) && sigismember(&now, SIGTERM) && !sigismember(&now, SIGUSR2), "it changed");
}

void an_extension_has_a_session_of_its_own(void) {
    tidings_launcher *launcher = opened();
    const running one = start(launcher, LAUNCH("session"));
    says(&one, "1 1");
    exited(&one, 0);
    // So has the launcher: a terminal's SIGINT for the host must reach neither.
    const pid_t launching = only_child(getpid());
    CHECK(getsid(launching) == launching, "the launcher is in session %d", getsid(launching));
    tidings_launcher_close(launcher);
}

// MARK: Limits

void without_a_limit_of_memory_the_kernel_ends_an_extension_before_its_host(void) {
    tidings_launcher *launcher = opened();
    FILE *file = fopen("/proc/self/oom_score_adj", "r+");
    int own = 0;
    CHECK(file && fscanf(file, "%d", &own) == 1, "%s", strerror(errno));
    for (int round = 0; round < 2; round++) {
        running one = start(launcher, LAUNCH("score"));
        char expected[16];
        (void)snprintf(expected, sizeof expected, "%d", own + 300 < 1000 ? own + 300 : 1000);
        says(&one, expected);
        exited(&one, 0);
        // It is the host's present score that counts.
        own = own < 900 ? 900 : own;
        rewind(file);
        CHECK(fprintf(file, "%d", own) > 0 && fflush(file) == 0, "%s", strerror(errno));
    }
    (void)fclose(file);
    tidings_launcher_close(launcher);
}

void the_limit_of_memory_holds(void) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("memory:300000000", "memory:1000000");
    launch.memory = 200000000;
    running one = start(launcher, launch);
    says(&one, "Cannot allocate memory");
    says(&one, "mapped");
    exited(&one, 0);
    launch.memory = 0;
    one = start(launcher, launch);
    says(&one, "mapped");
    says(&one, "mapped");
    exited(&one, 0);
    // Too little to load the program: the kernel ends it after the step of no return, so the start has succeeded.
    launch.memory = 4096;
    one = start(launcher, launch);
    none_left(&one);
    CHECK(next(launcher).code != 0, "it ended well");
    tidings_launcher_close(launcher);
}

void the_limit_of_processor_time_holds(void) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("spend");
    launch.cpu_seconds = 1;
    running one = start(launcher, launch);
    killed(&one, SIGXCPU);
    // An extension that ignores the signal is killed a second later.
    launch = LAUNCH("ignore", "spend");
    launch.cpu_seconds = 1;
    one = start(launcher, launch);
    killed(&one, SIGKILL);
    tidings_launcher_close(launcher);
}

void the_limit_of_open_files_holds(void) {
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("files");
    launch.open_files = 16;
    const running one = start(launcher, launch);
    says(&one, "15 Too many open files");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}

void a_limit_never_rises_above_the_hosts(void) {
    const struct rlimit low = {.rlim_cur = 50, .rlim_max = 60};
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0, "%s", strerror(errno));
    tidings_launcher *launcher = opened();
    char action[32];
    (void)snprintf(action, sizeof action, "limit:%d", RLIMIT_NOFILE);
    tidings_launch launch = LAUNCH(action);
    launch.open_files = 55;
    running one = start(launcher, launch);
    says(&one, "55 55");
    exited(&one, 0);
    launch.open_files = 100;
    one = start(launcher, launch);
    says(&one, "60 60");
    exited(&one, 0);
    launch.open_files = 0;
    one = start(launcher, launch);
    says(&one, "50 60");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}
