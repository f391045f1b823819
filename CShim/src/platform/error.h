// The one line that says what was tried on what, why it failed, and what to do. One per thread; the next failure
// replaces it.
#ifndef TIDINGS__ERROR_H
#define TIDINGS__ERROR_H

#include <stdint.h>

// Stores the line (longer than 511 bytes: its middle is left out; control characters replaced) and returns -error.
// Leaves errno alone. Arguments may point into the present line: a caller may wrap what a deeper layer said.
int tidings__fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *tidings__last_error(void);
void tidings__clear_error(void);

// For such lines: "17 B", "256 KiB", "1.4 MiB". Returns `text`.
#define TIDINGS__AMOUNT_SIZE 24
const char *tidings__amount(uint64_t bytes, char text[TIDINGS__AMOUNT_SIZE]);

#endif
