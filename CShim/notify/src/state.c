// The state of a name: a kept value under a name of its own, so that setting it is no post of this one; as a CBOR unsigned integer.
#include <errno.h>
#include <string.h>

#include "internal.h"

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

// Kept values take places for payloads, which a center has some hundreds of, and to change or clear one takes another. Who took them all would stop all payloads, and could take nothing back. So: three
// quarters at most. Nobody counts exactly; the last quarter is wide enough for that.
static bool has_room(notify__domain *domain, tidings_center *center) {
    uint32_t left = atomic_load_explicit(&domain->states_left, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&domain->states_left, &left, left - 1, memory_order_relaxed, memory_order_relaxed)) return true;
    tidings_statistics statistics;
    if (tidings_statistics_get(center, &statistics) != 0) return true;  // what is wrong with it is said by what comes next
    tidings_name_info name;
    uint32_t taken = 0, most = statistics.chunks_max / 4 * 3;
    int error;
    // Of names that nobody looks at the table tells only those with a value.
    for (uint32_t i = 0; (error = tidings_name(center, i, &name)) != -ERANGE; i++) taken += error == 0 && (name.retained || name.observers == 0);
    if (taken >= most) return false;
    // Others may be at it as well.
    atomic_store_explicit(&domain->states_left, (most - taken) / 8, memory_order_relaxed);
    return true;
}

uint32_t notify_set_state(int number, uint64_t state64) {
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return NOTIFY_STATUS_OPT_DISABLE;
    const notify__token *token = notify__token_of(number);
    if (!token) return NOTIFY_STATUS_INVALID_TOKEN;
    notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_acquire);
    notify__settle(domain);
    state_topic state;
    uint8_t bytes[9];
    for (;;) {
        tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
        // Set to 0 here, it leaves its room to another of ours.
        if (state64 == 0 && atomic_exchange_explicit(&name->stated, false, memory_order_relaxed)) atomic_fetch_add_explicit(&domain->states_left, 1, memory_order_relaxed);
        if (state64 != 0 && !atomic_load_explicit(&name->stated, memory_order_relaxed) && !domain->read_only) {
            if (!has_room(domain, center)) return NOTIFY_STATUS_FAILED;
            atomic_store_explicit(&name->stated, true, memory_order_relaxed);
        }
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
    notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
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
