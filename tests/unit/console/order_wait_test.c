/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}?wait=...: requests that wait for the end of an order. */
#include "services/console/live/order_waits.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static void open_world(void)
{
    world = world_new(1, "A B");
    world_open(world);
}

TestSuite(order_wait, .init = open_world, .fini = close_world);

static void turn(int times)
{
    while (times-- > 0)
        world_turn(world);
}

Test(order_wait, answers_when_the_order_has_ended)
{
    world_submit(world, "o-1", "test");
    world_schedule(world);
    world_settle(world);
    world_ask(world, "/api/orders/o-1?wait=30s", NULL);
    world_report(world, "o-1", "A", true);
    world_schedule(world);
    world_settle(world);
    turn(50);
    cr_assert(!world->answered, "the order goes on");
    world_report(world, "o-1", "B", true);
    world_schedule(world);
    SHOWS(world_answer(world, 200), {"state", "Processed"});
    SHOWS(world_get(world, 200, "/api/orders/o-1?wait=30s"), {"state", "Processed"});
}

Test(order_wait, waits_for_an_order_that_is_not_accepted_yet)
{
    world_ask(world, "/api/orders/o-2?wait=30s", NULL);
    turn(50);
    cr_assert(!world->answered);
    world_submit(world, "o-2", "test");
    world_schedule(world);
    world_report(world, "o-2", "A", true);
    world_schedule(world);
    world_report(world, "o-2", "B", true);
    world_schedule(world);
    SHOWS(world_answer(world, 200), {"order_id", "o-2"});
}

Test(order_wait, answers_with_what_there_is_when_the_time_is_over)
{
    world_submit(world, "o-1", "test");
    world_schedule(world);
    world_settle(world);
    world_ask(world, "/api/orders/o-1?wait=10s", NULL);
    turn(20);
    cr_assert(!world->answered);
    world_advance(world, 10001);
    SHOWS(world_answer(world, 200), {"state", "Processing"});
    world_ask(world, "/api/orders/o-9?wait=10s", NULL);
    turn(20);
    world_advance(world, 10001);
    json_decref(world_answer(world, 404));
}

static bool nothing_waits(void *ctx)
{
    return http_server_waits(ctx) == 0;
}

/* It would keep others from waiting until its time is over. */
Test(order_wait, ends_when_its_client_has_gone)
{
    world_ask(world, "/api/orders/o-1?wait=60s", NULL);
    turn(20);
    cr_assert_eq(http_server_waits(world->service.http), 1);
    http_client_free(world->client);
    world->client = NULL;
    cr_assert(loop_run_until(world->loop, nothing_waits, world->service.http, 10000));
}

Test(order_wait, answers_when_the_console_ends)
{
    world_ask(world, "/api/orders/o-1?wait=30s", NULL);
    turn(20);
    cr_assert(!world->answered);
    order_waits_drain(world->console->order_waits);
    json_decref(world_answer(world, 404));
    json_decref(world_get(world, 404, "/api/orders/o-1?wait=30s"));
}
