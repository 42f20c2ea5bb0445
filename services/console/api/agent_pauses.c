/* SPDX-License-Identifier: Apache-2.0 */
/* See agent_pauses.h. */
#include "services/console/api/agent_pauses.h"

#include "base/names.h"
#include "base/utf8.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/logger.h"
#include "schemas/json/json_codec.h"
#include "services/console/render/render.h"
#include "services/console/render/request_body.h"
#include "workflow/lifecycle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { OFFSET_UNKNOWN = -1 };

struct pause_request {
    struct http_pending pending; /* to come: the acknowledgement of its record */
    struct agent_pauses *pauses;
    int64_t offset; /* of its record, once it is acknowledged */
    char agent[NAME_BYTES_MAX + 1];
};

struct agent_pauses {
    struct cluster *cluster;   /* not to be used by agent_pauses_free() */
    struct agent_table *table; /* NULL: drained */
    struct http_pendings pendings;
    struct heap_arena heap;
};

static struct pause_request *request_of(struct http_pending *pending)
{
    return (struct pause_request *)pending; /* its first member */
}

/* ---- answers ---- */

/* How many deployed versions of workflows name the agent. */
static json_int_t count_workflows(const struct workflow_registry *registry, struct text agent)
{
    json_int_t count = 0;
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        struct text names[WORKFLOW_FILE_AGENTS_MAX];
        size_t name_count = workflow_agents(workflow_registry_at(registry, i)->workflow, names);
        bool found = false;
        for (size_t n = 0; n < name_count; n++)
            found = found || text_equal(names[n], agent);
        count += found;
    }
    return count;
}

static json_t *state_of(const struct agent_pauses *pauses, struct text agent)
{
    const struct agent_group *group = agent_table_find(pauses->table, agent);
    json_t *body = json_object();
    json_codec_put(body, "agent", json_codec_text(agent));
    json_codec_put(body, "paused", render_agent_pause(agent_table_pause(pauses->table, agent)));
    json_codec_put(body, "instances", json_integer(group != NULL ? group->count : 0));
    json_codec_put(body, "workflows",
                   json_integer(count_workflows(pauses->cluster->workflows, agent)));
    return body;
}

static void refuse(const struct agent_pauses *pauses, struct http_exchange *exchange,
                   struct text agent, enum error_code code, const char *message)
{
    json_t *problem = http_problem_new(409, error_code_text(code), text_of(message));
    json_object_update_new(problem, state_of(pauses, agent));
    http_respond_problem(exchange, problem);
}

/* The record was acknowledged and read back. */
static void finish(struct pause_request *request)
{
    struct http_exchange *exchange = http_pending_take(&request->pending);
    assert(exchange != NULL && request->pending.to_come == 0);
    http_respond_json(exchange, 200, state_of(request->pauses, text_of(request->agent)));
}

static void on_late(struct http_pending *pending)
{
    http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                      "the broker has not confirmed the change yet, but may still: check `reeve "
                      "agents list` before you try again");
}

static const struct http_pending_kind request_kind = {
    .max = AGENT_PAUSES_UNDER_WAY_MAX,
    .busy = "too many requests about agents are in progress: try again later",
    .draining = "the change was sent, but this instance is shutting down: check `reeve agents "
                "list` on another one",
    .late = on_late};

/* ---- the topic ---- */

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct pause_request *request = ctx;
    (void)token;
    request->pending.to_come--;
    request->offset = offset;
    if (error != NULL && error_is(error))
        http_pending_fail(&request->pending, 503, CODE_UNKNOWN,
                          "the change may or may not have been accepted: check `reeve agents list` "
                          "before you try again");
    if (request->pending.exchange != NULL && agent_table_offset(request->pauses->table) >= offset)
        finish(request);
    http_pending_settle(&request->pending);
}

static void on_paused(void *ctx, struct text agent, const struct agent_pause_entry *pause)
{
    struct agent_pauses *pauses = ctx;
    struct http_pending *pending, *next;
    (void)pause;
    DL_FOREACH_SAFE(pauses->pendings.list, pending, next) {
        struct pause_request *request = request_of(pending);
        if (pending->to_come == 0 && text_equal(text_of(request->agent), agent) &&
            agent_table_offset(pauses->table) >= request->offset) {
            finish(request);
            http_pending_settle(pending);
        }
    }
}

static const struct agent_table_ops table_ops = {.paused = on_paused};

static void append(struct agent_pauses *pauses, struct http_exchange *exchange,
                   const struct agent_pause *record)
{
    struct error error;
    char key[AGENT_PAUSE_KEY_SIZE];
    struct pause_request *request = calloc(1, sizeof(*request));
    assert(request != NULL && record->agent.size <= NAME_BYTES_MAX);
    request->pauses = pauses;
    request->offset = OFFSET_UNKNOWN;
    memcpy(request->agent, record->agent.data, record->agent.size);
    if (cluster_append(pauses->cluster, BROKER_PRODUCER_LOG, pauses->cluster->topics.agents, 0,
                       agent_pause_key(record->agent, key), RECORD_AGENT_PAUSE, record, on_appended,
                       request, 0, &error) != ERROR_OK) {
        http_respond_failure(exchange, &error);
        free(request);
        return;
    }
    http_pending_begin(&pauses->pendings, &request->pending, exchange, AGENT_PAUSES_WAIT_MS);
    request->pending.to_come++;
}

/* ---- requests ---- */

static bool is_busy_with(const struct agent_pauses *pauses, struct text agent)
{
    struct http_pending *pending;
    DL_FOREACH(pauses->pendings.list, pending) {
        if (text_equal(text_of(request_of(pending)->agent), agent))
            return true;
    }
    return false;
}

/* False after it answered. */
static bool check_state(const struct agent_pauses *pauses, struct text agent, bool pause,
                        struct http_exchange *exchange)
{
    char message[ERROR_MESSAGE_SIZE];
    if (!http_pendings_admit(&pauses->pendings, exchange))
        return false;
    if (!agent_table_is_complete(pauses->table)) {
        http_respond_error(exchange, 503, CODE_NOT_READY,
                           "the console is still reading the agents' topic: try again later");
        return false;
    }
    const struct agent_pause_entry *now = agent_table_pause(pauses->table, agent);
    if (is_busy_with(pauses, agent)) {
        http_respond_error(exchange, 503, CODE_BUSY,
                           "another request about this agent is in progress: try again later");
        return false;
    }
    if (pause && now != NULL) {
        snprintf(message, sizeof(message), "%.256s has paused agent %.64s: %.256s", now->by,
                 now->agent, now->reason);
        refuse(pauses, exchange, agent, CODE_ALREADY_PAUSED, message);
        return false;
    }
    if (pause && agent_table_pause_count(pauses->table) >= AGENT_PAUSES_MAX) {
        snprintf(message, sizeof(message), "%d agents are paused already: resume one first",
                 AGENT_PAUSES_MAX);
        refuse(pauses, exchange, agent, CODE_TOO_MANY_PAUSES, message);
        return false;
    }
    if (!pause && now == NULL)
        refuse(pauses, exchange, agent, CODE_NOT_PAUSED, "the agent is not paused");
    return pause || now != NULL;
}

static enum error_class check_text(const char *name, struct text text, struct error *ret_error)
{
    if (!text_empty(text) && utf8_printable(text))
        return ERROR_OK;
    return error_set(ret_error, CODE_BAD_FIELD,
                     "%s: expected a text of at least 1 byte, without control characters; the "
                     "topic of agents keeps it",
                     name);
}

/* REJECT: the body is wrong. */
static enum error_class read_body(struct agent_pauses *pauses, struct http_exchange *exchange,
                                  struct agent_pause *ret_record, struct error *ret_error)
{
    static const char *const fields[] = {"by", "reason", NULL};
    struct agent_pause record = {.agent = {0}};
    struct json_value body;
    heap_arena_reset(&pauses->heap);
    if (request_body_read(exchange, &pauses->heap.arena, &body, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    enum error_class class =
        json_codec_decode(record_kind_info(RECORD_AGENT_PAUSE)->binding, fields, 0, body,
                          &pauses->heap.arena, &record, ret_error);
    if (class != ERROR_OK || check_text("by", record.by, ret_error) != ERROR_OK ||
        check_text("reason", record.reason, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_record = record;
    return ERROR_OK;
}

void agent_pauses_serve(struct agent_pauses *pauses, bool pause, struct http_exchange *exchange)
{
    struct error error;
    struct agent_pause record;
    struct text agent = text_of(http_param(exchange, "name"));
    if (!name_valid(agent)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "agent must be %s", NAME_EXPECTED);
        return;
    }
    if (read_body(pauses, exchange, &record, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        return;
    }
    if (!check_state(pauses, agent, pause, exchange))
        return;
    record.agent = agent;
    record.paused = pause;
    record.at = clock_wall_ms(pauses->cluster->service->clock);
    log_info("operator command", LOG_STR("command", pause ? "pause agent" : "resume agent"),
             LOG_TEXT("agent", agent), LOG_TEXT("by", record.by),
             LOG_TEXT("reason", record.reason));
    append(pauses, exchange, &record);
}

const struct agent_table *agent_pauses_table(const struct agent_pauses *pauses)
{
    return pauses->table;
}

/* ---- life ---- */

struct agent_pauses *agent_pauses_new(struct cluster *cluster)
{
    struct agent_pauses *pauses = calloc(1, sizeof(*pauses));
    assert(pauses != NULL);
    pauses->cluster = cluster;
    http_pendings_init(&pauses->pendings, &request_kind, cluster_loop(cluster), NULL, NULL);
    heap_arena_init(&pauses->heap, 4096);
    pauses->table = agent_table_follow(cluster, &table_ops, pauses);
    return pauses;
}

void agent_pauses_drain(struct agent_pauses *pauses)
{
    if (pauses == NULL)
        return;
    http_pendings_drain(&pauses->pendings);
    agent_table_free(pauses->table);
    pauses->table = NULL;
}

void agent_pauses_free(struct agent_pauses *pauses)
{
    if (pauses == NULL)
        return;
    assert(pauses->table == NULL);
    http_pendings_deinit(&pauses->pendings);
    heap_arena_deinit(&pauses->heap);
    free(pauses);
}
