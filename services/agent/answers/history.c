/* SPDX-License-Identifier: Apache-2.0 */
/* See history.h. */
#include "services/agent/answers/history.h"

#include "platform/logger.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/answers/found.h"

#include <assert.h>
#include <stdlib.h>

enum { SCRATCH_BYTES = 16 * 1024 };

enum look_state {
    LOOK_NONE,
    LOOK_DECISION, /* events are read */
    LOOK_REPORTS   /* commands are read */
};

/* A claim that Decisions of requests named. */
struct claim_seen {
    struct uuid claim_id;
    bool ours; /* it is of the log that is there */
};

/* One partition, while it is ours. Stays put: readers and questions point to it. */
struct tenure {
    struct agent_history *history;
    int32_t partition;
    bool open;
    bool known;          /* where events ended */
    bool asked;          /* that, and no answer yet */
    uint32_t epoch;      /* counts its lives */
    uint32_t asked_in;   /* this one */
    int64_t events_end;  /* when it came to us; later Decisions were not here before */
    int64_t looked_from; /* Decisions from here on are covered; INT64_MAX = none */
    int64_t read_from;   /* commands from here on were read; INT64_MAX = none */
    struct claim_seen claims[HISTORY_CLAIMS_MAX];
    uint32_t claim_count; /* that were ever noted; the latest are kept */
    int64_t blind_until;  /* monotonic, ms: no look before then */
    /* the look under way */
    enum look_state state;
    struct uuid claim_id;
    int64_t decision_offset;
    int64_t first;      /* command to read */
    bool from_earliest; /* what was before is gone */
    uint32_t records;   /* read so far */
    size_t bytes;       /* found so far */
    struct error error; /* the latest that may pass by itself */
    struct broker_reader *reader;
    struct loop_timer timer; /* of the question where events end, then of looks */
};

struct agent_history {
    struct agent *agent;
    struct tenure **tenures; /* by partition */
    size_t tenure_count;
    struct found found;
    struct heap_arena scratch; /* of one record */
    struct metrics_counter *looks;
    struct metrics_counter *looks_failed;
    struct metrics_counter *recalled;
};

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata);

/* ---- making ---- */

struct agent_history *history_new(struct agent *agent)
{
    struct metrics *all = agent->service->metrics;
    struct metrics_labels labels = METRICS_LABEL("agent", agent->name);
    if (agent->memory == NULL)
        return NULL;
    struct agent_history *history = calloc(1, sizeof(*history));
    assert(history != NULL);
    history->agent = agent;
    found_init(&history->found, HISTORY_BYTES_ALL);
    heap_arena_init(&history->scratch, SCRATCH_BYTES);
    history->looks = metrics_counter(all, "reeve_agent_memory_looks_total",
                                     "Times that the log was read for what other instances have "
                                     "answered.",
                                     labels);
    history->looks_failed = metrics_counter(all, "reeve_agent_memory_looks_failed_total",
                                            "Those of them that failed: calls may have been made "
                                            "again.",
                                            labels);
    history->recalled = metrics_counter(all, "reeve_agent_memory_found_total",
                                        "Requests that came again and were answered as another "
                                        "instance had, by the log.",
                                        labels);
    return history;
}

void history_free(struct agent_history *history)
{
    if (history == NULL)
        return;
    for (size_t i = 0; i < history->tenure_count; i++) {
        assert(!history->tenures[i]->open); /* their readers were the broker's */
        free(history->tenures[i]);
    }
    free(history->tenures);
    found_deinit(&history->found);
    heap_arena_deinit(&history->scratch);
    free(history);
}

static struct tenure *tenure_new(struct agent_history *history, int32_t partition)
{
    struct tenure *tenure = calloc(1, sizeof(*tenure));
    assert(tenure != NULL);
    tenure->history = history;
    tenure->partition = partition;
    loop_timer_init(&tenure->timer, on_timer, tenure);
    return tenure;
}

/* NULL: it was never opened. */
static struct tenure *find_tenure(const struct agent_history *history, int32_t partition)
{
    assert(partition >= 0);
    return (size_t)partition < history->tenure_count ? history->tenures[partition] : NULL;
}

static struct tenure *get_tenure(struct agent_history *history, int32_t partition)
{
    while (history->tenure_count <= (size_t)partition) {
        size_t count = history->tenure_count + 1;
        history->tenures = realloc(history->tenures, count * sizeof(struct tenure *));
        assert(history->tenures != NULL);
        history->tenures[count - 1] = tenure_new(history, (int32_t)history->tenure_count);
        history->tenure_count = count;
    }
    return find_tenure(history, partition);
}

static struct loop *loop_of(const struct tenure *tenure)
{
    return tenure->history->agent->service->loop;
}

static int64_t now_of(const struct tenure *tenure)
{
    return clock_mono_ms(tenure->history->agent->service->clock);
}

/* ---- where events end ---- */

static void ask(struct tenure *tenure);

/* INT64_MAX: unknown, so all that is asked for may have been answered before. */
static void set_end(struct tenure *tenure, int64_t events_end)
{
    bool known = tenure->known;
    tenure->known = true;
    tenure->events_end = events_end;
    if (known)
        return; /* it came late: the timer is a look's now */
    loop_timer_cancel(loop_of(tenure), &tenure->timer);
    intake_opened(tenure->history->agent->intake, tenure->partition);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct tenure *tenure = ctx;
    (void)low;
    tenure->asked = false;
    if (!tenure->open)
        return;
    if (tenure->asked_in != tenure->epoch)
        ask(tenure); /* others may have had it since */
    else if (error == NULL || !error_is(error))
        set_end(tenure, high);
    else if (!tenure->known)
        set_end(tenure, INT64_MAX);
}

static void ask(struct tenure *tenure)
{
    const struct cluster *cluster = tenure->history->agent->cluster;
    if (tenure->asked)
        return;
    tenure->asked = true;
    tenure->asked_in = tenure->epoch;
    broker_offsets(cluster->broker, cluster->topics.events, tenure->partition, on_offsets, tenure);
}

void history_open(struct agent_history *history, int32_t partition)
{
    if (history == NULL)
        return;
    struct tenure *tenure = get_tenure(history, partition);
    assert(!tenure->open && tenure->state == LOOK_NONE);
    tenure->open = true;
    tenure->known = false;
    tenure->epoch++;
    tenure->looked_from = tenure->read_from = INT64_MAX;
    tenure->claim_count = 0;
    tenure->blind_until = INT64_MIN;
    loop_timer_after(loop_of(tenure), &tenure->timer, HISTORY_OPEN_MS);
    ask(tenure);
}

bool history_is_open(const struct agent_history *history, int32_t partition)
{
    if (history == NULL)
        return true;
    const struct tenure *tenure = find_tenure(history, partition);
    return tenure != NULL && tenure->open && tenure->known;
}

static void stop_looking(struct tenure *tenure)
{
    tenure->state = LOOK_NONE;
    loop_timer_cancel(loop_of(tenure), &tenure->timer);
    broker_reader_close(tenure->reader);
    tenure->reader = NULL;
}

void history_close(struct agent_history *history, int32_t partition)
{
    struct tenure *tenure = history != NULL ? find_tenure(history, partition) : NULL;
    if (tenure == NULL || !tenure->open)
        return;
    stop_looking(tenure);
    tenure->open = false;
    found_forget(&history->found, partition);
}

/* ---- what is known ---- */

static const struct claim_seen *find_claim(const struct tenure *tenure, const struct uuid *claim_id)
{
    for (uint32_t i = 0; i < tenure->claim_count && i < HISTORY_CLAIMS_MAX; i++)
        if (memcmp(&tenure->claims[i].claim_id, claim_id, sizeof(*claim_id)) == 0)
            return &tenure->claims[i];
    return NULL;
}

static void note_claim(struct tenure *tenure, bool ours)
{
    if (find_claim(tenure, &tenure->claim_id) == NULL)
        tenure->claims[tenure->claim_count++ % HISTORY_CLAIMS_MAX] =
            (struct claim_seen){.claim_id = tenure->claim_id, .ours = ours};
}

static bool is_covered(const struct tenure *tenure, const struct step_request *request)
{
    const struct claim_seen *claim = find_claim(tenure, &request->claim_id);
    return claim != NULL && (!claim->ours || request->decision_offset >= tenure->looked_from);
}

/* The order's partition of the log is the one that the request came in. */
static bool is_at_home(const struct agent_history *history, int32_t partition,
                       const struct step_request *request)
{
    return broker_partition_of(request->order_id, history->agent->cluster->partition_count) ==
           partition;
}

bool history_wants(struct agent_history *history, int32_t partition,
                   const struct step_request *request)
{
    if (history == NULL)
        return false;
    const struct agent *agent = history->agent;
    const struct tenure *tenure = find_tenure(history, partition);
    assert(tenure != NULL && tenure->open && tenure->known);
    return request->decision_offset >= 0 && request->decision_offset < tenure->events_end &&
           !is_covered(tenure, request) && now_of(tenure) >= tenure->blind_until &&
           attempts_would_call(agent->attempts, request) &&
           !agent_memory_knows(agent->memory, request) && is_at_home(history, partition, request);
}

bool history_recall(struct agent_history *history, struct agent_attempt *attempt)
{
    if (history == NULL || history->found.answers == NULL)
        return false;
    const struct step_request *request = &attempt->request;
    int32_t count = history->agent->cluster->partition_count;
    const struct tenure *tenure =
        find_tenure(history, broker_partition_of(request->order_id, count));
    const struct claim_seen *claim =
        tenure != NULL && tenure->open ? find_claim(tenure, &request->claim_id) : NULL;
    if (claim == NULL || !claim->ours || !found_take(&history->found, attempt))
        return false;
    metrics_add(history->recalled, 1);
    return true;
}

/* ---- looking ---- */

static const struct broker_reader_ops decision_ops, report_ops;

static void finish(struct tenure *tenure)
{
    stop_looking(tenure);
    intake_looked(tenure->history->agent->intake, tenure->partition);
}

static void fail(struct tenure *tenure, const struct error *error)
{
    const struct topics *topics = &tenure->history->agent->cluster->topics;
    log_warning_limited(
        "what other instances have answered cannot be looked up: some calls may be "
        "made again with the same key",
        LOG_STR("topic", tenure->state == LOOK_DECISION ? topics->events : topics->commands),
        LOG_I64("partition", tenure->partition), LOG_ERR(error));
    metrics_add(tenure->history->looks_failed, 1);
    tenure->blind_until = now_of(tenure) + HISTORY_AGAIN_MS;
    finish(tenure);
}

/* All that there is was read, or as much as may be. */
static void finish_reading(struct tenure *tenure, bool cut)
{
    struct agent_history *history = tenure->history;
    if (cut)
        log_warning_limited(
            "not all that other instances have answered was looked up: some calls may be made "
            "again with the same key",
            LOG_STR("topic", history->agent->cluster->topics.commands),
            LOG_I64("partition", tenure->partition), LOG_I64("from", tenure->first),
            LOG_U64("records", tenure->records), LOG_U64("bytes", tenure->bytes));
    log_debug("looked for what other instances have answered",
              LOG_I64("partition", tenure->partition), LOG_I64("from", tenure->first),
              LOG_U64("records", tenure->records));
    if (tenure->first < tenure->read_from)
        tenure->read_from = tenure->first;
    if (tenure->decision_offset < tenure->looked_from)
        tenure->looked_from = tenure->decision_offset;
    finish(tenure);
}

static void read_reports(struct tenure *tenure)
{
    const struct cluster *cluster = tenure->history->agent->cluster;
    tenure->state = LOOK_REPORTS;
    broker_reader_close(tenure->reader);
    tenure->reader =
        broker_read(cluster->broker, cluster->topics.commands, tenure->partition,
                    tenure->from_earliest ? BROKER_EARLIEST : tenure->first, &report_ops, tenure);
}

/* Nothing is recalled for requests of that claim. */
static void note_foreign(struct tenure *tenure)
{
    log_info_limited("a request is not of this log: other instances' answers are not looked up",
                     LOG_STR("topic", tenure->history->agent->topic),
                     LOG_I64("partition", tenure->partition),
                     LOG_I64("decision", tenure->decision_offset));
    note_claim(tenure, false);
    finish(tenure);
}

static bool decode(struct agent_history *history, const struct broker_record *record,
                   struct record *ret_record, struct error *ret_error)
{
    heap_arena_reset(&history->scratch);
    return codec_decode(history->agent->cluster->codec, record->value, true,
                        &history->scratch.arena, ret_record, ret_error) == ERROR_OK;
}

static void on_decision(void *ctx, const struct broker_record *record)
{
    struct tenure *tenure = ctx;
    struct record decoded;
    struct error error;
    assert(tenure->state == LOOK_DECISION);
    if (!decode(tenure->history, record, &decoded, &error)) {
        fail(tenure, &error);
        return;
    }
    if (record->offset != tenure->decision_offset || decoded.kind != RECORD_DECISION ||
        memcmp(&decoded.decision.claim_id, &tenure->claim_id, sizeof(tenure->claim_id)) != 0) {
        note_foreign(tenure);
        return;
    }
    note_claim(tenure, true);
    tenure->first = decoded.decision.command_offset + 1;
    if (tenure->first < tenure->read_from)
        read_reports(tenure);
    else
        finish_reading(tenure, false);
}

static void on_events_end(void *ctx, int64_t next_offset)
{
    (void)next_offset;
    note_foreign(ctx);
}

static void on_report(void *ctx, const struct broker_record *record)
{
    struct tenure *tenure = ctx;
    struct agent_history *history = tenure->history;
    const struct report_step *report;
    struct record decoded;
    struct error error;
    assert(tenure->state == LOOK_REPORTS);
    if (record->offset >= tenure->read_from) {
        finish_reading(tenure, false);
        return;
    }
    tenure->records++;
    report = &decoded.command.report_step;
    /* What cannot be decoded is no report of an agent that the scheduler understood. */
    if (decode(history, record, &decoded, &error) && decoded.kind == RECORD_REPORT_STEP &&
        text_equal(report->agent, text_of(history->agent->name)))
        tenure->bytes += found_keep(&history->found, tenure->partition, record->offset, report);
    if (tenure->records >= HISTORY_RECORDS_MAX || tenure->bytes >= HISTORY_BYTES_MAX)
        finish_reading(tenure, true);
    else if (record->offset + 1 == tenure->read_from)
        finish_reading(tenure, false);
}

static void on_commands_end(void *ctx, int64_t next_offset)
{
    (void)next_offset;
    finish_reading(ctx, false);
}

static void on_error(void *ctx, const struct error *error)
{
    struct tenure *tenure = ctx;
    bool out_of_range = strcmp(error->code, "OffsetOutOfRange") == 0;
    if (error->class != ERROR_FATAL) {
        tenure->error = *error; /* it reads on by itself, for as long as we wait */
    } else if (out_of_range && tenure->state == LOOK_DECISION) {
        note_foreign(tenure);
    } else if (out_of_range && !tenure->from_earliest) {
        tenure->from_earliest = true; /* retention took the first ones */
        read_reports(tenure);
    } else {
        fail(tenure, error);
    }
}

static const struct broker_reader_ops decision_ops = {on_decision, on_events_end, on_error};
static const struct broker_reader_ops report_ops = {on_report, on_commands_end, on_error};

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct tenure *tenure = userdata;
    (void)loop;
    (void)timer;
    if (!tenure->known) {
        set_end(tenure, INT64_MAX); /* requests do not wait for that */
        return;
    }
    assert(tenure->state != LOOK_NONE);
    if (tenure->records > 0)
        finish_reading(tenure, true);
    else
        fail(tenure, &tenure->error);
}

void history_look(struct agent_history *history, int32_t partition,
                  const struct step_request *request)
{
    const struct cluster *cluster = history->agent->cluster;
    struct tenure *tenure = find_tenure(history, partition);
    assert(tenure != NULL && tenure->open && tenure->state == LOOK_NONE);
    metrics_add(history->looks, 1);
    tenure->state = LOOK_DECISION;
    tenure->claim_id = request->claim_id;
    tenure->decision_offset = request->decision_offset;
    tenure->from_earliest = false;
    tenure->records = 0;
    tenure->bytes = 0;
    error_set(&tenure->error, ERROR_RETRY, "TimedOut", "no answer in %d ms", HISTORY_LOOK_MS);
    loop_timer_after(loop_of(tenure), &tenure->timer, HISTORY_LOOK_MS);
    tenure->reader = broker_read(cluster->broker, cluster->topics.events, partition,
                                 request->decision_offset, &decision_ops, tenure);
}
