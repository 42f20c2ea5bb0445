/* SPDX-License-Identifier: Apache-2.0 */
/* Values that no field of today has. */
#include "tests/unit/workflow/kit.h"
#include "workflow/data.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const levels[] = {"low", "normal", "high"};
static const struct enum_names level_names = ENUM_NAMES(levels);
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

/* The index of the text among the levels; -1: *ret_problem says why there is none. */
static int level_of(const char *text, const char **ret_problem)
{
    static struct workflow_problems problems;
    struct values values = {kit_arena(), &problems, false, NULL};
    struct yaml_node node = {.kind = NODE_SCALAR, .plain = true, .text = text_of(text)};
    uint32_t index = LEVELS;
    problems.count = 0;
    if (value_word(&values, &node, "Priority", &level_names, &index))
        return (int)index;
    cr_assert(index == LEVELS && problems.count == 1);
    *ret_problem = problems.items[0].text;
    return -1;
}

Test(workflow_values, takes_one_of_several_words)
{
    const char *problem = NULL;
    cr_expect_eq(level_of("low", &problem), 0);
    cr_expect_eq(level_of("high", &problem), 2);
    cr_expect_eq(level_of("hihg", &problem), -1);
    cr_expect_str_eq(problem, "Priority \"hihg\" is unknown: did you mean high?");
    cr_expect_eq(level_of("7", &problem), -1);
    cr_expect_str_eq(problem, "Priority must be low, normal or high, not a number (7)");
}

/* The tree of a file is freed once it is compiled; its data stay. */
Test(workflow_values, keeps_data_when_the_tree_goes)
{
    static const char *const words[] = {"true", "false", "null", "12.50", "word"};
    static const char *const expected[] = {"true", "false", "null", "12.5", "\"word\""};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        static struct workflow_problems problems;
        struct values values = {kit_arena(), &problems, false, NULL};
        char text[8];
        struct text json = {0};
        snprintf(text, sizeof(text), "%s", words[i]);
        struct yaml_node node = {.kind = NODE_SCALAR, .plain = true, .text = text_of(text)};
        cr_assert(data_of_plain(&values, &node, &json), "%s", words[i]);
        memset(text, 'x', sizeof(text));
        cr_expect(text_equal(json, text_of(expected[i])), "%s: %.*s", words[i], TEXT_ARG(json));
    }
}
