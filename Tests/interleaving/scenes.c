#include "scenario.h"

#define SCENE(name, tells, ...) void name(void);
#include "scenes.h"

void the_newest_is_kept(void);  // scenes_values.c

const scenario scenarios[] = {
#define SCENE(name, tells, ...) {#name, tells, name, __VA_ARGS__},
#include "scenes.h"
};
const uint32_t scenario_count = sizeof scenarios / sizeof scenarios[0];
