/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve doctor`: what it says of a console's answers. No broker is there: see
 * tests/kafka/test_default_settings.py for one. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(cli_doctor, .init = cli_kit_console_open, .fini = cli_kit_console_close);

/* 700 MB. */
#define DISK_FREE "734003200"
#define SERVICE(name, version, keep, off, ready, reason)                                       \
    "{\"service\":\"" name "\",\"instance\":\"" name "-1\",\"version\":\"" version             \
    "\",\"ready\":" ready ",\"reason\":" reason ",\"error\":null,\"address\":\"h:1\","         \
    "\"clock_off_ms\":" off ",\"disk_free_bytes\":" DISK_FREE                                  \
    ",\"configuration\":[{\"key\":\"events.keep.ms\",\"value\":\"" keep                        \
    "\",\"origin\":\"default\"},{\"key\":\"clock.skew.max.ms\",\"value\":\"1000\",\"origin\":" \
    "\"default\"}]}"
#define HEALTHY \
    "{\"checks\":[{\"name\":\"brokers\",\"ok\":true,\"message\":\"the brokers answer\"}]}"

/* What is not OK is said with what to do about it. */
static void expect_fixes(void)
{
    size_t rows = 0;
    for (const char *line = strchr(cli_kit_out, '\n') + 1; *line != '\0'; rows++) {
        size_t size = strcspn(line, "\n");
        const char *fix = memmem(line, size, "; ", 2);
        cr_assert(memmem(line, size, ",OK,", 4) != NULL || fix != NULL, "%.*s", (int)size, line);
        line += size + 1;
    }
    cr_assert_gt(rows, 3);
}

/* The rows, as CSV, of what the console says of its services. */
static void examine(const char *health, const char *services)
{
    cli_kit_answer(200, health);
    cli_kit_answer(200, services);
    cr_assert_eq(CLI_KIT_RUN(&cli_doctor, "doctor", "--output", "csv", "--kafka-bootstrap-servers",
                             "127.0.0.1:1", "--start-timeout-ms", "200"),
                 EXIT_CODE_NEGATIVE, "no broker answers");
    expect_fixes();
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
    cli_kit_expect_text(cli_kit_out, "\nservices,warning,supervisor supervisor-1: slow; its log");
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
    cli_kit_expect_text(cli_kit_out, "\nconsole,failed,\"disk: it is full; free space there");
    cli_kit_expect_text(cli_kit_out, "\nservices,failed,\"h:2: it does not run; start it, or");
    cli_kit_expect_text(cli_kit_out, "\nservices,failed,agent agent-1: draining; its log");
}

/* disk.free.min.mb of the scheduler is what the test says; 700 MB are free. */
static void examine_disk(const char *least, const char *expected)
{
    char services[1024];
    snprintf(services, sizeof(services),
             "{\"services\":[{\"service\":\"scheduler\",\"instance\":\"s-1\",\"version\":\"1\","
             "\"ready\":true,\"reason\":null,\"error\":null,\"address\":\"h:1\",\"clock_off_ms\":0,"
             "\"disk_free_bytes\":" DISK_FREE ",\"configuration\":[{\"key\":"
             "\"disk.free.min.mb\",\"value\":\"%s\",\"origin\":\"default\"}]},{\"service\":"
             "\"submission\",\"instance\":\"s-2\",\"version\":\"1\",\"ready\":true,\"reason\":"
             "null,\"error\":null,\"address\":\"h:2\",\"clock_off_ms\":0,\"disk_free_bytes\":null,"
             "\"configuration\":[]}]}",
             least);
    examine(HEALTHY, services);
    cli_kit_expect_text(cli_kit_out, expected);
}

Test(cli_doctor, compares_the_disks_of_services_with_their_watermark)
{
    examine_disk("350", "\ndisk,OK,those of the services have 700 MB of free space or more; "
                        "scheduler s-1 has least\n");
    examine_disk("351", "\ndisk,warning,\"the disk of scheduler s-1 has 700 MB of free space; "
                        "services pause below disk.free.min.mb, 351; free space there");
    examine_disk("701", "\ndisk,failed,\"the disk of scheduler s-1 has 700 MB of free space; below "
                        "disk.free.min.mb, 701, services pause; free space there");
    examine_disk("0", "\ndisk,OK,");
}

/* No console is asked for it. */
static void examine_folder(const char *path, const char *least, const char *expected)
{
    cli_kit_answer(401, "{}");
    cr_assert_eq(CLI_KIT_RUN(&cli_doctor, "doctor", "--output", "csv", "--kafka-bootstrap-servers",
                             "127.0.0.1:1", "--start-timeout-ms", "200", "--data-dir", path,
                             "--disk-free-min-mb", least),
                 EXIT_CODE_NEGATIVE);
    expect_fixes();
    cr_assert(strstr(cli_kit_out, expected) != NULL, "%s: %s", expected, cli_kit_out);
}

Test(cli_doctor, examines_the_state_folder_of_this_machine)
{
    char path[] = "/tmp/reeve-doctor-XXXXXX";
    char expected[160];
    cr_assert(mkdtemp(path) != NULL);
    snprintf(expected, sizeof(expected), "\ndisk,OK,%s has ", path);
    examine_folder(path, "0", expected);
    snprintf(expected, sizeof(expected), "\ndisk,failed,\"%s has ", path);
    examine_folder(path, "1000000000", expected);
    cr_assert(chmod(path, 0500) == 0 && (geteuid() != 0 || chown(path, 65534, 65534) == 0));
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    snprintf(expected, sizeof(expected),
             "\ndisk,warning,\"%s cannot be written by this user: Permission denied; run this as",
             path);
    examine_folder(path, "0", expected);
    cr_assert(rmdir(path) == 0 || (seteuid(0) == 0 && rmdir(path) == 0));
    examine_folder(path, "0", "\nconsole,failed,");
    cr_assert(strstr(cli_kit_out, "\ndisk,") == NULL, "%s", cli_kit_out);
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
                        "answers with 401: a token is needed; set console.token.file to a token "
                        "of the role viewer\n");
    cr_assert_eq(cli_kit_request_count(), 1);
}
