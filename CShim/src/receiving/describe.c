// Filling in a delivery whose name and subject must be copied: see describe.h for the usual case.
#include "receiving/describe.h"

#include "receiving/copy.h"
#include "ring/section.h"

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

void tidings__describe_sections(const tidings_observer *o, const tidings__record *r, tidings_delivery *d) {
    const uint8_t *area = o->buffer + tidings__text_at(o, r) + tidings__round8(r->name_length) +
                          tidings__round8(r->subject_length);
    if (o->sections_room < 8 || o->flags & TIDINGS_OBSERVE_BARE) return;
    uint64_t first;
    memcpy(&first, area, sizeof first);
    const uint64_t bytes = tidings__sections_bytes(first);
    if (bytes == 0) return;
#ifndef MUTANT_SECTIONS_BEYOND_COPY  // Found by: fuzz image
    if (bytes > o->sections_room) return;
#endif
    d->sections = area + 8;
    d->sections_size = bytes - 8;
    d->flags |= TIDINGS_DELIVERY_SECTIONS;
}
