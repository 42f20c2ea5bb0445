/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve doctor`: what it says of a console's answers. No broker is there: see
 * tests/kafka/test_default_settings.py for one. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

TestSuite(cli_doctor, .init = cli_kit_console_open, .fini = cli_kit_console_close);

#define SERVICE(name, version, keep, off, ready, reason)                                        \
    "{\"service\":\"" name "\",\"instance\":\"" name "-1\",\"version\":\"" version              \
    "\",\"ready\":" ready ",\"reason\":" reason ",\"error\":null,\"address\":\"h:1\","          \
    "\"clock_off_ms\":" off ",\"configuration\":[{\"key\":\"events.keep.ms\",\"value\":\"" keep \
    "\",\"origin\":\"default\"},{\"key\":\"clock.skew.max.ms\",\"value\":\"1000\",\"origin\":"  \
    "\"default\"}]}"
#define HEALTHY \
    "{\"checks\":[{\"name\":\"brokers\",\"ok\":true,\"message\":\"the brokers answer\"}]}"

/* The rows, as CSV, of what the console says of its services. */
static void examine(const char *health, const char *services)
{
    cli_kit_answer(200, health);
    cli_kit_answer(200, services);
    cr_assert_eq(CLI_KIT_RUN(&cli_doctor, "doctor", "--output", "csv", "--kafka-bootstrap-servers",
                             "127.0.0.1:1", "--start-timeout-ms", "200"),
                 EXIT_CODE_NEGATIVE, "no broker answers");
    cli_kit_expect_text(cli_kit_out, "\nbrokers,failed,");
    cli_kit_expect_text(cli_kit_out, "; start the brokers, or correct kafka.bootstrap.servers\"");
}

Test(cli_doctor, finds_nothing_wrong_with_services_that_agree)
{
    examine(HEALTHY,
            "{\"services\":[" SERVICE("scheduler", "1", "0", "0", "true", "null") "," SERVICE(
                "agent", "1", "0", "500", "true", "null") "]}");
    cli_kit_expect_text(cli_kit_out, "\nconsole,OK,its checks pass\n");
    cli_kit_expect_text(cli_kit_out, "\nservices,OK,\"2 are ready, and their clocks agree\"\n");
    cli_kit_expect_text(cli_kit_out, "\nagreement,OK,");
}

Test(cli_doctor, names_what_differs)
{
    examine(HEALTHY,
            "{\"services\":[" SERVICE("scheduler", "1", "0", "0", "true", "null") "," SERVICE(
                "supervisor", "2", "7", "-501", "true", "\"slow\"") "]}");
    cli_kit_expect_text(cli_kit_out, "\nservices,warning,supervisor supervisor-1: slow\n");
    cli_kit_expect_text(cli_kit_out,
                        "\nclocks,failed,the clock of supervisor supervisor-1 is 501 ms "
                        "behind that of the console; synchronize the clocks");
    cli_kit_expect_text(cli_kit_out,
                        "\nagreement,warning,\"version is 1 in scheduler scheduler-1, and "
                        "2 in supervisor supervisor-1; finish the upgrade");
    cli_kit_expect_text(cli_kit_out,
                        "\nagreement,failed,\"events.keep.ms is 0 in scheduler "
                        "scheduler-1, and 7 in supervisor supervisor-1; set it to the same value");
}

Test(cli_doctor, names_what_does_not_work)
{
    examine("{\"checks\":[{\"name\":\"disk\",\"ok\":false,\"message\":\"it is full\"}]}",
            "{\"services\":[{\"address\":\"h:2\",\"error\":\"it does not run\"}," SERVICE(
                "agent", "1", "0", "null", "false", "\"draining\"") "]}");
    cli_kit_expect_text(cli_kit_out, "\nconsole,failed,disk: it is full\n");
    cli_kit_expect_text(cli_kit_out, "\nservices,failed,\"h:2: it does not run; start it, or");
    cli_kit_expect_text(cli_kit_out, "\nservices,failed,agent agent-1: draining\n");
}

Test(cli_doctor, says_how_to_name_the_services)
{
    examine(HEALTHY, "{\"services\":[]}");
    cli_kit_expect_text(cli_kit_out, "\nservices,warning,the console does not know which services "
                                     "there are; name them in console.services");
}

Test(cli_doctor, goes_no_further_where_the_console_refuses)
{
    cli_kit_answer(401, "{\"code\":\"Unauthorized\",\"detail\":\"a token is needed\"}");
    cr_assert_eq(CLI_KIT_RUN(&cli_doctor, "doctor", "--output", "csv", "--kafka-bootstrap-servers",
                             "nowhere.invalid:1", "--start-timeout-ms", "200"),
                 EXIT_CODE_NEGATIVE);
    cli_kit_expect_text(cli_kit_out, "\nnames,failed,nowhere.invalid has no address: ");
    cli_kit_expect_text(cli_kit_out,
                        "answers with 401: a token is needed; set console.token.file\n");
    cr_assert_eq(cli_kit_request_count(), 1);
}
