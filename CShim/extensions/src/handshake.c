// The hand-shake. Declared and described in tidings_handshake.h.
#include "tidings_handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wait.h"

#define MAGIC UINT64_C(0x6e657478652e6474)  // "td.exten" in memory
#define HAS_BROADCAST 1u

typedef struct hello_message {
    uint64_t magic;
    uint32_t version, flags, grant_count, zero;
} hello_message;

typedef struct answer_message {
    uint64_t magic;
    uint32_t version, status;
} answer_message;

typedef struct any_message {
    uint64_t magic;
    uint32_t version;
} any_message;

// The bytes of a message that each version has.
#define COMMON_BYTES 12u
_Static_assert(offsetof(hello_message, flags) == COMMON_BYTES && offsetof(answer_message, status) == COMMON_BYTES,
               "each version begins with magic and version");

static int send_bytes(int socket, const void *bytes, size_t length) {
    ssize_t sent;
    do sent = send(socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (size_t)sent == length ? 0 : -EMSGSIZE;
}

// Returns the message's bytes, at most `room`, or a negative errno. The kernel drops descriptors that come with it.
static ssize_t receive_bytes(int socket, void *bytes, size_t room, int flags) {
    ssize_t got;
    do got = recv(socket, bytes, room, flags);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got == 0 ? -ECONNRESET : got;
}

// MARK: Host

int tidings_handshake_sockets(int sockets[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ? -errno : 0;
}

int tidings_handshake_hello_send(int socket, const tidings_grant *grants, size_t count, bool has_broadcast) {
    uint64_t size = sizeof(hello_message);
    if (count > TIDINGS_HANDSHAKE_BYTES_MAX) return -E2BIG;
    for (size_t i = 0; i < count; i++) {
        const tidings_grant *grant = &grants[i];
        if (grant->name_length == 0 || grant->kind < TIDINGS_GRANT_OBSERVES || grant->kind > TIDINGS_GRANT_REQUESTS)
            return -EINVAL;
        size += 2u + grant->name_length;
    }
    if (size > TIDINGS_HANDSHAKE_BYTES_MAX) return -E2BIG;
    char *bytes = malloc(size);
    if (!bytes) return -ENOMEM;
    const hello_message message = {.magic = MAGIC,
                                   .version = TIDINGS_HANDSHAKE_VERSION,
                                   .flags = has_broadcast ? HAS_BROADCAST : 0,
                                   .grant_count = (uint32_t)count};
    memcpy(bytes, &message, sizeof message);
    char *at = bytes + sizeof message;
    for (size_t i = 0; i < count; i++) {
        *at++ = (char)grants[i].kind;
        *at++ = (char)grants[i].name_length;
        memcpy(at, grants[i].name, grants[i].name_length);
        at += grants[i].name_length;
    }
    const int error = send_bytes(socket, bytes, size);
    free(bytes);
    return error;
}

int tidings_handshake_answer_receive(int socket, int64_t timeout_ns, tidings_answer *answer) {
    *answer = (tidings_answer){0};
    struct pollfd watched = {.fd = socket, .events = POLLIN};
    const int late = tidings__wait_ready(&watched, 1, timeout_ns);
    if (late) return late;
    answer_message message = {0};
    ssize_t got = receive_bytes(socket, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    // A process that ends with centers that it did not receive resets the socket. The kernel reports that once, before
    // the answer that the process left.
    if (got == -ECONNRESET) got = receive_bytes(socket, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) return (int)got;
    if (got < (ssize_t)COMMON_BYTES || message.magic != MAGIC) return -EBADMSG;
    const bool same = message.version == TIDINGS_HANDSHAKE_VERSION;
    if (same && got != sizeof message) return -EBADMSG;
    *answer = (tidings_answer){message.version, same ? message.status : EPROTO};
    return 0;
}

// MARK: Extension

int tidings_handshake_input(void) {
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) < 0) return -errno;
    const int taken = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (taken < 0) return -errno;
    int empty[2];
    if (pipe2(empty, O_CLOEXEC) < 0 || dup2(empty[0], STDIN_FILENO) < 0) {
        const int error = errno;
        (void)close(taken);
        return -error;
    }
    (void)close(empty[0]);
    (void)close(empty[1]);
    return taken;
}

// Turns the checked list of grants into `hello->grants`. The names point behind the array.
static int parse(const char *bytes, size_t size, uint32_t count, tidings_hello *hello) {
    if (count > size / 3) return -EBADMSG;  // a grant has three bytes at least
    tidings_grant *grants = malloc(count * sizeof *grants + size + 1);
    if (!grants) return -ENOMEM;
    char *names = (char *)(grants + count);
    memcpy(names, bytes, size);
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t length = size - at >= 2 ? (uint8_t)names[at + 1] : 0;
        if (length == 0 || size - at - 2 < length) {
            free(grants);
            return -EBADMSG;
        }
        grants[i] = (tidings_grant){.kind = (uint8_t)names[at], .name_length = length, .name = names + at + 2};
        at += 2u + length;
    }
    if (at != size) {
        free(grants);
        return -EBADMSG;
    }
    hello->grants = grants;
    hello->grant_count = count;
    return 0;
}

int tidings_handshake_hello_receive(int socket, tidings_hello *hello) {
    *hello = (tidings_hello){0};
    char *bytes = malloc(TIDINGS_HANDSHAKE_BYTES_MAX);
    if (!bytes) return -ENOMEM;
    const ssize_t got = receive_bytes(socket, bytes, TIDINGS_HANDSHAKE_BYTES_MAX, MSG_TRUNC);
    int error = got < 0 ? (int)got : -EBADMSG;
    any_message common = {0};
    if (got >= (ssize_t)COMMON_BYTES) memcpy(&common, bytes, COMMON_BYTES);
    if (common.magic == MAGIC) {
        hello->version = common.version;
        hello_message message;
        if (common.version != TIDINGS_HANDSHAKE_VERSION) {
            error = -EPROTO;
        } else if (got >= (ssize_t)sizeof message && got <= (ssize_t)TIDINGS_HANDSHAKE_BYTES_MAX) {
            memcpy(&message, bytes, sizeof message);
            hello->has_broadcast = message.flags & HAS_BROADCAST;
            error = parse(bytes + sizeof message, (size_t)got - sizeof message, message.grant_count, hello);
        }
    }
    free(bytes);
    return error;
}

int tidings_handshake_answer_send(int socket, uint32_t status) {
    const answer_message message = {.magic = MAGIC, .version = TIDINGS_HANDSHAKE_VERSION, .status = status};
    return send_bytes(socket, &message, sizeof message);
}
