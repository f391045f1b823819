// A Unix stream socket: calls as they are written by hand, with the length of each message before it.
#include "rival.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

static int connection;

static const char *version(void) {
    static struct utsname found;
    return uname(&found) == 0 ? found.release : "?";
}

static void open_calls(int side) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/calls", rival_directory());
    const int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (side == 1) {
        rival_try(bind(end, (struct sockaddr *)&address, sizeof address) == 0 && listen(end, 1) == 0, "listen");
        rival_meet();
        connection = accept(end, NULL, NULL);
        rival_try(connection >= 0, "accept");
    } else {
        connection = end;
        rival_meet();
        rival_try(connect(end, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    }
}

static void send_whole(const void *bytes, size_t size) {
    uint32_t length = (uint32_t)size;
    struct iovec parts[2] = {{&length, sizeof length}, {(void *)(uintptr_t)bytes, size}};
    size_t left = sizeof length + size;
    for (struct iovec *part = parts; left > 0;) {
        ssize_t sent = writev(connection, part, (int)(parts + 2 - part));
        rival_try(sent > 0, "send");
        left -= (size_t)sent;
        for (; part < parts + 2 && (size_t)sent >= part->iov_len; part++) sent -= (ssize_t)part->iov_len;
        if (left == 0) break;
        part->iov_base = (char *)part->iov_base + sent;
        part->iov_len -= (size_t)sent;
    }
}

// One request is on its way at a time, so what comes is of one message.
static const void *receive_whole(size_t *size) {
    static struct {
        uint32_t padding, length;
        char bytes[MOST];
    } message __attribute__((aligned(64)));
    const size_t header = sizeof message.length;
    size_t have = 0;
    while (have < header || have < header + message.length) {
        ssize_t more = recv(connection, (char *)&message.length + have, header + MOST - have, 0);
        rival_try(more > 0, "receive");
        have += (size_t)more;
        if (have >= header && message.length > MOST) rival_fail("a message of %u bytes", message.length);
    }
    *size = message.length;
    return message.bytes;
}

static const void *call(const void *bytes, size_t size, size_t *reply_size) {
    send_whole(bytes, size);
    return receive_whole(reply_size);
}

const rival this_rival = {.name = "unixstream",
                          .version = version,
                          .open_calls = open_calls,
                          .call = call,
                          .next_request = receive_whole,
                          .reply = send_whole};
