/* SPDX-License-Identifier: Apache-2.0 */
/* The circuit breaker by itself. */
#include "services/agent/health/circuit.h"

#include <criterion/criterion.h>

static const struct circuit_options usual = {.errors_min = 10,
                                             .errors_percent = 50,
                                             .window_ms = 1000,
                                             .open_ms = 500,
                                             .open_ms_max = 1600,
                                             .successes = 3};

static struct circuit circuit_new(void)
{
    struct circuit circuit;
    circuit_init(&circuit, &usual, 0);
    return circuit;
}

/* Calls that begin and end at this time. True: it changed. */
static bool calls(struct circuit *circuit, int64_t at, int fine, int failed)
{
    bool changed = false;
    for (int i = 0; i < fine; i++)
        changed |= circuit_ended(circuit, at, at, false);
    for (int i = 0; i < failed; i++)
        changed |= circuit_ended(circuit, at, at, true);
    return changed;
}

Test(circuit, opens_when_too_many_calls_fail)
{
    struct circuit circuit = circuit_new();
    cr_assert_not(calls(&circuit, 100, 0, 9)); /* all failed, but they are few */
    cr_assert_eq(circuit_limit(&circuit), UINT32_MAX);
    cr_assert(calls(&circuit, 150, 0, 1));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_OPEN);
    cr_assert_eq(circuit.since_ms, 150);
    cr_assert_eq(circuit_limit(&circuit), 0);
    struct circuit other = circuit_new();
    cr_assert_not(calls(&other, 100, 11, 10)); /* 10 of 21 */
    cr_assert(calls(&other, 100, 0, 1));       /* 11 of 22 */
}

Test(circuit, drops_old_calls_from_the_window)
{
    struct circuit circuit = circuit_new();
    for (int64_t at = 0; at < 100000; at += 250) /* never ten in a second */
        cr_assert_not(calls(&circuit, at, 0, 2));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_CLOSED);
    struct circuit other = circuit_new();
    cr_assert_not(calls(&other, 0, 1000, 0));
    cr_assert_not(calls(&other, 999, 0, 100)); /* a tenth of all */
    cr_assert(calls(&other, 1100, 0, 1));      /* the thousand successes are gone */
}

Test(circuit, closes_after_some_successes_in_a_row)
{
    struct circuit circuit = circuit_new();
    cr_assert(calls(&circuit, 0, 0, 10));
    cr_assert_not(calls(&circuit, 400, 5, 5)); /* of calls that were still running */
    circuit_half_open(&circuit, 500);
    cr_assert_eq(circuit_limit(&circuit), 1);
    cr_assert_not(circuit_ended(&circuit, 499, 600, true)); /* began before */
    cr_assert_not(circuit_ended(&circuit, 499, 600, false));
    cr_assert_not(calls(&circuit, 600, 2, 0));
    cr_assert_eq(circuit_limit(&circuit), 3);
    cr_assert(calls(&circuit, 600, 1, 0));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_CLOSED);
    cr_assert_not(calls(&circuit, 600, 0, 9)); /* it starts afresh */
    cr_assert_not(circuit_ended(&circuit, 0, 600, true));
    cr_assert(calls(&circuit, 600, 0, 1));
    cr_assert_eq(circuit_open_ms(&circuit), 500);
}

Test(circuit, stays_open_longer_each_time_in_a_row)
{
    struct circuit circuit = circuit_new();
    static const int64_t waits[] = {500, 1000, 1600, 1600};
    cr_assert(calls(&circuit, 0, 0, 10));
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        cr_assert_eq(circuit_open_ms(&circuit), waits[i]);
        circuit_half_open(&circuit, 1000);
        cr_assert_not(calls(&circuit, 1000, 1, 0));
        cr_assert(calls(&circuit, 1000, 0, 1));
    }
    circuit_open_again(&circuit, 2000);
    cr_assert_eq(circuit.since_ms, 2000);
    circuit.openings = UINT32_MAX;
    cr_assert_eq(circuit_open_ms(&circuit), 1600);
}

Test(circuit, never_opens_when_disabled)
{
    struct circuit_options options = usual;
    struct circuit circuit;
    options.errors_min = 0;
    circuit_init(&circuit, &options, 0);
    cr_assert_not(calls(&circuit, 0, 0, 1000));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_NONE);
    cr_assert_eq(circuit_limit(&circuit), UINT32_MAX);
}
