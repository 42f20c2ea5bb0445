/* SPDX-License-Identifier: Apache-2.0 */
/* What librdkafka reports about its connections every statistics.interval.ms, as metrics by handle
 * and broker. Inside kafka/ only. */
#ifndef KAFKA_CLIENT_STATS_H
#define KAFKA_CLIENT_STATS_H

#include "platform/metrics.h"

#include <stddef.h>

enum {
    KAFKA_STATS_BROKERS_MAX = 32, /* of one handle; the others are left out */
    KAFKA_STATS_INTERVAL_MS = 10000,
};

struct kafka_stats;

/* New. `client` tells the clients of one process apart. Both are borrowed until kafka_stats_free().
 */
struct kafka_stats *kafka_stats_new(struct metrics *metrics, const char *client);
/* NULL does nothing, as in the functions below. */
void kafka_stats_free(struct kafka_stats *stats);
/* `json`: a report of librdkafka about the handle of this role. While an earlier handle of the role
 * is open (it leaves its group), the report is ignored. */
void kafka_stats_take(struct kafka_stats *stats, const void *handle, const char *role,
                      const char *json, size_t size);
/* The handle is closed: its counters go on with those of the next one, its gauges are gone. */
void kafka_stats_forget(struct kafka_stats *stats, const void *handle, const char *role);

#endif
