/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve leader`: the leader of each elected role, according to the log of the elections. */
#include "cli/leader.h"

#include "cli/output.h"
#include "leader/election.h"
#include "platform/clock.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { ANSWER_MS = 15000 };

struct role {
    struct role *next;
    struct election_log log;
    char name[NAME_BYTES_MAX + 1];
};

struct reading {
    struct cli_session *session;
    struct role *roles;
    int64_t first_offset; /* of the topic, -1: not known yet */
};

/* ---- reading ---- */

static struct election_log *log_of(struct reading *reading, struct text name)
{
    struct role *role;
    LL_FOREACH(reading->roles, role)
        if (text_equal(text_of(role->name), name))
            return &role->log;
    role = calloc(1, sizeof(*role));
    assert(role != NULL && name.size <= NAME_BYTES_MAX);
    memcpy(role->name, name.data, name.size);
    election_log_init(&role->log);
    LL_APPEND(reading->roles, role);
    return &role->log;
}

static bool on_record(void *ctx, const struct broker_record *record)
{
    struct reading *reading = ctx;
    struct cluster *cluster = reading->session->cluster;
    struct record decoded;
    struct election_log *log;
    if (reading->first_offset < 0)
        reading->first_offset = record->offset;
    heap_arena_reset(&cluster->scratch);
    if (codec_decode(cluster->codec, record->value, true, &cluster->scratch.arena, &decoded,
                     NULL) != ERROR_OK ||
        decoded.kind != RECORD_LEADERSHIP || text_empty(decoded.leadership.role))
        return true;
    log = log_of(reading, decoded.leadership.role);
    election_log_begins(log, reading->first_offset);
    election_log_fold(log, &decoded.leadership, record->offset, record->timestamp);
    return true;
}

static enum error_class read_all(struct reading *reading, struct error *ret_error)
{
    struct cluster *cluster = reading->session->cluster;
    struct cli_reading topic = {.topic = cluster->topics.leadership,
                                .next = BROKER_EARLIEST,
                                .timeout_ms = ANSWER_MS,
                                .record = on_record,
                                .ctx = reading};
    return cli_session_read(reading->session, &topic, ret_error);
}

/* ---- showing ---- */

/* "leads", or why the role has no leader now. */
static json_t *status_of(const struct election_log *log, int64_t now)
{
    if (log->term < 0)
        return json_string("never led");
    if (log->released)
        return json_sprintf("released: %s", log->reason);
    if (now > log->last_ms + log->lease_ms)
        return json_sprintf("silent for %lld s", (long long)((now - log->last_ms) / 1000));
    return json_string("leads");
}

static json_t *time_of(int64_t ms)
{
    return ms > 0 ? json_codec_time(ms) : json_null();
}

static json_t *row_of(const struct role *role, int64_t now)
{
    const struct election_log *log = &role->log;
    bool led = log->term >= 0;
    bool holds_lease = now <= log->last_ms + log->lease_ms;
    return json_pack("{s:s, s:s?, s:o, s:o, s:o, s:I, s:I, s:b, s:o}", "role", role->name, "leader",
                     led ? log->instance : NULL, "term",
                     led ? json_integer(log->term) : json_null(), "since", time_of(log->since_ms),
                     "progress", time_of(log->progress_at), "lease_ms", (json_int_t)log->lease_ms,
                     "rank", (json_int_t)log->rank, "leads", led && !log->released && holds_lease,
                     "status", status_of(log, now));
}

static const struct output_column columns[] = {
    {"ROLE", "role", output_value, false},      {"LEADER", "leader", output_value, false},
    {"TERM", "term", output_value, true},       {"SINCE", "since", output_age, true},
    {"PROGRESS", "progress", output_age, true}, {"LEASE", "lease_ms", output_duration, true},
    {"STATUS", "status", output_value, false},  {0},
};

static int show(const struct cli *cli, const struct reading *reading)
{
    const struct role *role;
    int64_t now = clock_wall_ms(clock_real());
    struct output *output = output_new(cli, columns);
    LL_FOREACH(reading->roles, role)
        output_row(output, row_of(role, now));
    return output_finish(output, EXIT_CODE_OK);
}

int leader_show(struct cli *cli, struct cli_session *session)
{
    struct reading reading = {.session = session, .first_offset = -1};
    struct error error;
    struct role *role;
    struct role *next;
    enum error_class class = read_all(&reading, &error);
    int code = class == ERROR_OK ? show(cli, &reading) : cli_fail(cli, &error);
    LL_FOREACH_SAFE(reading.roles, role, next)
        free(role);
    return code;
}

static int run(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    if (cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = leader_show(cli, &session);
    cli_session_close(&session);
    return code;
}

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the leader of each elected role, its term and its lease.",
        .examples = "reeve leader\nreeve leader --output json",
        .run = run,
    },
};

const struct cli_noun cli_leader = {"leader", "Leaders of elected roles.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
