// The error line of each thread: formatting, cleaning and shortening it.
#include "platform/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 512

// Not in the initial-exec block of thread.h: half a kilobyte would use up what the loader reserves for libraries that
// are loaded late. Slower access is acceptable for an error.
static _Thread_local char line[LINE_SIZE];
static _Thread_local tidings__error_holder holder;

// The index at which the UTF-8 character that contains the byte at `at` begins. Returns `at` if no character begins in
// the four bytes up to there.
static size_t character_at(const char *text, size_t at) {
    for (size_t back = 0; back < 4 && back <= at; back++) {
        if (((unsigned char)text[at - back] & 0xc0) != 0x80) return at - back;
    }
    return at;
}

// A name that a peer chose must not break the line in two, nor colour a terminal. A line that is too long loses
// its middle, between two characters. Its beginning says what was tried, its end what to do.
static void store(char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!tidings__control_at(text, i, length)) continue;
        if ((unsigned char)text[i] == 0xc2) text[i++] = '?';
        text[i] = '?';
    }
    size_t head = length, tail = length;
    if (length >= LINE_SIZE) {
        head = character_at(text, LINE_SIZE / 2 - 2);
        tail = length - (LINE_SIZE / 2 - 2);
        while (tail < length && ((unsigned char)text[tail] & 0xc0) == 0x80) tail++;
    }
    memcpy(line, text, head);
    size_t used = head;
    if (tail > head) {
        memcpy(line + used, "…", 3);
        used += 3;
    }
    memcpy(line + used, text + tail, length - tail);
    line[used + length - tail] = 0;
}

int tidings__fail(int error, const char *format, ...) {
    const int saved = errno;
    // Formatted here first: an argument may be the present line, and a signal handler may fail while we format.
    char text[4 * LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t length = wanted < 0 ? 0 : (size_t)wanted;
    if (length > sizeof text - 1) length = sizeof text - 1;
    store(text, length);
    holder.known = false;
    errno = saved;
    return -error;
}

const char *tidings__last_error(void) { return line; }

void tidings__clear_error(void) {
    line[0] = 0;
    holder.known = false;
}

int tidings__error_held_by(int error, uint32_t participant, uint32_t pid, bool own) {
    holder = (tidings__error_holder){.known = true, .own = own, .participant = participant, .pid = (int32_t)pid};
    return error;
}

tidings__error_holder tidings__last_error_holder(void) { return holder; }

const char *tidings__amount(uint64_t bytes, char text[TIDINGS__AMOUNT_SIZE]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint32_t unit = 0;
    uint64_t whole = bytes, rest = 0;  // rest: 1024ths of the unit
    while (whole >= 1024) {
        rest = whole % 1024;
        whole /= 1024;
        unit++;
    }
    const uint64_t tenths = rest * 10 / 1024;
    if (whole < 10 && tenths > 0) {
        (void)snprintf(text, TIDINGS__AMOUNT_SIZE, "%u.%u %s", (unsigned)whole, (unsigned)tenths, units[unit]);
    } else {
        (void)snprintf(text, TIDINGS__AMOUNT_SIZE, "%u %s", (unsigned)whole, units[unit]);
    }
    return text;
}
