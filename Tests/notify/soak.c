// Actions at random against a model that is too simple to be wrong.
#include "peer.h"

#define TOKENS 400
#define NAMES 60
#define PIPES 8

typedef struct model_token {
    int token, name, pipe;  // pipe -1: only asked
    bool unheard;           // since the last check
    uint32_t suspensions;
    bool due;
    uint32_t expected;  // deliveries that must come through the pipe
} model_token;

static model_token tokens[TOKENS];
static int count;
static uint64_t states[NAMES];
static struct { int descriptor, users; } pipes[PIPES];
static char names[NAMES][512];

static void make_names(void) {
    for (int i = 0; i < NAMES; i++) {
        if (i % 10 == 7) {
            memset(names[i], 'l', 400);
            snprintf(names[i] + 400, 100, "%d", i);
        } else {
            snprintf(names[i], sizeof names[i], i % 10 == 3 ? "self.soak.%d" : "com.example.soak.%d", i);
            if (i % 10 == 5) snprintf(names[i], sizeof names[i], "user.uid.%u.%d", (unsigned)geteuid(), i);
        }
    }
}

// Reads what must come; what comes beside is wrong.
static void settle(int pipe) {
    if (pipes[pipe].users == 0) return;
    uint64_t wanted = 0;
    for (int i = 0; i < count; i++) wanted += tokens[i].pipe == pipe ? tokens[i].expected : 0;
    for (; wanted > 0; wanted--) {
        const int token = read_token(pipes[pipe].descriptor);
        int i = 0;
        while (i < count && tokens[i].token != token) i++;
        CHECK(i < count && tokens[i].pipe == pipe, "token %d, which is not registered", token);
        CHECK(tokens[i].expected > 0, "token %d once too often", token);
        tokens[i].expected--;
    }
    CHECK(!is_readable(pipes[pipe].descriptor), "something else came through pipe %d", pipe);
}

static void add(void) {
    if (count == TOKENS) return;
    model_token *t = &tokens[count];
    *t = (model_token){.name = (int)random_below(NAMES), .pipe = -1, .unheard = true};
    if (random_below(3) == 0) {
        t->pipe = (int)random_below(PIPES);
        const bool reuse = pipes[t->pipe].users > 0;
        OK(notify_register_file_descriptor(names[t->name], &pipes[t->pipe].descriptor, reuse ? NOTIFY_REUSE : 0,
                                           &t->token));
        pipes[t->pipe].users++;
    } else if (random_below(4) == 0) {
        OK(notify_register_plain(names[t->name], &t->token));
    } else {
        OK(notify_register_check(names[t->name], &t->token));
    }
    count++;
}

static void drop(int i) {
    model_token t = tokens[i];
    if (t.pipe >= 0) settle(t.pipe);
    OK(notify_cancel(t.token));
    CHECK(!notify_is_valid_token(t.token), "canceled");
    if (t.pipe >= 0) pipes[t.pipe].users--;
    tokens[i] = tokens[--count];
}

static void post(void) {
    const int name = (int)random_below(NAMES);
    OK(notify_post(names[name]));
    for (int i = 0; i < count; i++) {
        model_token *t = &tokens[i];
        if (t->name != name) continue;
        t->unheard = true;
        if (t->pipe < 0) continue;
        if (t->suspensions > 0)
            t->due = true;
        else
            t->expected++;
    }
}

static void suspend(model_token *t) {
    // What is on its way may come before or after, so first what is.
    if (t->pipe >= 0) settle(t->pipe);
    OK(notify_suspend(t->token));
    t->suspensions++;
}

static void resume(model_token *t) {
    // Its posts may not have been come to yet; the dispatcher is asked to by a post that another descriptor shows.
    if (t->suspensions == 1 && t->due) {
        int barrier;
        const int descriptor = descriptor_of(names[t->name], &barrier);
        OK(notify_post(names[t->name]));
        for (int i = 0; i < count; i++) {
            model_token *o = &tokens[i];
            if (o->name != t->name) continue;
            o->unheard = true;
            if (o->pipe >= 0 && o->suspensions == 0)
                o->expected++;
            else if (o->pipe >= 0)
                o->due = true;
        }
        CHECK(read_token(descriptor) == barrier, "barrier");
        OK(notify_cancel(barrier));
    }
    OK(notify_resume(t->token));
    if (t->suspensions > 0 && --t->suspensions == 0 && t->due) {
        t->due = false;
        t->expected++;
    }
}

static void ask(model_token *t) {
    CHECK(is_new(t->token) == t->unheard, "token %d of \"%s\": unheard %d", t->token, names[t->name], t->unheard);
    t->unheard = false;
}

static void look_at_state(const model_token *t) {
    uint64_t state;
    OK(notify_get_state(t->token, &state));
    CHECK(state == states[t->name], "\"%s\": %llu, not %llu", names[t->name], (unsigned long long)state,
          (unsigned long long)states[t->name]);
}

void a_million_random_actions_do_what_a_model_says(void) {
    make_names();
    const char *asked = getenv("TIDINGS_SOAK_ACTIONS");
    const uint64_t wanted = asked ? strtoull(asked, NULL, 10) : 1000000;
    // A million under the thread sanitizer, on a machine that is busy with other things.
    alarm(WATCHDOG + (unsigned)(wanted / 2500));
    for (uint64_t action = 0; action < wanted; action++) {
        model_token *t = count > 0 ? &tokens[random_below((uint64_t)count)] : NULL;
        switch (random_below(16)) {
            case 0:
            case 1: add(); break;
            case 2:
                if (t && (count > TOKENS / 2 || random_below(2))) drop((int)(t - tokens));
                break;
            case 3:
            case 4:
            case 5: post(); break;
            case 6:
                if (t) suspend(t);
                break;
            case 7:
            case 8:
                if (t && t->suspensions > 0) resume(t);
                break;
            case 9:
                if (t) look_at_state(t);
                break;
            case 10:
                if (t && random_below(8) == 0) {
                    states[t->name] = random_below(3) ? random_next() : 0;
                    OK(notify_set_state(t->token, states[t->name]));
                }
                break;
            case 11: settle((int)random_below(PIPES)); break;
            default:
                if (t) ask(t);
                break;
        }
    }
    while (count > 0) drop(count - 1);
}
