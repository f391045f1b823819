// Processes announce themselves, leave and die. Each of these events is told once, and a last will once after a death.
#include "director.h"

// MARK: What a process announces

static uint32_t own = ABSENT;  // the announcement of this process

static void set_state(uint32_t number, uint32_t state) { atomic_store(&all->announcements[number].state, state); }

// The post that the library is to make if this process dies.
static uint32_t some_will(uint32_t number, chance *c, tidings_will *will, uint8_t *bytes, uint32_t room) {
    const uint32_t id = atomic_fetch_add(&all->next, 1);
    if (id >= atomic_load(&all->limit)) return ABSENT;
    entry *e = &all->entries[id];
    e->row = atomic_fetch_add(&all->rows, 1);
    CHECK(e->row < ROWS, "more last wills than the board has room for");
    e->number = number + 1;
    const uint32_t spread = chance_below(c, 4) ? 200 : room - (uint32_t)sizeof(stamp);
    e->size = (uint32_t)sizeof(stamp) + (uint32_t)chance_below(c, spread);
    e->pid = getpid();
    e->publisher = (uint8_t)chance_below(c, END * SUBJECTS);
    if (e->publisher / SUBJECTS >= STATE_A) e->publisher -= e->publisher % SUBJECTS;
    e->retained = e->publisher / SUBJECTS >= STATE_A;
    e->will = true;
    stamp_write(bytes, &(stamp){all->round, id, e->row, e->number, e->size, 0});
    const char *name = names[e->publisher / SUBJECTS], *subject = subjects[e->publisher % SUBJECTS];
    *will = (tidings_will){.name = name,
                           .name_length = strlen(name),
                           .subject = subject,
                           .subject_length = subject ? strlen(subject) : 0,
                           .payload = bytes,
                           .size = e->size,
                           .flags = e->retained ? TIDINGS_POST_RETAIN : 0};
    atomic_store(&e->state, LEFT_AS_WILL);
    return id;
}

void presence_begin(uint32_t actor, tidings_center *center, chance *c) {
    own = ABSENT;
    if (actor != FORKED) atomic_store(&all->announcement_of[actor], ABSENT);
    const uint64_t kind = chance_below(c, 8);
    if (!all->witnessed || kind < 2) return;
    const uint32_t number = atomic_fetch_add(&all->announced, 1);
    CHECK(number < ANNOUNCEMENTS, "more announcements in a round than the board has room for");
    announcement *a = &all->announcements[number];
    static uint8_t bytes[1u << 14];
    tidings_will will;
    a->actor = actor;
    a->pid = getpid();
    a->watches = kind == 2;
    a->will = kind > 4 ? some_will(number, c, &will, bytes, sizeof bytes) : ABSENT;
    char role[32];
    const int length = snprintf(role, sizeof role, "%u %u", all->round, number);
    const uint64_t wait = chance_below(c, 8);
    const int64_t timeout = wait == 0 ? 0 : wait == 1 ? 2000000 : -1;
    set_state(number, ANNOUNCING);
    if (actor != FORKED) atomic_store(&all->announcement_of[actor], number);
    const int result = a->watches
                           ? tidings_presence_watch(center)
                           : tidings_announce(center, role, (size_t)length,
                                              a->will == ABSENT || plant_is("intestate") ? NULL : &will, timeout);
    if (result == -EAGAIN || result == -ETIMEDOUT) {
        if (a->will != ABSENT) atomic_store(&all->entries[a->will].state, REFUSED);
        set_state(number, NOT_ANNOUNCED);
        return;
    }
    OK(result);
    own = number;
    set_state(number, PRESENT);
}

static void leave(tidings_center *center, bool closes) {
    if (own != ABSENT && !plant_is("linger")) set_state(own, LEAVING);
    if (closes)
        tidings_close(center);
    else
        OK(tidings_withdraw(center));
    if (own != ABSENT && atomic_load(&all->announcements[own].state) == LEAVING) set_state(own, GONE);
    own = ABSENT;
}

void presence_close(tidings_center *center) { leave(center, true); }

void presence_change(uint32_t actor, tidings_center *center, chance *c) {
    if (own != ABSENT) leave(center, false);
    if (own == ABSENT && chance_below(c, 2)) presence_begin(actor, center, c);
}

void presence_forked(void) { own = ABSENT; }

// MARK: What observers are told

static void witnessed(uint32_t number, uint32_t what) { atomic_fetch_or(&all->announcements[number].told, 1u << what); }

void presence_note(const tidings_delivery *d, bool witness, event *e) {
    tidings_presence p;
    OK(tidings_presence_read(d, &p));
    unsigned round, number;
    CHECK(sscanf(p.role, "%u %u", &round, &number) == 2 && number < ANNOUNCEMENTS, "a notice has the role %s", p.role);
    CHECK(d->pid == p.pid && d->participant == p.participant, "a notice of %d is posted by %d", p.pid, d->pid);
    e->publisher = NOTICES;
    e->id = number * 4 + (uint32_t)p.event;
    if (round != all->round) {
        e->flags = OF_OLD;
        return;
    }
    announcement *a = &all->announcements[number];
    uint64_t id = 0;
    if (!atomic_compare_exchange_strong(&a->id, &id, p.id))
        CHECK(id == p.id, "an announcement has the id %lx, and %lx", (unsigned long)id, (unsigned long)p.id);
    CHECK(p.pid == a->pid, "a notice of %d says that it is of %d", a->pid, p.pid);
    if (witness) witnessed(number, (uint32_t)p.event);
}

void presence_note_will(const tidings_delivery *d, bool witness, const stamp *stamp) {
    if (stamp->round != all->round) return;
    const entry *e = &all->entries[stamp->id];
    CHECK(e->will == !!(d->flags & TIDINGS_DELIVERY_WILL), "post %u is a last will: %d, it says: %x", stamp->id,
          e->will, d->flags);
    if (!e->will) return;
    CHECK(d->pid == e->pid, "a last will of %d is posted by %d", e->pid, d->pid);
    if (witness) witnessed(e->number - 1, WILL_TOLD);
}

// MARK: In a calm

// Its process is announced or watches. In a calm only observers are left.
static bool lives(uint32_t number) {
    const announcement *a = &all->announcements[number];
    return a->actor != FORKED && a->actor >= POSTERS && actor_is(a->actor, a->pid) &&
           atomic_load(&all->announcement_of[a->actor]) == number && atomic_load(&a->state) == PRESENT;
}

#define ENDS (1u << TIDINGS_PRESENCE_CLOSED | 1u << TIDINGS_PRESENCE_DIED)

uint32_t presence_owed(uint32_t *guards) {
    uint32_t owed = 0;
    *guards = 0;
    for (uint32_t n = 0; n < atomic_load(&all->announced); n++) {
        const announcement *a = &all->announcements[n];
        const uint32_t told = atomic_load(&a->told);
        if (lives(n))
            ++*guards;
        else if (told && !(told & ENDS))
            owed++;
        else if (told & 1u << TIDINGS_PRESENCE_DIED && a->will != ABSENT && !(told & 1u << WILL_TOLD))
            owed++;
    }
    return owed;
}

#define WRONG(n, format, ...)                                                                                          \
    violation("presence: " format " (announcement %u, state %u, round %u)", __VA_ARGS__, n,                            \
              atomic_load(&all->announcements[n].state), all->round)

void check_present(void) {
    for (uint32_t n = 0; n < atomic_load(&all->announced); n++) {
        const announcement *a = &all->announcements[n];
        const uint32_t told = atomic_load(&a->told);
        if (lives(n) && told != (a->watches ? 0 : 1u << TIDINGS_PRESENCE_JOINED))
            WRONG(n, "told %x of process %d, which lives", told, a->pid);
    }
}

// MARK: At the end

static struct account { uint8_t joined, end, will; } accounts[ANNOUNCEMENTS];

static void read_notice(uint32_t n, uint32_t what, uint64_t sequence) {
    struct account *x = &accounts[n];
    const bool end = what == TIDINGS_PRESENCE_CLOSED || what == TIDINGS_PRESENCE_DIED;
    if (what == WILL_TOLD ? x->will : end ? x->end : x->joined)
        WRONG(n, "told twice of %u at %lu", what, (unsigned long)sequence);
    if (end && !x->joined) WRONG(n, "the end %u at %lu, without joined", what, (unsigned long)sequence);
    if (what == WILL_TOLD && x->end != TIDINGS_PRESENCE_DIED)
        WRONG(n, "a last will at %lu, without died", (unsigned long)sequence);
    if (what == WILL_TOLD)
        x->will = true;
    else if (end)
        x->end = (uint8_t)what;
    else
        x->joined = true;
}

void check_presence(void) {
    memset(accounts, 0, sizeof accounts);
    const seat *seat = &all->seats[WITNESS];
    for (uint32_t i = 0; i < atomic_load(&seat->count); i++) {
        const event *e = &seat->events[i];
        if (e->kind != MESSAGE || e->flags) continue;
        if (e->publisher == NOTICES)
            read_notice(e->id / 4, e->id % 4, e->sequence);
        else if (all->entries[e->id].will)
            read_notice(all->entries[e->id].number - 1, WILL_TOLD, e->sequence);
    }
    for (uint32_t n = 0; n < atomic_load(&all->announced); n++) {
        const announcement *a = &all->announcements[n];
        const struct account *x = &accounts[n];
        const uint32_t state = atomic_load(&a->state);
        if (!x->joined && !a->watches && state >= PRESENT) WRONG(n, "not told that %d joined", a->pid);
        if (x->joined && (a->watches || state == NOT_ANNOUNCED)) WRONG(n, "told that %d joined", a->pid);
        if (x->joined && !x->end) WRONG(n, "%d has joined, and neither closed nor died", a->pid);
        if (x->end == TIDINGS_PRESENCE_CLOSED && state < LEAVING) WRONG(n, "closed, and %d did not leave", a->pid);
        if (x->end == TIDINGS_PRESENCE_DIED && state == GONE) WRONG(n, "died, and %d had left", a->pid);
        if (x->end == TIDINGS_PRESENCE_DIED && a->will != ABSENT && !x->will)
            WRONG(n, "died, and the last will of %d was not posted", a->pid);
        if (x->will && a->will == ABSENT) WRONG(n, "a last will of %d, which left none", a->pid);
        total.joined += x->joined;
        total.closed += x->end == TIDINGS_PRESENCE_CLOSED;
        total.died += x->end == TIDINGS_PRESENCE_DIED;
        total.wills += x->will;
    }
}
