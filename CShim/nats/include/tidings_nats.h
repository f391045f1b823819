// Internal to TidingsRelay: a subject of NATS as a transport of a link. No promise to programs.
#ifndef TIDINGS_NATS_H
#define TIDINGS_NATS_H

#include <stddef.h>

typedef struct tidings_nats tidings_nats;

enum {
    TIDINGS_NATS_RECEIVED = 1,
    TIDINGS_NATS_ENDED = 2,    // bytes: why, as text. Nothing follows; close the handle, in another thread
    TIDINGS_NATS_REFUSED = 3,  // the same: the server does not permit what a link does
};

typedef struct tidings_nats_options {
    const char *url;
    const char *subject;
    const char *name;         // of the connection, for the server's log; or NULL
    const char *credentials;  // a file with a JWT and a key, or NULL
    const char *ca;           // a file with certificates: TLS is then required; or NULL
    const char *certificate;  // with `key`: the client's own, or NULL
    const char *key;
    int timeout_ms;  // for another connection, whose server is known; 0: the first one
    void *context;
    // Called on one thread of the handle, which holds no lock. `bytes` are valid during the call.
    void (*event)(void *context, int event, const void *bytes, size_t size);
} tidings_nats_options;

// Connects. 0, or a negative errno with a line in `error`: -EACCES the server refuses this client, or the subject,
// -ECONNREFUSED there is no server, -EPROTO it is older than 2.9, -EINVAL an option. The first one may take 2 s for
// each address, and 6 s more for a server that answers late.
int tidings_nats_open(const tidings_nats_options *options, tidings_nats **nats, char *error, size_t error_size);

// The first event follows.
void tidings_nats_begin(tidings_nats *nats);

// Publishes. 0; -EAGAIN: 1 MiB waits for the server; -ENOTCONN. Never waits.
int tidings_nats_send(tidings_nats *nats, const void *bytes, size_t size);

// Bytes of the largest message that the server takes, at most 1 MiB.
size_t tidings_nats_maximum(tidings_nats *nats);

// Returns after the last event. No other thread may use the handle.
void tidings_nats_close(tidings_nats *nats);

#endif
