// The directory that centers live in.
#ifndef TIDINGS__DIRECTORY_H
#define TIDINGS__DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

// The path made absolute, without trailing slashes, so that a later chdir changes nothing. 0, -ENAMETOOLONG, or why there is no current directory.
int tidings__directory_absolute(const char *directory, char *path, size_t size);

// Calls `each` with every file name in it (not "." and ".."), until that returns false. 0 or a negative errno.
int tidings__list(const char *directory, bool (*each)(void *context, const char *file), void *context);

#endif
