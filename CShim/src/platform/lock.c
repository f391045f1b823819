// Open file description locks by fcntl. Declared and described in lock.h.
#include "platform/lock.h"

#include <errno.h>
#include <fcntl.h>

static int lock_call(int fd, int command, short type, uint32_t index, struct flock *lock) {
    const int saved = errno;
    *lock =
        (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = TIDINGS__LOCK_FIRST + (off_t)index, .l_len = 1};
    int error = 0;
    while (fcntl(fd, command, lock) != 0) {
        error = errno;
        if (error != EINTR) break;
        error = 0;
    }
    errno = saved;
    return error == EACCES ? -EAGAIN : -error;  // POSIX allows EACCES or EAGAIN for a lock that is taken
}

int tidings__lock_try(int fd, uint32_t index, bool writable) {
    struct flock lock;
    return lock_call(fd, F_OFD_SETLK, writable ? F_WRLCK : F_RDLCK, index, &lock);
}

int tidings__lock_release(int fd, uint32_t index) {
    struct flock lock;
    return lock_call(fd, F_OFD_SETLK, F_UNLCK, index, &lock);
}

int tidings__lock_held(int fd, uint32_t index) {
    // Asks for a write lock, on a read-only descriptor as well: asking needs no access.
    struct flock lock;
    const int result = lock_call(fd, F_OFD_GETLK, F_WRLCK, index, &lock);
    if (result != 0) return result;
    return lock.l_type != F_UNLCK;
}
