/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/operator_commands.h"

#include "base/utf8.h"
#include "platform/logger.h"
#include "services/console/params.h"
#include "services/console/render.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { EARLY_MAX = 64, OFFSET_UNKNOWN = -1 };

/* One command. Its Decision may be folded before its append is acknowledged, that is, before it is
 * known which one it is: those about the same order are kept until then. */
struct act {
    struct act *prev;
    struct act *next;
    struct acts *acts;
    struct http_exchange *exchange; /* NULL: answered */
    bool is_appending;
    bool is_resolved; /* nothing is expected of the log any more */
    int32_t partition;
    int64_t offset; /* of the command */
    struct loop_timer timer;
    struct early {
        int64_t command_offset;
        json_t *decision;
    } early[EARLY_MAX];
    uint32_t early_count;
    char order_id[ORDER_ID_BYTES_MAX];
    uint32_t order_id_size;
};

struct acts {
    struct cluster *cluster; /* not to be used by acts_free() */
    struct loop *loop;
    struct act *list;
    uint32_t count;
    bool draining;
    void (*settled)(void *ctx);
    void *ctx;
    struct heap_arena heap;
};

static void act_free(struct act *act)
{
    struct acts *acts = act->acts;
    DL_DELETE(acts->list, act);
    acts->count--;
    loop_timer_cancel(acts->loop, &act->timer);
    for (uint32_t i = 0; i < act->early_count; i++)
        json_decref(act->early[i].decision);
    free(act);
}

static void free_when_done(struct act *act)
{
    struct acts *acts = act->acts;
    if (act->is_appending || !act->is_resolved)
        return;
    act_free(act);
    if (acts->draining && acts->count == 0)
        acts->settled(acts->ctx);
}

/* ---- answers ---- */

static struct http_exchange *take_exchange(struct act *act)
{
    struct http_exchange *exchange = act->exchange;
    act->exchange = NULL;
    return exchange;
}

/* The event by which a command was refused, or NULL. */
static const json_t *find_rejection(const json_t *decision)
{
    size_t i;
    const json_t *event;
    json_array_foreach(json_object_get(decision, "events"), i, event) {
        const char *kind = json_string_value(json_object_get(event, "kind"));
        if (kind != NULL && strcmp(kind, event_kind_name(EVENT_COMMAND_REJECTED)) == 0)
            return json_object_get(event, "data");
    }
    return NULL;
}

static void resolve(struct act *act, const json_t *decision)
{
    struct http_exchange *exchange = take_exchange(act);
    const json_t *rejection = find_rejection(decision);
    act->is_resolved = true;
    if (exchange == NULL)
        return;
    json_t *body = json_copy((json_t *)(uintptr_t)decision);
    assert(body != NULL);
    if (rejection != NULL) {
        render_put(body, "error", json_incref(json_object_get(rejection, "code")));
        render_put(body, "message", json_incref(json_object_get(rejection, "reason")));
    }
    respond_json(exchange, rejection != NULL ? 409 : 200, body);
}

static void give_up(struct act *act, int status, const char *code, const char *message)
{
    struct http_exchange *exchange = take_exchange(act);
    act->is_resolved = true;
    if (exchange != NULL)
        http_respond_error(exchange, status, code, "%s", message);
}

static void on_timeout(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct act *act = userdata;
    struct http_exchange *exchange = take_exchange(act);
    (void)loop;
    (void)timer;
    act->is_resolved = true;
    if (exchange != NULL && act->is_appending)
        http_respond_error(exchange, 504, "NotAcknowledged",
                           "the broker has not acknowledged the command yet: look at the order's "
                           "history before you try again");
    else if (exchange != NULL)
        http_respond_error(exchange, 504, "NotDecided",
                           "the command is in %s[%d] at offset %lld, but nothing was decided about "
                           "it in %d s: is there a scheduler (`reeve owners`)? It will be decided "
                           "as soon as the partition has an owner",
                           act->acts->cluster->topics.commands, act->partition,
                           (long long)act->offset, ACT_WAIT_MS / 1000);
    free_when_done(act);
}

/* ---- the log ---- */

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct act *act = ctx;
    (void)token;
    act->is_appending = false;
    act->offset = offset;
    if (error != NULL && error_is(error))
        give_up(act, 503, "Unknown",
                "whether the command was taken is not known: look at the order's history before "
                "you try again");
    else if (offset == OFFSET_UNKNOWN)
        give_up(act, 504, "OffsetUnknown",
                "the command was taken, but the broker does not say where: look at the order's "
                "history for what was decided");
    for (uint32_t i = 0; i < act->early_count && !act->is_resolved; i++) {
        if (act->early[i].command_offset == offset)
            resolve(act, act->early[i].decision);
    }
    free_when_done(act);
}

static bool is_about(const struct act *act, int32_t partition, const struct decision *decision)
{
    if (act->is_resolved || act->partition != partition)
        return false;
    return act->is_appending
               ? text_equal((struct text){act->order_id, act->order_id_size}, decision->order_id)
               : act->offset == decision->command_offset;
}

void acts_decided(struct acts *acts, int32_t partition, int64_t offset,
                  const struct decision *decision)
{
    struct act *act;
    struct act *next;
    DL_FOREACH_SAFE(acts->list, act, next) {
        if (!is_about(act, partition, decision))
            continue;
        heap_arena_reset(&acts->heap);
        json_t *rendered = render_decision(decision, partition, offset, &acts->heap.arena);
        if (!act->is_appending) {
            resolve(act, rendered);
        } else if (act->early_count < EARLY_MAX) {
            act->early[act->early_count++] =
                (struct early){decision->command_offset, json_incref(rendered)};
        }
        json_decref(rendered);
        free_when_done(act);
    }
}

/* ---- requests ---- */

/* body[name] as printable UTF-8 of 1 to `max` bytes; `may_miss`: or nothing. Answers 400 if not. */
static bool read_text(struct http_exchange *exchange, const json_t *body, const char *name,
                      uint32_t max, bool may_miss, struct text *ret_text)
{
    const json_t *value = json_object_get(body, name);
    *ret_text = (struct text){json_string_value(value), (uint32_t)json_string_length(value)};
    if (value == NULL && may_miss)
        return true;
    if (json_is_string(value) && ret_text->size > 0 && ret_text->size <= max &&
        utf8_printable(*ret_text))
        return true;
    http_respond_error(exchange, 400, "BadRequest",
                       "%s: expected a text of 1 to %u bytes without control characters%s", name,
                       (unsigned)max, value == NULL ? "; the log keeps who did this, and why" : "");
    return false;
}

/* body[name], a boolean that may miss. Answers 400 if it is something else. */
static bool read_flag(struct http_exchange *exchange, const json_t *body, const char *name,
                      bool *ret_flag)
{
    const json_t *value = json_object_get(body, name);
    *ret_flag = json_is_true(value);
    if (value == NULL || json_is_boolean(value))
        return true;
    http_respond_error(exchange, 400, "BadRequest", "%s: expected true or false", name);
    return false;
}

static bool is_known(const char *name, bool resubmits)
{
    return strcmp(name, "by") == 0 || strcmp(name, "reason") == 0 ||
           (resubmits && (strcmp(name, "step") == 0 || strcmp(name, "new_generation") == 0));
}

static bool check_fields(struct http_exchange *exchange, json_t *body, bool resubmits)
{
    const char *name;
    json_t *value;
    if (!json_is_object(body)) {
        http_respond_error(exchange, 400, "BadRequest",
                           "expected a JSON object: {\"by\": \"...\", \"reason\": \"...\"}");
        return false;
    }
    json_object_foreach(body, name, value) {
        if (is_known(name, resubmits))
            continue;
        http_respond_error(exchange, 400, "BadRequest", "%.60s: there is no such field", name);
        return false;
    }
    return true;
}

/* Texts are borrowed from the body and the exchange. Answers when it is not right. */
static bool read_command(struct http_exchange *exchange, json_t *body, enum command_kind kind,
                         struct command *ret_cmd)
{
    struct text by;
    struct text reason;
    struct text step = {0};
    bool new_generation = false;
    bool resubmits = kind == COMMAND_RESUBMIT_STEP;
    *ret_cmd = (struct command){.kind = kind};
    if (!params_order_id(exchange, &ret_cmd->order_id) ||
        !check_fields(exchange, body, resubmits) ||
        !read_text(exchange, body, "by", WHO_BYTES_MAX, false, &by) ||
        !read_text(exchange, body, "reason", MESSAGE_BYTES_MAX, false, &reason) ||
        (resubmits && (!read_text(exchange, body, "step", NAME_BYTES_MAX, true, &step) ||
                       !read_flag(exchange, body, "new_generation", &new_generation))))
        return false;
    struct text id = ret_cmd->order_id;
    if (kind == COMMAND_RESUBMIT_STEP)
        ret_cmd->resubmit_step = (struct resubmit_step){.order_id = id,
                                                        .step = step,
                                                        .new_generation = new_generation,
                                                        .by = by,
                                                        .reason = reason};
    else if (kind == COMMAND_COMPENSATE_ORDER)
        ret_cmd->compensate_order =
            (struct compensate_order){.order_id = id, .by = by, .reason = reason};
    else
        ret_cmd->cancel_order = (struct cancel_order){.order_id = id, .by = by, .reason = reason};
    return true;
}

static void append(struct acts *acts, struct http_exchange *exchange, const struct command *cmd)
{
    struct error error;
    struct act *act = calloc(1, sizeof(*act));
    assert(act != NULL && cmd->order_id.size <= ORDER_ID_BYTES_MAX);
    act->acts = acts;
    act->exchange = exchange;
    act->is_appending = true;
    act->offset = OFFSET_UNKNOWN;
    act->partition = broker_partition_of(cmd->order_id, acts->cluster->partition_count);
    memcpy(act->order_id, cmd->order_id.data, cmd->order_id.size);
    act->order_id_size = cmd->order_id.size;
    loop_timer_init(&act->timer, on_timeout, act);
    DL_APPEND(acts->list, act);
    acts->count++;
    if (cluster_append(acts->cluster, BROKER_PRODUCER_LOG, acts->cluster->topics.commands,
                       act->partition, cmd->order_id, (enum record_kind)cmd->kind, cmd, on_appended,
                       act, 0, &error) != ERROR_OK) {
        http_respond_failure(take_exchange(act), &error);
        act_free(act);
        return;
    }
    loop_timer_after(acts->loop, &act->timer, ACT_WAIT_MS);
}

void acts_serve(struct acts *acts, enum command_kind kind, struct http_exchange *exchange)
{
    struct command cmd;
    struct text text = http_body(exchange);
    if (acts->draining || acts->count >= ACTS_MAX) {
        http_respond_error(exchange, 503, "Busy", "%s",
                           acts->draining ? "this instance is shutting down"
                                          : "too many commands are under way: try again later");
        return;
    }
    json_t *body = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    if (read_command(exchange, body, kind, &cmd)) {
        log_info("operator's command", LOG_STR("command", command_kind_name(kind)),
                 LOG_TEXT("order", cmd.order_id),
                 LOG_STR("by", json_string_value(json_object_get(body, "by"))));
        append(acts, exchange, &cmd);
    }
    json_decref(body);
}

uint32_t acts_under_way(const struct acts *acts)
{
    return acts->count;
}

/* ---- life ---- */

struct acts *acts_new(struct cluster *cluster, void (*settled)(void *ctx), void *ctx)
{
    struct acts *acts = calloc(1, sizeof(*acts));
    assert(acts != NULL);
    acts->cluster = cluster;
    acts->loop = cluster->service->loop;
    acts->settled = settled;
    acts->ctx = ctx;
    heap_arena_init(&acts->heap, 16 * 1024);
    return acts;
}

void acts_drain(struct acts *acts)
{
    acts->draining = true;
    if (acts->count == 0)
        acts->settled(acts->ctx);
}

void acts_free(struct acts *acts)
{
    struct act *act;
    struct act *next;
    if (acts == NULL)
        return;
    DL_FOREACH_SAFE(acts->list, act, next) {
        give_up(act, 503, "ShuttingDown",
                "the command was sent, but this instance is shutting down: look at the order's "
                "history for what was decided");
        act_free(act);
    }
    heap_arena_deinit(&acts->heap);
    free(acts);
}
