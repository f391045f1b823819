// Redis publish and subscribe: a private redis-server on a Unix socket, nothing kept on disk, through hiredis. Each
// side has a connection that publishes and one that is subscribed. The limit on what may pile up for a subscriber is
// off: over it, Redis would drop the connection.
#include "rival.h"

#include <hiredis/hiredis.h>

#include <stdio.h>
#include <string.h>

enum { PIPELINE = 64, PIPELINE_BYTES = 1 << 18 };

static redisContext *publisher, *subscriber;
static redisReply *received;
static const char *theirs;
static char server[64] = "?";
static unsigned unanswered;
static size_t appended;
static bool streaming;

static const char *version(void) { return server; }

static void start(void) {
    const char *path = rival_path("redis");
    rival_daemon((const char *const[]){"redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                       "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0", "--dir",
                                       rival_directory(), NULL});
    rival_await_socket(path);
}

static redisContext *connected(void) {
    redisContext *made = redisConnectUnix(rival_path("redis"));
    if (made == NULL || made->err != 0) rival_fail("%s", made == NULL ? "no memory" : made->errstr);
    return made;
}

static void ask_version(void) {
    redisReply *reply = redisCommand(publisher, "INFO server");
    const char *found = reply != NULL && reply->type == REDIS_REPLY_STRING ? strstr(reply->str, "redis_version:")
                                                                           : NULL;
    if (found != NULL) sscanf(found, "redis_version:%40[^\r\n]", server);
    freeReplyObject(reply);
}

static void open_side(int side) {
    publisher = connected();
    subscriber = connected();
    theirs = side == 0 ? "ping" : "pong";
    redisReply *reply = redisCommand(subscriber, "SUBSCRIBE %s", side == 0 ? "pong" : "ping");
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY) rival_fail("SUBSCRIBE: %s", subscriber->errstr);
    freeReplyObject(reply);
    ask_version();
}

// The answers to what was published: how many it was delivered to.
static void collect(void) {
    for (; unanswered > 0; unanswered--) {
        redisReply *reply;
        if (redisGetReply(publisher, (void **)&reply) != REDIS_OK) rival_fail("PUBLISH: %s", publisher->errstr);
        if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) rival_fail("PUBLISH reached no subscriber");
        freeReplyObject(reply);
    }
    appended = 0;
}

static void flush(void) {
    int done = 0;
    while (done == 0) {
        if (redisBufferWrite(publisher, &done) != REDIS_OK) rival_fail("PUBLISH: %s", publisher->errstr);
    }
    if (streaming) collect();
}

// One at a time: its answer is read before the next one is sent, when it has long been there.
static void send_one(const void *bytes, size_t size) {
    if (!streaming) collect();
    redisAppendCommand(publisher, "PUBLISH %s %b", theirs, bytes, size);
    unanswered += 1;
    appended += size;
    if (unanswered >= PIPELINE || appended >= PIPELINE_BYTES) flush();
}

static const void *receive(size_t *size) {
    if (received != NULL) freeReplyObject(received);
    if (redisGetReply(subscriber, (void **)&received) != REDIS_OK) rival_fail("subscriber: %s", subscriber->errstr);
    if (received->type != REDIS_REPLY_ARRAY || received->elements != 3) rival_fail("not a message");
    *size = received->element[2]->len;
    return received->element[2]->str;
}

static void prepare(bool awake, bool stream) {
    (void)awake;
    collect();
    streaming = stream;
}

const rival this_rival = {.name = "redis",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .flush = flush,
                          .prepare = prepare};
