// One thread per process that inotify informs of changed files. It sleeps without a timer, so an idle process costs
// nothing.
#ifndef TIDINGS__WATCH_H
#define TIDINGS__WATCH_H

#include <stdbool.h>
#include <stdint.h>

// Watches a file: calls `changed`, on that thread, each time the file's link count, name or permissions change. `watch`
// is the number of the watch; INT32_MIN: events were lost, so any file may have changed. The first call starts the
// thread, and does not wait for it. Returns the number of the watch (the same for all descriptors of one file) or a
// negative errno. An error means that the kernel refuses inotify or a thread. -ENOSYS: it refuses the thread a
// descriptor table of its own. -EBADF: the program has closed the inotify descriptor. `fd` is an open descriptor of the
// file; `path` is used where there is no /proc. One caller at a time; all callers pass the same `changed`.
int32_t tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch));

// Watches a directory: calls `changed` each time a file is created in it or renamed into it, and when the directory
// itself is deleted or moved.
int32_t tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch));

// True if the thread runs. If it has just been started, waits until the kernel has run it: hold no lock. False: the
// watches that were added report nothing.
bool tidings__watch_runs(void);

// Removes a watch. Call it only if no other center of this process has the same number. One caller at a time.
void tidings__watch_remove(int32_t watch);

#endif
