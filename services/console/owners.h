/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns each partition, and how far it is: GET /api/owners. */
#ifndef SERVICES_CONSOLE_OWNERS_H
#define SERVICES_CONSOLE_OWNERS_H

#include "platform/http/server.h"
#include "services/console/alerts.h"
#include "services/console/partition.h"

struct owners;

/* All borrowed. */
struct owners *owners_new(struct cluster *cluster, struct console_partition *const partitions[],
                          const struct alerts *alerts);
/* Answers who waits; nobody waits from now on. Before the partitions are freed. */
void owners_drain(struct owners *owners);
/* After cluster_close(). */
void owners_free(struct owners *owners);
/* Answers the exchange once the brokers have said where the commands end, within seconds. */
void owners_serve(struct owners *owners, struct http_exchange *exchange);

#endif
