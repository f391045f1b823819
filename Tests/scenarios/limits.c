// What a process may have, at its end: an error in one line, nothing lost or left half made, and work again once there
// is more.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "conditions.h"
#include "foreign.h"
#include "privileges.h"

// The soft one: it can be raised again.
static rlim_t limit_to(int which, rlim_t value) {
    struct rlimit limit;
    CHECK(getrlimit((__rlimit_resource_t)which, &limit) == 0, "%s", strerror(errno));
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    CHECK(setrlimit((__rlimit_resource_t)which, &limit) == 0, "%s", strerror(errno));
    return before;
}

static uint32_t open_files(void) {
    uint32_t count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static tidings_center *center;
static tidings_publisher *publisher;

static void posts_once_in_a_child(void) {
    const int result = tidings_post(publisher, "", 0, NULL, NULL);
    CHECK(result == 0 || result == -ECHILD, "%d", result);
    if (result != 0) CHECK(strstr(tidings_last_error(), "open the center again"), "no advice");
}

static int try_another(const char *name) {
    tidings_center *another;
    const int result = tidings_open(name, &(tidings_configuration){.slots = 256}, &another);
    tidings_close(another);
    return result;
}

// With none left, then one, and so on. It takes two at a time to open a center.
void a_process_out_of_descriptors_is_told_so_and_works_again(void) {
    center = join_center(256);
    publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    const rlim_t before = limit_to(RLIMIT_NOFILE, 256);
    uint32_t refused = 0, worked = 0;
    for (int spare = 0; spare < 5; spare++) {
        int last;
        while ((last = dup(0)) >= 0) {}
        for (int fd = 255; fd > 255 - spare; fd--) CHECK(close(fd) == 0, "%s", strerror(errno));
        const uint32_t held = open_files();
        char name[32];
        snprintf(name, sizeof name, "another%d", spare);
        int results[2] = {try_another(name), try_open(TIDINGS_OPEN_EXISTING)};
        for (int i = 0; i < 2; i++) {
            if (results[i] == 0)
                worked++;
            else
                refused++;
            CHECK(results[i] == 0 || results[i] == -EMFILE, "with %d to spare: %d", spare, results[i]);
        }
        if (results[0] != 0) REFUSED(try_another(name), EMFILE, "oo many open files");
        if (results[1] != 0) REFUSED(try_open(0), EMFILE, "oo many open files");
        CHECK(open_files() == held, "%u descriptors instead of %u", open_files(), held);
        if (spare == 0) {
            int fd;
            REFUSED(tidings_observer_descriptor(observer, &fd), EMFILE, "oo many open files");
        }
        works(center);  // what is open needs no more
        ends_well(start(posts_once_in_a_child));
    }
    CHECK(refused >= 2 && worked >= 2, "%u refused, %u worked", refused, worked);
    limit_to(RLIMIT_NOFILE, before);
    int fd;
    OK(tidings_observer_descriptor(observer, &fd));
    OK(try_another("another"));
    OK(try_open(TIDINGS_OPEN_EXISTING));
    tidings_observer_close(observer);
}

static rlim_t addresses(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1, "%s", strerror(errno));
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

void a_process_out_of_addresses_is_told_so_and_works_again(void) {
    center = join_center(256);
    works(center);  // the first observer starts the thread that watches, which has a descriptor
    const uint32_t held = open_files();
    const rlim_t before = limit_to(RLIMIT_AS, RLIM_INFINITY), now = addresses();
    for (uint64_t mebibytes = 0; mebibytes <= 256; mebibytes += 64) {  // it takes some hundred
        limit_to(RLIMIT_AS, now + ((mebibytes + 1) << 20));            // one for malloc
        REFUSED(try_another("another"), ENOMEM, "ulimit -v");
        REFUSED(try_open(TIDINGS_OPEN_EXISTING), ENOMEM, "ulimit -v");
        works(center);
        CHECK(open_files() == held && files_there() == 1, "%u descriptors instead of %u, %u files", open_files(), held,
              files_there());
    }
    limit_to(RLIMIT_AS, before);
    OK(try_another("another"));
    OK(try_open(TIDINGS_OPEN_EXISTING));
}

// All that malloc has, the largest pieces first; given back one by one, the smallest first.
static void *hoard;

static void *hoard_all(void) {
    for (size_t size = (size_t)1 << 24; size >= sizeof(void *); size /= 2) {
        for (void **piece; (piece = malloc(size)) != NULL; hoard = piece) *piece = hoard;
    }
    return hoard;
}

static bool give_one_back(void) {
    void **piece = hoard;
    if (!piece) return false;
    hoard = *piece;
    free(piece);
    return true;
}

// Each step has its error, and what came before it is undone.
static int uses_memory(void) {
    static uint8_t bytes[300000];
    int result = -EIO;
    tidings_publisher *own = NULL;
    tidings_observer *observer = NULL;
    char name[32];
    result = tidings_publisher_open(center, NAME, strlen(NAME), NULL, 0, &own);
    if (result == 0) result = tidings_observer_open(center, 0, &observer);
    for (uint32_t i = 0; i < 40 && result == 0; i++) {
        snprintf(name, sizeof name, "%s%.0u", NAME, i);
        result = tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &(uint32_t){0});
    }
    if (result == 0) result = tidings_post(own, bytes, sizeof bytes, NULL, NULL);
    tidings_delivery delivery = {0};
    if (result == 0) result = tidings_next(observer, -1, &delivery);
    if (result == 0)
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.size == sizeof bytes,
              "kind %d, %lu missed, %zu bytes", delivery.kind, (unsigned long)delivery.missed, delivery.size);
    if (result == -ENOMEM && observer && own && strstr(tidings_last_error(), "deliver")) {
        // What there was no memory for counts as missed.
        OK(tidings_next(observer, 0, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED && delivery.missed == 1, "%d", delivery.kind);
        result = -ENOMEM;
    } else if (result != 0) {
        CHECK(result == -ENOMEM, "%d", result);
        CHECK(strlen(tidings_last_error()) > 20 && !strchr(tidings_last_error(), '\n'), "not one line");
    }
    if (observer) tidings_observer_close(observer);
    if (own) tidings_publisher_close(own);
    return result;
}

void a_process_out_of_memory_is_told_so_and_works_again(void) {
    center = join_center(256);
    publisher = publisher_of(center, NAME);
    works(center);
    uint32_t failures = 0;
    const rlim_t before = limit_to(RLIMIT_AS, addresses() + (8u << 20));
    void *volatile too_much = malloc((size_t)1 << 30);
    CHECK(!too_much, "the limit is none");  // or the next line would take all there is
    CHECK(hoard_all(), "there was nothing");
    while (uses_memory() != 0) {
        failures++;
        CHECK(tidings_post(publisher, "", 0, NULL, NULL) == 0, "a post takes none");
        CHECK(give_one_back(), "all is given back, and it doesn't work");
    }
    CHECK(failures > 0, "nothing failed");
    limit_to(RLIMIT_AS, before);
    while (give_one_back()) {}
    works(center);
    OK(uses_memory());
    OK(try_another("another"));
    CHECK(statistics_of(center).observers == 0 && statistics_of(center).participants == 1, "%u observers are left",
          statistics_of(center).observers);
}

// A limit on the length of files. The kernel reports it by a signal that kills, unless the library checks the limit
// first.
void a_process_with_short_files_uses_a_center_and_makes_none(void) {
    tidings_center *made = join_center(256);
    const rlim_t before = limit_to(RLIMIT_FSIZE, 65536);
    REFUSED(try_another("another"), EFBIG, "ulimit -f");
    CHECK(files_there() == 1, "%u files", files_there());
    tidings_center *joined = join_center(0);
    works(joined);
    works(made);
    tidings_observer *observer = observer_of_nothing(joined);
    char name[32];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name.%u", i);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &(uint32_t){0}));
    }
    limit_to(RLIMIT_FSIZE, before);
    OK(try_another("another"));
}

// Some network file systems and some sandboxes have no locks: then no participant could tell which others are alive.
void files_that_can_not_be_locked_are_said_to_be_so(void) {
    center = join_center(256);
    const refusal no_locks = {SYS_fcntl, EINVAL, 1, ~0u, F_OFD_SETLK, 0};
    refuse_calls(&no_locks, 1);
    REFUSED(try_another("another"), EINVAL, "use a file system with OFD locks");
    REFUSED(try_open(0), EINVAL, "use a file system with OFD locks");
    works(center);  // has its own already
}

void a_user_out_of_threads_is_told_so_and_works_again(void) {
    CHECK(chmod(getenv("TIDINGS_DIRECTORY"), 01777) == 0, "%s", strerror(errno));
    become(ANOTHER_USER);
    center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    const uint32_t held = open_files();
    const rlim_t before = limit_to(RLIMIT_NPROC, 0);
    int fd;
    for (int i = 0; i < 3; i++) {
        REFUSED(tidings_observer_descriptor(observer, &fd), EAGAIN, "can't make a descriptor");
        CHECK(fd == -1 && open_files() == held, "%u descriptors instead of %u", open_files(), held);
        works(center);
    }
    drain(observer);
    limit_to(RLIMIT_NPROC, before);
    OK(tidings_observer_descriptor(observer, &fd));
    works(center);
    tidings_observer_close(observer);
}
