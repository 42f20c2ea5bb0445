/* SPDX-License-Identifier: Apache-2.0 */
/* Where a batch of Decisions ends, however long its commands take and however much they make. */
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMANDS = 60, BATCH_MAX = 100, BRANCHES = 30, TEXT_BYTES = 30000 };

TestSuite(owner_batch);

static struct owner_kit kit;
static struct owner_kit_process *process;

static double count(const char *series)
{
    size_t size = 0;
    char line[128];
    char *text = metrics_render(process->service.metrics, &size);
    snprintf(line, sizeof(line), "\n%s ", series);
    const char *found = strstr(text, line);
    double value = found != NULL ? strtod(found + strlen(line), NULL) : 0;
    free(text);
    return value;
}

static void begin(void)
{
    owner_kit_begin(&kit, 1);
    kit.batch_max = BATCH_MAX;
    process = owner_kit_boot(&kit, "s-1", 0);
}

/* All of them wait when the owner begins to decide. */
static void decide_all(void)
{
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 3000);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_decisions(&kit, 0), COMMANDS);
    cr_assert_eq(count("reeve_decisions_total"), (double)COMMANDS);
}

static void submit(struct text workflow, struct text input)
{
    for (uint32_t i = 0; i < COMMANDS; i++) {
        struct command cmd = owner_kit_submission(owner_kit_id(&kit, 0, i));
        cmd.submit_order.workflow = workflow;
        cmd.submit_order.input = input;
        owner_kit_command(&kit, &cmd);
    }
}

Test(owner_batch, decides_together_what_waits)
{
    begin();
    submit(TEXT("test"), (struct text){0});
    decide_all();
    cr_assert_leq(count("reeve_batches_total"), 3, "%g", count("reeve_batches_total"));
}

/* ---- time ---- */

enum { READ_US = 10000 };

/* Work takes time, so each look at the clock finds it later. */
static int64_t passing_us(void *ctx)
{
    struct clock_manual *clock = ctx;
    clock->now_mono_us += READ_US;
    return clock->now_mono_us;
}

Test(owner_batch, ends_after_100_ms_of_deciding)
{
    begin();
    submit(TEXT("test"), (struct text){0});
    process->clock.clock.mono_us = passing_us;
    decide_all();
    /* Each command reads the clock twice or more. */
    cr_assert_geq(count("reeve_batches_total"), COMMANDS * 2 * READ_US / 120000, "%g",
                  count("reeve_batches_total"));
}

/* The loop has a turn between two batches: a scheduler polls Kafka in it, for its group's sake. */
Test(owner_batch, leaves_the_loop_its_turns)
{
    const int64_t turn_max = 100000 / READ_US / 2 + 1;
    int64_t decided = 0;
    begin();
    submit(TEXT("test"), (struct text){0});
    process->clock.clock.mono_us = passing_us;
    struct owner *owner = owner_kit_own(process, 0);
    for (uint32_t turns = 0; decided < COMMANDS; turns++) {
        cr_assert_lt(turns, 10000);
        owner_kit_step(&kit);
        int64_t next = owner_is_running(owner) ? owner_next_command(owner) : 0;
        cr_assert_leq(next - decided, turn_max, "%d in one turn", (int)(next - decided));
        decided = next;
    }
}

/* ---- bytes ---- */

/* One submission of 30 KB starts 30 steps, each of which is sent all of it. */
static void deploy_many_inputs(void)
{
    static char source[BRANCHES * 100 + 100];
    int at = snprintf(source, sizeof(source), "{\"Name\": \"many\", \"Version\": 1, \"Steps\": [");
    for (int i = 0; i < BRANCHES; i++)
        at += snprintf(source + at, sizeof(source) - (size_t)at,
                       "%s{\"Name\": \"S%d\", \"After\": [], \"Agent\": \"agent\", "
                       "\"Input\": \"${input}\"}",
                       i == 0 ? "" : ", ", i);
    snprintf(source + at, sizeof(source) - (size_t)at, "]}");
    owner_kit_deploy(&kit, "many", 1, source);
    owner_kit_run(&kit, 1000);
}

Test(owner_batch, ends_after_some_megabytes_of_Decisions)
{
    static char input[TEXT_BYTES];
    memset(input, 'x', sizeof(input));
    input[0] = input[sizeof(input) - 1] = '"';
    begin();
    deploy_many_inputs();
    submit(TEXT("many"), (struct text){input, sizeof(input)});
    decide_all();
    cr_assert_gt(owner_kit_decision(&kit, 0, owner_kit_id(&kit, 0, 0))->event_count, BRANCHES);
    double bytes = (double)(COMMANDS * BRANCHES * TEXT_BYTES);
    cr_assert_geq(count("reeve_batches_total"), bytes / (16 * 1024 * 1024), "%g",
                  count("reeve_batches_total"));
}
