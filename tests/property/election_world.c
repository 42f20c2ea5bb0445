/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/election_world.h"

#include "leader/election.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATES = 5,
    STEP_MS = 5,
    FAULTS_MS = 20000,
    QUIET_MS = 12000,
    LEASE_MS = 1000,
    RENEW_MS = 250,
    PROGRESS_MS = 1500,
    DRIFT_PERMILLE = 40, /* two clocks differ by 80 at most; the margin is 200 of 1000 */
    LOG_MAX = 6000,
    WIRE_MAX = 64,
    ACTS_MAX = 64
};

struct logged {
    struct leadership record;
    int64_t append_ms;
    int64_t seen_at[CANDIDATES]; /* true time from which this candidate's reader has it */
};

/* An append on its way, then its acknowledgement. */
struct on_wire {
    struct leadership record;
    int64_t lands_at; /* INT64_MAX: it is lost, or has landed */
    int64_t answered_at;
    bool failed;
    bool busy;
};

/* What a task does with its token: it looks at its lease, then acts a while later. */
struct operation {
    int64_t token;
    int64_t lands_at;
    bool busy;
};

struct candidate {
    struct election election;
    uint32_t run; /* counts the processes */
    bool alive;
    bool seen_end;
    int64_t back_at;
    int64_t paused_until;
    int64_t cut_until; /* from the broker */
    int64_t mono_zero;
    int64_t drift_permille;
    size_t position;
    int64_t last_landing;
    bool task;
    bool hung;
    int64_t token;
    int64_t ends_at; /* of the task, true time */
    struct on_wire wire[WIRE_MAX];
};

struct world {
    uint64_t random;
    int64_t now; /* true time */
    bool quiet;
    enum election_strategy strategy;
    int64_t broker_clock; /* minus true time */
    size_t trimmed;       /* records of the log that are gone */
    struct logged log[LOG_MAX];
    size_t count;
    struct candidate candidates[CANDIDATES];
    int64_t newest_token; /* of a task that began */
    int64_t guarded;      /* the highest token that the guarded resource saw */
    struct operation operations[ACTS_MAX];
    struct election_log referee;
    struct election_sometimes *sometimes;
    char failure[512];
};

static uint64_t draw(struct world *world, uint64_t bound)
{
    uint64_t z = (world->random += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % bound;
}

static bool chance(struct world *world, uint64_t permille100)
{
    return !world->quiet && draw(world, 100000) < permille100;
}

static void fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct world *world, const char *format, ...)
{
    va_list args;
    if (world->failure[0] != '\0')
        return;
    int used = snprintf(world->failure, sizeof(world->failure), "at %" PRId64 " ms: ", world->now);
    va_start(args, format);
    vsnprintf(world->failure + used, sizeof(world->failure) - (size_t)used, format, args);
    va_end(args);
}

static int64_t mono(const struct world *world, const struct candidate *candidate)
{
    return candidate->mono_zero + world->now + world->now * candidate->drift_permille / 1000;
}

static uint32_t number_of(const struct world *world, const struct candidate *candidate)
{
    return (uint32_t)(candidate - world->candidates);
}

static void start_process(struct world *world, struct candidate *candidate)
{
    uint32_t number = number_of(world, candidate);
    uint32_t run = candidate->run + 1;
    struct election_options options = {.role = TEXT("role"),
                                       .instance = TEXT("candidate"),
                                       .strategy = world->strategy,
                                       .rank = number == 4 ? 3 : number, /* two clash */
                                       .lease_ms = LEASE_MS,
                                       .renew_ms = RENEW_MS,
                                       .progress_ms = PROGRESS_MS};
    int64_t zero = candidate->mono_zero;
    int64_t drift = candidate->drift_permille;
    memset(candidate, 0, sizeof(*candidate));
    candidate->mono_zero = zero;
    candidate->drift_permille = drift;
    candidate->run = run;
    candidate->alive = true;
    candidate->token = -1;
    candidate->position = world->trimmed;
    memcpy(options.candidate_id.bytes, &number, sizeof(number));
    memcpy(options.candidate_id.bytes + 4, &run, sizeof(run));
    election_init(&candidate->election, &options);
}

/* ---- the log ---- */

static void land(struct world *world, const struct leadership *record)
{
    assert(world->count < LOG_MAX);
    struct logged *logged = &world->log[world->count];
    if (chance(world, 300))
        world->broker_clock += (int64_t)draw(world, 4000) - 2000;
    logged->record = *record;
    logged->append_ms = 1000000 + world->now + world->broker_clock;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        int64_t delay = chance(world, 3000) ? (int64_t)draw(world, 1500) : (int64_t)draw(world, 30);
        int64_t before = world->count > 0 ? world->log[world->count - 1].seen_at[i] : 0;
        logged->seen_at[i] = world->now + delay > before ? world->now + delay : before;
    }
    enum election_outcome verdict =
        election_log_fold(&world->referee, record, (int64_t)world->count, logged->append_ms);
    world->sometimes->terms += record->kind == LEADERSHIP_CLAIM && verdict == ELECTION_COUNTS;
    world->sometimes->stale_claims += record->kind == LEADERSHIP_CLAIM && verdict == ELECTION_STALE;
    world->sometimes->early_claims += verdict == ELECTION_EARLY;
    world->sometimes->stale_renewals +=
        record->kind == LEADERSHIP_RENEW && verdict == ELECTION_STALE;
    world->count++;
}

static void send(struct world *world, struct candidate *candidate, const struct leadership *record)
{
    struct on_wire *wire = NULL;
    for (uint32_t i = 0; i < WIRE_MAX && wire == NULL; i++)
        if (!candidate->wire[i].busy)
            wire = &candidate->wire[i];
    assert(wire != NULL);
    int64_t delay = chance(world, 3000) ? (int64_t)draw(world, 3000) : (int64_t)draw(world, 20);
    int64_t lands = world->now + delay;
    if (candidate->cut_until > world->now)
        lands = candidate->cut_until + delay;
    if (lands < candidate->last_landing) /* one producer keeps its order */
        lands = candidate->last_landing;
    candidate->last_landing = lands;
    *wire = (struct on_wire){.record = *record, .lands_at = lands, .busy = true};
    wire->answered_at =
        lands + (chance(world, 3000) ? (int64_t)draw(world, 1500) : (int64_t)draw(world, 20));
    wire->failed = chance(world, 2000);
    if (wire->failed && chance(world, 50000))
        wire->lands_at = INT64_MAX;
}

static void wires(struct world *world)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &world->candidates[i];
        /* In the order of landing: positions in the array are not an order. */
        for (;;) {
            struct on_wire *next = NULL;
            for (uint32_t at = 0; at < WIRE_MAX; at++) {
                struct on_wire *wire = &candidate->wire[at];
                if (wire->busy && wire->lands_at <= world->now &&
                    (next == NULL || wire->lands_at < next->lands_at ||
                     (wire->lands_at == next->lands_at &&
                      wire->record.said_at < next->record.said_at)))
                    next = wire;
            }
            if (next == NULL)
                break;
            land(world, &next->record);
            next->lands_at = INT64_MAX;
        }
    }
}

/* ---- the task ---- */

static void begin(struct world *world, struct candidate *candidate, int64_t token)
{
    if (candidate->task)
        fail(world, "candidate %u began a second task", number_of(world, candidate));
    if (token <= world->newest_token)
        fail(world, "token %" PRId64 " begins after %" PRId64, token, world->newest_token);
    world->newest_token = token;
    candidate->task = true;
    candidate->token = token;
    candidate->hung = false;
    candidate->ends_at = chance(world, 30000) ? world->now + (int64_t)draw(world, 4000) : INT64_MAX;
}

static void act(struct world *world, struct candidate *candidate)
{
    int64_t now = mono(world, candidate);
    if (!candidate->task)
        return;
    if (chance(world, 40))
        candidate->hung = true;
    if (candidate->hung && (world->quiet || draw(world, 1000) == 0))
        candidate->hung = false;
    if (candidate->hung)
        return;
    election_progress(&candidate->election, now, 1);
    if (world->now >= candidate->ends_at) {
        candidate->task = false;
        world->sometimes->ended += candidate->election.state == ELECTION_LEADING;
        election_task_ended(&candidate->election, now);
        return;
    }
    if (!election_leads(&candidate->election, now))
        return;
    struct operation *operation = &world->operations[draw(world, ACTS_MAX)];
    if (!operation->busy)
        *operation = (struct operation){
            candidate->token, world->now + (chance(world, 2000) ? (int64_t)draw(world, 5000) : 0),
            true};
}

static void land_operations(struct world *world)
{
    for (uint32_t i = 0; i < ACTS_MAX; i++) {
        struct operation *operation = &world->operations[i];
        if (!operation->busy || operation->lands_at > world->now)
            continue;
        operation->busy = false;
        world->sometimes->acts++;
        if (operation->token < world->guarded)
            world->sometimes->acts_refused++;
        else
            world->guarded = operation->token;
    }
}

/* ---- a candidate's turn ---- */

static void do_what_is_due(struct world *world, struct candidate *candidate)
{
    struct election_step step;
    int64_t now = mono(world, candidate);
    for (uint32_t turns = 0;
         election_next(&candidate->election, now, 1000000 + world->now, &step) != ELECTION_NOTHING;
         turns++) {
        if (turns > 20) {
            fail(world, "candidate %u finds no end", number_of(world, candidate));
            return;
        }
        if (step.act == ELECTION_APPEND) {
            send(world, candidate, &step.record);
        } else if (step.act == ELECTION_BEGIN) {
            begin(world, candidate, step.term);
        } else if (step.act == ELECTION_CANCEL) {
            candidate->ends_at = world->now + (int64_t)draw(world, 300);
            world->sometimes->lapsed += step.reason == ELECTION_LAPSED;
            world->sometimes->superseded += step.reason == ELECTION_SUPERSEDED;
            world->sometimes->hung += step.reason == ELECTION_HUNG;
            world->sometimes->outranked += step.reason == ELECTION_OUTRANKED;
        } else {
            world->sometimes->clashes++;
        }
    }
    if (election_due(&candidate->election, now) <= now)
        fail(world, "candidate %u is due in the past", number_of(world, candidate));
}

static void read_log(struct world *world, struct candidate *candidate)
{
    uint32_t number = number_of(world, candidate);
    int64_t now = mono(world, candidate);
    if (candidate->position < world->trimmed) /* retention overtook it: as leader.c does */
    {
        candidate->position = world->trimmed;
        candidate->seen_end = false;
        election_reread(&candidate->election);
    }
    while (candidate->position < world->count &&
           world->log[candidate->position].seen_at[number] <= world->now) {
        const struct logged *logged = &world->log[candidate->position];
        election_record(&candidate->election, &logged->record, (int64_t)candidate->position++,
                        logged->append_ms, now);
    }
    if (candidate->position == world->count)
        election_caught_up(&candidate->election, now);
    if (candidate->position == world->count && candidate->election.log.term != world->referee.term)
        fail(world, "candidate %u reads term %" PRId64 ", the log says %" PRId64, number,
             candidate->election.log.term, world->referee.term);
}

static void acknowledgements(struct world *world, struct candidate *candidate)
{
    for (uint32_t i = 0; i < WIRE_MAX; i++) {
        struct on_wire *wire = &candidate->wire[i];
        if (!wire->busy || wire->answered_at > world->now)
            continue;
        wire->busy = false;
        election_answered(&candidate->election, wire->failed, mono(world, candidate));
    }
}

static void faults(struct world *world, struct candidate *candidate)
{
    if (chance(world, 20)) {
        candidate->alive = false;
        candidate->task = false;
        candidate->back_at = world->now + (int64_t)draw(world, 4000);
        world->sometimes->crashes++;
    }
    if (chance(world, 30)) {
        candidate->paused_until = world->now + (int64_t)draw(world, 4000);
        world->sometimes->pauses++;
    }
    if (chance(world, 30)) {
        candidate->cut_until = world->now + (int64_t)draw(world, 4000);
        world->sometimes->cuts++;
    }
}

static void turn(struct world *world, struct candidate *candidate)
{
    faults(world, candidate);
    if (!candidate->alive) {
        if (world->now >= candidate->back_at)
            start_process(world, candidate);
        return;
    }
    if (candidate->paused_until > world->now)
        return;
    /* After a pause anything may run first: also the task before the timers. */
    bool task_first = draw(world, 2) == 0;
    if (task_first)
        act(world, candidate);
    if (candidate->cut_until <= world->now) {
        acknowledgements(world, candidate);
        read_log(world, candidate);
    }
    do_what_is_due(world, candidate);
    if (!task_first)
        act(world, candidate);
    do_what_is_due(world, candidate);
}

/* At this instant, by each candidate's own clock, at most one may act, paused or not. */
static void at_most_one_leads(struct world *world)
{
    const struct candidate *leader = NULL;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        const struct candidate *candidate = &world->candidates[i];
        if (!candidate->alive || !election_leads(&candidate->election, mono(world, candidate)))
            continue;
        if (leader != NULL)
            fail(world, "candidates %u (term %" PRId64 ") and %u (term %" PRId64 ") both lead",
                 number_of(world, leader), leader->election.term, i, candidate->election.term);
        leader = candidate;
    }
}

static void one_leads_at_the_end(struct world *world)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        const struct candidate *candidate = &world->candidates[i];
        if (!election_leads(&candidate->election, mono(world, candidate)))
            continue;
        if (world->strategy == ELECTION_RANKED && i != 0)
            fail(world, "candidate %u leads, though 0 has the lowest rank", i);
        if (candidate->election.term != world->referee.term || world->referee.released)
            fail(world, "the log does not know term %" PRId64, candidate->election.term);
        return;
    }
    fail(world, "no candidate leads %d ms after the faults have stopped", QUIET_MS);
}

/* Retention takes what is old, but not the leader's latest renewal: it is a week, after all. */
static void trim(struct world *world)
{
    if (!chance(world, 100) || world->referee.released || world->referee.last < 0)
        return;
    size_t start = (size_t)world->referee.last;
    if (world->log[start].record.kind != LEADERSHIP_RENEW || start <= world->trimmed)
        return;
    start -= draw(world, start - world->trimmed + 1);
    world->sometimes->truncated += (int64_t)start > world->referee.term;
    world->trimmed = start;
}

const char *election_world_run(uint64_t seed, struct election_sometimes *sometimes)
{
    static struct world world_;
    struct world *world = &world_;
    memset(world, 0, sizeof(*world));
    world->random = seed;
    world->sometimes = sometimes;
    world->newest_token = world->guarded = -1;
    world->strategy = draw(world, 2) == 0 ? ELECTION_RACE : ELECTION_RANKED;
    bool trims = draw(world, 4) == 0;
    election_log_init(&world->referee);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        world->candidates[i].mono_zero = 1 + (int64_t)draw(world, 100000);
        world->candidates[i].drift_permille =
            (int64_t)draw(world, 2 * DRIFT_PERMILLE + 1) - DRIFT_PERMILLE;
        start_process(world, &world->candidates[i]);
    }
    while (world->now < FAULTS_MS + QUIET_MS && world->failure[0] == '\0') {
        world->now += STEP_MS;
        world->quiet = world->now > FAULTS_MS;
        if (trims)
            trim(world);
        wires(world);
        for (uint32_t i = 0; i < CANDIDATES; i++)
            turn(world, &world->candidates[i]);
        land_operations(world);
        at_most_one_leads(world);
    }
    if (world->failure[0] == '\0')
        one_leads_at_the_end(world);
    return world->failure[0] == '\0' ? NULL : world->failure;
}
