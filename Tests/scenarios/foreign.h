// Refusals, and foreign files that the library must leave as they were.
#ifndef FOREIGN_H
#define FOREIGN_H

#include <sys/stat.h>

#include "peer.h"

// Refused with `code`, in one line that holds `word`.
#define REFUSED(call, code, word)                                                                                      \
    do {                                                                                                               \
        const int result_ = (call);                                                                                    \
        CHECK(result_ == -(code), "it answers %d, not %d (%s)", result_, -(code), strerror(code));                     \
        CHECK(strlen(tidings_last_error()) > 20 && !strchr(tidings_last_error(), '\n'), "not one line");               \
        CHECK(strstr(tidings_last_error(), word), "the line does not say \"%s\"", word);                               \
    } while (0)

// The path of the scenario's center, of this user, whether it is there or not; of any other file in the scenario's
// directory.
const char *center_path(void);
const char *path_of(const char *file);
uint32_t files_there(void);  // in the scenario's directory
void files_end(void);        // all of them
uint64_t room(void);         // bytes that are free there

int try_open(uint32_t flags);        // the scenario's center; closes it again if that works
void works(tidings_center *center);  // a small and a large notification get through it

void make_file(const char *path, const void *bytes, size_t length);
void overwrite(const char *path, uint64_t offset, const void *bytes, size_t length);
void read_file(const char *path, uint64_t offset, void *bytes, size_t length);
void random_bytes(void *bytes, size_t length);

// All there is to tell of a file but when it was read.
typedef struct print {
    struct stat status;
    uint64_t sum;
} print;
print print_of(const char *path);
void same_print(const print *before, const char *path);

#endif
