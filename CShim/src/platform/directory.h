// The directory of the centers: its absolute path, its status and its files.
#ifndef TIDINGS__DIRECTORY_H
#define TIDINGS__DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

// Stores the absolute path without trailing slashes, so that a later chdir has no effect. 0, -ENAMETOOLONG, or the
// error of getcwd.
int tidings__directory_absolute(const char *directory, char *path, size_t size);

// The directory's owner and permissions. Follows a symbolic link. -ENOTDIR if it is no directory.
int tidings__directory_status(const char *directory, struct stat *status);

// Calls `each` with every file name in the directory (not "." and ".."), until `each` returns false. 0 or a negative
// errno.
int tidings__list(const char *directory, bool (*each)(void *context, const char *file), void *context);

#endif
