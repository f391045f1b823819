// What the kernel does for the core, done by us.
#ifndef KERNEL_H
#define KERNEL_H

#include "machine.h"

void kernel_death(fiber *f);  // the robust list's pending operation, and the locks

#endif
