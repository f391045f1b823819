// Programs become other programs: steps are put in, taken out, doubled, exchanged and altered, and most of what is put
// in is a change of a word right before the use that reads it. What libFuzzer does by itself would mostly move the
// bytes of all later steps.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "words.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t most, unsigned seed);

// MARK: Where steps begin (script.c, changes.c)

size_t step_change_size(const uint8_t *at, size_t left) {
    const uint8_t how = left > 1 ? at[1] % 12 : 0;
    return 4 + (how == 6 || how == 7 ? 0 : how == 0 || how == 11 ? 8 : how == 5 ? 4 : how == 4 || how == 10 ? 2 : 1);
}

size_t step_size(const uint8_t *at, size_t left) {
    const uint8_t what = at[0], mode = left > 1 ? at[1] : 0;
    size_t size = 2;
    if (what < 80)
        size = 1 + step_change_size(at + 1, left - 1);
    else if (what < 128)
        size = 2 + (mode & 2 ? 2 : 1) + (mode & 4 ? 1 : 0) + (mode & 8 ? 1 : 0);
    else if (what == 248 || what == 249)
        size = 8;
    else if (what == 250 || (what == 251 && mode % 32 == 30))
        size = 7;
    else if (what == 253 || what == 254)
        size = 6;
    if (what >= 80 && what < 128 && size < left) size += step_change_size(at + size, left - size);
    return size < left ? size : left;
}

#define STEPS 512u

typedef struct steps {
    size_t at[STEPS + 1];  // and the end
    unsigned count;
} steps;

static void find_steps(const uint8_t *data, size_t size, steps *s) {
    s->count = 0;
    s->at[0] = fuzz_program(data, size);
    if (s->at[0] < size) s->at[0]++;  // how the program begins
    for (size_t at = s->at[0]; at < size && s->count < STEPS; s->at[++s->count] = at)
        at += step_size(data + at, size - at);
}

// MARK: What is put in

static uint64_t state;

static unsigned below(unsigned n) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n ? (unsigned)(state >> 33) % n : 0;
}

static size_t of_presence(uint8_t *to) {
    to[0] = below(2) ? 253 : 254;
    for (unsigned i = 1; i < 6; i++) to[i] = (uint8_t)below(256);
    return 6;
}

static size_t of_call(uint8_t *to) {
    to[0] = 251;
    to[1] = (uint8_t)(30 | below(8) << 5);
    for (unsigned i = 2; i < 7; i++) to[i] = (uint8_t)below(256);
    return 7;
}

static size_t aim(uint8_t *to, uint8_t kind) {
    if (kind == WORD_PRESENCE) return of_presence(to);
    if (kind == WORD_CALL) return of_call(to);
    to[0] = below(4) ? 248 : 249;
    to[1] = kind;
    to[2] = (uint8_t)(below(2) ? 0 : below(4) ? below(4) : below(256));
    to[3] = (uint8_t)(below(4) ? below(2) : below(256));
    to[4] = (uint8_t)below(256);
    to[5] = (uint8_t)below(256);
    to[6] = (uint8_t)below(256);
    to[7] = (uint8_t)below(WORDS);
    return 8;
}

static size_t word_now(uint8_t *to, uint8_t kind) {
    if (kind == WORD_PRESENCE) return of_presence(to);
    if (kind == WORD_CALL) return of_call(to);
    to[0] = 250;
    to[1] = kind;
    to[2] = (uint8_t)below(32);
    to[3] = (uint8_t)below(2);
    for (unsigned i = 4; i < 7; i++) to[i] = (uint8_t)below(256);
    return 7;
}

static size_t use(uint8_t *to) {
    to[0] = (uint8_t)(below(4) ? 128 + below(120) : 251);
    to[1] = (uint8_t)below(256);
    return 2;
}

#define MORE(code, which) 251, (code) | (which) << 5
#define ROUND MORE(31, 5)

// What uses words of these kinds: {code, how} pairs of Core/script.c. Changes are put before them.
static const struct {
    uint8_t first, last, uses[10], count;
} recipes[] = {
    {WORD_CLAIM, WORD_BODY, {130, 1, 168, 8, 168, 2}, 3},         // a post with a subject, and an observer of all names
    {WORD_CLAIM, WORD_BODY, {132, 3, 168, 0, 168, 2}, 3},         // "a"
    {WORD_SIZE, WORD_CHUNK_NUMBER, {132, 5, 168, 0, 168, 2}, 3},  // a chunk
    {WORD_POSTER, WORD_ROUTE, {132, 3, 168, 0, 168, 2}, 3},
    {WORD_CLAIM, WORD_ROUTE, {ROUND, 222, 0, ROUND}, 3},                   // evicted
    {WORD_SIZE, WORD_CHUNK_NUMBER, {132, 12, 218, 0, 196, 8, 172, 4}, 4},  // a value, read, observed
    {WORD_CHUNK_NUMBER, WORD_CHUNK_NUMBER, {132, 12, 218, 0, ROUND, 218, 0}, 4},
    {WORD_ROUTE, WORD_ROUTE, {132, 3, 168, 0, ROUND}, 3},
    {WORD_RETAINED, WORD_RETAINED, {132, 13, ROUND, 132, 13, ROUND, 218, 0}, 5},  // and replaced by another
    {WORD_CHUNK, WORD_CHUNK_BYTES, {132, 12, ROUND, 218, 0, 197, 8, 173, 5}, 5},
    {WORD_EVICTION, WORD_EVICTION, {MORE(10, 0), MORE(10, 1), ROUND, 222, 0}, 4},
    {WORD_STATE, WORD_KEY, {196, 0, 222, 0, 168, 2}, 3},  // a name observed, and listed
    {WORD_LENGTHS, WORD_LENGTHS, {132, 1, 222, 0, 168, 2}, 3},
    {WORD_COUNT, WORD_BUCKET, {197, 4, 213, 5, MORE(10, 0)}, 3},  // and left
    {WORD_NEXT, WORD_BUCKET, {MORE(19, 0), MORE(19, 0), MORE(19, 0), MORE(19, 0), MORE(19, 0)}, 5},
    {WORD_CHUNK, WORD_CHUNK_BYTES, {132, 13, MORE(10, 5), 218, 0, 225, 0}, 4},       // values replaced; reclaimed
    {WORD_CHUNK, WORD_CHUNK, {228, 4, 228, 68, 228, 4}, 3},                          // reservations
    {WORD_DOORBELL, WORD_PARTICIPANT, {235, 0, MORE(6, 4), MORE(0, 0), 225, 0}, 4},  // a second dies
    {WORD_DOORBELL, WORD_HISTORY, {MORE(4, 2), 168, 1, MORE(4, 2)}, 3},              // held back by a lossless observer
    {WORD_DOORBELL, WORD_HISTORY, {MORE(2, 0), MORE(3, 0), 168, 0, MORE(3, 0)}, 4},  // a descriptor
    {WORD_DOORBELL, WORD_DOORBELL, {164, 150, 164, 1, 164, 1}, 3},
    {WORD_EVICTION, WORD_LOSSLESS, {ROUND, 222, 0, MORE(4, 2)}, 3},
    {WORD_REMOVED, WORD_REMOVED, {241, 0, 130, 1, 243, 0}, 3},
    {WORD_CLAIM, WORD_PARTICIPANT, {MORE(1, 0), 130, 1, 201, 0, 168, 3}, 4},             // forked
    {WORD_EVICTION, WORD_PARTICIPANT, {243, 0, 225, 0}, 2},                              // opened anew
    {WORD_CLAIM, WORD_CHUNK_ROUTE, {235, 1, 196, 0x84, 132, 3, 172, 4}, 4},              // a reader
    {WORD_NAME_FUTEX, WORD_NAME_FUTEX, {235, 1, 196, 0x84, 192, 4, 132, 3, 192, 4}, 5},  // which sleeps
    {WORD_PRESENCE, WORD_PRESENCE, {MORE(22, 1), 225, 0, MORE(26, 0), MORE(22, 7)}, 4},  // announced, withdrawn
    {WORD_PRESENCE, WORD_PRESENCE, {235, 0, MORE(22, 7), MORE(23, 3), MORE(25, 1), MORE(3, 0)}, 5},  // a death
    {WORD_PRESENCE, WORD_PRESENCE, {235, 0, MORE(23, 1), MORE(25, 3), 225, 0, 168, 2}, 5},           // reclaimed
    {WORD_PRESENCE, WORD_PRESENCE, {MORE(22, 2), MORE(25, 0), ROUND, MORE(22, 4), 222, 0}, 5},       // evicted
    {WORD_CALL, WORD_CALL, {MORE(24, 0), MORE(27, 0), MORE(28, 4), MORE(24, 0), MORE(24, 4)}, 5},    // a request
    {WORD_CALL, WORD_CALL, {MORE(28, 5), MORE(24, 0), MORE(24, 6), MORE(27, 3), MORE(27, 4)}, 5},    // a part
    {WORD_CALL, WORD_CALL, {MORE(24, 1), MORE(24, 5), MORE(27, 0), MORE(24, 0), MORE(24, 3)}, 5},    // and the next
    {WORD_CALL, WORD_CALL, {MORE(28, 2), MORE(24, 1), MORE(27, 6), MORE(24, 0), MORE(24, 4)}, 5},    // cancelled
    {WORD_CALL, WORD_CALL, {235, 0, MORE(28, 1), MORE(25, 3), MORE(25, 2), MORE(27, 1)}, 5},         // settled
    {WORD_CALL, WORD_CALL, {MORE(28, 3), ROUND, MORE(24, 0), MORE(27, 2), MORE(29, 1)}, 5},          // lapped, closed
};

static size_t recipe(uint8_t *to) {
    const unsigned r = below(sizeof recipes / sizeof recipes[0]), spoilt = below(recipes[r].count);
    size_t size = 0;
    for (unsigned i = 0; i < recipes[r].count; i++) {
        const uint8_t kind = (uint8_t)(recipes[r].first + below(recipes[r].last - recipes[r].first + 1u));
        if (i == spoilt || below(3) == 0) size += below(4) ? aim(to + size, kind) : word_now(to + size, kind);
        to[size++] = recipes[r].uses[2 * i];
        to[size++] = (uint8_t)(recipes[r].uses[2 * i + 1] ^ (below(6) ? 0 : below(256)));
    }
    return size;
}

static size_t fresh(uint8_t *to) {
    switch (below(8)) {
        case 0:
        case 1:
        case 2:
        case 3: return recipe(to);
        case 4: return aim(to, (uint8_t)below(WORDS + 1));
        case 5: return word_now(to, (uint8_t)below(WORDS + 1));
        default: return use(to);
    }
}

// MARK: Mutations

// Puts `more` bytes in at `at`. What does not fit is left out.
static size_t put_in(uint8_t *data, size_t size, size_t most, size_t at, const uint8_t *what, size_t more) {
    if (size + more > most) return size;
    memmove(data + at + more, data + at, size - at);
    memcpy(data + at, what, more);
    return size + more;
}

static size_t take_out(uint8_t *data, size_t size, size_t from, size_t to) {
    memmove(data + from, data + to, size - to);
    return size - (to - from);
}

static size_t mutate_once(uint8_t *data, size_t size, size_t most) {
    steps s;
    uint8_t made[128];
    find_steps(data, size, &s);
    const size_t begin = s.at[0];
    const unsigned one = below(s.count);
    const size_t from = s.at[one], to = s.count ? s.at[one + 1] : from, length = to - from;
    if (s.count == 0) return put_in(data, size, most, size, made, fresh(made));
    switch (below(12)) {
        case 0:
        case 1:
        case 2:
        case 3: return put_in(data, size, most, below(3) ? from : to, made, fresh(made));
        case 4:
        case 5: return take_out(data, size, from, to);
        case 6:
            if (length > sizeof made) return size;
            memcpy(made, data + from, length);
            return put_in(data, size, most, s.at[below(s.count + 1)], made, length);
        case 7: {  // two neighbours change places
            if (one == 0 || length > sizeof made) return size;
            memcpy(made, data + from, length);
            memmove(data + s.at[one - 1] + length, data + s.at[one - 1], from - s.at[one - 1]);
            memcpy(data + s.at[one - 1], made, length);
            return size;
        }
        case 8:
        case 9:
        case 10:  // but not what kind of step it is
            if (length > 1) data[from + 1 + below((unsigned)length - 1)] = (uint8_t)below(256);
            return size;
        default:
            if (begin == 0 || below(2)) return from + LLVMFuzzerMutate(data + from, size - from, most - from);
            data[below((unsigned)begin)] = (uint8_t)below(256);
            return size;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (unsigned i = 1 + below(4); i > 0; i--) size = mutate_once(data, size, most);
    return size ? size : LLVMFuzzerMutate(data, size, most);
}

// The beginning of one, the end of the other.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t most, unsigned seed) {
    steps a, b;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    find_steps(one, one_size, &a);
    find_steps(two, two_size, &b);
    const size_t first = a.at[below(a.count + 1)], from = b.at[below(b.count + 1)], rest = two_size - from;
    const size_t head = first < most ? first : most, tail = rest < most - head ? rest : most - head;
    memcpy(out, one, head);
    memcpy(out + head, two + from, tail);
    return head + tail;
}
