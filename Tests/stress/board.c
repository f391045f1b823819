#include "board.h"

#include <signal.h>
#include <sys/mman.h>

// The compatibility test builds this file with the header of the commit of format 1.0, too.
#ifdef HEADER_OF_1_0
#define CLEAR(publisher, options) tidings_state_set(publisher, NULL, 0, options)
#else
#define CLEAR(publisher, options) tidings_state_set(publisher, NULL, 0, options, NULL)
#endif

const char *const names[NAMES + 1] = {"chatty",     "shared.a",    "shared.b",           "rare", "state.a", "state.b",
                                      "stress.end", "stress.turn", TIDINGS_PRESENCE_NAME};
const char *const subjects[SUBJECTS] = {NULL, "one", "two"};

board *all;
int board_file = -1;

void board_map(int file) {
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(all != MAP_FAILED, "%s", strerror(errno));
    board_file = file;
}

void board_create(uint64_t seed) {
    // Not closed by exec: a process that executes this program anew finds it by its number.
    const int file = memfd_create("stress", 0);
    CHECK(file >= 0 && ftruncate(file, sizeof *all) == 0, "%s", strerror(errno));
    board_map(file);
    all->seed = seed;
    chance chance = chance_of(seed, 1, 1);
    for (size_t i = 0; i + 8 <= POOL; i += 8) {
        const uint64_t bytes = chance_below(&chance, UINT64_MAX);
        memcpy(all->pool + i, &bytes, 8);
    }
}

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

chance chance_of(uint64_t a, uint64_t b, uint64_t c) { return (chance){mixed(mixed(mixed(a + 1) + b) + c)}; }

uint64_t chance_below(chance *c, uint64_t limit) {
    c->state += UINT64_C(0x9e3779b97f4a7c15);
    return mixed(c->state) % limit;
}

tidings_center *center_join(bool as_reader) {
    char name[32];
    snprintf(name, sizeof name, "stress-%u", all->slots);
    tidings_center *center;
    tidings_configuration configuration = {.directory = all->directory,
                                           .slots = all->slots,
                                           .maximum_payload = LARGEST,
                                           .mode = all->slots == OBSERVABLE_SLOTS ? 0644 : 0600};
    if (as_reader) configuration.flags = TIDINGS_OPEN_READ_ONLY;
    OK(tidings_open(name, &configuration, &center));
    return center;
}

bool seat_reads_only(uint32_t seat) {
    const uint32_t number = seat < OBSERVERS ? seat
                                             : 4 * (seat - OBSERVERS);  // of the process: every fourth has two seats
    return all->slots == OBSERVABLE_SLOTS && seat != WITNESS && number % 3 == 1;
}

// MARK: Posting

void hand_renew(hand *h) {
    h->row = atomic_fetch_add(&all->rows, 1);
    h->number = 0;
    CHECK(h->row < ROWS, "more posting threads in a round than the board has room for");
    h->chance = chance_of(all->seed ^ h->chance.state, all->round, h->row);
}

void hand_open(hand *h, tidings_center *center, uint32_t seat, chance chance) {
    *h = (hand){.center = center, .seat = seat, .chance = chance, .buffer = malloc(LARGEST)};
    CHECK(h->buffer, "no memory");
    for (int i = 0; i < PUBLISHERS; i++) {
        const char *name = names[i / SUBJECTS], *subject = subjects[i % SUBJECTS];
        OK(tidings_publisher_open(center, name, strlen(name), subject, subject ? strlen(subject) : 0,
                                  &h->publishers[i]));
    }
    hand_renew(h);
}

void hand_close(hand *h) {
    for (int i = 0; i < PUBLISHERS; i++) tidings_publisher_close(h->publishers[i]);
    free(h->buffer);
}

static const uint8_t *pattern_of(uint32_t id) { return all->pool + id * 64u % (1u << 16); }

void stamp_write(uint8_t *bytes, const stamp *stamp) {
    memcpy(bytes, stamp, sizeof *stamp);
    memcpy(bytes + sizeof *stamp, pattern_of(stamp->id), stamp->size - sizeof *stamp);
}

int hand_post(hand *h, uint8_t publisher, uint32_t size, bool retained, int64_t deadline, bool reserve) {
    const uint32_t id = atomic_fetch_add(&all->next, 1);
    if (id >= atomic_load(&all->limit)) return NO_MORE;
    if (size > 0 && size < sizeof(stamp)) size = sizeof(stamp);
    entry *e = &all->entries[id];
    e->row = h->row;
    e->number = ++h->number;
    e->size = size;
    e->pid = getpid();
    e->publisher = publisher;
    e->retained = retained;
    e->after = atomic_load(&all->latest[chance_below(&h->chance, POSTERS)]);
    // A turn of the ring leaves no chunks.
    const uint32_t length = size > 0 && publisher / SUBJECTS != TURN && chance_below(&h->chance, 6) == 0
                                ? 1 + (uint32_t)chance_below(&h->chance, SECTION_MOST)
                                : 0;
    const stamp stamp = {all->round, id, e->row, e->number, size, length};
    uint8_t *bytes = h->buffer;
    tidings_reservation reservation;
    if (reserve) {
        const int result = tidings_reserve(h->center, size, &reservation);
        if (result == -EAGAIN) return HELD_BACK;  // not intended yet: a hole in the table
        OK(result);
        bytes = reservation.bytes;
    }
    if (size) stamp_write(bytes, &stamp);
    atomic_store(&e->state, INTENDED);
    const tidings_section section = {pattern_of(id + 1), length, TIDINGS_SECTION_BAGGAGE};
    tidings_post_options options = {.flags = retained ? TIDINGS_POST_RETAIN : 0, .timeout_ns = deadline};
    if (length > 0 && !plant_is("bare")) {
        options.flags |= TIDINGS_POST_SECTIONS;
        options.sections = &section;
        options.section_count = 1;
    }
    uint64_t sequence = 0;
    const int result = retained && size == 0 ? CLEAR(h->publishers[publisher], &options)
                       : reserve
                           ? tidings_post_reserved(h->publishers[publisher], &reservation, size, &options, &sequence)
                           : tidings_post(h->publishers[publisher], size ? bytes : NULL, size, &options, &sequence);
    if (result == -EAGAIN || result == -ETIMEDOUT) {
        atomic_store(&e->state, REFUSED);
        return HELD_BACK;
    }
    OK(result);
    if (retained && size == 0) {
        atomic_store(&e->state, UNPLACED);
        return POSTED;
    }
    e->sequence = sequence;
    atomic_store(&e->state, plant_is("refuse") ? REFUSED : RETURNED);
    atomic_store(&all->latest[h->seat], sequence + 1);
    return POSTED;
}

bool stamp_read(const void *payload, size_t size, stamp *stamp) {
    if (size == 0) return false;
    CHECK(size >= sizeof *stamp, "%zu bytes came: no post has so few", size);
    memcpy(stamp, payload, sizeof *stamp);
    CHECK(stamp->size == size, "a payload says that it has %u bytes, %zu came", stamp->size, size);
    CHECK(stamp->id < ENTRIES, "a payload says that it is number %u", stamp->id);
    CHECK(memcmp((const uint8_t *)payload + sizeof *stamp, pattern_of(stamp->id), size - sizeof *stamp) == 0,
          "payload %u isn't what was posted", stamp->id);
    return true;
}

// With its section, and those that a later version adds, it fits a slot beside every name and subject.
#define SMALL 64u

void section_read(const tidings_delivery *d, const stamp *stamp) {
    size_t size;
    const void *section = tidings_delivery_section(d, TIDINGS_SECTION_BAGGAGE, &size);
    // If there is no chunk for its sections, a notification goes without them.
    if (!section && (stamp->section == 0 || stamp->size + stamp->section > SMALL)) return;
    CHECK(section, "payload %u came without its section of %u bytes", stamp->id, stamp->section);
    CHECK(size == stamp->section && memcmp(section, pattern_of(stamp->id + 1), size) == 0,
          "payload %u came with a section of %zu bytes, or others", stamp->id, size);
    atomic_fetch_add(&all->sections, 1);
}

// MARK: Actors

void self_exec(const char *role, uint32_t number, uint32_t incarnation) {
    char file[16], which[16], life[16];
    snprintf(file, sizeof file, "%d", board_file);
    snprintf(which, sizeof which, "%u", number);
    snprintf(life, sizeof life, "%u", incarnation);
    const char *program = all->program_count ? all->programs[incarnation % all->program_count] : "/proc/self/exe";
    execl(program, "Stress", role, file, which, life, (char *)NULL);
    CHECK(false, "exec: %s", strerror(errno));
}

bool plant_is(const char *name) {
    if (all->plant[0] == 0 || strcmp(all->plant, name) != 0) return false;
    // Not only once: an observer killed right after it would take the evidence with it.
    return atomic_load(&all->planted) < 8 && atomic_fetch_add(&all->planted, 1) < 8;
}

bool log_full(const logger *l) { return atomic_load_explicit(&l->seat->count, memory_order_relaxed) + 64 > EVENTS; }

static void append(seat *s, event e) {
    const uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    CHECK(count < EVENTS, "the log is full");
    s->events[count] = e;
    atomic_store_explicit(&s->count, count + 1, memory_order_release);
}

// The deliberate lies that the checker must find are told here and in `hand_post`.
void log_event(logger *l, event e) {
    if (e.kind == OPENED) l->since_opened = 0, l->deaf = false;
    if (l->since_opened++ > 20 && all->plant[0] && all->witnessed) {
        if (e.kind == MESSAGE && e.publisher / SUBJECTS != END) {
            // Not the witness: it tells where the posts are whose posters never learned it.
            if (!l->deaf && l->seat != &all->seats[WITNESS]) l->deaf = plant_is("deaf");
            if (l->deaf || plant_is("drop")) return;
            if (plant_is("duplicate")) append(l->seat, e);
            if (l->holds) {
                append(l->seat, e);
                e = l->held;
                l->holds = false;
            } else if (plant_is("swap")) {
                l->held = e;
                l->holds = true;
                return;
            }
            if (!(e.flags & (EMPTY | OF_OLD)) && plant_is("exchange")) e.sequence--;
        }
        if (e.kind == MESSAGE && e.publisher == NOTICES && l->seat == &all->seats[WITNESS]) {
            if (e.id % 4 != TIDINGS_PRESENCE_JOINED && plant_is("mute")) return;
            if (plant_is("again")) append(l->seat, e);
        }
        if (e.kind == MISSED && plant_is("fewer")) e.id--;
        if (e.kind == MISSED && plant_is("more")) e.id++;
    }
    if (l->holds && e.kind != MESSAGE) {
        append(l->seat, l->held);
        l->holds = false;
    }
    append(l->seat, e);
}
