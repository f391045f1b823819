// Posts about a participant: notices of presence and last wills. design/6-presence.md.
#ifndef TIDINGS__NOTICE_H
#define TIDINGS__NOTICE_H

#include "center/center.h"

// What makes a post a report about a participant.
typedef struct tidings__notice {
    // The post is committed only if the report still has this value after the claim (invariant P3).
    const _Atomic uint64_t *report;
    uint64_t expected;
    uint64_t poster, pid;  // in place of the center's: of the participant that the record is about
    uint8_t flags;         // TIDINGS__RECORD_NOTICE or …_WILL
} tidings__notice;

// As `tidings_post`, also under the reserved name. -ECANCELED without an error line: the report has another value, and
// nothing was posted.
int tidings__post_notice(tidings_publisher *publisher, const void *payload, size_t size,
                         const tidings_post_options *options, const tidings__notice *notice, uint64_t *sequence);

#endif
