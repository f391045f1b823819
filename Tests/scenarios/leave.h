// Makes orphans and stale files for the tests of the command: `ScenarioPeer --leave WHAT SEED DIRECTORY`.
#ifndef LEAVE_H
#define LEAVE_H

#include <stdbool.h>

bool leave(const char *what);  // false: there is no such kind
bool leave_orphans(
    const char *what);  // the kinds of orphans.c, in a center: by a participant that joins, leaves that, and is killed

#endif
