// Checks names, and makes the paths of centers and of the files beside them.
#include "segment/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/directory.h"
#include "platform/error.h"
#include "platform/process.h"
#include "tidings.h"

// The length in bytes of the first character of `bytes`; 0 if it is invalid or NUL. Follows table 3-7 of the Unicode
// standard.
static size_t character_length(const uint8_t *bytes, size_t length) {
    const uint8_t first = bytes[0];
    if (first < 0x80) return first != 0;
    const size_t count = first >= 0xc2 && first <= 0xdf   ? 2
                         : first >= 0xe0 && first <= 0xef ? 3
                         : first >= 0xf0 && first <= 0xf4 ? 4
                                                          : 0;
    if (count == 0 || count > length) return 0;
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
    }
    switch (first) {
#ifndef MUTANT_OVERLONG_UTF8                             // Found by: fuzz names
        case 0xe0: return bytes[1] >= 0xa0 ? count : 0;  // overlong
#endif
        case 0xed: return bytes[1] <= 0x9f ? count : 0;  // surrogates
        case 0xf0: return bytes[1] >= 0x90 ? count : 0;  // overlong
        case 0xf4: return bytes[1] <= 0x8f ? count : 0;  // beyond U+10FFFF
        default: return count;
    }
}

size_t tidings__valid_prefix(const char *bytes, size_t length) {
    size_t at = 0;
    while (at < length) {
        const size_t step = character_length((const uint8_t *)bytes + at, length - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

int tidings__check_text(const char *what, const char *bytes, size_t length, size_t min, size_t max) {
#ifdef MUTANT_SUBJECT_ONE_TOO_LONG  // Found by: fuzz names
    if (min == 0) max++;
#endif
    if (length > max)
        return tidings__fail(EINVAL, "can't use %s of %zu bytes: at most %zu; shorten it", what, length, max);
    if (length < min) {
        if (length == 0)
            return tidings__fail(EINVAL, "can't use an empty %s: at least %zu byte%s; give it one", what, min,
                                 min == 1 ? "" : "s");
        return tidings__fail(EINVAL, "can't use %s of %zu bytes: at least %zu; lengthen it", what, length, min);
    }
    if (length > 0 && !bytes) return tidings__fail(EINVAL, "can't use %s: it is NULL; pass the text", what);
    const size_t valid = tidings__valid_prefix(bytes, length);
    if (valid == length) return 0;
    if (bytes[valid] == 0) return tidings__fail(EINVAL, "can't use %s: byte %zu is NUL; remove it", what, valid);
    return tidings__fail(EINVAL, "can't use %s: not UTF-8 from byte %zu on (0x%02x); encode it as UTF-8", what, valid,
                         (unsigned)(uint8_t)bytes[valid]);
}

int tidings__check_center_name(const char *name) {
    if (!name) return tidings__fail(EINVAL, "can't use center name: it is NULL; pass the text");
    const size_t length = strlen(name);
    const int result = tidings__check_text("center name", name, length, 1, TIDINGS_CENTER_NAME_MAX);
    if (result != 0) return result;
    if (name[0] == '.')
        return tidings__fail(EINVAL, "can't use center name \"%s\": it starts with '.'; choose another", name);
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '/')
            return tidings__fail(EINVAL, "can't use center name \"%s\": it holds '/'; use '.' instead", name);
        if (tidings__control_at(name, i, length)) {
            return tidings__fail(EINVAL, "can't use center name \"%s\": byte %zu begins a control character; remove it",
                                 name, i);
        }
    }
    return 0;
}

#define FALLBACK "/dev/shm"

const char *tidings__default_directory(void) {
    const char *directory = secure_getenv("TIDINGS_DIRECTORY");
    return directory && *directory ? directory : FALLBACK;
}

int tidings__center_directory(const char *configured, char *path, size_t size) {
    const char *directory = configured ? configured : tidings__default_directory();
    if (!*directory) directory = FALLBACK;
    const int result = tidings__directory_absolute(directory, path, size);
    if (result == -ENAMETOOLONG)
        return tidings__fail(ENAMETOOLONG,
                             "can't use a directory for centers with a path of %zu bytes: too long; choose another",
                             strlen(directory));
    if (result != 0)
        return tidings__fail(
            -result, "can't use directory \"%s\" for centers: the current directory is gone (%s); use an absolute path",
            directory, strerror(-result));
    return 0;
}

int tidings__file_prefix(uint32_t owner, char *text, size_t size) { return snprintf(text, size, "tidings.%u.", owner); }

int tidings__path_join(const char *directory, const char *file, char *path, size_t size) {
    const size_t length = strlen(directory);
    const int wanted = snprintf(path, size, "%s%s%s", directory, length > 0 && directory[length - 1] == '/' ? "" : "/",
                                file);
    return wanted < 0 || (size_t)wanted >= size ? -ENAMETOOLONG : 0;
}

int tidings__center_path(const char *name, const char *directory, uint32_t owner, char *path, size_t size) {
    const int result = tidings__center_directory(directory, path, size);
    if (result != 0) return result;
    char prefix[32];
    (void)tidings__file_prefix(owner, prefix, sizeof prefix);
    const size_t length = strlen(path);
    const char *separator = path[length - 1] == '/' ? "" : "/";
    const int wanted = snprintf(path + length, size - length, "%s%s%s", separator, prefix, name);
    if (wanted < 0 || (size_t)wanted >= size - length) {
        return tidings__fail(ENAMETOOLONG,
                             "can't use directory for center \"%s\": its path of %zu bytes is too long; choose another",
                             name, length);
    }
    return 0;
}

// Does not use printf: forked children call this function, and they may call only async-signal-safe functions.
int tidings__beside_path(const char *center_path, uint32_t owner, uint64_t number, const char *suffix, char *path,
                         size_t size) {
    static const char prefix[] = "/tidings.";
    const char *slash = strrchr(center_path, '/');
    const size_t directory = slash ? (size_t)(slash - center_path) : 0;
    char digits[40];
    size_t count = 0;
    for (uint32_t i = 0; i < 16; i++) digits[count++] = "0123456789abcdef"[number >> 4 * i & 0xf];
    digits[count++] = '.';
    digits[count++] = '.';
    do digits[count++] = (char)('0' + owner % 10);
    while ((owner /= 10) != 0);
    if (directory + sizeof prefix - 1 + count + strlen(suffix) >= size) return -ENAMETOOLONG;
    memcpy(path, center_path, directory);
    memcpy(path + directory, prefix, sizeof prefix - 1);
    size_t at = directory + sizeof prefix - 1;
    while (count > 0) path[at++] = digits[--count];
    memcpy(path + at, suffix, strlen(suffix) + 1);
    return 0;
}

typedef struct listing {
    char prefix[32];
    size_t prefix_length;
    bool (*each)(void *context, const char *name);
    void *context;
} listing;

static bool list_one(void *context, const char *file) {
    const listing *all = context;
    if (strncmp(file, all->prefix, all->prefix_length) != 0) return true;
    const char *name = file + all->prefix_length;
    // A name with a leading '.' is a writers file or a center that is not finished (tidings__beside_path).
    const size_t length = strlen(name);
    if (length == 0 || length > TIDINGS_CENTER_NAME_MAX || name[0] == '.' ||
        tidings__valid_prefix(name, length) != length)
        return true;
    return all->each(all->context, name);
}

int tidings__center_list(const char *directory, bool (*each)(void *context, const char *name), void *context) {
    char path[4096];
    int result = tidings__center_directory(directory, path, sizeof path);
    if (result != 0) return result;
    listing all = {.each = each, .context = context};
    all.prefix_length = (size_t)tidings__file_prefix(tidings__user_id(), all.prefix, sizeof all.prefix);
    result = tidings__list(path, list_one, &all);
    if (result != 0)
        return tidings__fail(-result, "can't list centers in %s: %s; check the directory", path, strerror(-result));
    return 0;
}
