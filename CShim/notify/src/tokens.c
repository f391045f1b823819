// The table of tokens: a number is looked up without a lock. A block of entries is never freed, so that a read of a
// canceled entry is always valid memory.
#include <stdlib.h>

#include "internal.h"

// A token's lower bits are the index of its entry, the bits above count the entry's uses. A canceled number becomes
// valid again only after its entry has been used 256 times. While the table has unused entries, an entry is used again
// only when more than 4,096 entries are free, the longest free one first.
#define PLACE_BITS 22
#define BLOCK_BITS 10
#define BLOCK (1u << BLOCK_BITS)
#define BLOCKS (1u << (PLACE_BITS - BLOCK_BITS))
#define USES 256u
#define REST 4096u

static _Atomic(notify__token *) blocks[BLOCKS];
static uint32_t used = 1;  // entries; entry 0 is never used, so that no token is 0
static notify__token *free_first, *free_last;
static uint32_t free_count;

static notify__token *at(uint32_t place) {
    notify__token *block = atomic_load_explicit(&blocks[place >> BLOCK_BITS], memory_order_acquire);
    return block ? &block[place & (BLOCK - 1)] : NULL;
}

notify__token *notify__token_of(int number) {
    if (number <= 0) return NULL;
    notify__token *token = at((uint32_t)number & ((1u << PLACE_BITS) - 1));
    return token && atomic_load_explicit(&token->number, memory_order_acquire) == (uint32_t)number ? token : NULL;
}

static uint32_t next_number(uint32_t place, uint32_t uses) { return place | (uses % USES) << PLACE_BITS; }

notify__token *notify__token_new(void) {
    const bool more = used < 1u << PLACE_BITS;
    if (free_first && (free_count > REST || !more)) {
        notify__token *token = free_first;
        free_first = token->next;
        if (!free_first) free_last = NULL;
        free_count--;
        token->next = NULL;
        return token;
    }
    if (!more) return NULL;
    if (!at(used)) {
        notify__token *block = calloc(BLOCK, sizeof *block);
        if (!block) return NULL;
        for (uint32_t i = 0; i < BLOCK; i++) block[i].uses = (used & ~(BLOCK - 1)) + i;
        atomic_store_explicit(&blocks[used >> BLOCK_BITS], block, memory_order_release);
    }
    return at(used++);
}

void notify__token_publish(notify__token *token, int *number) {
    const uint32_t next = next_number(token->uses & ((1u << PLACE_BITS) - 1), token->uses >> PLACE_BITS);
    // Store the caller's copy first: a block that runs at once may read it.
    *number = (int)next;
    atomic_store_explicit(&token->number, next, memory_order_release);
}

void notify__token_free(notify__token *token) {
    token->uses += 1u << PLACE_BITS;
    token->suspensions = 0;
    token->due = token->full = token->delivers = false;
    token->signal = 0;
    token->pipe = NULL;
    token->handler = (notify__handler){0};
    token->next = token->previous = token->next_waiting = token->previous_waiting = NULL;
    if (free_last)
        free_last->next = token;
    else
        free_first = token;
    free_last = token;
    free_count++;
}

void notify__tokens_each(void (*each)(notify__token *token)) {
    for (uint32_t place = 1; place < used; place++) {
        notify__token *token = at(place);
        if (atomic_load_explicit(&token->number, memory_order_relaxed) != 0) each(token);
    }
}
