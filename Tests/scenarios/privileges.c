#include "privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "conditions.h"
#include "peer.h"

bool write_line(const char *path, const char *line) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool written = write(fd, line, strlen(line)) == (ssize_t)strlen(line);
    close(fd);
    return written;
}

bool try_own_mounts(void) {
    const unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWNS) != 0) {
        // Not as root: in a user namespace that knows only our own user, by the same number, every user may.
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        char line[64];
        snprintf(line, sizeof line, "%u %u 1", user, user);
        if (!write_line("/proc/self/uid_map", line) || !write_line("/proc/self/setgroups", "deny")) return false;
        snprintf(line, sizeof line, "%u %u 1", group, group);
        if (!write_line("/proc/self/gid_map", line)) return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

void own_mounts(void) { CHECK(try_own_mounts(), "%s", strerror(errno)); }

void small_file_system(const char *options) {
    own_mounts();
    CHECK(mount("none", getenv("TIDINGS_DIRECTORY"), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0, "%s",
          strerror(errno));
}

void become(uid_t user) {
    CHECK(setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0, "%s",
          strerror(errno));
}

static bool may_mount(void) { return try_own_mounts() && mount("none", "/dev/shm", "tmpfs", 0, "size=64k") == 0; }

static bool may_become(void) {
    return setgroups(0, NULL) == 0 && setresuid(ANOTHER_USER, ANOTHER_USER, ANOTHER_USER) == 0;
}

// A sanitizer's centers are smaller.
static bool has_room(void) {
    struct statvfs system;
    return SANITIZED ||
           (statvfs("/dev/shm", &system) == 0 && (uint64_t)system.f_bavail * system.f_frsize >= UINT64_C(4) << 30);
}

bool may(const char *what) {
    if (strcmp(what, "mounts") == 0) return may_mount();
    if (strcmp(what, "users") == 0) return may_become();
    if (strcmp(what, "room") == 0) return has_room();
    // A sanitizer's own memory is over any limit, its helper threads and calls are caught in any filter.
    if (SANITIZED) return false;
    if (strcmp(what, "limits") == 0) return true;
    if (strcmp(what, "filters") == 0) return prctl(PR_GET_SECCOMP) == 0;
    if (strcmp(what, "namespaces") == 0) return try_namespaces();
    fprintf(stderr, "ScenarioPeer: there is no \"%s\" to try\n", what);
    return false;
}
