// The identity of a database. CShim/sqlite derives the same name from the same values.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidings_grdb.h"

int tidings_grdb_identify(const char *path, tidings_grdb_identity *identity) {
    struct statx status;
    if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) return -errno;
    if (!S_ISREG(status.stx_mode)) return -EINVAL;
    identity->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    identity->inode = status.stx_ino;
    identity->owner = status.stx_uid;
    identity->born = 0;
    if (status.stx_mask & STATX_BTIME)
        identity->born = (uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
    return 0;
}
