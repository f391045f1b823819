// The director's own: the processes that it starts, faults and ends, and their results.
#ifndef STRESS_H
#define STRESS_H

#include "board.h"

typedef struct totals {
    uint64_t posts, refused, deliveries, kept, missed, kills, stops, unknown, sleepers, rounds, states, forks, execs,
        reopened, cancelled, joined, closed, died, wills;
} totals;
extern totals total;

// One center of each size, for the whole run.
typedef struct venue {
    uint32_t slots;
    tidings_center *center;
    uint64_t begins;  // the round's first position
    uint64_t visits, revoked;
    hand hand;
    struct place *before;  // the last `slots` positions before it
    struct keep {          // the value of each name as the round began
        uint64_t sequence;
        uint32_t id, round;
        bool set;
    } keeps[NAMES];
} venue;

// What `tidings_state_get` had to say of a name in a calm.
typedef struct state {
    int result;
    uint64_t sequence;
    stamp stamp;
} state;
extern state states[GUSTS][NAMES];
extern uint64_t calm_ends[GUSTS];  // the first position after the calm's
extern uint64_t hang_timeout_s;    // until what doesn't end is taken to hang

void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern uint32_t violations;

// MARK: One round (round.c)
void round_run(venue *v, chance *c);
uint64_t seconds_now(void);
bool actor_is(uint32_t actor, int32_t pid);  // the process of this actor has this number
extern uint64_t longest_ms[3];               // a gust, until its posters had gone, until it was calm

// MARK: What it was (truth.c, check.c)

typedef struct place {
    uint32_t id, round, row, number;
    uint8_t publisher;
    bool retained, empty;
} place;

typedef struct truth {
    uint64_t base, end;  // positions
    place *at;
    uint32_t *before[FILTERS];  // how many of a filter lie before it, from base on
    uint32_t unknown[FILTERS];  // perhaps posted: their poster died, and no observer saw them
} truth;
extern truth what_was;

void truth_find(venue *v);   // from all that was posted and seen
void truth_leave(venue *v);  // for the next round on this center
uint64_t count_of(uint8_t filter, uint64_t from, uint64_t to);
void check_seats(venue *v);
void check_states(venue *v);
// The newest kept of a name before a position; false: none.
bool newest_kept(const venue *v, uint8_t name, uint64_t before, uint64_t *sequence, uint32_t *id, uint32_t *round);
void check_leaks(venue *v, bool turned);

// MARK: Presence (presence.c)

// How many notices and wills of ended processes the witness has not been told. `*guards`: how many processes watch.
uint32_t presence_owed(uint32_t *guards);
void check_present(void);   // in a calm: no process that lives has been reported
void check_presence(void);  // at the end: each joining, leaving, death and will once, as it was

#endif
