// One thread per process that inotify informs of changed files. It sleeps without a timer, so an idle process costs
// nothing.
#ifndef TIDINGS__WATCH_H
#define TIDINGS__WATCH_H

#include <stdint.h>

// Watches a file: calls `changed`, on that thread, each time the file's link count, name or permissions change. `watch`
// is the number of the watch; INT32_MIN: events were lost, so any file may have changed. The first call starts the
// thread and waits until it runs. Returns the number of the watch (the same for all descriptors of one file) or a
// negative errno. An error means that the kernel refuses inotify, a thread, or a descriptor table of its own. -EBADF:
// the program has closed the inotify descriptor. `fd` is an open descriptor of the file; `path` is used where there is
// no /proc. One caller at a time; all callers pass the same `changed`.
int32_t tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch));

// Watches a directory: calls `changed` each time a file is created in it or renamed into it, and when the directory
// itself is deleted or moved.
int32_t tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch));

// Removes a watch. Call it only if no other center of this process has the same number. One caller at a time.
void tidings__watch_remove(int32_t watch);

#endif
