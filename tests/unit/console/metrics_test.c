/* SPDX-License-Identifier: Apache-2.0 */
/* The console's gauges of what waits for an operator. */
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_world(void)
{
    world = world_new(5, "A B{e}");
    world->now = clock_wall_ms(clock_real());
    world_open(world);
}

TestSuite(console_metrics, .init = open_world, .fini = close_world, .timeout = 120);

/* -1: it is not shown. */
static double value_of(const char *series)
{
    size_t size = 0;
    char line[128];
    char *text = metrics_render(world->service.metrics, &size);
    snprintf(line, sizeof(line), "\nreeve_console_%s ", series);
    const char *found = strstr(text, line);
    double value = found != NULL ? strtod(found + strlen(line), NULL) : -1;
    free(text);
    return value;
}

/* The console reads the alerts' topic on its own. */
static void wait_for_alerts(const char *about, double count)
{
    char series[64];
    snprintf(series, sizeof(series), "open_alerts{about=\"%s\"}", about);
    for (int turn = 0; turn < 1000 && value_of(series) != count; turn++)
        world_turn(world);
    cr_assert_eq(value_of(series), count);
}

static const char operator[] = "{\"by\": \"ann\", \"reason\": \"x\"}";

static void fail(const char *id)
{
    world_submit(world, id, "test");
    world_schedule(world);
    world_report(world, id, "A", true);
    world_schedule(world);
    world_report(world, id, "B", false);
    world_schedule(world);
    cr_assert_eq(world_order(world, id)->state, ORDER_ERROR);
}

Test(console_metrics, show_how_long_the_oldest_order_has_been_in_error)
{
    world_settle(world);
    cr_assert_eq(value_of("oldest_error_age_seconds"), 0);
    cr_assert_eq(value_of("open_alerts{about=\"order\"}"), 0);
    fail("old");
    int64_t since = world->now;
    world->now += 60000;
    fail("new");
    world->schedules = true;
    json_decref(world_post(world, 200, "/api/orders/old/pause", operator)); /* it changes */
    world_settle(world);
    world->offset_ms = world->now + 30000 - clock_wall_ms(clock_real());
    double age = (double)(world->now + 30000 - since) / 1000;
    cr_assert_eq(value_of("orders{state=\"Error\"}"), 2);
    cr_assert_eq(value_of("open_alerts{about=\"order\"}"), 2);
    cr_assert_float_eq(value_of("oldest_error_age_seconds"), age, 5);
    world_close(world);
    world_open(world); /* from its store */
    world_settle(world);
    cr_assert_float_eq(value_of("oldest_error_age_seconds"), age, 10);
    world->schedules = true;
    json_decref(
        world_post(world, 200, "/api/orders/old/resubmit", "{\"by\": \"ann\", \"reason\": \"x\"}"));
    world_settle(world);
    cr_assert_eq(value_of("open_alerts{about=\"order\"}"), 1);
    cr_assert_float_eq(value_of("oldest_error_age_seconds"), 30, 10);
}

Test(console_metrics, count_open_alerts_by_what_they_are_about)
{
    world_alert(world, 1, true, "Stalled", "partition 1 stalls");
    world_alert(world, 2, true, "Stalled", "partition 2 stalls");
    world_alert(world, -1, true, "ClockSkew", "its clock is wrong");
    wait_for_alerts("partition", 2);
    wait_for_alerts("other", 1);
    world_alert(world, 2, false, "Stalled", "it goes on");
    wait_for_alerts("partition", 1);
}
