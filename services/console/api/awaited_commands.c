/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/api/awaited_commands.h"

#include "services/console/render/render.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

/* As many as the sub-orders of a tree report at once, and as many again. */
enum { EARLY_MAX = 2 * TREE_SUBORDERS_MAX, OFFSET_UNKNOWN = -1 };

struct awaited_command {
    struct awaited_command *prev, *next;
    struct awaited_commands *commands;
    awaited_command_cb *decided; /* NULL: forgotten, and only its acknowledgement is to come */
    void *ctx;
    uint64_t token;
    int32_t partition;
    int64_t offset; /* unknown until it is acknowledged */
    json_t *early;  /* Decisions about its order that were folded before */
    char order_id[ORDER_ID_BYTES_MAX];
    uint32_t order_id_size;
};

struct awaited_commands {
    struct cluster *cluster; /* not to be used by awaited_commands_free() */
    struct awaited_command *list;
    struct heap_arena heap;
};

static bool is_appending(const struct awaited_command *command)
{
    return command->offset == OFFSET_UNKNOWN;
}

static void remove_and_free(struct awaited_command *command)
{
    DL_DELETE(command->commands->list, command);
    json_decref(command->early);
    free(command);
}

/* `decision` outlives the command. */
static void end(struct awaited_command *command, const json_t *decision)
{
    struct awaited_command ended = *command;
    remove_and_free(command);
    if (ended.decided != NULL)
        ended.decided(ended.ctx, ended.token, decision);
}

/* ---- the log ---- */

/* Its own among those that came before the acknowledgement. New; NULL: it is still to come. */
static json_t *find_early(const struct awaited_command *command)
{
    size_t i;
    json_t *decision;
    json_array_foreach(command->early, i, decision) {
        const json_t *offset = json_object_get(json_object_get(decision, "command"), "offset");
        if (json_integer_value(offset) == command->offset)
            return json_incref(decision);
    }
    return NULL;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct awaited_command *command = ctx;
    bool failed = error != NULL && error_is(error);
    (void)token;
    assert(failed || offset >= 0);
    command->offset = offset;
    json_t *decision = failed ? NULL : find_early(command);
    if (failed || decision != NULL || command->decided == NULL)
        end(command, decision);
    else
        json_array_clear(command->early);
    json_decref(decision);
}

/* The order of a command that became a dead letter is only known by its key. */
static struct text order_of(const struct decision *decision)
{
    const struct event *first = &decision->events[0];
    if (decision->event_count > 0 && first->kind == EVENT_COMMAND_DEAD_LETTERED)
        return first->command_dead_lettered.key;
    return decision->order_id;
}

static bool is_about(const struct awaited_command *command, int32_t partition,
                     const struct decision *decision)
{
    if (command->decided == NULL || command->partition != partition)
        return false;
    return is_appending(command)
               ? text_equal((struct text){command->order_id, command->order_id_size},
                            order_of(decision))
               : command->offset == decision->command_offset;
}

/* One command at most is the one that was decided; it ends last, as this may change the list. */
void awaited_commands_decided(struct awaited_commands *commands, int32_t partition, int64_t offset,
                              const struct decision *decision)
{
    struct awaited_command *command;
    struct awaited_command *mine = NULL;
    json_t *rendered = NULL;
    DL_FOREACH(commands->list, command) {
        if (!is_about(command, partition, decision))
            continue;
        if (rendered == NULL) {
            heap_arena_reset(&commands->heap);
            rendered = render_decision(decision, partition, offset, &commands->heap.arena);
        }
        if (!is_appending(command))
            mine = command;
        else if (json_array_size(command->early) < EARLY_MAX)
            json_array_append(command->early, rendered);
    }
    if (mine != NULL)
        end(mine, rendered);
    json_decref(rendered);
}

/* ---- refusals ---- */

static bool is_kind(const json_t *event, enum event_kind kind)
{
    const char *name = json_string_value(json_object_get(event, "kind"));
    return name != NULL && strcmp(name, event_kind_name(kind)) == 0;
}

struct refusal awaited_command_refusal(const json_t *decision)
{
    size_t i;
    const json_t *event;
    json_array_foreach(json_object_get(decision, "events"), i, event) {
        const json_t *data = json_object_get(event, "data");
        const char *code = json_string_value(json_object_get(data, "code"));
        const char *reason = json_string_value(json_object_get(data, "reason"));
        if (is_kind(event, EVENT_COMMAND_REJECTED) || is_kind(event, EVENT_COMMAND_DEAD_LETTERED))
            return (struct refusal){code != NULL ? code : error_code_name(CODE_REJECTED),
                                    reason != NULL ? reason : ""};
    }
    return (struct refusal){NULL, NULL};
}

/* ---- commands ---- */

enum error_class awaited_commands_send(struct awaited_commands *commands, const struct command *cmd,
                                       awaited_command_cb *decided, void *ctx, uint64_t token,
                                       struct awaited_command **ret_command,
                                       struct error *ret_error)
{
    struct cluster *cluster = commands->cluster;
    struct awaited_command *command = calloc(1, sizeof(*command));
    assert(command != NULL && decided != NULL);
    assert(cmd->order_id.size > 0 && cmd->order_id.size <= ORDER_ID_BYTES_MAX);
    *command = (struct awaited_command){
        .commands = commands,
        .decided = decided,
        .ctx = ctx,
        .token = token,
        .partition = broker_partition_of(cmd->order_id, cluster->partition_count),
        .offset = OFFSET_UNKNOWN,
        .early = json_array(),
        .order_id_size = cmd->order_id.size};
    memcpy(command->order_id, cmd->order_id.data, cmd->order_id.size);
    DL_APPEND(commands->list, command);
    enum error_class class = cluster_append(
        cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, command->partition, cmd->order_id,
        (enum record_kind)cmd->kind, cmd, on_appended, command, 0, ret_error);
    if (class != ERROR_OK)
        remove_and_free(command);
    else
        *ret_command = command;
    return class;
}

void awaited_command_forget(struct awaited_command *command)
{
    if (command == NULL)
        return;
    command->decided = NULL;
    if (!is_appending(command))
        remove_and_free(command);
}

bool awaited_command_position(const struct awaited_command *command, int32_t *ret_partition,
                              int64_t *ret_offset)
{
    if (is_appending(command))
        return false;
    *ret_partition = command->partition;
    *ret_offset = command->offset;
    return true;
}

/* ---- life ---- */

struct awaited_commands *awaited_commands_new(struct cluster *cluster)
{
    struct awaited_commands *commands = calloc(1, sizeof(*commands));
    assert(commands != NULL);
    commands->cluster = cluster;
    heap_arena_init(&commands->heap, 16 * 1024);
    return commands;
}

void awaited_commands_free(struct awaited_commands *commands)
{
    if (commands == NULL)
        return;
    while (commands->list != NULL)
        remove_and_free(commands->list);
    heap_arena_deinit(&commands->heap);
    free(commands);
}
