/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of each partition and its progress: GET /api/owners. */
#ifndef SERVICES_CONSOLE_OWNERS_H
#define SERVICES_CONSOLE_OWNERS_H

#include "platform/http/server.h"
#include "services/console/alerts.h"
#include "services/console/partition.h"

struct owners;

/* All borrowed. */
struct owners *owners_new(struct cluster *cluster, struct console_partition *const partitions[],
                          const struct alerts *alerts);
/* Answers the outstanding requests; accepts no more. Before the partitions are freed. */
void owners_drain(struct owners *owners);
/* After cluster_close(). */
void owners_free(struct owners *owners);
/* Answers the exchange once the broker has reported the ends of the commands, within seconds. */
void owners_serve(struct owners *owners, struct http_exchange *exchange);

#endif
