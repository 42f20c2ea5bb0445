/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include "replica/service/settings.h"

enum { READ_MS = 1000 }; /* what reading the topics may take where start.timeout.ms is over */

static void on_ready(void *ctx)
{
    struct cli_session *session = ctx;
    session->ready = true;
}

static bool is_ready(void *ctx)
{
    const struct cli_session *session = ctx;
    return session->ready;
}

/* Programs that read JSON from stderr get the one error. */
static void report_no_broker(void *ctx, const char *servers, const char *refusal)
{
    const struct cli *cli = ctx;
    if (cli->output != CLI_OUTPUT_TABLE)
        return;
    if (refusal != NULL)
        fprintf(cli->err, "%s; waiting (start.timeout.ms)\n", refusal);
    else
        fprintf(cli->err, "no broker answers at %s yet; waiting (start.timeout.ms)\n", servers);
}

enum error_class cli_session_open(struct cli *cli, unsigned flags, struct cli_session *session,
                                  struct error *ret_error)
{
    *session = (struct cli_session){0};
    session->context =
        (struct service_context){.name = "cli",
                                 .instance_id = config_string(cli->config, "instance.id"),
                                 .data_dir = config_string(cli->config, "data.dir"),
                                 .clock = clock_real(),
                                 .config = cli->config,
                                 .on_no_broker = report_no_broker,
                                 .on_no_broker_ctx = cli};
    int64_t deadline =
        clock_mono_ms(session->context.clock) + config_ms(cli->config, "start.timeout.ms");
    enum error_class class = loop_new(session->context.clock, &session->context.loop, ret_error);
    if (class != ERROR_OK)
        return class;
    session->metrics = session->context.metrics = metrics_new();
    class = cluster_open(&session->context, flags, on_ready, session, &session->cluster, ret_error);
    if (class == ERROR_OK)
        session->cluster->silent = true; /* what stops a partition is alerted by the services */
    int64_t left = deadline - clock_mono_ms(session->context.clock);
    if (class == ERROR_OK &&
        !cli_session_wait(session, is_ready, session, left > READ_MS ? left : READ_MS))
        class = error_set(ret_error, CODE_BROKER_UNAVAILABLE,
                          "cannot read %s or %s: see `reeve topics check`",
                          session->cluster->topics.schemas, session->cluster->topics.workflows);
    if (class != ERROR_OK)
        cli_session_close(session);
    return class;
}

void cli_session_close(struct cli_session *session)
{
    cluster_close(session->cluster);
    metrics_free(session->metrics);
    loop_free(session->context.loop);
    *session = (struct cli_session){0};
}

bool cli_session_wait(struct cli_session *session, bool (*done)(void *ctx), void *ctx,
                      int64_t timeout_ms)
{
    return loop_run_until(session->context.loop, done, ctx, timeout_ms);
}

/* ---- offsets ---- */

struct offsets_answer {
    bool done;
    int64_t low;
    int64_t high;
    struct error error;
};

static bool is_answered(void *ctx)
{
    const struct offsets_answer *answer = ctx;
    return answer->done;
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct offsets_answer *answer = ctx;
    answer->low = low;
    answer->high = high;
    if (error != NULL)
        answer->error = *error;
    answer->done = true;
}

enum error_class cli_session_offsets(struct cli_session *session, const char *topic,
                                     int32_t partition, int64_t *ret_low, int64_t *ret_high,
                                     struct error *ret_error)
{
    enum { ANSWER_MS = 15000 };
    struct offsets_answer answer = {0};
    broker_offsets(session->cluster->broker, topic, partition, on_offsets, &answer);
    if (!cli_session_wait(session, is_answered, &answer, ANSWER_MS))
        return error_set(ret_error, CODE_NO_ANSWER, "the broker does not answer");
    if (error_is(&answer.error)) {
        *ret_error = answer.error;
        return answer.error.class;
    }
    *ret_low = answer.low;
    *ret_high = answer.high;
    return ERROR_OK;
}

/* ---- reading ---- */

struct read_pass {
    struct cli_reading *reading;
    bool done;
    struct error error;
};

/* Everything before `next` was read. */
static void went_on(struct read_pass *pass, int64_t next, bool goes_on)
{
    pass->reading->next = next;
    pass->done = !goes_on || (pass->reading->end > 0 && next >= pass->reading->end);
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct read_pass *pass = ctx;
    pass->done |= pass->reading->end > 0 && record->offset >= pass->reading->end;
    if (!pass->done)
        went_on(pass, record->offset + 1, pass->reading->record(pass->reading->ctx, record));
}

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct read_pass *pass = ctx;
    if (!pass->done)
        went_on(pass, next_offset,
                pass->reading->unreadable(pass->reading->ctx, offset, next_offset));
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct read_pass *pass = ctx;
    if (!pass->done)
        went_on(pass, next_offset, pass->reading->end > 0);
}

static void on_error(void *ctx, const struct error *error)
{
    struct read_pass *pass = ctx;
    if (error->class != ERROR_FATAL || pass->done)
        return;
    pass->error = *error;
    pass->done = true;
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static bool is_done(void *ctx)
{
    const struct read_pass *pass = ctx;
    return pass->done;
}

enum error_class cli_session_read(struct cli_session *session, struct cli_reading *reading,
                                  struct error *ret_error)
{
    enum { TURN_MS = 1000 };
    struct read_pass pass = {.reading = reading};
    bool waits = reading->timeout_ms == 0;
    struct broker_reader *reader =
        broker_read(session->cluster->broker, reading->topic, reading->partition, reading->next,
                    &reader_ops, &pass);
    if (reading->unreadable != NULL)
        broker_reader_skip_unreadable(reader, on_unreadable);
    broker_reader_skip_headers(reader);
    while (!cli_session_wait(session, is_done, &pass, waits ? TURN_MS : reading->timeout_ms) &&
           waits)
        continue;
    broker_reader_close(reader);
    if (!pass.done)
        return error_set(ret_error, CODE_NO_ANSWER, "the broker does not answer");
    if (error_is(&pass.error))
        *ret_error = pass.error;
    return pass.error.class;
}
