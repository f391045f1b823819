// Passes descriptors over a Unix socket. Declared and described in socket.h.
#include "platform/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/file.h"

// More than our descriptors need: a socket may also be set to report its sender (SO_PASSCRED and others). If the
// control data does not fit, our descriptors would be lost.
#define CONTROL_BYTES 1024

#ifndef SCM_PIDFD
#define SCM_PIDFD 0x04
#endif

typedef union control {
    struct cmsghdr aligned;
    char bytes[CONTROL_BYTES];
} control;

_Static_assert(CMSG_SPACE(TIDINGS__HANDED_MAX * sizeof(int)) <= CONTROL_BYTES, "ours fit");

int tidings__socket_send(int socket, const void *bytes, size_t length, const int *descriptors, int count) {
    control space;
    memset(&space, 0, sizeof space);
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &space,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors, (size_t)count * sizeof(int));
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    // A stream may accept fewer bytes. Our message is far smaller than any buffer, so only a broken stream does.
    return sent < 0 ? -errno : (size_t)sent == length ? 0 : -EMSGSIZE;
}

int tidings__socket_await(int socket) {
    uint8_t first;
    ssize_t got;
    // Without control space the kernel installs no descriptors.
    do got = recv(socket, &first, sizeof first, MSG_PEEK);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : 0;
}

int tidings__socket_receive(int socket, void *bytes, size_t room, int descriptors[TIDINGS__HANDED_MAX], int *count) {
    *count = 0;
    control space;
    struct iovec part = {bytes, room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
    ssize_t got;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0) return -errno;
    int error = message.msg_flags & MSG_CTRUNC ? EMFILE : message.msg_flags & MSG_TRUNC ? EMSGSIZE : 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || (item->cmsg_type != SCM_RIGHTS && item->cmsg_type != SCM_PIDFD)) continue;
        const size_t handed = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < handed; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
            const bool ours = item->cmsg_type == SCM_RIGHTS;
            if (ours && *count < TIDINGS__HANDED_MAX) {
                fd = tidings__above_standard(fd);
                if (fd >= 0)
                    descriptors[(*count)++] = fd;
                else
                    error = -fd;
                continue;
            }
            if (fd >= 0) (void)close(fd);
            if (ours) error = EMSGSIZE;
        }
    }
    if (error == 0) return (int)got;
    while (*count > 0) (void)close(descriptors[--*count]);
    return -error;
}
