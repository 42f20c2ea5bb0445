/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_plan.h. */
#include "services/agent/kinds/sim_plan.h"

#include "base/numbers.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#define LATENCY_MS_MAX 3600000.0

/* A number of milliseconds at the front of *rest, which then begins behind it. */
static bool read_ms(struct text *rest, double *ret_ms)
{
    double ms;
    if (!number_take_real(rest, &ms) || !(ms >= 0) || ms > LATENCY_MS_MAX)
        return false;
    *ret_ms = ms;
    return true;
}

static bool skip(struct text *rest, struct text prefix)
{
    if (rest->size < prefix.size || memcmp(rest->data, prefix.data, prefix.size) != 0)
        return false;
    *rest = text_from(*rest, prefix.size);
    return true;
}

enum error_class sim_latency_parse(const char *text, struct sim_latency *ret_latency,
                                   struct error *ret_error)
{
    struct sim_latency latency = {.kind = SIM_LATENCY_FIXED};
    struct text rest = text_of(text);
    if (skip(&rest, TEXT("normal:")))
        latency.kind = SIM_LATENCY_NORMAL;
    else if (skip(&rest, TEXT("exp:")))
        latency.kind = SIM_LATENCY_EXPONENTIAL;
    else
        skip(&rest, TEXT("fixed:"));
    bool valid = read_ms(&rest, &latency.mean_ms);
    if (valid && latency.kind == SIM_LATENCY_NORMAL)
        valid = skip(&rest, TEXT(":")) && read_ms(&rest, &latency.deviation_ms);
    if (!valid || rest.size > 0)
        return error_set(
            ret_error, CODE_CONFIG,
            "agent.sim.latency.ms: %.64s is not a latency; write 5, normal:20:5 (mean, deviation) "
            "or exp:10 (mean)",
            text);
    *ret_latency = latency;
    return ERROR_OK;
}

enum error_class sim_options_read(const struct config *config, struct sim_options *ret_options,
                                  struct error *ret_error)
{
    struct sim_options options = {
        .fail_share = config_double(config, "agent.sim.fail.share"),
        .silent_share = config_double(config, "agent.sim.silent.share"),
        .unknown_share = config_double(config, "agent.sim.unknown.share"),
        .seed = (uint64_t)config_int(config, "agent.sim.seed"),
    };
    if (options.fail_share + options.silent_share + options.unknown_share > 1)
        return error_set(ret_error, CODE_CONFIG,
                         "agent.sim.fail.share, .silent.share and .unknown.share add up to more "
                         "than 1");
    enum error_class class = sim_latency_parse(config_string(config, "agent.sim.latency.ms"),
                                               &options.latency, ret_error);
    if (class == ERROR_OK)
        *ret_options = options;
    return class;
}

/* The n-th number between 0 and 1 (excluded) that belongs to the call. */
static double draw(uint64_t call, uint64_t n)
{
    return ((double)(XXH3_64bits_withSeed(&n, sizeof(n), call) >> 11) + 0.5) * 0x1p-53;
}

static double draw_latency_ms(const struct sim_latency *latency, uint64_t call)
{
    double ms = latency->mean_ms;
    switch (latency->kind) {
    case SIM_LATENCY_FIXED:
        break;
    case SIM_LATENCY_NORMAL: /* Box and Muller */
        ms += latency->deviation_ms * sqrt(-2 * log(draw(call, 1))) *
              cos(2 * 3.14159265358979323846 * draw(call, 2));
        break;
    case SIM_LATENCY_EXPONENTIAL:
        ms *= -log(draw(call, 1));
        break;
    }
    return ms < 0 ? 0 : ms > LATENCY_MS_MAX ? LATENCY_MS_MAX : ms;
}

struct sim_plan sim_plan_of(const struct sim_options *options, const struct step_request *request)
{
    uint64_t call = XXH3_64bits_withSeed(request->idempotency_key.data,
                                         request->idempotency_key.size, options->seed);
    uint64_t attempt = request->ref.attempt;
    call = XXH3_64bits_withSeed(&attempt, sizeof(attempt), call);
    struct sim_plan plan = {
        .outcome = SIM_DONE,
        .latency_ms = (int64_t)(draw_latency_ms(&options->latency, call) + 0.5),
    };
    double lot = draw(call, 3);
    double refused = request->ref.direction == DIRECTION_DO ? options->fail_share : 0;
    if (lot < refused)
        plan.outcome = SIM_REFUSED;
    else if (lot < refused + options->silent_share)
        plan.outcome = SIM_SILENT;
    else if (lot < refused + options->silent_share + options->unknown_share)
        plan.outcome = SIM_UNKNOWN;
    return plan;
}
