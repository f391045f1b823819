// What the targets over the C core share: a center in memory that a hostile peer changes, and a program of uses and
// changes read from the fuzzer's bytes.
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "center/center.h"
#include "tidings.h"

// MARK: input.c — bytes to numbers. Past the end all are zero, so every input is a whole program.

typedef struct input {
    const uint8_t *at, *end;
} input;

uint8_t input_byte(input *in);
uint64_t input_number(input *in, unsigned bytes);

// MARK: mapping.c — every mapping the core makes has unreadable pages on both sides, is watched, and forbidden where no
// reader has business.

// Whether an address is in a mapping (of this length, or of any: 0), and where in it.
bool mapping_find(const void *address, uint64_t length, uint64_t *offset);
// Forbids the bytes of a center's mapping that no correct reader reads.
void mapping_fence(const tidings__segment *segment);
// Unmapped and forgotten, whatever the input left.
void mapping_forget(void);

// MARK: process.c — time, forks and threads as the input wants them.

// An input begins: one processor, and random numbers as always.
void process_begin(void);
void process_processors(uint32_t there);
// Nanoseconds the core has slept since this was asked last.
uint64_t process_slept(void);
// What a fork does in the child, done here: this process goes on as its own child, and the parent is dead.
void process_fork(void);
// A turn of each helper thread, as far as it goes without sleeping. A guard also sleeps a few times.
void process_turn(void);
// What the kernel does when the guard of this handle dies. Its turns go on: a peer that lies about its death.
void process_guard_dies(tidings_center *center);

// MARK: changes.c — what a hostile peer does to the memory.

// Changes are made to the `length` bytes at `base` from now on (NULL: nowhere); where things lie there is as `shape`
// says.
void changes_in(uint8_t *base, uint64_t length, const tidings__shape *shape);
// Where the last post of this process is.
void changes_near(uint64_t position);
// One change now, by place; and of a word by its kind.
void change_now(input *in);
void change_word(input *in);
// One of a word of presence now, and one as the core reads such words.
void change_presence(input *in);
void change_aimed_at_presence(input *in);
// One of a word of calls, now or (`how` & 1) as the core reads such words: for that one load (2), and often (4).
void change_call(input *in, uint8_t how);
// One that happens by itself at a later load of the core: so two reads of one word see two values. By place; and of
// words of a kind as they are read, or of one that belongs to it.
void change_armed(input *in);
void change_aimed(input *in, bool beside);
void changes_disarm(void);
// The core is about to load.
void changes_before_load(const void *address, unsigned size);

// MARK: mutate.c — programs become other programs, step by step.

// Where the program begins in an input of this target.
size_t fuzz_program(const uint8_t *data, size_t size);
// How many bytes a change, and a step, takes at most from here.
size_t step_change_size(const uint8_t *at, size_t left);
size_t step_size(const uint8_t *at, size_t left);

// MARK: script.c — what this process does meanwhile, of all that it can do (uses.c).

// The configuration of all centers here: small, so that rings turn and tables fill.
extern const tidings_configuration fuzz_configuration;
// Runs the program on the center "f" that is there, or makes it; closes and removes everything.
void script_run(input *in);
// The same on what arrives on this socket.
void script_run_received(int socket, input *in);
// Makes it a used center, wrapped around, with values, large payloads, observers of all kinds, and leaves it open until
// `script_close`.
void script_furnish(tidings_center *center);
void script_close(void);

// MARK: watch.c

// A directory of this process in shared memory; gone at exit.
const char *fuzz_directory(void);
void fuzz_empty_directory(void);
// Ends the process with a message that names what was not so.
void fuzz_fail(const char *what, int64_t value) __attribute__((noreturn));
#define MUST(condition, value) ((condition) ? (void)0 : fuzz_fail(#condition, (int64_t)(value)))
// An error is a negative errno with a line that says more.
void fuzz_result(const char *what, int64_t result);
// Each use of the core is followed by this: it may not have taken by far more processor time, or slept longer, than any
// needs. NULL: an input begins.
void fuzz_step(const char *what);

#endif
