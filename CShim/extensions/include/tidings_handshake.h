/// The hand-shake between a host and its extension, for the two libraries that speak it: the Swift module
/// `TidingsExtensions` on both sides, and tidings_extension.h for extensions in C. No promise to other programs, but a
/// promise between versions: the first 12 bytes of each message keep their meaning.
///
/// The host makes a pair of SOCK_SEQPACKET Unix sockets. One becomes descriptor 0 of the extension. Messages:
///
/// 1. The host sends: 8 bytes magic, 4 bytes version, 4 bytes flags (1: a broadcast center follows), 4 bytes number of
///    grants, 4 bytes zero. Then follows each grant: 1 byte kind, 1 byte length of the name, the name.
/// 2. The host sends the private center, for posting, by `tidings_send`.
/// 3. With that flag, the host sends the broadcast center, read-only, by `tidings_send`.
/// 4. The extension answers: 8 bytes magic, 4 bytes version, 4 bytes status. 0: it is ready; or a positive errno.
///
/// Numbers are in the byte order of the machine. All of the host's messages fit into the socket, so the host sends them
/// before it starts the extension, and no call waits. The program that answers may be a child of a wrapper script: each
/// process that inherits descriptor 0 can. Nothing follows the answer. From then on the extension's end is readable
/// when the host has ended.
#ifndef TIDINGS_HANDSHAKE_H
#define TIDINGS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDINGS_HANDSHAKE_VERSION 1u
#define TIDINGS_HANDSHAKE_BYTES_MAX 65536u  ///< bytes of the first message, with all grants

/// The role under which an extension announces itself in the private center.
#define TIDINGS_HANDSHAKE_ROLE "extension"
/// The same if it leaves a last will: the host waits for the will of such a process after its death.
#define TIDINGS_HANDSHAKE_ROLE_WITH_WILL "extension with a last will"

/// The name of an empty notification in the private center. Its subject is a name that the extension's library has
/// refused to post, for want of a grant: the host counts and reports that. Under the name itself, it would reach
/// observers in the extension, which expect a payload. A refused request has the name of its announcement
/// (TIDINGS_REQUESTS_PREFIX).
#define TIDINGS_EXTENSION_UNGRANTED "tidings.extension.ungranted"

/// What a grant allows the extension.
enum {
    TIDINGS_GRANT_OBSERVES = 1,  ///< observe the broadcast center
    TIDINGS_GRANT_POSTS = 2,     ///< post the name, through the host, into the broadcast center
    TIDINGS_GRANT_SERVES = 3,    ///< serve the host's requests of the name
    TIDINGS_GRANT_REQUESTS = 4,  ///< request the name from the host
};

typedef struct tidings_grant {
    uint8_t kind;         ///< TIDINGS_GRANT_…
    uint8_t name_length;  ///< bytes, 1 to 255
    const char *name;     ///< not NUL-terminated
} tidings_grant;

/// What the host sent.
typedef struct tidings_hello {
    uint32_t version;    ///< of the host; set also with -EPROTO
    bool has_broadcast;  ///< a broadcast center follows the private one
    size_t grant_count;
    const tidings_grant *grants;  ///< one block of memory with their names, for `free`
} tidings_hello;

/// What the extension answered.
typedef struct tidings_answer {
    uint32_t version;  ///< of the extension
    uint32_t status;   ///< 0: ready; otherwise a positive errno. EPROTO: it needs another version
} tidings_answer;

/// Host: makes the sockets. `sockets[0]` stays with the host, `sockets[1]` is the extension's input. Both are
/// close-on-exec. Fails as `socketpair`.
/// Bound: constant. Never waits.
int tidings_handshake_sockets(int sockets[2]);

/// Host: sends the first message. The private center follows, and the broadcast center if `has_broadcast`.
/// -E2BIG: more than TIDINGS_HANDSHAKE_BYTES_MAX. -EINVAL: a grant without a name, or of an unknown kind. Others as
/// `send`.
/// Bound: copy of the names. Never waits.
int tidings_handshake_hello_send(int socket, const tidings_grant *grants, size_t count, bool has_broadcast);

/// Host: takes the extension's answer. Trusts nothing that comes.
/// -ETIMEDOUT: none came in time (0: none is there; < 0: waits without end). -ECONNRESET: each process that had the
/// socket has closed it. -EBADMSG: something else came. An answer of another version is 0: compare `version`.
/// Bound: constant. Waits up to `timeout_ns`.
int tidings_handshake_answer_receive(int socket, int64_t timeout_ns, tidings_answer *answer);

/// Extension: takes the socket from descriptor 0. Afterwards descriptor 0 reads as an empty file, so that no other code
/// of the extension takes messages. Returns a close-on-exec descriptor. -ENOTSOCK: it is no socket, so no host started
/// this process, or the socket was taken before.
/// Bound: constant. Never waits.
int tidings_handshake_input(void);

/// Extension: takes the host's first message. The caller passes `hello->grants` to `free`.
/// -EPROTO: another version: answer with EPROTO, and end. -EBADMSG: no host of this library sent it. -ECONNRESET: the
/// host has ended. -ENOMEM. Others as `recv`.
/// Bound: copy of the names. Waits as `recv` does on that socket.
int tidings_handshake_hello_receive(int socket, tidings_hello *hello);

/// Extension: answers with this library's version. `status`: 0, ready; or a positive errno. -EPIPE: the host has ended.
/// Bound: constant. Never waits.
int tidings_handshake_answer_send(int socket, uint32_t status);

#ifdef __cplusplus
}
#endif

#endif
