/* SPDX-License-Identifier: Apache-2.0 */
/* The order that waits longest in one of the queues of stats.h, over all partitions. */
#ifndef SERVICES_CONSOLE_MODEL_OLDEST_ORDER_H
#define SERVICES_CONSOLE_MODEL_OLDEST_ORDER_H

#include "services/console/model/partition.h"

struct oldest_order {
    struct console_partition *partition;
    int64_t since;
    uint32_t id_size;
    char id[ORDER_ID_BYTES_MAX];
};

/* False: the queue is empty. A partition whose store turns out to be damaged is folded again, and
 * does not count. */
bool oldest_order_find(struct console_partition *const partitions[], int32_t count,
                       struct text queue, struct oldest_order *ret_oldest);

#endif
