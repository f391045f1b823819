// Centers with files, in the test's directory.
#ifndef UNIT_FILES_H
#define UNIT_FILES_H

#include "platform/file.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"
#include "unit.h"

static inline tidings_configuration with_file(uint32_t flags, uint32_t mode) {
    tidings_configuration configuration = unit_smallest;
    configuration.directory = unit_directory();
    configuration.flags = flags;
    configuration.mode = mode;
    return configuration;
}

// The center "x", opened or created.
static inline int open_x(tidings__segment *s, uint32_t flags, uint32_t mode) {
    const tidings_configuration configuration = with_file(flags, mode);
    s->looks = 0;
    return tidings__segment_open("x", &configuration, s);
}

static inline bool exists(const char *path) {
    struct stat status;
    return tidings__path_status(path, &status) == 0;
}

#endif
