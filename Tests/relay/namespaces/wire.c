// A switch between network namespaces that delays, loses, repeats and reorders frames, and cuts hosts off. It stands
// for the qdisc netem of tc, which not every kernel has.
//
//   wire SEED NAMESPACE…      makes the interface "cable" in each namespace. Prints "ready". Then it takes lines
//                             PORT DELAY JITTER LOSS TWICE   of frames that the host sends: ms, ms, percent, percent
//                             PORT cut                       the host sends and receives nothing
//                             PORT join                      again
//
// Frames with different delays overtake each other. PORT begins with 1. It ends at the end of its standard input.
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PORTS 8
#define FRAME 2048
#define WAITING 32768  // frames; further ones are lost, as in a real switch

typedef struct port {
    int tap;
    bool cut;
    uint64_t delay, jitter;  // ns
    double loss, twice;      // 0 to 1
} port;

typedef struct frame {
    uint64_t due, order;
    int to;
    uint16_t size;
    unsigned char bytes[FRAME];
} frame;

static port ports[PORTS];
static int port_count;
static frame *heap[WAITING];
static size_t waiting;
static uint64_t order;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool before(const frame *a, const frame *b) { return a->due != b->due ? a->due < b->due : a->order < b->order; }

static void push(frame *added) {
    size_t i = waiting++;
    for (; i > 0 && before(added, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = added;
}

static frame *pop(void) {
    frame *first = heap[0], *last = heap[--waiting];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < waiting; i = child) {
        if (child + 1 < waiting && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

static void send_to(const port *from, int to, const unsigned char *bytes, size_t size) {
    if (ports[to].cut || drand48() < from->loss) return;
    const int copies = drand48() < from->twice ? 2 : 1;
    for (int copy = 0; copy < copies; copy++) {
        if (from->delay == 0 && from->jitter == 0) {
            // A full queue of the host loses it.
            if (write(ports[to].tap, bytes, size) < 0 && errno != EAGAIN && errno != EIO) perror("write");
            continue;
        }
        frame *added = waiting < WAITING ? malloc(sizeof *added) : NULL;
        if (!added) return;
        added->due = now() + from->delay + (uint64_t)(drand48() * (double)from->jitter);
        added->order = order++;
        added->to = to;
        added->size = (uint16_t)size;
        memcpy(added->bytes, bytes, size);
        push(added);
    }
}

// Hosts have the hardware address 02:00:00:00:00:PORT; everything else goes to all.
static void forward(int from) {
    unsigned char bytes[FRAME];
    for (int taken = 0; taken < 64; taken++) {
        const ssize_t size = read(ports[from].tap, bytes, sizeof bytes);
        if (size < 14) return;
        if (ports[from].cut) continue;
        const bool known = bytes[0] == 2 && bytes[5] >= 1 && bytes[5] <= port_count;
        for (int to = 0; to < port_count; to++)
            if (to != from && (!known || to == bytes[5] - 1)) send_to(&ports[from], to, bytes, (size_t)size);
    }
}

static void command(const char *line) {
    int number;
    char word[8];
    double delay, jitter, loss, twice;
    if (sscanf(line, "%d %lf %lf %lf %lf", &number, &delay, &jitter, &loss, &twice) == 5 && number >= 1 &&
        number <= port_count) {
        port *p = &ports[number - 1];
        p->delay = (uint64_t)(delay * 1e6);
        p->jitter = (uint64_t)(jitter * 1e6);
        p->loss = loss / 100;
        p->twice = twice / 100;
    } else if (sscanf(line, "%d %7s", &number, word) == 2 && number >= 1 && number <= port_count) {
        ports[number - 1].cut = !strcmp(word, "cut");
    }
}

static int open_port(const char *space, int number) {
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    const int own = open("/proc/self/ns/net", O_RDONLY), there = open(path, O_RDONLY);
    if (own < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0) return -1;
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strcpy(request.ifr_name, "cable");
    int result = tap < 0 ? -1 : ioctl(tap, TUNSETIFF, &request);
    const unsigned char hardware[6] = {2, 0, 0, 0, 0, (unsigned char)number};
    request.ifr_hwaddr.sa_family = 1;
    memcpy(request.ifr_hwaddr.sa_data, hardware, sizeof hardware);
    if (result == 0) result = ioctl(tap, SIOCSIFHWADDR, &request);
    if (setns(own, CLONE_NEWNET) < 0) return -1;
    close(own);
    close(there);
    return result == 0 ? tap : -1;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 2 + PORTS) return 64;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1000ul);
    srand48(atol(argv[1]));
    port_count = argc - 2;
    for (int i = 0; i < port_count; i++)
        if ((ports[i].tap = open_port(argv[2 + i], i + 1)) < 0) {
            printf("can't make an interface in %s: %s\n", argv[2 + i], strerror(errno));
            return 1;
        }
    puts("ready");
    fflush(stdout);
    struct pollfd polled[PORTS + 1];
    for (int i = 0; i < port_count; i++) polled[i] = (struct pollfd){.fd = ports[i].tap, .events = POLLIN};
    polled[port_count] = (struct pollfd){.fd = 0, .events = POLLIN};
    for (;;) {
        struct timespec wait = {0}, *timeout = NULL;
        if (waiting) {
            const uint64_t time = now(), due = heap[0]->due;
            if (due > time)
                wait = (struct timespec){(time_t)((due - time) / 1000000000), (long)((due - time) % 1000000000)};
            timeout = &wait;
        }
        if (ppoll(polled, (nfds_t)port_count + 1, timeout, NULL) < 0 && errno != EINTR) return 1;
        for (int i = 0; i < port_count; i++)
            if (polled[i].revents) forward(i);
        for (const uint64_t time = now(); waiting && heap[0]->due <= time;) {
            frame *due = pop();
            if (!ports[due->to].cut && write(ports[due->to].tap, due->bytes, due->size) < 0 && errno != EAGAIN &&
                errno != EIO)
                perror("write");
            free(due);
        }
        if (polled[port_count].revents) {
            char line[128];
            size_t length = 0;
            while (length < sizeof line - 1 && read(0, line + length, 1) == 1 && line[length] != '\n') length++;
            line[length] = 0;
            if (!length) return 0;
            command(line);
            puts("done");
            fflush(stdout);
        }
    }
}
