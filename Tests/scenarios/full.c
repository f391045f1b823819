// File systems with little room, none, or none to write to: an error in one line that says how much is needed, never
// SIGBUS, and no damage.
#include <fcntl.h>
#include <sys/mount.h>

#include "foreign.h"
#include "privileges.h"

// Takes all room but `left` bytes.
static void fill_up(uint64_t left) {
    const int fd = open(path_of("filler"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    struct stat status;
    CHECK(fd >= 0 && fstat(fd, &status) == 0, "%s", strerror(errno));
    if (room() > left) CHECK(posix_fallocate(fd, 0, status.st_size + (off_t)(room() - left)) == 0, "filling up");
    close(fd);
    CHECK(room() <= left, "%lu bytes are free", (unsigned long)room());
}

static void make_room(void) { CHECK(unlink(path_of("filler")) == 0, "%s", strerror(errno)); }

// "(needs 1.6 MiB, 64 KiB free)"
static void says_what_is_needed(void) {
    const char *line = tidings_last_error();
    CHECK(strstr(line, "is full (needs ") && strstr(line, " free)") && strstr(line, getenv("TIDINGS_DIRECTORY")) &&
              !strchr(line, '\n'),
          "not what was asked for");
}

static void a_default_center_does_not_fit(void) {
    REFUSED(try_open(0), ENOSPC, "is full");
    says_what_is_needed();
    REFUSED(try_open(TIDINGS_OPEN_EXCLUSIVE), ENOSPC, "is full");
    CHECK(files_there() == 0, "%u files are left", files_there());
}

void a_file_system_of_64_kib_holds_no_center(void) {
    small_file_system("size=64k");
    a_default_center_does_not_fit();
    tidings_center *center;
    REFUSED(tidings_open("scenario", &tidings_small_configuration, &center), ENOSPC, "is full");
    says_what_is_needed();
    CHECK(room() == 65536 && files_there() == 0, "%lu bytes are free", (unsigned long)room());
}

void a_file_system_of_1_mib_holds_a_small_center(void) {
    small_file_system("size=1m");
    a_default_center_does_not_fit();
    tidings_center *center = join_center_with(tidings_small_configuration);
    works(center);
    // One that is there is opened whatever is free, and by a configuration that it couldn't be made with.
    fill_up(0);
    OK(try_open(0));
}

// Payloads that need a chunk while there is no room for one, and while there is; those that fit a slot go through all
// the time.
void a_payload_that_finds_no_room_is_refused_until_there_is_some(void) {
    small_file_system("size=3m");
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    static uint8_t bytes[4 << 20];
    random_bytes(bytes, sizeof bytes);
    for (int round = 0; round < 3; round++) {
        fill_up(0);
        // A lap makes free what was posted before.
        for (uint32_t i = 0; i < 4096; i++) post_number(publisher, i);
        drain(observer);
        REFUSED(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL), ENOSPC, "is full");
        says_what_is_needed();
        REFUSED(tidings_state_set(publisher, bytes, sizeof bytes, NULL, NULL), ENOSPC, "is full");
        tidings_reservation reservation;
        REFUSED(tidings_reserve(center, sizeof bytes, &reservation), ENOSPC, "is full");
        const tidings_statistics before = statistics_of(center);
        post_number(publisher, 1);
        const tidings_delivery small = receive(observer);
        CHECK(stamp_of(&small).number == 1 && before.chunks_used == 0, "%u chunks are taken", before.chunks_used);
        make_room();
        OK(tidings_post(publisher, bytes, 200000, NULL, NULL));
        const tidings_delivery large = receive(observer);
        CHECK(large.size == 200000 && memcmp(large.payload, bytes, large.size) == 0, "%zu bytes", large.size);
    }
}

// A reservation that can't grow is as before.
void a_reservation_that_finds_no_room_to_grow_keeps_what_it_has(void) {
    small_file_system("size=4m");
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    static uint8_t bytes[60000];
    random_bytes(bytes, sizeof bytes);
    // In the place it has, and in a larger one.
    const size_t has[] = {10000, sizeof bytes}, wants[] = {sizeof bytes, 1 << 20};
    for (int i = 0; i < 2; i++) {
        tidings_reservation reservation;
        OK(tidings_reserve(center, has[i], &reservation));
        memcpy(reservation.bytes, bytes, has[i]);
        fill_up(0);
        REFUSED(tidings_reserve_more(center, &reservation, has[i], wants[i]), ENOSPC, "is full");
        CHECK(memcmp(reservation.bytes, bytes, has[i]) == 0, "it has changed");
        OK(tidings_post_reserved(publisher, &reservation, has[i], NULL, NULL));
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == has[i] && memcmp(delivery.payload, bytes, has[i]) == 0, "%zu bytes", delivery.size);
        make_room();
    }
}

// More names than were given memory at birth.
void names_that_find_no_room_are_refused_until_there_is_some(void) {
    small_file_system("size=4m");
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of_nothing(center);
    fill_up(0);
    uint32_t count = 0, subscription;
    char name[32];
    for (int result = 0; result == 0; count++) {
        snprintf(name, sizeof name, "name.%u", count);
        result = tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription);
        CHECK(result == 0 || result == -ENOSPC, "%d", result);
        if (result != 0) break;
    }
    says_what_is_needed();
    CHECK(count > 50, "only %u names", count);
    tidings_publisher *publisher = publisher_of(center, "name.5"), *refused = publisher_of(center, name);
    post_number(refused, 1);
    post_number(publisher, 2);
    const tidings_delivery delivery = receive(observer);
    CHECK(stamp_of(&delivery).number == 2, "the refused one is observed");
    make_room();
    for (uint32_t end = count + 500; count < end; count++) {
        snprintf(name, sizeof name, "name.%u", count);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
    }
    tidings_publisher *last = publisher_of(center, name);
    post_number(last, 3);
    const tidings_delivery another = receive(observer);
    CHECK(stamp_of(&another).number == 3 && strcmp(another.name, name) == 0, "%s", another.name);
}

static pipe_pair ready;

// Lossless, and on a handle of its own: it finds out by itself which memory there is.
static void receives_all(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    for (;;) {
        const tidings_delivery delivery = receive(observer);
        if (delivery.size == 0) break;
        const uint8_t *bytes = delivery.payload;
        for (size_t i = 1; i < delivery.size; i++)
            CHECK(bytes[i] == bytes[0], "byte %zu of %zu is %u, not %u", i, delivery.size, bytes[i], bytes[0]);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

static void posts_of_all_sizes(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static uint8_t bytes[1 << 20];
    uint32_t posted = 0;
    REFUSED(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL), ENOSPC, "is full");
    tell(&ready);
    for (uint32_t i = 0; i < ROUNDS(1500); i++) {
        const size_t size = 1 + random_below(random_below(2) ? 3000 : sizeof bytes);
        memset(bytes, (int)i, size);
        const int result = tidings_post(
            publisher, bytes, size,
            &(tidings_post_options){.timeout_ns = -1, .flags = random_below(8) == 0 ? TIDINGS_POST_RETAIN : 0}, NULL);
        CHECK(result == 0 || result == -ENOSPC, "%zu bytes: %d", size, result);
        posted += result == 0;
    }
    CHECK(posted > 0, "none was posted");
}

// It fills up and empties while two post and two receive: each post is refused or arrives whole.
void it_fills_up_while_large_payloads_are_posted(void) {
    small_file_system("size=6m");
    ready = pipe_open();
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    pid_t observers[2], posters[2];
    for (int i = 0; i < 2; i++) observers[i] = start(receives_all);
    for (int i = 0; i < 2; i++) told(&ready);
    fill_up(0);
    for (int i = 0; i < 2; i++) {
        posters[i] = start(posts_of_all_sizes);
        random_next();
        told(&ready);
    }
    make_room();
    for (bool ended[2] = {false, false}; !ended[0] || !ended[1];) {
        const int fd = open(path_of("filler"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        CHECK(fd >= 0 || errno == ENOSPC, "%s", strerror(errno));
        if (fd >= 0) {
            (void)fallocate(fd, 0, 0, (off_t)(4096 + random_below(room() + 1)));
            close(fd);
        }
        spin_cycles(random_below(3000000));
        (void)unlink(path_of("filler"));
        for (int i = 0; i < 2; i++) {
            int status;
            if (ended[i] || waitpid(posters[i], &status, WNOHANG) == 0) continue;
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a poster ended with status %x", (unsigned)status);
            ended[i] = true;
        }
    }
    OK(tidings_post(publisher, "", 0, &(tidings_post_options){.timeout_ns = -1}, NULL));
    for (int i = 0; i < 2; i++) ends_well(observers[i]);
    CHECK(tidings_reclaim(center) >= 0 && statistics_of(center).participants == 1, "they left");
}

// Memory of a center that has been free since a lap of the ring serves again, also while there is no more to be had.
void what_a_center_has_it_can_use_though_the_rest_is_full(void) {
    small_file_system("size=4m");
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    static uint8_t bytes[200000];
    random_bytes(bytes, sizeof bytes);
    OK(tidings_post(publisher, bytes, sizeof bytes, NULL, NULL));
    fill_up(0);
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 300; i++) post_number(publisher, i);
        drain(observer);
        const int result = tidings_post(publisher, bytes, sizeof bytes, NULL, NULL);
        CHECK(result == 0, "round %u: %d, with %u chunks in use", round, result, statistics_of(center).chunks_used);
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.size == sizeof bytes && memcmp(delivery.payload, bytes, sizeof bytes) == 0, "%zu bytes",
              delivery.size);
    }
}

// Room, but for no more files.
void a_file_system_without_room_for_files_holds_no_center(void) {
    small_file_system("size=8m,nr_inodes=2");
    make_file(path_of("filler"), "x", 1);
    REFUSED(try_open(0), ENOSPC, "files");
    make_room();
    works(join_center(0));
}

void a_read_only_file_system_is_said_to_be_one(void) {
    small_file_system("size=8m");
    tidings_center *center = join_center(256);
    works(center);
    tidings_close(center);
    CHECK(mount("none", getenv("TIDINGS_DIRECTORY"), NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0,
          "%s", strerror(errno));
    const print before = print_of(center_path());
    REFUSED(try_open(0), EROFS, "read-only");
    REFUSED(try_open(TIDINGS_OPEN_EXISTING), EROFS, "read-only");
    REFUSED(tidings_remove("scenario", NULL), EROFS, "read-only");
    tidings_center *another;
    REFUSED(tidings_open("another", NULL, &another), EROFS, "read-only");
    same_print(&before, center_path());
    CHECK(mount("none", getenv("TIDINGS_DIRECTORY"), NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) == 0, "%s",
          strerror(errno));
    OK(try_open(TIDINGS_OPEN_EXISTING));
}
