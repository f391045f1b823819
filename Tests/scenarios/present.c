#include "present.h"

attendance seen;

void announce(tidings_center *center, uint32_t number, bool with_will) {
    char role[TIDINGS_ROLE_MAX];
    const int length = snprintf(role, sizeof role, "party %u", number);
    const tidings_will will = {.name = WILL,
                               .name_length = strlen(WILL),
                               .payload = &number,
                               .size = sizeof number,
                               .format = TIDINGS_FORMAT_BYTES};
    OK(tidings_announce(center, role, (size_t)length, with_will ? &will : NULL, -1));
}

void attend(tidings_center *center) {
    uint32_t subscription;
    memset(&seen, 0, sizeof seen);
    seen.observer = observer_of(center, TIDINGS_PRESENCE_NAME);
    OK(tidings_observer_add(seen.observer, WILL, strlen(WILL), NULL, 0, 0, &subscription));
}

static uint32_t will_of(const tidings_delivery *delivery) {
    uint32_t number;
    CHECK(delivery->size == sizeof number && delivery->flags & TIDINGS_DELIVERY_WILL, "a will of %zu bytes",
          delivery->size);
    memcpy(&number, delivery->payload, sizeof number);
    CHECK(number < PARTIES && seen.died[number] == seen.wills[number] + 1, "a will of party %u, which has not died",
          number);
    seen.wills[number]++;
    return number;
}

uint32_t attend_next(int64_t timeout_ns) {
    tidings_delivery delivery;
    const int result = tidings_next(seen.observer, timeout_ns, &delivery);
    if (result == -EAGAIN) return UINT32_MAX;
    CHECK(result == 0 && delivery.kind == TIDINGS_DELIVERY_MESSAGE, "%d, missed %lu", result,
          (unsigned long)delivery.missed);
    if (strcmp(delivery.name, WILL) == 0) return will_of(&delivery);
    tidings_presence notice;
    uint32_t number;
    OK(tidings_presence_read(&delivery, &notice));
    CHECK(sscanf(notice.role, "party %u", &number) == 1 && number < PARTIES, "role \"%s\"", notice.role);
    CHECK(notice.pid == delivery.pid && notice.uid == delivery.uid && notice.participant == delivery.participant,
          "the notice of %d is posted as by %d", notice.pid, delivery.pid);
    const uint32_t left = seen.closed[number] + seen.died[number];
    if (notice.event == TIDINGS_PRESENCE_JOINED) {
        CHECK(seen.joined[number] == left, "party %u joined twice", number);
        seen.joined[number]++;
        seen.id[number] = notice.id;
        return number;
    }
    CHECK(seen.joined[number] == left + 1, "party %u left (%d) and was not there: joined %u, left %u", number,
          notice.event, seen.joined[number], left);
    CHECK(seen.id[number] == notice.id, "party %u left under another number", number);
    if (notice.event == TIDINGS_PRESENCE_DIED)
        seen.died[number]++;
    else
        seen.closed[number]++;
    return number;
}

void until_joined(uint32_t number) {
    const uint32_t before = seen.closed[number] + seen.died[number];
    while (seen.joined[number] == before) attend_next(-1);
}

void until_left(uint32_t number, bool died) {
    while (seen.joined[number] > seen.closed[number] + seen.died[number]) attend_next(-1);
    CHECK(died ? seen.died[number] : seen.closed[number], "party %u: died %u times, closed %u times", number,
          seen.died[number], seen.closed[number]);
}

void attend_all(void) {
    while (attend_next(0) != UINT32_MAX) {}
}
