/* SPDX-License-Identifier: Apache-2.0 */
/* What a word may become, as shells learn it, and the pages for man(1). */
#include "tests/unit/cli/table_kit.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(cli_completion, .fini = table_kit_tear_down);

/* The words that are offered, separated by blanks, without their descriptions. */
static const char *offered(const char *words)
{
    static char found[8192];
    char line[256];
    size_t size = 0;
    snprintf(line, sizeof(line), "completion words -- %s", words);
    cr_assert_eq(reeve(line), EXIT_CODE_OK, "%s: %s", line, err_text);
    found[0] = '\0';
    for (const char *at = out_text; *at != '\0'; at += strcspn(at, "\n") + 1)
        size += (size_t)snprintf(found + size, sizeof(found) - size, "%s%.*s", size > 0 ? " " : "",
                                 (int)strcspn(at, "\t"), at);
    return found;
}

Test(cli_completion, offers_what_the_line_may_go_on_with)
{
    static const struct {
        const char *words, *offered;
    } cases[] = {
        {"ord", "orders"},
        {"orders h", "history"},
        {"orders nonsense ''", ""},
        {"nonsense ''", ""},
        {"schedule p", "pause"},
        {"submit --wa", "--wait"},
        {"submit order.json --wa", "--wait"},
        {"orders list --output ''", "table json jsonl yaml csv id"},
        {"orders list --output=j", "--output=json --output=jsonl"},
        {"orders list --output=json --output ta", "table"},
        {"orders list --console-ur", "--console-url"},
        {"orders list --scheduler-cache", ""},
        {"dev a", "agent app"},
        {"dev --wa", "--watch"},
        {"run s", "submission scheduler supervisor"},
        {"run scheduler --scheduler-cache", "--scheduler-cache-mb"},
        {"run scheduler --agent-na", ""},
        {"run scheduler --log-level d", "debug"},
        {"run scheduler --log-level=d", "--log-level=debug"},
        {"run console --http-read-only t", "true"},
        {"help workfl", "workflow"},
        {"help workflow dep", "deploy"},
        {"completion ''", "bash zsh fish words"},
        {"version --schemas --s", "--schemas"},
        {"submit -- --wa", ""},
        {"submit --rate ''", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = offered(cases[i].words);
        cr_assert_str_eq(found, cases[i].offered, "%s: %s", cases[i].words, found);
    }
}

Test(cli_completion, offers_every_command_with_its_summary)
{
    offered("''");
    const char *at = out_text;
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        char row[512];
        const struct cli_noun *noun = table_kit_nouns[n];
        snprintf(row, sizeof(row), "%s\t%.*s\n", noun->name, (int)cli_first_sentence(noun->summary),
                 noun->summary);
        cr_assert(strncmp(at, row, strlen(row)) == 0, "%s: %.40s", row, at);
        at += strlen(row);
    }
}

Test(cli_completion, is_not_confused_by_a_word_that_is_longer_than_all_of_its_own)
{
    char line[1000] = "completion words -- submit --";
    size_t size = strlen(line);
    memset(line + size, 'a', 900);
    cr_assert_eq(reeve(line), EXIT_CODE_OK);
    cr_assert_str_eq(out_text, "");
    line[size + 400] = '=';
    cr_assert_eq(reeve(line), EXIT_CODE_OK);
    cr_assert_str_eq(out_text, "");
    cr_assert_eq(reeve("completion words --"), EXIT_CODE_OK);
    cr_assert_str_eq(out_text, "");
    cr_assert_eq(reeve("completion words"), EXIT_CODE_OK);
    cr_assert_str_eq(out_text, "");
}

/* Each page names its commands and flags, and no line of text is taken for a request of man(7). */
Test(cli_completion, has_a_page_for_man_of_every_command)
{
    cr_assert_eq(reeve("help --man"), EXIT_CODE_OK);
    cr_assert(strstr(out_text, ".TH REEVE 1 ") != NULL, "%s", out_text);
    cr_assert(strstr(out_text, ".BR reeve\\-dead\\-letters (1)") != NULL, "%s", out_text);
    for (size_t n = 0; table_kit_nouns[n] != NULL; n++) {
        const struct cli_noun *noun = table_kit_nouns[n];
        char line[128];
        snprintf(line, sizeof(line), "help --man %s", noun->name);
        cr_assert_eq(reeve(line), EXIT_CODE_OK);
        for (size_t i = 0; i < noun->verb_count; i++) {
            const char *verb = noun->verbs[i].name;
            snprintf(line, sizeof(line), "\n.SS reeve %s%s%s", noun->name, verb != NULL ? " " : "",
                     verb != NULL ? verb : "");
            for (char *at = line; (at = strchr(at, '-')) != NULL; at += 2) {
                memmove(at + 1, at, strlen(at) + 1);
                *at = '\\';
            }
            cr_assert(strstr(out_text, line) != NULL, "%s: %s", line, out_text);
        }
        for (const char *at = out_text; *at != '\0'; at += strcspn(at, "\n") + 1)
            cr_assert(at[0] != '.' || strspn(at + 1, "ABFHIPRSTUbfin\\\"") >= 1, "%.40s", at);
    }
    cr_assert_eq(reeve("help --man nonsense"), EXIT_CODE_USAGE);
}
