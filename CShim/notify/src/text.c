// Translates a name of notify(3) to a name in a center, which is UTF-8 of at most 255 bytes.
#include <string.h>

#include "internal.h"

#define OURS "tidings.notify"
#define RESERVED "com.apple.system."
#define LONG OURS "#"              // followed by the digest of a name
#define STATE OURS ".state/"       // followed by a name
#define LONG_STATE OURS ".state#"  // followed by the digest of a name

uint32_t notify__length(const char *name, size_t *length) {
    *length = name ? strnlen(name, NOTIFY__NAME_MAX + 1) : 0;
    if (__builtin_expect(*length != 0 && *length <= NOTIFY__NAME_MAX, 1)) return NOTIFY_STATUS_OK;
    return notify__fail(NOTIFY_STATUS_INVALID_NAME, "can't use a name of notify(3): it %s; pass 1 to 511 bytes",
                        !name          ? "is NULL"
                        : *length == 0 ? "is empty"
                                       : "has more than 511 bytes");
}

// The same check as a center's: no overlong forms, no surrogates, nothing above U+10FFFF.
static bool is_utf8(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length;) {
        const uint8_t first = bytes[i++];
        if (first < 0x80) continue;
        const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || length - i < more) return false;
        uint8_t low = 0x80, high = 0xbf;  // of the second byte
        if (first == 0xe0) low = 0xa0;
        if (first == 0xed) high = 0x9f;
        if (first == 0xf0) low = 0x90;
        if (first == 0xf4) high = 0x8f;
        if (bytes[i] < low || bytes[i] > high) return false;
        for (unsigned k = 1; k < more; k++)
            if ((bytes[i + k] & 0xc0) != 0x80) return false;
        i += more;
    }
    return true;
}

static void digested(const char *prefix, const char *bytes, size_t length, notify__text *text) {
    const size_t before = strlen(prefix);
    memcpy(text->bytes, prefix, before);
    notify__digest(bytes, length, text->bytes + before);
    text->length = before + 64;
    text->bytes[text->length] = 0;
}

void notify__text_of(const char *name, size_t length, notify__text *text) {
    text->reserved = length >= sizeof RESERVED - 1 && memcmp(name, RESERVED, sizeof RESERVED - 1) == 0;
    // A caller's name with the prefix of this library is digested, so that it never equals a name of this library.
    const bool ours = length >= sizeof OURS - 1 && memcmp(name, OURS, sizeof OURS - 1) == 0;
    if (length > TIDINGS_NAME_MAX || ours || !is_utf8((const uint8_t *)name, length)) {
        digested(LONG, name, length, text);
        return;
    }
    memcpy(text->bytes, name, length);
    text->bytes[length] = 0;
    text->length = length;
}

void notify__text_of_state(const notify__text *name, notify__text *text) {
    const size_t before = sizeof STATE - 1;
    if (name->length > TIDINGS_NAME_MAX - before) {
        digested(LONG_STATE, name->bytes, name->length, text);
        return;
    }
    memcpy(text->bytes, STATE, before);
    memcpy(text->bytes + before, name->bytes, name->length + 1);
    text->length = before + name->length;
}
