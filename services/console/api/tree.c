/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/tree: the order with its sub-orders on all levels. They are read level by
 * level, so that the bounds on their number and on the time leave out the lowest ones. */
#include "services/console/api/suborders.h"

#include "platform/http/query.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/order_json.h"

#include <assert.h>
#include <stdlib.h>

enum { NODES_MAX = 1000, LEVELS_MAX = ORDER_DEPTH_MAX - 1 };

/* An order of the tree that is still to be read. */
struct node {
    json_t *list; /* borrowed; NULL: the one that was asked for */
    json_t *json; /* borrowed from that list, the last one of it that is not read */
    struct suborder_item item;
    int64_t level; /* 0: the one that was asked for */
    char order_id[ORDER_ID_BYTES_MAX];
    uint32_t order_id_size;
};

struct tree {
    struct suborder_reader reader;
    struct node *nodes; /* by level */
    uint32_t count;
    int64_t depth; /* levels of sub-orders that are shown */
    bool all;      /* also those that are done */
    bool more;     /* some are left out */
};

/* Until it is done. One that is held is done, unless it is to be undone. */
static bool is_shown(const struct tree *tree, const struct suborders *suborders, uint32_t number)
{
    enum item_state state = suborders->items[number].state;
    if (state == ITEM_TO_DO)
        return false;
    return tree->all || state == ITEM_FAILED || suborder_is_unanswered(suborders, number);
}

static void add_node(struct tree *tree, json_t *list, const struct node *parent,
                     const struct order *order, const struct step *step, uint32_t number)
{
    if (tree->count == NODES_MAX) {
        tree->more = true;
        return;
    }
    struct node *node = &tree->nodes[tree->count++];
    struct text id = suborder_id(order, step, number, tree->reader.arena);
    assert(id.size <= ORDER_ID_BYTES_MAX);
    *node = (struct node){.list = list,
                          .json = json_object(),
                          .item = step->suborders->items[number],
                          .level = parent->level + 1,
                          .order_id_size = id.size};
    if (id.size > 0)
        memcpy(node->order_id, id.data, id.size);
    suborder_put_item(node->json, step, number, id);
    json_codec_put(node->json, "workflow", json_codec_text(step->suborders->workflow));
    json_array_append_new(list, node->json);
}

static json_t *step_json(struct tree *tree, const struct node *node, const struct order *order,
                         const struct step *step)
{
    json_t *list = json_array();
    json_t *object = order_json_suborders(order, step);
    json_codec_put(object, "step", json_codec_text(step->name));
    json_codec_put(object, "state", json_string(step_state_name(step->state)));
    for (uint32_t i = 0; i < step->suborders->item_count && node->level < tree->depth; i++)
        if (is_shown(tree, step->suborders, i))
            add_node(tree, list, node, order, step, i);
    json_codec_put(object, "suborders", list);
    return object;
}

static void read_node(struct tree *tree, const struct node *node)
{
    json_t *steps = json_array();
    struct text order_id = {node->order_id, node->order_id_size};
    heap_arena_reset(&tree->reader.api->scratch);
    struct suborder suborder = suborder_find(&tree->reader, &node->item, order_id);
    const struct order *order = suborder.order;
    suborder_put_state(node->json, &suborder);
    for (uint32_t i = 0; order != NULL && i < order->step_count; i++)
        if (order->steps[i].suborders != NULL)
            json_array_append_new(steps, step_json(tree, node, order, &order->steps[i]));
    json_codec_put(node->json, "steps", steps);
}

/* Level by level, as far as the time goes. In each list, those that were not read are the last. */
static void read_nodes(struct tree *tree)
{
    uint32_t read = 0;
    bool ends = false;
    while (read < tree->count && !ends) {
        read_node(tree, &tree->nodes[read++]);
        ends = tree->reader.damaged != NULL || suborder_reader_is_spent(&tree->reader);
    }
    tree->more = tree->more || read < tree->count;
    while (tree->count > read) {
        json_t *list = tree->nodes[--tree->count].list;
        json_array_remove(list, json_array_size(list) - 1);
    }
}

static json_t *read_tree(struct tree *tree, const struct order *root)
{
    json_t *body = json_object();
    struct text order_id = root->details.order_id;
    struct node *first = &tree->nodes[tree->count++];
    first->json = body;
    memcpy(first->order_id, order_id.data, order_id.size);
    first->order_id_size = order_id.size;
    json_codec_put(body, "item", json_null());
    json_codec_put(body, "order_id", json_codec_text(order_id));
    json_codec_put(body, "generation", json_null());
    json_codec_put(body, "outcome", json_null());
    json_codec_put(body, "workflow", json_codec_text(root->details.workflow));
    read_nodes(tree);
    json_codec_put(body, "more", json_boolean(tree->more));
    return body;
}

void serve_tree(struct api *api, struct http_exchange *exchange)
{
    struct text order_id;
    int64_t all = 0;
    struct tree tree = {.reader = suborder_reader_of(api)};
    if (!api_read_order_id(exchange, &order_id) ||
        !http_query_int(exchange, "depth", LEVELS_MAX, 0, LEVELS_MAX, &tree.depth) ||
        !http_query_int(exchange, "all", 0, 0, 1, &all))
        return;
    const struct order *root = api_find_order(exchange, api, order_id);
    if (root == NULL)
        return;
    tree.all = all == 1;
    tree.nodes = calloc(NODES_MAX, sizeof(*tree.nodes));
    assert(tree.nodes != NULL);
    json_t *body = read_tree(&tree, root);
    free(tree.nodes);
    if (suborder_respond_damaged(&tree.reader, exchange)) {
        json_decref(body);
        return;
    }
    api_put_incomplete(api, body);
    view_tidy(console_partition_view(api_partition_of(api, order_id)));
    owners_respond(api->owners, exchange, body);
}
