/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to GET /about: the version of a running service, whether it is ready, and its
 * configuration with the origin of each value. Secrets are hidden. /metrics has the versions. */
#ifndef REPLICA_SERVICE_ABOUT_H
#define REPLICA_SERVICE_ABOUT_H

#include "replica/service/service.h"

#include <jansson.h>

/* The version of this build: "0.1.0". */
const char *service_version(void);

/* reeve_build_info: the versions of reeve and of the libraries that it runs with. */
void service_about_add_metrics(struct metrics *metrics);

/* New: [{"key", "value", "origin"}] of the keys that one of `readers` reads. */
json_t *service_configuration(const struct config *config, unsigned readers);

struct service_about {
    const struct service_context *context;
    unsigned readers;
    int64_t started_ms; /* wall clock */
    bool ready;
    const char *reason; /* why it is not ready, or what is degraded; "" = neither */
};

void service_about_respond(struct http_exchange *exchange, const struct service_about *about);

#endif
