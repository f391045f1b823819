// Centers of another minor version of the format, as this program finds them. Tests/compatibility runs real ones.
#include <sys/stat.h>

#include "foreign.h"
#include "segment/layout.h"

#define HEADER(field) offsetof(tidings__header, field)

static void set_word(uint64_t offset, uint64_t word) { overwrite(center_path(), offset, &word, sizeof word); }

// Makes the scenario's center one of minor version 1.`minor`, with `more` bytes of parts that this program lacks.
static void make_of(uint32_t minor, uint64_t more) {
    works(join_center(256));
    struct stat status;
    CHECK(stat(center_path(), &status) == 0, "%s", strerror(errno));
    const uint64_t length = (uint64_t)status.st_size + more;
    CHECK(truncate(center_path(), (off_t)length) == 0, "%s", strerror(errno));
    const uint32_t version = TIDINGS__FORMAT_MAJOR << 16 | minor;
    overwrite(center_path(), HEADER(version), &version, sizeof version);
    set_word(HEADER(file_size), length);
    if (minor == 0) return;
    set_word(HEADER(optional), UINT64_MAX);
    for (uint64_t at = HEADER(parts); at < TIDINGS__PAGE; at += 8) set_word(at, UINT64_MAX);
    for (uint64_t at = HEADER(reserved); at < sizeof(tidings__header); at += 8) set_word(at, UINT64_MAX);
    if (more) set_word(length - 8, UINT64_MAX);
}

static void posts_600(void) {
    tidings_publisher *publisher = publisher_of(join_center(0), NAME);
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
}

void a_center_of_another_minor_version_is_used(void) {
    const uint32_t minors[] = {0, 1, 7, UINT16_MAX};
    const uint64_t more[] = {0, 4096, 5000, 1 << 20};
    for (size_t i = 0; i < 16; i++) {
        make_of(minors[i / 4], more[i % 4]);
        tidings_center *center = join_center(0);
        works(center);
        ends_well(start(posts_600));
        const tidings_statistics statistics = statistics_of(center);
        CHECK(statistics.format_version == (TIDINGS__FORMAT_MAJOR << 16 | minors[i / 4]), "version %x",
              statistics.format_version);
        struct stat status;
        CHECK(stat(center_path(), &status) == 0 && (uint64_t)status.st_size == statistics.file_size, "%lu bytes",
              (unsigned long)statistics.file_size);
        CHECK(tidings_reclaim(center) >= 0, "reclaiming");
        // Nothing was changed that belongs to the later version.
        if (minors[i / 4] > 0 && more[i % 4]) {
            uint64_t word;
            read_file(center_path(), statistics.file_size - 8, &word, sizeof word);
            CHECK(word == UINT64_MAX, "%lx", (unsigned long)word);
        }
        // Its header, and its file, end too early.
        CHECK(truncate(center_path(), status.st_size - 1) == 0, "%s", strerror(errno));
        REFUSED(try_open(0), EBADMSG, "damaged");
        OK(tidings_remove("scenario", NULL) == -EBADMSG ? unlink(center_path()) : -1);
    }
}

void a_center_that_needs_another_feature_is_refused_and_can_be_removed(void) {
    for (uint32_t bit = 0; bit < 64; bit += 21) {
        make_of(3, 4096);
        set_word(HEADER(required), UINT64_C(1) << bit);
        const print before = print_of(center_path());
        char word[64];
        snprintf(word, sizeof word, "needs features (bits %llx)", 1ULL << bit);
        REFUSED(try_open(0), EPROTO, word);
        REFUSED(try_open(TIDINGS_OPEN_READ_ONLY), EPROTO, "of format version 1.3");
        REFUSED(try_open(TIDINGS_OPEN_EXISTING), EPROTO, "update this program");
        same_print(&before, center_path());
        OK(tidings_remove("scenario", NULL));
        CHECK(files_there() == 0, "%u files", files_there());
    }
}
