/// What the programs whose instructions are counted have in common.
#ifndef COUNTING_H
#define COUNTING_H

/// The working directory, for centers: absolute, and of the same length wherever that is, for its length counts.
#define COUNTING_DIRECTORY "/proc/self/cwd"

/// Something that is counted.
typedef struct counting_operation {
    const char *name;
    void (*set_up)(void);        ///< once
    void (*prepare)(int times);  ///< before each round; or NULL
    void (*body)(int times);     ///< does it so often
    int times;
} counting_operation;

/// `main` of such a program: `PROGRAM DIRECTORY OPERATION` goes to the directory, runs the operation, and prints how
/// often it did while being counted; `PROGRAM` alone names all operations. Returns the exit status.
int counting_main(int count, char **arguments, const counting_operation *operations, int operation_count);

#endif
