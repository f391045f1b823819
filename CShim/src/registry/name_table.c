// The name table: finds an entry by hash, adds entries, and makes observers their members.
#include "registry/name_table.h"

#include <errno.h>
#include <string.h>

#include "platform/error.h"
#include "registry/tally.h"
#include "segment/eviction.h"
#include "segment/position.h"

// A fast and simple hash is enough: it only spreads names over chains, and names are not secrets. Eight bytes at a
// time, multiply and fold.
static uint64_t mix(uint64_t hash, const char *bytes, size_t length) {
    while (length > 0) {
        uint64_t word = 0;
        size_t now = length < 8 ? length : 8;
        memcpy(&word, bytes, now);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        bytes += now;
        length -= now;
    }
    return hash;
}

void tidings__key_make(tidings__key *key, const char *name, size_t name_length, const char *subject,
                       size_t subject_length) {
    key->name = name;
    key->subject = subject;
    key->name_length = (uint32_t)name_length;
    key->subject_length = subject ? (uint32_t)subject_length : 0;
    uint64_t hash = mix(name_length + 1, name, name_length);
    if (subject) hash = mix(hash + subject_length + 0x1000, subject, subject_length);
    key->hash = hash * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 32;
    key->prefix = false;
}

static uint64_t state_of(uint64_t generation, uint32_t participant, uint32_t state) {
    return generation << 20 | (uint64_t)(participant & 0xffff) << 4 | state;
}
#define STATE(word) ((uint32_t)(word)&0xf)
#define PARTICIPANT(word) ((uint32_t)((word) >> 4) & 0xffff)
#define GENERATION(word) ((word) >> 20)

// A link: the next entry's index, a mark (this entry is being taken out), and a tag that makes each value of the word
// new.
#define LINK_INDEX(word) ((uint32_t)(word))
static uint64_t link_to(uint64_t old, uint32_t index) { return ((old >> 33) + 1) << 33 | index; }

#define REFUSED_MOST 64u

tidings__name *tidings__name_asked(tidings__segment *s, uint32_t index) {
#ifdef MUTANT_NAME_NUMBER_UNCHECKED  // Found by: fuzz image
    if (index >= s->shape.names) return &s->names[index];
#endif
    if (index == TIDINGS__NAME_NONE || index >= s->shape.names) return NULL;
    // An entry is used after `names_backed` says that it has memory. So once the file had no memory for an index, it is
    // not asked again for this one or a higher one before that word grows.
    uint64_t backed = tidings__acquire(&s->header->names_backed.word);
    if (backed > s->shape.names) backed = s->shape.names;
    const uint64_t missing = tidings__relaxed(&s->names_missing);
    if (backed < missing >> 32 && index >= (uint32_t)missing) return NULL;
    // Invariant N9: an index that a peer wrote must not make this process reserve memory.
    if (tidings__names_there(s, index + 1) > index || tidings__name_touched(s, index)) return &s->names[index];
    // A peer may have written indices in descending order. So after a few, no entry is looked for beyond those that
    // have memory, as far as the file tells.
    const uint32_t times = tidings__relaxed(&s->names_refused), known = tidings__relaxed(&s->names_known);
    tidings__set_relaxed(&s->names_refused, times < REFUSED_MOST ? times + 1 : times);
    const uint32_t from = times >= REFUSED_MOST && known < index ? known : index;
    tidings__set_relaxed(&s->names_missing, (backed + 1) << 32 | from);
    return NULL;
}

uint32_t tidings__names_end(tidings__segment *s) {
    const uint64_t used = tidings__acquire(&s->header->names_used.word);
    return tidings__names_there(s, used < s->shape.names ? (uint32_t)used : s->shape.names);
}

static uint32_t lengths_of(const tidings__key *key) {
    return key->name_length | (key->prefix ? TIDINGS__LENGTHS_PREFIX : 0) |
           (key->subject ? key->subject_length + 1 : 0) << 16;
}

bool tidings__name_same(const tidings__name *entry, const tidings__key *key) {
    if (tidings__relaxed(&entry->hash) != key->hash || tidings__relaxed(&entry->lengths) != lengths_of(key))
        return false;
    const size_t words = (key->name_length + key->subject_length + 7) / 8;
    uint64_t text[TIDINGS__KEY_MAX / 8];
    if (words) text[words - 1] = 0;  // the text ends with zeros
    memcpy(text, key->name, key->name_length);
    if (key->subject_length) memcpy((char *)text + key->name_length, key->subject, key->subject_length);
    for (size_t i = 0; i < words; i++)
        if (tidings__relaxed(&entry->key[i]) != text[i]) return false;
    return true;
}

// Searches a chain from `link`; ignores entries that are gone. A walk that meets a change may miss an entry. G has
// moved then, and the caller, which read G before, searches again. `*full`: the chain has no room for one more entry
// (invariant N10), or a hostile peer has closed it to a cycle. `*generation`: see `tidings__name_find_now`.
static inline uint32_t find_from(tidings__segment *s, uint64_t link, const tidings__key *key, bool *full,
                                 uint64_t *generation) {
    uint32_t steps = 0;
    for (uint32_t index = LINK_INDEX(link); index != TIDINGS__NAME_NONE; steps++) {
#ifndef MUTANT_CHAIN_UNBOUNDED  // Found by: fuzz image
        if (steps == TIDINGS__CHAIN_MAX) break;
#endif
        tidings__name *entry = tidings__name_at(s, index);
        if (!entry) return TIDINGS__NAME_NONE;
        const uint64_t state = tidings__acquire(&entry->state);
        *generation = GENERATION(state);
        if ((STATE(state) == TIDINGS__NAME_LINKED || STATE(state) == TIDINGS__NAME_LEAVING) &&
            tidings__name_same(entry, key))
            return index;
        index = LINK_INDEX(tidings__acquire(&entry->next));
    }
    *full = steps == TIDINGS__CHAIN_MAX;
    return TIDINGS__NAME_NONE;
}

uint32_t tidings__name_find(tidings__segment *s, const tidings__key *key) {
    return tidings__name_find_now(s, key, &(uint64_t){0});
}

uint32_t tidings__name_find_now(tidings__segment *s, const tidings__key *key, uint64_t *generation) {
    return find_from(s, tidings__acquire(tidings__name_chain(s, key->hash, key->prefix)), key, &(bool){false},
                     generation);
}

bool tidings__name_still(const tidings__segment *s, uint32_t index, uint64_t generation) {
    tidings__fence_acquire();
    return GENERATION(tidings__acquire(&s->names[index].state)) == generation;
}

static void moved(tidings__segment *s) { tidings__fetch_add(&s->header->generation.word, 1); }

// MARK: Adding

// Where the next search for a freed entry starts. A hint, shared by all centers of the process; hence the relaxed
// accesses.
static _Atomic uint32_t turn;

// How many entries have ever been used, as the header says, but no more than have memory. The word only grows: if a
// peer has set it below the first entry, it is repaired.
static uint32_t used_entries(tidings__segment *s) {
    _Atomic uint64_t *used = &s->header->names_used.word;
    uint64_t count = tidings__acquire(used);
    if (count < TIDINGS__NAME_FIRST) (void)tidings__cas(used, &count, TIDINGS__NAME_FIRST);
    const uint32_t end = tidings__names_end(s);
    return end < TIDINGS__NAME_FIRST ? TIDINGS__NAME_FIRST : end;
}

// The most free entries, per attempt, for which the whole ring is searched.
#define SCANS 64

// True if no evicting thread can still count for this entry as a prefix. The walk of such a thread may have come to the
// entry, and no record shows that. (The walk of a poster may have, too, but the poster's claim is found in the ring.)
// If no range is being evicted now, such a thread finds EV changed and counts nothing. The new tag makes the CAS of a
// thread fail that is about to begin.
static bool no_eviction_knows(tidings__segment *s, const tidings__name *entry) {
    if (!(tidings__relaxed(&entry->lengths) & TIDINGS__LENGTHS_PREFIX)) return true;
    _Atomic uint64_t *word = &s->header->eviction.word;
    uint64_t ev = tidings__acquire(word);
    return tidings__ev_length(ev) == 0 && tidings__cas(word, &ev, tidings__ev_idle(tidings__ev_start(ev), ev + 1));
}

// Free entries in quarantine that a walk of the table has met, and their states then.
typedef struct waiting {
    uint32_t count, entries[SCANS];
    uint64_t states[SCANS];
} waiting;

// What is left of the work that all searches of one call may do. A hostile peer can take each entry that a search
// finds.
#define SEARCHED_AGAIN 1024u  // entries, beside one walk of a full table
typedef struct search {
    uint32_t entries;
    uint64_t table, ring;  // as of `tidings__name_budget`
} search;

// Invariant N5: `state` was read before the entry was found to be out of quarantine. If another process has used the
// entry since, the generation is another one, and the ring may hold records of that use.
static bool take_free(tidings__segment *s, uint32_t participant, uint32_t index, uint64_t state) {
#ifdef MUTANT_FREE_ENTRY_USED_SINCE  // Found by: interleaving place_freed_again
    state = tidings__acquire(&s->names[index].state);
#endif
    return STATE(state) == TIDINGS__NAME_FREE &&
           tidings__cas(&s->names[index].state, &state,
                        state_of(GENERATION(state) + 1, participant, TIDINGS__NAME_PREPARING));
}

// The most entries that one walk takes out: each makes every poster resolve its name again.
#define TAKEN_OUT_MOST 64u

// One walk of the table searches for a free entry, and takes out entries that no observer needs. A second walk would
// cost as much again: most of the time goes to loading each entry from memory.
static bool search_table(tidings__segment *s, uint32_t participant, uint32_t limit, uint64_t oldest, waiting *waiting,
                         search *left, uint32_t *index) {
    uint32_t taken_out = 0;
    uint32_t candidate = tidings__relaxed(&turn);
    for (uint32_t i = 0; i < limit && left->entries > 0; i++, candidate++, left->entries--) {
        if (candidate >= limit || candidate < TIDINGS__NAME_FIRST) candidate = TIDINGS__NAME_FIRST;
        const tidings__name *entry = &s->names[candidate];
        tidings__name_ahead(s, candidate, limit);
        uint64_t state = tidings__acquire(&entry->state);
        if (STATE(state) != TIDINGS__NAME_FREE) {
            if (taken_out == TAKEN_OUT_MOST || left->table == 0) continue;
            if (!tidings__name_take_out(s, participant, candidate, &left->table)) continue;
            taken_out++;
            state = tidings__acquire(&entry->state);
        }
        // Invariant N5: an entry in quarantine waits.
        if ((int64_t)(tidings__acquire(&entry->birth) - oldest) > 0) {
            if (waiting->count == SCANS) continue;
            waiting->entries[waiting->count] = candidate;
            waiting->states[waiting->count++] = state;
        } else if (take_free(s, participant, candidate, state)) {
            *index = candidate;
            return true;
        }
    }
    return false;
}

// Takes a free entry for preparing: a fresh one, or a freed one whose quarantine is over.
static int take_entry(tidings__segment *s, uint32_t participant, search *left, uint32_t *index) {
    _Atomic uint64_t *used = &s->header->names_used.word;
    const uint64_t oldest = tidings__oldest(s);
    uint32_t limit = used_entries(s);
    waiting waiting = {0};
    // Fresh entries first, while they have memory. After that the table is searched, and it grows only if the search
    // finds none.
    const bool search_first = limit >= tidings__acquire(&s->header->names_backed.word);
    bool found = search_first && search_table(s, participant, limit, oldest, &waiting, left, index);
    for (uint32_t steps = limit; !found && steps < s->shape.names && limit < s->shape.names; steps++) {
        const int error = tidings__back_names(s, limit + 1);
        if (error) return error;
        const uint64_t state = tidings__acquire(&s->names[limit].state);
        const bool taken = (int64_t)(tidings__acquire(&s->names[limit].birth) - oldest) <= 0 &&
                           take_free(s, participant, limit, state);
        // The entry is taken, by this call or by a process that died before it counted the entry: count it.
        uint64_t expected = limit;
        tidings__cas(used, &expected, limit + 1);
        if (taken) {
            *index = limit;
            return 0;
        }
        limit = used_entries(s);
    }
    if (!found && !search_first) found = search_table(s, participant, limit, oldest, &waiting, left, index);
    // Only if there is no other free entry, searches the ring for records that carry the numbers of entries in
    // quarantine.
    for (uint32_t i = 0; !found && i < waiting.count && left->ring >= s->shape.slots; i++) {
        *index = waiting.entries[i];
        left->ring -= s->shape.slots;
        found = no_eviction_knows(s, &s->names[*index]) && !tidings__ring_may_hold(s, *index, false) &&
                take_free(s, participant, *index, waiting.states[i]);
    }
    if (found) {
        tidings__set_relaxed(&turn, *index + 1);
        return 0;
    }
    return tidings__fail(ENOSPC,
                         "can't add one more name to center \"%s\": its table of %u names is full; observe or retain "
                         "fewer, or create it with more names",
                         s->name, s->shape.names);
}

static void write_key(tidings__name *entry, const tidings__key *key) {
    uint64_t text[TIDINGS__KEY_MAX / 8] = {0};
    memcpy(text, key->name, key->name_length);
    if (key->subject_length) memcpy((char *)text + key->name_length, key->subject, key->subject_length);
    for (size_t i = 0; i < TIDINGS__KEY_MAX / 8; i++) tidings__set_relaxed(&entry->key[i], text[i]);
    tidings__set_relaxed(&entry->hash, key->hash);
    tidings__set_relaxed(&entry->lengths, lengths_of(key));
}

// Makes the observer a member, or marks the entry for a retained record. True if this call changed the entry.
static bool set_member(tidings__name *entry, uint32_t observer) {
    if (observer == TIDINGS__TO_COUNT) return false;
    if (observer == TIDINGS__TO_RETAIN) {
        uint64_t none = 0;
        return tidings__cas(&entry->retained, &none, TIDINGS__RETAINED_EXPECTED);
    }
    uint64_t bit = UINT64_C(1) << observer % 64;
    // The word's bit first: a walk reads only the words that have it.
    tidings__fetch_or(&entry->wake_group, 1u << observer / 64);
    return !(tidings__fetch_or(&entry->members[observer / 64], bit) & bit);
}

static void clear_member(tidings__name *entry, uint32_t observer) {
    if (observer < TIDINGS__OBSERVERS_MAX)
        tidings__fetch_and(&entry->members[observer / 64], ~(UINT64_C(1) << observer % 64));
}

// Makes the observer a member of an entry that was found. False: the entry is being taken out or serves another name;
// search again.
static bool join_entry(tidings__name *entry, const tidings__key *key, uint32_t observer) {
    uint64_t found = tidings__acquire(&entry->state);
    if ((STATE(found) != TIDINGS__NAME_LINKED && STATE(found) != TIDINGS__NAME_LEAVING) ||
        !tidings__name_same(entry, key))
        return false;
    bool ours = set_member(entry, observer);
    tidings__barrier_after_rmw();
    uint64_t state = tidings__acquire(&entry->state);
    for (int tries = 0;; tries++) {
        // Compares the generation too: if this thread was stopped for long, the entry may serve another name by now.
        bool same = GENERATION(state) == GENERATION(found);
        if (same && STATE(state) == TIDINGS__NAME_LINKED) return true;
#ifdef MUTANT_JOINED_ENTRY_REMOVED  // Found by: interleaving names_come_and_go
        return true;
#endif
        if (!same || STATE(state) != TIDINGS__NAME_LEAVING || tries > TIDINGS__TRIES) {
            if (ours) clear_member(entry, observer);
            return false;
        }
        // Another thread is about to take the entry out, but has not decided yet. Its deciding CAS and this one exclude
        // each other.
        tidings__cas(&entry->state, &state, state_of(GENERATION(state), PARTICIPANT(state), TIDINGS__NAME_LINKED));
    }
}

// Takes an entry that no observer needs out of a full chain. False: there is none.
static bool shorten(tidings__segment *s, uint32_t participant, uint64_t head) {
    uint64_t budget = tidings__name_budget(s);
    uint32_t index = LINK_INDEX(head);
    for (uint32_t steps = 0; index != TIDINGS__NAME_NONE && steps < TIDINGS__CHAIN_MAX; steps++) {
        const tidings__name *entry = tidings__name_at(s, index);
        if (!entry) return false;
        const uint32_t next = LINK_INDEX(tidings__acquire(&entry->next));
        if (tidings__name_take_out(s, participant, index, &budget)) return true;
        index = next;
    }
    return false;
}

int tidings__name_join(tidings__segment *s, uint32_t participant, const tidings__key *key, uint32_t observer,
                       uint32_t *index) {
    _Atomic uint64_t *bucket = tidings__name_chain(s, key->hash, key->prefix);
    uint32_t mine = TIDINGS__NAME_NONE;
    int error = 0;
    // Each failed round means that another thread changed the chain. The bounds are for a hostile peer.
    int taken = 0;
    search left = {s->shape.names + SEARCHED_AGAIN, tidings__name_budget(s), tidings__name_budget(s)};
    bool shortened = false;
    for (int round = 0; round < 1000 && taken < 8; round++) {
        uint64_t head = tidings__acquire(bucket);
        bool full = false;
        uint32_t found = find_from(s, head, key, &full, &(uint64_t){0});
        if (full) {
            if (!shortened && shorten(s, participant, head)) {
                shortened = true;
                continue;
            }
            error = tidings__fail(ENOSPC,
                                  "can't add one more name to center \"%s\": it has %u names whose hash ends like "
                                  "this one's; choose another name",
                                  s->name, TIDINGS__CHAIN_MAX);
            goto done;
        }
        if (found != TIDINGS__NAME_NONE) {
            if (!join_entry(&s->names[found], key, observer)) continue;
            *index = found;
            goto done;
        }
        if (mine == TIDINGS__NAME_NONE) {
            error = take_entry(s, participant, &left, &mine);
            if (error) return error;
            taken++;
            tidings__name *entry = &s->names[mine];
            for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) tidings__set_relaxed(&entry->members[i], 0);
            // Invariant W6: clears the bits and keeps the count. An observer that is late to sleep on it must find
            // another value.
            tidings__fetch_and(&entry->wake_group, ~(TIDINGS__WAKE_GROUP_RUNG - 1));
            // The ring holds no record any more of the entry's former name, and none yet of the new one. The tally
            // starts at 0, so that a reader that finds the entry later knows how many records there were.
            tidings__tally_restart(&entry->tally, tidings__oldest(s));
            // `retained` is not reset: its positions only grow, so a helper of an eviction long past finds its expected
            // value nowhere. Release fence: PREPARING is visible before the first word changes; see
            // `tidings__name_was`.
            tidings__fence_release();
            write_key(entry, key);
            set_member(entry, observer);
        }
        tidings__name *entry = &s->names[mine];
        uint64_t next = tidings__relaxed(&entry->next);
        tidings__set_relaxed(&entry->next, link_to(next, LINK_INDEX(head)));
        // No record in the ring carries this number, and each later one lies at the oldest position or after it.
        tidings__set_relaxed(&entry->birth, tidings__oldest(s));
        uint64_t preparing = tidings__acquire(&entry->state);
        if (STATE(preparing) != TIDINGS__NAME_PREPARING) {
            mine = TIDINGS__NAME_NONE;  // a hostile peer, or one that took this process for dead, has freed it
            continue;
        }
        // LINKED before it is reachable: a search passes over an entry that is still PREPARING. If this participant
        // dies in between, no chain leads to the entry. It is recycled like any other entry, once its member is
        // reclaimed.
        if (!tidings__cas(&entry->state, &preparing, state_of(GENERATION(preparing), 0, TIDINGS__NAME_LINKED)))
            continue;
        // Invariant N1: `head` was read before the chain was searched.
        if (tidings__cas(bucket, &head, link_to(head, mine))) {
            *index = mine;
            mine = TIDINGS__NAME_NONE;
            goto done;
        }
        uint64_t linked = state_of(GENERATION(preparing), 0, TIDINGS__NAME_LINKED);
        if (!tidings__cas(&entry->state, &linked,
                          state_of(GENERATION(preparing), participant, TIDINGS__NAME_PREPARING))) {
            // Another thread is taking the entry out. Leave the entry to it: no chain leads there.
            clear_member(entry, observer);
            mine = TIDINGS__NAME_NONE;
        }
    }
    error = tidings__fail(
        EBADMSG, "can't observe a name in center \"%s\": its table of names is damaged; remove the center", s->name);
done:
    if (mine != TIDINGS__NAME_NONE) {
        uint64_t state = tidings__acquire(&s->names[mine].state);
        if (STATE(state) == TIDINGS__NAME_PREPARING) {
            tidings__set_relaxed(&s->names[mine].birth, 0);
            tidings__cas(&s->names[mine].state, &state, state_of(GENERATION(state), 0, TIDINGS__NAME_FREE));
        }
    }
#ifndef MUTANT_GENERATION_NOT_RAISED  // Found by: interleaving registering
    if (!error) moved(s);
#endif
    return error;
}

bool tidings__name_stays(tidings__segment *s, uint32_t index, const tidings__key *key) {
    tidings__name *entry = &s->names[index];
    uint64_t state = tidings__acquire(&entry->state);
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        uint64_t generation = GENERATION(state);
        if ((STATE(state) != TIDINGS__NAME_LINKED && STATE(state) != TIDINGS__NAME_LEAVING) ||
            !tidings__name_same(entry, key))
            return false;
        tidings__fence_acquire();
        uint64_t now = tidings__acquire(&entry->state);
        if (GENERATION(now) != generation) return false;
        if (STATE(now) == TIDINGS__NAME_LINKED) return true;
        if (STATE(now) == TIDINGS__NAME_LEAVING &&
            tidings__cas(&entry->state, &now, state_of(generation, PARTICIPANT(now), TIDINGS__NAME_LINKED)))
            return true;
        state = now;
    }
    return false;
}

bool tidings__name_was(const tidings__segment *s, uint32_t index, uint64_t position) {
    const tidings__name *entry = &s->names[index];
    tidings__fence_acquire();
    const uint32_t state = STATE(tidings__acquire(&entry->state));
    if (state == TIDINGS__NAME_PREPARING) return false;
    if (state != TIDINGS__NAME_FREE && (int64_t)(tidings__relaxed(&entry->birth) - position) <= 0) return true;
    // Taken out: the text stays until the entry is reused, which invariant N5 forbids before the position is evicted.
    return (int64_t)(tidings__oldest(s) - position) <= 0;
}

int tidings__name_join_all(tidings__segment *s, uint32_t observer) {
    set_member(&s->names[TIDINGS__NAME_ALL], observer);
    moved(s);
    return 0;
}

void tidings__name_leave(tidings__segment *s, uint32_t index, uint32_t observer) {
    tidings__name *entry = tidings__name_at(s, index);
    if (!entry) return;
    clear_member(entry, observer);
    moved(s);
}

static bool read_text(const tidings__name *entry, char *name, uint32_t *name_length, char *subject,
                      uint32_t *subject_length) {
    uint32_t lengths = tidings__relaxed(&entry->lengths);
    uint32_t first = lengths & (TIDINGS__LENGTHS_PREFIX - 1), second = lengths >> 16;
    if (second > 0) second--;
#ifndef MUTANT_NAME_LENGTH_UNCHECKED  // Found by: fuzz image
    if (first > TIDINGS_NAME_MAX || second > TIDINGS_SUBJECT_MAX) return false;
#endif
    if (!name && !subject) return true;
    uint64_t text[TIDINGS__KEY_MAX / 8];
    for (size_t i = 0; i < TIDINGS__KEY_MAX / 8; i++) text[i] = tidings__relaxed(&entry->key[i]);
    if (name) {
#ifdef MUTANT_NAME_LENGTH_READ_TWICE  // Found by: fuzz image
        first = tidings__relaxed(&entry->lengths) & 0xffff;
#endif
        memcpy(name, text, first);
        name[first] = 0;
        *name_length = first;
    }
    if (subject) {
        memcpy(subject, (char *)text + first, second);
        subject[second] = 0;
        *subject_length = second;
    }
    return true;
}

bool tidings__name_text(tidings__segment *s, uint32_t index, char *name, uint32_t *name_length, char *subject,
                        uint32_t *subject_length) {
    const tidings__name *entry = tidings__name_at(s, index);
    if (!entry || index == TIDINGS__NAME_ALL) return false;
    const uint32_t state = STATE(tidings__acquire(&entry->state));
    return state != TIDINGS__NAME_FREE && state != TIDINGS__NAME_PREPARING &&
           read_text(entry, name, name_length, subject, subject_length);
}

bool tidings__name_text_at(tidings__segment *s, uint32_t index, uint64_t position, char *name, uint32_t *name_length) {
    const tidings__name *entry = tidings__name_at(s, index);
    return entry && index != TIDINGS__NAME_ALL && read_text(entry, name, name_length, NULL, NULL) &&
           tidings__name_was(s, index, position);
}
