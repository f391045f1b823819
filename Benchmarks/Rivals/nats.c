// NATS core through a private nats-server on loopback, by its C client with synchronous subscriptions: one connection
// that sends at once, and one for streams, which gathers messages as the client does by itself. No limit on what may
// pile up in the client; over it, it throws away.
#include "rival.h"

#include <nats/nats.h>
#include <stdio.h>
#include <string.h>

static natsConnection *prompt, *gathering, *sending;
static natsSubscription *subscription;
static natsMsg *received;
static const char *theirs;
static char address[64];
static const char *server;

static void attempt(natsStatus status) {
    if (status != NATS_OK) rival_fail("%s", natsStatus_GetText(status));
}

static const char *version(void) { return server; }

static void start(void) {
    server = rival_output("nats-server --version", "nats-server: v");
    int port = rival_free_port();
    static char text[16];
    snprintf(text, sizeof text, "%d", port);
    snprintf(address, sizeof address, "nats://127.0.0.1:%d", port);
    rival_daemon((const char *const[]){"nats-server", "-a", "127.0.0.1", "-p", text, NULL});
    rival_await_port(port);
}

static natsConnection *connected(bool at_once) {
    natsConnection *made;
    natsOptions *options;
    attempt(natsOptions_Create(&options));
    attempt(natsOptions_SetURL(options, address));
    attempt(natsOptions_SetSendAsap(options, at_once));
    attempt(natsConnection_Connect(&made, options));
    natsOptions_Destroy(options);
    return made;
}

static void open_side(int side) {
    theirs = side == 0 ? "ping" : "pong";
    prompt = connected(true);
    gathering = connected(false);
    sending = prompt;
    attempt(natsConnection_SubscribeSync(&subscription, prompt, side == 0 ? "pong" : "ping"));
    attempt(natsSubscription_SetPendingLimits(subscription, -1, -1));
    attempt(natsConnection_Flush(prompt));
}

static void send_one(const void *bytes, size_t size) {
    attempt(natsConnection_Publish(sending, theirs, bytes, (int)size));
}

static void flush(void) {
    if (sending == gathering) attempt(natsConnection_Flush(gathering));
}

static const void *receive(size_t *size) {
    natsMsg_Destroy(received);
    attempt(natsSubscription_NextMsg(&received, subscription, 60000));
    *size = (size_t)natsMsg_GetDataLength(received);
    return natsMsg_GetData(received);
}

static void prepare(bool awake, bool stream) {
    (void)awake;
    sending = stream ? gathering : prompt;
}

const rival this_rival = {.name = "nats",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .flush = flush,
                          .prepare = prepare};
