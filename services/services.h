/* SPDX-License-Identifier: Apache-2.0 */
/* The services: what `reeve run SERVICE` calls, with argv from after the service's name, and the
 * HTTP routes of each, in tables that end with NULL. A main returns an exit code of
 * platform/exit_code.h. */
#ifndef SERVICES_SERVICES_H
#define SERVICES_SERVICES_H

#include "platform/http/routes.h"

#define SERVICES(X) X(submission) X(scheduler) X(agent) X(supervisor) X(console)

#define SERVICES_DECLARE(name)              \
    int name##_main(int argc, char **argv); \
    extern const struct http_routes *const name##_routes[];
SERVICES(SERVICES_DECLARE)
#undef SERVICES_DECLARE

#endif
