/// What Apple's library has beside `notify.h`, under the same names.
#ifndef NOTIFY_PRIVATE_H
#define NOTIFY_PRIVATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOTIFY_OPT_DISPATCH 0x00000001  ///< accepted: deliveries never interrupt a thread here
#define NOTIFY_OPT_REGEN 0x00000002     ///< if a center is removed, go on with its successor rather than answer NOTIFY_STATUS_SERVER_NOT_FOUND; looks out for that with a thread
#define NOTIFY_OPT_ENABLE 0x04000000    ///< undo NOTIFY_OPT_DISABLE
#define NOTIFY_OPT_DISABLE 0x08000000   ///< from now on every call answers NOTIFY_STATUS_OPT_DISABLE

void notify_set_options(uint32_t opts);

/// A token for `notify_set_state` and `notify_get_state`. It can be checked too.
uint32_t notify_register_plain(const char *name, int *out_token);

/// How often the token's name has been posted, counted from any moment: two looks tell whether, and how often, without being remembered as a `notify_check`.
uint32_t notify_peek(int token, uint32_t *val);

/// Delivers to the token, too, when the file (or directory) at `path` changes, appears or disappears; at most every 100 ms. Its directory must be there: NOTIFY_STATUS_INVALID_FILE. One file a token: another one, or NULL,
/// takes its place. `flags` is 0.
uint32_t notify_monitor_file(int token, char *path, int flags);

uint32_t notify_simple_post(const char *name);

#ifdef __cplusplus
}
#endif

#endif
