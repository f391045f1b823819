/** What Apple's library has beside `notify.h`, under the same names. */
#ifndef NOTIFY_PRIVATE_H
#define NOTIFY_PRIVATE_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOTIFY_OPT_DISPATCH 0x00000001  /**< accepted: deliveries never interrupt a thread here */
#define NOTIFY_OPT_REGEN 0x00000002     /**< if a center is removed, go on with its successor rather than answer NOTIFY_STATUS_SERVER_NOT_FOUND; looks out for that with a thread */
#define NOTIFY_OPT_FILTERED 0x00000004  /**< accepted: no daemon stands between processes that could filter */
#define NOTIFY_OPT_ENABLE 0x04000000    /**< undo NOTIFY_OPT_DISABLE */
#define NOTIFY_OPT_DISABLE 0x08000000   /**< from now on every call answers NOTIFY_STATUS_OPT_DISABLE */

void notify_set_options(uint32_t opts);

/** A token for `notify_set_state` and `notify_get_state`. It can be checked too. */
uint32_t notify_register_plain(const char *name, int *out_token);

/** How often the token's name has been posted, counted from any moment: two looks tell whether, and how often, without being remembered as a `notify_check`. */
uint32_t notify_peek(int token, uint32_t *val);

/** Events of a file, with the values that Apple's library has for them. */
#define NOTIFY_FILE_DELETE 0x0001 /**< the path is gone */
#define NOTIFY_FILE_WRITE 0x0002  /**< written to; of a directory: an entry came or went */
#define NOTIFY_FILE_EXTEND 0x0004 /**< longer than before */
#define NOTIFY_FILE_ATTRIB 0x0008 /**< mode, owner, times or links changed */
#define NOTIFY_FILE_LINK 0x0010   /**< another number of links */
#define NOTIFY_FILE_RENAME 0x0020 /**< renamed; NOTIFY_FILE_DELETE comes with it */
#define NOTIFY_FILE_REVOKE 0x0040 /**< its file system was unmounted; NOTIFY_FILE_DELETE comes with it */
#define NOTIFY_FILE_CREATE 0x0080 /**< the path is there */
#define NOTIFY_FILE_MTIME 0x0100  /**< modification time; NOTIFY_FILE_ATTRIB comes with it */
#define NOTIFY_FILE_CTIME 0x0200  /**< change time; NOTIFY_FILE_ATTRIB comes with it */
#define NOTIFY_FILE_ALL 0x03ff

/**
 * Delivers to the token, too, when the file (or directory) at `path` changes, appears or disappears; at most every 100 ms.
 * `flags` says which events count: some of NOTIFY_FILE_..., 0: all. Bits that name no event are ignored beside others.
 * The file's directory must be there: NOTIFY_STATUS_INVALID_FILE. A token follows one file: another path replaces it, NULL ends it.
 */
uint32_t notify_monitor_file(int token, char *path, int flags);

/**
 * Suspends, or resumes, all tokens of this process: `pid` is its own. They nest, as notify_suspend does. A forked child begins
 * without. Another process: NOTIFY_STATUS_INVALID_REQUEST, as no daemon stands between processes.
 */
uint32_t notify_suspend_pid(pid_t pid);
uint32_t notify_resume_pid(pid_t pid);

/** Sets `*ev` and `*len` to 0, as Apple's does: there are no events to take. */
uint32_t notify_get_event(int token, int *ev, char *buf, int *len);

/** Writes this process's suspensions and tokens to a file, a line each. NOTIFY_STATUS_INVALID_FILE: it cannot be written. */
uint32_t notify_dump_status(const char *filepath);

/** Does nothing: after fork() the library has prepared the child already. */
void _notify_fork_child(void);

uint32_t notify_simple_post(const char *name);

#ifdef __cplusplus
}
#endif

#endif
