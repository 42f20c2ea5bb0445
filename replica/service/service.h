/* SPDX-License-Identifier: Apache-2.0 */
/* The main of every service: a service is a name and a few handlers.
 *
 *     static const struct service service = {.name = "scheduler", .start = start, ...};
 *     int scheduler_main(int argc, char **argv) { return service_main(&service, argc, argv); }
 *
 * service_main reads the configuration, opens the log, locks the data directory, starts the loop
 * and the HTTP server (livez, readyz, metrics, about; its port and URL are written to
 * <data.dir>/http.port and http.url), calls start, and runs the loop. SIGTERM or SIGINT: readyz
 * says no, drain is called, and the service calls service_drained when nothing of its own is
 * outstanding; after drain.timeout.ms it is stopped anyway. A second signal stops it at once. Then
 * stop is called and the process leaves with a code of exit_code.h. SIGKILL at any moment is safe
 * by design of the services. */
#ifndef REPLICA_SERVICE_SERVICE_H
#define REPLICA_SERVICE_SERVICE_H

#include "base/error.h"
#include "platform/clock.h"
#include "platform/config/config.h"
#include "platform/disk_guard.h"
#include "platform/exit_code.h"
#include "platform/http/server.h"
#include "platform/loop.h"
#include "platform/metrics.h"
#include "replica/service/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct service_process; /* what service_main() keeps of this process */

/* All borrowed, valid from start to the end of stop. A part of a service may use a copy with a
 * configuration of its own. */
struct service_context {
    const char *name;
    const char *part;                /* of a process that hosts several; NULL: it hosts one */
    struct service_process *process; /* NULL in a command or a test, which have no service_main() */
    const char *instance_id;
    const char *data_dir; /* exists, is locked by this process */
    const struct clock *clock;
    struct config *config;
    struct loop *loop;
    struct metrics *metrics;
    struct http_server *http;
    struct disk_guard *disk; /* NULL: the free space is not watched */
    /* While this returns true, readyz answers 503 with the reason. The cluster sets it while it is
     * open; NULL: there is none yet. */
    bool (*in_trouble)(const void *ctx, char *ret_reason, size_t reason_size);
    const void *in_trouble_ctx;
    /* Called once if the first request for metadata gets no answer. NULL: a line in the log. */
    void (*on_no_broker)(void *ctx, const char *servers, const char *refusal);
    void *on_no_broker_ctx;
    /* Called by service_fail(). NULL in a process of service_main(), which ends. */
    void (*on_failure)(void *ctx, const struct error *error);
    void *on_failure_ctx;
};

struct service {
    const char *name;                   /* "scheduler" */
    unsigned bit;                       /* SETTINGS_SCHEDULER: which keys --help shows */
    const struct config_schema *schema; /* NULL = settings_schema */
    /* Keeps stores below data.dir: their disk is watched, and readyz says no while it is low. */
    bool has_stores;
    /* All that its HTTP server serves: service_about_routes and http_built_in_routes as well. Ends
     * with NULL. */
    const struct http_routes *const *routes;
    /* Refuses a configuration that it cannot run with, before anything is created. May be NULL. */
    enum error_class (*check)(const struct config *config, struct error *ret_error);
    /* Builds the service; *ret_state goes to the other handlers. An error ends the process:
     * class RETRY with 69, REJECT with 65 (78 if its code is Config), FATAL with 70. */
    enum error_class (*start)(struct service_context *context, void **ret_state,
                              struct error *ret_error);
    /* Ready to take work? Else a reason in one line. May be NULL. */
    bool (*ready)(void *state, char *ret_reason, size_t reason_size);
    /* It takes work, but something for operators to see is wrong, in one line. May be NULL. */
    bool (*degraded)(void *state, char *ret_reason, size_t reason_size);
    /* Begin to finish; call service_drained when done (from here or later). NULL = nothing to
     * finish. */
    void (*drain)(void *state);
    /* Frees everything; the loop does not run any more. Called iff start succeeded. May be NULL. */
    void (*stop)(void *state);
};

/* /about, which every service has. */
extern const struct http_routes service_about_routes;

/* argv as after `reeve run SERVICE`: flags only, no program name. */
int service_main(const struct service *service, int argc, char *const argv[]);

/* Nothing outstanding: the loop ends with this turn. */
void service_drained(struct service_context *context);
/* The service cannot continue: logs the error and ends the loop, the exit code follows from the
 * class. */
void service_fail(struct service_context *context, const struct error *error);
/* False: a command, which goes on as well as it can after service_fail(). */
bool service_can_fail(const struct service_context *context);

#endif
