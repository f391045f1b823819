// Sealed centers: they have no name in any directory, and are sent to peers over a socket.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/socket.h"

// The message that accompanies the descriptors. It has a version of its own, because the receiver may be another build.
typedef struct center_message {
    uint64_t magic;
    uint32_t version, name_length;
    char name[TIDINGS_CENTER_NAME_MAX];
} center_message;

#define MESSAGE_MAGIC UINT64_C(0x6c61657364697420)
#define MESSAGE_VERSION 1u

static int create(const void *context, tidings__segment *segment) {
    const tidings__opening *how = context;
    return tidings__segment_create_sealed(how->name, how->configuration, segment);
}

int tidings_create_sealed(const char *name, const tidings_configuration *configuration, tidings_center **center) {
    return tidings__center_begin(create, &(tidings__opening){name, configuration}, name, center);
}

int tidings_send(tidings_center *center, int socket, uint32_t flags) {
    tidings__clear_error();
    tidings__segment *s = &center->segment;
    const bool writable = !(flags & TIDINGS_SEND_READ_ONLY);
    if (!s->sealed)
        return tidings__fail(
            EINVAL, "can't send center \"%s\": it is a file, which its peers open by name; send a sealed one", s->name);
    if (writable && !s->writable) return tidings__center_read_only(center, "send, for posting,");
    if (!writable && !s->observable)
        return tidings__fail(
            EACCES,
            "can't send center \"%s\" for reading alone: it was created for posters alone, which wake no "
            "readers; create it with mode 0640 or 0644",
            s->name);
    tidings__descriptor_set descriptor_set;
    int error = tidings__descriptor_set_pack(&descriptor_set, s, writable);
    if (error)
        return tidings__fail(
            -error, "can't send center \"%s\": opening it anew through /proc failed (%s); see that /proc is there",
            s->name, strerror(-error));
    center_message message = {
        .magic = MESSAGE_MAGIC, .version = MESSAGE_VERSION, .name_length = (uint32_t)strlen(s->name)};
    memcpy(message.name, s->name, message.name_length);
    error = tidings__socket_send(socket, &message, sizeof message, descriptor_set.descriptors, descriptor_set.count);
    tidings__descriptor_set_close(&descriptor_set);
    if (error)
        return tidings__fail(
            -error,
            "can't send center \"%s\": sending on descriptor %d failed (%s); it must be a connected Unix socket",
            s->name, socket, strerror(-error));
    return 0;
}

static int refuse(int socket, int error) {
    const char *advice = error == EMFILE || error == ENFILE
                             ? "close some files or raise the limit (ulimit -n), and have it sent again"
                         : error == EMSGSIZE ? "what came is none; have it sent by this library"
                         : error == EAGAIN   ? "nothing is there yet, so wait until it can be read"
                                             : "it must be a connected Unix socket";
    return tidings__fail(error, "can't receive a center: receiving on descriptor %d failed (%s); %s", socket,
                         strerror(error), advice);
}

typedef struct arrival {
    int socket;
    uint64_t largest;
    bool *missed;  // another thread or process received the message first
} arrival;

// Runs with the lock held that forks wait for. A child that inherited these descriptors, but does not know them, would
// keep this process's lock.
static int adopt(const void *context, tidings__segment *segment) {
    const arrival *what = context;
    const int socket = what->socket;
    center_message message;
    int descriptors[TIDINGS__HANDED_MAX], count;
    const int got = tidings__socket_receive(socket, &message, sizeof message, descriptors, &count);
    *what->missed = got == -EAGAIN;
    if (*what->missed) return got;
    if (got < 0) return refuse(socket, -got);
    if (got == 0)
        return tidings__fail(ECONNRESET, "can't receive a center on descriptor %d: its other end was closed; ask again",
                             socket);
    char name[TIDINGS_CENTER_NAME_MAX + 1] = {0};
    if (got == sizeof message && message.magic == MESSAGE_MAGIC && message.version == MESSAGE_VERSION &&
        message.name_length <= TIDINGS_CENTER_NAME_MAX && count >= 1 && count <= 3) {
        memcpy(name, message.name, message.name_length);
        return tidings__segment_adopt(name, descriptors, count, what->largest, segment);
    }
    for (int i = 0; i < count; i++) tidings__file_close(descriptors[i]);
    return tidings__fail(EBADMSG,
                         "can't receive a center on descriptor %d: what came (%d bytes, %d descriptors) is none; have "
                         "it sent by this library",
                         socket, got, count);
}

int tidings_receive(int socket, tidings_center **center) {
    return tidings_receive_at_most(socket, TIDINGS_RECEIVE_MAX, center);
}

int tidings_receive_at_most(int socket, uint64_t largest, tidings_center **center) {
    *center = NULL;
    tidings__clear_error();
    for (;;) {
        int error = tidings__socket_await(socket);
        if (error) return refuse(socket, -error);
        bool missed = false;
        error = tidings__center_begin(adopt, &(arrival){socket, largest, &missed}, "received", center);
        if (!missed) return error;
    }
}
