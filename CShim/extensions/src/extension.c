// An extension in C. Declared and described in tidings_extension.h.
#include "tidings_extension.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wait.h"

struct tidings_extension {
    int socket;
    tidings_hello hello;
    tidings_center *private_center, *broadcast;
    pthread_mutex_t answering;
    bool ready;
};

// Sets the error line and returns the error.
static int fail(int error, const char *what, const char *advice) {
    char line[512];
    (void)snprintf(line, sizeof line, "can't %s: %s; %s", what, strerror(-error), advice);
    tidings_last_error_set(line);
    return error;
}

static int receive(tidings_extension *extension, const tidings_will *will) {
    extension->socket = tidings_handshake_input();
    if (extension->socket < 0) {
        const bool none = extension->socket == -ENOTSOCK || extension->socket == -EBADF;
        return fail(extension->socket, "receive from the host over descriptor 0",
                    none ? "let a host start this program as its extension, and open the extension once"
                         : "close some files or raise the limit (ulimit -n)");
    }
    int error = tidings_handshake_hello_receive(extension->socket, &extension->hello);
    if (error == -EPROTO) {
        (void)tidings_handshake_answer_send(extension->socket, EPROTO);
        char what[96];
        (void)snprintf(what, sizeof what, "connect to a host of version %u with version %u", extension->hello.version,
                       TIDINGS_HANDSHAKE_VERSION);
        return fail(error, what, "build both with the same major version of Tidings");
    }
    if (error)
        return fail(error, "receive the grants from the host",
                    error == -ECONNRESET ? "it has ended" : "let a host start this program as its extension");
    // The host is trusted with the size of its centers.
    error = tidings_receive_at_most(extension->socket, UINT64_MAX, &extension->private_center);
    if (error == 0 && extension->hello.has_broadcast)
        error = tidings_receive_at_most(extension->socket, UINT64_MAX, &extension->broadcast);
    if (error) return error;
    // From the end of this announcement the host learns that this process has ended, also if the host started a
    // wrapper script.
    const char *role = will ? TIDINGS_HANDSHAKE_ROLE_WITH_WILL : TIDINGS_HANDSHAKE_ROLE;
    return tidings_announce(extension->private_center, role, strlen(role), will, 0);
}

int tidings_extension_open(const tidings_will *will, tidings_extension **result) {
    *result = NULL;
    tidings_extension *extension = calloc(1, sizeof *extension);
    if (!extension) return fail(-ENOMEM, "open the extension", "free some memory");
    (void)pthread_mutex_init(&extension->answering, NULL);
    const int error = receive(extension, will);
    if (error) {
        // Closing a center may replace the error line.
        char line[512];
        (void)snprintf(line, sizeof line, "%s", tidings_last_error());
        tidings_extension_close(extension);
        tidings_last_error_set(line);
        return error;
    }
    *result = extension;
    return 0;
}

void tidings_extension_close(tidings_extension *extension) {
    if (!extension) return;
    tidings_close(extension->broadcast);
    tidings_close(extension->private_center);
    if (extension->socket >= 0) (void)close(extension->socket);
    free((void *)extension->hello.grants);
    (void)pthread_mutex_destroy(&extension->answering);
    free(extension);
}

tidings_center *tidings_extension_private_center(const tidings_extension *extension) {
    return extension->private_center;
}

tidings_center *tidings_extension_broadcast_center(const tidings_extension *extension) { return extension->broadcast; }

size_t tidings_extension_grants(const tidings_extension *extension, const tidings_grant **grants) {
    if (grants) *grants = extension->hello.grants;
    return extension->hello.grant_count;
}

bool tidings_extension_is_granted(const tidings_extension *extension, uint8_t kind, const char *name,
                                  size_t name_length) {
    for (size_t i = 0; i < extension->hello.grant_count; i++) {
        const tidings_grant *grant = &extension->hello.grants[i];
        if (grant->kind == kind && grant->name_length == name_length && memcmp(grant->name, name, name_length) == 0)
            return true;
    }
    return false;
}

int tidings_extension_ready(tidings_extension *extension) {
    (void)pthread_mutex_lock(&extension->answering);
    const int error = extension->ready ? 0 : tidings_handshake_answer_send(extension->socket, 0);
    if (error == 0) extension->ready = true;
    (void)pthread_mutex_unlock(&extension->answering);
    return error ? fail(error, "tell the host that the extension is ready", "it has ended") : 0;
}

int tidings_extension_post(tidings_extension *extension, const char *name, size_t name_length, const void *payload,
                           size_t size, const tidings_post_options *options) {
    const bool granted = tidings_extension_is_granted(extension, TIDINGS_GRANT_POSTS, name, name_length);
    _Alignas(8) char memory[TIDINGS_PUBLISHER_SIZE_MAX];
    tidings_publisher *publisher;
    int error;
    if (granted) {
        error = tidings_publisher_place(extension->private_center, name, name_length, NULL, 0, memory, sizeof memory,
                                        &publisher);
        return error ? error : tidings_post(publisher, payload, size, options, NULL);
    }
    error = tidings_publisher_place(extension->private_center, TIDINGS_EXTENSION_UNGRANTED,
                                    strlen(TIDINGS_EXTENSION_UNGRANTED), name, name_length, memory, sizeof memory,
                                    &publisher);
    // It fails if the host is far behind, and then has more to count than this.
    if (!error) (void)tidings_post(publisher, NULL, 0, NULL, NULL);
    char what[TIDINGS_NAME_MAX + 32];
    const int shown = name_length < TIDINGS_NAME_MAX ? (int)name_length : TIDINGS_NAME_MAX;
    (void)snprintf(what, sizeof what, "post \"%.*s\" to the host", shown, name);
    return fail(-EPERM, what, "add a grant that posts this name to the launch");
}

int tidings_extension_descriptor(const tidings_extension *extension) { return extension->socket; }

int tidings_extension_await_end(const tidings_extension *extension, int64_t timeout_ns) {
    struct pollfd watched = {.fd = extension->socket, .events = POLLIN};
    return tidings__wait_ready(&watched, 1, timeout_ns);
}
