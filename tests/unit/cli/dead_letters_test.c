/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters`: ids, and command lines that are refused before a console is asked. */
#include "cli/dead_letters/dead_letters.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

Test(cli_dead_letters, reads_ids_strictly)
{
    static const char *const bad[] = {"",
                                      ":",
                                      "1",
                                      "1:",
                                      ":1",
                                      "-1:2",
                                      "1:-2",
                                      "1:2 ",
                                      " 1:2",
                                      "1:2:3",
                                      "1.2",
                                      "0x1:2",
                                      "99999999999:1",
                                      "1:9223372036854775807",
                                      "1:99999999999999999999"};
    int64_t partition = -7;
    int64_t offset = -7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_not(dead_letter_id_parse(bad[i], &partition, &offset), "%s", bad[i]);
    cr_assert_eq(partition, -7);
    cr_assert(dead_letter_id_parse("2:17", &partition, &offset));
    cr_assert_eq(partition, 2);
    cr_assert_eq(offset, 17);
}

#define REFUSED(expected, ...) \
    CLI_KIT_REFUSED(&cli_dead_letters, expected, "dead-letters", __VA_ARGS__)

Test(cli_dead_letters, refuses_bad_command_lines)
{
    REFUSED("expected PARTITION:OFFSET", "get", "o-1");
    REFUSED("which dead letters?", "replay", "--reason", "r", "--by", "ann");
    REFUSED("either ids or a filter", "discard", "1:2", "--code", "X");
    REFUSED("expected PARTITION:OFFSET", "discard", "1:2", "3", "--reason", "r", "--by", "ann");
    REFUSED("--reason TEXT", "discard", "1:2", "--by", "ann");
    REFUSED("corrects one dead letter", "replay", "1:2", "1:3", "--value", "f", "--reason", "r",
            "--by", "ann");
    REFUSED("corrects one dead letter", "replay", "1:2", "--value", "f", "--json", "f", "--reason",
            "r", "--by", "ann");
    REFUSED("corrects one dead letter", "replay", "1:2", "--record", "X", "--reason", "r", "--by",
            "ann");
    REFUSED("must be UTF-8", "discard", "1:2", "--reason", "\xff", "--by", "ann");
    REFUSED("--since", "list", "--since", "soon");
    REFUSED("--until", "list", "--until", "7");
    REFUSED("--until", "discard", "--until", "soon", "--reason", "r", "--by", "ann");
    REFUSED("either ids or a filter", "discard", "1:2", "--until", "1h");
    REFUSED("limit", "list", "--limit", "-1");
}

/* ---- with a console ---- */

#define LETTER(id) "{\"id\": \"" id "\", \"state\": \"open\", \"code\": \"X\"}"
#define WHY "--by", "ann", "--reason", "r"

TestSuite(cli_dead_letters_console, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_dead_letters_console, lists_all_pages_between_two_times)
{
    cli_kit_answer(200, "{\"dead_letters\": [" LETTER("1:9") "], \"next\": \"9.1.9\"}");
    /* An answer without any is not the end. */
    cli_kit_answer(200, "{\"dead_letters\": [], \"next\": \"9.1.9.0.7\"}");
    cli_kit_answer(200, "{\"dead_letters\": [" LETTER("0:3") "], \"next\": null, "
                                                             "\"forgotten\": 1}");
    int code = CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "list", "--limit", "0", "--since",
                           "2010-12-01", "--until", "2010-12-02T00:00:00Z");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(0),
                     "GET /api/dead-letters?limit=1000&since=2010-12-01T00%3A00%3A00.000Z"
                     "&until=2010-12-02T00%3A00%3A00.000Z");
    cli_kit_expect_text(cli_kit_request(2), "&until=2010-12-02T00%3A00%3A00.000Z&cursor=9.1.9.0.7");
    cli_kit_expect_text(cli_kit_out, "1:9");
    cli_kit_expect_text(cli_kit_out, "0:3");
    cr_assert_str_empty(cli_kit_err);
}

#define CORRECTED "{\"b\": 100.10, \"a\": 12345678901234567890}"

static const char *corrected(void)
{
    static char path[] = "/tmp/cli-dead-letter-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, CORRECTED, sizeof(CORRECTED) - 1), sizeof(CORRECTED) - 1);
    close(fd);
    return path;
}

Test(cli_dead_letters_console, corrects_with_the_type_of_the_value)
{
    const char *path = corrected();
    cli_kit_answer(200, "{\"id\": \"1:9\", \"value\": {\"record\": \"StepRequest\"}}");
    cli_kit_answer(200, "{\"id\": \"1:9\", \"state\": \"replayed\"}");
    cli_kit_answer(200, "{\"id\": \"1:9\", \"state\": \"replayed\"}");
    int code = CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "replay", "1:9", "--json", path, WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(0), "GET /api/dead-letters/1/9");
    cli_kit_expect_text(cli_kit_request(1), "POST /api/dead-letters/1/9/replay ");
    cli_kit_expect_text(cli_kit_request(1), "\"record\":\"StepRequest\"");
    cli_kit_expect_text(cli_kit_request(1), "{\"b\":100.10,\"a\":12345678901234567890}");
    code = CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "replay", "1:9", "--json", path,
                       "--record", "CancelOrder", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(2), "\"record\":\"CancelOrder\"");
    unlink(path);
}

Test(cli_dead_letters_console, discards_what_a_filter_finds)
{
    cli_kit_answer(200, "{\"dead_letters\": [" LETTER("1:9") ", " LETTER("1:8") "], "
                                                                                "\"next\": null}");
    cli_kit_answer(409, "{\"code\": \"AlreadyResolved\", \"detail\": \"bob was first\"}");
    cli_kit_answer(200, "{\"id\": \"1:8\", \"state\": \"discarded\"}");
    int code =
        CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "discard", "--code", "X", "--yes", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE);
    cli_kit_expect_text(cli_kit_err, "1:9: bob was first (AlreadyResolved)");
    cli_kit_expect_text(cli_kit_err, "1 of 2 dead letters: done; 1 refused");
    cli_kit_expect_text(cli_kit_out, "1:8");
}

Test(cli_dead_letters_console, sends_nothing_in_a_dry_run)
{
    cli_kit_answer(200, "{\"dead_letters\": [" LETTER("1:9") "], \"next\": null}");
    int code =
        CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "discard", "--code", "X", "--dry-run");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_eq(cli_kit_request_count(), 1);
    cr_assert_str_eq(cli_kit_out, "ID\n1:9\n");
    cr_assert_str_eq(cli_kit_err, "1 dead letter; nothing was sent (--dry-run)\n");
}

Test(cli_dead_letters, shows_one_as_json, .init = cli_kit_console_open,
     .fini = cli_kit_console_close)
{
    cli_kit_answer(200, "{\"id\": \"1:2\", \"value\": {\"size\": 0}}");
    int code = CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "get", "1:2", "--output", "json");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_out, "{\"id\":\"1:2\",\"value\":{\"size\":0}}\n");
}

Test(cli_dead_letters, keeps_the_digits_of_a_value, .init = cli_kit_console_open,
     .fini = cli_kit_console_close)
{
    cli_kit_answer(
        200, "{\"id\":\"1:2\",\"value\":{\"json\":{\"input\":[100.10,12345678901234567890]}}}");
    int code = CLI_KIT_RUN(&cli_dead_letters, "dead-letters", "get", "1:2", "--json");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_out,
                     "{\n  \"input\": [\n    100.10,\n    12345678901234567890\n  ]\n}\n");
}
