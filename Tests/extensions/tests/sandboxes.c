// What a sandbox refuses.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "test.h"

static void needs_landlock(long abi) {
    const long has = syscall(444, NULL, (size_t)0, 1u);
    char reason[64];
    (void)snprintf(reason, sizeof reason, "it needs Landlock %ld, the kernel has %ld", abi, has);
    if (has < abi) skip(reason);
}

#define PATHS_MAX 16

// The peer and its libraries, with the paths given, up to the first of NULL.
static void sandbox(tidings_launch *launch, const tidings_launch_path *paths) {
    static tidings_launch_path all[PATHS_MAX];
    const char *const system[] = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache"};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        if (access(system[i], F_OK) == 0) all[count++] = (tidings_launch_path){system[i], false};
    all[count++] = (tidings_launch_path){peer, false};
    for (; paths->path; paths++) all[count++] = *paths;
    launch->sandbox = true;
    launch->paths = all;
    launch->path_count = count;
}

void a_sandbox_allows_its_paths_alone(void) {
    needs_landlock(1);
    char readable[] = "/tmp/tidings-readable.XXXXXX", writable[] = "/tmp/tidings-writable.XXXXXX";
    CHECK(mkdtemp(readable) && mkdtemp(writable), "%s", strerror(errno));
    char read_there[64], write_there[64], write_here[64], read_here[64];
    (void)snprintf(read_there, sizeof read_there, "read:%s", readable);
    (void)snprintf(write_there, sizeof write_there, "write:%s/file", readable);
    (void)snprintf(write_here, sizeof write_here, "write:%s/file", writable);
    (void)snprintf(read_here, sizeof read_here, "read:%s/file", writable);
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH(read_there, write_there, write_here, read_here, "read:/etc/passwd", "read:/",
                                   "read:/proc/self/status", "write:/tmp/tidings-elsewhere", "execute:/usr/bin/true",
                                   "read:/usr");
    sandbox(&launch, (const tidings_launch_path[]){{readable, false}, {writable, true}, {NULL, false}});
    const running one = start(launcher, launch);
    says(&one, "Success");
    says(&one, "Permission denied");
    says(&one, "Success");
    says(&one, "Success");
    says(&one, "Permission denied");
    says(&one, "Permission denied");
    says(&one, "Permission denied");
    says(&one, "Permission denied");
    says(&one, "Success");
    says(&one, "Success");
    exited(&one, 0);
    // A file of its own is a path too; and without the system's folders there is no program.
    char file[64];
    (void)snprintf(file, sizeof file, "%s/file", writable);
    char remove[80];
    (void)snprintf(remove, sizeof remove, "remove:%s", file);
    launch = LAUNCH(write_here, remove, "execute:/usr/bin/true");
    sandbox(&launch, (const tidings_launch_path[]){{file, true}, {NULL, false}});
    const running two = start(launcher, launch);
    says(&two, "Success");
    says(&two, "Permission denied");
    says(&two, "Success");
    exited(&two, 0);
    tidings_launch_failure failure;
    launch = LAUNCH("exit:0");
    sandbox(&launch, (const tidings_launch_path[]){{"/nonexistent", false}, {NULL, false}});
    EXPECT(-ENOENT, start_fails(launcher, launch, &failure));
    CHECK(strcmp(failure.step, "allow in the sandbox") == 0 && strcmp(failure.path, "/nonexistent") == 0, "can't %s %s",
          failure.step, failure.path);
    tidings_launcher_close(launcher);
    (void)unlink(file);
    CHECK(rmdir(readable) == 0 && rmdir(writable) == 0, "%s", strerror(errno));
}

void a_sandbox_needs_the_executable_among_its_paths(void) {
    needs_landlock(1);
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("exit:0");
    launch.sandbox = true;
    tidings_launch_failure failure;
    EXPECT(-EACCES, start_fails(launcher, launch, &failure));
    CHECK(strcmp(failure.step, "run") == 0, "can't %s", failure.step);
    tidings_launcher_close(launcher);
}

void a_sandbox_refuses_signals_to_other_processes(void) {
    needs_landlock(6);
    tidings_launcher *launcher = opened();
    char host[32], itself[32];
    (void)snprintf(host, sizeof host, "signal:%d", getpid());
    (void)snprintf(itself, sizeof itself, "signal:0");
    tidings_launch launch = LAUNCH(host, itself);
    running one = start(launcher, launch);
    says(&one, "Success");
    says(&one, "Success");
    exited(&one, 0);
    sandbox(&launch, &(const tidings_launch_path){NULL, false});
    one = start(launcher, launch);
    says(&one, "Operation not permitted");
    says(&one, "Success");
    exited(&one, 0);
    // The sandbox does not protect the extension from its launcher.
    launch = LAUNCH("say:here", "ignore", "hang");
    sandbox(&launch, &(const tidings_launch_path){NULL, false});
    one = start(launcher, launch);
    says(&one, "here");
    EXPECT(0, tidings_launcher_kill(launcher, one.id));
    killed(&one, SIGKILL);
    tidings_launcher_close(launcher);
}

void without_network_there_are_unix_sockets_alone(void) {
    tidings_launcher *launcher = opened();
    char inet[16], inet6[16], netlink[16], unix_[16], pair[16];
    (void)snprintf(inet, sizeof inet, "socket:%d", AF_INET);
    (void)snprintf(inet6, sizeof inet6, "socket:%d", AF_INET6);
    (void)snprintf(netlink, sizeof netlink, "socket:%d", AF_NETLINK);
    (void)snprintf(unix_, sizeof unix_, "socket:%d", AF_UNIX);
    (void)snprintf(pair, sizeof pair, "pair:%d", AF_UNIX);
    tidings_launch launch = LAUNCH(inet, inet6, netlink, unix_, pair, "ring", "execute:/nonexistent");
    running one = start(launcher, launch);
    says(&one, "Success");
    (void)heard(one.socket);  // a machine may have no IPv6
    (void)heard(one.socket);  // or no netlink
    says(&one, "Success");
    says(&one, "Success");
    const bool has_ring = strcmp(heard(one.socket), "Bad address") == 0;
    says(&one, "No such file or directory");
    exited(&one, 0);
    launch.no_network = true;
    one = start(launcher, launch);
    says(&one, "Permission denied");
    says(&one, "Permission denied");
    says(&one, "Permission denied");
    says(&one, "Success");
    says(&one, "Success");
    const char *ring = heard(one.socket);
    CHECK(!has_ring || strcmp(ring, "Permission denied") == 0, "io_uring: %s", ring);
    says(&one, "No such file or directory");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}

void without_network_abstract_sockets_of_others_are_refused(void) {
    needs_landlock(6);
    char name[64], action[80];
    (void)snprintf(name, sizeof name, "tidings-extensions-%d", getpid());
    (void)snprintf(action, sizeof action, "abstract:%s", name);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(listener, (const struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == 0 &&
              listen(listener, 8) == 0,
          "%s", strerror(errno));
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH(action);
    running one = start(launcher, launch);
    says(&one, "Success");
    exited(&one, 0);
    launch.no_network = true;
    one = start(launcher, launch);
    says(&one, "Operation not permitted");
    exited(&one, 0);
    tidings_launcher_close(launcher);
}

// Lets a system call fail in this process and its children.
static void refuse(uint32_t call, uint32_t error) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "%s",
          strerror(errno));
}

void a_sandbox_that_the_kernel_cannot_enforce_is_an_error(void) {
    refuse(444, ENOSYS);  // landlock_create_ruleset
    tidings_launcher *launcher = opened();
    tidings_launch launch = LAUNCH("exit:0");
    sandbox(&launch, &(const tidings_launch_path){NULL, false});
    tidings_launch_failure failure;
    EXPECT(-ENOSYS, start_fails(launcher, launch, &failure));
    CHECK(strcmp(failure.step, "sandbox") == 0 && failure.path == peer, "can't %s %s", failure.step, failure.path);
    // The filter of the network does not need it.
    launch = LAUNCH("exit:3");
    launch.no_network = true;
    const running one = start(launcher, launch);
    exited(&one, 3);
    tidings_launcher_close(launcher);
}
