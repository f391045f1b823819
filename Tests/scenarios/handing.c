// What else happens in the processes between which a center is handed.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "foreign.h"

static int ends[2];
static tidings_center *center;
static uint64_t *filled;

static void begin(uint32_t mode) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "%s", strerror(errno));
    OK(tidings_create_sealed("handed", &(tidings_configuration){.slots = 256, .mode = mode}, &center));
    keep(center);
}

// What it prints must not end in the center.
static void receives_without_standard_descriptors(void) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    tidings_center *handed;
    OK(tidings_receive(ends[1], &handed));
    CHECK(fcntl(STDIN_FILENO, F_GETFD) < 0 && fcntl(STDOUT_FILENO, F_GETFD) < 0,
          "a standard descriptor is the center's");
    works(handed);
    tidings_close(handed);
}

void a_received_center_takes_no_standard_descriptor(void) {
    const uint32_t modes[] = {0600, 0644};
    for (uint32_t i = 0; i < 2; i++) {
        begin(modes[i]);
        OK(tidings_send(center, ends[0], 0));
        ends_well(start(receives_without_standard_descriptors));
        works(center);
    }
}

// Its socket says more of each message than was asked for.
void a_center_is_received_with_credentials(void) {
    begin(0644);
    const int on = 1;
    CHECK(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0, "%s", strerror(errno));
    OK(tidings_send(center, ends[0], 0));
    tidings_center *handed;
    OK(tidings_receive(ends[1], &handed));
    works(handed);
    tidings_close(handed);
}

void a_process_with_too_many_open_files_is_told_so(void) {
    begin(0644);
    OK(tidings_send(center, ends[0], 0));
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    const int next = dup(ends[0]);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)next + 2;  // room for two of three
    close(next);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    tidings_center *handed;
    REFUSED(tidings_receive(ends[1], &handed), EMFILE, "ulimit -n");
    limit.rlim_cur = before;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "%s", strerror(errno));
    CHECK(dup(ends[0]) == next, "something stayed open");
}

static void dies_of_what_it_received(void) {
    for (uint8_t bytes[4096]; *filled > 0;) {
        const ssize_t got = read(ends[1], bytes, *filled < sizeof bytes ? *filled : sizeof bytes);
        CHECK(got > 0, "%s", strerror(errno));
        *filled -= (uint64_t)got;
    }
    tidings_center *handed;
    OK(tidings_receive(ends[1], &handed));
    (void)observer_with(handed, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    kill(getpid(), SIGKILL);
}

static _Atomic pid_t sender;

static void *sends(void *argument) {
    (void)argument;
    atomic_store(&sender, gettid());
    OK(tidings_send(center, ends[0], 0));
    return NULL;
}

static pipe_pair finish, ready;

static void lives_on(void) {
    tell(&ready);
    told(&finish);
}

// Forked while the descriptors that are to be the peer's were open in its parent, in a send that waits.
void a_child_of_the_sender_keeps_no_receiver_alive(void) {
    filled = shared_memory(4096);
    const uint32_t modes[] = {0600, 0644};
    for (uint32_t i = 0; i < 2; i++) {
        begin(modes[i]);
        finish = pipe_open();
        ready = pipe_open();
        CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "%s", strerror(errno));
        *filled = 0;
        for (ssize_t put; (put = write(ends[0], (uint8_t[4096]){0}, 4096)) > 0;) *filled += (uint64_t)put;
        while (write(ends[0], "", 1) == 1) ++*filled;
        CHECK(fcntl(ends[0], F_SETFL, 0) == 0, "%s", strerror(errno));
        pthread_t thread;
        atomic_store(&sender, 0);
        OK(pthread_create(&thread, NULL, sends, NULL));
        while (atomic_load(&sender) == 0 || thread_state(getpid(), atomic_load(&sender)) != 'S') usleep(50);
        const pid_t child = start(lives_on), peer = start(dies_of_what_it_received);
        // It gives them up as soon as it runs.
        told(&ready);
        int status;
        CHECK(waitpid(peer, &status, 0) == peer && WIFSIGNALED(status), "it lives");
        pthread_join(thread, NULL);
        CHECK(tidings_reclaim(center) == 1, "it is taken for alive");
        CHECK(statistics_of(center).participants == 1, "%u participants", statistics_of(center).participants);
        tell(&finish);
        ends_well(child);
    }
}

static void *hands_to_itself(void *argument) {
    while (atomic_load((_Atomic bool *)argument)) {
        tidings_center *handed;
        OK(tidings_send(center, ends[0], 0));
        OK(tidings_receive(ends[1], &handed));
        tidings_close(handed);
    }
    return NULL;
}

static void has_only_what_it_knows_of(void) {
    uint32_t count = 0;
    struct stat status;
    for (int fd = 3; fd < 64; fd++) count += fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
    // The center's, and that of the one that may just have been received.
    CHECK(count <= 2, "%u descriptors of the center", count);
}

// Forked at any moment of handing.
void a_forked_child_inherits_nothing_that_is_on_its_way(void) {
    begin(0600);
    _Atomic bool going = true;
    pthread_t thread;
    OK(pthread_create(&thread, NULL, hands_to_itself, &going));
    for (uint32_t round = 0; round < ROUNDS(300); round++) ends_well(start(has_only_what_it_knows_of));
    atomic_store(&going, false);
    pthread_join(thread, NULL);
}
