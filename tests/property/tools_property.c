/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that run while owners trim their logs, zombies write, brokers forget deletions and
 * operators reset partitions: `verify`, `verify --live`, `export orders` and a console that begins
 * with an empty store say what a fold of everything that was ever written says. */
#include "tests/lib/seed.h"
#include "tests/property/ownership_run.h"
#include "tests/property/tools_console.h"
#include "tests/property/tools_run.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A case takes as long as many others. */
enum { CASES = 2000, SHARE = 16, STEPS = 60, TOOL_PERCENT = 12, CONSOLE_CHECKS_PERCENT = 20 };

static uint64_t met[TOOLS_MET_COUNT];

static const char *const names[] = {
    [TOOLS_VERIFIED] = "logs verified",
    [TOOLS_VERIFIED_INSIDE] = "trimmed ones",
    [TOOLS_VERIFIED_TRIMMED] = "trimmed meanwhile",
    [TOOLS_COMPARED] = "live stores compared",
    [TOOLS_NOT_COMPARED] = "overtaken",
    [TOOLS_EXPORTED] = "logs exported",
    [TOOLS_EXPORTED_TRIMMED] = "trimmed meanwhile",
    [TOOLS_STOPPED] = "tools stopped",
    [TOOLS_CONSOLES] = "consoles compared",
    [TOOLS_CONSOLES_INSIDE] = "begun inside",
    [TOOLS_BEGUN_LATER] = "histories begun later",
    [TOOLS_ALERTS_OPEN] = "alerts open",
    [TOOLS_ALERTS_CLOSED] = "alerts closed",
    [TOOLS_FORGOTTEN] = "trims forgotten meanwhile",
    [TOOLS_SKIPPED] = "records skipped meanwhile",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == TOOLS_MET_COUNT, "every situation has a name");

static const char *use_a_tool(struct tools *tools)
{
    uint32_t tool = dice_roll(&tools->dice, 4);
    if (tool == 0)
        return tools_verify(tools, false);
    if (tool == 1)
        return tools_verify(tools, true);
    if (tool == 2)
        return tools_export_orders(tools);
    if (tools->console != NULL)
        tools_console_close(tools);
    tools_console_open(tools);
    return NULL;
}

static const char *one_case(struct ownership_run *run, uint64_t seed)
{
    struct tools *tools = tools_new(run, seed, met);
    const char *failed = NULL;
    setenv("TMPDIR", run->folder, 1);
    for (uint32_t step = 0; step < STEPS && failed == NULL; step++) {
        tools_go_on(tools);
        if (dice_percent(&tools->dice, TOOL_PERCENT))
            failed = use_a_tool(tools);
        if (failed == NULL && dice_percent(&tools->dice, CONSOLE_CHECKS_PERCENT))
            failed = tools_console_check(tools);
    }
    if (failed == NULL)
        failed = tools_console_check(tools);
    tools_free(tools);
    return failed;
}

static void run_cases(uint64_t seed, uint64_t cases)
{
    struct ownership_sometimes sometimes;
    const char *failed = ownership_run_cases(seed, cases, one_case, &sometimes);
    cr_assert_null(failed, "%s", failed);
}

/* Some runs do not meet this: a trim between what a service has committed and what is compared. */
static bool is_rare(int situation)
{
    return situation == TOOLS_NOT_COMPARED;
}

Test(tools, say_what_a_fold_of_the_log_says)
{
    uint64_t all = seed_cases(CASES);
    run_cases(seed_first(), all / SHARE + 1);
    for (int i = 0; i < TOOLS_MET_COUNT; i++)
        fprintf(stderr, "%s%" PRIu64 " %s", i > 0 ? ", " : "    ", met[i], names[i]);
    fprintf(stderr, "\n");
    for (int i = 0; i < TOOLS_MET_COUNT && all >= CASES; i++)
        cr_assert(met[i] > 0 || is_rare(i), "no case met this, so the run proves little: %s",
                  names[i]);
}

/* A broker had forgotten a trim, and the log began with a record of a former owner. */
Test(tools, begin_where_an_owner_has_trimmed_the_log)
{
    run_cases(105, 1);
}

/* verify went on while the command came round, until a Claim raised a doubt. */
Test(tools, end_where_they_have_met_the_end)
{
    run_cases(408, 1);
}

/* Its owner restated it, and verify took it for a paused one. */
Test(tools, know_an_order_that_ended_while_it_was_paused)
{
    run_cases(213, 1);
}

/* Past a record that did not fit, only a newer version could have said where the log begins; Resets
 * skipped both. */
Test(tools, find_the_reset_that_skips_what_does_not_fit)
{
    run_cases(3015, 1);
}

/* Its export had read all, and met a Reset in the same turn. */
Test(tools, keep_what_they_have_exported)
{
    run_cases(3069, 1);
}

/* The brokers were silent when it began, and spoke only as the world went on. */
Test(tools, wait_for_brokers_that_are_silent)
{
    run_cases(UINT64_C(8370369548880915764), 1);
}
