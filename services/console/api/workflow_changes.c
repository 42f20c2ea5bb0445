/* SPDX-License-Identifier: Apache-2.0 */
/* See workflow_changes.h. */
#include "services/console/api/workflow_changes.h"

#include "base/numbers.h"
#include "base/utf8.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/logger.h"
#include "replica/cluster/workflow_entry_json.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/workflow_topics.h"
#include "services/console/render/request_body.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { ARENA_SIZE = 16 * 1024 };

struct workflow_request {
    struct http_pending pending; /* to come: the acknowledgement of a record */
    struct workflow_changes *changes;
    struct heap_arena heap; /* everything below lives in it */
    struct text name;
    uint32_t version;
    struct text by;
    bool is_deployment;            /* else a change of a deployed version */
    const struct workflow *before; /* see workflow_deployment_before() */
    struct workflow_deployment deployment;
    struct text format;
    bool active;        /* of a change: the version becomes the active one; else it is retired */
    struct text reason; /* of a change */
};

struct workflow_changes {
    struct cluster *cluster;          /* not to be used by workflow_changes_free() */
    const struct agent_table *agents; /* the same */
    struct http_pendings pendings;
    struct workflow_problems problems; /* of the text that is checked */
};

static struct workflow_request *request_of(struct http_pending *pending)
{
    return (struct workflow_request *)pending; /* its first member */
}

static struct workflow_request *request_new(struct workflow_changes *changes)
{
    struct workflow_request *request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->changes = changes;
    heap_arena_init(&request->heap, ARENA_SIZE);
    return request;
}

static void request_free(struct http_pending *pending)
{
    struct workflow_request *request = request_of(pending);
    heap_arena_deinit(&request->heap);
    free(request);
}

/* ---- answers ---- */

static void refuse(struct http_exchange *exchange, const struct error *error)
{
    bool unknown = error->code == CODE_UNKNOWN_WORKFLOW;
    http_respond_error_of(exchange, unknown ? 404 : 409, error);
}

/* False: each agent of the workflow has an instance, as far as is known. */
static bool warn_unserved(const struct agent_table *table, const struct workflow *workflow,
                          char *buffer, size_t size)
{
    struct text agents[WORKFLOW_FILE_AGENTS_MAX];
    size_t count = agent_table_is_complete(table) ? workflow_agents(workflow, agents) : 0;
    size_t used = (size_t)snprintf(buffer, size, "no running instance serves");
    size_t empty = used;
    for (size_t i = 0; i < count; i++) {
        if (agent_table_find(table, agents[i]) == NULL && used < size / 2)
            used += (size_t)snprintf(buffer + used, size - used, "%s %.*s", used > empty ? "," : "",
                                     TEXT_ARG(agents[i]));
    }
    if (used == empty)
        return false;
    snprintf(buffer + used, size - used,
             ": steps that no other agent gets wait in the queue; start an instance, or correct "
             "Agent and deploy the next version");
    return true;
}

/* What to be warned of, a text for each. */
static json_t *warnings_of(struct workflow_request *request, const struct workflow_entry *entry)
{
    const struct workflow_registry *registry = request->changes->cluster->workflows;
    char warning[ERROR_MESSAGE_SIZE];
    const struct text *texts = NULL;
    uint32_t count = 0;
    json_t *list = json_array();
    bool warns =
        request->is_deployment
            ? warn_unserved(request->changes->agents, entry->workflow, warning, sizeof(warning))
            : workflow_lifecycle_retired_active(registry, entry, warning, sizeof(warning));
    if (warns)
        json_array_append_new(list, json_codec_text(text_of(warning)));
    if (request->before != NULL)
        count =
            workflow_diff_warnings(request->before, entry->workflow, &request->heap.arena, &texts);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_codec_text(texts[i]));
    return list;
}

/* The version as it was read back, with the result in words and the warnings. */
static void finish(struct workflow_request *request)
{
    struct http_exchange *exchange = http_pending_take(&request->pending);
    const struct workflow_registry *registry = request->changes->cluster->workflows;
    const struct workflow_entry *entry =
        workflow_registry_entry(registry, request->name, request->version);
    assert(exchange != NULL && entry != NULL);
    bool active = workflow_lifecycle_is_active(registry, entry);
    const char *result = entry->retired ? "retired" : active ? "active" : "not active";
    json_t *body = workflow_entry_json(registry, entry);
    if (request->is_deployment)
        result = workflow_deployment_result(registry, &request->deployment);
    json_codec_put(body, "lint", workflow_problems_json(entry->warnings, entry->warning_count));
    json_codec_put(body, "result", json_string(result));
    json_codec_put(body, "warnings", warnings_of(request, entry));
    http_respond_json(exchange, 200, body);
}

#define LOOK_FIRST ": check `reeve workflow list` before you try again"

static void cancel(struct http_pending *pending)
{
    struct workflow_request *request = request_of(pending);
    cluster_refresh_cancel(request->changes->cluster, request);
}

static void on_late(struct http_pending *pending)
{
    http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                      "the broker has not confirmed the change yet, but may still" LOOK_FIRST);
}

static const struct http_pending_kind request_kind = {
    .max = WORKFLOW_CHANGES_UNDER_WAY_MAX,
    .busy = "too many changes are under way: try again later",
    .draining = "the change was sent, but this instance is shutting down" LOOK_FIRST,
    .late = on_late,
    .cancel = cancel,
    .free = request_free};

/* ---- the topic ---- */

static void advance(struct workflow_request *request);

static void on_refreshed(void *ctx)
{
    struct workflow_request *request = ctx;
    assert(request->pending.exchange != NULL && request->pending.to_come == 0);
    if (request->is_deployment)
        advance(request);
    else
        finish(request);
    http_pending_settle(&request->pending);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct workflow_request *request = ctx;
    (void)token;
    (void)offset;
    request->pending.to_come--;
    if (error != NULL && error_is(error))
        http_pending_fail(&request->pending, 503, CODE_UNKNOWN,
                          "the change may or may not have been accepted" LOOK_FIRST);
    if (request->pending.exchange != NULL)
        cluster_refresh_workflows(request->changes->cluster, on_refreshed, request);
    http_pending_settle(&request->pending);
}

static void append(struct workflow_request *request, uint32_t version, enum record_kind kind,
                   const void *record)
{
    struct error error;
    char key[WORKFLOW_KEY_SIZE];
    struct cluster *cluster = request->changes->cluster;
    if (cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.workflows, 0,
                       workflow_key(request->name, version, key), kind, record, on_appended,
                       request, 0, &error) == ERROR_OK)
        request->pending.to_come++;
    else
        http_respond_failure(http_pending_take(&request->pending), &error);
}

static void append_activation(struct workflow_request *request, uint32_t version, bool active,
                              struct text reason)
{
    struct workflow_activation activation = {
        .name = request->name,
        .version = version,
        .active = active,
        .by = request->by,
        .reason = reason,
        .at = clock_wall_ms(request->changes->cluster->service->clock),
    };
    append(request, version, RECORD_WORKFLOW_ACTIVATION, &activation);
}

static void append_definition(struct workflow_request *request)
{
    struct workflow_definition definition = {
        .name = request->name,
        .version = request->version,
        .text = request->deployment.text,
        .format = request->format,
        .deployed_by = request->by,
        .deployed_at = clock_wall_ms(request->changes->cluster->service->clock),
    };
    request->deployment.is_new = true;
    append(request, definition.version, RECORD_WORKFLOW_DEFINITION, &definition);
}

/* The next record of a deployment, or its answer. */
static void advance(struct workflow_request *request)
{
    struct error error;
    uint32_t version = 0;
    enum workflow_deployment_step step = DEPLOYMENT_DONE;
    if (workflow_deployment_next(request->changes->cluster->workflows, &request->deployment, &step,
                                 &version, &error) != ERROR_OK) {
        refuse(http_pending_take(&request->pending), &error);
    } else if (step == DEPLOYMENT_DONE) {
        finish(request);
    } else if (step == DEPLOYMENT_DEFINE) {
        append_definition(request);
    } else {
        append_activation(request, version, step != DEPLOYMENT_RETIRE,
                          workflow_deployment_reason(step));
    }
}

/* ---- requests ---- */

static bool is_busy_with(const struct workflow_changes *changes,
                         const struct workflow_request *request)
{
    struct http_pending *other;
    DL_FOREACH(changes->pendings.list, other) {
        if (text_equal(request_of(other)->name, request->name))
            return true;
    }
    return false;
}

/* Begins: the request is read and checked. */
static void take(struct workflow_request *request, struct http_exchange *exchange,
                 const char *command)
{
    struct workflow_changes *changes = request->changes;
    if (is_busy_with(changes, request)) {
        http_respond_error(exchange, 503, CODE_BUSY,
                           "another change of workflow %.*s is under way: try again later",
                           TEXT_ARG(request->name));
        request_free(&request->pending);
        return;
    }
    log_info("operator command", LOG_STR("command", command), LOG_TEXT("workflow", request->name),
             LOG_I64("version", request->version), LOG_TEXT("by", request->by),
             LOG_TEXT("reason", request->reason));
    http_pending_begin(&changes->pendings, &request->pending, exchange, WORKFLOW_CHANGES_WAIT_MS);
    if (request->is_deployment) {
        request->before =
            workflow_deployment_before(changes->cluster->workflows, request->deployment.workflow);
        advance(request);
    } else {
        append_activation(request, request->version, request->active, request->reason);
    }
    http_pending_settle(&request->pending);
}

static enum error_class check_text(const char *name, struct text text, struct error *ret_error)
{
    if (!text_empty(text) && utf8_printable(text))
        return ERROR_OK;
    return error_set(ret_error, CODE_BAD_FIELD,
                     "%s: expected a text of at least 1 byte, without control characters; the "
                     "topic of workflows keeps it",
                     name);
}

/* Texts are new in the request's arena. REJECT: the body is wrong. */
static enum error_class read_change(struct workflow_request *request,
                                    struct http_exchange *exchange, struct error *ret_error)
{
    static const char *const fields[] = {"by", "reason", NULL};
    struct workflow_activation record = {.version = 0};
    struct json_value body;
    if (request_body_read(exchange, &request->heap.arena, &body, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    enum error_class class =
        json_codec_decode(record_kind_info(RECORD_WORKFLOW_ACTIVATION)->binding, fields, 0, body,
                          &request->heap.arena, &record, ret_error);
    if (class != ERROR_OK || check_text("by", record.by, ret_error) != ERROR_OK ||
        check_text("reason", record.reason, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    request->by = record.by;
    request->reason = record.reason;
    return ERROR_OK;
}

void workflow_changes_serve(struct workflow_changes *changes, enum workflow_change change,
                            struct http_exchange *exchange)
{
    static const char *const commands[] = {"activate workflow", "roll back workflow",
                                           "retire workflow"};
    struct error error;
    int64_t version = 0;
    const struct workflow_entry *entry = NULL;
    if (!http_pendings_admit(&changes->pendings, exchange))
        return;
    if (change != WORKFLOW_ROLLBACK &&
        !number_parse(text_of(http_param(exchange, "version")), 1, INT32_MAX, &version)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "the version in the path: expected an integer from 1 to %d", INT32_MAX);
        return;
    }
    struct workflow_request *request = request_new(changes);
    if (read_change(request, exchange, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        request_free(&request->pending);
    } else if (workflow_lifecycle_check(changes->cluster->workflows, change,
                                        text_of(http_param(exchange, "name")), (uint32_t)version,
                                        &entry, &error) != ERROR_OK) {
        refuse(exchange, &error);
        request_free(&request->pending);
    } else {
        request->name = entry->definition.name;
        request->version = entry->definition.version;
        request->active = change != WORKFLOW_RETIRE;
        if (request->active)
            request->before = workflow_activation_before(changes->cluster->workflows, entry);
        take(request, exchange, commands[change]);
    }
}

/* ---- deployments ---- */

/* The body of POST /api/workflows. */
struct deployment_body {
    struct text source, format, by;
    bool activate;
};
static const struct field_binding deployment_fields[] = {
    F_TEXT(OPTIONAL, struct deployment_body, source, WORKFLOW_BYTES),
    F_TEXT(OPTIONAL, struct deployment_body, format, NAME_BYTES),
    F_TEXT(OPTIONAL, struct deployment_body, by, WHO_BYTES),
    F_BOOL(OPTIONAL, struct deployment_body, activate),
};
static const struct record_binding deployment_binding =
    BINDING(struct deployment_body, deployment_fields);

static enum error_class read_fields(struct workflow_request *request, struct json_value json,
                                    struct error *ret_error)
{
    struct deployment_body body;
    bool leaves_activate =
        json_value_kind(json_value_member(json, TEXT("activate"), NULL)) == JSON_KIND_NONE;
    if (json_codec_decode(&deployment_binding, NULL, 0, json, &request->heap.arena, &body,
                          ret_error) != ERROR_OK ||
        check_text("by", body.by, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (text_empty(body.source))
        return error_set(ret_error, CODE_BAD_FIELD, "source: expected the text of a workflow");
    request->by = body.by;
    request->format = text_empty(body.format) ? TEXT("yaml") : body.format;
    request->deployment.text = body.source;
    request->deployment.activate = body.activate || leaves_activate;
    if (text_equal(request->format, TEXT("yaml")) || text_equal(request->format, TEXT("json")))
        return ERROR_OK;
    return error_set(ret_error, CODE_BAD_FIELD,
                     "format: expected \"yaml\" (the default) or \"json\"");
}

/* False after it answered with everything that lint finds. */
static bool compile(struct workflow_request *request, struct http_exchange *exchange)
{
    struct workflow_problems *problems = &request->changes->problems;
    struct workflow *workflow = NULL;
    bool json = text_equal(request->format, TEXT("json"));
    if (workflow_parse(request->deployment.text, json ? WORKFLOW_JSON : WORKFLOW_YAML,
                       &request->heap.arena, problems, &workflow)) {
        request->deployment.workflow = workflow;
        request->name = workflow->name;
        request->version = workflow->version;
        return true;
    }
    char detail[80];
    snprintf(detail, sizeof(detail), "the text has %u error%s; nothing was deployed",
             problems->errors, problems->errors == 1 ? "" : "s");
    json_t *problem = http_problem_new(400, error_code_text(CODE_BAD_WORKFLOW), text_of(detail));
    json_codec_put(problem, "problems", workflow_problems_json(problems->items, problems->count));
    http_respond_problem(exchange, problem);
    return false;
}

void workflow_changes_serve_deployment(struct workflow_changes *changes,
                                       struct http_exchange *exchange)
{
    struct error error;
    struct json_value body;
    if (!http_pendings_admit(&changes->pendings, exchange))
        return;
    struct workflow_request *request = request_new(changes);
    request->is_deployment = true;
    bool is_read = request_body_read(exchange, &request->heap.arena, &body, &error) == ERROR_OK &&
                   read_fields(request, body, &error) == ERROR_OK;
    if (!is_read)
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
    if (is_read && compile(request, exchange) &&
        workflow_topics_check(changes->cluster, request->deployment.workflow, exchange))
        take(request, exchange, "deploy workflow");
    else
        request_free(&request->pending);
}

/* ---- life ---- */

struct workflow_changes *workflow_changes_new(struct cluster *cluster,
                                              const struct agent_table *agents)
{
    struct workflow_changes *changes = calloc(1, sizeof(*changes));
    assert(changes != NULL && cluster->workflows != NULL);
    changes->cluster = cluster;
    changes->agents = agents;
    http_pendings_init(&changes->pendings, &request_kind, cluster_loop(cluster), NULL, NULL);
    return changes;
}

void workflow_changes_drain(struct workflow_changes *changes)
{
    if (changes != NULL)
        http_pendings_drain(&changes->pendings);
}

void workflow_changes_free(struct workflow_changes *changes)
{
    if (changes == NULL)
        return;
    http_pendings_deinit(&changes->pendings);
    free(changes);
}
