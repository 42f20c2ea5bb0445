/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts about partitions and instances, from <p>.alerts. Those about orders are in the orders
 * themselves: an order in Error has one. */
#ifndef SERVICES_CONSOLE_MODEL_ALERTS_H
#define SERVICES_CONSOLE_MODEL_ALERTS_H

#include "replica/cluster/cluster.h"

#include <jansson.h>

struct alerts;

enum { ALERTS_MAX = 1000 /* the latest; equal ones count once */ };

struct alerts *alerts_new(struct cluster *cluster);
/* Before cluster_close(). */
void alerts_free(struct alerts *alerts);

/* {"partition", "code", "message", "by", "open", "first_at", "last_at", "count"}, the newest first.
 * Alerts of a partition report what happened there and are never closed by a command: "open" means
 * only that the latest record raises the alert, or of OrderStuck, that its auditor still repeats
 * it. */
json_t *alerts_render(const struct alerts *alerts, bool only_open);
/* How many are open: about partitions, and about agents, instances and submissions. */
void alerts_count_open(const struct alerts *alerts, uint32_t *ret_of_partitions,
                       uint32_t *ret_others);
/* The newest open alert about the partition since `since`, or null. Those about its standbys come
 * last: its orders do not wait for them. */
json_t *alerts_render_latest(const struct alerts *alerts, int32_t partition, int64_t since);

#endif
