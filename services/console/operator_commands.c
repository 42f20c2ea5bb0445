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
struct operator_command {
    struct operator_command *prev;
    struct operator_command *next;
    struct operator_commands *commands;
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

struct operator_commands {
    struct cluster *cluster; /* not to be used by operator_commands_free() */
    struct loop *loop;
    struct operator_command *list;
    uint32_t count;
    bool draining;
    void (*settled)(void *ctx);
    void *ctx;
    struct heap_arena heap;
};

static void command_free(struct operator_command *command)
{
    struct operator_commands *commands = command->commands;
    DL_DELETE(commands->list, command);
    commands->count--;
    loop_timer_cancel(commands->loop, &command->timer);
    for (uint32_t i = 0; i < command->early_count; i++)
        json_decref(command->early[i].decision);
    free(command);
}

static void free_when_done(struct operator_command *command)
{
    struct operator_commands *commands = command->commands;
    if (command->is_appending || !command->is_resolved)
        return;
    command_free(command);
    if (commands->draining && commands->count == 0)
        commands->settled(commands->ctx);
}

/* ---- answers ---- */

static struct http_exchange *take_exchange(struct operator_command *command)
{
    struct http_exchange *exchange = command->exchange;
    command->exchange = NULL;
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

static void resolve(struct operator_command *command, const json_t *decision)
{
    struct http_exchange *exchange = take_exchange(command);
    const json_t *rejection = find_rejection(decision);
    command->is_resolved = true;
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

static void give_up(struct operator_command *command, int status, const char *code,
                    const char *message)
{
    struct http_exchange *exchange = take_exchange(command);
    command->is_resolved = true;
    if (exchange != NULL)
        http_respond_error(exchange, status, code, "%s", message);
}

static void on_timeout(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct operator_command *command = userdata;
    struct http_exchange *exchange = take_exchange(command);
    (void)loop;
    (void)timer;
    command->is_resolved = true;
    if (exchange != NULL && command->is_appending)
        http_respond_error(exchange, 504, "NotAcknowledged",
                           "the broker has not acknowledged the command yet: look at the order's "
                           "history before you try again");
    else if (exchange != NULL)
        http_respond_error(exchange, 504, "NotDecided",
                           "the command is in %s[%d] at offset %lld, but nothing was decided about "
                           "it in %d s: is there a scheduler (`reeve owners`)? It will be decided "
                           "as soon as the partition has an owner",
                           command->commands->cluster->topics.commands, command->partition,
                           (long long)command->offset, OPERATOR_COMMAND_WAIT_MS / 1000);
    free_when_done(command);
}

/* ---- the log ---- */

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct operator_command *command = ctx;
    (void)token;
    command->is_appending = false;
    command->offset = offset;
    if (error != NULL && error_is(error))
        give_up(command, 503, "Unknown",
                "whether the command was taken is not known: look at the order's history before "
                "you try again");
    else if (offset == OFFSET_UNKNOWN)
        give_up(command, 504, "OffsetUnknown",
                "the command was taken, but the broker does not say where: look at the order's "
                "history for what was decided");
    for (uint32_t i = 0; i < command->early_count && !command->is_resolved; i++) {
        if (command->early[i].command_offset == offset)
            resolve(command, command->early[i].decision);
    }
    free_when_done(command);
}

static bool is_about(const struct operator_command *command, int32_t partition,
                     const struct decision *decision)
{
    if (command->is_resolved || command->partition != partition)
        return false;
    return command->is_appending
               ? text_equal((struct text){command->order_id, command->order_id_size},
                            decision->order_id)
               : command->offset == decision->command_offset;
}

void operator_commands_decided(struct operator_commands *commands, int32_t partition,
                               int64_t offset, const struct decision *decision)
{
    struct operator_command *command;
    struct operator_command *next;
    DL_FOREACH_SAFE(commands->list, command, next) {
        if (!is_about(command, partition, decision))
            continue;
        heap_arena_reset(&commands->heap);
        json_t *rendered = render_decision(decision, partition, offset, &commands->heap.arena);
        if (!command->is_appending) {
            resolve(command, rendered);
        } else if (command->early_count < EARLY_MAX) {
            command->early[command->early_count++] =
                (struct early){decision->command_offset, json_incref(rendered)};
        }
        json_decref(rendered);
        free_when_done(command);
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

static void append(struct operator_commands *commands, struct http_exchange *exchange,
                   const struct command *cmd)
{
    struct error error;
    struct operator_command *command = calloc(1, sizeof(*command));
    assert(command != NULL && cmd->order_id.size <= ORDER_ID_BYTES_MAX);
    command->commands = commands;
    command->exchange = exchange;
    command->is_appending = true;
    command->offset = OFFSET_UNKNOWN;
    command->partition = broker_partition_of(cmd->order_id, commands->cluster->partition_count);
    memcpy(command->order_id, cmd->order_id.data, cmd->order_id.size);
    command->order_id_size = cmd->order_id.size;
    loop_timer_init(&command->timer, on_timeout, command);
    DL_APPEND(commands->list, command);
    commands->count++;
    if (cluster_append(commands->cluster, BROKER_PRODUCER_LOG, commands->cluster->topics.commands,
                       command->partition, cmd->order_id, (enum record_kind)cmd->kind, cmd,
                       on_appended, command, 0, &error) != ERROR_OK) {
        http_respond_failure(take_exchange(command), &error);
        command_free(command);
        return;
    }
    loop_timer_after(commands->loop, &command->timer, OPERATOR_COMMAND_WAIT_MS);
}

void operator_commands_serve(struct operator_commands *commands, enum command_kind kind,
                             struct http_exchange *exchange)
{
    struct command cmd;
    struct text text = http_body(exchange);
    if (commands->draining || commands->count >= OPERATOR_COMMANDS_MAX) {
        http_respond_error(exchange, 503, "Busy", "%s",
                           commands->draining ? "this instance is shutting down"
                                              : "too many commands are under way: try again later");
        return;
    }
    json_t *body = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    if (read_command(exchange, body, kind, &cmd)) {
        log_info("operator's command", LOG_STR("command", command_kind_name(kind)),
                 LOG_TEXT("order", cmd.order_id),
                 LOG_STR("by", json_string_value(json_object_get(body, "by"))));
        append(commands, exchange, &cmd);
    }
    json_decref(body);
}

uint32_t operator_commands_under_way(const struct operator_commands *commands)
{
    return commands->count;
}

/* ---- life ---- */

struct operator_commands *operator_commands_new(struct cluster *cluster, void (*settled)(void *ctx),
                                                void *ctx)
{
    struct operator_commands *commands = calloc(1, sizeof(*commands));
    assert(commands != NULL);
    commands->cluster = cluster;
    commands->loop = cluster->service->loop;
    commands->settled = settled;
    commands->ctx = ctx;
    heap_arena_init(&commands->heap, 16 * 1024);
    return commands;
}

void operator_commands_drain(struct operator_commands *commands)
{
    commands->draining = true;
    if (commands->count == 0)
        commands->settled(commands->ctx);
}

void operator_commands_free(struct operator_commands *commands)
{
    struct operator_command *command;
    struct operator_command *next;
    if (commands == NULL)
        return;
    DL_FOREACH_SAFE(commands->list, command, next) {
        give_up(command, 503, "ShuttingDown",
                "the command was sent, but this instance is shutting down: look at the order's "
                "history for what was decided");
        command_free(command);
    }
    heap_arena_deinit(&commands->heap);
    free(commands);
}
