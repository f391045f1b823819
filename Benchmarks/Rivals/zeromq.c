// ZeroMQ PUB and SUB over ipc://. XPUB, so that the publisher learns of the subscription, and ZMQ_XPUB_NODROP, so that
// it waits at the high-water mark; a PUB socket throws away there. Calls by REQ and REP.
#include "rival.h"

#include <stdio.h>
#include <zmq.h>

static void *context, *publisher, *subscriber, *calls;
static zmq_msg_t received;

static const char *version(void) {
    static char text[32];
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static void attempt(int result) {
    if (result < 0) rival_fail("%s", zmq_strerror(zmq_errno()));
}

static const char *address(int side) {
    static char text[2][128];
    snprintf(text[side], sizeof text[side], "ipc://%s/%d", rival_directory(), side);
    return text[side];
}

static void open_side(int side) {
    const int yes = 1;
    char subscription[8];
    context = zmq_ctx_new();
    publisher = zmq_socket(context, ZMQ_XPUB);
    attempt(zmq_setsockopt(publisher, ZMQ_XPUB_NODROP, &yes, sizeof yes));
    attempt(zmq_bind(publisher, address(side)));
    subscriber = zmq_socket(context, ZMQ_SUB);
    attempt(zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "", 0));
    attempt(zmq_connect(subscriber, address(1 - side)));
    attempt(zmq_recv(publisher, subscription, sizeof subscription, 0));
    attempt(zmq_msg_init(&received));
}

static void send_one(const void *bytes, size_t size) { attempt(zmq_send(publisher, bytes, size, 0)); }

static const void *receive_from(void *socket, size_t *size) {
    attempt(zmq_msg_recv(&received, socket, 0));
    *size = zmq_msg_size(&received);
    return zmq_msg_data(&received);
}

static const void *receive(size_t *size) { return receive_from(subscriber, size); }

static void open_calls(int side) {
    char where[128];
    snprintf(where, sizeof where, "ipc://%s/calls", rival_directory());
    calls = zmq_socket(context, side == 0 ? ZMQ_REQ : ZMQ_REP);
    if (side == 1) attempt(zmq_bind(calls, where));
    rival_meet();
    if (side == 0) attempt(zmq_connect(calls, where));
}

static void reply(const void *bytes, size_t size) { attempt(zmq_send(calls, bytes, size, 0)); }

static const void *next_request(size_t *size) { return receive_from(calls, size); }

static const void *call(const void *bytes, size_t size, size_t *reply_size) {
    attempt(zmq_send(calls, bytes, size, 0));
    return receive_from(calls, reply_size);
}

const rival this_rival = {.name = "zeromq",
                          .version = version,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .open_calls = open_calls,
                          .call = call,
                          .next_request = next_request,
                          .reply = reply};
