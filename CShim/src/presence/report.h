// Reports that a participant has left or died. design/6-presence.md.
#ifndef TIDINGS__PRESENCE_REPORT_H
#define TIDINGS__PRESENCE_REPORT_H

#include "calls/calls.h"
#include "center/center.h"
#include "posting/notice.h"
#include "registry/presence.h"

// Posts a notice about participant `index`, if its report still has the value `expected` after the claim. `event`:
// TIDINGS_PRESENCE_…. `*position` receives the record's position. -ECANCELED: the report has another value. Otherwise
// as `tidings_post`.
int tidings__notice_post(tidings_center *center, uint32_t index, int32_t event, uint64_t expected, int64_t timeout_ns,
                         uint64_t *position);

// What the reports of one call or of one round of a guard may cost, for all entries of the table together: a peer may
// have begun all reports, and may hold claims before each.
typedef struct tidings__report_budget {
    uint64_t positions;                  // of the ring, that may be searched
    uint32_t checks;                     // of claims on the way, each a wait; later claims are revoked at once
    uint32_t settlements;                // of one participant each; `tidings__report_all` settles hundreds together
    uint64_t tells;                      // processor time for telling servers, of all settlements
    uint64_t posts;                      // processor time for the reports of `tidings__report_all`
    uint32_t settled_index;              // the participant that was settled last
    uint64_t settled;                    // its report then; 0: none was settled
    const struct tidings__guard *guard;  // the guard that reports, or NULL: its reports stop when it is to end
} tidings__report_budget;
// A report takes some microseconds. But a peer, or a table of names that is full, can make a post walk along all names.
static inline tidings__report_budget tidings__report_budget_of(const tidings__segment *s) {
    return (tidings__report_budget){.positions = 2 * (uint64_t)s->shape.slots,
                                    .checks = 16,
                                    .settlements = 1,
                                    .tells = TIDINGS__TELLS_NS,
                                    .posts = 1000000 + (uint64_t)s->shape.participants * 4000};
}

// Reports the rest about participant `index`, which is dead: all that has not been posted. `index` is below
// `tidings__presence_end`. `take_over`: also a report that another participant has begun and is not known to be dead.
// `timeout_ns`: how long a lossless observer may hold back each post.
//
// 0: nothing is left to report. -EINPROGRESS without an error line: another participant reports, the budget is used up,
// or the guard is to end. Otherwise the error of a post: try again later.
int tidings__report(tidings_center *center, uint32_t index, bool take_over, int64_t timeout_ns,
                    tidings__report_budget *budget);

// The positions at which a record of this report can lie: from `*at` to before the result.
uint64_t tidings__report_span(const tidings_center *center, uint64_t report, uint64_t *at);
// True if a committed record of this kind (TIDINGS__RECORD_NOTICE or …_WILL) about participant `index` lies there.
bool tidings__record_about(const tidings__segment *s, uint32_t index, uint32_t kind, uint64_t position);

// True if a report about this participant is to be begun or continued: the participant is dead, or a record of its
// death is not posted yet.
bool tidings__to_report(const tidings__segment *s, uint32_t index);

// False in a read-only center, and if the program closed a descriptor of the center: then peers take this participant
// for dead, and it can't read wills.
bool tidings__may_report(const tidings_center *center);

// Reports the dead participants that no other participant reports, if this participant may report: as many as fit into
// the budget.
void tidings__report_all(tidings_center *center, tidings__report_budget *budget);

#endif
