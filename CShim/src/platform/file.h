// Files: every system call on the file behind a center. Results are 0 (or a descriptor) or a negative errno. No
// function here writes an error line, because only the caller knows what was tried. Descriptors are close-on-exec and
// never 0, 1 or 2: a stray write to "standard output" must not end in a center.
#ifndef TIDINGS__FILE_H
#define TIDINGS__FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

// MARK: Opening and naming

// Returns a descriptor above 2 for the same file: `fd` itself, or a duplicate that replaces it. On an error, `fd` is
// closed.
int tidings__above_standard(int fd);

// Opens an existing file. -ELOOP for a symbolic link. Does not block on a FIFO.
int tidings__file_open(const char *path, bool writable);
int tidings__file_create_unnamed(const char *directory);  // O_TMPFILE; -EOPNOTSUPP if the file system can't
int tidings__file_create_named(const char *path);         // new; private to this user until its mode is set
int tidings__file_create_memory(const char *name);        // without a file system; -ENOSYS on kernels before 3.17
int tidings__file_seal(int fd);     // fixes the length of a memory file for ever, for every process
bool tidings__file_sealed(int fd);  // true if the length is fixed and the file is plain memory
// Sets the mode exactly, whatever the umask. `group`: NULL, or the group that is to own the file. -EDOM if this process
// may not give it to that group.
int tidings__file_access(int fd, uint32_t mode, const uint32_t *group);

// Gives a file its name, in one step that fails with -EEXIST if the name is taken. `publish` is for unnamed files;
// -EOPNOTSUPP: not possible here, use `rename`. `rename` is for named files, and removes the old name.
int tidings__file_publish(int fd, const char *path);
int tidings__file_rename(const char *old_path, const char *path);

int tidings__file_unlink(const char *path);
void tidings__file_close(int fd);  // a negative fd is ignored; leaves errno alone

// Makes a new open file description of the same inode, with locks of its own. Opens `path` if that still leads to the
// inode, otherwise /proc. Async-signal-safe: fork handlers use it.
int tidings__file_reopen(int fd, bool writable, const char *path);

// MARK: Queries

int tidings__file_status(int fd, struct stat *status);
int tidings__path_status(const char *path, struct stat *status);  // of the link itself, if `path` is a symbolic link
bool tidings__file_is(int fd, dev_t device, ino_t inode);         // true if the descriptor leads to this inode
bool tidings__file_same(int fd, const char *path);       // true if `path` itself, not a link's target, is this inode
bool tidings__path_readable(const char *path);           // checked with the effective ids
int tidings__directory_writable(const char *directory);  // 0 or a negative errno; checked with the effective ids
// True if only the file's owner, the directory's owner or root may delete the file there, and this process is none of
// the owners.
bool tidings__file_kept(int fd, const char *directory);
int tidings__file_read(int fd, void *bytes, size_t length, uint64_t offset);         // all bytes, or -ENODATA
int tidings__file_write(int fd, const void *bytes, size_t length, uint64_t offset);  // all bytes
// Free bytes of the file system, for this process. The file is `fd`, or `path` if fd < 0.
bool tidings__file_space(int fd, const char *path, uint64_t *available);
uint64_t tidings__file_memory(int fd);  // bytes of memory or disk that the file occupies

// MARK: Length and memory

// -EFBIG at the limit for file sizes, without the signal that exceeding this limit sends.
int tidings__file_resize(int fd, uint64_t length);
// Reserves memory (or disk) for the range, so that touching it can't raise SIGBUS. -ENOSPC (quota included),
// -EOPNOTSUPP. Never changes contents, unlike posix_fallocate's emulation.
int tidings__file_reserve(int fd, uint64_t offset, uint64_t length);
int tidings__file_zero(int fd, uint64_t offset, uint64_t length);  // by writing

// The first byte at or after `offset` that has no memory *or was reserved and never touched since*. The file's length
// if there is none; UINT64_MAX if the file system can't say.
uint64_t tidings__file_hole(int fd, uint64_t offset);
bool tidings__file_backed(int fd, uint64_t offset, uint64_t length);  // true if the file system can't say

// MARK: Mapping

int tidings__map(int fd, uint64_t length, bool writable, uint8_t **base);  // shared; left out of core dumps
void tidings__unmap(uint8_t *base, uint64_t length);
// Touches every page of the range for writing without changing it. Afterwards `tidings__file_hole` counts the pages as
// backed. `reserved`: all of them are reserved. Otherwise it may fail: -ENOSPC instead of SIGBUS, and -EOPNOTSUPP
// before Linux 5.14.
int tidings__map_touch(uint8_t *bytes, uint64_t length, bool reserved);
// Touches every page of the range, for writing or only for reading, without changing it. -ENOSPC instead of SIGBUS;
// -EOPNOTSUPP before Linux 5.14.
int tidings__map_populate(uint8_t *bytes, uint64_t length, bool writing);
// The same by one write per page, for reserved pages. For systems that report success without touching the pages, as
// qemu's user mode does for calls it doesn't know.
void tidings__map_touch_each(uint8_t *bytes, uint64_t length);

#endif
