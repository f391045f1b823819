// What the scenarios and the stress test print when a check fails: one line, with the library's last error. Then the
// process ends.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tidings.h"

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s: ", strrchr("/" __FILE__, '/') + 1, __LINE__, #condition);              \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, " [last error: %s]\n", tidings_last_error());                                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int result_ = (call);                                                                                          \
        CHECK(result_ == 0, "it answers %d", result_);                                                                 \
    } while (0)

#endif
