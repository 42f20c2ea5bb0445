/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: parsing, help, mistakes, exit codes. */
#include "tests/unit/cli/table_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(cli_table, .fini = table_kit_tear_down);

/* The first words, of the first sentence: help breaks lines, and lists have no more than that. */
static bool shows(const char *text, const char *summary)
{
    char beginning[25];
    snprintf(beginning, sizeof(beginning), "%s", summary);
    char *end = strstr(beginning, ". ");
    if (end != NULL)
        end[1] = '\0';
    return strstr(text, beginning) != NULL;
}

static bool is_lower(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name) && *name != '\0';
}

static void check_verb(const struct cli_noun *noun, const struct cli_verb *verb)
{
    const char *name = verb->name != NULL ? verb->name : "";
    cr_assert(verb->name == NULL || is_lower(verb->name), "%s %s", noun->name, name);
    cr_assert(verb->run != NULL && verb->summary != NULL && verb->examples != NULL, "%s %s",
              noun->name, name);
    cr_assert(strstr(verb->examples, "reeve ") != NULL, "%s %s: examples are whole command lines",
              noun->name, name);
    for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL; flag++) {
        cr_assert(is_lower(flag->name) && flag->doc != NULL, "%s %s --%s", noun->name, name,
                  flag->name);
        cr_assert((strcmp(flag->name, "output") != 0 || verb->plain) &&
                      strcmp(flag->name, "help") != 0 && strcmp(flag->name, "set") != 0 &&
                      strcmp(flag->name, "config") != 0,
                  "%s %s --%s is a flag of every command", noun->name, name, flag->name);
        for (const struct cli_flag *other = flag + 1; other->name != NULL; other++)
            cr_assert(strcmp(flag->name, other->name) != 0, "%s %s --%s twice", noun->name, name,
                      flag->name);
    }
}

Test(cli_table, has_complete_rows)
{
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        const struct cli_noun *noun = table_kit_nouns[n];
        cr_assert(is_lower(noun->name) && noun->summary != NULL && noun->verb_count > 0, "%s",
                  noun->name);
        cr_assert(cli_find_noun(table_kit_nouns, noun->name) == noun, "%s twice", noun->name);
        for (size_t i = 0; i < noun->verb_count; i++) {
            const struct cli_verb *verb = &noun->verbs[i];
            check_verb(noun, verb);
            cr_assert(verb->name != NULL || i + 1 == noun->verb_count,
                      "%s: a verb without a name comes last, since any name finds it", noun->name);
            cr_assert(cli_find_verb(noun, verb->name) == verb, "%s", noun->name);
        }
    }
}

Test(cli_table, lists_every_command_in_the_help)
{
    cr_assert(reeve("--help") == EXIT_CODE_OK);
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        for (size_t i = 0; i < table_kit_nouns[n]->verb_count; i++)
            cr_assert(shows(out_text, table_kit_nouns[n]->verbs[i].summary), "%s",
                      table_kit_nouns[n]->name);
    }
    char *all = strdup(out_text);
    cr_assert(reeve("help") == EXIT_CODE_OK);
    cr_assert_str_eq(out_text, all);
    cr_assert(reeve("") == EXIT_CODE_USAGE);
    cr_assert_str_eq(err_text, all);
    free(all);
}

Test(cli_table, begins_the_help_of_a_command_with_examples)
{
    char line[128];
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        const struct cli_noun *noun = table_kit_nouns[n];
        for (size_t i = 0; i < noun->verb_count; i++) {
            const struct cli_verb *verb = &noun->verbs[i];
            snprintf(line, sizeof(line), "%s %s --help", noun->name,
                     verb->name != NULL ? verb->name : "");
            cr_assert(reeve(line) == EXIT_CODE_OK, "%s", line);
            cr_assert(strncmp(out_text, "Examples:\n  ", 12) == 0, "%s", line);
            cr_assert(shows(out_text, verb->summary), "%s", line);
            for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL;
                 flag++)
                cr_assert(strstr(out_text, flag->name) != NULL, "%s --%s", line, flag->name);
            char *text = strdup(out_text);
            snprintf(line, sizeof(line), "help %s %s", noun->name,
                     verb->name != NULL ? verb->name : "");
            cr_assert(reeve(line) == EXIT_CODE_OK);
            cr_assert_str_eq(out_text, text);
            free(text);
        }
    }
}

Test(cli_table, prefers_help_over_everything_else)
{
    cr_assert(reeve("import --no-such-flag --help") == EXIT_CODE_OK);
    cr_assert(reeve("workflow deploy -h") == EXIT_CODE_OK);
    cr_assert(reeve("workflow --help") == EXIT_CODE_OK);
    cr_assert(strstr(out_text, "workflow show") != NULL);
    cr_assert(reeve("workflow") == EXIT_CODE_USAGE);
}

Test(cli_table, fits_the_help_into_100_columns)
{
    char line[128];
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        snprintf(line, sizeof(line), "help %s %s", table_kit_nouns[n]->name,
                 table_kit_nouns[n]->verbs[0].name != NULL ? table_kit_nouns[n]->verbs[0].name
                                                           : "");
        cr_assert(reeve(line) == EXIT_CODE_OK);
        for (const char *at = out_text; *at != '\0'; at += strcspn(at, "\n") + 1)
            cr_assert(strcspn(at, "\n") <= 100, "%s: %.*s", line, (int)strcspn(at, "\n"), at);
    }
}

Test(cli_table, explains_mistakes)
{
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"worfklow lint x", "unknown command \"worfklow\": did you mean \"workflow\"?"},
        {"frobnicate", "unknown command \"frobnicate\"\n"},
        {"agents --output jsonx",
         "a command is missing before --output: list, get, pause or resume"},
        {"orders --limit=3",
         "a command is missing before --limit=3: list, get, history, tree, watch, count, "
         "pause, resume, settle or amend"},
        {"workflow deplyo x", "unknown command \"workflow deplyo\": did you mean \"deploy\"?"},
        {"import", "an argument is missing: FILE"},
        {"import a b", "unexpected argument \"b\""},
        {"health x", "unexpected argument \"x\""},
        {"help a b c", "unexpected argument \"c\""},
        {"orders watch a b", "unexpected argument \"b\""},
        {"workflow lint", "an argument is missing: FILE..."},
        {"workflow diff a b c", "unexpected argument \"c\""},
        {"workflow migrate w:1", "an argument is missing: NAME:FROM NAME:TO [ORDER...|-]"},
        {"import a --limt 5", "unknown flag --limt: did you mean --limit?"},
        {"import a --topic-prefix x", "unknown flag --topic-prefix: did you mean --topics.prefix?"},
        {"submit a --kafka-acks 1",
         "unknown flag --kafka-acks: settings below kafka. need --set kafka.acks=VALUE, or a line "
         "in the properties file"},
        {"submit a --kafka-bootstrap 1",
         "unknown flag --kafka-bootstrap: did you mean --kafka.bootstrap.servers?"},
        {"import a --limit", "--limit needs a value"},
        {"import a.csv --map order_id=A --workflow w", "cannot read a.csv"},
        {"import a.csv --map order_id=A", "the orders name no workflow"},
        {"import a.jsonl --map order_id=A", "--map is for CSV files"},
        {"submit x --wait=yes", "--wait takes no value"},
        {"submit x --output xml", "--output xml: expected table, json, jsonl, yaml, csv or id"},
        {"submit x -q", "unknown flag -q"},
        {"config --log-level loud", "log.level"},
        {"run schedular", "unknown service \"schedular\": did you mean \"scheduler\"?"},
        {"topics apply --agent a/b", "--agent a/b: expected"},
        {"cancel", "which orders? Give their ids, - for ids from stdin, or a filter"},
        {"cancel --no-wait", "--no-wait needs the ids of the orders"},
        {"cancel 1 --reply-to a.replies.b", "--reply-to goes with --no-wait"},
        {"cancel 1 --state Error", "give either ids or a filter"},
        {"cancel 1", "--reason TEXT is required: it stays in the history"},
        {"cancel 1 --by a --reason b --rate fast", "--rate fast: expected a rate such as 50/s"},
        {"cancel a/b --by a --reason b", "order_id"},
        {"workflow migrate w:1 w:2 --workflow-version 1", "the arguments name them"},
        {"orders count --versions --state Error", "--versions counts all orders"},
        {"orders count --versions --states", "--versions counts by state as well"},
        {"resubmit 1 --by a --reason b --timeout 5x", "--timeout 5x: expected a duration"},
        {"resubmit 1 --by a --reason b --timeout 0s", "--timeout 0s: expected a duration"},
        {"step complete", "an argument is missing: [ORDER...|-] STEP"},
        {"step complete 536365", "Give their ids before the step, here 536365, - for ids"},
        {"step complete 1 S --by a --reason b --step-output {",
         "--step-output is not valid JSON (byte 1)"},
        {"step fail S", "an argument is missing: [ORDER...|-] STEP ERROR"},
        {"cancel 1 --no-wait", "--reason TEXT is required"},
        {"submit - --input {", "--input is not valid JSON (byte 1)"},
        {"import x.csv", "no column is mapped to a field"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int code = reeve(cases[i].line);
        cr_assert(code == EXIT_CODE_USAGE || code == EXIT_CODE_CONFIG || code == EXIT_CODE_DATA,
                  "%s: %d", cases[i].line, code);
        cr_assert(strstr(err_text, cases[i].message) != NULL, "%s: %s", cases[i].line, err_text);
        cr_assert(*out_text == '\0', "%s: %s", cases[i].line, out_text);
    }
}

/* It asks no broker about orders that it cannot read. */
Test(cli_table, refuses_a_bad_order_before_it_connects)
{
    char path[] = "/tmp/reeve-order-XXXXXX";
    char line[256];
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, "{bad", 4) == 4 && close(fd) == 0);
    snprintf(line, sizeof(line),
             "submit %s --kafka.bootstrap.servers 127.0.0.1:9 --start.timeout.ms 1000", path);
    int code = reeve(line);
    unlink(path);
    cr_assert_eq(code, EXIT_CODE_DATA, "%d: %s", code, err_text);
    cr_assert(strstr(err_text, "order 1: not JSON") != NULL, "%s", err_text);
    cr_assert(strstr(err_text, "broker") == NULL, "%s", err_text);
}

Test(cli_table, explains_a_bad_workflow_before_dev_starts_anything)
{
    static const char text[] = "Name: bad\nVersion: 1\nSteps: [{Name: A, Agnt: a}]\n";
    char path[] = "/tmp/reeve-bad-XXXXXX.yaml";
    char line[64];
    int fd = mkstemps(path, 5);
    cr_assert(fd >= 0 && write(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
    snprintf(line, sizeof(line), "dev %s", path);
    int code = reeve(line);
    unlink(path);
    cr_assert_eq(code, EXIT_CODE_DATA, "%d: %s", code, err_text);
    cr_assert(strstr(err_text, ".yaml:3:19: error: ") != NULL, "%s", err_text);
    cr_assert(strstr(err_text, ".yaml is not valid\n") != NULL, "%s", err_text);
}

Test(cli_table, returns_the_documented_exit_codes)
{
    cr_assert(reeve("version") == EXIT_CODE_OK);
    cr_assert(reeve("--version") == EXIT_CODE_OK);
    cr_assert(reeve("frobnicate") == EXIT_CODE_USAGE);
    cr_assert(reeve("config --set nonsense=1") == EXIT_CODE_CONFIG);
    cr_assert(reeve("workflow lint /does/not/exist.yaml") == EXIT_CODE_DATA);
    cr_assert(reeve("submit /does/not/exist.json") == EXIT_CODE_DATA);
    cr_assert(reeve("topics check --kafka-bootstrap-servers 127.0.0.1:1 "
                    "--set kafka.socket.timeout.ms=1000") == EXIT_CODE_UNAVAILABLE,
              "%s", err_text);
}

Test(cli_table, prints_versions_as_json)
{
    cr_assert(reeve("version --output json") == EXIT_CODE_OK);
    cr_assert(strncmp(out_text, "{\"name\":\"reeve\",\"version\":\"", 27) == 0, "%s", out_text);
    cr_assert(reeve("version --schemas --output=jsonl") == EXIT_CODE_OK);
    cr_assert(strncmp(out_text, "{\"record\":\"SubmitOrder\",\"fingerprint\":\"", 39) == 0, "%s",
              out_text);
}

Test(cli_table, takes_configuration_flags_anywhere)
{
    cr_assert(reeve("config --topics-prefix shop --set log.level=debug") == EXIT_CODE_OK);
    cr_assert(strstr(out_text, "shop") != NULL && strstr(out_text, "debug") != NULL, "%s",
              out_text);
}

Test(cli_table, names_every_command_in_the_markdown)
{
    cr_assert(reeve("help --markdown") == EXIT_CODE_OK);
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        char heading[64];
        snprintf(heading, sizeof(heading), "### `reeve %s", table_kit_nouns[n]->name);
        cr_assert(strstr(out_text, heading) != NULL, "%s", heading);
    }
}

Test(cli_table, lists_no_configuration_in_the_help_of_a_command)
{
    cr_assert(reeve("orders list --help") == EXIT_CODE_OK);
    cr_assert(strstr(out_text, "kafka.bootstrap") == NULL &&
              strstr(out_text, "--kafka-bootstrap") == NULL);
    cr_assert(strstr(out_text,
                     "\nEvery configuration key is also a flag: `reeve config --keys cli` "
                     "lists them.\n") != NULL,
              "%s", out_text);
    cr_assert(reeve("config --keys cli") == EXIT_CODE_OK);
    cr_assert(strstr(out_text, "  --console-url (") != NULL, "%s", out_text);
    cr_assert(strstr(out_text, "--scheduler-cache-mb") == NULL, "%s", out_text);
    cr_assert(reeve("config --keys scheduler") == EXIT_CODE_OK);
    cr_assert(strstr(out_text, "  --scheduler-cache-mb (") != NULL, "%s", out_text);
    cr_assert(reeve("config --keys nonsense") == EXIT_CODE_USAGE);
}

/* An error, and nothing else. */
Test(cli_table, prints_errors_as_json_when_the_output_is_json)
{
    static const struct {
        const char *line;
        const char *beginning;
    } cases[] = {
        {"orders list --console http://127.0.0.1:9 --output json",
         "{\"error\":{\"code\":\"NoConsole\""},
        {"orders get x --console http://127.0.0.1:9 --output jsonl",
         "{\"error\":{\"code\":\"NoConsole\""},
        {"alerts --console http://127.0.0.1:9 --output json", "{\"error\":{\"code\":\"NoConsole\""},
        {"orders list --limt 5 --output=json",
         "{\"error\":{\"code\":\"Usage\",\"detail\":\"unknown flag --limt"},
        {"agents --output json",
         "{\"error\":{\"code\":\"Usage\",\"detail\":\"a command is missing before --output"},
        {"submit /does/not/exist --output json", "{\"error\":{\"code\":\"NoFile\""},
        {"workflow lint /does/not/exist --output json", "{\"error\":{\"code\":"},
        {"compensate a --reason r --by b --console http://127.0.0.1:9 --output json",
         "{\"error\":{\"code\":\"NoConsole\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert(reeve(cases[i].line) != EXIT_CODE_OK);
        cr_assert_str_eq(out_text, "", "%s: %s", cases[i].line, out_text);
        cr_assert(strncmp(err_text, cases[i].beginning, strlen(cases[i].beginning)) == 0, "%s: %s",
                  cases[i].line, err_text);
        cr_assert(strcspn(err_text, "\n") + 1 == strlen(err_text), "%s: %s", cases[i].line,
                  err_text);
    }
}

Test(cli_table, prints_no_table_when_a_command_fails)
{
    cr_assert(reeve("orders list --console http://127.0.0.1:9") == EXIT_CODE_UNAVAILABLE);
    cr_assert_str_eq(out_text, "");
    cr_assert(strncmp(err_text, "reeve: no console answers at http://127.0.0.1:9 ", 48) == 0, "%s",
              err_text);
}
