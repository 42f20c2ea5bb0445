/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve export orders`: each order as its end left it. The log is folded from its beginning each
 * time, because an order's state is the fold of all its events; only what ended in the range that
 * is exported is written. */
#include "cli/export/container.h"
#include "cli/export/export.h"
#include "cli/export/schema.h"
#include "cli/scratch.h"
#include "platform/files.h"
#include "replica/follower.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <limits.h>

enum { FRAME_BYTES = 10, CACHE_BYTES = 32 * 1024 * 1024 };

struct orders_export {
    struct export_partition *partition;
    struct codec *codec;
    struct follower *follower;
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
    json_t *line = render_order(order, orders->partition->run->series.partition);
    segment_add_json(orders->partition->segment, line);
    json_decref(line);
}

static bool ended_now(const struct view_folded *folded)
{
    return folded->admission == ADMITTED && folded->kind == RECORD_DECISION &&
           folded->order != NULL && order_ended(folded->order) && folded->existed &&
           folded->state_before != ORDER_PROCESSED && folded->state_before != ORDER_COMPENSATED;
}

static void on_checked(void *ctx)
{
    struct orders_export *orders = ctx;
    follower_run(orders->follower, orders->partition->end - 1);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct orders_export *orders = ctx;
    struct export_partition *partition = orders->partition;
    if (partition->done || record->offset < partition->next)
        return;
    if (record->timestamp >= partition->run->until_ms) {
        partition->done = true;
        return;
    }
    if (!ended_now(folded)) {
        partition->next = record->offset + 1;
        return;
    }
    if (!export_begin_record(partition))
        return;
    if (partition->run->series.format == EXPORT_AVRO)
        add_avro(orders, folded->order, record->offset);
    else
        add_json(orders, folded->order);
    export_end_record(partition, record->offset + 1);
}

static void on_caught_up(void *ctx)
{
    struct orders_export *orders = ctx;
    if (!orders->partition->done)
        orders->partition->next = orders->partition->end;
    orders->partition->done = true;
}

/* An operator's Reset skips what is folded already: what is in complete files stays there. */
static void on_dropped(void *ctx)
{
    struct orders_export *orders = ctx;
    struct export_partition *partition = orders->partition;
    partition->error = (struct error){0};
    if (partition->files > 0) {
        error_set(&partition->error, ERROR_REJECT, "LogChanged",
                  "a reset skips records that are exported already: export into another directory");
        partition->done = true;
        return;
    }
    segment_discard(partition->segment);
    partition->segment = NULL;
    partition->run->exported -= partition->records;
    partition->records = 0;
    partition->next = partition->first;
}

static const struct follower_ops fold_ops = {
    .checked = on_checked, .folded = on_folded, .caught_up = on_caught_up, .dropped = on_dropped};

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

static enum error_class export_partition(struct export_partition *partition,
                                         struct error *ret_error)
{
    char scratch[CLI_SCRATCH_SIZE];
    struct orders_export orders = {.partition = partition,
                                   .codec = partition->run->session->cluster->codec};
    enum error_class class = cli_scratch_make("export", scratch, ret_error);
    if (class != ERROR_OK)
        return class;
    class = fold(&orders, scratch, ret_error);
    files_remove_tree(scratch, NULL);
    buffer_deinit(&orders.body);
    buffer_deinit(&orders.framed);
    return class;
}

int export_orders(struct cli *cli)
{
    return export_run(cli, "orders", export_orders_schema(), export_partition);
}
