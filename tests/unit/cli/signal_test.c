/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve signal`: what it asks the console, what it refuses before, and its exit codes. */
#include "engine/limits.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSED "{\"kind\": \"StepPassed\", \"words\": \"Approve passed\", \"data\": {}}"
#define RECEIVED(kept) "{\"kind\": \"SignalReceived\", \"data\": {\"kept\": " kept "}}"
#define REPEATED "{\"kind\": \"CommandRejected\", \"data\": {\"code\": \"SignalRepeated\"}}"
#define DECIDED(event) \
    "{\"order_id\": \"o\", \"state\": \"Processing\", \"version\": 3, \"events\": [" event "]}"
#define BY "--by", "ann"

TestSuite(cli_signal, .init = cli_kit_console_open, .fini = cli_kit_console_close);

/* ---- what is sent ---- */

Test(cli_signal, sends_a_choice)
{
    cli_kit_answer(200, DECIDED(PASSED));
    int code = CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--choose", "<b>\"no\"</b>",
                           "--comment", "it's \n broken", "--id", "mail-1", BY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/o/signals/Approve ");
    cli_kit_expect_text(cli_kit_request(0), "\"choice\":\"<b>\\\"no\\\"</b>\"");
    cli_kit_expect_text(cli_kit_request(0), "\"comment\":\"it's \\n broken\"");
    cli_kit_expect_text(cli_kit_request(0), "\"id\":\"mail-1\"");
    cli_kit_expect_text(cli_kit_request(0), "\"by\":\"ann\"");
    cr_assert_null(strstr(cli_kit_request(0), "payload"), "%s", cli_kit_request(0));
    cli_kit_expect_text(cli_kit_out, "passed");
}

/* With all digits. */
Test(cli_signal, sends_a_payload_of_its_argument_or_of_a_file)
{
    char path[] = "/tmp/reeve-signal-XXXXXX";
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, " [1, null]\n", 11) == 11);
    close(file);
    cli_kit_answer(200, DECIDED(PASSED));
    cli_kit_answer(200, DECIDED(PASSED));
    cli_kit_answer(200, DECIDED(PASSED));
    CLI_KIT_RUN(&cli_signal, "signal", "o", "Delivered", "--payload",
                "{\"n\": 100.10, \"big\": 12345678901234567890}", BY);
    cli_kit_expect_text(cli_kit_request(0),
                        "\"payload\":{\"big\":12345678901234567890,\"n\":100.1}");
    CLI_KIT_RUN(&cli_signal, "signal", "o", "Delivered", "--payload", path, BY);
    cli_kit_expect_text(cli_kit_request(1), "\"payload\":[1,null]");
    CLI_KIT_RUN(&cli_signal, "signal", "o", "Delivered", "--payload", "null", BY);
    cli_kit_expect_text(cli_kit_request(2), "\"payload\":null");
    cr_assert_null(strstr(cli_kit_request(2), "choice"), "%s", cli_kit_request(2));
    unlink(path);
}

Test(cli_signal, encodes_the_order_and_the_step)
{
    cli_kit_answer(404, "{\"code\": \"UnknownOrder\", \"detail\": \"?\"}");
    CLI_KIT_RUN(&cli_signal, "signal", "a b?", "<b>/..", "--choose", "x", BY);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/a%20b%3F/signals/%3Cb%3E%2F.. ");
}

/* As tests of workflows name it; the console knows it by the sub-order. */
Test(cli_signal, says_how_to_name_a_step_of_a_sub_order)
{
    CLI_KIT_REFUSED(&cli_signal, "Waves~0/GoOn is in a sub-order of o: write o~Waves~0 GoOn",
                    "signal", "o", "Waves~0/GoOn", "--choose", "go", BY);
    CLI_KIT_REFUSED(&cli_signal, "write o~Waves~0~Update~1 Flash (reeve orders tree o lists",
                    "signal", "o", "Waves~0/Update~1/Flash", "--choose", "go", BY);
    cr_assert_eq(cli_kit_request_count(), 0);
}

/* A token says who it is. */
Test(cli_signal, names_the_user_where_there_is_no_token)
{
    cr_assert_eq(setenv("USER", "bob", 1), 0);
    cli_kit_answer(200, DECIDED(PASSED));
    cli_kit_answer(200, DECIDED(PASSED));
    CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--choose", "approve");
    cli_kit_expect_text(cli_kit_request(0), "\"by\":\"bob\"");
    CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--choose", "approve", "--console-token",
                "reeve_x");
    cr_assert_null(strstr(cli_kit_request(1), "\"by\""), "%s", cli_kit_request(1));
}

/* ---- what became of it ---- */

Test(cli_signal, says_what_became_of_it)
{
    static const char *const cases[][2] = {
        {DECIDED(PASSED), "passed"},
        {DECIDED(RECEIVED("true")), "kept until the step's turn"},
        {DECIDED(RECEIVED("false")), "received, the step waits on"},
        {DECIDED(REPEATED), "received before, nothing changes"},
        {DECIDED(""), "?"},
        {"{\"order_id\": \"o\", \"state\": null, \"events\": [1, null, {\"kind\": 7}]}", "?"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cli_kit_answer(200, cases[i][0]);
        int code = CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--choose", "approve", BY);
        cr_assert_eq(code, EXIT_CODE_OK, "%s: %s", cases[i][0], cli_kit_err);
        cli_kit_expect_text(cli_kit_out, cases[i][1]);
        cr_assert_str_empty(cli_kit_err);
    }
}

Test(cli_signal, tells_refusals_apart_by_its_exit_code)
{
    static const struct {
        int status;
        const char *code;
        int expected;
    } cases[] = {
        {400, "BadRequest", EXIT_CODE_USAGE},         {413, "TooLarge", EXIT_CODE_USAGE},
        {403, "NotAllowed", EXIT_CODE_NOT_PERMITTED}, {404, "UnknownOrder", EXIT_CODE_NEGATIVE},
        {404, "UnknownStep", EXIT_CODE_NEGATIVE},     {409, "TooLate", EXIT_CODE_NEGATIVE},
        {409, "BadPayload", EXIT_CODE_NEGATIVE},      {409, "Quarantined", EXIT_CODE_NEGATIVE},
        {503, "Unknown", EXIT_CODE_UNAVAILABLE},      {504, "NotDecided", EXIT_CODE_UNAVAILABLE},
        {500, "Internal", EXIT_CODE_INTERNAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[128];
        char expected[64];
        snprintf(body, sizeof(body), "{\"code\": \"%s\", \"detail\": \"why not\"}", cases[i].code);
        snprintf(expected, sizeof(expected), "o: why not (%s)", cases[i].code);
        cli_kit_answer(cases[i].status, body);
        int code = CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--choose", "approve", BY);
        cr_expect_eq(code, cases[i].expected, "%s: %d", cases[i].code, code);
        cli_kit_expect_text(cli_kit_err, expected);
        cr_assert_str_empty(cli_kit_out);
    }
}

/* ---- what it refuses itself ---- */

Test(cli_signal, refuses_flags_that_do_not_fit)
{
    CLI_KIT_REFUSED(&cli_signal, "--choose CHOICE or --payload FILE|JSON is missing", "signal", "o",
                    "Approve", BY);
    CLI_KIT_REFUSED(&cli_signal, "give --choose or --payload, not both", "signal", "o", "Approve",
                    "--choose", "a", "--payload", "1", BY);
    CLI_KIT_REFUSED(&cli_signal, "--comment goes with --choose", "signal", "o", "Approve",
                    "--payload", "1", "--comment", "c", BY);
    CLI_KIT_REFUSED(&cli_signal, "", "signal", "o", "--choose", "a", BY);
    CLI_KIT_REFUSED(&cli_signal, "", "signal", "o", "Approve", "more", "--choose", "a", BY);
    CLI_KIT_REFUSED(&cli_signal, "an argument is empty", "signal", "", "Approve", "--choose", "a",
                    BY);
    CLI_KIT_REFUSED(&cli_signal, "an argument is empty", "signal", "o", "", "--choose", "a", BY);
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_signal, refuses_texts_that_are_not_utf8)
{
    static const char why[] = "must be UTF-8";
    CLI_KIT_REFUSED(&cli_signal, why, "signal", "o", "Approve", "--choose", "\xff", BY);
    CLI_KIT_REFUSED(&cli_signal, why, "signal", "o", "Approve", "--choose", "a", "--comment",
                    "\xc3", BY);
    CLI_KIT_REFUSED(&cli_signal, why, "signal", "o", "Approve", "--payload", "1", "--id", "\xff",
                    BY);
    CLI_KIT_REFUSED(&cli_signal, why, "signal", "o", "Approve", "--payload", "1", "--by", "\xff");
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_signal, refuses_payloads_that_are_not_json)
{
    static const char *const payloads[] = {"", "{\"a\": }", "[1", "\"", "{\"a\": 1, \"a\": 2}"};
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        CLI_KIT_REFUSED(&cli_signal, "--payload", "signal", "o", "Approve", "--payload",
                        payloads[i], BY);
    int code =
        CLI_KIT_RUN(&cli_signal, "signal", "o", "Approve", "--payload", "/nowhere/p.json", BY);
    cr_assert_neq(code, EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_err, "/nowhere/p.json");
    cr_assert_eq(cli_kit_request_count(), 0);
}

/* A file that holds no JSON, or more than a signal may bring. */
Test(cli_signal, refuses_files_that_hold_no_payload)
{
    char path[] = "/tmp/reeve-signal-XXXXXX";
    char *large = malloc(SIGNAL_BYTES_MAX + 3);
    cr_assert_not_null(large);
    memset(large, 'x', SIGNAL_BYTES_MAX + 2);
    large[0] = large[SIGNAL_BYTES_MAX + 1] = '"';
    const struct text contents[] = {TEXT("approve\n"), TEXT(""), {large, SIGNAL_BYTES_MAX + 2}};
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        cr_assert(ftruncate(file, 0) == 0 &&
                  pwrite(file, contents[i].data, contents[i].size, 0) == (ssize_t)contents[i].size);
        CLI_KIT_REFUSED(&cli_signal, "--payload", "signal", "o", "Approve", "--payload", path, BY);
    }
    close(file);
    unlink(path);
    free(large);
    cr_assert_eq(cli_kit_request_count(), 0);
}

/* ---- what waits ---- */

Test(cli_signal, lists_what_waits_for_a_group)
{
    cli_kit_answer(200, "{\"orders\": [{\"order_id\": \"o\", \"state\": \"Processing\","
                        " \"active_steps\": [{\"step\": \"Approve\", \"state\": \"Waiting\","
                        " \"direction\": \"do\", \"attempt\": 0}, {\"step\": \"Delivered\","
                        " \"state\": \"Waiting\", \"direction\": \"do\", \"attempt\": 0}],"
                        " \"waiting_for\": [{\"step\": \"Approve\", \"for\": \"signal\","
                        " \"group\": \"managers\"}, {\"step\": \"Delivered\", \"for\": \"signal\","
                        " \"group\": null}]}], \"next\": null}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "list", "--waiting-for", "Approve", "--group",
                           "<managers>");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "waiting_for=Approve&group=%3Cmanagers%3E");
    cli_kit_expect_text(cli_kit_out, "Approve: waits for managers, Delivered: waits for a signal");
}
