/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/api/tree_commands.h"

#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/operator_commands.h"
#include "services/console/model/search.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { TREES_MAX = 8, IN_FLIGHT_MAX = 64, EARLY_MAX = 8, FAILED_SHOWN_MAX = 100 };

struct tree_order {
    char id[ORDER_ID_BYTES_MAX];
    uint32_t id_size;
};

/* Why a command changed nothing; no code: it did. */
struct refusal {
    char code[ERROR_NAME_BYTES_MAX + 1];
    char reason[ERROR_MESSAGE_SIZE];
};

/* A command that is not decided yet. Its Decision may be folded before its append is
 * acknowledged: those about its order are kept until then. */
struct in_flight {
    const struct tree_order *order; /* NULL: the place is free */
    int32_t partition;
    bool appended;
    int64_t offset;
    struct {
        int64_t command_offset;
        struct refusal refusal;
    } early[EARLY_MAX];
    uint32_t early_count;
};

struct tree_command {
    struct http_pending pending; /* to come: acknowledgements */
    struct tree_commands *trees;
    struct heap_arena heap; /* of the command's texts */
    struct command cmd;
    struct tree_order *orders; /* the root first */
    uint32_t count;
    uint32_t sent;
    uint32_t decided;
    uint32_t done; /* and carried out */
    bool root_decided;
    struct loop_deferred rest; /* then the others are looked for, and theirs are sent */
    json_t *failed;
    uint32_t failed_count;
    struct in_flight in_flight[IN_FLIGHT_MAX];
};

struct tree_commands {
    struct api *api;
    struct http_pendings pendings;
};

static struct tree_command *tree_of(struct http_pending *pending)
{
    return (struct tree_command *)pending; /* its first member */
}

static void free_tree(struct http_pending *pending)
{
    struct tree_command *tree = tree_of(pending);
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

/* All of the tree that have not ended, as this console knows them. */
static bool collect(struct tree_command *tree, struct text root)
{
    char attribute[sizeof("reeve.root=") + ORDER_ID_BYTES_MAX];
    struct api *api = tree->trees->api;
    struct search_page page;
    bool good = true;
    int size = snprintf(attribute, sizeof(attribute), "reeve.root=%.*s", (int)root.size, root.data);
    struct search search = {.attributes = {{attribute, (uint32_t)size}},
                            .attribute_count = 1,
                            .limit = SEARCH_PAGE_MAX};
    search.without[SEARCH_ROOTS] = true;
    do {
        search_run(api->partitions, api->partition_count, &search, &page);
        for (uint32_t i = 0; i < page.count && good; i++)
            good = add_hit(tree, &page.hits[i]);
        search.has_after = page.has_next;
        search.after = page.next;
        search_page_deinit(&page);
    } while (search.has_after && good);
    return good;
}

/* ---- answers ---- */

static bool is_refused(const struct refusal *refusal)
{
    return refusal->code[0] != '\0';
}

/* What was to be is so already. */
static bool is_reached(const struct refusal *refusal)
{
    static const enum error_code codes[] = {CODE_ALREADY_PAUSED, CODE_NOT_PAUSED,
                                            CODE_ALREADY_ENDED, CODE_ALREADY_COMPENSATING,
                                            CODE_HELD_BY_PARENT};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (text_equal(text_of(refusal->code), error_code_text(codes[i])))
            return true;
    return false;
}

static struct refusal refusal_of(const struct decision *decision)
{
    struct refusal refusal = {.code = ""};
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        struct text code = {0}, reason = {0};
        if (event->kind == EVENT_COMMAND_REJECTED) {
            code = event->command_rejected.code;
            reason = event->command_rejected.reason;
        } else if (event->kind == EVENT_COMMAND_DEAD_LETTERED) {
            code = undecodable_code(&event->command_dead_lettered);
            reason = event->command_dead_lettered.reason;
        }
        if (text_empty(code))
            continue;
        snprintf(refusal.code, sizeof(refusal.code), "%.*s", TEXT_ARG(code));
        snprintf(refusal.reason, sizeof(refusal.reason), "%.*s", TEXT_ARG(reason));
    }
    return refusal;
}

static void add_failed(struct tree_command *tree, const struct tree_order *order,
                       const struct refusal *refusal)
{
    tree->failed_count++;
    if (json_array_size(tree->failed) == FAILED_SHOWN_MAX)
        return;
    json_t *object = json_object();
    json_codec_put(object, "order_id", json_codec_text(id_of(order)));
    json_codec_put(object, "code", json_codec_text(text_of(refusal->code)));
    json_codec_put(object, "reason", json_codec_text(text_of(refusal->reason)));
    json_array_append_new(tree->failed, object);
}

static void answer(struct tree_command *tree)
{
    json_t *body = json_object();
    json_codec_put(body, "orders", json_integer(tree->done));
    json_codec_put(body, "failed", json_incref(tree->failed));
    json_codec_put(body, "failed_count", json_integer(tree->failed_count));
    http_respond_json(http_pending_take(&tree->pending), 200, body);
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

static void on_result(struct tree_command *tree, struct in_flight *place,
                      const struct refusal *refusal)
{
    const struct tree_order *order = place->order;
    place->order = NULL;
    tree->decided++;
    if (!is_refused(refusal) || is_reached(refusal))
        tree->done++;
    else if (tree->root_decided)
        add_failed(tree, order, refusal);
    else /* what the root is refused is not asked of the others */
        http_respond_problem(
            http_pending_take(&tree->pending),
            http_problem_new(409, text_of(refusal->code), text_of(refusal->reason)));
    if (tree->pending.exchange == NULL)
        return;
    http_pending_late_in(&tree->pending, OPERATOR_COMMAND_WAIT_MS);
    if (!tree->root_decided) /* a Decision is being folded */
        loop_defer(cluster_loop(tree->trees->api->cluster), &tree->rest);
    else
        send_more(tree);
    tree->root_decided = true;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct tree_command *tree = ctx;
    struct in_flight *place = &tree->in_flight[token];
    tree->pending.to_come--;
    place->appended = true;
    place->offset = offset;
    if (tree->pending.exchange != NULL && error != NULL && error_is(error)) {
        struct refusal refusal = {.reason = "the command may or may not have been accepted"};
        snprintf(refusal.code, sizeof(refusal.code), "%.*s",
                 TEXT_ARG(error_code_text(CODE_UNKNOWN)));
        on_result(tree, place, &refusal);
    }
    for (uint32_t i = 0; place->order != NULL && i < place->early_count; i++)
        if (place->early[i].command_offset == offset && tree->pending.exchange != NULL) {
            struct refusal refusal = place->early[i].refusal;
            on_result(tree, place, &refusal);
            break;
        }
    http_pending_settle(&tree->pending);
}

static struct in_flight *free_place(struct tree_command *tree)
{
    for (uint32_t i = 0; i < IN_FLIGHT_MAX; i++)
        if (tree->in_flight[i].order == NULL)
            return &tree->in_flight[i];
    return NULL;
}

/* False: it cannot be sent. */
static bool send_one(struct tree_command *tree, struct in_flight *place, struct error *ret_error)
{
    struct cluster *cluster = tree->trees->api->cluster;
    const struct record_kind_info *info = record_kind_info((enum record_kind)tree->cmd.kind);
    struct tree_order *order = &tree->orders[tree->sent];
    struct command cmd = tree->cmd;
    cmd.order_id = id_of(order);
    memcpy((char *)&cmd.submit_order + info->order_id, &cmd.order_id, sizeof(cmd.order_id));
    *place = (struct in_flight){
        .order = order, .partition = broker_partition_of(cmd.order_id, cluster->partition_count)};
    if (cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, place->partition,
                       cmd.order_id, (enum record_kind)cmd.kind, &cmd, on_appended, tree,
                       (uint64_t)(place - tree->in_flight), ret_error) != ERROR_OK) {
        place->order = NULL;
        return false;
    }
    tree->sent++;
    tree->pending.to_come++;
    return true;
}

/* What the producer has no room for is sent as others are decided. */
static void send_more(struct tree_command *tree)
{
    struct error error;
    struct in_flight *place;
    if (tree->decided == tree->count) {
        answer(tree);
        return;
    }
    while (tree->sent < tree->count && (place = free_place(tree)) != NULL)
        if (!send_one(tree, place, &error)) {
            if (tree->sent == tree->decided) /* none will be */
                http_pending_fail(&tree->pending, 503, CODE_UNKNOWN, "%s", error.message);
            return;
        }
}

/* The root starts nothing any more that would be missed here, unless it is resumed. */
static void send_rest(void *ctx)
{
    struct tree_command *tree = ctx;
    if (tree->pending.exchange != NULL && collect(tree, id_of(&tree->orders[0])))
        send_more(tree);
    else
        http_pending_fail(&tree->pending, 503, CODE_NOT_READY,
                          "only the root's command was sent: a store is damaged; send it again "
                          "later, which changes nothing twice");
    http_pending_settle(&tree->pending);
}

void tree_commands_decided(struct tree_commands *trees, int32_t partition,
                           const struct decision *decision)
{
    struct http_pending *pending, *next;
    if (trees->pendings.list == NULL)
        return;
    const struct event *first = &decision->events[0];
    bool dead = decision->event_count > 0 && first->kind == EVENT_COMMAND_DEAD_LETTERED;
    struct text order_id = dead ? first->command_dead_lettered.key : decision->order_id;
    struct refusal refusal = refusal_of(decision);
    DL_FOREACH_SAFE(trees->pendings.list, pending, next) {
        struct tree_command *tree = tree_of(pending);
        for (uint32_t i = 0; i < IN_FLIGHT_MAX && pending->exchange != NULL; i++) {
            struct in_flight *place = &tree->in_flight[i];
            if (place->order == NULL || place->partition != partition)
                continue;
            if (place->appended) {
                if (place->offset == decision->command_offset)
                    on_result(tree, place, &refusal);
            } else if (text_equal(id_of(place->order), order_id) &&
                       place->early_count < EARLY_MAX) {
                place->early[place->early_count].command_offset = decision->command_offset;
                place->early[place->early_count++].refusal = refusal;
            }
        }
        http_pending_settle(pending);
    }
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
    tree->failed = json_array();
    heap_arena_init(&tree->heap, 4096);
    tree->cmd = *root;
    copy_texts(&tree->cmd, &tree->heap.arena);
    loop_deferred_init(&tree->rest, send_rest, tree);
    tree->orders = calloc(TREE_SUBORDERS_MAX + 1, sizeof(*tree->orders));
    assert(tree->orders != NULL);
    add_order(tree, tree->cmd.order_id);
    if (!send_one(tree, &tree->in_flight[0], &error)) {
        http_respond_failure(exchange, &error);
        free_tree(&tree->pending);
        return;
    }
    tree->pending.to_come--; /* zeroed until it begins */
    http_pending_begin(&trees->pendings, &tree->pending, exchange, OPERATOR_COMMAND_WAIT_MS);
    tree->pending.to_come++;
}

struct tree_commands *tree_commands_new(struct api *api)
{
    struct tree_commands *trees = calloc(1, sizeof(*trees));
    assert(trees != NULL);
    trees->api = api;
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
