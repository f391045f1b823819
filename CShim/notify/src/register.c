// Registering, suspending and canceling tokens; options and status of the process.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static bool disabled(void) { return atomic_load_explicit(&notify__disabled, memory_order_relaxed); }

void notify_set_options(uint32_t opts) {
    if (opts & NOTIFY_OPT_ENABLE)
        atomic_store_explicit(&notify__disabled, 0, memory_order_relaxed);
    else if (opts & NOTIFY_OPT_DISABLE)
        atomic_store_explicit(&notify__disabled, 1, memory_order_relaxed);
    if (!(opts & NOTIFY_OPT_REGEN) || atomic_exchange_explicit(&notify__regenerating, 1, memory_order_relaxed)) return;
    notify__lock_begin();
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) notify__removal_watch(domain);
    notify__lock_end();
}

static void unlink_token(notify__name *name, notify__token *token) {
    if (!token->delivers) return;
    if (token->previous)
        token->previous->next = token->next;
    else
        name->deliveries = token->next;
    if (token->next) token->next->previous = token->previous;
    token->next = token->previous = NULL;
    token->delivers = false;
    if (!name->deliveries) notify__push_end(name);
}

// Under notify__lock.
static uint32_t add(notify__domain *domain, const notify__text *text, int *number, const notify__token *like) {
    uint32_t status = atomic_load_explicit(&domain->stale, memory_order_relaxed) ? notify__domain_renew(domain, false)
                                                                                 : NOTIFY_STATUS_OK;
    if (status == NOTIFY_STATUS_OK) status = notify__domain_listen(domain);
    // For a name that this process knows, nothing below asks the center.
    if (status == NOTIFY_STATUS_OK)
        status = notify__status(tidings_ended(atomic_load_explicit(&domain->center, memory_order_relaxed)));
    if (status != NOTIFY_STATUS_OK) return status;
    notify__token *token = notify__token_new();
    if (!token)
        return notify__fail(NOTIFY_STATUS_FAILED, "can't register: no memory, or all tokens are in use; cancel some");
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
    // Posts before this moment are not delivered to the new token, although the dispatcher may still read some of them.
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
    if (!number)
        return notify__fail(NOTIFY_STATUS_INVALID_TOKEN,
                            "can't register: out_token is NULL; pass the address of an int");
    *number = NOTIFY_TOKEN_INVALID;
    uint32_t status = notify__length(name, &length);
    if (status == NOTIFY_STATUS_OK && disabled()) status = notify__fail_disabled("register");
    if (status != NOTIFY_STATUS_OK) return status;
    notify__domain *domain = notify__domain_of(name, length, true, &status);
    if (!domain) return status;
    notify__text text;
    notify__text_of(name, length, &text);
    notify__lock_begin();
    status = add(domain, &text, number, like);
    // The center has ended: with NOTIFY_OPT_REGEN, continue in its successor.
    if (status == NOTIFY_STATUS_SERVER_NOT_FOUND && atomic_load_explicit(&notify__regenerating, memory_order_relaxed) &&
        notify__domain_renew(domain, true) == NOTIFY_STATUS_OK)
        status = add(domain, &text, number, like);
    notify__lock_end();
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
        return notify__fail(NOTIFY_STATUS_INVALID_SIGNAL, "can't register for signal %d: there is none; pass 1 to %d",
                            sig, NSIG - 1);
    }
    return notify__register(name, out_token, &(notify__token){.signal = sig});
}

uint32_t notify_register_mach_port(const char *name, mach_port_t *notify_port, int flags, int *out_token) {
    (void)name, (void)flags;
    if (notify_port) *notify_port = 0;
    if (out_token) *out_token = NOTIFY_TOKEN_INVALID;
    return notify__fail(NOTIFY_STATUS_INVALID_PORT,
                        "can't register a Mach port: Linux has none; use notify_register_file_descriptor");
}

uint32_t tidings_notify_register_handler(const char *name, int *number, const notify__handler *handler) {
    return notify__register(name, number, &(notify__token){.handler = *handler});
}

uint32_t notify_cancel(int number) {
    if (disabled()) return notify__fail_disabled("cancel a token");
    notify__handler handler = {0};
    notify__lock_begin();
    notify__token *token = notify__token_of(number);
    if (token) {
        handler = token->handler;
        atomic_store_explicit(&token->number, 0, memory_order_release);
        notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
        unlink_token(name, token);
        notify__monitor_end(token);
        if (token->pipe) notify__pipe_leave(token);
        notify__name_leave(name);
        notify__token_free(token);
    }
    notify__lock_end();
    // Without the lock: the end of a block destroys what the block holds, which may call this library.
    if (handler.end) handler.end(handler.context);
    return token ? NOTIFY_STATUS_OK : notify__fail_token("cancel", number);
}

uint32_t notify_suspend(int number) {
    if (disabled()) return notify__fail_disabled("suspend or resume a token");
    notify__lock_begin();
    notify__token *token = notify__token_of(number);
    if (token) token->suspensions++;
    notify__lock_end();
    return token ? NOTIFY_STATUS_OK : notify__fail_token("suspend", number);
}

uint32_t notify_resume(int number) {
    if (disabled()) return notify__fail_disabled("suspend or resume a token");
    notify__lock_begin();
    notify__token *token = notify__token_of(number);
    if (token && token->suspensions > 0 && --token->suspensions == 0 && token->due &&
        notify__process_suspensions == 0) {
        token->due = false;
        notify__deliver(token);
    }
    notify__lock_end();
    return token ? NOTIFY_STATUS_OK : notify__fail_token("resume", number);
}

// MARK: All tokens of a process

uint32_t notify__process_suspensions;

// There is no daemon, so a process cannot hold back deliveries inside another process.
static uint32_t check_process(const char *what, pid_t pid) {
    if (disabled()) return notify__fail_disabled("suspend or resume a process");
    if (pid == getpid()) return NOTIFY_STATUS_OK;
    return notify__fail(
        NOTIFY_STATUS_INVALID_REQUEST,
        "can't %s process %d: a process does that for itself alone, as there is no daemon; pass getpid()", what,
        (int)pid);
}

static void deliver_due(notify__token *token) {
    if (!token->due || token->suspensions > 0) return;
    token->due = false;
    notify__deliver(token);
}

uint32_t notify_suspend_pid(pid_t pid) {
    const uint32_t status = check_process("suspend", pid);
    if (status != NOTIFY_STATUS_OK) return status;
    notify__lock_begin();
    notify__process_suspensions++;
    notify__lock_end();
    return NOTIFY_STATUS_OK;
}

uint32_t notify_resume_pid(pid_t pid) {
    const uint32_t status = check_process("resume", pid);
    if (status != NOTIFY_STATUS_OK) return status;
    notify__lock_begin();
    if (notify__process_suspensions > 0 && --notify__process_suspensions == 0) notify__tokens_each(deliver_due);
    notify__lock_end();
    return NOTIFY_STATUS_OK;
}

// Apple's function does the same, as its daemon keeps no events: callers that poll find none.
uint32_t notify_get_event(int token, int *ev, char *buf, int *len) {
    (void)token, (void)buf;
    if (ev) *ev = 0;
    if (len) *len = 0;
    return NOTIFY_STATUS_OK;
}

// The fork handler of pthread_atfork has prepared the child already.
void _notify_fork_child(void) {}

static FILE *status_file;  // under notify__lock

static void dump_token(notify__token *token) {
    const notify__name *name = atomic_load_explicit(&token->name, memory_order_relaxed);
    const notify__domain *domain = atomic_load_explicit(&name->domain, memory_order_relaxed);
    const char *kind = token->signal != 0       ? "signal"
                       : token->pipe            ? "file"
                       : token->handler.deliver ? "dispatch"
                                                : "check";
    fprintf(status_file, "token %" PRIu32 " %s suspended %" PRIu32 "%s posts %" PRIu64 " center %s name ",
            atomic_load_explicit(&token->number, memory_order_relaxed), kind, token->suspensions,
            token->due ? " due" : "", atomic_load_explicit(&name->count, memory_order_relaxed),
            tidings_path(atomic_load_explicit(&domain->center, memory_order_relaxed)));
    // A name may contain any byte. Control bytes are replaced, so that no name can forge a line.
    for (size_t i = 0; i < name->text.length; i++) {
        const unsigned char byte = (unsigned char)name->text.bytes[i];
        fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, status_file);
    }
    fputc('\n', status_file);
}

uint32_t notify_dump_status(const char *filepath) {
    if (!filepath)
        return notify__fail(NOTIFY_STATUS_NULL_INPUT, "can't write the status: filepath is NULL; pass a path");
    if (disabled()) return notify__fail_disabled("write the status");
    FILE *file = fopen(filepath, "we");
    if (!file)
        return notify__fail(NOTIFY_STATUS_INVALID_FILE,
                            "can't write the status to \"%s\": %s; pass a path that can be written", filepath,
                            strerror(errno));
    notify__lock_begin();
    status_file = file;
    fprintf(file, "process %d suspended %" PRIu32 "\n", (int)getpid(), notify__process_suspensions);
    notify__tokens_each(dump_token);
    status_file = NULL;
    notify__lock_end();
    const bool broken = ferror(file) != 0;
    if (fclose(file) == 0 && !broken) return NOTIFY_STATUS_OK;
    return notify__fail(NOTIFY_STATUS_INVALID_FILE, "can't write the status to \"%s\": %s; make room there", filepath,
                        strerror(errno));
}

bool tidings_notify_may_run(int number) {
    notify__lock_begin();
    notify__token *token = notify__token_of(number);
    const bool suspended = token && (token->suspensions > 0 || notify__process_suspensions > 0);
    if (suspended) token->due = true;
    const bool may = token && !suspended;
    notify__lock_end();
    return may;
}

bool notify_is_valid_token(int val) { return notify__token_of(val) != NULL; }
