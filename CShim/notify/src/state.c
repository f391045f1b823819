// The state of a name: a retained value, a CBOR unsigned integer. It has a name of its own in the center, so that
// setting it is no post of the token's name.
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

typedef struct state_publisher {
    notify__text text;
    _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
    tidings_publisher *publisher;
} state_publisher;

static int find(tidings_center *center, const notify__name *name, state_publisher *state) {
    notify__text_of_state(&name->text, &state->text);
    return tidings_publisher_place(center, state->text.bytes, state->text.length, NULL, 0, state->memory,
                                   sizeof state->memory, &state->publisher);
}

// Each state takes a chunk, and a change or a clear takes another one for a while. A center has some hundreds of
// chunks. If states took all of them, no large payload could be posted and no state cleared. So the limit is three
// quarters. No lock connects the counts of the processes, and each count permits some sets in advance: the last quarter
// covers the sets beyond the limit.
static uint32_t take_room(notify__domain *domain, tidings_center *center) {
    uint32_t left = atomic_load_explicit(&domain->states_left, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak_explicit(&domain->states_left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return NOTIFY_STATUS_OK;
    // Nothing was posted since the last refusal, so no state was cleared.
    const uint64_t full_at = atomic_load_explicit(&domain->states_full_at, memory_order_relaxed);
    if (full_at != UINT64_MAX && tidings_nothing_since(center, full_at)) return NOTIFY_STATUS_FAILED;
    notify__refresh(domain);
    const uint64_t position = atomic_load_explicit(&domain->position, memory_order_acquire);
    uint32_t values, most;
    const int error = tidings_values(center, &values, &most);
    if (error == -ENOMEM) return NOTIFY_STATUS_FAILED;
    if (error) return NOTIFY_STATUS_OK;  // the set itself then reports what is wrong with the center
    most = most / 4 * 3;
    atomic_store_explicit(&domain->states_full_at, values >= most ? position : UINT64_MAX, memory_order_relaxed);
    if (values >= most) return NOTIFY_STATUS_FAILED;
    atomic_store_explicit(&domain->states_left, (most - values) / 8, memory_order_relaxed);
    return NOTIFY_STATUS_OK;
}

static bool has_state(state_publisher *state) {
    size_t size = 0;
    const int error = tidings_state_get(state->publisher, NULL, &size, NULL, NULL);
    return error == 0 || error == -ENOBUFS;
}

// A name that has a state needs no more room, regardless of the process that set it.
static __attribute__((noinline)) uint32_t room(notify__domain *domain, tidings_center *center, const notify__name *name,
                                               state_publisher *state) {
    const uint32_t status = take_room(domain, center);
    if (status == NOTIFY_STATUS_OK || has_state(state)) return NOTIFY_STATUS_OK;
    return notify__fail(status,
                        "can't set the state of \"%s\": three quarters of the center's chunks hold retained values; "
                        "clear a state by setting it to 0",
                        name->text.bytes);
}

uint32_t notify_set_state(int number, uint64_t state64) {
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return notify__fail_disabled("set a state");
    const notify__token *token = notify__token_of(number);
    if (!token) return notify__fail_token("set the state of", number);
    notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_acquire);
    if (__builtin_expect(name->text.reserved, 0) && domain->kind != NOTIFY__SELF &&
        !notify__may_post_reserved("set the state of", name->text.bytes))
        return NOTIFY_STATUS_NOT_AUTHORIZED;
    notify__settle(domain);
    state_publisher state;
    uint8_t bytes[9];
    for (uint32_t centers = 1;; centers++) {
        tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
        int error = find(center, name, &state);
        if (state64 == 0) {
            atomic_store_explicit(&name->stated, false, memory_order_relaxed);
        } else if (!error && !atomic_load_explicit(&name->stated, memory_order_relaxed) && !domain->read_only) {
            const uint32_t status = room(domain, center, name, &state);
            if (status != NOTIFY_STATUS_OK) return status;
            atomic_store_explicit(&name->stated, true, memory_order_relaxed);
        }
        const tidings_post_options options = {.format = TIDINGS_FORMAT_CBOR};
        // A state of 0 equals no state, and no state takes no room: clear it.
        if (!error)
            error = state64 == 0 ? tidings_state_set(state.publisher, NULL, 0, &options, NULL)
                                 : tidings_state_set(state.publisher, bytes, encode(state64, bytes), &options, NULL);
        // The table of names is full, and the name of the state is not in it: the state is 0 already.
        if (error == -ENOSPC && state64 == 0 && !has_state(&state)) return NOTIFY_STATUS_OK;
        if (!error || centers == NOTIFY__CENTERS_MOST || !notify__domain_recover(domain, center, error))
            return notify__status(error);
    }
}

// Keeps a value that was read after `guard` was. If the entry got another name or its domain another center meanwhile,
// or another thread keeps a value, the guard has changed.
static void keep(notify__name *name, uint64_t value, uint64_t position, uint32_t guard) {
    if (guard & 1 || !atomic_compare_exchange_strong_explicit(&name->state_guard, &guard, guard + 1,
                                                              memory_order_acq_rel, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&name->state, value, memory_order_relaxed);
    atomic_store_explicit(&name->state_at, position, memory_order_relaxed);
    uint32_t now = guard + 1;
    while (!atomic_compare_exchange_weak_explicit(&name->state_guard, &now, now + 1, memory_order_release,
                                                  memory_order_relaxed))
        // Forgotten meanwhile, maybe before the position was stored.
        if (now != guard + 1) atomic_store_explicit(&name->state_at, UINT64_MAX, memory_order_relaxed);
}

void notify__state_forget(notify__name *name) {
    atomic_fetch_add_explicit(&name->state_guard, 2, memory_order_acq_rel);  // stays odd during a write
    atomic_store_explicit(&name->state_at, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&name->stated, false, memory_order_relaxed);
}

static bool kept(const notify__name *name, uint64_t position, uint64_t *value) {
    const uint32_t guard = atomic_load_explicit(&name->state_guard, memory_order_acquire);
    *value = atomic_load_explicit(&name->state, memory_order_relaxed);
    const uint64_t at = atomic_load_explicit(&name->state_at, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return at == position && !(guard & 1) && atomic_load_explicit(&name->state_guard, memory_order_relaxed) == guard;
}

uint32_t notify_get_state(int number, uint64_t *state64) {
    if (!state64)
        return notify__fail(NOTIFY_STATUS_NULL_INPUT,
                            "can't get the state of token %d: state64 is NULL; pass the address of a uint64_t", number);
    *state64 = 0;
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return notify__fail_disabled("get a state");
    const notify__token *token = notify__token_of(number);
    if (!token) return notify__fail_token("get the state of", number);
    notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
    notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_acquire);
    notify__settle(domain);
    notify__refresh(domain);
    tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
    // If the center has nothing new, the cached state is still valid.
    const uint64_t position = atomic_load_explicit(&domain->position, memory_order_acquire);
    const bool quiet = tidings_nothing_since(center, position);
    if (quiet && kept(name, position, state64)) return NOTIFY_STATUS_OK;
    const uint32_t guard = atomic_load_explicit(&name->state_guard, memory_order_acquire);
    state_publisher state;
    uint8_t bytes[9];
    size_t size = sizeof bytes;
    uint8_t format = 0;
    int error = find(center, name, &state);
    if (!error) error = tidings_state_get(state.publisher, bytes, &size, &format, NULL);
    if (error && error != -ENOENT && error != -ENOBUFS) return notify__status(error);
    *state64 = !error && format == TIDINGS_FORMAT_CBOR ? decode(bytes, size) : 0;
    // After the guard, so that the value is of the center and the name that the guard stands for. A process that may
    // only read skips a position whose poster does not finish. The poster may finish later, and no position tells: keep
    // nothing there.
    if (quiet && tidings_nothing_since(center, position) &&
        atomic_load_explicit(&domain->center, memory_order_acquire) == center &&
        atomic_load_explicit(&name->domain, memory_order_acquire) == domain && !domain->read_only)
        keep(name, *state64, position, guard);
    return NOTIFY_STATUS_OK;
}
