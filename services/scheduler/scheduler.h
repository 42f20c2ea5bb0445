/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler as the handlers of its service see it: for tests, which call them. */
#ifndef SERVICES_SCHEDULER_SCHEDULER_H
#define SERVICES_SCHEDULER_SCHEDULER_H

#include "replica/cluster/cluster.h"

struct scheduler;

/* ---- for tests ---- */

/* New. `broker` NULL: connects as the configuration says; else it is stolen, also on failure
 * (tests). Errors are cluster_open's. */
enum error_class scheduler_open(struct service_context *service, struct broker *broker,
                                struct scheduler **ret_scheduler, struct error *ret_error);
/* For /readyz: false with a reason. */
bool scheduler_ready(void *scheduler, char *ret_reason, size_t reason_size);
/* For /readyz, while it is ready: true with what is wrong with its standbys. */
bool scheduler_degraded(void *scheduler, char *ret_reason, size_t reason_size);

#endif
