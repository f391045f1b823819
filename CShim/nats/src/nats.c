// A subject of NATS as a transport: the C client reconnects by itself, and delivers each message whole.
#include "tidings_nats.h"

#ifdef TIDINGS_RELAY

#include <errno.h>
#include <nats/nats.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PENDING_MAX (64 << 20)       // bytes that were received and not handled; more are dropped, and sent again
#define RECONNECT_WAIT INT64_C(200)  // ms
// ms: a server behind a cut is given up after two pings without an answer. The kernel would wait for minutes, and try
// more and more rarely.
#define PING_INTERVAL INT64_C(1000)
#define PINGS_MAX 2
// ms for one write: a server that takes nothing is left after it. `tidings_nats_send` may take that long.
#define WRITE_DEADLINE INT64_C(10000)

struct tidings_nats {
    natsConnection *connection;
    natsSubscription *subscription;
    void *context;
    void (*event)(void *context, int event, const void *bytes, size_t size);
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool opened;     // `tidings_nats_open` has succeeded: before, nothing is told
    bool ended;      // TIDINGS_NATS_ENDED was told: nothing is told after it
    bool closing;    // by this program
    bool closed;     // the client calls nothing any more
    bool completes;  // `finished` will be set
    bool finished;   // the subscription has delivered its last message
};

static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure) {
    (void)connection, (void)subscription;
    tidings_nats *nats = closure;
    nats->event(nats->context, TIDINGS_NATS_RECEIVED, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
    natsMsg_Destroy(message);
}

static void tell(tidings_nats *nats, int event, const char *line) {
    pthread_mutex_lock(&nats->lock);
    const bool tells = nats->opened && !nats->closing && !nats->ended;
    nats->ended = nats->ended || (tells && event == TIDINGS_NATS_ENDED);
    pthread_mutex_unlock(&nats->lock);
    if (tells) nats->event(nats->context, event, line, strlen(line));
}

static void on_reconnected(natsConnection *connection, void *closure) {
    (void)connection;
    tidings_nats *nats = closure;
    tell(nats, TIDINGS_NATS_CONNECTED, "");
}

static void on_disconnected(natsConnection *connection, void *closure) {
    tidings_nats *nats = closure;
    const char *why = NULL;
    natsConnection_GetLastError(connection, &why);
    if (!why || !*why) why = "the connection was lost";
    tell(nats, TIDINGS_NATS_DISCONNECTED, why);
}

static void set(tidings_nats *nats, bool *flag) {
    pthread_mutex_lock(&nats->lock);
    *flag = true;
    pthread_cond_broadcast(&nats->changed);
    pthread_mutex_unlock(&nats->lock);
}

// Also by the client itself: it gives up if a server refuses it twice for the same reason.
static void on_closed(natsConnection *connection, void *closure) {
    tidings_nats *nats = closure;
    const char *why = NULL;
    natsConnection_GetLastError(connection, &why);
    if (!why || !*why) why = "the server refuses this client";
    tell(nats, TIDINGS_NATS_ENDED, why);
    set(nats, &nats->closed);
}

static void on_finished(void *closure) {
    tidings_nats *nats = closure;
    set(nats, &nats->finished);
}

static const char not_permitted[] = "the server does not permit this client to use the link's subject";

// A slow consumer is no error here: the link repairs what is lost. Without a handler these go to stderr.
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus error, void *closure) {
    (void)connection, (void)subscription;
    tidings_nats *nats = closure;
    // The connection stays, but no link can use it. A new one is made later: the server may permit it then.
    if (error == NATS_NOT_PERMITTED) tell(nats, TIDINGS_NATS_ENDED, not_permitted);
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

int tidings_nats_open(const tidings_nats_options *given, tidings_nats **result, char *error, size_t error_size) {
    const int old = check_version(given->url, error, error_size);
    if (old) return old;
    tidings_nats *nats = calloc(1, sizeof *nats);
    if (!nats) return -ENOMEM;
    nats->context = given->context;
    nats->event = given->event;
    pthread_mutex_init(&nats->lock, NULL);
    pthread_cond_init(&nats->changed, NULL);

    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) status = natsOptions_SetURL(options, given->url);
    if (status == NATS_OK && given->name) status = natsOptions_SetName(options, given->name);
    if (status == NATS_OK && given->credentials)
        status = natsOptions_SetUserCredentialsFromFiles(options, given->credentials, NULL);
    if (status == NATS_OK && given->ca) status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK && given->ca) status = natsOptions_LoadCATrustedCertificates(options, given->ca);
    if (status == NATS_OK && given->certificate)
        status = natsOptions_LoadCertificatesChain(options, given->certificate, given->key);
    if (status == NATS_OK) status = natsOptions_SetNoEcho(options, true);
    if (status == NATS_OK) status = natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK) status = natsOptions_SetReconnectWait(options, RECONNECT_WAIT);
    if (status == NATS_OK) status = natsOptions_SetPingInterval(options, PING_INTERVAL);
    if (status == NATS_OK) status = natsOptions_SetMaxPingsOut(options, PINGS_MAX);
    // A frame that was sent before a disconnection belongs to an earlier session: it is not kept. 0 would mean 8 MiB.
    if (status == NATS_OK) status = natsOptions_SetReconnectBufSize(options, 1);
    if (status == NATS_OK) status = natsOptions_SetWriteDeadline(options, WRITE_DEADLINE);
    if (status == NATS_OK) status = natsOptions_SetDisconnectedCB(options, on_disconnected, nats);
    if (status == NATS_OK) status = natsOptions_SetReconnectedCB(options, on_reconnected, nats);
    if (status == NATS_OK) status = natsOptions_SetClosedCB(options, on_closed, nats);
    if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, on_error, nats);
    if (status == NATS_OK) status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK) status = natsConnection_Connect(&nats->connection, options);
    natsOptions_Destroy(options);
    if (status == NATS_OK)
        status = natsConnection_Subscribe(&nats->subscription, nats->connection, given->subject, on_message, nats);
    if (status == NATS_OK) status = natsSubscription_SetPendingLimits(nats->subscription, -1, PENDING_MAX);
    if (status == NATS_OK) status = natsSubscription_SetOnCompleteCB(nats->subscription, on_finished, nats);
    if (status == NATS_OK) nats->completes = true;
    // The server refuses a subscription before it answers a ping.
    if (status == NATS_OK) status = natsConnection_FlushTimeout(nats->connection, 2000);
    const char *why = NULL;
    if (status == NATS_OK && natsConnection_GetLastError(nats->connection, &why) == NATS_NOT_PERMITTED) {
        tidings_nats_close(nats);
        snprintf(error, error_size, "can't connect to %s: %s", without_user(given->url), not_permitted);
        return -EACCES;
    }
    if (status == NATS_OK) {
        pthread_mutex_lock(&nats->lock);
        nats->opened = true;
        if (nats->closed) status = NATS_CONNECTION_CLOSED;
        pthread_mutex_unlock(&nats->lock);
    }
    if (status != NATS_OK) {
        const int code = fail(status, given->url, error, error_size);
        tidings_nats_close(nats);
        return code;
    }
    *result = nats;
    return 0;
}

int tidings_nats_send(tidings_nats *nats, const void *bytes, size_t size) {
    switch (
        natsConnection_Publish(nats->connection, natsSubscription_GetSubject(nats->subscription), bytes, (int)size)) {
        case NATS_OK: return 0;
        case NATS_MAX_PAYLOAD: return -EMSGSIZE;
        default: return -ENOTCONN;
    }
}

size_t tidings_nats_maximum(tidings_nats *nats) {
    const int64_t maximum = natsConnection_GetMaxPayload(nats->connection);
    return maximum > 0 ? (size_t)maximum : 0;
}

void tidings_nats_close(tidings_nats *nats) {
    if (!nats) return;
    set(nats, &nats->closing);
    if (nats->subscription) natsSubscription_Unsubscribe(nats->subscription);
    if (nats->connection) natsConnection_Close(nats->connection);
    pthread_mutex_lock(&nats->lock);
    while ((nats->connection && !nats->closed) || (nats->completes && !nats->finished))
        pthread_cond_wait(&nats->changed, &nats->lock);
    pthread_mutex_unlock(&nats->lock);
    natsSubscription_Destroy(nats->subscription);
    natsConnection_Destroy(nats->connection);
    pthread_cond_destroy(&nats->changed);
    pthread_mutex_destroy(&nats->lock);
    free(nats);
}

#else

typedef int tidings_nats_is_left_out;  // ISO C wants a declaration

#endif
