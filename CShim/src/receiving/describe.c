// Filling in a delivery whose name and subject must be copied: see describe.h for the usual case.
#include "receiving/describe.h"

const uint8_t tidings__no_payload[1];

// For a subscription to many names, or a record with a subject.
bool tidings__describe_text(tidings_observer *o, const tidings__record *r, uint64_t position, tidings_delivery *d) {
    uint32_t name_length = 0, subject_length = 0;
    const bool there = tidings__record_text(o, r, position, &name_length, &subject_length);
    if (!there) o->name[0] = o->subject[0] = 0, name_length = subject_length = 0;
    d->name = o->name;
    d->name_length = name_length;
    d->subject = o->subject;
    d->subject_length = subject_length;
    return there;
}
