// Identity of this process, its fork hooks, and random numbers. Declared and described in process.h.
#include "platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/atomics.h"
#include "platform/clock.h"

#define HOOKS 8

_Atomic uint32_t tidings__fork_epoch = 1;

static void (*_Atomic hooks[HOOKS])(void);
static _Atomic uint32_t own_pid;  // 0: not asked yet
static _Atomic uint64_t own_namespace;
static _Atomic uint32_t namespace_known;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

static void in_child(void) {
    const int saved = errno;
    tidings__set_relaxed(&own_pid, (uint32_t)getpid());
    tidings__set_relaxed(&namespace_known, 0);  // unshare(CLONE_NEWPID) takes effect at the next fork
    tidings__fetch_add_relaxed(&tidings__fork_epoch, 1);
    for (uint32_t i = 0; i < HOOKS; i++) {
        void (*hook)(void) = tidings__acquire(&hooks[i]);
        if (!hook) break;
        hook();
    }
    errno = saved;
}

// pthread_atfork fails only without memory. A forked child would then take itself for its parent. No better fallback
// exists: the process must do without forks.
static void watch(void) { (void)pthread_atfork(NULL, NULL, in_child); }

void tidings__fork_watch(void) { (void)pthread_once(&watching, watch); }

// Without a lock: if another thread held it at the moment of a fork, it would never be released in the child.
void tidings__at_fork_child(void (*hook)(void)) {
    tidings__fork_watch();
    for (uint32_t i = 0; i < HOOKS; i++) {
        void (*there)(void) = NULL;
        if (tidings__cas(&hooks[i], &there, hook) || there == hook) return;
    }
    __builtin_trap();  // a ninth hook is a defect of this library, found by its first run
}

uint32_t tidings__process_id(void) {
    uint32_t pid = tidings__relaxed(&own_pid);
    if (__builtin_expect(pid == 0, 0)) {
        tidings__fork_watch();
        pid = (uint32_t)getpid();
        tidings__set_relaxed(&own_pid, pid);
    }
    return pid;
}

uint32_t tidings__process_id_now(void) { return (uint32_t)getpid(); }

uint32_t tidings__user_id(void) { return (uint32_t)geteuid(); }

bool tidings__user_known(uint32_t user) {
    const int saved = errno;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool known = !map;
    uint32_t first, outside, count;
    // The kernel limits the file to 340 lines.
    while (!known && fscanf(map, "%" SCNu32 " %" SCNu32 " %" SCNu32, &first, &outside, &count) == 3)
        known = user >= first && user - first < count;
    if (map) (void)fclose(map);
    errno = saved;
    return known;
}

uint64_t tidings__pid_namespace(void) {
    if (tidings__acquire(&namespace_known)) {
        return tidings__relaxed(&own_namespace);
    }
    tidings__fork_watch();
    const int saved = errno;
    struct stat status;
    const uint64_t number = stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
    errno = saved;
    tidings__set_relaxed(&own_namespace, number);
    tidings__set_release(&namespace_known, 1);
    return number;
}

// The name under which the program was executed, as the kernel passed it at our start. Not read from /proc, which takes
// as long as the rest of opening a center.
static const char *executed_as(void) {
    const char *path = (const char *)getauxval(AT_EXECFN);
    if (!path) return "";
    const char *slash = strrchr(path, '/');
    // After fexecve, the path names a descriptor.
    if (strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0) return "";
    return slash ? slash + 1 : path;
}

size_t tidings__executable_name(char *text, size_t size) {
    if (size == 0) return 0;
    const char *base = executed_as();
    if (!*base) base = program_invocation_short_name;
    size_t length = strlen(base);
    if (length > size - 1) {
        length = size - 1;
        // Not in the middle of a character.
        while (length > 0 && ((unsigned char)base[length] & 0xc0) == 0x80) length--;
    }
    for (size_t i = 0; i < length; i++) text[i] = (unsigned char)base[i] < 0x20 || base[i] == 0x7f ? '?' : base[i];
    text[length] = 0;
    return length;
}

uint64_t tidings__random(void) {
    static _Atomic uint64_t calls;
    const int saved = errno;
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number || number == 0) {
        // Early boot, or the call is filtered. The number must differ from others, but need not be unguessable. Time,
        // process and call count make it differ; the remaining steps (splitmix64) spread the bits over the word.
        number = tidings__realtime_ns() ^ tidings__monotonic_ns() << 20 ^ (uint64_t)getpid() << 40;
        number += (tidings__fetch_add_relaxed(&calls, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
        number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
        number ^= number >> 31;
    }
    errno = saved;
    return number ? number : 1;
}
