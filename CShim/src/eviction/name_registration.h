// Adding a name's entry to a table that may be full.
#ifndef TIDINGS__NAME_REGISTRATION_H
#define TIDINGS__NAME_REGISTRATION_H

#include "center/center.h"

// Finds or adds a name's entry (parameters and errors as in name_table.h). If the table is full because records in the
// ring keep entries in quarantine, evicts such records.
int tidings__join_name(tidings_center *center, const tidings__key *key, uint32_t observer, uint32_t *entry);

#endif
