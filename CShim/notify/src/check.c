// Queries of a token: was its name posted, and how often. They allocate no memory. If the center has new posts, they
// take the lock `reading` to count them.
#include "internal.h"

static inline notify__name *name_of(const notify__token *token) {
    return atomic_load_explicit(&token->name, memory_order_relaxed);
}

uint32_t notify_check(int number, int *check) {
    if (__builtin_expect(!check, 0))
        return notify__fail(NOTIFY_STATUS_NULL_INPUT, "can't check token %d: check is NULL; pass the address of an int",
                            number);
    *check = 0;
    if (__builtin_expect(atomic_load_explicit(&notify__disabled, memory_order_relaxed), 0))
        return notify__fail_disabled("check a token");
    notify__token *token = notify__token_of(number);
    if (__builtin_expect(!token, 0)) return notify__fail_token("check", number);
    const notify__name *name = name_of(token);
    notify__refresh(atomic_load_explicit(&name->domain, memory_order_acquire));
    for (;;) {
        // Before the count, with acquire: a `checked` that another thread has stored is never later than `now`. So
        // `checked` does not go back, and no post is reported twice.
        uint64_t before = atomic_load_explicit(&token->checked, memory_order_acquire);
        const uint64_t now = atomic_load_explicit(&name->count, memory_order_acquire);
        if (before == now) return NOTIFY_STATUS_OK;
        *check = atomic_compare_exchange_strong_explicit(&token->checked, &before, now, memory_order_release,
                                                         memory_order_relaxed);
        // Otherwise another thread has checked the token meanwhile, and may have counted fewer posts.
        if (*check) return NOTIFY_STATUS_OK;
    }
}

uint32_t notify_peek(int number, uint32_t *val) {
    if (!val)
        return notify__fail(NOTIFY_STATUS_NULL_INPUT,
                            "can't peek at token %d: val is NULL; pass the address of a uint32_t", number);
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return notify__fail_disabled("check a token");
    const notify__token *token = notify__token_of(number);
    if (!token) return notify__fail_token("check", number);
    const notify__name *name = name_of(token);
    notify__refresh(atomic_load_explicit(&name->domain, memory_order_acquire));
    *val = (uint32_t)atomic_load_explicit(&name->count, memory_order_acquire);
    return NOTIFY_STATUS_OK;
}
