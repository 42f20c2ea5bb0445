/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/api/operator_commands.h"

#include "base/json.h"
#include "base/names.h"
#include "base/utf8.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/logger.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/signal_json.h"
#include "services/console/api/api.h"
#include "services/console/api/awaited_commands.h"
#include "services/console/api/tree_commands.h"
#include "services/console/render/request_body.h"

#include <assert.h>
#include <stdlib.h>

enum { FIELDS_MAX = 16 };

struct operator_command {
    struct http_pending pending;
    struct operator_commands *commands;
    struct awaited_command *awaited; /* NULL: it is decided */
    bool is_signal;
};

struct operator_commands {
    struct cluster *cluster; /* not to be used by operator_commands_free() */
    struct awaited_commands *awaited;
    struct tree_commands *trees;
    struct http_pendings pendings;
    struct heap_arena heap;
};

static struct operator_command *command_of(struct http_pending *pending)
{
    return (struct operator_command *)pending; /* its first member */
}

static void forget(struct http_pending *pending)
{
    awaited_command_forget(command_of(pending)->awaited);
}

/* ---- answers ---- */

/* A signal that came before changes nothing. The others do not depend on the order's state. */
static int status_of(const struct operator_command *command, const char *code)
{
    static const struct {
        enum error_code code;
        int status;
    } of_signals[] = {{CODE_SIGNAL_REPEATED, 200},
                      {CODE_NOT_ALLOWED, 403},
                      {CODE_UNKNOWN_ORDER, 404},
                      {CODE_UNKNOWN_STEP, 404}};
    for (size_t i = 0; i < sizeof(of_signals) / sizeof(of_signals[0]); i++) {
        if (command->is_signal && text_equal(text_of(code), error_code_text(of_signals[i].code)))
            return of_signals[i].status;
    }
    return 409;
}

static void respond(const struct operator_command *command, struct http_exchange *exchange,
                    const json_t *decision)
{
    struct refusal refusal = awaited_command_refusal(decision);
    json_t *body = json_incref((json_t *)(uintptr_t)decision);
    int status = refusal.code != NULL ? status_of(command, refusal.code) : 200;
    if (status == 200) {
        http_respond_json(exchange, 200, body);
        return;
    }
    json_t *problem = http_problem_new(status, text_of(refusal.code), text_of(refusal.reason));
    json_codec_put(problem, "decision", body);
    http_respond_problem(exchange, problem);
}

static void on_decided(void *ctx, uint64_t token, const json_t *decision)
{
    struct operator_command *command = ctx;
    (void)token;
    command->awaited = NULL;
    if (decision != NULL)
        respond(command, http_pending_take(&command->pending), decision);
    else
        http_pending_fail(&command->pending, 503, CODE_UNKNOWN,
                          "the command may or may not have been accepted; check the order's "
                          "history before you try again");
    http_pending_settle(&command->pending);
}

static void on_late(struct http_pending *pending)
{
    const struct operator_command *command = command_of(pending);
    int32_t partition;
    int64_t offset;
    if (!awaited_command_position(command->awaited, &partition, &offset))
        http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                          "the broker has not acknowledged the command yet; check the order's "
                          "history before you try again");
    else
        http_pending_fail(
            pending, 504, CODE_NOT_DECIDED,
            "the command is in %s[%d] at offset %lld, but no scheduler decided it within %d s: is "
            "one running (`reeve owners`)? It is decided as soon as the partition has an owner",
            command->commands->cluster->topics.commands, partition, (long long)offset,
            OPERATOR_COMMAND_WAIT_MS / 1000);
}

static const struct http_pending_kind command_kind = {
    .max = OPERATOR_COMMANDS_MAX,
    .busy = "too many commands are outstanding: try again later",
    .draining = "the command was sent, but this instance is shutting down; check the order's "
                "history for what was decided",
    .late = on_late,
    .cancel = forget};

/* ---- requests ---- */

static bool requires(const struct record_binding *binding, const char *name)
{
    for (uint32_t i = 0; i < binding->count; i++) {
        if (strcmp(binding->fields[i].name, name) == 0)
            return binding->fields[i].required;
    }
    return false;
}

static bool has_member(struct json_value body, const char *name)
{
    return json_value_kind(json_value_member(body, text_of(name), NULL)) != JSON_KIND_NONE;
}

/* A command's author, reason and step are printable, and not empty where they are there. */
static bool check_text(struct json_value body, const char *name, bool required, struct arena *arena,
                       struct error *ret_error)
{
    bool given = has_member(body, name);
    struct text text = request_body_text(body, name, arena);
    if ((!given && !required) || (text.size > 0 && utf8_printable(text)))
        return true;
    error_set(ret_error, CODE_BAD_FIELD, "%s: expected %s%s", name,
              "a text of at least 1 byte, without control characters",
              required ? "; the log keeps it" : "");
    return false;
}

static bool check_timeout(struct json_value body, const struct command *cmd,
                          struct error *ret_error)
{
    int64_t timeout_ms = cmd->kind == COMMAND_RESUBMIT_STEP ? cmd->resubmit_step.timeout_ms : 0;
    if (!has_member(body, "timeout_ms") || (timeout_ms >= 1 && timeout_ms <= DURATION_MS_MAX))
        return true;
    error_set(ret_error, CODE_BAD_FIELD, "timeout_ms: expected 1 to %lld",
              (long long)DURATION_MS_MAX);
    return false;
}

/* Takes `tree` out of the body, which is what the command's fields are read from. */
static enum error_class take_tree(struct json_value *body, const char *const fields[],
                                  struct arena *arena, const char *ret_fields[FIELDS_MAX + 1],
                                  bool *ret_tree, struct error *ret_error)
{
    bool may = false;
    uint32_t count = 0;
    struct json_value tree = json_value_member(*body, TEXT("tree"), NULL);
    for (uint32_t i = 0; fields[i] != NULL; i++) {
        bool is_tree = strcmp(fields[i], "tree") == 0;
        may = may || is_tree;
        if (!is_tree)
            ret_fields[count++] = fields[i];
    }
    assert(count <= FIELDS_MAX);
    ret_fields[count] = NULL;
    *ret_tree = false;
    if (!may || json_value_kind(tree) == JSON_KIND_NONE)
        return ERROR_OK;
    if (json_value_kind(tree) != JSON_KIND_BOOLEAN)
        return error_set(ret_error, CODE_BAD_FIELD, "tree: expected true or false");
    *ret_tree = json_value_boolean(tree);
    *body = request_body_without(*body, "tree", arena);
    return ERROR_OK;
}

/* Texts are borrowed from the order id and live in the arena. REJECT: the body is wrong. */
static enum error_class read_command(struct json_value body, enum command_kind kind,
                                     const char *const fields[], struct text order_id,
                                     struct arena *arena, struct command *ret_cmd,
                                     struct error *ret_error)
{
    const struct record_kind_info *info = record_kind_info((enum record_kind)kind);
    const struct record_binding *binding = info->binding;
    struct command cmd = {.kind = kind, .order_id = order_id};
    if (json_codec_decode(binding, fields, 0, body, arena, &cmd.submit_order, ret_error) !=
            ERROR_OK ||
        !check_text(body, "by", true, arena, ret_error) ||
        !check_text(body, "reason", true, arena, ret_error) ||
        !check_text(body, "step", requires(binding, "step"), arena, ret_error) ||
        !check_timeout(body, &cmd, ret_error))
        return ERROR_REJECT;
    command_make_canonical(&cmd, arena);
    if (command_check(&cmd, ret_error) != ERROR_OK) /* the scheduler would refuse it */
        return ERROR_REJECT;
    memcpy((char *)&cmd.submit_order + info->order_id, &order_id, sizeof(order_id));
    *ret_cmd = cmd;
    return ERROR_OK;
}

/* No command is written for an order that would be moved to a version that is not deployed. Where
 * the body does not name the workflow, the scheduler finds out. */
static bool names_unknown_version(const struct operator_commands *commands,
                                  const struct command *cmd)
{
    const struct migrate_order *migrate = &cmd->migrate_order;
    return cmd->kind == COMMAND_MIGRATE_ORDER && !text_empty(migrate->workflow) &&
           workflow_registry_find(commands->cluster->workflows, migrate->workflow,
                                  migrate->version) == NULL;
}

static void append(struct operator_commands *commands, struct http_exchange *exchange,
                   const struct command *cmd)
{
    struct error error;
    struct operator_command *command = calloc(1, sizeof(*command));
    assert(command != NULL);
    command->commands = commands;
    command->is_signal = cmd->kind == COMMAND_SIGNAL_ORDER;
    if (awaited_commands_send(commands->awaited, cmd, on_decided, command, 0, &command->awaited,
                              &error) != ERROR_OK) {
        http_respond_failure(exchange, &error);
        free(command);
        return;
    }
    http_pending_begin(&commands->pendings, &command->pending, exchange, OPERATOR_COMMAND_WAIT_MS);
}

void operator_commands_serve(struct operator_commands *commands, enum command_kind kind,
                             const char *const fields[], struct http_exchange *exchange)
{
    struct text order_id;
    struct command cmd;
    struct error error;
    struct json_value body;
    const char *of_command[FIELDS_MAX + 1];
    bool tree = false;
    if (!api_read_order_id(exchange, &order_id) ||
        !http_pendings_admit(&commands->pendings, exchange))
        return;
    heap_arena_reset(&commands->heap);
    if (request_body_read(exchange, &commands->heap.arena, &body, &error) != ERROR_OK ||
        take_tree(&body, fields, &commands->heap.arena, of_command, &tree, &error) != ERROR_OK ||
        read_command(body, kind, of_command, order_id, &commands->heap.arena, &cmd, &error) !=
            ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
    } else if (names_unknown_version(commands, &cmd)) {
        http_respond_error(
            exchange, 409, CODE_UNKNOWN_WORKFLOW, "version %u of %.*s is not deployed",
            (unsigned)cmd.migrate_order.version, TEXT_ARG(cmd.migrate_order.workflow));
    } else {
        log_info("operator command", LOG_STR("command", command_kind_name(kind)),
                 LOG_TEXT("order", cmd.order_id), LOG_STR("tree", tree ? "true" : "false"),
                 LOG_TEXT("by", request_body_text(body, "by", &commands->heap.arena)));
        if (tree)
            tree_commands_begin(commands->trees, exchange, &cmd);
        else
            append(commands, exchange, &cmd);
    }
}

/* ---- sub-orders ---- */

struct settle_body {
    bool keep;
    struct text by;
    struct text reason;
};

static const struct field_binding settle_fields[] = {
    F_BOOL(OPTIONAL, struct settle_body, keep),
    F_TEXT(OPTIONAL, struct settle_body, by, WHO_BYTES),
    F_TEXT(OPTIONAL, struct settle_body, reason, MESSAGE_BYTES),
};
static const struct record_binding binding_settle_body = BINDING(struct settle_body, settle_fields);

/* In place of a parent that is unknown. */
static enum error_class read_settle(struct json_value body, const char *const fields[],
                                    struct text order_id, struct arena *arena,
                                    struct command *ret_cmd, struct error *ret_error)
{
    struct settle_body settle = {.keep = false};
    if (json_codec_decode(&binding_settle_body, fields, 0, body, arena, &settle, ret_error) !=
            ERROR_OK ||
        !check_text(body, "by", true, arena, ret_error) ||
        !check_text(body, "reason", true, arena, ret_error))
        return ERROR_REJECT;
    if (!has_member(body, "keep"))
        return error_set(ret_error, CODE_BAD_FIELD, "keep: expected true, or false to undo it");
    *ret_cmd = (struct command){.kind = COMMAND_SETTLE_SUBORDER,
                                .order_id = order_id,
                                .settle_suborder = {.order_id = order_id,
                                                    .how = settle.keep ? SETTLE_KEEP : SETTLE_UNDO,
                                                    .reason = settle.reason,
                                                    .by = settle.by}};
    return command_check(ret_cmd, ret_error);
}

void operator_commands_serve_settle(struct operator_commands *commands, const char *const fields[],
                                    struct http_exchange *exchange)
{
    struct text order_id;
    struct command cmd;
    struct error error;
    struct json_value body;
    if (!api_read_order_id(exchange, &order_id) ||
        !http_pendings_admit(&commands->pendings, exchange))
        return;
    heap_arena_reset(&commands->heap);
    if (request_body_read(exchange, &commands->heap.arena, &body, &error) != ERROR_OK ||
        read_settle(body, fields, order_id, &commands->heap.arena, &cmd, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        return;
    }
    log_info("a held order is settled", LOG_TEXT("order", order_id),
             LOG_STR("how", enum_name(&settle_names, cmd.settle_suborder.how)),
             LOG_TEXT("by", cmd.settle_suborder.by));
    append(commands, exchange, &cmd);
}

/* ---- signals ---- */

/* Who sends it is whom the server knows; only without authentication, the body says who. */
static enum error_class read_signal(struct http_exchange *exchange, const char *const fields[],
                                    struct text order_id, struct arena *arena,
                                    struct text groups[USER_GROUPS_MAX], struct command *ret_cmd,
                                    struct error *ret_error)
{
    struct json_value body;
    struct command cmd = {.kind = COMMAND_SIGNAL_ORDER, .order_id = order_id};
    struct signal_order *signal = &cmd.signal_order;
    if (request_body_read(exchange, arena, &body, ret_error) != ERROR_OK ||
        signal_json_read(body, fields, arena, signal, ret_error) != ERROR_OK ||
        !check_text(body, "by", true, arena, ret_error))
        return ERROR_REJECT;
    signal->step = text_of(http_param(exchange, "step"));
    signal->groups = (struct text_list){groups, http_user_groups(exchange, groups)};
    signal->order_id = order_id;
    if (!name_valid(signal->step))
        return error_set(ret_error, CODE_BAD_FIELD, "the step must be " NAME_EXPECTED);
    command_make_canonical(&cmd, arena);
    if (command_check(&cmd, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_cmd = cmd;
    return ERROR_OK;
}

void operator_commands_serve_signal(struct operator_commands *commands, const char *const fields[],
                                    struct http_exchange *exchange)
{
    struct text order_id;
    struct text groups[USER_GROUPS_MAX];
    struct command cmd;
    struct error error;
    if (!api_read_order_id(exchange, &order_id) ||
        !http_pendings_admit(&commands->pendings, exchange))
        return;
    heap_arena_reset(&commands->heap);
    if (read_signal(exchange, fields, order_id, &commands->heap.arena, groups, &cmd, &error) !=
        ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        return;
    }
    log_info("signal", LOG_TEXT("order", order_id), LOG_TEXT("step", cmd.signal_order.step),
             LOG_TEXT("by", cmd.signal_order.by));
    append(commands, exchange, &cmd);
}

uint32_t operator_commands_outstanding(const struct operator_commands *commands)
{
    return commands->pendings.count;
}

/* ---- life ---- */

struct operator_commands *operator_commands_new(struct cluster *cluster,
                                                struct awaited_commands *awaited,
                                                struct tree_commands *trees,
                                                void (*settled)(void *ctx), void *ctx)
{
    struct operator_commands *commands = calloc(1, sizeof(*commands));
    assert(commands != NULL);
    commands->cluster = cluster;
    commands->awaited = awaited;
    commands->trees = trees;
    http_pendings_init(&commands->pendings, &command_kind, cluster_loop(cluster), settled, ctx);
    heap_arena_init(&commands->heap, 16 * 1024);
    return commands;
}

void operator_commands_drain(struct operator_commands *commands)
{
    http_pendings_close(&commands->pendings);
}

void operator_commands_free(struct operator_commands *commands)
{
    if (commands == NULL)
        return;
    http_pendings_deinit(&commands->pendings);
    heap_arena_deinit(&commands->heap);
    free(commands);
}
