// Which schedules there are, and which of them is next.
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdint.h>
#include <stdio.h>

#include "machine.h"

void explorer_boot(void);

// Every schedule that differs in at most `changes` places from "each goes on for as long as it can, then the next in
// turn". A death and a late store come on top.
void explorer_exhaust(uint32_t changes);
bool explorer_next(void);  // the next one of these; false: that was all

// One at random.
void explorer_random(uint64_t seed, uint64_t usual_points);
uint64_t explorer_points(void);  // how many choices the last one had

// The one that is written there, or the one that was just run.
void explorer_replay(const char *choices);
void explorer_again(void);
void explorer_describe(FILE *to);

#endif
