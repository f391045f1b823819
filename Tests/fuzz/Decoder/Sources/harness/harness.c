#include "harness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "lockstep.h"

static uint8_t *base;
static size_t length;

const char *harness_directory(void) { return fuzz_directory(); }

void harness_begin(void) {
    changes_disarm();
    process_begin();
    fuzz_step(NULL);
}

void harness_end(void) {
    changes_in(NULL, 0, &(const tidings__shape){0});
    if (base) (void)munmap(base, length);
    base = NULL;
    lockstep_end();
    fuzz_empty_directory();
}

bool harness_map(const char *path) {
    struct stat status;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof(tidings__header)) {
        length = (size_t)status.st_size;
        base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base == MAP_FAILED) base = NULL;
    }
    (void)close(fd);
    if (base) changes_in(base, length, &((const tidings__header *)(const void *)base)->shape);
    return base;
}

void harness_change_word(const uint8_t *bytes, size_t count) { change_word(&(input){bytes, bytes + count}); }
void harness_change_place(const uint8_t *bytes, size_t count) { change_now(&(input){bytes, bytes + count}); }
void harness_near(uint64_t sequence) { changes_near(sequence); }
void harness_used(const char *what) { fuzz_step(what); }
void harness_fail(const char *what, int64_t value) { fuzz_fail(what, value); }
void harness_turn_helpers(void) { process_turn(); }

// changes.c asks where an address of the core is: for changes between two loads, which this target does not make.
bool mapping_find(const void *address, uint64_t size, uint64_t *offset) {
    return (void)address, (void)size, (void)offset, false;
}
