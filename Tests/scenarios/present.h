// What scenarios of presence have in common.
#ifndef PRESENT_H
#define PRESENT_H

#include "peer.h"
#include "presence/report.h"

#define WILL "com.example.will"
#define PARTIES 1024u

extern int exits_as_a_child;  // 1: this process is a forked child that exits, so the leak sanitizer looks for nothing

void announce(tidings_center *center, uint32_t number, bool with_will);  // with the role "party NUMBER"

// As `tidings_reclaim`, but without a limit of time: a single step of a thread takes as long as a report.
static inline void reports_all(tidings_center *center) {
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    budget.posts = budget.tells = UINT64_MAX;
    tidings__report_all(center, &budget);
}

// What an observer of all notices and wills has received, by the number in the role.
typedef struct attendance {
    tidings_observer *observer;
    uint32_t joined[PARTIES], closed[PARTIES], died[PARTIES], wills[PARTIES];
    uint64_t id[PARTIES];
} attendance;
extern attendance seen;

void attend(tidings_center *center);  // from here on
// Receives the next notice or will, and checks that it follows from the ones before. Returns its number. `timeout_ns`
// as in `tidings_next`: UINT32_MAX if there is none.
uint32_t attend_next(int64_t timeout_ns);
void until_joined(uint32_t number);
void until_left(uint32_t number, bool died);  // and its will, if it died and had left one
void attend_all(void);                        // all there is now

#endif
