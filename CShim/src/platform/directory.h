// The directory that centers live in.
#ifndef TIDINGS__DIRECTORY_H
#define TIDINGS__DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

// The path made absolute, without trailing slashes, so that a later chdir changes nothing. 0, -ENAMETOOLONG, or why
// there is no current directory.
int tidings__directory_absolute(const char *directory, char *path, size_t size);

// Whose the directory is and what they may do, also at the end of a symbolic link. -ENOTDIR if it is no directory.
int tidings__directory_status(const char *directory, struct stat *status);

// Calls `each` with every file name in it (not "." and ".."), until that returns false. 0 or a negative errno.
int tidings__list(const char *directory, bool (*each)(void *context, const char *file), void *context);

#endif
