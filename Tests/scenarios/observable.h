// A center that readers may observe.
#ifndef OBSERVABLE_H
#define OBSERVABLE_H

#include "peer.h"

#define OBSERVABLE_MODE 0644u

tidings_center *observable_center(uint32_t slots);

// It, from the side of another user, or of its own without leave to write. Of the scenario's user in both cases.
tidings_center *open_to_read(void);

#endif
