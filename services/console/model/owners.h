/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of each partition and its progress: GET /api/owners. */
#ifndef SERVICES_CONSOLE_MODEL_OWNERS_H
#define SERVICES_CONSOLE_MODEL_OWNERS_H

#include "platform/http/server.h"
#include "replica/follow/verdict.h"
#include "services/console/model/alerts.h"
#include "services/console/model/partition.h"

#include <jansson.h>

struct owners;

/* All borrowed. */
struct owners *owners_new(struct cluster *cluster, struct console_partition *const partitions[],
                          const struct alerts *alerts);
/* Answers the outstanding requests; accepts no more. Before the partitions are freed. */
void owners_drain(struct owners *owners);
/* After cluster_close(). */
void owners_free(struct owners *owners);
/* Answers the exchange once the broker has reported the ends of the commands, within seconds.
 * `all`: as GET /api/partitions, with claims and stores. */
void owners_serve(struct owners *owners, bool all, struct http_exchange *exchange);

/* How long the brokers have not answered; 0: they answer. They are asked every few seconds. */
int64_t owners_data_age_ms(const struct owners *owners);
/* Answers 200 with `body` (stolen) and its data_age_ms: every answer that shows what the log holds
 * says how old it may be. */
void owners_respond(const struct owners *owners, struct http_exchange *exchange, json_t *body);
/* In how many partitions commands wait although none is decided (replica/follow/verdict.h); then
 * the reason of the one with the longest wait. *ret_waited_ms: of any partition, also where it is
 * not too long yet; may be NULL. */
uint32_t owners_stalled(const struct owners *owners, char ret_reason[VERDICT_REASON_SIZE],
                        int64_t *ret_waited_ms);
/* Commands of the partition that wait for a decision; 0 while those that come are soon decided. The
 * orders that they submit are unknown. */
int64_t owners_undecided(const struct owners *owners, int32_t number);
/* body.waiting: the partitions in which any wait, with the verdict; left out if there are none. */
void owners_put_waiting(const struct owners *owners, json_t *body);
/* Commands of all partitions that wait for a decision, as far as known. */
int64_t owners_lag(const struct owners *owners);

#endif
