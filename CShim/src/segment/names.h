// Checks names, and makes the paths of centers and of the files beside them.
#ifndef TIDINGS__NAMES_H
#define TIDINGS__NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Checks that a text is strict UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF) without NUL, of `min`
// to `max` bytes. Returns 0, or -EINVAL with an error line. `what` is what the line calls the text, e.g. "notification
// name".
int tidings__check_text(const char *what, const char *bytes, size_t length, size_t min, size_t max);

// The length in bytes of the longest prefix that is strict UTF-8 without NUL.
size_t tidings__valid_prefix(const char *bytes, size_t length);

// Checks a center's name. It becomes part of a file's name. So it has 1 to 200 bytes, and no '/', no leading '.' and no
// control characters.
int tidings__check_center_name(const char *name);

// $TIDINGS_DIRECTORY, otherwise /dev/shm. A program that runs with more rights than the user that started it
// (set-user-ID) ignores the variable.
const char *tidings__default_directory(void);
// The absolute path of the directory: `configured` if not NULL ("": /dev/shm), otherwise the default directory.
int tidings__center_directory(const char *configured, char *path, size_t size);

// The path <directory>/tidings.<owner's uid>.<name>. The uid separates the users of a shared directory, so that one
// user can't take another's name by accident.
int tidings__center_path(const char *name, const char *directory, uint32_t owner, char *path, size_t size);

int tidings__file_prefix(uint32_t owner, char *text, size_t size);  // "tidings.<uid>."
int tidings__path_join(const char *directory, const char *file, char *path, size_t size);

// The path of a writers file, or of a center that is not finished. It is in the center's directory, and its name is
// "tidings.<owner's uid>..<number><suffix>". No center has such a name. -ENAMETOOLONG.
int tidings__beside_path(const char *center_path, uint32_t owner, uint64_t number, const char *suffix, char *path,
                         size_t size);

// Calls `each` with the name of every center of this user in the directory, until `each` returns false. Checks the file
// names only, not the files.
int tidings__center_list(const char *directory, bool (*each)(void *context, const char *name), void *context);

#endif
