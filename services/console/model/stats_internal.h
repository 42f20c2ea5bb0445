/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by stats.c and stats_tally.c. */
#ifndef SERVICES_CONSOLE_MODEL_STATS_INTERNAL_H
#define SERVICES_CONSOLE_MODEL_STATS_INTERNAL_H

#include "services/console/model/stats.h"

void stats_add_steps(struct stats *stats, const char *key, uint32_t size, int64_t more);
/* `message`: of an order that came to it at `at`. */
void stats_add_cause(struct stats *stats, const char *key, uint32_t size, struct text message,
                     int64_t more, int64_t at);
/* The key's row, begun if there is none; NULL: there are too many. Rows that ended before `window`
 * make room. */
struct stats_durations *stats_durations_of(struct stats *stats, const char *key, uint32_t size,
                                           int64_t window);
void stats_add_duration(struct stats_durations *row, int64_t window, uint32_t class, uint32_t more);
void stats_add_rate(struct stats *stats, int64_t number, enum stats_rate rate, uint32_t more);

/* stats_tally.c */
void stats_encode(const void *ctx, struct buffer *buffer);
bool stats_decode(void *ctx, struct text tally);

#endif
