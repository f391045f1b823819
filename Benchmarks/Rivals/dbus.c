// D-Bus signals through a private dbus-daemon on a Unix socket, with the limits of a session bus, by sd-bus. The
// payload is an array of bytes.
#include "rival.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define PATH "/org/example/Rival"
#define INTERFACE "org.example.Rival"

enum { FLUSH_AFTER = 64 };

static sd_bus *bus;
static sd_bus_message *received;
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

static const void *receive(size_t *size) {
    const void *bytes;
    received = sd_bus_message_unref(received);
    arrived = false;
    while (!arrived) {
        int result = sd_bus_process(bus, NULL);
        attempt(result);
        if (result == 0) attempt(sd_bus_wait(bus, UINT64_MAX));
    }
    attempt(sd_bus_message_read_array(received, 'y', &bytes, size));
    return bytes;
}

const rival this_rival = {.name = "dbus",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .flush = flush};
