#include "peer.h"

#include <arpa/inet.h>
#include <poll.h>

uint64_t random_next(void) {
    static uint64_t state;
    if (state == 0) state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

uint64_t random_below(uint64_t limit) { return random_next() % limit; }

int check_of(const char *name) {
    int token;
    OK(notify_register_check(name, &token));
    CHECK(notify_is_valid_token(token) && token > 0, "token %d", token);
    return token;
}

int descriptor_of(const char *name, int *token) {
    int descriptor = -1;
    OK(notify_register_file_descriptor(name, &descriptor, 0, token));
    return descriptor;
}

bool is_new(int token) {
    int check = -1;
    OK(notify_check(token, &check));
    CHECK(check == 0 || check == 1, "it says %d", check);
    return check;
}

int read_token(int descriptor) {
    uint32_t bytes;
    ssize_t size;
    do size = read(descriptor, &bytes, sizeof bytes);
    while (size < 0 && errno == EINTR);
    CHECK(size == 4, "read %zd bytes, errno %d", size, errno);
    return (int)ntohl(bytes);
}

bool is_readable(int descriptor) {
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

tidings_center *default_center(void) {
    tidings_center *center;
    const int error = tidings_open("default", NULL, &center);
    CHECK(error == 0, "error %d", error);
    return center;
}

pid_t start(void (*body)(void)) {
    fflush(NULL);
    const pid_t pid = fork();
    CHECK(pid >= 0, "errno %d", errno);
    if (pid > 0) return pid;
    alarm(WATCHDOG);
    body();
    _exit(0);
}

void ends_well(pid_t pid) {
    int status;
    pid_t ended;
    do ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    CHECK(ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status %x", status);
}

channel channel_open(void) {
    channel c;
    CHECK(pipe(c.ends) == 0, "errno %d", errno);
    return c;
}

void tell(const channel *c) { CHECK(write(c->ends[1], "x", 1) == 1, "errno %d", errno); }

void told(const channel *c) {
    char byte;
    ssize_t size;
    do size = read(c->ends[0], &byte, 1);
    while (size < 0 && errno == EINTR);
    CHECK(size == 1, "the other end is gone");
}
