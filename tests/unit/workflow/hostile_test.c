/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile files: the compiler rejects them within bounded time and memory. */
#include "base/heap_arena.h"
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

Test(workflow_hostile, rejects_anchors_aliases_tags_and_deep_nesting)
{
    LINT({"a: &a [x, x]\nb: &b [*a, *a]\n",
          "1:4: error: anchors (&) are not allowed: what steps share belongs in Defaults\n"},
         {"Name: *x\n",
          "1:7: error: aliases (*) are not allowed: what steps share belongs in Defaults\n"},
         {"Name: !!binary aGVsbG8=\n", "1:7: error: tags (!) are not allowed: put a text or an "
                                       "expression that begins with ! in quotes\n"},
         {"<<: {Name: w}\nVersion: 1\nSteps: [{Name: A, Agent: x}]\n",
          "1:1: error: there is no field << here: merge keys are not allowed, what steps share "
          "belongs in Defaults\n"
          "1:1: error: the workflow has no Name\n"},
         {"Name: w\nVersion: 1\nSteps: [[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]\n",
          "3:23: error: a file has at most 16 lists and mappings within each other\n"},
         {"[a]: b\n", "1:1: error: a list or a mapping cannot be the name of a field\n"},
         {"? {a: b}\n: c\n", "1:3: error: a list or a mapping cannot be the name of a field\n"});
}

Test(workflow_hostile, rejects_empty_files_and_invalid_text)
{
    LINT(
        {"", "0:0: error: the file is empty\n"},
        {"# only words\n", "0:0: error: the file is empty\n"},
        {"---\n...\n", "0:0: error: the file is empty\n"},
        {"null\n", "0:0: error: the file is empty\n"},
        {"Name: \xff\n", "1:7: error: byte 0xff is not UTF-8: save the file as UTF-8\n"},
        {"Name: w\nVersion: \xc3", "2:10: error: byte 0xc3 is not UTF-8: save the file as UTF-8\n"},
        {"Name: \xc0\xaf\n", "1:7: error: byte 0xc0 is not UTF-8: save the file as UTF-8\n"},
        {"Name: \xed\xa0\x80\n", "1:7: error: byte 0xed is not UTF-8: save the file as UTF-8\n"},
        {"Name: \xf4\x90\x80\x80\n",
         "1:7: error: byte 0xf4 is not UTF-8: save the file as UTF-8\n"},
        {"\xc3\xa9: \x1b[2J\n", "1:4: error: byte 0x1b is a control character: remove it\n"},
        {"Name: w\n---\nName: x\n",
         "2:1: error: a second document begins here: one file is one workflow\n"});
    struct parsed parsed = kit_parse(TEXT("Name: w\0\nVersion: 1\n"), WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems, "1:8: error: byte 0x00 is a control character: remove it\n");
    parsed = kit_parse((struct text){0}, WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems, "0:0: error: the file is empty\n");
    /* UTF-16 is not UTF-8. */
    parsed = kit_parse(TEXT("\xff\xfeN\0a\0"), WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems,
                     "1:1: error: byte 0xff is not UTF-8: save the file as UTF-8\n");
}

Test(workflow_hostile, rejects_nul_in_any_text)
{
    LINT({"Name: w\nVersion: 1\nSteps: [{Name: A, Set: \"\\0\"}]\n",
          "3:24: error: a text cannot have the character \\0\n"},
         {"Name: w\nVersion: 1\nSteps: [{Name: A, Set: {\"a\\x00\": 1}}]\n",
          "3:25: error: a text cannot have the character \\0\n"});
}

/* Of the two values, data keeps the first. */
Test(workflow_hostile, rejects_names_that_are_given_twice_in_data)
{
    LINT({HEAD "  - {Name: A, Set: {a: 1, b: {}, a: {c: 2}}}\n",
          "4:34: error: a is given twice, first in line 4\n"},
         {HEAD "  - {Name: A, Agent: x, Input: [{a: \"${input}\", a: [[\"${input}\"]]}]}\n",
          "4:49: error: a is given twice, first in line 4\n"});
}

Test(workflow_hostile, accepts_a_byte_order_mark)
{
    kit_workflow("\xef\xbb\xbfName: w\nVersion: 1\nSteps: [{Name: A, Agent: x}]\n");
}

Test(workflow_hostile, locates_syntax_errors_in_yaml)
{
    LINT({"Name: w\nVersion: [1\nSteps: 2\n",
          "3:6: error: did not find expected ',' or ']' while parsing a flow sequence that begins "
          "in line 2\n"},
         {"Name: \"w\nVersion: 1\n",
          "3:1: error: found unexpected end of stream while scanning a quoted scalar that begins "
          "in line 1\n"},
         {"Name: w\n Version: 1\n", "2:9: error: mapping values are not allowed in this context\n"},
         {"Name: w\n\tVersion: 1\n",
          "2:1: error: found a tab character that violates indentation while scanning a plain "
          "scalar that begins in line 1\n"},
         {"Name: @w\n", "1:7: error: found character that cannot start any token while scanning "
                        "for the next token\n"});
}

Test(workflow_hostile, rejects_error_names_that_no_agent_can_report)
{
    struct parsed parsed = kit_yaml("Name: w\nVersion: 1\nSteps:\n  - Name: A\n    Agent: x\n"
                                    "    Retry: [{ErrorEquals: [\"a\\x01b\"]}]\n");
    cr_assert_null(parsed.workflow);
    cr_assert(strstr(parsed.problems, "6:28: error: an error name must be printable") != NULL, "%s",
              parsed.problems);
}

Test(workflow_hostile, escapes_control_characters_in_messages)
{
    /* YAML escapes can produce control characters; messages shorten long names. */
    LINT({"\"Na\\e[2Jme\\n\": w\n", "1:1: error: Na [2Jme  is an unknown field of the workflow: "
                                    "put an expression with a comma or a colon in quotes\n"
                                    "1:1: error: the workflow has no Name\n"
                                    "1:1: error: the workflow has no Version\n"
                                    "1:1: error: the workflow has no Steps\n"});
    static char source[4096] = "";
    memset(source, 'x', 2000);
    memcpy(source + 2000, ": 1\n", 5);
    cr_assert(strlen(kit_yaml(source).problems) < 500);
}

/* Parts of texts, and names of maps, as many as a file has: each takes what it needs. */
Test(workflow_hostile, takes_memory_and_time_in_proportion_to_a_template)
{
    static char source[WORKFLOW_BYTES_MAX + 1];
    size_t size =
        (size_t)snprintf(source, sizeof(source), HEAD "  - {Name: A, Fail: {Error: E, Message: \"");
    while (size + 16 < WORKFLOW_BYTES_MAX)
        size += (size_t)snprintf(source + size, sizeof(source) - size, "${1}");
    size += (size_t)snprintf(source + size, sizeof(source) - size, "\"}}\n");
    static struct workflow_problems problems;
    struct heap_arena scratch;
    struct workflow *workflow = NULL;
    heap_arena_init(&scratch, 32 * 1024);
    cr_assert(workflow_parse((struct text){source, (uint32_t)size}, WORKFLOW_YAML, &scratch.arena,
                             &problems, &workflow));
    cr_assert_lt(scratch.allocated, 64u << 20);
    heap_arena_deinit(&scratch);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Repeats `unit` up to the largest file. The compiler must reject it within seconds. */
static void flood(const char *head, const char *unit)
{
    static char source[WORKFLOW_BYTES_MAX + 1];
    size_t head_size = strlen(head);
    size_t unit_size = strlen(unit);
    memcpy(source, head, head_size);
    size_t size = head_size;
    for (; size + unit_size <= WORKFLOW_BYTES_MAX; size += unit_size)
        memcpy(source + size, unit, unit_size);
    int64_t begin_ms = now_ms();
    struct parsed parsed = kit_parse((struct text){source, (uint32_t)size}, WORKFLOW_YAML);
    cr_assert(parsed.workflow == NULL);
    cr_assert(now_ms() - begin_ms < 10000, "%s took %lld ms", unit,
              (long long)(now_ms() - begin_ms));
}

Test(workflow_hostile, rejects_repetitive_input_in_bounded_time)
{
    flood("", "[");
    flood("", "{");
    flood("", "- ");
    flood("", "? ");
    flood("", "a: ");
    flood("", "- - - - \n");
    flood("[", "a,");
    flood("{", "a: b,");
    flood("", "x: y\n");
    flood("Steps:\n", "  - {}\n");
    flood("Steps: [", "[],");
    flood(HEAD "  - Name: A\n    Agent: x\n    After: [", "B, ");
    flood(HEAD "  - Name: A\n    Agent: x\n    Retry: [", "{}, ");
    flood(HEAD "  - Name: A\n    Agent: x\n    Retry: [{ErrorEquals: [", "E, ");
    flood("\"", "x");
    flood("\"", "\\x41");
    flood("# ", "x");
    flood("|\n", " x\n");
    flood("", "\n");
    flood("", "&a ");
    flood("", "!a ");
    flood("%TAG ! ", "x");
}

Test(workflow_hostile, rejects_thousands_of_mistakes_in_one_text_in_bounded_time)
{
    static char source[WORKFLOW_BYTES_MAX + 1];
    size_t size = (size_t)snprintf(source, sizeof(source), HEAD "  - {Name: A, Set: \"");
    for (; size + 16 < WORKFLOW_BYTES_MAX; size += 4)
        memcpy(source + size, "${a}", 4);
    size += (size_t)snprintf(source + size, sizeof(source) - size, "\"}\n");
    int64_t begin_ms = now_ms();
    static struct workflow_problems problems;
    struct heap_arena scratch;
    struct workflow *workflow = NULL;
    heap_arena_init(&scratch, 32 * 1024);
    cr_assert_not(workflow_parse((struct text){source, (uint32_t)size}, WORKFLOW_YAML,
                                 &scratch.arena, &problems, &workflow));
    cr_assert_lt(now_ms() - begin_ms, 10000);
    cr_assert_eq(problems.count, WORKFLOW_PROBLEMS_MAX);
    heap_arena_deinit(&scratch);
}

Test(workflow_hostile, rejects_a_file_that_is_too_large)
{
    static char source[WORKFLOW_BYTES_MAX + 1];
    memset(source, ' ', sizeof(source));
    struct parsed parsed = kit_parse((struct text){source, sizeof(source)}, WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems,
                     "0:0: error: the file has 262145 bytes; the limit is 262144\n");
    parsed = kit_parse((struct text){source, sizeof(source)}, WORKFLOW_JSON);
    cr_assert_str_eq(parsed.problems,
                     "0:0: error: the file has 262145 bytes; the limit is 262144\n");
}

Test(workflow_hostile, counts_problems_beyond_the_reported_ones)
{
    static char source[64 << 10];
    size_t size = (size_t)snprintf(source, sizeof(source), HEAD);
    for (int i = 0; i < 64; i++)
        size += (size_t)snprintf(source + size, sizeof(source) - size, "  - {Nam: A, Agen: x}\n");
    static struct workflow_problems problems;
    struct workflow *workflow = NULL;
    cr_assert(!workflow_parse((struct text){source, (uint32_t)size}, WORKFLOW_YAML, kit_arena(),
                              &problems, &workflow));
    cr_assert(problems.count == WORKFLOW_PROBLEMS_MAX && problems.errors == 64 * 4);
    cr_assert(workflow == NULL);
}

/* ---- small changes to a valid file ---- */

static const char good[] =
    "Name: w\nVersion: 2\nTimeoutSeconds: 600.5\n"
    "Defaults:\n"
    "  Retry: [{ErrorEquals: [States.ALL], IntervalSeconds: 0.2, MaxDelaySeconds: 3.125}]\n"
    "  Compensate: {TimeoutSeconds: 3}\n"
    "Steps:\n"
    "  - {Name: A, Agent: x, Compensate: {Action: U, Retry: []}}\n"
    "  - Name: \"B\"\n    Agent: 'y'\n    After: []\n"
    "    Catch: [{ErrorEquals: ['E'], Next: $error}]\n"
    "  - {Name: C, Agent: z, After: [B, A], Pivot: true, OnExhausted: error}\n";

/* The file compiles or is rejected with sensible problems. */
static void check(struct text source)
{
    static struct workflow_problems problems;
    struct heap_arena scratch;
    struct workflow *workflow = NULL;
    heap_arena_init(&scratch, 32 * 1024);
    bool compiled = workflow_parse(source, WORKFLOW_YAML, &scratch.arena, &problems, &workflow);
    cr_assert(compiled == (problems.errors == 0) && compiled == (workflow != NULL));
    for (uint32_t i = 0; i < problems.count; i++) {
        cr_assert(problems.items[i].text[0] != '\0');
        cr_assert(problems.items[i].line <= 16);
    }
    heap_arena_deinit(&scratch);
}

Test(workflow_hostile, survives_every_truncation_and_every_changed_byte)
{
    static const char bytes[] = "\0\t\n #&*!|>'\"%@`[]{}:,-?0~\\\x7f\x80\xc3\xff";
    char changed[sizeof(good)];
    uint32_t size = sizeof(good) - 1;
    for (uint32_t cut = 0; cut <= size; cut++) {
        check((struct text){good, cut});
        check((struct text){good + cut, size - cut});
    }
    memcpy(changed, good, sizeof(good));
    for (uint32_t at = 0; at < size; at++) {
        for (size_t i = 0; i + 1 < sizeof(bytes); i++) {
            changed[at] = bytes[i];
            check((struct text){changed, size});
        }
        changed[at] = good[at];
    }
}
