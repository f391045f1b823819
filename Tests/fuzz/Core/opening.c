// A file in the directory that a hostile process has written: a used center that was changed, cut or drawn out before
// it is opened, or any bytes. Or such memory, sent over a socket.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *used;  // the first bytes of a center whose participants have died
static uint64_t used_size, used_length;
static tidings__shape used_shape;
static char path[4096];

static void copy_used(void) {
    tidings_configuration configuration = fuzz_configuration;
    configuration.directory = fuzz_directory();
    tidings_center *center = NULL;
    MUST(tidings_open("f", &configuration, &center) == 0, 0);
    script_furnish(center);
    (void)snprintf(path, sizeof path, "%s", tidings_path(center));
    struct stat status;
    MUST(stat(path, &status) == 0, 0);
    used_length = (uint64_t)status.st_size;
    used_size = 1 << 20 < used_length ? 1 << 20 : used_length;
    used = aligned_alloc(4096, used_size);  // as a header wants it
    MUST(used != NULL, used_size);
    const int fd = open(path, O_RDONLY);
    MUST(fd >= 0 && pread(fd, used, used_size, 0) == (ssize_t)used_size, fd);
    (void)close(fd);
    used_shape = center->segment.shape;
    script_close();
    fuzz_empty_directory();
}

// Sends a message and some descriptors: as tidings_send does (center/descriptor_passing.c), or changed.
static void send_to(int socket, int fd, input *in) {
    struct {
        uint64_t magic;
        uint32_t version, name_length;
        char name[TIDINGS_CENTER_NAME_MAX];
    } sent = {.magic = UINT64_C(0x6c61657364697420), .version = 1, .name_length = 1, .name = "f"};
    const uint8_t how = input_byte(in), count = 1 + how % 4;
    if (how & 16) sent.name_length = (uint32_t)input_number(in, 4);
    if (how & 32) ((uint8_t *)&sent)[input_byte(in) % sizeof sent] = input_byte(in);
    char room[CMSG_SPACE(4 * sizeof(int))] = {0};
    struct iovec bytes = {&sent, how & 64 ? input_byte(in) % (sizeof sent + 1) : sizeof sent};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    int fds[4];
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    for (uint8_t i = 0; i < count; i++) fds[i] = i > 0 && how & 128 ? socket : open(self, O_RDWR | O_CLOEXEC);
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    MUST(sendmsg(socket, &message, 0) >= 0, errno);
    for (uint8_t i = 0; i < count; i++)
        if (fds[i] != socket) (void)close(fds[i]);
}

static void change_file(int fd, uint8_t kind, input *in) {
    // Of another length: so many pages, or some bits of it are others.
    const uint64_t cut = kind & 1 ? input_number(in, 2) << (kind >> 1) % 16 : 0,
                   length = kind & 64 ? cut : used_length ^ cut;
    uint8_t *mapped = mmap(NULL, used_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(mapped != MAP_FAILED, used_length);
    changes_in(mapped, used_length, &used_shape);
    for (uint8_t count = input_byte(in) % 32; count > 0; count--) kind & 32 ? change_word(in) : change_now(in);
    changes_in(NULL, 0, &used_shape);
    (void)munmap(mapped, used_length);
    if (kind & 1) MUST(ftruncate(fd, (off_t)length) == 0, cut);
}

static void fill(int fd, const uint8_t *bytes, size_t size, uint64_t length) {
    MUST(fd >= 0, fd);
    MUST(ftruncate(fd, (off_t)length) == 0, length);
    MUST(pwrite(fd, bytes, size < length ? size : length, 0) >= 0, size);
}

static int file_at_path(void) { return open(path, O_RDWR | O_CREAT | O_TRUNC, 0600); }

static void receive(uint8_t kind, input *in) {
    int ends[2];
    const int fd = memfd_create("f", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    fill(fd, used, used_size, used_length);
    change_file(fd, kind, in);
    // Nearly always: what isn't sealed is refused at once.
    const uint8_t sealed = input_byte(in);
    if (sealed < 250) MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, errno);
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, errno);
    send_to(ends[0], fd, in);
    (void)close(fd);
    script_run_received(ends[1], in);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

// Of `kind`, which comes first: from 0xf0 on anything, from 0x80 on what is sent, otherwise a file.
size_t fuzz_program(const uint8_t *data, size_t size) {
    if (size == 0 || data[0] >= 0xf0) return size;
    size_t at = data[0] & 1 ? 3 : 1;
    for (unsigned count = at < size ? data[at++] % 32 : 0; count > 0 && at < size; count--)
        at += data[0] & 32 ? 6 : step_change_size(data + at, size - at);
    if (data[0] & 128) at += 2;  // without oddities
    return at < size ? at : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!used) copy_used();
    input in = {data, data + size};
    const uint8_t kind = input_byte(&in);
    if (kind < 0xf0 && kind & 0x80) {
        receive(kind, &in);
        return 0;
    }
    const int fd = file_at_path();
    if (kind >= 0xf0) {
        fill(fd, in.at, (size_t)(in.end - in.at), (uint64_t)(in.end - in.at) << kind % 16);
        in.at = in.end;
    } else {
        fill(fd, used, used_size, used_length);
        change_file(fd, kind, &in);
    }
    (void)close(fd);
    script_run(&in);
    fuzz_empty_directory();
    return 0;
}
