// The length of a file, the memory behind it, and its mapping. Declared in file.h.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/atomics.h"
#include "platform/file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

int tidings__file_resize(int fd, uint64_t length) {
    // Beyond the limit, the call would send SIGXFSZ before it fails, and this signal kills by default.
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < length)
        return -EFBIG;
    while (ftruncate(fd, (off_t)length) != 0) {
        if (errno != EINTR) return -errno;
    }
    return 0;
}

int tidings__file_reserve(int fd, uint64_t offset, uint64_t length) {
    // Not posix_fallocate: if the file system can't reserve, glibc reads and rewrites a byte in each block. A peer may
    // be writing there.
    while (fallocate(fd, 0, (off_t)offset, (off_t)length) != 0) {
        if (errno == EINTR) continue;
        if (errno == EDQUOT) return -ENOSPC;
        return errno == ENOSYS ? -EOPNOTSUPP : -errno;
    }
    return 0;
}

int tidings__file_zero(int fd, uint64_t offset, uint64_t length) {
    static const uint8_t zeros[16384];
    for (uint64_t done = 0; done < length;) {
        const uint64_t left = length - done;
        const size_t part = left < sizeof zeros ? (size_t)left : sizeof zeros;
        const int result = tidings__file_write(fd, zeros, part, offset + done);
        if (result != 0) return result;
        done += part;
    }
    return 0;
}

uint64_t tidings__file_hole(int fd, uint64_t offset) {
    // Moves the descriptor's file offset, which no code here uses.
    const off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);
    if (hole >= 0) return (uint64_t)hole;
    // ENXIO: at or beyond the end. EBADF: the program closed the descriptor, so nothing is known to have memory.
    return errno == ENXIO || errno == EBADF ? offset : UINT64_MAX;
}

bool tidings__file_backed(int fd, uint64_t offset, uint64_t length) {
    return tidings__file_hole(fd, offset) >= offset + length;
}

int tidings__map(int fd, uint64_t length, bool writable, uint8_t **base) {
    void *bytes = mmap(NULL, (size_t)length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) return -errno;
    // A core dump need not contain 400 MiB of peers' notifications.
    (void)madvise(bytes, (size_t)length, MADV_DONTDUMP);
    *base = bytes;
    return 0;
}

void tidings__unmap(uint8_t *base, uint64_t length) {
    const int saved = errno;
    if (base) (void)munmap(base, (size_t)length);
    errno = saved;
}

int tidings__map_populate(uint8_t *bytes, uint64_t length, bool writing) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)bytes & ~(page - 1);
    const uintptr_t end = ((uintptr_t)bytes + (uintptr_t)length + page - 1) & ~(page - 1);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): back to the mapping it came from
    while (madvise((void *)start, end - start, writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
        if (errno == EINTR || errno == EAGAIN) continue;
        // EFAULT stands for the SIGBUS that touching would have raised.
        return errno == EFAULT ? -ENOSPC : errno == EINVAL ? -EOPNOTSUPP : -errno;
    }
    return 0;
}

int tidings__map_touch(uint8_t *bytes, uint64_t length, bool reserved) {
    const int result = tidings__map_populate(bytes, length, true);
    if (result != -EOPNOTSUPP || !reserved) return result;
    tidings__map_touch_each(bytes, length);
    return 0;
}

void tidings__map_touch_each(uint8_t *bytes, uint64_t length) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint8_t *first = bytes - (uintptr_t)bytes % page;
    for (uint8_t *at = first; at < bytes + length; at += page) tidings__touch(at);
}
