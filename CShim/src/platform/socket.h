// Descriptors handed to another process, over a Unix socket.
#ifndef TIDINGS__SOCKET_H
#define TIDINGS__SOCKET_H

#include <stddef.h>

#define TIDINGS__HANDED_MAX 4

// One message: some bytes (at least one), and descriptors, which stay open here. Waits like any write to that socket. 0 or a negative errno; no signal for a peer that is gone.
int tidings__socket_send(int socket, const void *bytes, size_t length, const int *descriptors, int count);

// Waits for one: how many bytes it had (0: the peer is gone), or a negative errno. Descriptors are close-on-exec; what doesn't fit is -EMSGSIZE, with nothing left open.
int tidings__socket_receive(int socket, void *bytes, size_t room, int descriptors[TIDINGS__HANDED_MAX], int *count);

#endif
