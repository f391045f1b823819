// D-Bus signals through a private dbus-daemon on a Unix socket, with the limits of a session bus, by sd-bus. The
// payload is an array of bytes. Calls are method calls, as sd_bus_call makes them, to a name of the bus.
#include "rival.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define PATH "/org/example/Rival"
#define INTERFACE "org.example.Rival"

enum { FLUSH_AFTER = 64 };

static sd_bus *bus;
static sd_bus_message *received, *answered;
static const char *theirs;
static bool arrived;
static const char *server;
static unsigned queued;

static void attempt(int result) {
    if (result < 0) rival_fail("%s", strerror(-result));
}

static const char *version(void) { return server; }

static void start(void) {
    static char address[128];
    server = rival_output("dbus-daemon --version", "D-Bus Message Bus Daemon ");
    snprintf(address, sizeof address, "--address=unix:path=%s", rival_path("bus"));
    rival_daemon((const char *const[]){"dbus-daemon", "--session", "--nofork", "--nosyslog", address, NULL});
    rival_await_socket(rival_path("bus"));
}

static int heard(sd_bus_message *message, void *context, sd_bus_error *error) {
    (void)context;
    (void)error;
    received = sd_bus_message_ref(message);
    arrived = true;
    return 1;
}

static void open_side(int side) {
    char address[128];
    snprintf(address, sizeof address, "unix:path=%s", rival_path("bus"));
    theirs = side == 0 ? "Ping" : "Pong";
    attempt(sd_bus_new(&bus));
    attempt(sd_bus_set_address(bus, address));
    attempt(sd_bus_set_bus_client(bus, true));
    attempt(sd_bus_start(bus));
    attempt(sd_bus_match_signal(bus, NULL, NULL, PATH, INTERFACE, side == 0 ? "Pong" : "Ping", heard, NULL));
}

static void flush(void) {
    attempt(sd_bus_flush(bus));
    queued = 0;
}

static void send_one(const void *bytes, size_t size) {
    sd_bus_message *message;
    attempt(sd_bus_message_new_signal(bus, &message, PATH, INTERFACE, theirs));
    attempt(sd_bus_message_append_array(message, 'y', bytes, size));
    attempt(sd_bus_send(bus, message, NULL));
    sd_bus_message_unref(message);
    if (++queued >= FLUSH_AFTER) flush();
}

static const void *bytes_of(sd_bus_message *message, size_t *size) {
    const void *bytes;
    attempt(sd_bus_message_read_array(message, 'y', &bytes, size));
    return bytes;
}

// The next signal, or the next request.
static const void *receive(size_t *size) {
    received = sd_bus_message_unref(received);
    arrived = false;
    while (!arrived) {
        int result = sd_bus_process(bus, NULL);
        attempt(result);
        if (result == 0) attempt(sd_bus_wait(bus, UINT64_MAX));
    }
    return bytes_of(received, size);
}

static void open_calls(int side) {
    static const sd_bus_vtable methods[] = {SD_BUS_VTABLE_START(0),
                                            SD_BUS_METHOD("Call", "ay", "ay", heard, SD_BUS_VTABLE_UNPRIVILEGED),
                                            SD_BUS_VTABLE_END};
    if (side == 0) return;
    attempt(sd_bus_add_object_vtable(bus, NULL, PATH, INTERFACE, methods, NULL));
    attempt(sd_bus_request_name(bus, INTERFACE, 0));
}

static const void *call(const void *bytes, size_t size, size_t *reply_size) {
    sd_bus_message *message;
    attempt(sd_bus_message_new_method_call(bus, &message, INTERFACE, PATH, INTERFACE, "Call"));
    attempt(sd_bus_message_append_array(message, 'y', bytes, size));
    answered = sd_bus_message_unref(answered);
    attempt(sd_bus_call(bus, message, 0, NULL, &answered));
    sd_bus_message_unref(message);
    return bytes_of(answered, reply_size);
}

static void reply(const void *bytes, size_t size) {
    sd_bus_message *message;
    attempt(sd_bus_message_new_method_return(received, &message));
    attempt(sd_bus_message_append_array(message, 'y', bytes, size));
    attempt(sd_bus_send(bus, message, NULL));
    sd_bus_message_unref(message);
}

const rival this_rival = {.name = "dbus",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .flush = flush,
                          .open_calls = open_calls,
                          .call = call,
                          .next_request = receive,
                          .reply = reply};
