// Adding a name's entry to a table that may be full.
#ifndef TIDINGS__NAME_REGISTRATION_H
#define TIDINGS__NAME_REGISTRATION_H

#include "center/center.h"

// Finds or adds a name's entry (see name_table.h). If the table is full of names that only the ring still knows,
// history makes room for them.
int tidings__join_name(tidings_center *center, const tidings__key *key, uint32_t observer, uint32_t *entry);

#endif
