/* SPDX-License-Identifier: Apache-2.0 */
/* Exports of a log that its owner trims meanwhile: they go on where it begins then, leave out
 * nothing that the log still has, and say what it has lost. */
#include "cli/export/export.h"
#include "tests/unit/cli/log_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>

static struct session_kit kit;
static struct log_kit owner;
static struct export_run run;
static struct export_partition partition;
static int64_t start; /* where the log is to begin */

enum { STEPS = 1000 };

static void setup(void)
{
    session_kit_init(&kit);
    log_kit_begin(&owner, &kit);
}

static void teardown(void)
{
    log_kit_end(&owner);
    session_kit_deinit(&kit);
}

TestSuite(cli_export_trimmed, .init = setup, .fini = teardown);

/* All that the log has by now, from offset `first` on. */
static void prepare(const char *what, int64_t first)
{
    int64_t low = 0;
    if (kit.session.cluster == NULL)
        session_kit_open(&kit, 0);
    run = (struct export_run){.cli = &kit.cli,
                              .session = &kit.session,
                              .series = {.directory = kit_folder(),
                                         .what = what,
                                         .format = EXPORT_JSONL,
                                         .records_max = 1},
                              .until_ms = INT64_MAX};
    progress_begin(&run.progress, kit.cli.err, clock_real(), what);
    partition =
        (struct export_partition){.run = &run, .first = first, .next = first, .written = first};
    broker_memory_bounds(kit.kafka, "t.events", 0, &low, &partition.end);
}

static void trim(void)
{
    broker_memory_trim(kit.kafka, "t.events", 0, start);
}

static void assert_exports(export_partition_run export)
{
    struct error error = {0};
    cr_assert_eq(export(&partition, &error), ERROR_OK, "%s", error.message);
    if (partition.segment != NULL)
        cr_assert_eq(segment_finish(partition.segment, partition.next, &error), ERROR_OK);
}

/* How many lines of the files hold the text. */
static uint32_t lines_with(const char *text)
{
    uint32_t count = 0;
    char *line = NULL;
    size_t size = 0;
    DIR *dir = opendir(run.series.directory);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        FILE *file = fopen(kit_path(run.series.directory, entry->d_name), "r");
        while (entry->d_name[0] != '.' && getline(&line, &size, file) > 0)
            count += strstr(line, text) != NULL;
        fclose(file);
    }
    closedir(dir);
    free(line);
    return count;
}

static void assert_order(const char *id, uint32_t expected)
{
    char text[64];
    snprintf(text, sizeof(text), "\"%s\"", id);
    cr_expect_eq(lines_with(text), expected, "%s is in %u lines", id, lines_with(text));
}

Test(cli_export_trimmed, exports_orders_of_a_log_that_is_trimmed_before_it_is_read)
{
    log_kit_accept(&owner);
    int64_t lost = log_kit_finish(&owner, 0) + 1;
    log_kit_accept(&owner);
    start = log_kit_continue(&owner, -1);
    log_kit_finish(&owner, 1);
    prepare("orders", 0);
    log_kit_state(&owner, 1); /* the end of the range is before this */
    log_kit_state(&owner, 0);
    log_kit_continue(&owner, start);
    log_kit_continue(&owner, -1);
    trim();
    assert_exports(export_orders_of);
    cr_expect_eq(partition.trimmed, start);
    cr_expect_geq(start, lost);
    assert_order("o-0", 0);
    assert_order("o-1", 1);
    cr_expect_eq(partition.next, partition.end);
    cr_expect_eq(partition.lost, 0);
}

Test(cli_export_trimmed, exports_an_order_once_where_only_its_end_precedes_its_statement)
{
    for (int i = 0; i < 4; i++)
        log_kit_accept(&owner);
    log_kit_finish(&owner, 3);
    start = log_kit_continue(&owner, -1);
    for (uint32_t i = 0; i < 3; i++)
        log_kit_finish(&owner, i);
    for (uint32_t i = 1; i < 4; i++) /* the first one has expired by then */
        log_kit_state(&owner, i);
    log_kit_continue(&owner, start);
    log_kit_continue(&owner, -1);
    trim();
    prepare("orders", start);
    assert_exports(export_orders_of);
    assert_order("o-0", 0);
    assert_order("o-1", 1);
    assert_order("o-2", 1);
    assert_order("o-3", 0); /* it ended before the range */
    cr_expect_eq(partition.trimmed, 0);
    cr_expect_eq(partition.lost, 1);
}

Test(cli_export_trimmed, exports_an_order_that_ends_as_it_is_accepted)
{
    log_kit_pass(&owner);
    prepare("orders", 0);
    assert_exports(export_orders_of);
    assert_order("o-0", 1);
}

/* ---- sub-orders ---- */

static void end_a_tree(void)
{
    log_kit_accept(&owner);
    log_kit_accept_under(&owner, 0);
    log_kit_finish(&owner, 1);
    log_kit_finish(&owner, 0);
    log_kit_accept(&owner);
    log_kit_accept_under(&owner, 2);
    log_kit_finish(&owner, 3); /* last of all */
}

Test(cli_export_trimmed, exports_roots)
{
    end_a_tree();
    prepare("orders", 0);
    assert_exports(export_orders_of);
    assert_order("o-0", 1);
    assert_order("o-0~A", 0);
    assert_order("o-2~A", 0);
    cr_expect_eq(partition.next, partition.end);
    cr_expect_eq(partition.records, 1);
}

Test(cli_export_trimmed, exports_sub_orders_with_their_parents_if_all_are_asked_for)
{
    end_a_tree();
    prepare("orders", 0);
    run.suborders = true;
    assert_exports(export_orders_of);
    cr_expect_eq(lines_with("\"parent\":{\"order_id\":\"o-0\",\"step\":\"A\""), 1);
    assert_order("o-0~A", 1);
    assert_order("o-2~A", 1);
    cr_expect_eq(partition.records, 3);
}

Test(cli_export_trimmed, counts_lost_sub_orders_only_if_it_exports_them)
{
    log_kit_accept(&owner);
    log_kit_accept_under(&owner, 0);
    start = log_kit_continue(&owner, -1);
    log_kit_finish(&owner, 1);
    log_kit_state(&owner, 0); /* the other one has expired by then */
    log_kit_continue(&owner, start);
    log_kit_continue(&owner, -1);
    trim();
    prepare("orders", start);
    assert_exports(export_orders_of);
    cr_expect_eq(partition.lost, 0);
    prepare("orders", start);
    run.suborders = true;
    assert_exports(export_orders_of);
    cr_expect_eq(partition.lost, 1);
}

/* ---- while it is read ---- */

static void trim_on_the_way(void *ctx)
{
    int64_t low = 0, high = 0;
    (void)ctx;
    broker_memory_bounds(kit.kafka, "t.events", 0, &low, &high);
    if (low > 0 || partition.next < 2)
        return;
    cr_assert_lt(partition.next, partition.end, "it has read all");
    trim();
}

static void trim_while_it_reads(void)
{
    kit.turn = trim_on_the_way;
    kit.steps = 1;
}

Test(cli_export_trimmed, goes_on_with_orders_when_the_log_is_trimmed_under_it)
{
    for (int i = 0; i < 3; i++)
        log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    start = log_kit_state_all(&owner);
    log_kit_finish(&owner, 1);
    log_kit_finish(&owner, 2);
    prepare("orders", 0);
    trim_while_it_reads();
    assert_exports(export_orders_of);
    cr_expect_gt(partition.trimmed, 0);
    cr_expect_leq(partition.trimmed, start - 2);
    assert_order("o-1", 1);
    assert_order("o-2", 1);
    cr_expect_eq(partition.next, partition.end);
}

Test(cli_export_trimmed, goes_on_with_events_when_the_log_is_trimmed_under_it)
{
    for (int i = 0; i < 3; i++)
        log_kit_accept(&owner);
    start = log_kit_state_all(&owner);
    log_kit_finish(&owner, 1);
    prepare("events", 0);
    trim_while_it_reads();
    assert_exports(export_events_of);
    cr_expect_gt(partition.trimmed, 0);
    cr_expect_eq((int64_t)partition.records + partition.trimmed, partition.end);
    cr_expect_eq(partition.next, partition.end);
}

Test(cli_export_trimmed, exports_nothing_where_all_of_its_range_is_gone)
{
    log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    prepare("events", 0);
    struct export_partition events = partition;
    start = log_kit_state_all(&owner);
    trim();
    assert_exports(export_orders_of);
    cr_expect_eq(partition.trimmed, partition.end);
    partition = events;
    assert_exports(export_events_of);
    cr_expect_eq(partition.trimmed, partition.end);
    cr_expect_eq(partition.records, 0);
}

/* ---- when it has read all ---- */

/* In the same turn: what was skipped is not in the range. */
static void reset_when_it_is_done(void *ctx)
{
    bool *reset = ctx;
    broker_memory_settle(kit.kafka, STEPS);
    if (*reset || !partition.done)
        return;
    *reset = true;
    int64_t latest = log_kit_accept(&owner);
    broker_memory_settle(kit.kafka, STEPS);
    struct partition_reset record = {.expected_offset = latest + 1,
                                     .next_command_offset = -1,
                                     .has_skip = true,
                                     .skip = {latest, latest + 1},
                                     .by = TEXT("ann"),
                                     .reason = TEXT("test"),
                                     .reset_at = 1};
    session_kit_append(&kit, "t.events", RECORD_RESET, &record);
}

Test(cli_export_trimmed, keeps_what_it_has_exported_when_a_reset_comes_then)
{
    bool reset = false;
    log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    prepare("orders", 0);
    run.series.records_max = 10;
    kit.turn = reset_when_it_is_done;
    kit.turn_ctx = &reset;
    assert_exports(export_orders_of);
    cr_expect(reset);
    assert_order("o-0", 1);
    cr_expect_eq(partition.next, partition.end);
}
