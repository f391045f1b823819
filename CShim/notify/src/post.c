// Posting by name. A name that was posted before is found without a lock and without allocation, so that a signal
// handler may post it.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define PLACES 8192u  // entries of the table, a power of two
#define MOST 4096u    // names kept in the table; each post of another name prepares a publisher again
#define BLOCK 65536u

typedef struct posted {
    uint64_t hash;
    notify__domain *domain;
    tidings_center *center;
    tidings_publisher *publisher;  // in the same memory, after the name
    size_t length;
    char name[];
} posted;

typedef struct block {
    _Atomic uint32_t used;
    uint32_t unused;
    char bytes[BLOCK - 8];
} block;

static _Atomic(posted *) places[PLACES];
static _Atomic uint32_t kept_count;
static _Atomic(block *) current;

// Allocates memory that is never freed. By mmap: a signal handler may have interrupted malloc.
static void *take(size_t size) {
    size = (size + 7) & ~(size_t)7;
    for (;;) {
        block *now = atomic_load_explicit(&current, memory_order_acquire);
        if (now) {
            const uint32_t at = atomic_fetch_add_explicit(&now->used, (uint32_t)size, memory_order_relaxed);
            if (at + size <= sizeof now->bytes) return now->bytes + at;
            // Bounds `used`: without this, repeated additions would overflow 32 bits.
            atomic_store_explicit(&now->used, sizeof now->bytes, memory_order_relaxed);
        }
        block *more = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) return NULL;
        if (!atomic_compare_exchange_strong_explicit(&current, &now, more, memory_order_acq_rel, memory_order_relaxed))
            munmap(more, BLOCK);
    }
}

static posted *find(uint64_t hash, const char *name, size_t length) {
    for (uint32_t at = (uint32_t)hash % PLACES;; at = (at + 1) % PLACES) {
        posted *p = atomic_load_explicit(&places[at], memory_order_acquire);
        if (!p) return NULL;
        if (p->hash == hash && p->length == length && memcmp(p->name, name, length) == 0 &&
            p->center == atomic_load_explicit(&p->domain->center, memory_order_relaxed))
            return p;
    }
}

static void keep(uint64_t hash, const char *name, size_t length, const notify__text *text, notify__domain *domain,
                 tidings_center *center) {
    if (atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed) >= MOST) {
        atomic_fetch_sub_explicit(&kept_count, 1, memory_order_relaxed);
        return;
    }
    const size_t before = (sizeof(posted) + length + 7) & ~(size_t)7, size = tidings_publisher_size(text->length, 0);
    posted *p = take(before + size);
    if (!p) return;
    *p = (posted){.hash = hash, .domain = domain, .center = center, .length = length};
    memcpy(p->name, name, length);
    if (tidings_publisher_place(center, text->bytes, text->length, NULL, 0, (char *)p + before, size, &p->publisher) !=
        0)
        return;
    for (uint32_t at = (uint32_t)hash % PLACES;; at = (at + 1) % PLACES) {
        posted *empty = NULL;
        if (atomic_compare_exchange_strong_explicit(&places[at], &empty, p, memory_order_release, memory_order_relaxed))
            return;
    }
}

static uint32_t answer(notify__domain *domain, int error) {
    // A center that does not exist has no observers, so the post succeeds.
    if (error == -ENOENT) return NOTIFY_STATUS_OK;
    // A `self.` center has only this process: without its observer the post succeeds too.
    if (!error || (domain->kind == NOTIFY__SELF && !domain->pull.observer)) return NOTIFY_STATUS_OK;
    return notify__status(error);
}

// Slow path: the name was not posted before, or its center is gone.
static uint32_t post_anew(const char *name, size_t length, uint64_t hash) {
    uint32_t status;
    const bool self = length >= 5 && memcmp(name, "self.", 5) == 0;
    // If this process has registered no `self.` name, their center is not open, and a post has no observer.
    notify__domain *domain = notify__domain_of(name, length, !self, &status);
    if (!domain) return status == NOTIFY_STATUS_SERVER_NOT_FOUND ? NOTIFY_STATUS_OK : status;
    notify__settle(domain);
    notify__text text;
    notify__text_of(name, length, &text);
    // A reserved name is not kept in the table, so that each post checks the user again.
    if (text.reserved && !notify__may_post_reserved("post", text.bytes)) return NOTIFY_STATUS_NOT_AUTHORIZED;
    for (uint32_t centers = 1;; centers++) {
        _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
        tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
        tidings_publisher *publisher;
        int error = tidings_publisher_place(center, text.bytes, text.length, NULL, 0, memory, sizeof memory,
                                            &publisher);
        if (!error) error = tidings_post(publisher, "", 0, NULL, NULL);
        if (!error && !text.reserved) keep(hash, name, length, &text, domain, center);
        if (!error || centers == NOTIFY__CENTERS_MOST || !notify__domain_recover(domain, center, error))
            return answer(domain, error);
    }
}

uint32_t notify_post(const char *name) {
    size_t length;
    const uint32_t status = notify__length(name, &length);
    if (__builtin_expect(status != NOTIFY_STATUS_OK, 0)) return status;
    if (__builtin_expect(atomic_load_explicit(&notify__disabled, memory_order_relaxed), 0))
        return notify__fail_disabled("post");
    const uint64_t hash = notify__hash(name, length);
    const posted *p = find(hash, name, length);
    if (__builtin_expect(
            !p || (p->domain->kind == NOTIFY__SELF && atomic_load_explicit(&p->domain->stale, memory_order_relaxed)),
            0))
        return post_anew(name, length, hash);
    const int error = tidings_post(p->publisher, "", 0, NULL, NULL);
    if (__builtin_expect(!error, 1)) return NOTIFY_STATUS_OK;
    return error == -ESTALE ? post_anew(name, length, hash) : answer(p->domain, error);
}

uint32_t notify_simple_post(const char *name) { return notify_post(name); }
