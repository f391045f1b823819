#include "counting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WARM_ROUNDS = 6,  // with 1,024 each once around the ring and a bit: all pages are there, and evictions go on
    ROUNDS = 12,      // three laps
};

// The function that the script has callgrind collect in. Volatile: or it may be thought to be what it calls.
__attribute__((noinline)) void counting_collect(void (*body)(int), int times);
void counting_collect(void (*body)(int), int times) {
    void (*volatile called)(int) = body;
    called(times);
    __asm__ volatile("" ::: "memory");  // not a tail call: it has to return here
}

static void run(const counting_operation *what) {
    what->set_up();
    for (int round = 0; round < WARM_ROUNDS; round++) {
        if (what->prepare) what->prepare(what->times);
        what->body(what->times);
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (what->prepare) what->prepare(what->times);
        counting_collect(what->body, what->times);
    }
    printf("%d\n", ROUNDS * what->times);
}

int counting_main(int count, char **arguments, const counting_operation *operations, int operation_count) {
    for (int i = 0; i < operation_count; i++) {
        if (count == 1) puts(operations[i].name);
        if (count != 3 || strcmp(arguments[2], operations[i].name) != 0) continue;
        if (chdir(arguments[1]) != 0) {
            perror(arguments[1]);
            return 1;
        }
        run(&operations[i]);
        return 0;
    }
    if (count == 1) return 0;
    fprintf(stderr, "usage: %s [DIRECTORY OPERATION]\n", arguments[0]);
    return 64;
}
