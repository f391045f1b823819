// POSIX message queues, one each way, as long and as wide as an ordinary user may have them. A full one holds the
// sender back.
#include "rival.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LONGEST = 8192, DEPTH = 10 };  // the defaults of /proc/sys/fs/mqueue

static mqd_t queues[2], mine, theirs;

static const char *version(void) {
    static struct utsname found;
    return uname(&found) == 0 ? found.release : "?";
}

// Both sides inherit them, so that their names needn't stay.
static void start(void) {
    for (int i = 0; i < 2; i++) {
        char name[64];
        struct mq_attr attributes = {.mq_maxmsg = DEPTH, .mq_msgsize = LONGEST};
        snprintf(name, sizeof name, "/tidings-rival.%d.%d", (int)getpid(), i);
        queues[i] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        rival_try(queues[i] != (mqd_t)-1, "create a message queue");
        mq_unlink(name);
    }
}

static void open_side(int side) {
    mine = queues[side];
    theirs = queues[1 - side];
}

static void send_one(const void *bytes, size_t size) { rival_try(mq_send(theirs, bytes, size, 0) == 0, "mq_send"); }

static const void *receive(size_t *size) {
    static char bytes[LONGEST] __attribute__((aligned(64)));
    ssize_t count = mq_receive(mine, bytes, sizeof bytes, NULL);
    rival_try(count >= 0, "mq_receive");
    *size = (size_t)count;
    return bytes;
}

const rival this_rival = {.name = "mqueue",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .maximum = LONGEST};
