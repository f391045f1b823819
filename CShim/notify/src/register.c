// Registering, suspending and canceling.
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "internal.h"

static bool disabled(void) {
    return atomic_load_explicit(&notify__disabled, memory_order_relaxed);
}

void notify_set_options(uint32_t opts) {
    if (opts & NOTIFY_OPT_ENABLE) atomic_store_explicit(&notify__disabled, 0, memory_order_relaxed);
    else if (opts & NOTIFY_OPT_DISABLE) atomic_store_explicit(&notify__disabled, 1, memory_order_relaxed);
    if (!(opts & NOTIFY_OPT_REGEN) || atomic_exchange_explicit(&notify__regenerating, 1, memory_order_relaxed)) return;
    pthread_mutex_lock(&notify__lock);
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) notify__removal_watch(domain);
    pthread_mutex_unlock(&notify__lock);
}

static void unlink_token(notify__name *name, notify__token *token) {
    if (!token->delivers) return;
    if (token->previous) token->previous->next = token->next;
    else name->deliveries = token->next;
    if (token->next) token->next->previous = token->previous;
    token->next = token->previous = NULL;
    token->delivers = false;
    if (!name->deliveries) notify__push_end(name);
}

// Under notify__lock.
static uint32_t add(notify__domain *domain, const notify__text *text, int *number, const notify__token *like) {
    uint32_t status = atomic_load_explicit(&domain->stale, memory_order_relaxed) ? notify__domain_renew(domain, false) : NOTIFY_STATUS_OK;
    if (status == NOTIFY_STATUS_OK) status = notify__domain_listen(domain);
    if (status != NOTIFY_STATUS_OK) return status;
    notify__token *token = notify__token_new();
    if (!token) return NOTIFY_STATUS_FAILED;
    notify__name *name;
    status = notify__name_join(domain, text, &name);
    if (status != NOTIFY_STATUS_OK) {
        notify__token_free(token);
        return status;
    }
    const bool delivers = like->signal != 0 || like->pipe || like->handler.deliver;
    if (delivers && !name->deliveries && (status = notify__push_begin(name)) != NOTIFY_STATUS_OK) {
        notify__name_leave(name);
        notify__token_free(token);
        return status;
    }
    // What was posted until now is not for this one, though the dispatcher may yet come to it.
    notify__refresh(domain);
    token->since = atomic_load_explicit(&domain->position, memory_order_relaxed);
    token->signal = like->signal;
    token->pipe = like->pipe;
    token->handler = like->handler;
    atomic_store_explicit(&token->name, name, memory_order_relaxed);
    atomic_store_explicit(&token->checked, NOTIFY__UNCHECKED, memory_order_relaxed);
    if (delivers) {
        token->delivers = true;
        token->previous = NULL;
        token->next = name->deliveries;
        if (token->next) token->next->previous = token;
        name->deliveries = token;
    }
    notify__token_publish(token, number);
    return NOTIFY_STATUS_OK;
}

uint32_t notify__register(const char *name, int *number, notify__token *like) {
    size_t length;
    if (!number) return NOTIFY_STATUS_INVALID_TOKEN;
    *number = NOTIFY_TOKEN_INVALID;
    uint32_t status = notify__length(name, &length);
    if (status == NOTIFY_STATUS_OK && disabled()) status = NOTIFY_STATUS_OPT_DISABLE;
    if (status != NOTIFY_STATUS_OK) return status;
    notify__domain *domain = notify__domain_of(name, length, true, &status);
    if (!domain) return status;
    notify__text text;
    notify__text_of(name, length, &text);
    pthread_mutex_lock(&notify__lock);
    status = add(domain, &text, number, like);
    pthread_mutex_unlock(&notify__lock);
    return status;
}

uint32_t notify_register_check(const char *name, int *out_token) {
    return notify__register(name, out_token, &(notify__token){0});
}

uint32_t notify_register_plain(const char *name, int *out_token) {
    return notify__register(name, out_token, &(notify__token){0});
}

uint32_t notify_register_signal(const char *name, int sig, int *out_token) {
    if (sig < 1 || sig >= NSIG) {
        if (out_token) *out_token = NOTIFY_TOKEN_INVALID;
        return NOTIFY_STATUS_INVALID_SIGNAL;
    }
    return notify__register(name, out_token, &(notify__token){.signal = sig});
}

uint32_t notify_register_mach_port(const char *name, mach_port_t *notify_port, int flags, int *out_token) {
    (void)name, (void)flags;
    if (notify_port) *notify_port = 0;
    if (out_token) *out_token = NOTIFY_TOKEN_INVALID;
    return NOTIFY_STATUS_INVALID_PORT;
}

uint32_t tidings_notify_register_handler(const char *name, int *number, const notify__handler *handler) {
    return notify__register(name, number, &(notify__token){.handler = *handler});
}

uint32_t notify_cancel(int number) {
    if (disabled()) return NOTIFY_STATUS_OPT_DISABLE;
    pthread_mutex_lock(&notify__lock);
    notify__token *token = notify__token_of(number);
    if (token) {
        atomic_store_explicit(&token->number, 0, memory_order_release);
        notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
        unlink_token(name, token);
        notify__monitor_end(token);
        if (token->pipe) notify__pipe_leave(token);
        if (token->handler.end) token->handler.end(token->handler.context);
        notify__name_leave(name);
        notify__token_free(token);
    }
    pthread_mutex_unlock(&notify__lock);
    return token ? NOTIFY_STATUS_OK : NOTIFY_STATUS_INVALID_TOKEN;
}

uint32_t notify_suspend(int number) {
    if (disabled()) return NOTIFY_STATUS_OPT_DISABLE;
    pthread_mutex_lock(&notify__lock);
    notify__token *token = notify__token_of(number);
    if (token) token->suspensions++;
    pthread_mutex_unlock(&notify__lock);
    return token ? NOTIFY_STATUS_OK : NOTIFY_STATUS_INVALID_TOKEN;
}

uint32_t notify_resume(int number) {
    if (disabled()) return NOTIFY_STATUS_OPT_DISABLE;
    pthread_mutex_lock(&notify__lock);
    notify__token *token = notify__token_of(number);
    if (token && token->suspensions > 0 && --token->suspensions == 0 && token->due) {
        token->due = false;
        notify__deliver(token);
    }
    pthread_mutex_unlock(&notify__lock);
    return token ? NOTIFY_STATUS_OK : NOTIFY_STATUS_INVALID_TOKEN;
}

bool tidings_notify_may_run(int number) {
    pthread_mutex_lock(&notify__lock);
    notify__token *token = notify__token_of(number);
    if (token && token->suspensions > 0) token->due = true;
    const bool may = token && token->suspensions == 0;
    pthread_mutex_unlock(&notify__lock);
    return may;
}

bool notify_is_valid_token(int val) {
    return notify__token_of(val) != NULL;
}
