// What a token can be asked: has anything been posted, how often, and the state of its name. No lock, but for taking new posts; no memory.
#include <errno.h>
#include <string.h>

#include "internal.h"

static inline notify__name *name_of(const notify__token *token) {
    return atomic_load_explicit(&token->name, memory_order_relaxed);
}

uint32_t notify_check(int number, int *check) {
    if (__builtin_expect(!check, 0)) return NOTIFY_STATUS_NULL_INPUT;
    *check = 0;
    if (__builtin_expect(atomic_load_explicit(&notify__disabled, memory_order_relaxed), 0)) return NOTIFY_STATUS_OPT_DISABLE;
    notify__token *token = notify__token_of(number);
    if (__builtin_expect(!token, 0)) return NOTIFY_STATUS_INVALID_TOKEN;
    const notify__name *name = name_of(token);
    notify__refresh(atomic_load_explicit(&name->domain, memory_order_acquire));
    uint64_t now = atomic_load_explicit(&name->count, memory_order_acquire);
    // Written only if it says something new; of two threads that ask at once, one is told.
    if (atomic_load_explicit(&token->checked, memory_order_relaxed) != now) *check = atomic_exchange_explicit(&token->checked, now, memory_order_relaxed) != now;
    return NOTIFY_STATUS_OK;
}

uint32_t notify_peek(int number, uint32_t *val) {
    if (!val) return NOTIFY_STATUS_NULL_INPUT;
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return NOTIFY_STATUS_OPT_DISABLE;
    const notify__token *token = notify__token_of(number);
    if (!token) return NOTIFY_STATUS_INVALID_TOKEN;
    const notify__name *name = name_of(token);
    notify__refresh(atomic_load_explicit(&name->domain, memory_order_acquire));
    *val = (uint32_t)atomic_load_explicit(&name->count, memory_order_acquire);
    return NOTIFY_STATUS_OK;
}

// MARK: State: a kept value under a name of its own, so that setting it is no post of this one; as a CBOR unsigned integer.

static size_t encode(uint64_t value, uint8_t bytes[9]) {
    if (value < 24) {
        bytes[0] = (uint8_t)value;
        return 1;
    }
    const unsigned power = value <= 0xff ? 0 : value <= 0xffff ? 1 : value <= 0xffffffff ? 2 : 3, size = 1u << power;
    bytes[0] = (uint8_t)(24 + power);
    for (unsigned i = 0; i < size; i++) bytes[1 + i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return 1 + size;
}

static uint64_t decode(const uint8_t *bytes, size_t size) {
    if (size == 0 || bytes[0] > 27) return 0;
    if (bytes[0] < 24) return bytes[0];
    if (size < 1 + (UINT64_C(1) << (bytes[0] - 24))) return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < 1u << (bytes[0] - 24); i++) value = value << 8 | bytes[1 + i];
    return value;
}

typedef struct state_topic {
    notify__text text;
    _Alignas(8) uint8_t memory[TIDINGS_TOPIC_SIZE_MAX];
    tidings_topic *topic;
} state_topic;

static int find(tidings_center *center, const notify__name *name, state_topic *state) {
    notify__text_of_state(&name->text, &state->text);
    return tidings_topic_place(center, state->text.bytes, state->text.length, NULL, 0, state->memory, sizeof state->memory, &state->topic);
}

uint32_t notify_set_state(int number, uint64_t state64) {
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return NOTIFY_STATUS_OPT_DISABLE;
    const notify__token *token = notify__token_of(number);
    if (!token) return NOTIFY_STATUS_INVALID_TOKEN;
    const notify__name *name = name_of(token);
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_acquire);
    notify__settle(domain);
    state_topic state;
    uint8_t bytes[9];
    for (;;) {
        tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
        int error = find(center, name, &state);
        const tidings_post_options options = {.format = TIDINGS_FORMAT_CBOR};
        // 0 is what none is, and none takes no room.
        if (!error) error = state64 == 0 ? tidings_state_set(state.topic, NULL, 0, &options) : tidings_state_set(state.topic, bytes, encode(state64, bytes), &options);
        if (!error || !notify__domain_recover(domain, center, error)) return notify__status(error);
    }
}

static void keep(notify__name *name, uint64_t value, uint64_t position) {
    uint32_t guard = atomic_load_explicit(&name->state_guard, memory_order_relaxed);
    if (guard & 1 || !atomic_compare_exchange_strong_explicit(&name->state_guard, &guard, guard + 1, memory_order_acq_rel, memory_order_relaxed)) return;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&name->state, value, memory_order_relaxed);
    atomic_store_explicit(&name->state_at, position, memory_order_relaxed);
    atomic_store_explicit(&name->state_guard, guard + 2, memory_order_release);
}

static bool kept(const notify__name *name, uint64_t position, uint64_t *value) {
    const uint32_t guard = atomic_load_explicit(&name->state_guard, memory_order_acquire);
    *value = atomic_load_explicit(&name->state, memory_order_relaxed);
    const uint64_t at = atomic_load_explicit(&name->state_at, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return at == position && !(guard & 1) && atomic_load_explicit(&name->state_guard, memory_order_relaxed) == guard;
}

uint32_t notify_get_state(int number, uint64_t *state64) {
    if (!state64) return NOTIFY_STATUS_NULL_INPUT;
    *state64 = 0;
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return NOTIFY_STATUS_OPT_DISABLE;
    const notify__token *token = notify__token_of(number);
    if (!token) return NOTIFY_STATUS_INVALID_TOKEN;
    notify__name *name = name_of(token);
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_acquire);
    notify__settle(domain);
    notify__refresh(domain);
    tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
    // While nothing is new in the center, neither is this.
    const uint64_t position = atomic_load_explicit(&domain->position, memory_order_acquire);
    const bool quiet = tidings_nothing_since(center, position);
    if (quiet && kept(name, position, state64)) return NOTIFY_STATUS_OK;
    state_topic state;
    uint8_t bytes[9];
    size_t size = sizeof bytes;
    uint8_t format = 0;
    int error = find(center, name, &state);
    if (!error) error = tidings_state_get(state.topic, bytes, &size, &format, NULL);
    if (error && error != -ENOENT && error != -ENOBUFS) return notify__status(error);
    *state64 = !error && format == TIDINGS_FORMAT_CBOR ? decode(bytes, size) : 0;
    if (quiet && tidings_nothing_since(center, position) && atomic_load_explicit(&domain->center, memory_order_acquire) == center) keep(name, *state64, position);
    return NOTIFY_STATUS_OK;
}
