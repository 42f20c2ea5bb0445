/* SPDX-License-Identifier: Apache-2.0 */
/* Files of schedules: what they say, and how mistakes are explained. */
#include "base/heap_arena.h"
#include "schedule/schedule_file.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define NIGHTLY           \
    "Schedule: nightly\n" \
    "Cron: \"0 3 * * *\"\n"

static struct heap_arena heap;
static struct workflow_problems problems;

static void set_up(void)
{
    heap_arena_init(&heap, 64 * 1024);
}

static void tear_down(void)
{
    heap_arena_deinit(&heap);
}

TestSuite(schedule_file, .init = set_up, .fini = tear_down);

static const struct schedule *parsed(const char *text)
{
    struct schedule *schedule = NULL;
    cr_assert(schedule_parse(text_of(text), WORKFLOW_YAML, &heap.arena, &problems, &schedule),
              "%s: %u:%u: %s", text, problems.items[0].line, problems.items[0].column,
              problems.items[0].text);
    return schedule;
}

static void expect_problems(const char *text, const char *expected)
{
    char found[2048] = "";
    size_t used = 0;
    struct schedule *schedule = NULL;
    cr_assert(!schedule_parse(text_of(text), WORKFLOW_YAML, &heap.arena, &problems, &schedule),
              "%s", text);
    for (uint32_t i = 0; i < problems.count; i++)
        used += (size_t)snprintf(found + used, sizeof(found) - used, "%u:%u: %s\n",
                                 problems.items[i].line, problems.items[i].column,
                                 problems.items[i].text);
    cr_expect_str_eq(found, expected, "%s\n%s", text, found);
}

static struct order_details order_of(const struct schedule *schedule, int64_t tick)
{
    struct order_details details;
    struct error error;
    cr_assert_eq(schedule_order(schedule, tick, &heap.arena, &details, &error), ERROR_OK, "%s",
                 error.message);
    return details;
}

#define TICK INT64_C(1795485600) /* 2026-11-24T02:00:00Z */

Test(schedule_file, makes_the_order_of_a_tick)
{
    const struct schedule *schedule =
        parsed(NIGHTLY "TimeZone: Europe/Berlin\n"
                       "CatchUpSeconds: 60\n"
                       "Order: {workflow: billing, input: {month: \"${tick}\", all: true}}\n");
    cr_assert(text_equal(schedule->name, TEXT("nightly")));
    cr_assert(text_equal(schedule->zone, TEXT("Europe/Berlin")));
    cr_assert_eq(schedule->catch_up_s, 60);
    cr_assert_eq(ticks_next(&schedule->ticks, TICK - 1), TICK);
    struct order_details details = order_of(schedule, TICK);
    cr_assert(text_equal(details.order_id, TEXT("nightly@2026-11-24T02:00Z")));
    cr_assert(text_equal(details.workflow, TEXT("billing")));
    cr_assert(text_equal(details.input, TEXT("{\"all\":true,\"month\":\"2026-11-24T02:00:00Z\"}")),
              "%.*s", TEXT_ARG(details.input));
}

Test(schedule_file, takes_all_that_an_order_has)
{
    const struct schedule *schedule =
        parsed("Comment: for the stock\nSchedule: refill\nEverySeconds: 900\n"
               "Order:\n  Comment: of each quarter\n  workflow: order-fulfilment\n"
               "  workflow_version: 2\n  customer: shop\n  currency: EUR\n  priority: low\n"
               "  reply_to: orders.replies.shop\n  attributes: {b: two, a: one}\n"
               "  lines: [{sku: s, quantity: 2, unit_price: \"1.50\"}]\n  input: 3\n");
    cr_assert_eq(schedule->ticks.every_s, 900);
    cr_assert_eq(schedule->catch_up_s, SCHEDULE_CATCH_UP_S);
    struct order_details details = order_of(schedule, TICK + 900);
    cr_assert(text_equal(details.order_id, TEXT("refill@2026-11-24T02:15Z")));
    cr_assert_eq(details.workflow_version, 2);
    cr_assert_eq(details.priority, PRIORITY_LOW);
    cr_assert_eq(details.attribute_count, 2);
    cr_assert(text_equal(details.attributes[0].name, TEXT("a")));
    cr_assert(text_equal(details.input, TEXT("3")));
}

Test(schedule_file, reads_json)
{
    struct schedule *schedule = NULL;
    cr_assert(schedule_parse(TEXT("{\"Schedule\": \"n\", \"EverySeconds\": 60, \"Order\": "
                                  "{\"workflow\": \"w\"}}"),
                             WORKFLOW_JSON, &heap.arena, &problems, &schedule));
    cr_assert(
        !schedule_parse(TEXT("Schedule: n"), WORKFLOW_JSON, &heap.arena, &problems, &schedule));
}

Test(schedule_file, explains_what_is_missing_or_unknown)
{
    expect_problems("{}", "1:1: the schedule has no Cron or EverySeconds\n"
                          "1:1: the schedule has no Schedule\n"
                          "1:1: the schedule has no Order\n");
    expect_problems(NIGHTLY "TimeZoen: UTC\nOrder: {workflow: w}\n",
                    "3:1: TimeZoen is an unknown field of the schedule: did you mean TimeZone?\n");
    expect_problems(NIGHTLY "Order: {worklow: w}\n",
                    "3:8: Order has no workflow\n"
                    "3:9: worklow is an unknown field of Order: did you mean workflow?\n");
    expect_problems(NIGHTLY "Order: {workflow: w, order_id: x}\n",
                    "3:22: there is no field order_id here: the order of a tick has the id "
                    "NAME@TICK\n");
    expect_problems(NIGHTLY "Input: 1\nOrder: {workflow: w}\n",
                    "3:1: there is no field Input here: input is a field of Order\n");
    expect_problems(NIGHTLY "Order: w\n", "3:8: Order must be a mapping of fields, not a text\n");
}

Test(schedule_file, explains_when_it_cannot_be_due)
{
    expect_problems("Schedule: n\nCron: 0 25 * * *\nOrder: {workflow: w}\n",
                    "2:9: Cron: \"25\" is not an hour: expected 0 to 23, or *\n");
    expect_problems("Schedule: n\nCron: '0 3 * * FRB'\nOrder: {workflow: w}\n",
                    "2:16: Cron: \"FRB\" is not a weekday: did you mean FRI?\n");
    expect_problems(NIGHTLY "TimeZone: Europe/Berlni\nOrder: {workflow: w}\n",
                    "3:11: TimeZone: \"Europe/Berlni\" is not a time zone: did you mean "
                    "Europe/Berlin?\n");
    expect_problems(NIGHTLY "EverySeconds: 60\nOrder: {workflow: w}\n",
                    "3:1: the schedule has Cron or EverySeconds, not both\n");
    expect_problems("Schedule: n\nEverySeconds: 60\nTimeZone: UTC\nOrder: {workflow: w}\n",
                    "3:1: TimeZone belongs to Cron: EverySeconds counts in UTC\n");
    expect_problems("Schedule: n\nEverySeconds: 0\nOrder: {workflow: w}\n",
                    "2:15: EverySeconds must be from 1 to 31622400, not 0\n");
    expect_problems(NIGHTLY "CatchUpSeconds: 518401\nOrder: {workflow: w}\n",
                    "3:17: CatchUpSeconds must be from 0 to 518400, not 518401\n");
    expect_problems("Schedule: -n\nEverySeconds: 1\nOrder: {workflow: w}\n",
                    "1:11: Schedule must not begin with '-': the ids of its orders would\n");
}

Test(schedule_file, explains_what_is_not_an_order)
{
    expect_problems(NIGHTLY "Order: {workflow: w, priority: hihg}\n",
                    "3:32: priority \"hihg\" is unknown: did you mean high?\n");
    expect_problems(NIGHTLY "Order: {workflow: w, workflow_version: 0}\n",
                    "3:40: workflow_version must be from 1 to 2147483647, not 0\n");
    expect_problems(
        NIGHTLY "Order:\n  workflow: w\n  lines: [{sku: s, quantty: 1}]\n",
        "5:10: Order: unknown field \"lines[0].quantty\": did you mean \"quantity\"?\n");
    expect_problems(NIGHTLY "Order:\n  workflow: w\n  lines: [{sku: s, quantity: 1, unit_price: "
                            "\"1\"}]\n",
                    "4:3: Order: currency is missing: prices need one (ISO 4217)\n");
    expect_problems(NIGHTLY "Order: {workflow: w, input: \"${tik}\"}\n",
                    "3:32: there is no name tik: did you mean tick?\n");
    expect_problems(NIGHTLY "Order: {workflow: w, input: \"${order.id}\"}\n",
                    "3:32: order is not known here\n");
    expect_problems(NIGHTLY "Order: {workflow: w, input: \"${int(tick)}\"}\n",
                    "3:8: Order: input: int() takes a text that is a whole number: column 1 of "
                    "int(tick)\n");
}

Test(schedule_file, refuses_a_text_over_its_limit)
{
    struct schedule *schedule = NULL;
    static char text[SCHEDULE_BYTES_MAX + 1];
    memset(text, ' ', sizeof(text));
    cr_assert(!schedule_parse((struct text){text, sizeof(text)}, WORKFLOW_YAML, &heap.arena,
                              &problems, &schedule));
    cr_assert_str_eq(problems.items[0].text, "the file has 65537 bytes; the limit is 65536");
}
