// What may be a name, and where a center of that name lives.
#ifndef TIDINGS__NAMES_H
#define TIDINGS__NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Strict UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF) without NUL, of `min` to `max` bytes: 0, or
// -EINVAL with a line in which `what` says what was to be named, e.g. "notification name".
int tidings__check_text(const char *what, const char *bytes, size_t length, size_t min, size_t max);

// The length of the longest prefix that is strict UTF-8 without NUL.
size_t tidings__valid_prefix(const char *bytes, size_t length);

// A center's name becomes part of a file's: also no '/', no leading '.', no control characters, 1 to 200 bytes.
int tidings__check_center_name(const char *name);

// $TIDINGS_DIRECTORY (not for a program that runs with more rights than its caller), otherwise /dev/shm.
const char *tidings__default_directory(void);
// The directory, absolute: `configured` if not NULL ("": /dev/shm), otherwise the default one.
int tidings__center_directory(const char *configured, char *path, size_t size);

// <directory>/tidings.<owner's uid>.<name>. The uid keeps users of a shared directory apart, so that nobody takes a
// name away from another by accident.
int tidings__center_path(const char *name, const char *directory, uint32_t owner, char *path, size_t size);

int tidings__file_prefix(uint32_t owner, char *text, size_t size);  // "tidings.<uid>."
int tidings__path_join(const char *directory, const char *file, char *path, size_t size);

// What is beside a center, or is to become one: <directory of the center>/tidings.<owner's uid>..<number><suffix>. No
// center has such a name. -ENAMETOOLONG.
int tidings__beside_path(const char *center_path, uint32_t owner, uint64_t number, const char *suffix, char *path,
                         size_t size);

// Calls `each` with the name of every center of this user in the directory (by its file name alone), until that returns
// false.
int tidings__center_list(const char *directory, bool (*each)(void *context, const char *name), void *context);

#endif
