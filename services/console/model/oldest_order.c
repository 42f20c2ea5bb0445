/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/oldest_order.h"

#include <string.h>

static bool visit(void *ctx, const struct waiting_row *row)
{
    struct oldest_order *oldest = ctx;
    if (oldest->id_size == 0 || row->queued_at < oldest->since) {
        oldest->since = row->queued_at;
        oldest->id_size = row->order_id.size;
        memcpy(oldest->id, row->order_id.data, row->order_id.size);
    }
    return false;
}

static void look(struct console_partition *partition, struct text queue,
                 struct oldest_order *oldest)
{
    struct oldest_order mine = {.partition = partition};
    struct error error;
    if (!console_partition_settle(partition))
        return;
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        if (store_scan_waiting(view_store(console_partition_view(partition)), queue,
                               (enum priority)priority, 0, visit, &mine, &error) != ERROR_OK) {
            console_partition_damaged(partition, &error);
            return;
        }
    }
    if (mine.id_size > 0 && (oldest->id_size == 0 || mine.since < oldest->since))
        *oldest = mine;
}

bool oldest_order_find(struct console_partition *const partitions[], int32_t count,
                       struct text queue, struct oldest_order *ret_oldest)
{
    *ret_oldest = (struct oldest_order){.partition = NULL};
    for (int32_t i = 0; i < count; i++)
        look(partitions[i], queue, ret_oldest);
    return ret_oldest->id_size > 0;
}
