// Files: every call on the file behind a center. Results are 0 (or a descriptor) or a negative errno; nothing here
// writes an error line, as only the caller knows what was being tried. Descriptors are close-on-exec and never 0, 1 or
// 2: a stray write to "standard output" must not end in a center.
#ifndef TIDINGS__FILE_H
#define TIDINGS__FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

// MARK: Opening and naming

int tidings__above_standard(int fd);  // the same where it isn't 0, 1 or 2; an error closes it

int tidings__file_open(const char *path,
                       bool writable);  // an existing one; -ELOOP for a symbolic link; does not hang on a FIFO
int tidings__file_create_unnamed(const char *directory);  // O_TMPFILE; -EOPNOTSUPP where the file system can't
int tidings__file_create_named(const char *path);         // new, for ourselves alone until its mode is set
int tidings__file_create_memory(const char *name);        // without a file system; -ENOSYS on kernels before 3.17
int tidings__file_seal(int fd);                           // memory's length stays as it is, for everybody and for ever
bool tidings__file_sealed(int fd);                        // is it so?
// Whose it is and what they may do, exactly, whatever the umask. `group`: NULL, or whom it is given to: -EDOM if this
// process may not.
int tidings__file_access(int fd, uint32_t mode, const uint32_t *group);

// Gives a file its name, in one step that fails with -EEXIST if the name is taken. The first for unnamed files
// (-EOPNOTSUPP: there is no way here, use the other), the second for named ones, whose old name goes.
int tidings__file_publish(int fd, const char *path);
int tidings__file_rename(const char *old_path, const char *path);

int tidings__file_unlink(const char *path);
void tidings__file_close(int fd);  // -1 is ignored; leaves errno alone

// A new open file description of the same inode, with locks of its own. Through /proc; without it through `path`, if
// that still is the same inode. Async-signal-safe: fork handlers use it.
int tidings__file_reopen(int fd, bool writable, const char *path);

// MARK: Asking

int tidings__file_status(int fd, struct stat *status);
int tidings__path_status(const char *path, struct stat *status);  // of the link itself, if it is one
bool tidings__file_is(int fd, dev_t device, ino_t inode);         // does the descriptor lead there?
bool tidings__file_same(int fd, const char *path);                // path is (not: leads to) this very inode
bool tidings__path_readable(const char *path);                    // with the effective ids
int tidings__directory_writable(const char *directory);           // 0, or why not; with the effective ids
bool tidings__file_kept(
    int fd, const char *directory);  // must whoever deletes it there be its owner (or root), who this process isn't?
int tidings__file_read(int fd, void *bytes, size_t length, uint64_t offset);         // all of it, or -ENODATA
int tidings__file_write(int fd, const void *bytes, size_t length, uint64_t offset);  // all of it
bool tidings__file_space(int fd, const char *path,
                         uint64_t *available);  // of its file system, for us; fd, or path if fd < 0
uint64_t tidings__file_memory(int fd);          // bytes taken

// MARK: Length and memory

int tidings__file_resize(int fd,
                         uint64_t length);  // -EFBIG at the limit for file sizes, without the signal that limit sends
// Memory (or disk) for the range, so that touching it can't raise SIGBUS. -ENOSPC (quota included), -EOPNOTSUPP. Never
// changes contents, unlike posix_fallocate's emulation.
int tidings__file_reserve(int fd, uint64_t offset, uint64_t length);
int tidings__file_zero(int fd, uint64_t offset, uint64_t length);  // by writing

// The first byte from `offset` on that has no memory *or was reserved and never touched since*; the file's length if
// there is none. UINT64_MAX if the file system can't tell.
uint64_t tidings__file_hole(int fd, uint64_t offset);
bool tidings__file_backed(int fd, uint64_t offset, uint64_t length);  // true where it can't tell

// MARK: Mapping

int tidings__map(int fd, uint64_t length, bool writable, uint8_t **base);  // shared, left out of core dumps
void tidings__unmap(uint8_t *base, uint64_t length);
// Touches every page of the range for writing without changing it: afterwards `tidings__file_hole` counts them as
// backed. Pages that are not `reserved` may fail: -ENOSPC instead of SIGBUS, and before Linux 5.14 -EOPNOTSUPP.
int tidings__map_touch(uint8_t *bytes, uint64_t length, bool reserved);
// The same by hand, for pages that are reserved: where the system said that it had done so and had not (qemu's user
// mode does with what it doesn't know).
void tidings__map_touch_each(uint8_t *bytes, uint64_t length);

#endif
