/* SPDX-License-Identifier: Apache-2.0 */
/* The circuit breaker by itself. */
#include "services/agent/health/circuit.h"

#include <criterion/criterion.h>
#include <stdio.h>

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

/* An order that was never seen before. */
static struct text new_order(void)
{
    static char text[32];
    static int number;
    int size = snprintf(text, sizeof(text), "order-%d", number++);
    return (struct text){text, (uint32_t)size};
}

/* Calls of as many orders that begin and end at this time. True: it changed. */
static bool calls(struct circuit *circuit, int64_t at, int healthy, int failed)
{
    bool changed = false;
    for (int i = 0; i < healthy; i++)
        changed |= circuit_ended(circuit, new_order(), at, at, false);
    for (int i = 0; i < failed; i++)
        changed |= circuit_ended(circuit, new_order(), at, at, true);
    return changed;
}

static bool call_of(struct circuit *circuit, const char *order, int64_t at, bool failed)
{
    return circuit_ended(circuit, text_of(order), at, at, failed);
}

Test(circuit, opens_when_too_many_orders_fail)
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

Test(circuit, drops_old_orders_from_the_window)
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
    cr_assert_not(circuit_ended(&circuit, new_order(), 499, 600, true)); /* began before */
    cr_assert_not(circuit_ended(&circuit, new_order(), 499, 600, false));
    cr_assert_not(calls(&circuit, 600, 2, 0));
    cr_assert_eq(circuit_limit(&circuit), 3);
    cr_assert(calls(&circuit, 600, 1, 0));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_CLOSED);
    cr_assert_not(calls(&circuit, 600, 0, 9)); /* it starts afresh */
    cr_assert_not(circuit_ended(&circuit, new_order(), 0, 600, true));
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

Test(circuit, counts_an_order_once_however_often_it_is_tried)
{
    struct circuit circuit = circuit_new();
    for (int64_t at = 0; at < 60000; at += 10) {
        cr_assert_not(call_of(&circuit, "poison-1", at, true));
        cr_assert_not(call_of(&circuit, "poison-2", at, true));
        if (at % 250 == 0)
            cr_assert_not(calls(&circuit, at, 1, 0)); /* four a second: a third of all fail */
    }
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_CLOSED);
    cr_assert(circuit_is_offender(&circuit, TEXT("poison-1"), 60000));
    cr_assert_not(circuit_is_offender(&circuit, TEXT("poison"), 60000));
    cr_assert_not(circuit_is_offender(&circuit, TEXT("poison-1"), 60000 + CIRCUIT_OFFENDER_MS));
}

Test(circuit, forgives_an_order_that_succeeds_in_the_end)
{
    struct circuit circuit = circuit_new();
    char order[16];
    for (int i = 0; i < 9; i++) {
        snprintf(order, sizeof(order), "o%d", i);
        cr_assert_not(call_of(&circuit, order, 100, true));
    }
    for (int i = 0; i < 9; i++) {
        snprintf(order, sizeof(order), "o%d", i);
        cr_assert_not(call_of(&circuit, order, 450, false));
        cr_assert_not(circuit_is_offender(&circuit, text_of(order), 450));
    }
    cr_assert_not(calls(&circuit, 500, 0, 8)); /* 8 of 17 */
    cr_assert_not(calls(&circuit, 500, 1, 0));
    cr_assert_not(calls(&circuit, 500, 0, 1)); /* 9 of 19 */
    cr_assert(calls(&circuit, 500, 0, 1));     /* 10 of 20 */
}

Test(circuit, is_not_opened_by_offenders_while_half_open)
{
    struct circuit circuit = circuit_new();
    cr_assert_not(call_of(&circuit, "poison", 0, true));
    cr_assert(calls(&circuit, 0, 0, 9));
    circuit_half_open(&circuit, 500);
    for (int i = 0; i < 100; i++)
        cr_assert_not(call_of(&circuit, "poison", 510, true));
    cr_assert_eq(circuit_limit(&circuit), 1);
    cr_assert_not(calls(&circuit, 520, 1, 0));
    cr_assert_not(call_of(&circuit, "poison", 530, true));
    cr_assert_eq(circuit_limit(&circuit), 2); /* nor does one end the row of successes */
    cr_assert_not(call_of(&circuit, "poison", 540, false));
    cr_assert(calls(&circuit, 540, 1, 0));
    cr_assert_eq(circuit.state, AGENT_CIRCUIT_CLOSED);
}

Test(circuit, opens_again_when_many_offenders_fail)
{
    struct circuit circuit = circuit_new();
    char order[16];
    bool opened = false;
    for (int i = 0; i < 10; i++) {
        snprintf(order, sizeof(order), "o%d", i);
        opened = call_of(&circuit, order, 0, true);
    }
    cr_assert(opened);
    for (int round = 0; round < 3; round++) {
        circuit_half_open(&circuit, 500);
        for (int i = 0; i < 10; i++) {
            snprintf(order, sizeof(order), "o%d", i);
            opened = call_of(&circuit, order, 600, true);
            cr_assert_eq(opened, i == 9, "%d", i);
        }
    }
    cr_assert_eq(circuit_open_ms(&circuit), 1600);
}

/* More offenders than it remembers: each counts as a new one. */
Test(circuit, bears_more_offenders_than_it_remembers)
{
    struct circuit circuit = circuit_new();
    for (int i = 0; i < 100000; i++)
        calls(&circuit, i, 1, 1);
    cr_assert_leq(circuit.offender_count, CIRCUIT_OFFENDER_SETS * CIRCUIT_OFFENDER_WAYS);
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
