// Adding a name's entry to a table that may be full.
#ifndef TIDINGS__NAME_REGISTRATION_H
#define TIDINGS__NAME_REGISTRATION_H

#include "center/center.h"

// Finds or adds a name's entry (parameters and errors as in name_table.h). If all entries serve names that only records
// in the ring still need, evicts those records to free entries.
int tidings__join_name(tidings_center *center, const tidings__key *key, uint32_t observer, uint32_t *entry);

#endif
