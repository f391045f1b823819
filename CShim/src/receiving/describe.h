// Filling in a delivery.
#ifndef TIDINGS__DESCRIBE_H
#define TIDINGS__DESCRIBE_H

#include "receiving/observer.h"

_Static_assert(TIDINGS__RECORD_NOTICE == TIDINGS_DELIVERY_PRESENCE && TIDINGS__RECORD_WILL == TIDINGS_DELIVERY_WILL,
               "the same bits");

// Converts the record flags that observers see.
static inline uint32_t tidings__flags_told(uint32_t flags) {
    return (flags & TIDINGS__RECORD_IMMEDIATE ? TIDINGS_DELIVERY_IMMEDIATE : 0) |
           (flags & TIDINGS__RECORD_CLEAR ? TIDINGS_DELIVERY_CLEARED | TIDINGS_DELIVERY_STATE : 0) |
           (flags & TIDINGS__RECORD_NOTICE) | (flags & TIDINGS__RECORD_WILL);
}

// The payload of every delivery of an observer without payloads.
extern const uint8_t tidings__no_payload[1];

// Sets all fields but the text.
static inline __attribute__((always_inline)) void tidings__describe_record(const tidings_center *center,
                                                                           const tidings__record r, uint64_t position,
                                                                           const uint32_t *subscriptions,
                                                                           uint32_t count, const void *payload,
                                                                           uint32_t flags, tidings_delivery *d) {
    d->kind = TIDINGS_DELIVERY_MESSAGE;
    if (r.participant == (uint16_t)center->participant && r.pid == (uint32_t)(center->pid >> 32))
        flags |= TIDINGS_DELIVERY_OWN;
    d->flags = flags | tidings__flags_told(r.flags);
    d->sequence = position;
    d->missed = 0;
    d->subscriptions = subscriptions;
    d->subscription_count = count;
    d->payload = payload;
    d->size = r.size;
    d->posted_at_ns = r.time;
    d->pid = (int32_t)r.pid;
    d->uid = r.uid;
    d->participant = r.participant;
    d->format = r.format;
}

// Where the payload of a record was copied to.
static inline const void *tidings__payload_of(const tidings_observer *o) {
    return o->flags & TIDINGS_OBSERVE_BARE ? tidings__no_payload : o->buffer;
}
// After `tidings__describe_record`, for a record with sections.
void tidings__describe_sections(const tidings_observer *o, const tidings__record *r, tidings_delivery *d);

// After `tidings__describe_record`, for a record whose payload is in a chunk, as each retained value is.
static inline void tidings__describe_place(const tidings_observer *o, uint8_t flags, tidings_delivery *d) {
#ifndef MUTANT_STATE_NOT_TOLD  // Found by: fault-injection a_retained_value_keeps_its_sections
    if (flags & TIDINGS__RECORD_RETAIN) d->flags |= TIDINGS_DELIVERY_STATE;
#endif
    if (!o->in_place) return;
    d->payload = o->in_place;
    d->flags |= TIDINGS_DELIVERY_IN_PLACE;
}

// The usual case: the subscription's own copy of the name suffices.
static inline __attribute__((always_inline)) void tidings__describe_name(const tidings__subscription *sub,
                                                                         tidings_delivery *d) {
    d->name = sub->name;
    d->name_length = sub->name_length;
    d->subject = "";
    d->subject_length = 0;
}

#endif
