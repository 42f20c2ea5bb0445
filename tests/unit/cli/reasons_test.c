/* SPDX-License-Identifier: Apache-2.0 */
/* --reason and --by of each command that records them: what is not UTF-8 is refused before anything
 * is asked or sent. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define BAD "caf\xe9"
#define OF_CONSOLE(noun, ...)                                                                    \
    do {                                                                                         \
        CLI_KIT_REFUSED(noun, "must be UTF-8", __VA_ARGS__, "--by", "ann", "--reason", BAD);     \
        CLI_KIT_REFUSED(noun, "must be UTF-8", __VA_ARGS__, "--by", BAD, "--reason", "x");       \
        CLI_KIT_REFUSED(noun, "\"code\":\"Usage\"", __VA_ARGS__, "--by", "ann", "--reason", BAD, \
                        "--output", "json");                                                     \
        cr_assert_eq(strchr(cli_kit_err, '\n'), strrchr(cli_kit_err, '\n'), "one line");         \
    } while (0)
#define OF_LOG(noun, ...)                                                                      \
    do {                                                                                       \
        CLI_KIT_REFUSED(noun, "printable UTF-8", __VA_ARGS__, "--by", "ann", "--reason", BAD); \
        CLI_KIT_REFUSED(noun, "printable UTF-8", __VA_ARGS__, "--by", "ann", "--reason",       \
                        "a\x1b[");                                                             \
        CLI_KIT_REFUSED(noun, "printable UTF-8", __VA_ARGS__, "--by", BAD, "--reason", "x");   \
    } while (0)

Test(cli_reasons, are_utf8_where_a_console_records_them, .init = cli_kit_console_open,
     .fini = cli_kit_console_close)
{
    OF_CONSOLE(&cli_agents, "agents", "pause", "carrier");
    OF_CONSOLE(&cli_agents, "agents", "resume", "carrier");
    OF_CONSOLE(&cli_orders, "orders", "pause", "o-1");
    OF_CONSOLE(&cli_orders, "orders", "resume", "o-1");
    OF_CONSOLE(&cli_cancel, "cancel", "o-1");
    OF_CONSOLE(&cli_compensate, "compensate", "o-1");
    OF_CONSOLE(&cli_resubmit, "resubmit", "o-1");
    OF_CONSOLE(&cli_step, "step", "complete", "o-1", "Pay");
    OF_CONSOLE(&cli_step, "step", "skip", "o-1", "Pay");
    OF_CONSOLE(&cli_step, "step", "fail", "o-1", "Pay", "Declined");
    OF_CONSOLE(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "o-1");
    OF_CONSOLE(&cli_dead_letters, "dead-letters", "replay", "0:1");
    OF_CONSOLE(&cli_dead_letters, "dead-letters", "discard", "0:1");
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_reasons, are_utf8_where_the_command_records_them)
{
    OF_LOG(&cli_cancel, "cancel", "o-1", "--no-wait");
    OF_LOG(&cli_workflow, "workflow", "activate", "w:1");
    OF_LOG(&cli_workflow, "workflow", "retire", "w:1");
    OF_LOG(&cli_workflow, "workflow", "rollback", "w");
    OF_LOG(&cli_partition, "partition", "reset", "--partition", "0", "--next-command", "1");
}
