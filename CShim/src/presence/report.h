// Reports that a participant has left or died. design/6-presence.md.
#ifndef TIDINGS__PRESENCE_REPORT_H
#define TIDINGS__PRESENCE_REPORT_H

#include "center/center.h"
#include "posting/notice.h"
#include "registry/presence.h"

// Posts a notice about participant `index`, if its report still has the value `expected` after the claim. `event`:
// TIDINGS_PRESENCE_…. `*position` receives the record's position. -ECANCELED: the report has another value. Otherwise
// as `tidings_post`.
int tidings__notice_post(tidings_center *center, uint32_t index, int32_t event, uint64_t expected, int64_t timeout_ns,
                         uint64_t *position);

// Reports participant `index`, which is dead, as far as no other participant has done so. `index` is below
// `tidings__presence_end`. `take_over`: also a report that another participant has begun and is not known to be dead.
// `timeout_ns`: how long a lossless observer may hold back each post. `*budget`: how many positions of the ring may be
// searched, at first TIDINGS__REPORT_BUDGET for all entries of a table together: a peer may have begun all reports.
//
// 0: nothing is left to report. -EINPROGRESS without an error line: another participant reports, or the budget is used
// up. Otherwise the error of a post: try again later.
int tidings__report(tidings_center *center, uint32_t index, bool take_over, int64_t timeout_ns, uint64_t *budget);
#define TIDINGS__REPORT_BUDGET(segment) (2 * (uint64_t)(segment)->shape.slots)

// True if the entry's participant is dead, or left a report unfinished.
bool tidings__to_report(const tidings__segment *s, uint32_t index);

// Reports all dead participants that no other participant reports. Does nothing in a read-only center.
void tidings__report_all(tidings_center *center);

#endif
