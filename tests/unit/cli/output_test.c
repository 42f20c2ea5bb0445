/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct output_column columns[] = {
    {"id", "ORDER", false}, {"n", "COUNT", true}, {"step.name", "STEP", false}};

static char *text;
static size_t size;
static FILE *out;

static void set_up(void)
{
    out = open_memstream(&text, &size);
}

static void tear_down(void)
{
    fclose(out);
    free(text);
}

TestSuite(cli_output, .init = set_up, .fini = tear_down);

static void add(struct output *output, const char *id, int n, const char *step)
{
    output_row(output, json_pack("{s:s, s:i, s:{s:s}}", "id", id, "n", n, "step", "name", step));
}

static void expect(struct output *output, const char *expected)
{
    cr_assert(output_finish(output));
    cr_assert_str_eq(text, expected, "got:\n%s", text);
}

Test(cli_output, a_table_is_as_wide_as_its_cells)
{
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 3);
    add(output, "1", 7, "ReserveStock");
    add(output, "order-2", 12345678, "");
    expect(output, "ORDER       COUNT  STEP\n"
                   "1               7  ReserveStock\n"
                   "order-2  12345678  \n");
}

Test(cli_output, an_empty_table_has_its_titles)
{
    expect(output_new(out, CLI_OUTPUT_TABLE, columns, 3), "ORDER  COUNT  STEP\n");
}

Test(cli_output, rows_that_are_shown_one_by_one_stand_below_each_other)
{
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 3);
    output_width(output, "id", 7);
    add(output, "1", 7, "ReserveStock");
    output_flush(output);
    add(output, "order-2", 12, "");
    expect(output, "ORDER    COUNT  STEP\n"
                   "1            7  ReserveStock\n"
                   "order-2     12  \n");
}

Test(cli_output, one_row)
{
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 3);
    output_single(output);
    add(output, "1", 7, "s");
    expect(output, "ORDER  1\nCOUNT  7\nSTEP   s\n");
}

Test(cli_output, json_is_a_list_and_jsonl_its_lines)
{
    struct output *output = output_new(out, CLI_OUTPUT_JSON, columns, 3);
    add(output, "1", 7, "s");
    add(output, "2", 8, "t");
    expect(output, "[\n{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"s\"}},\n"
                   "{\"id\":\"2\",\"n\":8,\"step\":{\"name\":\"t\"}}\n]\n");
}

Test(cli_output, json_of_nothing_is_an_empty_list)
{
    expect(output_new(out, CLI_OUTPUT_JSON, columns, 3), "[]\n");
}

Test(cli_output, jsonl)
{
    struct output *output = output_new(out, CLI_OUTPUT_JSONL, columns, 3);
    add(output, "1", 7, "\xc3\xa9\x01");
    expect(output, "{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"\\u00E9\\u0001\"}}\n");
}

Test(cli_output, json_of_one)
{
    struct output *output = output_new(out, CLI_OUTPUT_JSON, columns, 3);
    output_single(output);
    add(output, "1", 7, "s");
    expect(output, "{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"s\"}}\n");
}

/* Texts of strangers must not drive a terminal. */
Test(cli_output, control_characters_do_not_reach_the_terminal)
{
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 3);
    add(output, "a\033[2Jb", 1,
        "c\xc2\x9b"
        "d\te");
    expect(output, "ORDER   COUNT  STEP\na?[2Jb      1  c?d?e\n");
}

Test(cli_output, long_cells_are_cut_between_characters)
{
    char id[400] = "";
    for (int i = 0; i < 100; i++)
        memcpy(id + 2 * i, "\xc3\xa9", 3);
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 1);
    output_row(output, json_pack("{s:s}", "id", id));
    cr_assert(output_finish(output));
    const char *row = strchr(text, '\n') + 1;
    cr_assert(strlen(row) == 77 * 2 + 3 + 1, "%zu", strlen(row));
    cr_assert_str_eq(row + 77 * 2, "...\n");
}

Test(cli_output, a_row_that_could_not_be_made_is_empty)
{
    struct output *output = output_new(out, CLI_OUTPUT_JSONL, columns, 3);
    output_row(output, json_pack("{s:s}", "id", "\xff"));
    expect(output, "{}\n");
}

Test(cli_output, long_answers_come_in_pieces)
{
    struct output *output = output_new(out, CLI_OUTPUT_TABLE, columns, 2);
    for (int i = 0; i < 1000; i++)
        output_row(output, json_pack("{s:s, s:i}", "id", "x", "n", i));
    cr_assert(output_finish(output));
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_assert(lines == 1001, "%zu", lines);
}
