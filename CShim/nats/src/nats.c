// A subject of NATS as a transport. The C client has no thread for this connection: one thread of this file polls the
// socket, and lets the client read it. The thread that publishes writes to the socket, if the kernel takes the bytes.
#include "tidings_nats.h"

#ifdef TIDINGS_RELAY

#include <errno.h>
#include <limits.h>
#include <nats/nats.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX (1 << 20)   // bytes, if the server does not take less
#define BUFFERED_MAX (1 << 20)  // bytes that wait for the kernel; beyond, `tidings_nats_send` answers -EAGAIN
// The client's buffer for these never moves: OpenSSL wants bytes that it could not write at the same address again.
#define BUFFER_SIZE (BUFFERED_MAX + MESSAGE_MAX + (64 << 10))
// ms: the client pings so often. The kernel would take minutes to notice a cut.
#define PING_INTERVAL INT64_C(1000)
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44  // an older kernel lacks it
#endif
#define SILENCE_MAX 3000  // ms without a byte from the server, which answers pings, until it is left
// ms, beside four round trips and their variation, in which nothing of what was sent is acknowledged, until the server
// is left. Its kernel acknowledges, also if the server is stopped. So the network is cut, and the server's kernel may
// notice late that it works again.
#define CUT_AFTER 500
#define CUT_INTERVAL 200  // ms: how often the socket is asked for that

static const char not_permitted[] = "the server does not permit this client to use the link's subject";

struct tidings_nats {
    natsConnection *connection;
    natsSubscription *subscription;
    void *context;
    void (*event)(void *context, int event, const void *bytes, size_t size);
    pthread_t thread;
    bool has_thread;
    // Held while the client reads or writes the socket, and never while `event` is called. OpenSSL needs it.
    pthread_mutex_t io;
    int wake;                 // an eventfd: the thread looks at these
    _Atomic int socket;       // -1: none
    _Atomic bool must_write;  // the client has bytes for the socket
    _Atomic bool ended;       // the client has closed the connection, or may not use the subject
    _Atomic bool refused;     // the latter
    _Atomic bool too_large;   // the server takes smaller messages than it did
    _Atomic bool inside;      // the client's functions are called with `io`; their caller looks at `must_write`
    _Atomic bool closing;     // by this program
    _Atomic bool begun;       // `tidings_nats_begin`: before, nothing is told
    char *subject;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;  // the client calls nothing any more
};

static int64_t milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void wake(tidings_nats *nats) {
    const uint64_t one = 1;
    if (write(nats->wake, &one, sizeof one) < 0) {}  // full: the thread is awake
}

// MARK: The client's event loop. It calls these with a lock of its own, from any thread.

static natsStatus attach(void **data, void *loop, natsConnection *connection, natsSock socket) {
    (void)connection;
    tidings_nats *nats = *data = loop;
    // Until the connection is given up, the kernel sends again after the same time, for a few packets, or at least each
    // second, and not after longer and longer times.
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){SILENCE_MAX}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &(int){1}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_RTO_MAX_MS, &(int){1000}, sizeof(int));
    atomic_store(&nats->socket, socket);
    wake(nats);
    return NATS_OK;
}

static natsStatus on_read(void *data, bool add) {
    tidings_nats *nats = data;
    if (!add) atomic_store(&nats->socket, -1);
    return NATS_OK;
}

static natsStatus on_write(void *data, bool add) {
    tidings_nats *nats = data;
    // A thread inside writes at once. For the client's other threads, which ping, the thread of this file does.
    atomic_store(&nats->must_write, add);
    if (add && !atomic_load(&nats->inside)) wake(nats);
    return NATS_OK;
}

static natsStatus detach(void *data) {
    tidings_nats *nats = data;
    atomic_store(&nats->ended, true);
    wake(nats);
    return NATS_OK;
}

static void on_closed(natsConnection *connection, void *closure) {
    (void)connection;
    tidings_nats *nats = closure;
    pthread_mutex_lock(&nats->lock);
    nats->closed = true;
    pthread_cond_signal(&nats->changed);
    pthread_mutex_unlock(&nats->lock);
}

// A slow consumer is no error here: the link repairs what is lost. Without a handler these go to stderr.
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus error, void *closure) {
    (void)connection, (void)subscription;
    tidings_nats *nats = closure;
    if (error != NATS_NOT_PERMITTED) return;
    // The connection stays, but no link can use it. A new one is made later: the server may permit it then.
    atomic_store(&nats->refused, true);
    atomic_store(&nats->ended, true);
    wake(nats);
}

// MARK: The thread

static void enter(tidings_nats *nats) {
    pthread_mutex_lock(&nats->io);
    atomic_store(&nats->inside, true);
}

// Writes what the kernel takes. The thread waits with the rest.
static void leave(tidings_nats *nats, bool is_thread) {
    if (atomic_load(&nats->must_write)) natsConnection_ProcessWriteEvent(nats->connection);
    // The flag, then the look: the client's other threads set `must_write` and then read the flag.
    atomic_store(&nats->inside, false);
    const bool left = atomic_load(&nats->must_write);
    pthread_mutex_unlock(&nats->io);
    if (left && !is_thread) wake(nats);
}

// `since`: when the first of these looks was; all of them saw something unacknowledged. -1: none.
static bool is_cut(int socket, int64_t now, int64_t *since) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (socket < 0 || getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_unacked == 0) {
        *since = -1;
        return false;
    }
    if (*since < 0) *since = now;
    const int64_t limit = CUT_AFTER + 4 * ((int64_t)info.tcpi_rtt + info.tcpi_rttvar) / 1000;
    return now - *since > limit && info.tcpi_last_ack_recv > limit;
}

// `tidings_nats_open` waits for a pong, which the server sends after a refusal too. So until `tidings_nats_begin`, a
// refused connection is still read.
static bool must_end(tidings_nats *nats) {
    return atomic_load(&nats->ended) && (!atomic_load(&nats->refused) || atomic_load(&nats->begun));
}

static void *run(void *argument) {
    tidings_nats *nats = argument;
    // While this process is stopped, the server is not silent.
    int64_t silent = 0, before = milliseconds(), unacknowledged = -1;
    bool cut = false;
    while (!atomic_load(&nats->closing) && !must_end(nats) && silent <= SILENCE_MAX && !cut) {
        // A descriptor of -1 is ignored.
        struct pollfd polled[2] = {{.fd = nats->wake, .events = POLLIN}, {.fd = atomic_load(&nats->socket)}};
        polled[1].events = (short)(POLLIN | (atomic_load(&nats->must_write) ? POLLOUT : 0));
        poll(polled, 2, CUT_INTERVAL);
        uint64_t count;
        if (polled[0].revents && read(nats->wake, &count, sizeof count) < 0) {}
        const int64_t now = milliseconds();
        silent += now - before < 2 * PING_INTERVAL ? now - before : 2 * PING_INTERVAL;
        const bool reads = polled[1].revents & ~POLLOUT;
        if (reads) silent = 0;
        // Also if this process was stopped, or busy with what it received.
        if (reads || now - before > 2 * CUT_INTERVAL) unacknowledged = -1;
        before = now;
        cut = !reads && is_cut(polled[1].fd, now, &unacknowledged);
        if (reads || atomic_load(&nats->must_write)) {
            enter(nats);
            if (reads) natsConnection_ProcessReadEvent(nats->connection);
            leave(nats, true);
        }
        natsMsg *message;
        while (atomic_load(&nats->begun) && !atomic_load(&nats->closing) &&
               natsSubscription_NextMsg(&message, nats->subscription, 0) == NATS_OK) {
            nats->event(nats->context, TIDINGS_NATS_RECEIVED, natsMsg_GetData(message),
                        (size_t)natsMsg_GetDataLength(message));
            natsMsg_Destroy(message);
        }
    }
    // `tidings_nats_begin` follows at once, or the close does.
    while (!atomic_load(&nats->closing) && !atomic_load(&nats->begun)) {
        struct pollfd polled = {.fd = nats->wake, .events = POLLIN};
        poll(&polled, 1, -1);
        uint64_t count;
        if (read(nats->wake, &count, sizeof count) < 0) {}
    }
    if (atomic_load(&nats->closing)) return NULL;
    const char *why = NULL;
    natsStatus status = natsConnection_GetLastError(nats->connection, &why);
    const bool refused = atomic_load(&nats->refused) || status == NATS_CONNECTION_AUTH_FAILED ||
                         status == NATS_NOT_PERMITTED;
    if (atomic_load(&nats->refused)) why = not_permitted;
    if (atomic_load(&nats->too_large)) why = "the server takes smaller messages now";
    if (cut) why = "the network is cut";
    if (silent > SILENCE_MAX) why = "the server does not answer";
    if (!why || !*why) why = "the connection was lost";
    nats->event(nats->context, refused ? TIDINGS_NATS_REFUSED : TIDINGS_NATS_ENDED, why, strlen(why));
    return NULL;
}

// For lines: not the user and the password.
static const char *without_user(const char *url) {
    const char *at = strrchr(url, '@');
    return at ? at + 1 : url;
}

static int fail(natsStatus status, const char *url, char *error, size_t error_size) {
    const char *why = nats_GetLastError(NULL);
    url = without_user(url);
    // The client begins with its own file and line: "(conn.c:733): ".
    const char *begin = why && *why == '(' ? strstr(why, "): ") : NULL;
    if (begin) why = begin + 3;
    if (status == NATS_NO_SERVER) why = "no server answers there; start it, or correct the address";
    snprintf(error, error_size, "can't connect to %s: %s", url, why && *why ? why : natsStatus_GetText(status));
    switch (status) {
        case NATS_NOT_PERMITTED:
        case NATS_CONNECTION_AUTH_FAILED: return -EACCES;
        case NATS_NO_SERVER: return -ECONNREFUSED;
        case NATS_NO_MEMORY: return -ENOMEM;
        case NATS_TIMEOUT: return -ETIMEDOUT;
        default: return -EINVAL;
    }
}

// The client does not tell the server's version. A server says it first, before TLS and without a question.
static int check_version(const char *url, char *error, size_t error_size) {
    const char *authority = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    const size_t length = strcspn(authority, "/,");
    char host[256];
    if (length >= sizeof host) return 0;
    memcpy(host, authority, length);
    host[length] = 0;
    char *at = strrchr(host, '@'), *name = at ? at + 1 : host;
    char *colon = strrchr(name, ':'), *bracket = strrchr(name, ']');
    const char *port = "4222";
    if (colon && (!bracket || colon > bracket)) {
        *colon = 0;
        port = colon + 1;
    }
    if (*name == '[' && bracket) {
        name++;
        *bracket = 0;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    // What fails here fails for the client, too, which has a line for it.
    if (getaddrinfo(name, port, &hints, &found) != 0) return 0;
    int descriptor = -1;
    for (struct addrinfo *one = found; one && descriptor < 0; one = one->ai_next) {
        descriptor = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (descriptor < 0) break;
        const struct timeval limit = {.tv_sec = 2};
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (connect(descriptor, one->ai_addr, one->ai_addrlen) != 0) {
            close(descriptor);
            descriptor = -1;
        }
    }
    freeaddrinfo(found);
    if (descriptor < 0) return 0;
    char line[4096];
    size_t got = 0;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    now = begin;
    // 2 s in all, and not for each piece.
    while (got < sizeof line - 1 && !memchr(line, '\n', got) && now.tv_sec - begin.tv_sec < 2) {
        const ssize_t count = recv(descriptor, line + got, sizeof line - 1 - got, 0);
        if (count <= 0) break;
        got += (size_t)count;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    close(descriptor);
    line[got] = 0;
    const char *version = strstr(line, "\"version\":\"");
    int major, minor;
    if (!version || sscanf(version, "\"version\":\"%d.%d", &major, &minor) != 2) return 0;
    if (major > 2 || (major == 2 && minor >= 9)) return 0;
    version += strlen("\"version\":\"");
    snprintf(error, error_size, "can't use the server at %s:%s: it is version %.*s; links need 2.9 or later", name,
             port, (int)strcspn(version, "\""), version);
    return -EPROTO;
}

// With all signals blocked: these reach the program's own threads.
static natsStatus start(tidings_nats *nats) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    const int faults[] = {SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    nats->has_thread = pthread_create(&nats->thread, NULL, run, nats) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return nats->has_thread ? NATS_OK : NATS_NO_MEMORY;
}

int tidings_nats_open(const tidings_nats_options *given, tidings_nats **result, char *error, size_t error_size) {
    const int old = given->timeout_ms ? 0 : check_version(given->url, error, error_size);
    if (old) return old;
    tidings_nats *nats = calloc(1, sizeof *nats);
    if (!nats) return -ENOMEM;
    nats->context = given->context;
    nats->event = given->event;
    pthread_mutex_init(&nats->io, NULL);
    pthread_mutex_init(&nats->lock, NULL);
    pthread_cond_init(&nats->changed, NULL);
    atomic_store(&nats->socket, -1);
    nats->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    nats->subject = strdup(given->subject);

    natsOptions *options = NULL;
    natsStatus status = nats->wake < 0 || !nats->subject ? NATS_NO_MEMORY : natsOptions_Create(&options);
    if (status == NATS_OK) status = natsOptions_SetURL(options, given->url);
    if (status == NATS_OK && given->name) status = natsOptions_SetName(options, given->name);
    if (status == NATS_OK && given->credentials)
        status = natsOptions_SetUserCredentialsFromFiles(options, given->credentials, NULL);
    if (status == NATS_OK && given->ca) status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK && given->ca) status = natsOptions_LoadCATrustedCertificates(options, given->ca);
    if (status == NATS_OK && given->certificate)
        status = natsOptions_LoadCertificatesChain(options, given->certificate, given->key);
    if (status == NATS_OK && given->timeout_ms) status = natsOptions_SetTimeout(options, given->timeout_ms);
    if (status == NATS_OK) status = natsOptions_SetNoEcho(options, true);
    // A new connection is a new client. A frame that was sent before belongs to an earlier session, and the client's
    // lock is never held while it connects.
    if (status == NATS_OK) status = natsOptions_SetAllowReconnect(options, false);
    if (status == NATS_OK) status = natsOptions_SetPingInterval(options, PING_INTERVAL);
    // The thread leaves a silent server. The client's own thread must not close a socket that is being read.
    if (status == NATS_OK) status = natsOptions_SetMaxPingsOut(options, INT_MAX);
    if (status == NATS_OK) status = natsOptions_SetClosedCB(options, on_closed, nats);
    if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, on_error, nats);
    if (status == NATS_OK) status = natsOptions_SetIOBufSize(options, BUFFER_SIZE);
    if (status == NATS_OK) status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK) status = natsOptions_SetEventLoop(options, nats, attach, on_read, on_write, detach);
    if (status == NATS_OK) status = natsConnection_Connect(&nats->connection, options);
    natsOptions_Destroy(options);
    if (status == NATS_OK) status = start(nats);
    if (status == NATS_OK) status = natsConnection_SubscribeSync(&nats->subscription, nats->connection, given->subject);
    if (status == NATS_OK) status = natsSubscription_SetPendingLimits(nats->subscription, -1, -1);
    // The server refuses a subscription before it answers a ping.
    if (status == NATS_OK) status = natsConnection_FlushTimeout(nats->connection, 2000);
    const char *why = NULL;
    if (atomic_load(&nats->refused) ||
        (nats->connection && natsConnection_GetLastError(nats->connection, &why) == NATS_NOT_PERMITTED)) {
        tidings_nats_close(nats);
        snprintf(error, error_size, "can't connect to %s: %s", without_user(given->url), not_permitted);
        return -EACCES;
    }
    if (status == NATS_OK && atomic_load(&nats->ended)) status = NATS_CONNECTION_CLOSED;
    if (status != NATS_OK) {
        const int code = fail(status, given->url, error, error_size);
        tidings_nats_close(nats);
        return code;
    }
    *result = nats;
    return 0;
}

void tidings_nats_begin(tidings_nats *nats) {
    atomic_store(&nats->begun, true);
    wake(nats);
}

int tidings_nats_send(tidings_nats *nats, const void *bytes, size_t size) {
    enter(nats);
    int result = -ENOTCONN;
    if (atomic_load(&nats->socket) >= 0) {
        result = -EAGAIN;
        if (natsConnection_Buffered(nats->connection) <= BUFFERED_MAX) {
            const natsStatus status = natsConnection_Publish(nats->connection, nats->subject, bytes, (int)size);
            result = status == NATS_OK ? 0 : -ENOTCONN;
            if (status == NATS_MAX_PAYLOAD) {
                atomic_store(&nats->too_large, true);
                atomic_store(&nats->ended, true);
                wake(nats);
            }
        }
    }
    leave(nats, false);
    return result;
}

size_t tidings_nats_maximum(tidings_nats *nats) {
    const int64_t maximum = natsConnection_GetMaxPayload(nats->connection);
    return maximum <= 0 ? 0 : maximum < MESSAGE_MAX ? (size_t)maximum : MESSAGE_MAX;
}

void tidings_nats_close(tidings_nats *nats) {
    if (!nats) return;
    atomic_store(&nats->closing, true);
    wake(nats);
    if (nats->has_thread) pthread_join(nats->thread, NULL);
    if (nats->connection) natsConnection_Close(nats->connection);
    pthread_mutex_lock(&nats->lock);
    while (nats->connection && !nats->closed) pthread_cond_wait(&nats->changed, &nats->lock);
    pthread_mutex_unlock(&nats->lock);
    natsSubscription_Destroy(nats->subscription);
    natsConnection_Destroy(nats->connection);
    if (nats->wake >= 0) close(nats->wake);
    free(nats->subject);
    pthread_cond_destroy(&nats->changed);
    pthread_mutex_destroy(&nats->lock);
    pthread_mutex_destroy(&nats->io);
    free(nats);
}

#else

typedef int tidings_nats_is_left_out;  // ISO C wants a declaration

#endif
