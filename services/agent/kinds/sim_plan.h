/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of a simulated call: a function of seed, idempotency key and attempt. Pure. */
#ifndef SERVICES_AGENT_KINDS_SIM_PLAN_H
#define SERVICES_AGENT_KINDS_SIM_PLAN_H

#include "base/error.h"
#include "engine/engine.h"
#include "platform/config/config.h"

enum sim_latency_kind { SIM_LATENCY_FIXED, SIM_LATENCY_NORMAL, SIM_LATENCY_EXPONENTIAL };

struct sim_latency {
    enum sim_latency_kind kind;
    double mean_ms;
    double deviation_ms; /* of SIM_LATENCY_NORMAL */
};

struct sim_options {
    struct sim_latency latency;
    double fail_share;    /* of dos: refused, nothing applied */
    double silent_share;  /* never answered */
    double unknown_share; /* an error of unknown effect */
    uint64_t seed;
};

enum sim_outcome { SIM_DONE, SIM_REFUSED, SIM_SILENT, SIM_UNKNOWN, SIM_OUTCOME_COUNT };

struct sim_plan {
    enum sim_outcome outcome;
    int64_t latency_ms;
};

/* What agent.sim.* says. REJECT Config. */
enum error_class sim_options_read(const struct config *config, struct sim_options *ret_options,
                                  struct error *ret_error);
/* For tests: "5", "fixed:5", "normal:20:5", "exp:10". REJECT Config. */
enum error_class sim_latency_parse(const char *text, struct sim_latency *ret_latency,
                                   struct error *ret_error);
struct sim_plan sim_plan_of(const struct sim_options *options, const struct step_request *request);

#endif
