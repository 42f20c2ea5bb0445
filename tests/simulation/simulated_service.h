/* SPDX-License-Identifier: Apache-2.0 */
/* What a service on the broker in memory runs in: a loop, a configuration and metrics. */
#ifndef TESTS_SIMULATION_SIMULATED_SERVICE_H
#define TESTS_SIMULATION_SIMULATED_SERVICE_H

#include "replica/service/service.h"

/* Gives them to a context that has its names and its clock; a loop only if it has none yet.
 * `settings`: names and values in turn, NULL behind them; NULL: none but the topics' prefix. Aborts
 * if one is wrong. */
void simulated_service_open(struct service_context *service, const char *prefix,
                            const char *const settings[]);
/* Frees them. A loop that others use is NULL by then. */
void simulated_service_close(struct service_context *service);

#endif
