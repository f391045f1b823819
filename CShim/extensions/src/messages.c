// Messages and system calls of host and launcher. Declared and described in protocol.h. Async-signal-safe.
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

int tidings__pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0u); }
int tidings__pidfd_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0u);
}

void tidings__close_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0) return;
    // A kernel before 5.9, or a filter. A descriptor above a limit that was lowered since stays open.
    struct rlimit limit;
    rlim_t end = 1u << 20;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < end) end = limit.rlim_max;
    for (rlim_t fd = first; fd < end; fd++) (void)close((int)fd);
}

#define DESCRIPTORS_MAX 4

typedef union control {
    struct cmsghdr aligned;
    char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
} control;

int tidings__message_send(int socket, const void *bytes, size_t length, const int *descriptors, int count) {
    control space;
    memset(&space, 0, sizeof space);
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &space;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, (size_t)count * sizeof(int));
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (size_t)sent == length ? 0 : -EMSGSIZE;
}

int tidings__message_receive(int socket, void *bytes, size_t length, int *descriptors, int room, int *count) {
    control space;
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
    *count = 0;
    ssize_t got;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0) return -errno;
    int error = 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
        const size_t came = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < came; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
            if (*count < room) {
                descriptors[(*count)++] = fd;
            } else {
                (void)close(fd);
                error = EMSGSIZE;
            }
        }
    }
    if (message.msg_flags & MSG_CTRUNC) error = EMFILE;
    if (error == 0 && got > 0 && ((size_t)got != length || message.msg_flags & MSG_TRUNC)) error = EMSGSIZE;
    if (error == 0) return got > 0;
    while (*count > 0) (void)close(descriptors[--*count]);
    return -error;
}
