/* SPDX-License-Identifier: Apache-2.0 */
/* An agent in one file: works out the tax of an order. README.md tells how to build and run it.
 *
 * The "remote service" is a function here, so each call is finished from inside execute(). An agent
 * that really waits for something keeps the call and finishes it later, in a callback of the loop
 * (platform/loop.h). */
#include "schemas/codec.h"
#include "services/agent/sdk/agent.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct country {
    struct text code;
    int64_t percent;
};

/* What start() builds from the configuration and the others get as `ctx`. */
struct tax_agent {
    struct country countries[3];
    size_t country_count;
};

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    (void)service; /* service->config has the settings, service->loop the loop */
    struct tax_agent *agent = malloc(sizeof(*agent));
    if (agent == NULL)
        return error_set(ret_error, ERROR_FATAL, "OutOfMemory", "no memory for the tax table");
    *agent = (struct tax_agent){
        .countries = {{TEXT("DE"), 19}, {TEXT("FR"), 20}, {TEXT("GB"), 20}},
        .country_count = 3,
    };
    *ret_ctx = agent;
    return ERROR_OK;
}

static void stop(void *ctx)
{
    free(ctx);
}

/* The attribute "country" of the order; without one it is GB. */
static struct text country_of(const struct order_details *order)
{
    for (uint32_t i = 0; i < order->attribute_count; i++)
        if (text_equal(order->attributes[i].name, TEXT("country")))
            return order->attributes[i].value;
    return TEXT("GB");
}

/* False: the sum is out of range. */
static bool sum_up(const struct order_details *order, int64_t *ret_unscaled)
{
    int64_t sum = 0, price;
    for (uint32_t i = 0; i < order->line_count; i++) {
        const struct order_line *line = &order->lines[i];
        if (__builtin_mul_overflow(line->quantity, line->unit_price.unscaled, &price) ||
            __builtin_add_overflow(sum, price, &sum))
            return false;
    }
    *ret_unscaled = sum;
    return sum >= -DECIMAL_UNSCALED_MAX / 100 && sum <= DECIMAL_UNSCALED_MAX / 100;
}

/* A definite no: nothing happened and asking again would not help. */
static void refuse(struct agent_call *call, struct text name, struct text message)
{
    agent_call_fail(
        call, &(struct agent_failure){
                  .name = name, .message = message, .effect = EFFECT_NONE, .retriable = false});
}

static void execute(void *ctx, struct agent_call *call)
{
    const struct tax_agent *agent = ctx;
    const struct order_details *order = call->request->order;
    struct text code = country_of(order);
    const struct country *country = NULL;
    char amount[DECIMAL_TEXT_MAX], output[128];
    int64_t sum;
    for (size_t i = 0; i < agent->country_count; i++)
        if (text_equal(agent->countries[i].code, code))
            country = &agent->countries[i];
    if (country == NULL) {
        refuse(call, TEXT("UnknownCountry"), TEXT("there is no tax rate for the order's country"));
        return;
    }
    if (!sum_up(order, &sum)) {
        refuse(call, TEXT("AmountTooLarge"), TEXT("the order's total is out of range"));
        return;
    }
    struct decimal tax = {sum * country->percent / 100};
    size_t size = decimal_format(tax, amount);
    int length =
        snprintf(output, sizeof(output), "{\"tax\":\"%.*s\",\"country\":\"%.*s\",\"percent\":%d}",
                 (int)size, amount, TEXT_ARG(country->code), (int)country->percent);
    assert(length > 0 && (size_t)length < sizeof(output));
    agent_call_succeed(call, (struct text){output, (uint32_t)length});
}

/* Working out a tax leaves nothing behind that could be undone. */
static void compensate(void *ctx, struct agent_call *call)
{
    (void)ctx;
    agent_call_succeed(call, TEXT(""));
}

static const struct agent_ops tax_agent = {
    .name = "tax",
    .start = start,
    .execute = execute,
    .compensate = compensate,
    .stop = stop,
};

int main(int argc, char **argv)
{
    return agent_run(&tax_agent, argc - 1, argv + 1);
}
