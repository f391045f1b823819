// The hand-shake, and extensions in C.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test.h"
#include "tidings_extension.h"

static tidings_center *sealed(const char *name) {
    tidings_configuration configuration = tidings_small_configuration;
    configuration.mode = 0644;
    tidings_center *center;
    CHECK(tidings_create_sealed(name, &configuration, &center) == 0, "%s", tidings_last_error());
    return center;
}

static void post(tidings_center *center, const char *name, const char *text, uint8_t flags) {
    tidings_publisher *publisher;
    CHECK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) == 0 &&
              tidings_post(publisher, text, strlen(text), &(tidings_post_options){.flags = flags}, NULL) == 0,
          "%s", tidings_last_error());
    tidings_publisher_close(publisher);
}

static tidings_observer *observe(tidings_center *center, const char *name) {
    tidings_observer *observer;
    uint32_t subscription;
    CHECK(tidings_observer_open(center, 0, &observer) == 0 &&
              tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription) == 0,
          "%s", tidings_last_error());
    return observer;
}

static void receives(tidings_observer *observer, const char *text) {
    tidings_delivery delivery;
    CHECK(tidings_next(observer, -1, &delivery) == 0, "%s", tidings_last_error());
    CHECK(delivery.size == strlen(text) && memcmp(delivery.payload, text, delivery.size) == 0, "\"%.*s\", not \"%s\"",
          (int)delivery.size, (const char *)delivery.payload, text);
}

static const tidings_grant grants[] = {{TIDINGS_GRANT_POSTS, 5, "liked"}, {TIDINGS_GRANT_OBSERVES, 5, "track"}};

static running start_over(tidings_launcher *launcher, tidings_launch launch, const int sockets[2]) {
    running one = {.launcher = launcher, .socket = sockets[0]};
    launch.input = sockets[1];
    tidings_launch_failure failure;
    const int result = tidings_launcher_start(launcher, &launch, &one.id, &one.pid, &failure);
    CHECK(result == 0, "can't %s %s: %s", failure.step, failure.path, strerror(-result));
    (void)close(sockets[1]);
    return one;
}

static void takes_part(tidings_launch launch) {
    tidings_launcher *launcher = opened();
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    tidings_center *private_center = sealed("private"), *broadcast = sealed("broadcast");
    post(private_center, "configuration", "blue", TIDINGS_POST_RETAIN);
    tidings_observer *liked = observe(private_center, "liked"), *forbidden = observe(private_center, "forbidden"),
                     *ungranted = observe(private_center, TIDINGS_EXTENSION_UNGRANTED);
    EXPECT(0, tidings_handshake_hello_send(sockets[0], grants, 2, true));
    EXPECT(0, tidings_send(private_center, sockets[0], 0));
    EXPECT(0, tidings_send(broadcast, sockets[0], TIDINGS_SEND_READ_ONLY));
    const running one = start_over(launcher, launch, sockets);
    tidings_answer answer;
    EXPECT(0, tidings_handshake_answer_receive(one.socket, -1, &answer));
    CHECK(answer.version == TIDINGS_HANDSHAKE_VERSION && answer.status == 0, "%u, %u", answer.version, answer.status);
    receives(liked, "blue");
    post(broadcast, "track", "So What", 0);
    receives(liked, "So What");
    tidings_delivery delivery;
    EXPECT(-EAGAIN, tidings_next(forbidden, 0, &delivery));
    EXPECT(0, tidings_next(ungranted, -1, &delivery));
    CHECK(strcmp(delivery.subject, "forbidden") == 0 && delivery.size == 0, "\"%s\", %zu", delivery.subject,
          delivery.size);
    EXPECT(-ETIMEDOUT, tidings_handshake_answer_receive(one.socket, 0, &answer));
    (void)close(one.socket);
    exited(&one, 0);
    tidings_launcher_close(launcher);
    tidings_observer_close(liked);
    tidings_observer_close(forbidden);
    tidings_observer_close(ungranted);
    tidings_close(private_center);
    tidings_close(broadcast);
}

void an_extension_in_c_takes_part(void) { takes_part(LAUNCH("extension")); }

void an_extension_behind_a_wrapper_script_takes_part(void) {
    tidings_launch launch = LAUNCH("-c", "\"$0\" extension; exit $?", peer);
    launch.arguments = (const char *const[]){"sh", "-c", "\"$0\" extension; exit $?", peer, NULL};
    launch.executable = "/bin/sh";
    takes_part(launch);
}

void an_extension_without_a_grant_to_observe_has_no_broadcast_center(void) {
    tidings_launcher *launcher = opened();
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    tidings_center *private_center = sealed("private");
    EXPECT(0, tidings_handshake_hello_send(sockets[0], grants, 1, false));
    EXPECT(0, tidings_send(private_center, sockets[0], 0));
    const running one = start_over(launcher, LAUNCH("extension-alone"), sockets);
    tidings_answer answer;
    EXPECT(0, tidings_handshake_answer_receive(one.socket, -1, &answer));
    CHECK(answer.status == 0, "%u", answer.status);
    (void)close(one.socket);
    exited(&one, 0);
    tidings_launcher_close(launcher);
    tidings_close(private_center);
}

static void notice(tidings_observer *observer, int event) {
    tidings_delivery delivery;
    tidings_presence presence;
    EXPECT(0, tidings_next(observer, -1, &delivery));
    EXPECT(0, tidings_presence_read(&delivery, &presence));
    CHECK(presence.event == event && strcmp(presence.role, TIDINGS_HANDSHAKE_ROLE_WITH_WILL) == 0, "%d of \"%s\"",
          presence.event, presence.role);
}

void the_last_will_of_an_extension_comes_after_its_death_alone(void) {
    tidings_launcher *launcher = opened();
    for (int dies = 0; dies < 2; dies++) {
        int sockets[2];
        EXPECT(0, tidings_handshake_sockets(sockets));
        tidings_center *private_center = sealed("private");
        EXPECT(0, tidings_presence_watch(private_center));
        tidings_observer *liked = observe(private_center, "liked");
        tidings_observer *presence = observe(private_center, TIDINGS_PRESENCE_NAME);
        EXPECT(0, tidings_handshake_hello_send(sockets[0], grants, 1, false));
        EXPECT(0, tidings_send(private_center, sockets[0], 0));
        const running one = start_over(launcher, dies ? LAUNCH("extension-will:die") : LAUNCH("extension-will:close"),
                                       sockets);
        notice(presence, TIDINGS_PRESENCE_JOINED);
        notice(presence, dies ? TIDINGS_PRESENCE_DIED : TIDINGS_PRESENCE_CLOSED);
        receives(liked, "lived");
        if (dies)
            receives(liked, "died");
        else
            post(private_center, "liked", "closed", 0), receives(liked, "closed");
        if (dies)
            killed(&one, SIGKILL);
        else
            exited(&one, 0);
        (void)close(one.socket);
        tidings_observer_close(liked);
        tidings_observer_close(presence);
        tidings_close(private_center);
    }
    tidings_launcher_close(launcher);
}

// A hello or answer of another version, as its first 12 bytes are.
static void send_version(int socket, uint32_t version, size_t length) {
    int copy[2];
    char bytes[256] = {0};
    EXPECT(0, tidings_handshake_sockets(copy));
    EXPECT(0, tidings_handshake_answer_send(copy[0], 0));
    CHECK(recv(copy[1], bytes, sizeof bytes, 0) == 16, "%s", strerror(errno));
    memcpy(bytes + 8, &version, sizeof version);
    CHECK(send(socket, bytes, length, 0) == (ssize_t)length, "%s", strerror(errno));
    (void)close(copy[0]);
    (void)close(copy[1]);
}

void hosts_and_extensions_of_other_versions_learn_it(void) {
    tidings_launcher *launcher = opened();
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    send_version(sockets[0], 4711, 200);
    const running one = start_over(launcher, LAUNCH("extension"), sockets);
    tidings_answer answer;
    EXPECT(0, tidings_handshake_answer_receive(one.socket, -1, &answer));
    CHECK(answer.version == TIDINGS_HANDSHAKE_VERSION && answer.status == EPROTO, "%u, %u", answer.version,
          answer.status);
    exited(&one, 30);
    tidings_launcher_close(launcher);
    EXPECT(0, tidings_handshake_sockets(sockets));
    tidings_hello hello;
    send_version(sockets[0], 4711, 12);
    EXPECT(-EPROTO, tidings_handshake_hello_receive(sockets[1], &hello));
    CHECK(hello.version == 4711 && !hello.grants, "%u", hello.version);
    send_version(sockets[1], 4711, 13);
    EXPECT(0, tidings_handshake_answer_receive(sockets[0], -1, &answer));
    CHECK(answer.version == 4711 && answer.status == EPROTO, "%u, %u", answer.version, answer.status);
}

void an_extension_without_a_host_says_so(void) {
    int line[2];
    CHECK(pipe(line) == 0, "%s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_RDONLY), 0);
        (void)dup2(line[1], 2);
        (void)execl(peer, "peer", "extension", NULL);
        _exit(1);
    }
    (void)close(line[1]);
    const char expected[] =
        "can't receive from the host over descriptor 0: Socket operation on non-socket; let a host start this program "
        "as its extension, and open the extension once\n";
    char text[512] = {0};
    const ssize_t got = read(line[0], text, sizeof text - 1);
    CHECK(got > 0 && strcmp(text, expected) == 0, "%s", text);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 31, "%#x", (unsigned)status);
}

void an_extension_learns_the_end_of_its_host(void) {
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    tidings_hello hello;
    (void)close(sockets[0]);
    EXPECT(-ECONNRESET, tidings_handshake_hello_receive(sockets[1], &hello));
    EXPECT(-EPIPE, tidings_handshake_answer_send(sockets[1], 0));
    EXPECT(0, tidings_handshake_sockets(sockets));
    (void)close(sockets[1]);
    tidings_answer answer;
    EXPECT(-ECONNRESET, tidings_handshake_answer_receive(sockets[0], -1, &answer));
    EXPECT(-EPIPE, tidings_handshake_hello_send(sockets[0], grants, 2, false));
}

static void send_and_free_grants(const int sockets[2], const void *bytes, size_t length) {
    CHECK(send(sockets[0], bytes, length, 0) == (ssize_t)length, "%s", strerror(errno));
    tidings_hello hello;
    const int result = tidings_handshake_hello_receive(sockets[1], &hello);
    CHECK(result == 0 || result == -EBADMSG || result == -EPROTO, "%d", result);
    size_t sum = 0;
    for (size_t i = 0; i < hello.grant_count; i++)
        for (int k = 0; k < hello.grants[i].name_length; k++) sum += (unsigned char)hello.grants[i].name[k];
    CHECK(sum < SIZE_MAX, "every byte can be read");
    free((void *)hello.grants);
    CHECK(send(sockets[1], bytes, length, 0) == (ssize_t)length, "%s", strerror(errno));
    tidings_answer answer;
    const int answered = tidings_handshake_answer_receive(sockets[0], -1, &answer);
    CHECK(answered == 0 || answered == -EBADMSG, "%d", answered);
}

void rubbish_in_a_hand_shake_is_refused(void) {
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    EXPECT(0, tidings_handshake_hello_send(sockets[0], grants, 2, true));
    unsigned char right[256], bytes[256];
    const ssize_t length = recv(sockets[1], right, sizeof right, 0);
    CHECK(length == 24 + 7 + 7, "%zd bytes", length);
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, right, sizeof bytes);
        // Behind the magic as a rule: without it nothing else is looked at.
        for (uint64_t left = 1 + random_below(4); left > 0; left--)
            bytes[random_below(10) ? 12 + random_below((uint64_t)length - 12) : random_below((uint64_t)length)] =
                (unsigned char)random_below(256);
        send_and_free_grants(sockets, bytes, random_below(4) ? (size_t)length : 1 + random_below(sizeof bytes));
    }
    // Each end within the message.
    for (size_t size = 1; size < (size_t)length; size++) {
        CHECK(send(sockets[0], right, size, 0) == (ssize_t)size, "%s", strerror(errno));
        tidings_hello hello;
        EXPECT(-EBADMSG, tidings_handshake_hello_receive(sockets[1], &hello));
    }
    // Longer than promised.
    char *large = calloc(1, TIDINGS_HANDSHAKE_BYTES_MAX + 100);
    memcpy(large, right, (size_t)length);
    CHECK(send(sockets[0], large, TIDINGS_HANDSHAKE_BYTES_MAX + 100, 0) > 0, "%s", strerror(errno));
    tidings_hello hello;
    EXPECT(-EBADMSG, tidings_handshake_hello_receive(sockets[1], &hello));
    free(large);
    // Descriptors with an answer are closed: the pipe reads its end.
    int pipe_[2];
    CHECK(pipe(pipe_) == 0, "%s", strerror(errno));
    union {
        struct cmsghdr aligned;
        char bytes[CMSG_SPACE(sizeof(int))];
    } space = {0};
    struct iovec part = {right, 16};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
    *CMSG_FIRSTHDR(&message) =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &pipe_[1], sizeof(int));
    CHECK(sendmsg(sockets[1], &message, 0) == 16, "%s", strerror(errno));
    (void)close(pipe_[1]);
    tidings_answer answer;
    EXPECT(0, tidings_handshake_answer_receive(sockets[0], -1, &answer));
    CHECK(read(pipe_[0], &(char){0}, 1) == 0, "%s", strerror(errno));
}

void grants_that_do_not_fit_are_refused(void) {
    int sockets[2];
    EXPECT(0, tidings_handshake_sockets(sockets));
    enum { MANY = 300 };
    static char names[MANY][256];
    static tidings_grant many[MANY];
    for (int i = 0; i < MANY; i++) {
        memset(names[i], 'x', 255);
        many[i] = (tidings_grant){TIDINGS_GRANT_SERVES, 255, names[i]};
    }
    EXPECT(-E2BIG, tidings_handshake_hello_send(sockets[0], many, MANY, false));
    const size_t most = (TIDINGS_HANDSHAKE_BYTES_MAX - 24) / 257;
    EXPECT(0, tidings_handshake_hello_send(sockets[0], many, most, false));
    tidings_hello hello;
    EXPECT(0, tidings_handshake_hello_receive(sockets[1], &hello));
    CHECK(hello.grant_count == most && hello.grants[most - 1].name_length == 255 && !hello.has_broadcast, "%zu",
          hello.grant_count);
    free((void *)hello.grants);
    EXPECT(-EINVAL, tidings_handshake_hello_send(sockets[0], &(tidings_grant){TIDINGS_GRANT_POSTS, 0, ""}, 1, false));
    EXPECT(-EINVAL, tidings_handshake_hello_send(sockets[0], &(tidings_grant){9, 1, "x"}, 1, false));
    EXPECT(0, tidings_handshake_hello_send(sockets[0], NULL, 0, true));
    EXPECT(0, tidings_handshake_hello_receive(sockets[1], &hello));
    CHECK(hello.grant_count == 0 && hello.has_broadcast, "%zu", hello.grant_count);
    free((void *)hello.grants);
}
