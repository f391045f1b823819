// What happens, line by line, in the names of the layout.
#include <stdio.h>

#include "center/center.h"
#include "storage.h"

static void place(uintptr_t c, char *text, size_t size) {
    if (!machine_inside(c)) {
        snprintf(text, size, "private %zx", (size_t)(c - (uintptr_t)arena));
        return;
    }
    if (in_writers_file(c)) {
        const uint64_t at = c - (uintptr_t)writers_files[0].base;
        snprintf(text, size, "%s[%u]", at % TIDINGS__LINE ? "waiting_posters" : "doorbell",
                 (unsigned)(at / TIDINGS__LINE));
        return;
    }
    const tidings__segment *s = &machine.fibers[0].center->segment;
    const tidings__geometry *g = &s->geometry;
    uint64_t offset = c - (uintptr_t)mappings[0].base;
    static const char *const cell[] = {"claim", "commit", "verdict", "time", "size_pid", "poster", "route"};
    static const char *const name[] = {"tally.count", "tally.end", "next",  "state",
                                       "hash",        "retained",  "birth", "lengths"};
#define HEADER(member)                                                                                                 \
    if (offset - offsetof(tidings__header, member) < sizeof s->header->member) {                                       \
        snprintf(text, size, #member);                                                                                 \
        return;                                                                                                        \
    }
    HEADER(eviction);
    HEADER(frontier_hint);
    HEADER(generation);
    HEADER(names_used);
    HEADER(revoked);
    HEADER(waiting_posters);
    HEADER(asleep);
    HEADER(lossless);
    HEADER(name_futexes);
    if (offset >= g->chunks)
        snprintf(text, size, "chunk byte %llu", (unsigned long long)(offset - g->chunks));
    else if (offset >= g->holds)
        snprintf(text, size, "hold[%u].%u", (unsigned)((offset - g->holds) / sizeof(tidings__holds)),
                 (unsigned)((offset - g->holds) % sizeof(tidings__holds) / 8));
    else if (offset >= g->names) {
        uint64_t at = (offset - g->names) % sizeof(tidings__name) / 8;
        snprintf(text, size, "name[%u].%s", (unsigned)((offset - g->names) / sizeof(tidings__name)),
                 at < 8    ? name[at]
                 : at < 24 ? "members"
                           : "key");
    } else if (offset >= g->cells) {
        uint64_t at = (offset - g->cells) % sizeof(tidings__cell) / 8;
        if (at < 7)
            snprintf(text, size, "cell[%u].%s", (unsigned)((offset - g->cells) / sizeof(tidings__cell)), cell[at]);
        else
            snprintf(text, size, "cell[%u].body[%u]", (unsigned)((offset - g->cells) / sizeof(tidings__cell)),
                     (unsigned)at - 7);
    } else if (offset >= g->chunk_words)
        snprintf(text, size, "chunk_word[%u]", (unsigned)(offset - g->chunk_words) / 8);
    else if (offset >= g->buckets)
        snprintf(text, size, "bucket[%u]", (unsigned)(offset - g->buckets) / 8);
    else if (offset >= g->observers) {
        static const char *const observer[] = {"doorbell, owner", "cursor", "instance", "history"};
        uint64_t at = (offset - g->observers) % sizeof(tidings__observer_entry) / 8;
        snprintf(text, size, "observer[%u].%s", (unsigned)((offset - g->observers) / sizeof(tidings__observer_entry)),
                 at < 4 ? observer[at] : "?");
    } else
        snprintf(text, size, "participant[%u]", (unsigned)((offset - g->participants) / sizeof(tidings__participant)));
}

void trace(const fiber *f, const char *what, uintptr_t c, uint32_t size) {
    char where[64] = "";
    if (c) place(c, where, sizeof where);
    printf("  %5llu %-10s %-14s %s", (unsigned long long)machine.steps, f->name, what, where);
    if (c && size == 8) printf(" (%#llx)", (unsigned long long)*(volatile uint64_t *)c);
    if (c && size == 4) printf(" (%#x)", *(volatile uint32_t *)c);
    printf("\n");
}
