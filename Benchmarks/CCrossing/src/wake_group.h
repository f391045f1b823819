// Processes forked by one member.
#ifndef CROSSING_WAKE_GROUP_H
#define CROSSING_WAKE_GROUP_H

#include "internal.h"

typedef int (*crossing_member)(crossing_area *area, const char *center, uint32_t place);

// Forks that many, each with a place of its own, and waits for their end. The first to fail ends all.
int crossing_fork_all(crossing_area *area, const char *center, uint32_t processes, crossing_member member);

#endif
