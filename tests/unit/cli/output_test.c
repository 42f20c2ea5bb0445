/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct output_column columns[] = {{"ORDER", "id", output_value, false},
                                               {"COUNT", "n", output_value, true},
                                               {"STEP", "step.name", output_value, false},
                                               {0}};

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

static struct output *new_output(FILE *file, enum cli_output format)
{
    static struct cli cli;
    cli = (struct cli){.out = file, .output = format};
    return output_new(&cli, columns);
}

/* A table of the columns before `title`. */
static struct output *new_table_until(const char *title)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    bool hidden = false;
    for (const struct output_column *column = columns; column->title != NULL; column++) {
        hidden = hidden || strcmp(column->title, title) == 0;
        if (hidden)
            output_hide(output, column->title);
    }
    return output;
}

TestSuite(cli_output, .init = set_up, .fini = tear_down);

static void add(struct output *output, const char *id, int n, const char *step)
{
    output_row(output, json_pack("{s:s, s:i, s:{s:s}}", "id", id, "n", n, "step", "name", step));
}

static void expect(struct output *output, const char *expected)
{
    cr_assert(output_finish(output, EXIT_CODE_OK) == EXIT_CODE_OK);
    cr_assert_str_eq(text, expected, "got:\n%s", text);
}

Test(cli_output, makes_a_table_as_wide_as_its_cells)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    add(output, "1", 7, "ReserveStock");
    add(output, "order-2", 12345678, "");
    expect(output, "ORDER       COUNT  STEP\n"
                   "1               7  ReserveStock\n"
                   "order-2  12345678\n");
}

Test(cli_output, prints_the_titles_of_an_empty_table)
{
    expect(new_output(out, CLI_OUTPUT_TABLE), "ORDER  COUNT  STEP\n");
}

Test(cli_output, aligns_rows_that_are_printed_one_by_one)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_width(output, "ORDER", 7);
    add(output, "1", 7, "ReserveStock");
    output_flush(output);
    add(output, "order-2", 12, "");
    expect(output, "ORDER    COUNT  STEP\n"
                   "1            7  ReserveStock\n"
                   "order-2     12\n");
}

Test(cli_output, prints_a_single_row_as_fields)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_single(output);
    add(output, "1", 7, "s");
    expect(output, "ORDER  1\nCOUNT  7\nSTEP   s\n");
}

Test(cli_output, prints_json_as_a_list)
{
    struct output *output = new_output(out, CLI_OUTPUT_JSON);
    add(output, "1", 7, "s");
    add(output, "2", 8, "t");
    expect(output, "[\n{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"s\"}},\n"
                   "{\"id\":\"2\",\"n\":8,\"step\":{\"name\":\"t\"}}\n]\n");
}

Test(cli_output, prints_an_empty_list_as_json)
{
    expect(new_output(out, CLI_OUTPUT_JSON), "[]\n");
}

Test(cli_output, prints_json_lines)
{
    struct output *output = new_output(out, CLI_OUTPUT_JSONL);
    add(output, "1", 7, "\xc3\xa9\x01");
    expect(output, "{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"\\u00E9\\u0001\"}}\n");
}

Test(cli_output, prints_a_single_row_as_a_json_object)
{
    struct output *output = new_output(out, CLI_OUTPUT_JSON);
    output_single(output);
    add(output, "1", 7, "s");
    expect(output, "{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"s\"}}\n");
}

Test(cli_output, quotes_a_word_for_a_shell)
{
    output_quoted(out, "{\"it's\": \"$HOME\"}");
    fflush(out);
    cr_expect_str_eq(text, "'{\"it'\\''s\": \"$HOME\"}'");
}

/* Bytes 80 to BF are the inside of a character; alone they are nothing. */
Test(cli_output, bounds_text_that_is_not_utf8)
{
    char bytes[5000];
    memset(bytes, 0x80, sizeof(bytes));
    bytes[sizeof(bytes) - 1] = '\0';
    output_text(out, bytes, 0);
    fflush(out);
    cr_expect_eq(size, 1023);
    cr_expect_eq(strspn(text, "?"), size);
    output_whole_text(out, bytes);
    fflush(out);
    cr_expect_eq(size, 1023 + sizeof(bytes) - 1);
    cr_expect_eq(strspn(text, "?"), size);
}

Test(cli_output, replaces_characters_that_reorder_or_hide_text)
{
    output_text(out, "a\u202eb\u2066c\u200fd\u061ce\ufefff \u00e9\u20ac\U0001f680", 0);
    fflush(out);
    cr_expect_str_eq(text, "a?b?c?d?e?f \u00e9\u20ac\U0001f680");
}

/* Text from elsewhere must not control a terminal. */
Test(cli_output, replaces_control_characters)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    add(output, "a\033[2Jb", 1,
        "c\xc2\x9b"
        "d\te");
    expect(output, "ORDER   COUNT  STEP\na?[2Jb      1  c?d?e\n");
}

Test(cli_output, cuts_long_cells_between_characters)
{
    char id[400] = "";
    for (int i = 0; i < 100; i++)
        memcpy(id + 2 * i, "\xc3\xa9", 3);
    struct output *output = new_table_until("STEP");
    output_row(output, json_pack("{s:s, s:i}", "id", id, "n", 7));
    cr_assert(output_finish(output, EXIT_CODE_OK) == EXIT_CODE_OK);
    const char *row = strchr(text, '\n') + 1;
    cr_assert_str_eq(row + 77 * 2, "...      7\n");
}

/* It says what to do, as a rule at its end. */
Test(cli_output, keeps_the_last_column_whole)
{
    char id[100];
    memset(id, 'x', sizeof(id) - 1);
    id[sizeof(id) - 1] = '\0';
    struct output *output = new_table_until("COUNT");
    output_row(output, json_pack("{s:s}", "id", id));
    cr_assert(output_finish(output, EXIT_CODE_OK) == EXIT_CODE_OK);
    const char *row = strchr(text, '\n') + 1;
    cr_assert_eq(strlen(row), sizeof(id), "%s", row);
    cr_assert_eq(strncmp(row, id, sizeof(id) - 1), 0);
}

Test(cli_output, prints_an_empty_row_for_a_malformed_one)
{
    struct output *output = new_output(out, CLI_OUTPUT_JSONL);
    output_row(output, json_pack("{s:s}", "id", "\xff"));
    expect(output, "{}\n");
}

Test(cli_output, prints_long_answers_in_pieces)
{
    struct output *output = new_table_until("STEP");
    for (int i = 0; i < 1000; i++)
        output_row(output, json_pack("{s:s, s:i}", "id", "x", "n", i));
    cr_assert(output_finish(output, EXIT_CODE_OK) == EXIT_CODE_OK);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_assert(lines == 1001, "%zu", lines);
}

Test(cli_output, omits_empty_columns_of_compact_tables)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_compact(output, 100);
    output_row(output, json_pack("{s:s, s:{s:s}}", "id", "1", "step", "name", "ReserveStock"));
    output_row(output, json_pack("{s:s, s:s}", "id", "order-2", "n", ""));
    expect(output, "ORDER    STEP\n"
                   "1        ReserveStock\n"
                   "order-2\n");
}

Test(cli_output, fits_compact_tables_into_a_line)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_compact(output, 24);
    add(output, "a-long-order-id", 7, "a-step-with-a-long-name");
    add(output, "b", 8, "short");
    expect(output, "ORDER    COUNT  STEP\n"
                   "a-lo...      7  a-ste...\n"
                   "b            8  short\n");
}

Test(cli_output, shows_hostile_text_safely_in_compact_tables)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_compact(output, 20);
    add(output, "\033[31mred\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 1, "\x1b]0;title\x07");
    expect(output, "ORDER  COUNT  STEP\n"
                   "?[...      1  ?]0...\n");
}

static json_t *twice(const json_t *n)
{
    return json_integer(2 * json_integer_value(n));
}

static json_t *name_of(const json_t *row)
{
    return json_sprintf("%s!", json_string_value(json_object_get(row, "name")));
}

Test(cli_output, shows_what_is_at_a_path_in_a_format)
{
    static const struct output_column formats[] = {
        {"WHOLE", "", name_of, false},
        {"SECOND", "of.1.n", twice, true},
        {"THIRD", "of.2.n", output_value, true},
        {"YES", "yes", output_value, false},
        {0},
    };
    json_t *row =
        json_pack("{s:s, s:[{s:i}, {s:i}], s:b}", "name", "a", "of", "n", 3, "n", 4, "yes", 1);
    struct cli cli = {.out = out};
    struct output *output = output_new(&cli, formats);
    output_row(output, json_incref(row));
    expect(output, "WHOLE  SECOND  THIRD  YES\na!          8         yes\n");
    output_fields(&cli, formats, 7, row);
    fflush(out);
    cr_assert_str_eq(strchr(text, '\n') + 1 + strlen("a!          8         yes\n"),
                     "WHOLE    a!\nSECOND   8\nYES      yes\n");
    json_decref(row);
}

Test(cli_output, shows_rows_of_two_kinds_under_the_same_titles)
{
    static const struct output_column others[] = {{"ORDER", "name", output_value, false},
                                                  {"COUNT", "size", output_value, true},
                                                  {"STEP", "", name_of, false},
                                                  {0}};
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    add(output, "1", 7, "s");
    output_columns(output, others);
    output_row(output, json_pack("{s:s, s:i}", "name", "other", "size", 8));
    expect(output, "ORDER  COUNT  STEP\n1          7  s\nother      8  other!\n");
}

Test(cli_output, omits_the_titles_of_an_empty_table_on_request)
{
    struct output *output = new_output(out, CLI_OUTPUT_TABLE);
    output_omit_empty(output);
    expect(output, "");
    output = new_output(out, CLI_OUTPUT_JSON);
    output_omit_empty(output);
    expect(output, "[]\n");
}

Test(cli_output, prints_nothing_when_a_command_fails_before_its_first_row)
{
    for (int format = 0; format < CLI_OUTPUT_COUNT; format++) {
        struct output *output = new_output(out, (enum cli_output)format);
        cr_assert(output_finish(output, EXIT_CODE_UNAVAILABLE) == EXIT_CODE_UNAVAILABLE);
        cr_assert_str_eq(text, "");
    }
    cr_assert(output_finish(NULL, EXIT_CODE_OK) == EXIT_CODE_OK);
}

Test(cli_output, closes_the_list_when_a_command_fails_after_a_row)
{
    struct output *output = new_output(out, CLI_OUTPUT_JSON);
    add(output, "1", 7, "s");
    cr_assert(output_finish(output, EXIT_CODE_NEGATIVE) == EXIT_CODE_NEGATIVE);
    cr_assert_str_eq(text, "[\n{\"id\":\"1\",\"n\":7,\"step\":{\"name\":\"s\"}}\n]\n");
}

Test(cli_output, reports_incomplete_writes)
{
    FILE *full = fopen("/dev/full", "we");
    cr_assert(full != NULL);
    struct output *output = new_output(full, CLI_OUTPUT_JSONL);
    add(output, "1", 7, "s");
    cr_assert(output_finish(output, EXIT_CODE_OK) == EXIT_CODE_INTERNAL);
    fclose(full);
}

static void expect_text(json_t *value, const char *expected)
{
    cr_assert_str_eq(json_string_value(value), expected);
    json_decref(value);
}

Test(cli_output, shows_times_as_utc)
{
    json_t *time = json_string("2010-12-01T08:26:03.123Z");
    expect_text(output_time(time), "2010-12-01 08:26:03");
    expect_text(output_time_ms(time), "2010-12-01 08:26:03.123");
    expect_text(output_time(json_null()), "");
    expect_text(output_age(NULL), "");
    json_decref(time);
}

Test(cli_output, shows_ages_in_one_unit)
{
    static const struct {
        int64_t ms;
        const char *age;
    } cases[] = {
        {0, "0s"},          {999, "0s"},       {-999, "0s"},        {-5000, "in 5s"},
        {119999, "119s"},   {120000, "2m"},    {7199999, "119m"},   {7200000, "2h"},
        {172799999, "47h"}, {172800000, "2d"}, {-7200000, "in 2h"}, {864000000, "10d"},
    };
    json_t *time = json_string("1970-01-12T13:46:40.000Z"); /* 1,000,000,000 ms */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_text(output_age_at(time, 1000000000 + cases[i].ms), cases[i].age);
    json_decref(time);
}

Test(cli_output, shows_durations_in_one_unit)
{
    static const struct {
        int ms;
        const char *text;
    } cases[] = {{0, "0ms"}, {1999, "1999ms"}, {2000, "2s"}, {7200000, "2h"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *ms = json_integer(cases[i].ms);
        expect_text(output_duration(ms), cases[i].text);
        json_decref(ms);
    }
}
