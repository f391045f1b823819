// Centers without a file name: memory (memfd) whose size is sealed, passed from process to process as descriptors. No
// peer can truncate it, so no peer can cause SIGBUS.
#include <errno.h>
#include <string.h>

#include "platform/error.h"
#include "platform/file.h"
#include "platform/process.h"
#include "segment/internal.h"
#include "segment/names.h"

// Starts a segment. Its path is for error lines only: it leads to no file, so `tidings__file_reopen` goes through
// /proc.
static int begin(const char *name, tidings__segment *segment) {
    tidings__segment_begin(segment);
    int result = tidings__check_center_name(name);
    if (result != 0) return result;
    memcpy(segment->name, name, strlen(name) + 1);
    static const char prefix[] = "/memfd:";
    memcpy(segment->path, prefix, sizeof prefix - 1);
    memcpy(segment->path + sizeof prefix - 1, name, strlen(name) + 1);
    segment->owner = tidings__user_id();
    segment->sealed = true;
    return 0;
}

int tidings__segment_create_sealed(const char *name, const tidings_configuration *configuration,
                                   tidings__segment *segment) {
    int result = begin(name, segment);
    if (result != 0) return result;
    static const tidings_configuration standard;
    const tidings_configuration *c = configuration ? configuration : &standard;
    result = tidings__shape_from(c, &segment->shape);
    if (result != 0)
        return tidings__fail(-result, "can't create sealed center \"%s\": %s", name, tidings__last_error());
    if (c->flags & (TIDINGS_OPEN_READ_ONLY | TIDINGS_OPEN_EXISTING | TIDINGS_OPEN_OWNER))
        return tidings__segment_refuse(segment, EINVAL, "create sealed",
                                       "it is always new, and one's own; leave out the flags that say otherwise");
    result = tidings__segment_birth_sealed(segment, c->mode ? c->mode : 0600,
                                           c->flags & TIDINGS_OPEN_GROUP ? &c->group : NULL);
    if (result == 0) return 0;
    char needed[TIDINGS__AMOUNT_SIZE];
    if (result == -EDOM)
        result =
            tidings__segment_refuse(segment, EPERM, "create sealed",
                                    "this process may not give a file to that group; use one that it is a member of");
    else
        (void)tidings__segment_refuse(segment, -result, "create sealed",
                                      "getting %s of sealed memory failed (%s); free some, and see that /proc is there",
                                      tidings__amount(segment->geometry.base_size, needed), strerror(-result));
    tidings__segment_close(segment);
    return result;
}

// Opens the descriptors that a peer gets. Each has an open file description of its own, as no two processes may share
// locks. The one for mapping is not the one for locks (tidings__segment_separate).
int tidings__segment_hand(const tidings__segment *segment, bool writable, int descriptors[3], int *count) {
    *count = 0;
    const int center = tidings__segment_descriptor(segment), locks = tidings__segment_locks(segment);
    const int from[3] = {center, writable ? locks : -1, writable && segment->writers_file ? locks : -1};
    for (int i = 0; i < 3 && (i == 0 || from[i] >= 0); i++) {
        const int fd = from[i] < 0 ? from[i] : tidings__file_reopen(from[i], writable, segment->path);
        if (fd < 0) {
            while (*count > 0) tidings__file_close(descriptors[--*count]);
            return fd;
        }
        descriptors[(*count)++] = fd;
    }
    return 0;
}

// The sender chose the size, which may cost the receiver that much address space and memory. So the receiver sets a
// limit.
static int check_size(const tidings__segment *segment, const tidings__identity *identity, uint64_t largest) {
    if (identity->file_size <= largest) return 0;
    char size[TIDINGS__AMOUNT_SIZE], most[TIDINGS__AMOUNT_SIZE];
    return tidings__segment_refuse(
        segment, EFBIG, "receive",
        "it has %s, and at most %s are accepted; raise the receiver's limit (tidings_receive_at_most, in Swift "
        "maximumSize), or have its sender create it with smaller limits",
        tidings__amount(identity->file_size, size), tidings__amount(largest, most));
}

// Takes the descriptors over, also on failure.
int tidings__segment_adopt(const char *name, const int *descriptors, int count, uint64_t largest,
                           tidings__segment *segment) {
    tidings__identity identity;
    int result = begin(name, segment);
    if (result == 0 && !tidings__file_sealed(descriptors[0]))
        result = tidings__segment_refuse(
            segment, EPERM, "receive",
            "it isn't sealed, so its sender could cut it short; have it created as a sealed one");
    if (result == 0) {
        segment->fd = descriptors[0];
        segment->writable = count > 1;
        result = tidings__segment_identify(segment, segment->fd, TIDINGS__OPEN_ANY_OWNER, "receive", &identity);
    }
    if (result == 0) result = tidings__segment_validate(segment, "receive", &identity);
    if (result == 0) result = check_size(segment, &identity, largest);
    if (result == 0 && segment->writable && count != (identity.writers_file ? 3 : 2))
        result = tidings__segment_refuse(segment, EBADMSG, "receive",
                                         "%d descriptors came with it; have it sent by this library", count);
    if (result == 0) result = tidings__segment_map(segment, &identity);
    if (result == 0 && identity.writers_file != 0) {
        segment->observable = true;
        segment->writers_file = (ino_t)identity.writers_file;
        if (segment->writable) result = tidings__writers_file_adopt(segment, descriptors[1], descriptors[2]);
    } else if (result == 0 && segment->writable) {
        // descriptors[0] was for mapping, descriptors[1] is for locks.
        if (!tidings__file_is(descriptors[1], segment->device, segment->inode))
            result = tidings__segment_refuse(
                segment, EBADMSG, "receive",
                "the descriptors that came with it belong to another one; have it sent by this library");
        else
            segment->fd = descriptors[1];
    }
    for (int i = 0; i < count; i++)
        if (result != 0 || (descriptors[i] != segment->fd && descriptors[i] != segment->writers_file_fd))
            tidings__file_close(descriptors[i]);
    if (result == 0) return 0;
    segment->fd = segment->writers_file_fd = -1;
    segment->writers_file = 0;
    tidings__segment_close(segment);
    return result;
}
