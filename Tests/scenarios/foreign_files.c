// What has a center's name and isn't one that we can use: refused in one line, and left as it was.
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "foreign.h"
#include "present.h"
#include "requesting.h"
#include "segment/layout.h"

// Whatever is asked of it.
static void refused_as_no_center(const char *word) {
    const char *path = center_path();
    const print before = print_of(path);
    REFUSED(try_open(0), EBADMSG, word);
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), EBADMSG, word);
    REFUSED(try_open(TIDINGS_OPEN_EXCLUSIVE), EEXIST, "scenario");
    REFUSED(tidings_remove("scenario", NULL), EBADMSG, word);
    same_print(&before, path);
    CHECK(files_there() <= 2, "%u files", files_there());
}

void files_that_are_no_centers_are_refused_and_left_alone(void) {
    static const size_t lengths[] = {0, 1, 7, 8, 100, 4095, 4096, 8191, 8192, 8193, 100000, 3 << 20};
    uint8_t *bytes = calloc(1, 3 << 20);
    for (int random = 0; random < 2; random++) {
        if (random) random_bytes(bytes, 3 << 20);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            make_file(center_path(), bytes, lengths[i]);
            refused_as_no_center("is not a center");
        }
    }
    // Begun like one, and ended before its header does.
    const uint64_t magic = TIDINGS__MAGIC;
    memcpy(bytes, &magic, sizeof magic);
    for (size_t length = 8; length < sizeof(tidings__header); length = length * 3 + 1) {
        make_file(center_path(), bytes, length);
        refused_as_no_center("is not a center");
    }
    free(bytes);
    CHECK(unlink(center_path()) == 0, "%s", strerror(errno));
    works(join_center(256));
}

static void make_center(void) {
    tidings_center *center = join_center(256);
    works(center);
    tidings_close(center);
}

void a_center_of_another_length_is_refused(void) {
    make_center();
    struct stat status;
    CHECK(stat(center_path(), &status) == 0, "%s", strerror(errno));
    const off_t size = status.st_size, lengths[] = {size + 1,    size + 4096, size,   size - 1,
                                                    size - 4096, size / 2,    100000, sizeof(tidings__header)};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        CHECK(truncate(center_path(), lengths[i]) == 0, "%s", strerror(errno));
        if (lengths[i] == size)
            OK(try_open(0));
        else
            refused_as_no_center("damaged");
    }
    // Its head cut off as well.
    for (off_t length = sizeof(tidings__header) - 1; length > 0; length /= 3) {
        CHECK(truncate(center_path(), length) == 0, "%s", strerror(errno));
        refused_as_no_center("is not a center");
    }
}

static const uint32_t versions[] = {8, TIDINGS__FORMAT_VERSION + 0x10000, 1000, UINT32_MAX};

// Programs of other versions, and of another layout, are refused, and change nothing.
static void others_are_refused(void) {
    for (size_t i = 0; i <= sizeof versions / sizeof versions[0]; i++) {
        const bool other_layout = i == sizeof versions / sizeof versions[0];
        const uint64_t offset = other_layout ? offsetof(tidings__header, layout_stamp)
                                             : offsetof(tidings__header, version);
        uint32_t own, other;
        read_file(center_path(), offset, &own, sizeof own);
        other = other_layout ? own ^ 1 : versions[i];
        overwrite(center_path(), offset, &other, sizeof other);
        const print before = print_of(center_path());
        char number[32];
        if (other_layout)
            snprintf(number, sizeof number, "%08x", other);
        else
            snprintf(number, sizeof number, "version %u.%u,", other >> 16, other & UINT16_MAX);
        REFUSED(try_open(0), EPROTO, number);
        REFUSED(try_open(TIDINGS_OPEN_EXISTING), EPROTO, number);
        REFUSED(try_open(TIDINGS_OPEN_EXCLUSIVE), EEXIST, "scenario");
        same_print(&before, center_path());
        overwrite(center_path(), offset, &own, sizeof own);
        OK(try_open(TIDINGS_OPEN_EXISTING));
    }
}

void a_center_of_another_version_is_refused_and_can_be_removed(void) {
    make_center();
    others_are_refused();
    overwrite(center_path(), offsetof(tidings__header, version), &versions[1], sizeof versions[1]);
    OK(tidings_remove("scenario", NULL));
    works(join_center(256));
}

static void serves_and_leaves_a_will(void) {
    tidings_center *own = join_center(0);
    announce(own, 1, true);
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    const tidings_request request = next_new(server);
    tell(&ready);
    told(&go);
    echo(server, &request);
    for (;;) pause();
}

void programs_of_another_version_disturb_no_participant_and_no_call(void) {
    begin_requests(256);
    attend(center);
    const pid_t pid = start(serves_and_leaves_a_will);
    told(&ready);
    until_joined(1);
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(caller, 7, 0);
    told(&ready);
    others_are_refused();
    tell(&go);
    const tidings_outcome outcome = outcome_of(caller, id);
    CHECK(outcome.error == 0 && number_of(outcome.payload, outcome.size) == 7, "%d", outcome.error);
    kill_and_reap(pid);
    until_left(1, true);
    while (seen.wills[1] == 0) attend_next(-1);
    attend_all();
    CHECK(seen.joined[1] == 1 && seen.died[1] == 1 && seen.wills[1] == 1 && seen.closed[1] == 0,
          "joined %u times, died %u times, %u wills", seen.joined[1], seen.died[1], seen.wills[1]);
}

// Any part of what opening relies on, overwritten at random: refused, or it makes no difference.
void a_center_with_a_damaged_head_is_refused(void) {
    make_center();
    uint8_t whole[offsetof(tidings__header, shape) + sizeof(tidings__shape)];
    read_file(center_path(), 0, whole, sizeof whole);
    uint32_t refusals = 0;
    for (uint32_t round = 0; round < ROUNDS(1000); round++) {
        uint8_t garbage[8];
        random_bytes(garbage, sizeof garbage);
        const size_t length = 1 + random_below(sizeof garbage), offset = random_below(sizeof whole - length + 1);
        // Small values too, as sizes they are likelier to be believed.
        if (round % 3 == 0 && length > 1) memset(garbage + 1, 0, sizeof garbage - 1);
        overwrite(center_path(), offset, garbage, length);
        const int result = try_open(0);
        CHECK(result == 0 || result == -EBADMSG || result == -EPROTO, "round %u, %zu bytes at %zu: %d", round, length,
              offset, result);
        refusals += result != 0;
        overwrite(center_path(), 0, whole, sizeof whole);
    }
    CHECK(refusals > 0, "none was noticed");
    works(join_center(0));
}

void links_pipes_sockets_and_directories_are_refused(void) {
    const char *path = center_path();
    // To a center, to a file, to nothing that would then be made.
    const char *targets[] = {"elsewhere", "file", "nothing"};
    make_center();
    char elsewhere[512];
    snprintf(elsewhere, sizeof elsewhere, "%s", path_of("elsewhere"));
    CHECK(rename(path, elsewhere) == 0, "%s", strerror(errno));
    make_file(path_of("file"), "precious", 8);
    const print center = print_of(elsewhere), file = print_of(path_of("file"));
    for (int i = 0; i < 3; i++) {
        CHECK(symlink(targets[i], path) == 0, "%s", strerror(errno));
        const print before = print_of(path);
        REFUSED(try_open(0), EBADMSG, "symbolic link");
        REFUSED(try_open(TIDINGS_OPEN_EXISTING), EBADMSG, "symbolic link");
        REFUSED(try_open(TIDINGS_OPEN_EXCLUSIVE), EEXIST, "scenario");
        REFUSED(tidings_remove("scenario", NULL), EBADMSG, "symbolic link");
        same_print(&before, path);
        same_print(&center, elsewhere);
        same_print(&file, path_of("file"));
        CHECK(files_there() == 3, "%u files", files_there());
        CHECK(unlink(path) == 0, "%s", strerror(errno));
    }
    // A center, but with a second name.
    CHECK(link(elsewhere, path) == 0, "%s", strerror(errno));
    const print twice = print_of(path);
    REFUSED(try_open(0), EBADMSG, "hard links");
    REFUSED(tidings_remove("scenario", NULL), EBADMSG, "hard links");
    same_print(&twice, path);
    CHECK(unlink(elsewhere) == 0 && unlink(path_of("file")) == 0, "%s", strerror(errno));
    OK(try_open(TIDINGS_OPEN_EXISTING));
    CHECK(unlink(path) == 0, "%s", strerror(errno));
    // Without a process at its other end.
    CHECK(mkfifo(path, 0600) == 0, "%s", strerror(errno));
    refused_as_no_center("a FIFO");
    CHECK(unlink(path) == 0, "%s", strerror(errno));
    CHECK(mkdir(path, 0700) == 0, "%s", strerror(errno));
    refused_as_no_center("a directory");
    CHECK(rmdir(path) == 0, "%s", strerror(errno));
    // By a relative name, as a socket's address is short.
    CHECK(chdir(getenv("TIDINGS_DIRECTORY")) == 0, "%s", strerror(errno));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", strrchr(path, '/') + 1);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (const struct sockaddr *)&address, sizeof address) == 0, "%s",
          strerror(errno));
    refused_as_no_center("a socket");
    CHECK(unlink(path) == 0, "%s", strerror(errno));
    works(join_center(256));
}
