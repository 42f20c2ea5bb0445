/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve partition waiting`: what no scheduler has decided. */
#include "cli/partition/partition.h"
#include "tests/unit/cli/cli_kit.h"
#include "tests/unit/cli/log_kit.h"

#include <criterion/criterion.h>

TestSuite(cli_waiting_commands);

static struct session_kit kit;
static struct log_kit owner;

/* Two commands are decided, and expired. */
static void begin(void)
{
    session_kit_init(&kit);
    log_kit_begin(&owner, &kit);
    for (int i = 0; i < 2; i++) {
        broker_memory_append(kit.kafka, "t.commands", 0, TEXT("decided"), TEXT("decided"));
        log_kit_accept(&owner);
    }
    broker_memory_trim(kit.kafka, "t.commands", 0, 2);
}

static void end(void)
{
    log_kit_end(&owner);
    session_kit_deinit(&kit);
}

static void show(enum cli_output format)
{
    session_kit_open(&kit, 0);
    kit.cli.config = (struct config *)(uintptr_t)kit.session.context.config;
    kit.cli.output = format;
    int code = partition_show_waiting(&kit.cli, &kit.session, 0);
    session_kit_flush(&kit);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", kit.err);
}

static void pause_order(const char *id)
{
    struct command cmd = {.kind = COMMAND_PAUSE_ORDER,
                          .order_id = text_of(id),
                          .pause_order = {.order_id = text_of(id),
                                          .by = TEXT("ann"),
                                          .reason = TEXT("the customer called")}};
    session_kit_append(&kit, "t.commands", RECORD_PAUSE_ORDER, &cmd);
}

Test(cli_waiting_commands, shows_those_that_the_log_has_not_consumed)
{
    begin();
    pause_order("waits-1");
    pause_order("waits-2");
    show(CLI_OUTPUT_TABLE);
    cli_kit_expect_text(kit.out, "PauseOrder");
    cli_kit_expect_text(kit.out, "waits-1");
    cli_kit_expect_text(kit.out, "waits-2");
    cli_kit_expect_text(kit.out, "ann");
    cr_expect(strstr(kit.out, "decided") == NULL, "%s", kit.out);
    cr_expect_str_empty(kit.err);
    end();
}

/* Any client may have written them. */
Test(cli_waiting_commands, shows_foreign_records_without_harm)
{
    begin();
    broker_memory_append(kit.kafka, "t.commands", 0, TEXT("o-1"), TEXT("\x1b[2Jnot ours"));
    broker_memory_append(kit.kafka, "t.commands", 0, TEXT("\x1b[2J\xff"), TEXT("{}"));
    broker_memory_append(kit.kafka, "t.commands", 0, TEXT("o-3"), (struct text){0});
    struct claim claim = {.instance = TEXT("s-1"), .partition_count = 1};
    session_kit_append(&kit, "t.commands", RECORD_CLAIM, &claim);
    pause_order("waits");
    show(CLI_OUTPUT_JSONL);
    cr_expect(strchr(kit.out, '\x1b') == NULL && strchr(kit.out, '\xff') == NULL, "%s", kit.out);
    cli_kit_expect_text(kit.out, "\"order_id\":\"o-1\"");
    cli_kit_expect_text(kit.out, "\"problem\":\"the record is empty\"");
    cli_kit_expect_text(kit.out, "\"problem\":\"the record is not a command\"");
    cli_kit_expect_text(kit.out, "\"kind\":\"PauseOrder\",\"order_id\":\"waits\"");
    end();
}

Test(cli_waiting_commands, shows_the_first_hundred)
{
    begin();
    char id[24];
    for (int i = 0; i < PARTITION_WAITING_MAX + 7; i++) {
        snprintf(id, sizeof(id), "waits-%03d", i);
        pause_order(id);
    }
    show(CLI_OUTPUT_TABLE);
    cli_kit_expect_text(kit.out, "waits-000");
    cli_kit_expect_text(kit.out, "waits-099");
    cr_expect(strstr(kit.out, "waits-100") == NULL);
    cr_expect_str_eq(kit.err, "7 more wait.\n");
    end();
}

Test(cli_waiting_commands, shows_nothing_where_none_waits)
{
    begin();
    show(CLI_OUTPUT_JSONL);
    cr_expect_str_empty(kit.out);
    cr_expect_str_empty(kit.err);
    end();
}

Test(cli_waiting_commands, asks_for_a_number)
{
    CLI_KIT_REFUSED(&cli_partition, "PARTITION is the number", "partition", "waiting", "all");
}
