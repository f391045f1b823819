// Small scenes, each played under very many schedules.
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

typedef struct scenario {
    const char *name, *tells;
    void (*prepare)(void);
    void (*verify)(void);  // on top of the accounts; or NULL
    void (*finish)(void);  // ends fibers that sleep without end; or NULL
    uint32_t changes;      // how many CI tries everywhere
    bool deaths;           // a fiber may die
    bool buffers;          // stores may be late, also when every schedule is tried
    bool focus;            // fibers change places at private words and at G only
} scenario;

extern const scenario scenarios[];
extern const uint32_t scenario_count;

#endif
