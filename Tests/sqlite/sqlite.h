// What the tests of the SQLite extension share. Each test has a process and a directory of its own.
#ifndef SQLITE_TESTS_H
#define SQLITE_TESTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <tidings.h>
#include <unistd.h>

// Prints the line with the values that it found, and ends the test.
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) failed(__FILE__, __LINE__, #condition, __VA_ARGS__);                                         \
    } while (0)
void failed(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

extern const char *extension, *directory;  // the extension's file; of this test
extern uint64_t seed;
uint64_t at_random(uint64_t below);
const char *in_directory(const char *name);  // a path; valid until the test ends

// A peer: a process of its own, with one connection. It executes SQL, line by line, and answers each with its rows: the
// columns joined by '|', the rows by ';'. An error is "error: " and its line. NULL is an empty text.
//
//     .open PATH FLAGS   closes the connection and opens another one; FLAGS: of sqlite3_open_v2, 0 for the usual ones
//     .close   .load   .stop (raises SIGSTOP)   .exit STATUS
//     .write (commits for ever)   .race TURNS (exits, and a thread commits meanwhile)   .follow (see peer.c)
typedef struct peer {
    pid_t pid;
    int in, out;  // of the peer
    int errors;   // its standard error, a pipe; -1: that of the test
} peer;

enum { PLAIN = 1, ERRORS = 2 };  // without the extension; with a pipe for standard error
peer start(int flags, const char *path);
void tell(const peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The next answer; valid until the next call. NULL: the peer has ended.
const char *answer(const peer *peer);
const char *ask(const peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void expect(const peer *peer, const char *sql, const char *expected);
// Waits until the peer sleeps in a wait of the library.
void until_asleep(const peer *peer);
// Waits for its end: a status of waitpid.
int until_ended(peer *peer);
int end(peer *peer);
// What it has printed on standard error until it ended.
const char *errors_of(const peer *peer);

// How many commits are in the center's ring, by a connection of `checker`.
int posts(const peer *checker);
// A test for each journal mode: sets it and creates table t(x).
void prepare(const peer *peer, const char *mode);
extern const char *const modes[];  // NULL-terminated
int peer_main(int count, char **arguments);

#define TEST(name) extern void name(void);
#include "tests.h"
#undef TEST

#endif
