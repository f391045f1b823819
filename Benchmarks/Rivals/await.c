// Waiting for a daemon to be there: until it can be connected to.
#include "rival.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 15000 };

static void await(const struct sockaddr *address, socklen_t size) {
    const struct timespec step = {.tv_nsec = 1000000};
    for (int ms = 0;; ms++) {
        int end = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool there = connect(end, address, size) == 0;
        close(end);
        if (there) return;
        if (ms > TIMEOUT_MS) rival_fail("its daemon isn't there after %d ms", TIMEOUT_MS);
        nanosleep(&step, NULL);
    }
}

void rival_await_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    await((struct sockaddr *)&address, sizeof address);
}

void rival_await_port(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    await((struct sockaddr *)&address, sizeof address);
}

int rival_free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rival_try(bind(end, (struct sockaddr *)&address, size) == 0 &&
                  getsockname(end, (struct sockaddr *)&address, &size) == 0,
              "find a port");
    close(end);
    return ntohs(address.sin_port);
}
