/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve export orders`: each order as its end left it. The log is folded from its beginning each
 * time, because an order's state is the fold of all its events; only what ended in the range that
 * is exported is written: of roots, and of sub-orders if they are asked for.
 *
 * A log that was trimmed may hold the end of an order before the Statement that has the rest of it:
 * the order is exported with that. So the fold goes on beyond the range until all orders are known.
 * Where the log is trimmed during the run, it goes on where the log begins then. */
#include "cli/export/container.h"
#include "cli/export/export.h"
#include "cli/export/schema.h"
#include "cli/scratch.h"
#include "platform/files.h"
#include "platform/hash_table.h"
#include "replica/follow/follower.h"
#include "schemas/json/order_json.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

enum { FRAME_BYTES = 10, CACHE_BYTES = 32 * 1024 * 1024 };

/* An order that ended in the range, and whose Statement is still to come. */
struct ended_order {
    UT_hash_handle hh;
    int64_t offset; /* where it ended */
    uint32_t id_size;
    char id[];
};

struct orders_export {
    struct export_partition *partition;
    struct codec *codec;
    struct follower *follower;
    struct ended_order *ended;
    bool range_read;  /* the fold goes on for those alone */
    bool left_behind; /* the store is about to be dropped for that */
    struct buffer body;
    struct buffer framed;
};

static void add_avro(struct orders_export *orders, const struct order *order, int64_t offset)
{
    struct buffer *body = &orders->body;
    body->size = orders->framed.size = 0;
    codec_encode(orders->codec, RECORD_ORDER_ROW, order, &orders->framed);
    container_put_long(body, orders->partition->run->series.partition);
    container_put_long(body, offset);
    buffer_append(body, orders->framed.data + FRAME_BYTES, orders->framed.size - FRAME_BYTES);
    segment_add_avro(orders->partition->segment, body->data, body->size);
}

static void add_json(struct orders_export *orders, const struct order *order)
{
    json_t *line = order_json(order, orders->partition->run->series.partition);
    segment_add_json(orders->partition->segment, line);
    json_decref(line);
}

static bool is_admitted_decision(const struct view_folded *folded)
{
    return folded->admission == ADMITTED && folded->kind == RECORD_DECISION;
}

static bool is_end(enum order_state state)
{
    return state == ORDER_PROCESSED || state == ORDER_COMPENSATED;
}

static bool is_wanted(const struct orders_export *orders, struct text order_id)
{
    return orders->partition->run->suborders || text_empty(order_id_root(order_id));
}

/* Perhaps in the Decision that accepted it: its steps may all end without an agent. */
static bool ended_now(const struct view_folded *folded)
{
    return is_admitted_decision(folded) && folded->order != NULL && order_ended(folded->order) &&
           !(folded->existed && is_end(folded->state_before));
}

/* Its end is all that is known of the order yet. */
static bool ended_unseen(const struct orders_export *orders, const struct view_folded *folded)
{
    return is_admitted_decision(folded) && folded->order == NULL && !folded->existed &&
           decision_changes_order(&folded->record->decision) &&
           is_end(folded->record->decision.order_state) &&
           !follower_checkpoint(orders->follower)->complete;
}

/* ---- orders whose Statement is still to come ---- */

static void expect(struct orders_export *orders, struct text order_id, int64_t offset)
{
    struct ended_order *ended = NULL;
    HASH_FIND(hh, orders->ended, order_id.data, order_id.size, ended);
    if (ended != NULL)
        return;
    ended = calloc(1, sizeof(*ended) + order_id.size);
    assert(ended != NULL);
    memcpy(ended->id, order_id.data, order_id.size);
    ended->id_size = order_id.size;
    ended->offset = offset;
    HASH_ADD_KEYPTR(hh, orders->ended, ended->id, ended->id_size, ended);
    orders->partition->unsettled = true;
}

static void forget(struct orders_export *orders, struct ended_order *ended)
{
    HASH_DEL(orders->ended, ended);
    free(ended);
    orders->partition->unsettled = orders->ended != NULL;
}

static void forget_all(struct orders_export *orders)
{
    struct ended_order *ended, *next;
    HASH_ITER(hh, orders->ended, ended, next) {
        forget(orders, ended);
    }
}

/* All orders are known: what was not stated has expired meanwhile. */
static void settle(struct orders_export *orders)
{
    orders->partition->lost += HASH_COUNT(orders->ended);
    forget_all(orders);
}

/* ---- the fold ---- */

static void add(struct orders_export *orders, const struct order *order, int64_t offset,
                int64_t next)
{
    struct export_partition *partition = orders->partition;
    if (!export_begin_record(partition))
        return;
    if (partition->run->series.format == EXPORT_AVRO)
        add_avro(orders, order, offset);
    else
        add_json(orders, order);
    export_end_record(partition, next);
}

static void add_stated(struct orders_export *orders, const struct view_folded *folded)
{
    struct ended_order *ended = NULL;
    if (folded->kind != RECORD_STATEMENT || folded->admission != ADMITTED || folded->order == NULL)
        return;
    struct text id = folded->order->details.order_id;
    HASH_FIND(hh, orders->ended, id.data, id.size, ended);
    if (ended == NULL)
        return;
    add(orders, folded->order, ended->offset, orders->partition->next);
    forget(orders, ended);
}

static void read_range(struct orders_export *orders, const struct broker_record *record,
                       const struct view_folded *folded)
{
    struct export_partition *partition = orders->partition;
    if (record->offset < partition->next)
        return;
    if (record->offset >= partition->end || record->timestamp >= partition->run->until_ms) {
        orders->range_read = true;
        return;
    }
    bool wanted =
        is_admitted_decision(folded) && is_wanted(orders, folded->record->decision.order_id);
    if (wanted && ended_now(folded)) {
        add(orders, folded->order, record->offset, record->offset + 1);
        return;
    }
    if (wanted && ended_unseen(orders, folded))
        expect(orders, folded->record->decision.order_id, record->offset);
    partition->next = record->offset + 1;
}

static void on_checked(void *ctx)
{
    struct orders_export *orders = ctx;
    export_note_start(orders->partition, follower_checkpoint(orders->follower)->start);
    follower_run(orders->follower, INT64_MAX);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct orders_export *orders = ctx;
    struct export_partition *partition = orders->partition;
    if (partition->done)
        return;
    if (!orders->range_read)
        read_range(orders, record, folded);
    if (orders->ended != NULL)
        add_stated(orders, folded);
    if (orders->ended != NULL && follower_checkpoint(orders->follower)->complete)
        settle(orders);
    partition->done |= orders->range_read && orders->ended == NULL;
}

static void on_caught_up(void *ctx)
{
    struct orders_export *orders = ctx;
    struct export_partition *partition = orders->partition;
    if (!partition->done && !orders->range_read)
        partition->next = partition->end;
    settle(orders);
    partition->done = true;
}

static void on_left_behind(void *ctx)
{
    struct orders_export *orders = ctx;
    orders->left_behind = true;
}

/* An operator's Reset skips what is folded already: what is in complete files stays there, and what
 * is exported when that is all. */
static void on_dropped(void *ctx)
{
    struct orders_export *orders = ctx;
    struct export_partition *partition = orders->partition;
    bool holds = orders->left_behind || partition->done;
    orders->left_behind = false;
    if (holds)
        return;
    partition->error = (struct error){0};
    if (partition->files > 0) {
        error_set(&partition->error, CODE_LOG_CHANGED,
                  "a reset skips records that are exported already: export into another directory");
        partition->done = true;
        return;
    }
    segment_discard(partition->segment);
    partition->segment = NULL;
    partition->run->exported -= partition->records;
    partition->records = 0;
    partition->trimmed = 0;
    partition->next = partition->first;
    orders->range_read = false;
    forget_all(orders);
}

static const struct follower_ops fold_ops = {.checked = on_checked,
                                             .folded = on_folded,
                                             .caught_up = on_caught_up,
                                             .dropped = on_dropped,
                                             .left_behind = on_left_behind};

static bool is_done(void *ctx)
{
    const struct orders_export *orders = ctx;
    return orders->partition->done || follower_is_stuck(orders->follower, NULL, NULL);
}

static enum error_class fold(struct orders_export *orders, const char *scratch,
                             struct error *ret_error)
{
    struct export_partition *partition = orders->partition;
    struct cluster *cluster = partition->run->session->cluster;
    struct store_options store_options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
    struct store_env *stores = store_env_new(&store_options);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/store", scratch);
    struct view_options options = {
        .env = stores, .codec = cluster->codec, .path = path, .cache_bytes = CACHE_BYTES};
    enum error_class class = follower_new(cluster, partition->run->series.partition, &options,
                                          &fold_ops, orders, &orders->follower, ret_error);
    if (class == ERROR_OK) {
        export_wait(partition, is_done, orders);
        const struct error *stuck = NULL;
        if (!partition->done && follower_is_stuck(orders->follower, &stuck, NULL))
            partition->error = *stuck;
        if (error_is(&partition->error))
            *ret_error = partition->error;
        class = partition->error.class;
        follower_free(orders->follower);
    }
    store_env_free(stores);
    return class;
}

enum error_class export_orders_of(struct export_partition *partition, struct error *ret_error)
{
    char scratch[CLI_SCRATCH_SIZE];
    struct orders_export orders = {.partition = partition,
                                   .codec = partition->run->session->cluster->codec};
    enum error_class class = cli_scratch_make("export", scratch, ret_error);
    if (class != ERROR_OK)
        return class;
    class = fold(&orders, scratch, ret_error);
    files_remove_tree(scratch, NULL);
    forget_all(&orders);
    buffer_deinit(&orders.body);
    buffer_deinit(&orders.framed);
    return class;
}

int export_orders(struct cli *cli)
{
    return export_run(cli, "orders", export_orders_schema(), export_orders_of);
}
