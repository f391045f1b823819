// Centers without a file, handed over a socket.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "foreign.h"
#include "privileges.h"

static int ends[2];
static tidings_center *center;

static void connect_ends(void) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "%s", strerror(errno));
}

static void create(uint32_t mode) {
    OK(tidings_create_sealed("handed", &(tidings_configuration){.slots = 256, .mode = mode}, &center));
    keep(center);
    CHECK(files_there() == 0, "it has a file");
}

static void begin(uint32_t mode) {
    connect_ends();
    create(mode);
}

static tidings_center *received(void) {
    tidings_center *handed;
    OK(tidings_receive(ends[1], &handed));
    keep(handed);
    return handed;
}

static void answers(tidings_center *handed) {
    works(handed);
    post_number(publisher_of(handed, "answer"), (uint32_t)getpid());
}

static void receives_and_answers(void) {
    tidings_center *handed = received();
    answers(handed);
    // A child of its own goes on with it, and so does another one that it hands it to.
    const pid_t child = fork();
    if (child == 0) {
        answers(handed);
        _exit(0);
    }
    ends_well(child);
    OK(tidings_send(handed, ends[0], 0));
    answers(received());
}

static void dies_with_a_place(void) {
    (void)observer_with(received(), NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    kill(getpid(), SIGKILL);
}

// Each participant has a lock of its own, though their descriptors came from one.
void a_sealed_center_goes_from_hand_to_hand(void) {
    const uint32_t modes[] = {0600, 0644};
    for (int i = 0; i < 2; i++) {
        begin(modes[i]);
        tidings_observer *observer = observer_of(center, "answer");
        OK(tidings_send(center, ends[0], 0));
        const pid_t peer = start(receives_and_answers);
        const tidings_delivery first = receive(observer), second = receive(observer), third = receive(observer);
        CHECK(first.size == 8 && second.size == 8 && third.size == 8, "answers");
        ends_well(peer);
        OK(tidings_send(center, ends[0], 0));
        int status;
        const pid_t dying = start(dies_with_a_place);
        CHECK(waitpid(dying, &status, 0) == dying && WIFSIGNALED(status), "it lives");
        tidings_publisher *publisher = publisher_of(center, NAME);
        for (uint32_t n = 0; n < 600; n++)
            OK(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL));
        CHECK(tidings_reclaim(center) >= 0, "reclaiming");
        CHECK(statistics_of(center).participants == 1, "%u participants", statistics_of(center).participants);
        CHECK(strcmp(tidings_path(center), "/memfd:handed") == 0, "%s", tidings_path(center));
    }
}

static void reads_what_it_was_handed(void) {
    become(ANOTHER_USER);
    tidings_center *handed = received();
    tidings_observer *observer = observer_of(handed, NAME);
    // A received descriptor leads no further than it was opened for.
    for (int fd = 3; fd < 64; fd++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        struct stat status;
        if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid == ANOTHER_USER) continue;
        CHECK(open(path, O_RDWR | O_CLOEXEC) < 0, "descriptor %d can be opened for writing", fd);
        CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED,
              "descriptor %d can be mapped for writing", fd);
        CHECK(ftruncate(fd, 0) != 0 && fchmod(fd, 0666) != 0, "descriptor %d can be changed", fd);
    }
    REFUSED(tidings_post(publisher_of(handed, NAME), "x", 1, NULL, NULL), EACCES, "for reading alone");
    REFUSED(tidings_send(handed, ends[0], 0), EACCES, "for reading alone");
    CHECK(write(ends[1], "r", 1) == 1, "%s", strerror(errno));
    for (uint32_t i = 0; i < 100; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u", stamp_of(&delivery).number);
    }
}

void a_process_given_a_center_to_read_can_do_no_more(void) {
    connect_ends();
    const pid_t peer = start(reads_what_it_was_handed);  // before there is anything to inherit
    create(0644);
    OK(tidings_send(center, ends[0], TIDINGS_SEND_READ_ONLY));
    char ready;
    CHECK(read(ends[0], &ready, 1) == 1, "%s", strerror(errno));
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < 100; i++) post_number(publisher, i);
    ends_well(peer);
    begin(0600);
    REFUSED(tidings_send(center, ends[0], TIDINGS_SEND_READ_ONLY), EACCES, "create it with mode");
}

// Tries every descriptor of the center, also in a process with write access.
void no_process_can_cut_a_sealed_center_short(void) {
    begin(0644);
    OK(tidings_send(center, ends[0], 0));
    tidings_center *handed = received();
    uint32_t tried = 0;
    for (int fd = 3; fd < 64; fd++) {
        struct stat status;
        if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 0) continue;
        CHECK(ftruncate(fd, status.st_size / 2) != 0 && ftruncate(fd, status.st_size * 2) != 0 && ftruncate(fd, 0) != 0,
              "descriptor %d can be cut short", fd);
        CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0, "descriptor %d can be sealed further", fd);
        tried++;
    }
    CHECK(tried >= 4, "%u descriptors", tried);
    works(center);
    works(handed);
}

static void lives_with_holes(void) {
    tidings_center *handed = received();
    works(handed);
    OK(tidings_send(handed, ends[1], 0));
    char punched;
    while (read(ends[1], &punched, 1) != 1 || punched != 'p') {}
    // Whatever comes of it, it is no signal.
    tidings_observer *observer;
    uint32_t subscription;
    if (tidings_observer_open(handed, 0, &observer) != 0) return;
    (void)tidings_observer_add(observer, NAME, strlen(NAME), NULL, 0, 0, &subscription);
    tidings_publisher *publisher = publisher_of(handed, NAME);
    static uint8_t bytes[50000];
    tidings_delivery delivery;
    for (uint32_t i = 0; i < 1000; i++) {
        (void)tidings_post(publisher, bytes, i % 2 ? 8 : sizeof bytes, NULL, NULL);
        (void)tidings_next(observer, 0, &delivery);
    }
}

// Holes can be punched; they read as zeros.
void holes_in_a_sealed_center_kill_no_process(void) {
    begin(0644);
    OK(tidings_send(center, ends[0], 0));
    const pid_t peer = start(lives_with_holes);
    tidings_center *back;
    OK(tidings_receive(ends[0], &back));
    tidings_close(back);
    for (int fd = 3; fd < 64; fd++) {
        struct stat status;
        if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 0) continue;
        CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size) == 0, "%s", strerror(errno));
    }
    CHECK(write(ends[0], "p", 1) == 1, "%s", strerror(errno));
    ends_well(peer);
}

static void sends(const void *bytes, size_t length, int fd, int count) {
    union {
        struct cmsghdr aligned;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } space;
    memset(&space, 0, sizeof space);
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &space;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        *rights = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN((size_t)count * sizeof(int))};
        for (int i = 0; i < count; i++) memcpy(CMSG_DATA(rights) + (size_t)i * sizeof(int), &fd, sizeof fd);
    }
    CHECK(sendmsg(ends[0], &message, 0) == (ssize_t)length, "%s", strerror(errno));
}

static uint32_t open_descriptors(void) {
    uint32_t count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

// Rubbish, too many and too few descriptors, memory that isn't sealed, or is no center; nothing of it stays open.
void what_is_no_center_is_refused_on_arrival(void) {
    begin(0600);
    // The message of a true center, to go with false descriptors.
    struct {
        uint8_t bytes[512];
        size_t length;
    } true_message;
    OK(tidings_send(center, ends[0], 0));
    const ssize_t got = recv(ends[1], true_message.bytes, sizeof true_message.bytes, 0);
    CHECK(got > 0, "%s", strerror(errno));
    true_message.length = (size_t)got;
    int plain = memfd_create("plain", MFD_CLOEXEC), sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(plain >= 0 && sealed >= 0 && ftruncate(plain, 1 << 20) == 0 && ftruncate(sealed, 1 << 20) == 0, "%s",
          strerror(errno));
    CHECK(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "%s", strerror(errno));
    const uint32_t before = open_descriptors();
    tidings_center *none = (void *)1;
    for (int count = 0; count <= 8; count++) {
        const int fds[] = {plain, sealed, ends[0]};
        for (int which = 0; which < 3; which++) {
            if (count == 0 && which > 0) continue;
            sends(true_message.bytes, true_message.length, fds[which], count);
            if (count == 0)
                REFUSED(tidings_receive(ends[1], &none), EBADMSG, "is none");
            else if (count > 4)
                REFUSED(tidings_receive(ends[1], &none), EMSGSIZE, "receiving");
            else if (count == 4)
                REFUSED(tidings_receive(ends[1], &none), EBADMSG, "is none");
            else if (which == 1)
                REFUSED(tidings_receive(ends[1], &none), EBADMSG, "is not a center");
            else
                REFUSED(tidings_receive(ends[1], &none), EPERM, "isn't sealed");
            CHECK(none == NULL, "a handle all the same");
        }
    }
    uint8_t rubbish[512];
    for (uint32_t i = 0; i < 100; i++) {
        random_bytes(rubbish, sizeof rubbish);
        memcpy(rubbish, true_message.bytes, random_below(24));
        sends(rubbish, i % 3 ? true_message.length : 1 + random_below(sizeof rubbish), sealed, 1);
        CHECK(tidings_receive(ends[1], &none) < 0, "it is taken for a center");
        uint8_t rest[1024];
        while (recv(ends[1], rest, sizeof rest, MSG_DONTWAIT) > 0) {}
    }
    CHECK(open_descriptors() == before, "%u descriptors instead of %u", open_descriptors(), before);
    REFUSED(tidings_receive(plain, &none), ENOTSOCK, "connected Unix socket");
    REFUSED(tidings_send(center, plain, 0), ENOTSOCK, "connected Unix socket");
    REFUSED(tidings_send(join_center(256), ends[0], 0), EINVAL, "it is a file");
    CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0, "%s", strerror(errno));
    REFUSED(tidings_receive(ends[1], &none), EAGAIN, "receiving");
    close(ends[0]);
    REFUSED(tidings_receive(ends[1], &none), ECONNRESET, "was closed");
    REFUSED(tidings_send(center, ends[1], 0), EPIPE, "connected Unix socket");
}

// Its sender chooses the size, and its receiver how much of that it takes.
void a_receiver_limits_the_size_of_a_sealed_center(void) {
    begin(0600);
    const uint64_t size = statistics_of(center).file_size;
    tidings_center *none;
    OK(tidings_send(center, ends[0], 0));
    REFUSED(tidings_receive_at_most(ends[1], size - 1, &none), EFBIG, "raise the receiver's limit");
    OK(tidings_send(center, ends[0], 0));
    OK(tidings_receive_at_most(ends[1], size, &none));
    works(none);
    tidings_close(none);
    OK(tidings_create_sealed("large", &(tidings_configuration){.maximum_payload = TIDINGS_RECEIVE_MAX}, &center));
    keep(center);
    CHECK(statistics_of(center).file_size > TIDINGS_RECEIVE_MAX, "it isn't large");
    OK(tidings_send(center, ends[0], 0));
    REFUSED(tidings_receive(ends[1], &none), EFBIG, "raise the receiver's limit");
    OK(tidings_send(center, ends[0], 0));
    OK(tidings_receive_at_most(ends[1], UINT64_MAX, &none));
    tidings_close(none);
}
