// Descriptor passing to another process, over a Unix socket.
#ifndef TIDINGS__SOCKET_H
#define TIDINGS__SOCKET_H

#include <stddef.h>

#define TIDINGS__HANDED_MAX 4  // descriptors in one message

// Sends one message: at least one byte, and descriptors, which stay open in this process. Blocks like any write to that
// socket. 0 or a negative errno. No signal if the peer is gone.
int tidings__socket_send(int socket, const void *bytes, size_t length, const int *descriptors, int count);

// Waits for a message, unless the socket is non-blocking, and leaves it there. 0, also if the peer is gone, or a
// negative errno.
int tidings__socket_await(int socket);

// Takes a message without waiting. Returns its number of bytes (0: the peer is gone), or a negative errno. Its
// descriptors are close-on-exec and never standard ones. On an error none stays open. -EMSGSIZE: too many descriptors,
// or more bytes than `room`. -EMFILE: more than this process may have.
int tidings__socket_receive(int socket, void *bytes, size_t room, int descriptors[TIDINGS__HANDED_MAX], int *count);

#endif
