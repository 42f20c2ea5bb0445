/* SPDX-License-Identifier: Apache-2.0 */
/* The shell around election.h: reads <p>.leadership (leader_topic.h), appends to it, keeps the
 * timer. What other threads may ask is in atomics. */
#include "leader/leader.h"

#include "base/names.h"
#include "leader/leader_topic.h"
#include "platform/failpoint.h"
#include "platform/logger.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

enum { RELEASE_WAIT_MS = 2000 /* for the release, when no task runs any more */ };

struct leader {
    struct cluster *cluster;
    const struct clock *clock; /* the process's: outlives a task that outlives the service */
    const struct leader_ops *ops;
    void *ctx;
    struct election election;
    struct leader_topic *topic;
    struct loop_timer timer;      /* the election's next deadline */
    struct loop_timer stop_timer; /* the broker does not answer: leave without its answer */
    int64_t logged_term;          /* of the last log line about the leader */
    struct metrics_gauge *leads;
    struct metrics_counter *terms;
    bool logged_released;
    struct error append_error; /* of the last record that it sent; OK: there is none */
    uint32_t outstanding;      /* answers that still name this struct */
    bool freed;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    /* for any thread */
    _Atomic int64_t token;
    _Atomic int64_t trusted_until; /* 0: the task must not act */
    _Atomic int64_t progress_mono; /* 0: none reported in this term */
    _Atomic int64_t progress_wall;
};

static int64_t mono(const struct leader *leader)
{
    return clock_mono_ms(leader->clock);
}

/* ---- for any thread ---- */

int64_t leader_token(const struct leader *leader)
{
    return atomic_load(&leader->token);
}

bool leader_leads(const struct leader *leader)
{
    return mono(leader) < atomic_load(&leader->trusted_until);
}

void leader_progress(struct leader *leader)
{
    atomic_store(&leader->progress_wall, clock_wall_ms(leader->clock));
    atomic_store(&leader->progress_mono, mono(leader));
}

/* ---- steps ---- */

static void step(struct leader *leader);

static void append_failed(struct leader *leader, const struct error *error)
{
    bool denied = error->code == CODE_NOT_AUTHORIZED;
    log_warning_limited(denied ? "this user may not Write the topic of elections: grant the right"
                               : "a record of the election was not acknowledged",
                        LOG_TEXT("role", leader->election.options.role),
                        LOG_STR("topic", leader->cluster->topics.leadership), LOG_ERR(error));
    leader->append_error = *error;
}

bool leader_in_trouble(const struct leader *leader, char *ret_reason, size_t reason_size)
{
    const struct error *error = &leader->append_error;
    if (error->class == ERROR_OK)
        return false;
    if (error->code == CODE_NOT_AUTHORIZED)
        snprintf(ret_reason, reason_size,
                 "cannot claim the role: this user may not Write %s: grant the right",
                 leader->cluster->topics.leadership);
    else
        snprintf(ret_reason, reason_size, "cannot claim the role: %s", error->message);
    return true;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct leader *leader = ctx;
    bool failed = error != NULL && error_is(error);
    (void)token;
    (void)offset; /* what counts is what is read back */
    leader->outstanding--;
    if (leader->freed) {
        if (leader->outstanding == 0)
            free(leader);
        return;
    }
    if (failed)
        append_failed(leader, error);
    else
        leader->append_error.class = ERROR_OK;
    election_answered(&leader->election, failed, mono(leader));
    step(leader);
}

static void append(struct leader *leader, const struct leadership *record)
{
    struct error error;
    FAILPOINT("leader.append");
    if (cluster_append(leader->cluster, BROKER_PRODUCER_LOG, leader->cluster->topics.leadership, 0,
                       record->role, RECORD_LEADERSHIP, record, on_appended, leader, 0,
                       &error) == ERROR_OK) {
        leader->outstanding++;
        return;
    }
    log_warning_limited("a record of the election was not sent", LOG_TEXT("role", record->role),
                        LOG_ERR(&error));
    election_answered(&leader->election, true, mono(leader));
}

static void begin(struct leader *leader, int64_t token)
{
    atomic_store(&leader->progress_mono, 0);
    atomic_store(&leader->token, token);
    atomic_store(&leader->trusted_until, leader->election.trusted_until);
    metrics_set(leader->leads, 1);
    metrics_add(leader->terms, 1);
    leader->ops->begin(leader->ctx, token);
}

static void cancel(struct leader *leader, const struct election_step *what)
{
    atomic_store(&leader->trusted_until, 0);
    const struct log_field fields[] = {
        LOG_TEXT("role", leader->election.options.role), LOG_I64("term", what->term),
        LOG_STR("reason", election_reason_name(what->reason)), LOG_END};
    bool is_usual = what->reason == ELECTION_STOP || what->reason == ELECTION_OUTRANKED;
    log_write(is_usual ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "giving up the lead", fields);
    metrics_set(leader->leads, 0);
    leader->ops->cancel(leader->ctx, what->reason);
}

static void act(struct leader *leader, const struct election_step *what)
{
    switch (what->act) {
    case ELECTION_APPEND:
        append(leader, &what->record);
        return;
    case ELECTION_BEGIN:
        begin(leader, what->term);
        return;
    case ELECTION_CANCEL:
        cancel(leader, what);
        return;
    case ELECTION_CLASH:
        log_warning("two candidates have the same rank: they race",
                    LOG_TEXT("role", leader->election.options.role),
                    LOG_I64("rank", leader->election.options.rank),
                    LOG_STR("candidate", what->instance));
        return;
    case ELECTION_NOTHING:
    case ELECTION_ACT_COUNT:
        return;
    }
}

static void report_stopped(void *ctx)
{
    struct leader *leader = ctx;
    void (*stopped)(void *) = leader->stopped;
    loop_timer_cancel(leader->cluster->service->loop, &leader->stop_timer);
    leader->stopped = NULL;
    if (stopped != NULL)
        stopped(leader->stopped_ctx);
}

static void step(struct leader *leader)
{
    struct election *election = &leader->election;
    struct election_step what;
    int64_t reported = atomic_load(&leader->progress_mono);
    if (reported != 0)
        election_progress(election, reported, atomic_load(&leader->progress_wall));
    while (election_next(election, mono(leader), clock_wall_ms(leader->clock), &what) !=
           ELECTION_NOTHING)
        act(leader, &what);
    atomic_store(&leader->trusted_until,
                 election->state == ELECTION_LEADING ? election->trusted_until : 0);
    loop_timer_set(leader->cluster->service->loop, &leader->timer,
                   election_due(election, mono(leader)));
    bool has_task = election->state == ELECTION_LEADING || election->state == ELECTION_ENDING;
    if (leader->stopped != NULL && election_is_over(election))
        report_stopped(leader);
    else if (leader->stopped != NULL && !has_task && !loop_timer_armed(&leader->stop_timer))
        loop_timer_after(leader->cluster->service->loop, &leader->stop_timer, RELEASE_WAIT_MS);
}

static void on_timer(void *ctx)
{
    step(ctx);
}

/* ---- reading ---- */

/* One line for each change, also at the candidates that only watch. */
static void log_change(struct leader *leader)
{
    const struct election_log *log = &leader->election.log;
    if (!log->live || log->term < 0 ||
        (log->term == leader->logged_term && log->released == leader->logged_released))
        return;
    leader->logged_term = log->term;
    leader->logged_released = log->released;
    bool own = uuid_equal(&log->leader_id, &leader->election.options.candidate_id);
    log_info(log->released ? "no instance leads"
             : own         ? "this instance leads"
                           : "another instance leads",
             LOG_TEXT("role", leader->election.options.role), LOG_I64("term", log->term),
             LOG_STR("leader", log->instance), LOG_I64("rank", log->rank),
             LOG_STR("reason", log->reason));
}

static void on_begins(void *ctx, int64_t offset)
{
    struct leader *leader = ctx;
    election_log_begins(&leader->election.log, offset);
}

static void on_record(void *ctx, const struct leadership *record, int64_t offset, int64_t append_ms)
{
    struct leader *leader = ctx;
    enum election_outcome outcome =
        election_record(&leader->election, record, offset, append_ms, mono(leader));
    log_debug("election", LOG_TEXT("role", record->role), LOG_I64("offset", offset),
              LOG_I64("kind", record->kind), LOG_TEXT("candidate", record->instance),
              LOG_STR("outcome", election_outcome_name(outcome)));
    log_change(leader);
    if (leader->election.state != ELECTION_READING)
        step(leader);
}

static void on_end(void *ctx)
{
    struct leader *leader = ctx;
    if (leader->election.state != ELECTION_READING && leader->election.log.live)
        return;
    election_caught_up(&leader->election, mono(leader));
    log_change(leader);
    step(leader);
}

static void on_again(void *ctx)
{
    struct leader *leader = ctx;
    election_reread(&leader->election);
    step(leader);
}

static const struct leader_topic_ops topic_ops = {on_begins, on_record, on_end, on_again};

/* ---- life ---- */

enum error_class leader_configure(const struct config *config, struct reeve_leader_options *options,
                                  struct error *ret_error)
{
    if (options->strategy == REEVE_LEADER_CONFIGURED) {
        bool ranked = strcmp(config_string(config, "leader.strategy"), "ranked") == 0;
        options->strategy = ranked ? REEVE_LEADER_RANKED : REEVE_LEADER_RACE;
        options->rank = ranked ? (uint32_t)config_int(config, "leader.rank") : 0;
    }
    if (options->lease_ms == 0)
        options->lease_ms = config_ms(config, "leader.lease.ms");
    if (options->renew_ms == 0)
        options->renew_ms = config_ms(config, "leader.renew.ms");
    if (options->progress_ms == 0)
        options->progress_ms = config_ms(config, "leader.progress.ms");
    struct election_options check = {.lease_ms = options->lease_ms,
                                     .renew_ms = options->renew_ms,
                                     .progress_ms = options->progress_ms};
    if (options->role == NULL || !name_valid_new(text_of(options->role)))
        return error_set(ret_error, CODE_CONFIG,
                         "the role of an election must be " NAME_NEW_EXPECTED);
    return election_options_check(&check, ret_error);
}

static void add_metrics(struct leader *leader, const char *role)
{
    struct metrics *all = leader->cluster->service->metrics;
    leader->leads = metrics_gauge(all, "reeve_leader_leads",
                                  "1 while this instance leads, and its task may act.",
                                  METRICS_LABEL("role", role));
    metrics_set(leader->leads, 0);
    leader->terms =
        metrics_counter(all, "reeve_leader_terms_total", "Times that this instance began to lead.",
                        METRICS_LABEL("role", role));
}

enum error_class leader_new(struct cluster *cluster, const struct reeve_leader_options *options,
                            const struct leader_ops *ops, void *ctx, struct leader **ret_leader,
                            struct error *ret_error)
{
    struct reeve_leader_options configured = *options;
    enum error_class class = leader_configure(cluster->service->config, &configured, ret_error);
    if (class != ERROR_OK)
        return class;
    struct leader *leader = calloc(1, sizeof(*leader));
    assert(leader != NULL && cluster->ready);
    leader->cluster = cluster;
    leader->clock = cluster->service->clock;
    leader->ops = ops;
    leader->ctx = ctx;
    leader->logged_term = -1;
    atomic_init(&leader->token, -1);
    struct election_options election = {
        .role = text_of(configured.role),
        .instance = text_of(cluster->service->instance_id),
        .strategy = configured.strategy == REEVE_LEADER_RANKED ? ELECTION_RANKED : ELECTION_RACE,
        .rank = configured.rank,
        .lease_ms = configured.lease_ms,
        .renew_ms = configured.renew_ms,
        .progress_ms = configured.progress_ms};
    ssize_t random = getrandom(election.candidate_id.bytes, sizeof(election.candidate_id.bytes), 0);
    assert(random == (ssize_t)sizeof(election.candidate_id.bytes));
    election_init(&leader->election, &election);
    add_metrics(leader, configured.role);
    loop_timer_init(&leader->timer, on_timer, leader);
    loop_timer_init(&leader->stop_timer, report_stopped, leader);
    leader->topic = leader_topic_join(cluster, leader->election.options.role, &topic_ops, leader);
    *ret_leader = leader;
    return ERROR_OK;
}

void leader_ended(struct leader *leader)
{
    atomic_store(&leader->trusted_until, 0);
    metrics_set(leader->leads, 0);
    election_task_ended(&leader->election, mono(leader));
    /* Not from inside the caller's callback. */
    loop_timer_after(leader->cluster->service->loop, &leader->timer, 0);
}

void leader_stop(struct leader *leader, void (*stopped)(void *ctx), void *ctx)
{
    leader->stopped = stopped;
    leader->stopped_ctx = ctx;
    election_stop(&leader->election);
    loop_timer_after(leader->cluster->service->loop, &leader->timer, 0);
}

void leader_free(struct leader *leader)
{
    if (leader == NULL)
        return;
    leader_topic_leave(leader->topic, leader);
    loop_timer_cancel(leader->cluster->service->loop, &leader->timer);
    loop_timer_cancel(leader->cluster->service->loop, &leader->stop_timer);
    leader->freed = true;
    if (leader->outstanding == 0)
        free(leader);
}

int64_t leader_brokers_now(const struct leader *leader)
{
    const struct election *election = &leader->election;
    return election->log.last_ms + (mono(leader) - election->arrived_ms);
}

const struct election *leader_election(const struct leader *leader)
{
    return &leader->election;
}
