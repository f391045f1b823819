#include "scenario.h"

#define SCENE(name, tells, ...) void name(void);
#include "scenes.h"

void the_newest_is_kept(void);     // scenes_values.c
void what_is_held_is_whole(void);  // scenes_holds.c
// scenes_presence.c
void reported_once(void);
void each_reported_once(void);
void the_will_is_kept(void);
void end_guards(void);
// scenes_requests.c
void end_requests(void);
void each_received_once(void);

const scenario scenarios[] = {
#define SCENE(name, tells, ...) {#name, tells, name, __VA_ARGS__},
#include "scenes.h"
};
const uint32_t scenario_count = sizeof scenarios / sizeof scenarios[0];
