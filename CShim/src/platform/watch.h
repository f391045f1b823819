// One thread per process that the kernel tells about changed files, through inotify. It sleeps without a timer: an idle
// process costs nothing.
#ifndef TIDINGS__WATCH_H
#define TIDINGS__WATCH_H

#include <stdint.h>

// Calls `changed`, on that thread, each time the file's link count, name or permission changes. `watch` is its number;
// INT32_MIN: any file may have changed, because events were lost. The first call starts the thread and waits until it
// runs. Returns a number (two descriptors of one file have the same one), or a negative errno: the kernel refuses
// inotify, a thread or a descriptor table of its own. `fd` is an open descriptor of the file, `path` its path where
// there is no /proc. One caller at a time; all callers pass the same `changed`.
int32_t tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch));

// Likewise, each time a file comes into the directory, by its creation or by a rename, and when the directory itself
// goes.
int32_t tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch));

// Not while another center of this process has the same number. One caller at a time.
void tidings__watch_remove(int32_t watch);

#endif
