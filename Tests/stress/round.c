// One round: sixteen observers and sixteen posters in gusts, while the director kills, stops and starts them. After
// each gust comes a calm, in which every observer must have everything.
#include "director.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define ACTORS (POSTERS + OBSERVERS + 1)
#define STOPPED_AT_A_TIME 6

state states[GUSTS][NAMES];
uint64_t calm_ends[GUSTS];
uint64_t hang_timeout_s = 40;

static struct actor {
    pid_t pid;
    uint64_t resume;  // it is stopped until then; 0: it isn't
} actors[ACTORS];
static int gust_pipe[2];
static uint32_t incarnations, orphans_reaped;

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
uint64_t longest_ms[3];
static void took(int phase, uint64_t since_us) {
    const uint64_t ms = (now_us() - since_us) / 1000;
    if (ms > longest_ms[phase]) longest_ms[phase] = ms;
}
uint64_t seconds_now(void) { return now_us() / 1000000; }

// What waits for others is taken to hang after `hang_timeout_s`, and only if this process has had many turns of the
// processor meanwhile: beside hundreds of busy processes the others have had few too.
#define TURNS_OF_A_HANG 4000u

typedef struct patience {
    uint64_t since;
    uint32_t turns;
} patience;

static patience patience_begin(void) { return (patience){seconds_now(), 0}; }
static bool patience_ends(patience *p) {
    return ++p->turns > TURNS_OF_A_HANG && seconds_now() - p->since > hang_timeout_s;
}
bool actor_is(uint32_t actor, int32_t pid) { return actor < ACTORS && actors[actor].pid == pid; }

static void end_all(void) {
    for (int i = 0; i < ACTORS; i++)
        if (actors[i].pid) kill(actors[i].pid, SIGKILL);
    exit(1);
}

static void seats_set(uint32_t number, uint32_t mode) {
    if (number == OBSERVERS)
        atomic_store(&all->seats[WITNESS].mode, mode);
    else
        atomic_store(&all->seats[number].mode, mode);
    if (number < OBSERVERS && number % 4 == 0) atomic_store(&all->seats[OBSERVERS + number / 4].mode, mode);
}

static void start(uint32_t i, bool anew) {
    const bool poster = i < POSTERS;
    const uint32_t number = poster ? i : i - POSTERS, life = ++incarnations;
    if (!poster) seats_set(number, STARTING);
    fflush(NULL);
    const pid_t pid = fork();
    CHECK(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(300);
        close(gust_pipe[0]);
        if (!poster) close(gust_pipe[1]);
        if (anew || all->program_count) self_exec(poster ? "--poster" : "--observer", number, life);
        if (poster) poster_main(number, life);
        observer_main(number, life);
    }
    actors[i] = (struct actor){.pid = pid};
}

// Waits for its end; it is to be a good one, or by our hand.
static void reap(pid_t pid, bool killed) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
    violation("process %d ended with status %x", (int)pid, (unsigned)status);
}

static void fault(chance *c) {
    // Processes that were forked away are among them.
    const uint32_t orphans = atomic_load(&all->orphans);
    if (orphans > 0 && orphans < ORPHANS && chance_below(c, 8) == 0) {
        const pid_t pid = __atomic_load_n(&all->orphan[orphans - 1], __ATOMIC_ACQUIRE);
        if (pid > 0 && orphans - 1 >= orphans_reaped) kill(pid, SIGKILL), total.kills++;
        return;
    }
    const uint32_t i = (uint32_t)chance_below(c, POSTERS + OBSERVERS);
    struct actor *a = &actors[i];
    if (chance_below(c, 2)) {
        kill(a->pid, SIGKILL);
        reap(a->pid, true);
        total.kills++;
        start(i, chance_below(c, 4) == 0);
        return;
    }
    uint32_t stopped = 0;
    for (int k = 0; k < ACTORS; k++) stopped += actors[k].resume != 0;
    if (a->resume || stopped == STOPPED_AT_A_TIME) return;
    kill(a->pid, SIGSTOP);
    a->resume = now_us() + chance_below(c, 20000);
    total.stops++;
}

static void resume(bool at_once) {
    for (int i = 0; i < ACTORS; i++) {
        if (!actors[i].resume || (!at_once && now_us() < actors[i].resume)) continue;
        kill(actors[i].pid, SIGCONT);
        actors[i].resume = 0;
    }
}

static void blow(chance *c) {
    uint32_t before = 0;
    uint64_t begun = now_us();
    patience left = patience_begin();
    while (atomic_load(&all->next) < atomic_load(&all->limit)) {
        usleep((useconds_t)(50 + chance_below(c, 1500)));  // how long until the next fault
        resume(false);
        for (uint64_t faults = 1 + chance_below(c, 3); faults > 0; faults--) fault(c);
        if (atomic_load(&all->next) != before) before = atomic_load(&all->next), left = patience_begin();
        if (patience_ends(&left)) {
            violation("hang: no process posts (post %u of %u, round %u)", before, atomic_load(&all->limit), all->round);
            end_all();
        }
    }
    resume(true);
    took(0, begun);
    begun = now_us();
    // The pipe ends when the last process that can post has gone, also a forked, executed or orphaned one.
    close(gust_pipe[1]);
    struct pollfd gone = {gust_pipe[0], POLLIN, 0};
    left = patience_begin();
    while (poll(&gone, 1, 1) != 1) {
        if (!patience_ends(&left)) continue;
        violation("hang: a poster doesn't end (round %u)", all->round);
        end_all();
    }
    close(gust_pipe[0]);
    took(1, begun);
    for (int i = 0; i < POSTERS; i++) {
        reap(actors[i].pid, false);
        actors[i].pid = 0;
    }
    for (; orphans_reaped < atomic_load(&all->orphans) && orphans_reaped < ORPHANS; orphans_reaped++)
        if (all->orphan[orphans_reaped]) reap(all->orphan[orphans_reaped], true);
}

static bool thread_sleeps(int32_t thread, const char *of_process) {
    char path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)thread, of_process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *end = read ? strrchr(line, ')') : NULL;
    return end && end[2] == 'S';
}

// With all threads of its process: one of them may be the library's, which waits on behalf of a descriptor.
static bool sleeps(int32_t thread) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)thread);
    DIR *directory = opendir(path);
    if (!directory) return false;
    bool all_sleep = true;
    for (struct dirent *d; all_sleep && (d = readdir(directory));)
        all_sleep = d->d_name[0] == '.' || thread_sleeps(thread, d->d_name);
    closedir(directory);
    return all_sleep;
}

// All observers asleep, and none has received anything meanwhile.
static bool is_calm(venue *v, uint32_t counts[SEATS]) {
    uint32_t asleep = 0;
    for (uint32_t s = 0; s < SEATS; s++) {
        const uint32_t mode = atomic_load(&all->seats[s].mode);
        counts[s] = mode == RUNNING ? atomic_load(&all->seats[s].count) : ABSENT;
        if (mode == STARTING) return false;
        if (mode == RUNNING && !sleeps(atomic_load(&all->seats[s].thread))) return false;
        // Of readers the center doesn't know that they sleep; elsewhere than in there they may well.
        if (mode == RUNNING && seat_reads_only(s) && !atomic_load(&all->seats[s].receives)) return false;
        asleep += mode == RUNNING && !seat_reads_only(s);
    }
    tidings_statistics statistics;
    OK(tidings_statistics_get(v->center, &statistics));
    return statistics.observers_asleep == asleep;
}

static void calm_down(venue *v, uint32_t gust) {
    atomic_store(&all->calm, true);
    uint32_t counts[SEATS], before[SEATS];
    memset(before, 0, sizeof before);
    const uint64_t begun = now_us();
    patience left = patience_begin();
    for (uint32_t same = 0; same < 3;) {
        uint32_t guards;
        const uint32_t owed = presence_owed(&guards);
        // It reports the dead, too: only if no process watches that should.
        if (owed == 0 || guards == 0) CHECK(tidings_reclaim(v->center) >= 0, "reclaim");
        const bool calm = owed == 0 && is_calm(v, counts);
        same = calm && memcmp(counts, before, sizeof counts) == 0 ? same + 1 : 0;
        memcpy(before, counts, sizeof counts);
        if (patience_ends(&left)) {
            char who[256] = "";
            for (uint32_t s = 0; s < SEATS; s++) {
                const uint32_t mode = atomic_load(&all->seats[s].mode);
                if (mode == STARTING || (mode == RUNNING && !sleeps(atomic_load(&all->seats[s].thread))))
                    snprintf(who + strlen(who), sizeof who - strlen(who), " %u", s);
            }
            violation("hang: it doesn't become calm; awake or not there:%s; %u notices and wills not told, %u guards "
                      "(round %u)",
                      who, owed, guards, all->round);
            end_all();
        }
        // A reader that waits for an unfinished post, with nothing behind it, looks every 10 ms.
        usleep(!calm ? 200 : all->slots == OBSERVABLE_SLOTS ? 5000 : 0);
    }
    took(2, begun);
    check_present();
    for (uint32_t s = 0; s < SEATS; s++) all->seats[s].calm_at[gust] = counts[s];
    tidings_statistics statistics;
    OK(tidings_statistics_get(v->center, &statistics));
    calm_ends[gust] = statistics.posted;
    static uint8_t value[LARGEST];
    for (uint8_t n = STATE_A; n <= STATE_B; n++) {
        state *s = &states[gust][n];
        *s = (state){0};
        size_t size = sizeof value;
        s->result = tidings_state_get(v->hand.publishers[n * SUBJECTS], value, &size, NULL, &s->sequence);
        CHECK(s->result == 0 || s->result == -ENOENT, "the state of a name is %d", s->result);
        if (s->result == 0) stamp_read(value, size, &s->stamp);
        if (s->result == 0 && gust == 2 && plant_is("state")) s->sequence--;
    }
}

static void end_round(venue *v) {
    atomic_store(&all->next, atomic_load(&all->limit));
    atomic_fetch_add(&all->limit, 1);
    CHECK(hand_post(&v->hand, END * SUBJECTS, 40, false, 0, false) == POSTED, "the end of a round is not posted");
    patience left = patience_begin();
    for (int i = POSTERS; i < ACTORS; i++) {
        if (!actors[i].pid) continue;
        siginfo_t info = {0};
        while (waitid(P_PID, (id_t)actors[i].pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == 0 &&
               !patience_ends(&left))
            usleep(100);
        if (info.si_pid == 0) {
            violation("hang: observer %d doesn't hear of the end (round %u)", i - POSTERS, all->round);
            end_all();
        }
        reap(actors[i].pid, false);
        actors[i].pid = 0;
    }
    // Children of killed observers, if any: they have nothing more to do.
    while (waitpid(-1, NULL, 0) > 0) {}
}

static void board_clear(venue *v, bool witnessed) {
    atomic_store(&all->limit, 0);
    atomic_store(&all->next, 0);
    memset(all->entries, 0, sizeof all->entries);
    memset((void *)all->row_ended, 0, sizeof all->row_ended);
    memset((void *)all->latest, 0, sizeof all->latest);
    memset(all->orphan, 0, sizeof all->orphan);
    atomic_store(&all->rows, 0);
    atomic_store(&all->orphans, 0);
    memset((void *)all->announcements, 0, sizeof all->announcements);
    atomic_store(&all->announced, 0);
    for (int i = 0; i < POSTERS + OBSERVERS; i++) atomic_store(&all->announcement_of[i], ABSENT);
    orphans_reaped = 0;
    for (uint32_t s = 0; s < SEATS; s++) {
        atomic_store(&all->seats[s].count, 0);
        atomic_store(&all->seats[s].mode, VACANT);
    }
    all->slots = v->slots;
    all->witnessed = witnessed;
    atomic_store(&all->planted, 0);
    hand_renew(&v->hand);
}

void round_run(venue *v, chance *c) {
    all->round++;
    board_clear(v, all->round % 4 != 0);
    tidings_statistics statistics;
    OK(tidings_statistics_get(v->center, &statistics));
    v->begins = statistics.posted;
    for (uint32_t gust = 0; gust < GUSTS; gust++) {
        atomic_store(&all->next, atomic_load(&all->limit));
        CHECK(pipe(gust_pipe) == 0, "pipe: %s", strerror(errno));
        atomic_store(&all->calm, false);
        if (gust == 0) {
            // First: the witness is to be told of each announcement.
            if (all->witnessed) start(ACTORS - 1, chance_below(c, 4) == 0);
            while (all->witnessed && atomic_load(&all->seats[WITNESS].mode) != RUNNING) usleep(100);
            for (uint32_t i = POSTERS; i < ACTORS - 1; i++) start(i, chance_below(c, 4) == 0);
        }
        atomic_fetch_add(&all->limit, GUST_POSTS);
        for (uint32_t i = 0; i < POSTERS; i++) start(i, chance_below(c, 4) == 0);
        blow(c);
        calm_down(v, gust);
    }
    end_round(v);
    // No process watches now: this call reports all that have died.
    CHECK(tidings_reclaim(v->center) >= 0, "reclaim");
    if (all->witnessed) witness_rest(v->center, all->entries[atomic_load(&all->limit) - 1].sequence);
    // Turned now and then: what is only in the ring goes, and what is left then is left for good.
    const bool turned = v->visits++ % 4 == 0;
    if (turned) {
        atomic_store(&all->next, atomic_load(&all->limit));
        atomic_fetch_add(&all->limit, v->slots);
        for (uint32_t i = 0; i < v->slots; i++)
            CHECK(hand_post(&v->hand, TURN * SUBJECTS, 24, false, 0, false) == POSTED, "a post without an observer");
    }
    atomic_store(&all->row_ended[v->hand.row], true);
    truth_find(v);
    if (all->witnessed) check_presence();
    check_seats(v);
    check_states(v);
    truth_leave(v);
    static tidings_observer *left;
    if (plant_is("leak") && !left) OK(tidings_observer_open(v->center, 0, &left));
    check_leaks(v, turned);
    OK(tidings_statistics_get(v->center, &statistics));
    v->revoked = statistics.revoked;
}
