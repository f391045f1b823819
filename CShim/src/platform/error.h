// The error line: it says what was tried on what, why it failed, and what to do. Each thread has one; the next failure
// replaces it.
#ifndef TIDINGS__ERROR_H
#define TIDINGS__ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Stores the line and returns -error. Control characters are replaced; a line longer than 511 bytes loses its middle.
// Leaves errno alone. Arguments may point into the present line, so a caller may wrap the line of a deeper layer.
int tidings__fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The participant that the failed call of this thread's line waited for. `known`: the call waited for one. `own`: it is
// that of the caller's own handle.
typedef struct tidings__error_holder {
    bool known, own;
    uint32_t participant;
    int32_t pid;
} tidings__error_holder;
// Call after `tidings__fail`, which forgets the holder of an earlier failure. Returns `error`.
int tidings__error_held_by(int error, uint32_t participant, uint32_t pid, bool own);
tidings__error_holder tidings__last_error_holder(void);

const char *tidings__last_error(void);
void tidings__clear_error(void);

// True if a control character begins at this byte: C0, DEL, or C1 (U+0080 to U+009F, in UTF-8 0xc2 0x80…0x9f), which a
// terminal obeys too.
static inline bool tidings__control_at(const char *text, size_t at, size_t length) {
    const unsigned char byte = (unsigned char)text[at];
    return byte < 0x20 || byte == 0x7f ||
           (byte == 0xc2 && at + 1 < length && ((unsigned char)text[at + 1] & 0xe0) == 0x80);
}

// Formats an amount for such lines: "17 B", "256 KiB", "1.4 MiB". Returns `text`.
#define TIDINGS__AMOUNT_SIZE 24
const char *tidings__amount(uint64_t bytes, char text[TIDINGS__AMOUNT_SIZE]);

#endif
