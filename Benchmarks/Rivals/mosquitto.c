// MQTT through a private mosquitto on a Unix socket, by libmosquitto, each side in its one thread: quality of service
// 0, the fastest, with no limit on what may pile up for a subscriber. Over the limit mosquitto throws away.
#include "rival.h"

#include <mosquitto.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mosquitto *client;
static const char *theirs, *mine;
static char payload[1 << 21] __attribute__((aligned(64)));
static size_t payload_size;
static bool arrived, subscribed, connected;

static void attempt(int result) {
    if (result != MOSQ_ERR_SUCCESS) rival_fail("%s", mosquitto_strerror(result));
}

static const char *version(void) {
    static char text[32];
    int major, minor, revision;
    mosquitto_lib_version(&major, &minor, &revision);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, revision);
    return text;
}

static void start(void) {
    const char *configuration = rival_path("configuration"), *path = rival_path("mqtt");
    FILE *file = fopen(configuration, "w");
    rival_try(file != NULL, "write a configuration");
    fprintf(file,
            "listener 0 %s\nallow_anonymous true\npersistence false\nmax_queued_messages 0\nset_tcp_nodelay "
            "true\nlog_type error\n",
            path);
    if (geteuid() == 0) fprintf(file, "user root\n");
    fclose(file);
    rival_daemon((const char *const[]){"mosquitto", "-c", configuration, NULL});
    rival_await_socket(path);
}

static void on_connect(struct mosquitto *it, void *context, int code) {
    (void)it;
    (void)context;
    if (code != 0) rival_fail("%s", mosquitto_connack_string(code));
    connected = true;
}

static void on_subscribe(struct mosquitto *it, void *context, int identifier, int count, const int *granted) {
    (void)it, (void)context, (void)identifier, (void)count, (void)granted;
    subscribed = true;
}

static void on_message(struct mosquitto *it, void *context, const struct mosquitto_message *message) {
    (void)it;
    (void)context;
    if (arrived || (size_t)message->payloadlen > sizeof payload) rival_fail("two messages at once");
    payload_size = (size_t)message->payloadlen;
    memcpy(payload, message->payload, payload_size);
    arrived = true;
}

static void loop_until(const bool *flag) {
    while (!*flag) attempt(mosquitto_loop(client, -1, 1));
}

static void open_side(int side) {
    mine = side == 0 ? "pong" : "ping";
    theirs = side == 0 ? "ping" : "pong";
    attempt(mosquitto_lib_init());
    client = mosquitto_new(NULL, true, NULL);
    rival_try(client != NULL, "make a client");
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_callback_set(client, on_message);
    attempt(mosquitto_connect(client, rival_path("mqtt"), 0, 60));
    loop_until(&connected);
    attempt(mosquitto_subscribe(client, NULL, mine, 0));
    loop_until(&subscribed);
}

// It goes out at once, unless the socket is full.
static void send_one(const void *bytes, size_t size) {
    attempt(mosquitto_publish(client, NULL, theirs, (int)size, bytes, 0, false));
    while (mosquitto_want_write(client)) attempt(mosquitto_loop(client, 10, 1));
}

static const void *receive(size_t *size) {
    arrived = false;
    loop_until(&arrived);
    *size = payload_size;
    return payload;
}

const rival this_rival = {
    .name = "mosquitto", .version = version, .start = start, .open = open_side, .send = send_one, .receive = receive};
