// Writes and reads notices of presence. Declared and described in notice.h.
#include "presence/notice.h"

#include <errno.h>
#include <string.h>

#include "receiving/describe.h"
#include "segment/names.h"

#define UNSIGNED 0u
#define TEXT 3u
#define MAP 5u
#define FIELDS 6u

static const char *const events[] = {"", "joined", "closed", "died"};

// MARK: Writing

static uint8_t *write_head(uint8_t *at, uint32_t type, uint64_t value) {
    const uint32_t bytes = value < 24 ? 0 : value < 256 ? 1 : value < 65536 ? 2 : value >> 32 ? 8 : 4;
    *at++ = (uint8_t)(type << 5 | (bytes == 0   ? (uint32_t)value
                                   : bytes == 1 ? 24u
                                   : bytes == 2 ? 25u
                                   : bytes == 4 ? 26u
                                                : 27u));
    for (uint32_t i = bytes; i-- > 0;) *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint8_t *write_text(uint8_t *at, const char *text, size_t length) {
    at = write_head(at, TEXT, length);
    memcpy(at, text, length);
    return at + length;
}

static uint8_t *write_key(uint8_t *at, const char *key) { return write_text(at, key, strlen(key)); }

static uint8_t *write_number(uint8_t *at, const char *key, uint64_t number) {
    return write_head(write_key(at, key), UNSIGNED, number);
}

size_t tidings__notice_write(const tidings_presence *presence, uint8_t bytes[TIDINGS__NOTICE_MAX]) {
    const char *event = events[presence->event & 3];
    uint8_t *at = write_head(bytes, MAP, FIELDS);
    at = write_text(write_key(at, "event"), event, strlen(event));
    at = write_number(at, "pid", (uint32_t)presence->pid);
    at = write_number(at, "uid", presence->uid);
    at = write_number(at, "id", presence->id);
    const size_t role = tidings__valid_prefix(presence->role, strnlen(presence->role, TIDINGS_ROLE_MAX));
    at = write_text(write_key(at, "role"), presence->role, role);
    at = write_key(at, "executable");
    // The rest of the notice, less the two bytes of a text's head.
    const size_t room = TIDINGS__NOTICE_MAX - (size_t)(at - bytes) - 2;
    size_t executable = strnlen(presence->executable, TIDINGS_EXECUTABLE_MAX);
    executable = tidings__valid_prefix(presence->executable, executable < room ? executable : room);
    at = write_text(at, presence->executable, executable);
    return (size_t)(at - bytes);
}

// MARK: Reading

// What is left to read. `at` is NULL after the first mistake.
typedef struct input {
    const uint8_t *at, *end;
} input;

static uint64_t read_head(input *in, uint32_t type) {
    if (!in->at || in->at == in->end || *in->at >> 5 != type) {
        in->at = NULL;
        return 0;
    }
    const uint32_t low = *in->at++ & 31u;
    if (low < 24) return low;
    const size_t bytes = low <= 27 ? (size_t)1 << (low - 24) : 0;
    if (bytes == 0 || (size_t)(in->end - in->at) < bytes) {
        in->at = NULL;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value = value << 8 | *in->at++;
    return value;
}

// Reads a text of at most `most` bytes of UTF-8. `text` has room for a NUL.
static void read_text(input *in, char *text, size_t most) {
    const uint64_t length = read_head(in, TEXT);
    text[0] = 0;
    if (!in->at || length > most || length > (size_t)(in->end - in->at) ||
        tidings__valid_prefix((const char *)in->at, (size_t)length) != length) {
        in->at = NULL;
        return;
    }
    memcpy(text, in->at, (size_t)length);
    text[length] = 0;
    in->at += length;
}

static void read_key(input *in, const char *key) {
    char text[16];
    read_text(in, text, sizeof text - 1);
    if (in->at && strcmp(text, key) != 0) in->at = NULL;
}

static uint64_t read_number(input *in, const char *key, uint64_t most) {
    read_key(in, key);
    const uint64_t number = read_head(in, UNSIGNED);
    if (number > most) in->at = NULL;
    return number;
}

bool tidings__notice_read(const uint8_t *bytes, size_t size, tidings_presence *presence) {
    input in = {bytes, bytes + size};
    char event[8];
    if (read_head(&in, MAP) != FIELDS) return false;
    read_key(&in, "event");
    read_text(&in, event, sizeof event - 1);
    for (int32_t i = TIDINGS_PRESENCE_JOINED; i <= TIDINGS_PRESENCE_DIED; i++)
        if (strcmp(event, events[i]) == 0) presence->event = i;
    presence->pid = (int32_t)read_number(&in, "pid", UINT32_MAX);
    presence->uid = (uint32_t)read_number(&in, "uid", UINT32_MAX);
    presence->id = read_number(&in, "id", (UINT64_C(1) << 52) - 1);
    read_key(&in, "role");
    read_text(&in, presence->role, TIDINGS_ROLE_MAX);
    read_key(&in, "executable");
    read_text(&in, presence->executable, TIDINGS_EXECUTABLE_MAX);
    return in.at == in.end && presence->event != 0;
}

int tidings_presence_read(const tidings_delivery *delivery, tidings_presence *presence) {
    memset(presence, 0, sizeof *presence);
    if (delivery->kind != TIDINGS_DELIVERY_MESSAGE || !(delivery->flags & TIDINGS_DELIVERY_PRESENCE)) return -EINVAL;
    // An observer without payloads (TIDINGS_OBSERVE_BARE) delivers only their size.
    if (delivery->payload == tidings__no_payload ||
        !tidings__notice_read(delivery->payload, delivery->size, presence)) {
        memset(presence, 0, sizeof *presence);
        return -EBADMSG;
    }
    presence->participant = delivery->participant;
    return 0;
}
