// Opens, creates, names and queries files. Declared and described in file.h; memory.c has the length and the memory of
// a file.
#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define DESCRIPTOR_PATH_SIZE 32

// Written without printf, which is not async-signal-safe.
static void descriptor_path(char path[DESCRIPTOR_PATH_SIZE], int fd) {
    char digits[12];
    size_t count = 0;
    for (unsigned rest = (unsigned)fd; count == 0 || rest > 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
    static const char prefix[] = "/proc/self/fd/";
    memcpy(path, prefix, sizeof prefix - 1);
    size_t at = sizeof prefix - 1;
    while (count > 0) path[at++] = digits[--count];
    path[at] = 0;
}

int tidings__above_standard(int fd) {
    if (fd > STDERR_FILENO) return fd;
    // The process runs with standard descriptors closed.
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = above < 0 ? errno : 0;
    (void)close(fd);
    return error ? -error : above;
}

static int open_file(const char *path, int flags) {
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : tidings__above_standard(fd);
}

int tidings__file_open(const char *path, bool writable) {
    // O_NONBLOCK is for files that are no center: opening a FIFO or a device could block.
    return open_file(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

int tidings__file_create_unnamed(const char *directory) {
    const int fd = open_file(directory, O_TMPFILE | O_RDWR);
    // EISDIR: the kernel doesn't know O_TMPFILE. EINVAL: some network file systems.
    return fd == -EISDIR || fd == -EINVAL ? -EOPNOTSUPP : fd;
}

int tidings__file_create_named(const char *path) { return open_file(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW); }

int tidings__file_create_memory(const char *name) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // With vm.memfd_noexec=2, the kernel demands a flag that forbids execution. Older kernels don't know this flag.
    if (fd < 0 && errno == EACCES) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd < 0 ? -errno : tidings__above_standard(fd);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int tidings__file_seal(int fd) { return fcntl(fd, F_ADD_SEALS, SEALS) == 0 ? 0 : -errno; }

bool tidings__file_sealed(int fd) {
    struct statfs system;
    const int seals = fcntl(fd, F_GET_SEALS);
    // Huge pages have seals too. But they run out, and touching one then raises SIGBUS.
    return seals >= 0 && fstatfs(fd, &system) == 0 && (uint64_t)system.f_type == TMPFS_MAGIC &&
           (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW);
}

int tidings__file_access(int fd, uint32_t mode, const uint32_t *group) {
    if (group && fchown(fd, (uid_t)-1, (gid_t)*group) != 0) return errno == EPERM || errno == EINVAL ? -EDOM : -errno;
    return fchmod(fd, (mode_t)mode) == 0 ? 0 : -errno;
}

int tidings__file_publish(int fd, const char *path) {
    char self[DESCRIPTOR_PATH_SIZE];
    descriptor_path(self, fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno == EEXIST || errno == ENOSPC || errno == EDQUOT) return -errno;
    // Without /proc. This call needs a capability; on newer kernels, the credentials that opened the file suffice.
    if (linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) == 0) return 0;
    return errno == EEXIST || errno == ENOSPC || errno == EDQUOT ? -errno : -EOPNOTSUPP;
}

int tidings__file_rename(const char *old_path, const char *path) {
    if (syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -errno;
    // In between, the file has two names. An opener that finds a link count of two checks again.
    if (link(old_path, path) != 0) return -errno;
    return unlink(old_path) == 0 ? 0 : -errno;
}

int tidings__file_unlink(const char *path) { return unlink(path) == 0 ? 0 : -errno; }

void tidings__file_close(int fd) {
    const int saved = errno;
    if (fd >= 0) (void)close(fd);
    errno = saved;
}

int tidings__file_reopen(int fd, bool writable, const char *path) {
    struct stat ours;
    if (fstat(fd, &ours) != 0) return -errno;
    // First by its path, which is faster, if the path still leads to this inode.
    int again = path[0] == '/' ? tidings__file_open(path, writable) : -ENOENT;
    if (again >= 0 && tidings__file_is(again, ours.st_dev, ours.st_ino)) return again;
    tidings__file_close(again);
    // No O_NOFOLLOW here: the entry in /proc is a link that leads to the inode, whatever has become of the file's name.
    char self[DESCRIPTOR_PATH_SIZE];
    descriptor_path(self, fd);
    again = open_file(self, (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY);
    if (again < 0 || tidings__file_is(again, ours.st_dev, ours.st_ino)) return again;
    tidings__file_close(again);
    return -ESTALE;
}

// MARK: Queries

int tidings__file_status(int fd, struct stat *status) { return fstat(fd, status) == 0 ? 0 : -errno; }

int tidings__path_status(const char *path, struct stat *status) { return lstat(path, status) == 0 ? 0 : -errno; }

bool tidings__file_is(int fd, dev_t device, ino_t inode) {
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

bool tidings__file_same(int fd, const char *path) {
    struct stat ours, named;
    if (fstat(fd, &ours) != 0 || lstat(path, &named) != 0) return false;
    return ours.st_nlink > 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

bool tidings__path_readable(const char *path) { return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0; }

int tidings__directory_writable(const char *directory) {
    return faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

bool tidings__file_kept(int fd, const char *directory) {
    struct stat file, around;
    const uid_t user = geteuid();
    return fstat(fd, &file) == 0 && stat(directory, &around) == 0 && around.st_mode & S_ISVTX && user != file.st_uid &&
           user != around.st_uid;
}

int tidings__file_read(int fd, void *bytes, size_t length, uint64_t offset) {
    size_t done = 0;
    while (done < length) {
        const ssize_t got = pread(fd, (uint8_t *)bytes + done, length - done, (off_t)(offset + done));
        if (got == 0) return -ENODATA;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int tidings__file_write(int fd, const void *bytes, size_t length, uint64_t offset) {
    size_t done = 0;
    while (done < length) {
        const ssize_t put = pwrite(fd, (const uint8_t *)bytes + done, length - done, (off_t)(offset + done));
        if (put > 0)
            done += (size_t)put;
        else if (put == 0)
            return -ENOSPC;
        else if (errno != EINTR)
            return errno == EDQUOT ? -ENOSPC : -errno;
    }
    return 0;
}

bool tidings__file_space(int fd, const char *path, uint64_t *available) {
    struct statvfs system;
    if ((fd >= 0 ? fstatvfs(fd, &system) : statvfs(path, &system)) != 0) return false;
    *available = (uint64_t)system.f_bavail * (uint64_t)system.f_frsize;
    return true;
}

uint64_t tidings__file_memory(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
}
