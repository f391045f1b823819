// A file in the directory that somebody else has written: a used center that was changed, cut or drawn out before it is opened, or anything.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "segment/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *used;  // the first bytes of a center whose participants have died
static uint64_t used_size, used_length;
static char path[4096];

static void copy_used(void)
{
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    tidings_center *center = NULL;
    MUST(tidings_open("f", &configuration, &center) == 0, 0);
    const uint8_t *mapped = mapping_base(0);
    script_furnish(center);
    (void)snprintf(path, sizeof path, "%s", tidings_path(center));
    struct stat status;
    MUST(stat(path, &status) == 0, 0);
    used_length = (uint64_t)status.st_size;
    used_size = 1 << 20 < used_length ? 1 << 20 : used_length;
    used = aligned_alloc(4096, used_size);  // as a header wants it
    MUST(used != NULL, used_size);
    memcpy(used, mapped, used_size);
    script_close();
    fuzz_empty_directory();
}

static void write_file(const uint8_t *bytes, size_t size, uint64_t length)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0, fd);
    MUST(ftruncate(fd, (off_t)length) == 0, length);
    MUST(pwrite(fd, bytes, size < length ? size : length, 0) >= 0, size);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!used) copy_used();
    input in = {data, data + size};
    const uint8_t kind = input_byte(&in);
    if (kind >= 0xf0) {
        // Anything, of any length.
        write_file(in.at, (size_t)(in.end - in.at), (uint64_t)(in.end - in.at) << kind % 16);
        in.at = in.end;
    } else {
        const uint64_t cut = kind & 1 ? input_number(&in, 2) << (kind >> 1) % 16 : 0;
        write_file(used, used_size, used_length);
        uint8_t *mapped = NULL;
        const int fd = open(path, O_RDWR);
        mapped = mmap(NULL, used_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        MUST(mapped != MAP_FAILED, used_length);
        changes_in(mapped, used_length, (const void *)used);
        for (uint8_t count = input_byte(&in) % 32; count > 0; count--) change_now(&in);
        changes_in(NULL, 0, (const void *)used);
        (void)munmap(mapped, used_length);
        if (kind & 1) MUST(ftruncate(fd, (off_t)(used_length ^ cut)) == 0, cut);
        (void)close(fd);
    }
    script_run(&in);
    fuzz_empty_directory();
    return 0;
}
