/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/api/tree_commands.h"

#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/awaited_commands.h"
#include "services/console/api/operator_commands.h"
#include "services/console/model/search.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { TREES_MAX = 8, IN_FLIGHT_MAX = 64, COLLECTED_EACH = 100, FAILED_SHOWN_MAX = 100 };

struct tree_order {
    char id[ORDER_ID_BYTES_MAX];
    uint32_t id_size;
    struct awaited_command *awaited; /* NULL: not sent, or decided */
};

struct tree_command {
    struct http_pending pending;
    struct tree_commands *trees;
    struct heap_arena heap; /* of the command's texts */
    struct command cmd;
    struct tree_order *orders; /* the root first */
    uint32_t count;
    uint32_t sent;
    uint32_t decided;
    uint32_t done;              /* and carried out */
    struct loop_deferred rest;  /* the root is decided: the others are looked for, page by page */
    bool has_more;              /* pages, of those after ... */
    struct search_cursor after; /* ... this one */
    json_t *body;               /* of the answer: what may have been missed */
    json_t *failed;
    uint32_t failed_count;
};

struct tree_commands {
    struct api *api;
    struct awaited_commands *awaited;
    struct http_pendings pendings;
};

static struct tree_command *tree_of(struct http_pending *pending)
{
    return (struct tree_command *)pending; /* its first member */
}

static void free_tree(struct http_pending *pending)
{
    struct tree_command *tree = tree_of(pending);
    json_decref(tree->body);
    json_decref(tree->failed);
    heap_arena_deinit(&tree->heap);
    free(tree->orders);
    free(tree);
}

static struct text id_of(const struct tree_order *order)
{
    return (struct text){order->id, order->id_size};
}

/* ---- its orders ---- */

static void add_order(struct tree_command *tree, struct text order_id)
{
    assert(order_id.size <= ORDER_ID_BYTES_MAX);
    struct tree_order *order = &tree->orders[tree->count++];
    memcpy(order->id, order_id.data, order_id.size);
    order->id_size = order_id.size;
}

/* Those that the root's command reaches by itself are left out: what is undone already, and what
 * is held, which its parent settles. */
static bool is_meant(const struct tree_command *tree, const struct order *order)
{
    bool cancels = tree->cmd.kind == COMMAND_CANCEL_ORDER;
    if (order_ended(order))
        return false;
    return !cancels || (order->state != ORDER_HELD && order->state != ORDER_COMPENSATING);
}

/* False: its partition is read again. */
static bool add_hit(struct tree_command *tree, const struct search_hit *hit)
{
    struct error error;
    const struct order *order = NULL;
    struct heap_arena *scratch = &tree->trees->api->scratch;
    struct text order_id = search_cursor_id(&hit->at);
    heap_arena_reset(scratch);
    if (view_read_order(console_partition_view(hit->partition), order_id, &scratch->arena, &order,
                        &error) != ERROR_OK) {
        console_partition_damaged(hit->partition, &error);
        return false;
    }
    if (order != NULL && is_meant(tree, order) && tree->count <= TREE_SUBORDERS_MAX)
        add_order(tree, order_id);
    return true;
}

/* A page of those of the tree that have not ended, as this console knows them. False: a store is
 * damaged. */
static bool collect(struct tree_command *tree)
{
    char attribute[sizeof("reeve.root=") + ORDER_ID_BYTES_MAX];
    struct api *api = tree->trees->api;
    struct text root = id_of(&tree->orders[0]);
    struct search_page page;
    bool good = true;
    int size = snprintf(attribute, sizeof(attribute), "reeve.root=%.*s", (int)root.size, root.data);
    struct search search = {.attributes = {{attribute, (uint32_t)size}},
                            .attribute_count = 1,
                            .limit = COLLECTED_EACH,
                            .clock = api->cluster->service->clock,
                            .has_after = tree->has_more,
                            .after = tree->after};
    search.without[SEARCH_ROOTS] = true;
    api_put_incomplete(api, tree->body);
    search_run(api->partitions, api->partition_count, &search, &page);
    for (uint32_t i = 0; i < page.count && good; i++)
        good = add_hit(tree, &page.hits[i]);
    tree->has_more = page.has_next;
    tree->after = page.next;
    search_page_deinit(&page);
    return good;
}

/* ---- answers ---- */

/* What was to be is so already. */
static bool is_reached(const char *code)
{
    static const enum error_code codes[] = {CODE_ALREADY_PAUSED, CODE_NOT_PAUSED,
                                            CODE_ALREADY_ENDED, CODE_ALREADY_COMPENSATING,
                                            CODE_HELD_BY_PARENT};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (text_equal(text_of(code), error_code_text(codes[i])))
            return true;
    return false;
}

static void add_failed(struct tree_command *tree, const struct tree_order *order,
                       const struct refusal *refusal)
{
    tree->failed_count++;
    if (json_array_size(tree->failed) == FAILED_SHOWN_MAX)
        return;
    json_t *object = json_object();
    json_codec_put(object, "order_id", json_codec_text(id_of(order)));
    json_codec_put(object, "code", json_string(refusal->code));
    json_codec_put(object, "reason", json_string(refusal->reason));
    json_array_append_new(tree->failed, object);
}

static void answer(struct tree_command *tree)
{
    json_codec_put(tree->body, "orders", json_integer(tree->done));
    json_codec_put(tree->body, "failed", json_incref(tree->failed));
    json_codec_put(tree->body, "failed_count", json_integer(tree->failed_count));
    http_respond_json(http_pending_take(&tree->pending), 200, json_incref(tree->body));
}

static void on_late(struct http_pending *pending)
{
    const struct tree_command *tree = tree_of(pending);
    http_pending_fail(pending, 504, CODE_NOT_DECIDED,
                      "the commands of %u orders of %u are decided; those of the others may be "
                      "decided later, or were not sent: send it again, which changes nothing twice",
                      tree->decided, tree->count);
}

static void cancel(struct http_pending *pending)
{
    struct tree_command *tree = tree_of(pending);
    loop_defer_cancel(cluster_loop(tree->trees->api->cluster), &tree->rest);
    for (uint32_t i = 0; i < tree->sent; i++)
        awaited_command_forget(tree->orders[i].awaited);
}

static const struct http_pending_kind tree_kind = {
    .max = TREES_MAX,
    .busy = "commands about too many trees are under way: try again later",
    .draining = "commands about the tree were sent, but this instance is shutting down: send it "
                "again, which changes nothing twice",
    .late = on_late,
    .cancel = cancel,
    .free = free_tree};

/* ---- sending ---- */

static void send_more(struct tree_command *tree);

/* What the root is refused is not asked of the others. */
static void end_with_root(struct tree_command *tree, bool known, const struct refusal *refusal)
{
    http_respond_problem(
        http_pending_take(&tree->pending),
        http_problem_new(known ? 409 : 503, text_of(refusal->code), text_of(refusal->reason)));
}

static void on_decided(void *ctx, uint64_t token, const json_t *decision)
{
    struct tree_command *tree = ctx;
    struct tree_order *order = &tree->orders[token];
    struct refusal refusal = {error_code_name(CODE_UNKNOWN),
                              "the command may or may not have been accepted"};
    bool is_root = tree->decided == 0;
    order->awaited = NULL;
    tree->decided++;
    if (decision != NULL)
        refusal = awaited_command_refusal(decision);
    http_pending_late_in(&tree->pending, OPERATOR_COMMAND_WAIT_MS);
    bool done = refusal.code == NULL || is_reached(refusal.code);
    tree->done += done;
    if (!done && is_root)
        end_with_root(tree, decision != NULL, &refusal);
    else if (!done)
        add_failed(tree, order, &refusal);
    if (tree->pending.exchange != NULL && is_root) /* a Decision is being folded */
        loop_defer(cluster_loop(tree->trees->api->cluster), &tree->rest);
    else if (tree->pending.exchange != NULL)
        send_more(tree);
    http_pending_settle(&tree->pending);
}

/* False: it cannot be sent. */
static bool send_one(struct tree_command *tree, struct error *ret_error)
{
    const struct record_kind_info *info = record_kind_info((enum record_kind)tree->cmd.kind);
    struct tree_order *order = &tree->orders[tree->sent];
    struct command cmd = tree->cmd;
    cmd.order_id = id_of(order);
    memcpy((char *)&cmd.submit_order + info->order_id, &cmd.order_id, sizeof(cmd.order_id));
    if (awaited_commands_send(tree->trees->awaited, &cmd, on_decided, tree, tree->sent,
                              &order->awaited, ret_error) != ERROR_OK)
        return false;
    tree->sent++;
    return true;
}

/* What the producer has no room for is sent as others are decided. */
static void send_more(struct tree_command *tree)
{
    struct error error;
    if (tree->decided == tree->count) {
        answer(tree);
        return;
    }
    while (tree->sent < tree->count && tree->sent - tree->decided < IN_FLIGHT_MAX)
        if (!send_one(tree, &error)) {
            if (tree->sent == tree->decided) /* none will be */
                http_pending_fail(&tree->pending, 503, CODE_UNKNOWN, "%s", error.message);
            return;
        }
}

/* The root starts nothing any more that would be missed here, unless it is resumed. */
static void send_rest(void *ctx)
{
    struct tree_command *tree = ctx;
    bool good = collect(tree);
    if (good && tree->has_more)
        loop_defer(cluster_loop(tree->trees->api->cluster), &tree->rest);
    else if (good)
        send_more(tree);
    else
        http_pending_fail(&tree->pending, 503, CODE_NOT_READY,
                          "only the root's command was sent: a store is damaged; send it again "
                          "later, which changes nothing twice");
    http_pending_settle(&tree->pending);
}

/* ---- requests ---- */

/* False after the exchange was answered. */
static bool check_root(struct tree_commands *trees, struct http_exchange *exchange,
                       struct text order_id)
{
    const struct order *order = api_find_order(exchange, trees->api, order_id);
    if (order == NULL)
        return false;
    if (order->details.parent == NULL)
        return true;
    http_respond_error(exchange, 409, CODE_HELD_BY_PARENT,
                       "order %.*s is a sub-order: send it about the root of its tree, %.*s",
                       TEXT_ARG(order_id), TEXT_ARG(order->details.parent->root));
    return false;
}

/* The texts that the commands of a tree have. */
static void copy_texts(struct command *cmd, struct arena *arena)
{
    cmd->order_id = arena_text(arena, cmd->order_id);
    if (cmd->kind == COMMAND_CANCEL_ORDER) {
        cmd->cancel_order.by = arena_text(arena, cmd->cancel_order.by);
        cmd->cancel_order.reason = arena_text(arena, cmd->cancel_order.reason);
    } else if (cmd->kind == COMMAND_PAUSE_ORDER) {
        cmd->pause_order.by = arena_text(arena, cmd->pause_order.by);
        cmd->pause_order.reason = arena_text(arena, cmd->pause_order.reason);
    } else {
        assert(cmd->kind == COMMAND_RESUME_ORDER);
        cmd->resume_order.by = arena_text(arena, cmd->resume_order.by);
        cmd->resume_order.reason = arena_text(arena, cmd->resume_order.reason);
    }
}

void tree_commands_begin(struct tree_commands *trees, struct http_exchange *exchange,
                         const struct command *root)
{
    struct error error;
    if (!http_pendings_admit(&trees->pendings, exchange) ||
        !check_root(trees, exchange, root->order_id))
        return;
    struct tree_command *tree = calloc(1, sizeof(*tree));
    assert(tree != NULL);
    tree->trees = trees;
    tree->body = json_object();
    tree->failed = json_array();
    heap_arena_init(&tree->heap, 4096);
    tree->cmd = *root;
    copy_texts(&tree->cmd, &tree->heap.arena);
    loop_deferred_init(&tree->rest, send_rest, tree);
    tree->orders = calloc(TREE_SUBORDERS_MAX + 1, sizeof(*tree->orders));
    assert(tree->orders != NULL);
    add_order(tree, tree->cmd.order_id);
    if (!send_one(tree, &error)) {
        http_respond_failure(exchange, &error);
        free_tree(&tree->pending);
        return;
    }
    http_pending_begin(&trees->pendings, &tree->pending, exchange, OPERATOR_COMMAND_WAIT_MS);
}

struct tree_commands *tree_commands_new(struct api *api, struct awaited_commands *awaited)
{
    struct tree_commands *trees = calloc(1, sizeof(*trees));
    assert(trees != NULL);
    trees->api = api;
    trees->awaited = awaited;
    http_pendings_init(&trees->pendings, &tree_kind, cluster_loop(api->cluster), NULL, NULL);
    return trees;
}

void tree_commands_drain(struct tree_commands *trees)
{
    if (trees != NULL)
        http_pendings_drain(&trees->pendings);
}

void tree_commands_free(struct tree_commands *trees)
{
    if (trees == NULL)
        return;
    http_pendings_deinit(&trees->pendings);
    free(trees);
}
