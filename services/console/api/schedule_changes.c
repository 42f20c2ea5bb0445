/* SPDX-License-Identifier: Apache-2.0 */
/* See schedule_changes.h. */
#include "services/console/api/schedule_changes.h"

#include "base/utf8.h"
#include "platform/http/json_answer.h"
#include "platform/logger.h"
#include "replica/cluster/workflow_entry_json.h"
#include "replica/schedules/schedule_json.h"
#include "replica/schedules/schedule_topic.h"
#include "schedule/lifecycle.h"
#include "schedule/tick_order.h"
#include "schemas/json/json_codec.h"
#include "services/console/render/request_body.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { OFFSET_UNKNOWN = -1 };

struct schedule_request {
    struct http_pending pending; /* to come: the acknowledgement of its record */
    struct schedule_changes *changes;
    bool is_trigger;
    int64_t tick;       /* of a trigger */
    int64_t offset;     /* of another's record, once it is acknowledged */
    const char *result; /* in words */
    char name[NAME_BYTES_MAX + 1];
};

struct schedule_changes {
    struct api *api;              /* not to be used by schedule_changes_free() */
    struct schedule_topic *topic; /* NULL: drained */
    struct http_pendings pendings;
    struct heap_arena heap;            /* of the request that is read */
    struct workflow_problems problems; /* of the text that is checked */
};

static struct schedule_request *request_of(struct http_pending *pending)
{
    return (struct schedule_request *)pending; /* its first member */
}

static int64_t now_ms(const struct schedule_changes *changes)
{
    return clock_wall_ms(changes->api->cluster->service->clock);
}

static const struct schedule_registry *registry_of(const struct schedule_changes *changes)
{
    return schedule_topic_registry(changes->topic);
}

/* ---- answers ---- */

static void refuse(struct http_exchange *exchange, const struct error *error)
{
    http_respond_error_of(exchange, error->code == CODE_UNKNOWN_SCHEDULE ? 404 : 409, error);
}

static json_t *state_of(struct api *api, const char *order_id)
{
    struct error error;
    const struct order *order = NULL;
    struct view *view = console_partition_view(api_partition_of(api, text_of(order_id)));
    json_t *state = json_null();
    if (view_order(view, text_of(order_id), &order, &error) == ERROR_OK && order != NULL)
        state = json_string(order_state_name(order->state));
    view_tidy(view);
    return state;
}

static json_t *entry_json(struct schedule_changes *changes, const struct schedule_entry *entry)
{
    const struct schedule_definition *definition = &entry->definition;
    json_t *object =
        schedule_entry_json(entry, changes->api->cluster->workflows, now_ms(changes) / 1000);
    size_t i;
    json_t *tick;
    json_array_foreach(json_object_get(object, "last"), i, tick)
        json_codec_put(
            tick, "state",
            state_of(changes->api, json_string_value(json_object_get(tick, "order_id"))));
    json_codec_put(object, "format", json_codec_text(definition->format));
    json_codec_put(object, "source", json_codec_text(definition->text));
    return object;
}

/* The record was acknowledged and, of a change, read back. */
static void finish(struct schedule_request *request)
{
    struct http_exchange *exchange = http_pending_take(&request->pending);
    const struct schedule_entry *entry =
        schedule_registry_find(registry_of(request->changes), text_of(request->name));
    assert(exchange != NULL && request->pending.to_come == 0);
    if (entry == NULL || (request->is_trigger && entry->schedule == NULL)) {
        http_respond_error(exchange, 409, CODE_UNKNOWN_SCHEDULE,
                           "schedule %s was removed meanwhile", request->name);
        return;
    }
    json_t *body = request->is_trigger ? schedule_tick_json(entry->schedule, request->tick)
                                       : entry_json(request->changes, entry);
    if (!request->is_trigger)
        json_codec_put(body, "result", json_string(request->result));
    http_respond_json(exchange, request->is_trigger ? 202 : 200, body);
}

#define LOOK_FIRST ": look at the schedule before you try again"

static void on_late(struct http_pending *pending)
{
    http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                      "the broker has not confirmed it yet, but may still" LOOK_FIRST);
}

static const struct http_pending_kind request_kind = {
    .max = SCHEDULE_CHANGES_UNDER_WAY_MAX,
    .busy = "too many requests about schedules are in progress: try again later",
    .draining = "the record was sent, but this instance is shutting down" LOOK_FIRST,
    .late = on_late};

/* ---- the topics ---- */

static bool is_done(const struct schedule_request *request)
{
    return request->pending.to_come == 0 && request->pending.exchange != NULL &&
           (request->is_trigger ||
            schedule_topic_offset(request->changes->topic) >= request->offset);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct schedule_request *request = ctx;
    (void)token;
    request->pending.to_come--;
    request->offset = offset;
    if (error != NULL && error_is(error))
        http_pending_fail(&request->pending, 503, CODE_UNKNOWN,
                          "it may or may not have been accepted" LOOK_FIRST);
    if (is_done(request))
        finish(request);
    http_pending_settle(&request->pending);
}

static void on_changed(void *ctx, struct text name)
{
    struct schedule_changes *changes = ctx;
    struct http_pending *pending, *next;
    DL_FOREACH_SAFE(changes->pendings.list, pending, next) {
        struct schedule_request *request = request_of(pending);
        if (!text_equal(text_of(request->name), name) || !is_done(request))
            continue;
        finish(request);
        http_pending_settle(pending);
    }
}

static const struct schedule_topic_ops topic_ops = {.changed = on_changed};

static void append(struct schedule_request *request, struct http_exchange *exchange,
                   const char *topic, int32_t partition, struct text key, enum record_kind kind,
                   const void *record)
{
    struct error error;
    struct schedule_changes *changes = request->changes;
    if (cluster_append(changes->api->cluster, BROKER_PRODUCER_LOG, topic, partition, key, kind,
                       record, on_appended, request, 0, &error) != ERROR_OK) {
        http_respond_failure(exchange, &error);
        free(request);
        return;
    }
    http_pending_begin(&changes->pendings, &request->pending, exchange, SCHEDULE_CHANGES_WAIT_MS);
    request->pending.to_come++;
}

static struct schedule_request *request_new(struct schedule_changes *changes, struct text name)
{
    struct schedule_request *request = calloc(1, sizeof(*request));
    assert(request != NULL && name.size <= NAME_BYTES_MAX);
    request->changes = changes;
    request->offset = OFFSET_UNKNOWN;
    memcpy(request->name, name.data, name.size);
    return request;
}

/* ---- requests ---- */

/* False after it answered. */
static bool admit(const struct schedule_changes *changes, struct http_exchange *exchange)
{
    if (!http_pendings_admit(&changes->pendings, exchange))
        return false;
    if (schedule_topic_is_complete(changes->topic))
        return true;
    const struct error *why = schedule_topic_trouble(changes->topic);
    http_respond_error(exchange, 503, CODE_NOT_READY,
                       "the console is still reading the topic of schedules%s%s",
                       why != NULL ? ": " : "", why != NULL ? why->message : "");
    return false;
}

/* A change is computed from what was read: of a schedule there is one at a time. */
static bool is_busy_with(const struct schedule_changes *changes, struct text name,
                         struct http_exchange *exchange)
{
    struct http_pending *pending;
    DL_FOREACH(changes->pendings.list, pending) {
        if (!text_equal(text_of(request_of(pending)->name), name))
            continue;
        http_respond_error(exchange, 503, CODE_BUSY,
                           "another request about this schedule is in progress: try again later");
        return true;
    }
    return false;
}

static enum error_class check_text(const char *name, struct text text, struct error *ret_error)
{
    if (!text_empty(text) && utf8_printable(text))
        return ERROR_OK;
    return error_set(ret_error, CODE_BAD_FIELD,
                     "%s: expected a text of at least 1 byte, without control characters; the "
                     "topic of schedules keeps it",
                     name);
}

/* The body of all requests; each has some of the fields. */
struct request_fields {
    struct text by, reason, source, format;
};
static const struct field_binding fields_bindings[] = {
    F_TEXT(OPTIONAL, struct request_fields, by, WHO_BYTES),
    F_TEXT(OPTIONAL, struct request_fields, reason, MESSAGE_BYTES),
    F_TEXT(OPTIONAL, struct request_fields, source, SCHEDULE_BYTES),
    F_TEXT(OPTIONAL, struct request_fields, format, NAME_BYTES),
};
static const struct record_binding fields_binding = BINDING(struct request_fields, fields_bindings);

/* `names`, ending with NULL, begin with "by". False after it answered with 400. */
static bool read_body(struct schedule_changes *changes, struct http_exchange *exchange,
                      const char *const names[], struct request_fields *ret_fields)
{
    struct json_value body;
    struct error error;
    heap_arena_reset(&changes->heap);
    if (request_body_read(exchange, &changes->heap.arena, &body, &error) == ERROR_OK &&
        json_codec_decode(&fields_binding, names, 0, body, &changes->heap.arena, ret_fields,
                          &error) == ERROR_OK &&
        check_text("by", ret_fields->by, &error) == ERROR_OK)
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
    return false;
}

static void log_command(const char *command, struct text name, const struct request_fields *fields)
{
    log_info("operator command", LOG_STR("command", command), LOG_TEXT("schedule", name),
             LOG_TEXT("by", fields->by), LOG_TEXT("reason", fields->reason));
}

static void write_definition(struct schedule_changes *changes, struct http_exchange *exchange,
                             const struct schedule_definition *definition, const char *result)
{
    struct schedule_request *request = request_new(changes, definition->name);
    request->result = result;
    append(request, exchange, changes->api->cluster->topics.schedules, 0, definition->name,
           RECORD_SCHEDULE, definition);
}

void schedule_changes_serve_pause(struct schedule_changes *changes, bool pause,
                                  struct http_exchange *exchange)
{
    static const char *const names[] = {"by", "reason", NULL};
    struct request_fields fields;
    struct schedule_definition definition;
    struct error error;
    struct text name = text_of(http_param(exchange, "name"));
    if (!admit(changes, exchange) || !read_body(changes, exchange, names, &fields))
        return;
    if (check_text("reason", fields.reason, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        return;
    }
    const struct schedule_author author = {fields.by, fields.reason, now_ms(changes)};
    if (schedule_pause(registry_of(changes), name, pause, &author, &definition, &error) !=
        ERROR_OK) {
        refuse(exchange, &error);
    } else if (!is_busy_with(changes, name, exchange)) {
        log_command(pause ? "pause schedule" : "resume schedule", name, &fields);
        write_definition(changes, exchange, &definition, pause ? "paused" : "active");
    }
}

void schedule_changes_serve_trigger(struct schedule_changes *changes,
                                    struct http_exchange *exchange)
{
    static const char *const names[] = {"by", NULL};
    struct request_fields fields;
    const struct schedule_entry *entry;
    struct error error;
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER};
    struct text name = text_of(http_param(exchange, "name"));
    struct cluster *cluster = changes->api->cluster;
    int64_t tick = now_ms(changes) / 1000;
    if (!admit(changes, exchange) || !read_body(changes, exchange, names, &fields))
        return;
    if (schedule_registry_get(registry_of(changes), name, &entry, &error) != ERROR_OK ||
        tick_order(entry->schedule, cluster->workflows, tick, &changes->heap.arena,
                   &cmd.submit_order, &error) != ERROR_OK) {
        refuse(exchange, &error);
    } else if (!is_busy_with(changes, name, exchange)) {
        struct schedule_request *request = request_new(changes, name);
        request->is_trigger = true;
        request->tick = tick;
        cmd.order_id = cmd.submit_order.order_id;
        log_command("trigger schedule", name, &fields);
        append(request, exchange, cluster->topics.submissions, BROKER_BY_KEY, cmd.order_id,
               RECORD_SUBMIT_ORDER, &cmd);
    }
}

/* ---- deployments ---- */

/* False after it answered with everything that is wrong with the text. */
static bool compile(struct schedule_changes *changes, struct http_exchange *exchange,
                    const struct request_fields *fields, enum workflow_format format,
                    struct schedule **ret_schedule)
{
    struct workflow_problems *problems = &changes->problems;
    char detail[80];
    if (schedule_parse(fields->source, format, &changes->heap.arena, problems, ret_schedule))
        return true;
    snprintf(detail, sizeof(detail), "the text has %u error%s; nothing was deployed",
             problems->errors, problems->errors == 1 ? "" : "s");
    json_t *problem = http_problem_new(400, error_code_text(CODE_BAD_SCHEDULE), text_of(detail));
    json_codec_put(problem, "problems", workflow_problems_json(problems->items, problems->count));
    http_respond_problem(exchange, problem);
    return false;
}

/* False after it answered with 400. */
static bool read_format(const struct request_fields *fields, struct http_exchange *exchange,
                        enum workflow_format *ret_format)
{
    bool json = text_equal(fields->format, TEXT("json"));
    *ret_format = json ? WORKFLOW_JSON : WORKFLOW_YAML;
    if (text_empty(fields->source))
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "source: expected the text of a schedule");
    else if (!json && !text_empty(fields->format) && !text_equal(fields->format, TEXT("yaml")))
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "format: expected \"yaml\" (the default) or \"json\"");
    else
        return true;
    return false;
}

void schedule_changes_serve_deployment(struct schedule_changes *changes,
                                       struct http_exchange *exchange)
{
    static const char *const names[] = {"by", "source", "format", NULL};
    struct request_fields fields;
    enum workflow_format format;
    struct schedule *schedule = NULL;
    struct schedule_definition definition;
    enum schedule_deployment deployment;
    struct error error;
    if (!admit(changes, exchange) || !read_body(changes, exchange, names, &fields) ||
        !read_format(&fields, exchange, &format) ||
        !compile(changes, exchange, &fields, format, &schedule) ||
        is_busy_with(changes, schedule->name, exchange))
        return;
    const struct schedule_author author = {.by = fields.by, .at = now_ms(changes)};
    if (schedule_deploy(registry_of(changes), schedule, fields.source, format, &author, &deployment,
                        &definition, &error) != ERROR_OK) {
        refuse(exchange, &error);
        return;
    }
    const char *result = schedule_deployment_word(deployment, definition.paused);
    if (deployment == SCHEDULE_IS_THE_SAME) {
        json_t *body =
            entry_json(changes, schedule_registry_find(registry_of(changes), schedule->name));
        json_codec_put(body, "result", json_string(result));
        http_respond_json(exchange, 200, body);
        return;
    }
    log_command("deploy schedule", schedule->name, &fields);
    write_definition(changes, exchange, &definition, result);
}

/* ---- the list ---- */

void schedule_changes_serve_list(struct schedule_changes *changes, struct http_exchange *exchange)
{
    const struct schedule_registry *registry = registry_of(changes);
    json_t *list = json_array();
    for (uint32_t i = 0; i < schedule_registry_count(registry); i++)
        json_array_append_new(list, entry_json(changes, schedule_registry_at(registry, i)));
    json_t *body = json_object();
    json_codec_put(body, "schedules", list);
    json_codec_put(body, "complete", json_boolean(schedule_topic_is_complete(changes->topic)));
    owners_respond(changes->api->owners, exchange, body);
}

/* ---- life ---- */

struct schedule_changes *schedule_changes_new(struct api *api)
{
    struct schedule_changes *changes = calloc(1, sizeof(*changes));
    assert(changes != NULL && api->cluster->workflows != NULL);
    changes->api = api;
    http_pendings_init(&changes->pendings, &request_kind, cluster_loop(api->cluster), NULL, NULL);
    heap_arena_init(&changes->heap, 16 * 1024);
    changes->topic = schedule_topic_follow(api->cluster, &topic_ops, changes);
    return changes;
}

void schedule_changes_drain(struct schedule_changes *changes)
{
    if (changes == NULL)
        return;
    http_pendings_drain(&changes->pendings);
    schedule_topic_free(changes->topic);
    changes->topic = NULL;
}

void schedule_changes_free(struct schedule_changes *changes)
{
    if (changes == NULL)
        return;
    assert(changes->topic == NULL);
    http_pendings_deinit(&changes->pendings);
    heap_arena_deinit(&changes->heap);
    free(changes);
}
