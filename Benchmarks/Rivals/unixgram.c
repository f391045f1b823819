// Unix datagram sockets, bound to names. A full one holds the sender back.
#include "rival.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

static int mine;

static const char *version(void) {
    static struct utsname found;
    return uname(&found) == 0 ? found.release : "?";
}

static struct sockaddr_un address(int side) {
    struct sockaddr_un made = {.sun_family = AF_UNIX};
    snprintf(made.sun_path, sizeof made.sun_path, "%s/%d", rival_directory(), side);
    return made;
}

static void open_side(int side) {
    struct sockaddr_un own = address(side), other = address(1 - side);
    mine = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    rival_try(bind(mine, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    rival_meet();
    rival_try(connect(mine, (struct sockaddr *)&other, sizeof other) == 0, "connect");
}

static void send_one(const void *bytes, size_t size) { rival_try(send(mine, bytes, size, 0) == (ssize_t)size, "send"); }

static const void *receive(size_t *size) {
    static char bytes[1 << 17] __attribute__((aligned(64)));
    ssize_t count = recv(mine, bytes, sizeof bytes, 0);
    rival_try(count >= 0, "receive");
    *size = (size_t)count;
    return bytes;
}

const rival this_rival = {
    .name = "unixgram", .version = version, .open = open_side, .send = send_one, .receive = receive};
