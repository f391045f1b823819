// Which words are shared.
#include "center/center.h"
#include "storage.h"

#define WORDS 16384

typedef struct shared_word {
    uintptr_t address;
    uint8_t touched, written;
    bool shared;
} shared_word;

// Seen in all schedules so far: outside of what is put back.
static struct words {
    shared_word all[WORDS];
    bool everything, grown;
} * words;

void words_boot(void) { words = pages(sizeof *words); }

void words_share_all(bool everything) { words->everything = everything; }
bool words_settle(void) {
    bool more = words->grown;
    words->grown = false;
    for (uint32_t i = 0; i < WORDS; i++) {
        shared_word *w = &words->all[i];
        w->shared = w->written && w->touched & (w->touched - 1);
    }
    return more;
}

bool words_touch(uintptr_t canonical, uint32_t who, bool writes) {
    uintptr_t key = canonical >> 3;
    uint32_t slot = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 50);
    shared_word *w = &words->all[slot];
    while (w->address != key && w->address != 0) w = &words->all[++slot % WORDS];
    w->address = key;
    w->touched |= (uint8_t)(1u << who);
    if (writes) w->written = 1;
    bool is = w->written && w->touched & (w->touched - 1);
    if (is && !w->shared) words->grown = true;
    const tidings__header *header = machine.fibers[0].center->segment.header;
    if (machine.focus && machine_inside(canonical) && canonical != machine_canonical(&header->generation)) return false;
    return w->shared || words->everything;
}
