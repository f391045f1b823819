/** Functions of Apple's library beside `notify.h`, under the same names. Bounds are in the words of `notify.h`. */
#ifndef NOTIFY_PRIVATE_H
#define NOTIFY_PRIVATE_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOTIFY_OPT_DISPATCH 0x00000001  /**< accepted, no effect: deliveries never interrupt a thread here */
/**
 * If a center is removed, continue with its successor instead of returning NOTIFY_STATUS_SERVER_NOT_FOUND. A thread
 * watches for the removal.
 */
#define NOTIFY_OPT_REGEN 0x00000002
#define NOTIFY_OPT_FILTERED 0x00000004  /**< accepted, no effect: there is no daemon that could filter */
#define NOTIFY_OPT_ENABLE 0x04000000    /**< undo NOTIFY_OPT_DISABLE */
#define NOTIFY_OPT_DISABLE 0x08000000   /**< from now on every call returns NOTIFY_STATUS_OPT_DISABLE */

/**
 * Sets options of this process: some of NOTIFY_OPT_...
 *
 * Bound: constant; NOTIFY_OPT_REGEN, set first, constant for each center of this process. Never waits.
 */
void notify_set_options(uint32_t opts);

/**
 * Registers a token for `notify_set_state` and `notify_get_state`. It can be checked too.
 *
 * Bound and waiting: as `notify_register_check`.
 */
uint32_t notify_register_plain(const char *name, int *out_token);

/**
 * Reads how often the token's name was posted, counted from an arbitrary start. The difference of two values is the
 * number of posts between them. It does not change what `notify_check` returns.
 *
 * Bound and waiting: as `notify_check`.
 */
uint32_t notify_peek(int token, uint32_t *val);

/** Events of a file, with the values that Apple's library has for them. */
#define NOTIFY_FILE_DELETE 0x0001 /**< the path is gone */
#define NOTIFY_FILE_WRITE 0x0002  /**< written to; for a directory: an entry was added or removed */
#define NOTIFY_FILE_EXTEND 0x0004 /**< longer than before */
#define NOTIFY_FILE_ATTRIB 0x0008 /**< mode, owner, times or links changed */
#define NOTIFY_FILE_LINK 0x0010   /**< the number of links changed */
#define NOTIFY_FILE_RENAME 0x0020 /**< renamed; NOTIFY_FILE_DELETE comes with it */
#define NOTIFY_FILE_REVOKE 0x0040 /**< its file system was unmounted; NOTIFY_FILE_DELETE comes with it */
#define NOTIFY_FILE_CREATE 0x0080 /**< the path appeared */
#define NOTIFY_FILE_MTIME 0x0100  /**< modification time; NOTIFY_FILE_ATTRIB comes with it */
#define NOTIFY_FILE_CTIME 0x0200  /**< change time; NOTIFY_FILE_ATTRIB comes with it */
#define NOTIFY_FILE_ALL 0x03ff

/**
 * Also delivers to the token when the file (or directory) at `path` changes, appears or disappears; at most every 100
 * ms. `flags` selects the events: some of NOTIFY_FILE_..., 0: all. Bits that name no event are ignored beside others.
 * If the file's directory does not exist: NOTIFY_STATUS_INVALID_FILE. A token follows one file: another path replaces
 * it, NULL ends it.
 *
 * Bound: constant for each followed file of this process. Waits as the file system does; other calls of this process
 * may then wait too.
 */
uint32_t notify_monitor_file(int token, char *path, int flags);

/**
 * Suspends, or resumes, all tokens of this process: `pid` is its own. Suspensions nest, as with notify_suspend. A
 * forked child begins without suspensions. Another process: NOTIFY_STATUS_INVALID_REQUEST, as there is no daemon.
 *
 * Bound: constant. Never waits.
 */
uint32_t notify_suspend_pid(pid_t pid);
/** Bound: constant for each token of this process, and a delivery for each that is due. Never waits. */
uint32_t notify_resume_pid(pid_t pid);

/**
 * Sets `*ev` and `*len` to 0, as Apple's function does: there are no events to take.
 *
 * Bound: constant. Never waits.
 */
uint32_t notify_get_event(int token, int *ev, char *buf, int *len);

/**
 * Writes this process's suspensions and tokens to a file, a line each. NOTIFY_STATUS_INVALID_FILE: the file cannot be
 * written.
 *
 * Bound: copy of a line for each token of this process. Waits as the file system does; other calls of this process may
 * then wait too.
 */
uint32_t notify_dump_status(const char *filepath);

/**
 * Does nothing: the library's fork handler has prepared the child already.
 *
 * Bound: constant. Never waits.
 */
void _notify_fork_child(void);

/**
 * The same as notify_post.
 *
 * Bound and waiting: as `notify_post`.
 */
uint32_t notify_simple_post(const char *name);

#ifdef __cplusplus
}
#endif

#endif
