// iceoryx: RouDi and shared memory, by its C binding. Messages are built in loaned chunks; the reader waits in a wait
// set, or takes without end. The two options for "wait for the consumer" are on, so that nothing is lost. RouDi's names
// are fixed, so it gets a /tmp and /dev/shm of its own.
#include "rival.h"

#include <iceoryx_binding_c/log.h>
#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/runtime.h>
#include <iceoryx_binding_c/subscriber.h>
#include <iceoryx_binding_c/types.h>
#include <iceoryx_binding_c/wait_set.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

// Of the chunks of each size, 200 or more, some must be left for the publisher.
enum { QUEUE = 128, ALIGNMENT = 64 };

// As RouDi has it unless configured, but for the chunks for 1 MiB and our header.
static const char configuration[] = "[general]\nversion = 1\n[[segment]]\n"
                                    "[[segment.mempool]]\nsize = 128\ncount = 10000\n"
                                    "[[segment.mempool]]\nsize = 1024\ncount = 5000\n"
                                    "[[segment.mempool]]\nsize = 16384\ncount = 1000\n"
                                    "[[segment.mempool]]\nsize = 131072\ncount = 200\n"
                                    "[[segment.mempool]]\nsize = 1048704\ncount = 200\n";

// In front of each payload: the C binding doesn't tell how large a chunk is.
typedef struct header {
    _Alignas(ALIGNMENT) uint64_t size;
} header;

static iox_pub_storage_t publisher_storage;
static iox_sub_storage_t subscriber_storage;
static iox_ws_storage_t wait_set_storage;
static iox_pub_t publisher;
static iox_sub_t subscriber;
static iox_ws_t wait_set;
static const void *received;
static bool waits_awake;
static char server[64];

static const char *version(void) { return server; }

static void start(void) {
    rival_private_mounts();
    snprintf(server, sizeof server, "%s", rival_output("iox-roudi --version | grep -o '[0-9][0-9.]*' | head -n 1", ""));
    const char *path = rival_path("roudi.toml");
    FILE *file = fopen(path, "w");
    rival_try(file != NULL && fputs(configuration, file) >= 0 && fclose(file) == 0, path);
    rival_daemon((const char *const[]){"iox-roudi", "-c", path, NULL});
}

static void await_peer(void) {
    const struct timespec step = {.tv_nsec = 1000000};
    while (!iox_pub_has_subscribers(publisher) ||
           iox_sub_get_subscription_state(subscriber) != SubscribeState_SUBSCRIBED)
        nanosleep(&step, NULL);
}

static void open_side(int side) {
    iox_pub_options_t publishing;
    iox_sub_options_t subscribing;
    iox_set_loglevel(Iceoryx_LogLevel_Error);
    iox_runtime_init(side == 0 ? "ping" : "pong");
    iox_pub_options_init(&publishing);
    publishing.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_WAIT_FOR_CONSUMER;
    publisher = iox_pub_init(&publisher_storage, "rival", "of", side == 0 ? "ping" : "pong", &publishing);
    iox_sub_options_init(&subscribing);
    subscribing.queueCapacity = QUEUE;
    subscribing.queueFullPolicy = QueueFullPolicy_BLOCK_PRODUCER;
    subscriber = iox_sub_init(&subscriber_storage, "rival", "of", side == 0 ? "pong" : "ping", &subscribing);
    wait_set = iox_ws_init(&wait_set_storage);
    if (iox_ws_attach_subscriber_event(wait_set, subscriber, SubscriberEvent_DATA_RECEIVED, 0, NULL) !=
        WaitSetResult_SUCCESS) {
        rival_fail("can't attach the subscriber to a wait set");
    }
    await_peer();
}

static void *reserve(size_t size) {
    void *chunk;
    enum iox_AllocationResult result = iox_pub_loan_aligned_chunk(publisher, &chunk, (uint32_t)(sizeof(header) + size),
                                                                  ALIGNMENT);
    if (result != AllocationResult_SUCCESS) rival_fail("no chunk: %d", (int)result);
    ((header *)chunk)->size = size;
    return (header *)chunk + 1;
}

static void send_one(const void *bytes, size_t size) {
    (void)size;
    iox_pub_publish_chunk(publisher, (header *)bytes - 1);
}

static void wait_for_some(void) {
    iox_notification_info_t told;
    uint64_t missed;
    if (!waits_awake) iox_ws_wait(wait_set, &told, 1, &missed);
}

static const void *receive(size_t *size) {
    if (received != NULL) iox_sub_release_chunk(subscriber, received);
    for (;;) {
        enum iox_ChunkReceiveResult result = iox_sub_take_chunk(subscriber, &received);
        if (result == ChunkReceiveResult_SUCCESS) break;
        if (result != ChunkReceiveResult_NO_CHUNK_AVAILABLE) rival_fail("can't take: %d", (int)result);
        wait_for_some();
    }
    *size = ((const header *)received)->size;
    return (const header *)received + 1;
}

static void prepare(bool awake, bool stream) {
    (void)stream;
    waits_awake = awake;
}

const rival this_rival = {.name = "iceoryx",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .reserve = reserve,
                          .prepare = prepare,
                          .can_wait_awake = true};
