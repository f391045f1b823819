// The payload of a commit: CBOR, written by the process that commits, and read by processes that trust no peer.
#include <string.h>

#include "internal.h"

static void put(sq__bytes *out, const void *bytes, size_t size) {
    if (out->size + size <= out->capacity) memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

void sq__cbor_head(sq__bytes *out, unsigned major, uint64_t value) {
    unsigned char head[9];
    const unsigned width = value < 24            ? 0
                           : value <= UINT8_MAX  ? 1
                           : value <= UINT16_MAX ? 2
                           : value <= UINT32_MAX ? 4
                                                 : 8;
    head[0] = (unsigned char)(major << 5 | (width == 0   ? value
                                            : width == 1 ? 24
                                            : width == 2 ? 25
                                            : width == 4 ? 26
                                                         : 27));
    for (unsigned i = 0; i < width; i++) head[1 + i] = (unsigned char)(value >> 8 * (width - 1 - i));
    put(out, head, 1 + width);
}

void sq__cbor_text(sq__bytes *out, const char *text, size_t length) {
    sq__cbor_head(out, 3, length);
    put(out, text, length);
}

// Numbers have four bytes, also if fewer would do: all bytes but theirs are known beforehand.
#define WAL_PAYLOAD "\xa3gcounter\x1a....gjournalcwalepages\x1a...."
#define ROLLBACK_PAYLOAD "\xa3gcounter\x1a....gjournalhrollbackepages\x1a...."
#define COUNTER_AT 10

static void put_number(unsigned char *bytes, uint32_t value) {
    value = __builtin_bswap32(value);
    memcpy(bytes, &value, sizeof value);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "put_number turns the bytes round");

void sq__payload_write(sq__bytes *out, const sq__commit *commit, const void *tables, size_t tables_size) {
    const size_t size = (commit->wal ? sizeof WAL_PAYLOAD : sizeof ROLLBACK_PAYLOAD) - 1;
    if (size > out->capacity) return;
    if (commit->wal)
        memcpy(out->bytes, WAL_PAYLOAD, sizeof WAL_PAYLOAD - 1);
    else
        memcpy(out->bytes, ROLLBACK_PAYLOAD, sizeof ROLLBACK_PAYLOAD - 1);
    put_number(out->bytes + COUNTER_AT, commit->counter);
    put_number(out->bytes + size - 4, commit->pages);
    out->size = size;
    if (!tables) return;
    out->bytes[0]++;  // one entry more
    sq__cbor_text(out, "tables", 6);
    put(out, tables, tables_size);
}

// MARK: Reading

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static bool head(cursor *in, unsigned *major, uint64_t *value) {
    if (in->at == in->end) return false;
    *major = *in->at >> 5;
    const unsigned low = *in->at++ & 31;
    *value = low;
    if (low < 24) return true;
    if (low > 27) return false;
    const size_t width = (size_t)1 << (low - 24);
    if ((size_t)(in->end - in->at) < width) return false;
    *value = 0;
    for (size_t i = 0; i < width; i++) *value = *value << 8 | *in->at++;
    return true;
}

static bool text(cursor *in, const char **bytes, size_t *length) {
    unsigned major;
    uint64_t value;
    if (!head(in, &major, &value) || major != 3 || value > (uint64_t)(in->end - in->at)) return false;
    *bytes = (const char *)in->at;
    *length = (size_t)value;
    in->at += value;
    return true;
}

static bool is(const char *bytes, size_t length, const char *word) {
    return length == strlen(word) && memcmp(bytes, word, length) == 0;
}

static void json_text(sqlite3_str *out, const char *bytes, size_t length) {
    sqlite3_str_appendchar(out, 1, '"');
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        if (byte < 0x20 || byte == '"' || byte == '\\')
            sqlite3_str_appendf(out, "\\u%04x", byte);
        else
            sqlite3_str_appendchar(out, 1, (char)byte);
    }
    sqlite3_str_appendchar(out, 1, '"');
}

// {"table": ["insert", "update", "delete"], …}
static bool read_tables(cursor *in, sqlite3_str *out) {
    unsigned major;
    uint64_t count, kinds;
    if (!head(in, &major, &count) || major != 5) return false;
    sqlite3_str_appendchar(out, 1, '{');
    for (uint64_t i = 0; i < count; i++) {
        const char *bytes;
        size_t length;
        if (i > 0) sqlite3_str_appendchar(out, 1, ',');
        if (!text(in, &bytes, &length)) return false;
        json_text(out, bytes, length);
        if (!head(in, &major, &kinds) || major != 4) return false;
        sqlite3_str_appendall(out, ":[");
        for (uint64_t kind = 0; kind < kinds; kind++) {
            if (kind > 0) sqlite3_str_appendchar(out, 1, ',');
            if (!text(in, &bytes, &length)) return false;
            json_text(out, bytes, length);
        }
        sqlite3_str_appendchar(out, 1, ']');
    }
    sqlite3_str_appendchar(out, 1, '}');
    return true;
}

bool sq__payload_read(const void *payload, size_t size, sq__commit *commit, char **tables) {
    cursor in = {payload, (const unsigned char *)payload + size};
    unsigned major, found = 0;
    uint64_t count, value;
    *tables = NULL;
    if (!head(&in, &major, &count) || major != 5) return false;
    // Each entry takes at least two bytes, so the bytes end the loop, whatever `count` says.
    for (uint64_t i = 0; i < count; i++) {
        const char *key, *word;
        size_t key_length, length;
        if (!text(&in, &key, &key_length)) break;
        if (is(key, key_length, "journal")) {
            if (!text(&in, &word, &length)) break;
            commit->wal = is(word, length, "wal");
            found |= 1;
        } else if (is(key, key_length, "tables") && !*tables) {
            if (in.at < in.end && *in.at == 0xf6) {  // null: too many
                in.at++;
                continue;
            }
            sqlite3_str *out = sqlite3_str_new(NULL);
            const bool good = read_tables(&in, out);
            *tables = sqlite3_str_finish(out);
            if (!good) found = 0;
            if (!good) break;
        } else {
            if (!head(&in, &major, &value) || major != 0) break;
            const bool counter = is(key, key_length, "counter");
            if (counter) commit->counter = (uint32_t)value, found |= 2;
            if (!counter && is(key, key_length, "pages")) commit->pages = (uint32_t)value, found |= 4;
        }
    }
    if (found == 7) return true;
    sqlite3_free(*tables);
    *tables = NULL;
    return false;
}
