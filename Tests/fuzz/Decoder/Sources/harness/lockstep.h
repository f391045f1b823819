#ifndef LOCKSTEP_H
#define LOCKSTEP_H

// Waits until all centers are closed.
void lockstep_end(void);

#endif
