#include "platform/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/file.h"
#include "unit.h"

static int ends[2];
static int received[TIDINGS__HANDED_MAX], count;
static char bytes[8];

static void begin(void) { CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0); }
static int receive(void) { return tidings__socket_receive(ends[1], bytes, sizeof bytes, received, &count); }
// The lowest number that is free: it tells whether a descriptor was left open.
static int lowest_free(void) {
    const int fd = dup(ends[0]);
    (void)close(fd);
    return fd;
}

TEST(bytes_and_descriptors_arrive_together) {
    begin();
    const int memory = tidings__file_create_memory("unit");
    struct stat sent;
    CHECK_EQUAL(tidings__file_status(memory, &sent), 0);
    CHECK_EQUAL(tidings__socket_send(ends[0], "hello", 5, &memory, 1), 0);
    CHECK_EQUAL(tidings__socket_await(ends[1]), 0);
    CHECK_EQUAL(receive(), 5);
    CHECK(memcmp(bytes, "hello", 5) == 0);
    CHECK_EQUAL(count, 1);
    CHECK(received[0] != memory);
    CHECK(tidings__file_is(received[0], sent.st_dev, sent.st_ino));
    CHECK(fcntl(received[0], F_GETFD) & FD_CLOEXEC);
}

TEST(a_receiver_without_a_message_does_not_wait) {
    begin();
    CHECK_EQUAL(receive(), -EAGAIN);
}

TEST(too_many_descriptors_are_refused_and_none_stays_open) {
    begin();
    const int many[] = {ends[0], ends[0], ends[0], ends[0], ends[0]};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof many)];
    } control = {0};
    control.header.cmsg_len = CMSG_LEN(sizeof many);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.header), many, sizeof many);
    struct iovec part = {(char *)"x", 1};
    const struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK_EQUAL(sendmsg(ends[0], &message, 0), 1);
    const int before = lowest_free();
    CHECK_EQUAL(receive(), -EMSGSIZE);
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(lowest_free(), before);
}

TEST(a_message_larger_than_its_room_is_refused_and_none_stays_open) {
    begin();
    CHECK_EQUAL(tidings__socket_send(ends[0], "123456789", 9, ends, 1), 0);
    const int before = lowest_free();
    CHECK_EQUAL(receive(), -EMSGSIZE);
    CHECK_EQUAL(lowest_free(), before);
}

TEST(a_peer_that_is_gone_is_an_error_for_its_sender_and_no_signal) {
    begin();
    CHECK_EQUAL(close(ends[1]), 0);
    CHECK_EQUAL(tidings__socket_send(ends[0], "x", 1, ends, 1), -EPIPE);
}
