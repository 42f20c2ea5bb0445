/* SPDX-License-Identifier: Apache-2.0 */
/* An agent in one file: works out the tax of an order. README.md shows how to build and run it.
 *
 * The "remote service" is a function here, so each call is finished inside execute(). An agent
 * whose service takes time keeps the call, lets a thread do the work, and finishes the call when
 * that thread has sent a wakeup (reeve_wakeup_new).
 *
 * The file is valid C17 and C++17. */
#include <reeve/agent.h>

#include <stdio.h>
#include <stdlib.h>

struct country {
    const char *code;
    int percent;
};

/* What start() builds and the others get as `ctx`. */
struct tax_agent {
    struct country countries[3];
};

static bool start(struct reeve_agent *agent, void **ret_ctx)
{
    static const struct tax_agent rates = {{{"DE", 19}, {"FR", 20}, {"GB", 20}}};
    struct tax_agent *tax = (struct tax_agent *)malloc(sizeof(*tax));
    if (tax == NULL) {
        reeve_agent_fail(agent, REEVE_AGENT_FATAL, "no memory for the tax rates");
        return false;
    }
    *tax = rates;
    *ret_ctx = tax;
    return true;
}

static void stop(void *ctx)
{
    free(ctx);
}

/* The rate for the country that the order's attribute "country" names; without the attribute it is
 * GB. NULL: there is none. */
static const struct country *country_of(const struct tax_agent *tax,
                                        const struct reeve_agent_call *call)
{
    struct reeve_text code = reeve_agent_call_attribute(call, "country");
    if (code.data == NULL)
        code = reeve_text_of("GB");
    for (size_t i = 0; i < sizeof(tax->countries) / sizeof(tax->countries[0]); i++)
        if (reeve_text_is(code, tax->countries[i].code))
            return &tax->countries[i];
    return NULL;
}

/* False: the sum is out of range. */
static bool sum_up(const struct reeve_agent_call *call, int64_t *ret_sum)
{
    const int64_t most = INT64_C(999999999999999999) / 100;
    int64_t sum = 0, price;
    for (uint32_t i = 0; i < reeve_agent_call_line_count(call); i++) {
        struct reeve_order_line line = reeve_agent_call_line(call, i);
        if (__builtin_mul_overflow(line.quantity, line.unit_price, &price) ||
            __builtin_add_overflow(sum, price, &sum))
            return false;
    }
    *ret_sum = sum;
    return sum >= -most && sum <= most;
}

/* A definite no: nothing happened, and asking again would not help. */
static void refuse(struct reeve_agent_call *call, const char *name, const char *message)
{
    static struct reeve_agent_failure failure;
    failure.name = name;
    failure.message = message;
    failure.effect = REEVE_EFFECT_NONE;
    reeve_agent_call_fail(call, &failure);
}

static void execute(void *ctx, struct reeve_agent_call *call)
{
    const struct country *country = country_of((const struct tax_agent *)ctx, call);
    char amount[REEVE_PRICE_SIZE], output[128];
    int64_t sum;
    if (country == NULL) {
        refuse(call, "UnknownCountry", "the order's country has no tax rate");
        return;
    }
    if (!sum_up(call, &sum)) {
        refuse(call, "AmountTooLarge", "the order's total is out of range");
        return;
    }
    reeve_price_format(sum * country->percent / 100, amount);
    snprintf(output, sizeof(output), "{\"tax\":\"%s\",\"country\":\"%s\",\"percent\":%d}", amount,
             country->code, country->percent);
    reeve_agent_call_succeed(call, output);
}

/* Working out a tax leaves nothing behind that could be undone. */
static void compensate(void *ctx, struct reeve_agent_call *call)
{
    (void)ctx;
    reeve_agent_call_succeed(call, NULL);
}

int main(int argc, char **argv)
{
    static struct reeve_agent_ops tax_agent;
    tax_agent.name = "tax";
    tax_agent.start = start;
    tax_agent.execute = execute;
    tax_agent.compensate = compensate;
    tax_agent.stop = stop;
    return reeve_agent_run(&tax_agent, argc - 1, argv + 1);
}
