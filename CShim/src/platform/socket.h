// Descriptors handed to another process, over a Unix socket.
#ifndef TIDINGS__SOCKET_H
#define TIDINGS__SOCKET_H

#include <stddef.h>

#define TIDINGS__HANDED_MAX 4

// One message: some bytes (at least one), and descriptors, which stay open here. Waits like any write to that socket. 0
// or a negative errno; no signal for a peer that is gone.
int tidings__socket_send(int socket, const void *bytes, size_t length, const int *descriptors, int count);

// Waits until there is one, as any read from that socket does, and leaves it there. 0, also where the peer is gone, or
// a negative errno.
int tidings__socket_await(int socket);

// Takes it, without waiting: how many bytes it had (0: the peer is gone), or a negative errno. Descriptors are
// close-on-exec and none is a standard one; nothing is left open where there are too many
// (-EMSGSIZE), or more than this process may have (-EMFILE).
int tidings__socket_receive(int socket, void *bytes, size_t room, int descriptors[TIDINGS__HANDED_MAX], int *count);

#endif
