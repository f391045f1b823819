// What a sandboxed extension may use: files by Landlock, sockets by a system call filter. Async-signal-safe.
//
// The system calls and constants of Landlock are written out here: the headers of Debian 12 end before ABI 4.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol.h"

// MARK: Landlock

#define SYS_LANDLOCK_CREATE_RULESET 444
#define SYS_LANDLOCK_ADD_RULE 445
#define SYS_LANDLOCK_RESTRICT_SELF 446
#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1

typedef struct ruleset_attributes {
    uint64_t files, net, scoped;  // the kernel takes 0 for what its ABI does not know
} ruleset_attributes;

typedef struct path_attributes {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed)) path_attributes;

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIRECTORY = 1 << 3,
    MAKE_CHARACTER_DEVICE = 1 << 6,
    MAKE_BLOCK_DEVICE = 1 << 11,
    FILES_1 = (1 << 13) - 1,  // all of ABI 1
    REFER = 1 << 13,          // ABI 2: move a file to another directory
    TRUNCATE = 1 << 14,       // ABI 3
    IOCTL_DEVICE = 1 << 15,   // ABI 5

    READABLE = EXECUTE | READ_FILE | READ_DIRECTORY,
    NEVER = MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE,
    // The rights that a rule for a file can have. The kernel refuses others.
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE,

    NET = 3,                  // ABI 4: bind and connect of TCP
    SCOPE_ABSTRACT_UNIX = 1,  // ABI 6
    SCOPE_SIGNAL = 2,         // ABI 6
};

static int failed(tidings__failure *failure, uint32_t step) {
    failure->step = step;
    return errno;
}

int tidings__sandbox_open(const tidings__launch_memory *launch, int *ruleset, tidings__failure *failure) {
    *ruleset = -1;
    if (!launch->sandbox && !launch->no_network) return 0;
    const long abi = syscall(SYS_LANDLOCK_CREATE_RULESET, NULL, (size_t)0, CREATE_RULESET_VERSION);
    // The filter refuses the network. Landlock only adds to it, so `no_network` does not require ABI 4.
    if (abi < (launch->sandbox ? 1 : 4)) return launch->sandbox ? failed(failure, TIDINGS__STEP_SANDBOX) : 0;
    ruleset_attributes attributes = {0};
    if (launch->sandbox) {
        attributes.files = FILES_1 | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0) | (abi >= 5 ? IOCTL_DEVICE : 0);
        if (abi >= 6) attributes.scoped |= SCOPE_SIGNAL;
    }
    if (launch->no_network) {
        attributes.net = NET * (abi >= 4);
        if (abi >= 6) attributes.scoped |= SCOPE_ABSTRACT_UNIX;
    }
    *ruleset = (int)syscall(SYS_LANDLOCK_CREATE_RULESET, &attributes, sizeof attributes, 0u);
    if (*ruleset < 0) return failed(failure, TIDINGS__STEP_SANDBOX);
    if (!launch->sandbox) return 0;

    const char *base = (const char *)launch;
    const tidings__launch_memory_path *paths = (const void *)(base + launch->paths);
    for (uint32_t i = 0; i < launch->path_count; i++) {
        failure->index = i;
        const int fd = open(base + paths[i].path, O_PATH | O_CLOEXEC);
        struct stat status;
        if (fd < 0 || fstat(fd, &status) < 0) return failed(failure, TIDINGS__STEP_ALLOW);
        uint64_t rights = attributes.files & (paths[i].writable ? ~(uint64_t)NEVER : READABLE);
        if (!S_ISDIR(status.st_mode)) rights &= OF_A_FILE;
        const path_attributes rule = {.allowed = rights, .parent = fd};
        if (syscall(SYS_LANDLOCK_ADD_RULE, *ruleset, RULE_PATH_BENEATH, &rule, 0u) < 0)
            return failed(failure, TIDINGS__STEP_ALLOW);
        (void)close(fd);
    }
    return 0;
}

// MARK: The filter

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))

static int refuse_network(void) {
#ifdef ARCHITECTURE
    struct sock_filter program[] = {
        // The system calls of another architecture have other numbers.
        LOAD(arch),
        IF_EQUAL(ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#if defined(__x86_64__)
        // Numbers of x32 have this bit.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
        IF_EQUAL(SYS_socket, 3, 0),
        IF_EQUAL(SYS_socketpair, 2, 0),
        IF_EQUAL(425, 3, 0),  // io_uring_setup: its operations pass no filter
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(args[0]),  // the low half of it, on these architectures; the kernel reads no more of a domain
        IF_EQUAL(AF_UNIX, 1, 0),
        RETURN(SECCOMP_RET_ERRNO | EACCES),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ? 0 : errno;
#else
    return EOPNOTSUPP;
#endif
}

int tidings__sandbox_enter(const tidings__launch_memory *launch, int ruleset, tidings__failure *failure) {
    // Always: a program that gains privileges could not be killed.
    failure->step = TIDINGS__STEP_PRIVILEGES;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
    failure->step = TIDINGS__STEP_SANDBOX;
    if (ruleset >= 0 && syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0u) < 0) return errno;
    failure->step = TIDINGS__STEP_NETWORK;
    return launch->no_network ? refuse_network() : 0;
}
