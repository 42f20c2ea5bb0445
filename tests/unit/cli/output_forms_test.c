/* SPDX-License-Identifier: Apache-2.0 */
/* YAML, CSV, ids, and the fields that are chosen. */
#include "cli/output.h"
#include "platform/json_tree.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct output_column columns[] = {{"ORDER", "id", output_value, false},
                                               {"AGE", "at", output_age, true},
                                               {"CREATED", "at", output_time, true},
                                               {"STEP", "step.name", output_value, false},
                                               {0}};

static char *text, *err_text;
static size_t size, err_size;
static struct cli cli;

static void set_up(void)
{
    cli = (struct cli){.out = open_memstream(&text, &size),
                       .err = open_memstream(&err_text, &err_size)};
}

static void tear_down(void)
{
    fclose(cli.out);
    fclose(cli.err);
    free(text);
    free(err_text);
}

TestSuite(cli_output_forms, .init = set_up, .fini = tear_down);

static struct output *begin(enum cli_output format, const char *fields)
{
    cli.output = format;
    cli.fields = fields;
    return output_new(&cli, columns);
}

static void add(struct output *output, const char *json)
{
    json_error_t at;
    json_t *row = json_tree_load(text_of(json), 0, &at);
    cr_assert(row != NULL, "%s", at.text);
    output_row(output, row);
}

static void expect(struct output *output, const char *expected)
{
    cr_assert_eq(output_finish(output, EXIT_CODE_OK), EXIT_CODE_OK);
    cr_assert_str_eq(text, expected, "got:\n%s", text);
}

#define ROW(id)     \
    "{\"id\":\"" id \
    "\",\"at\":\"2010-12-01T08:26:00.000Z\",\"step\":{\"name\":\"Pack\",\"n\":[1,2.50]}}"

Test(cli_output_forms, prints_yaml_as_one_list)
{
    struct output *output = begin(CLI_OUTPUT_YAML, NULL);
    add(output, ROW("a"));
    add(output, "{\"id\":\"b\",\"empty\":{},\"none\":[],\"is\":true,\"not\":null}");
    expect(output, "- id: a\n"
                   "  at: \"2010-12-01T08:26:00.000Z\"\n"
                   "  step:\n"
                   "    name: Pack\n"
                   "    \"n\":\n"
                   "    - 1\n"
                   "    - 2.50\n"
                   "- id: b\n"
                   "  empty: {}\n"
                   "  none: []\n"
                   "  is: true\n"
                   "  not: null\n");
}

/* Each of these would be read as something else, or as nothing at all. */
Test(cli_output_forms, quotes_what_yaml_would_take_for_something_else)
{
    static const char *const texts[] = {
        "yes", "No",   "null", "~",   "1",  "1.0",   "0x1f", "-",    "a: b",
        "#a",  "a #b", "*a",   "&a",  "!a", "a\\nb", " a",   "a ",   "\\u001b",
        "",    "a:",   "{a}",  "off", "y",  "'a'",   "%a",   "a\\t", "2010-12-01"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char row[64];
        rewind(cli.out);
        struct output *output = begin(CLI_OUTPUT_YAML, NULL);
        snprintf(row, sizeof(row), "{\"v\":\"%s\"}", texts[i]);
        add(output, row);
        cr_assert_eq(output_finish(output, EXIT_CODE_OK), EXIT_CODE_OK);
        cr_assert(strncmp(text, "- v: \"", 6) == 0, "%s: %s", texts[i], text);
    }
}

Test(cli_output_forms, prints_one_row_as_a_document_of_yaml)
{
    struct output *output = begin(CLI_OUTPUT_YAML, NULL);
    output_single(output);
    add(output, "{\"id\":\"a\"}");
    expect(output, "id: a\n");
}

Test(cli_output_forms, prints_csv_of_values_rather_than_of_cells)
{
    struct output *output = begin(CLI_OUTPUT_CSV, NULL);
    add(output, ROW("a"));
    add(output, "{\"id\":\"b, \\\"c\\\"\",\"step\":{\"name\":\"\\u001b[2J\"}}");
    expect(output, "id,at,step.name\n"
                   "a,2010-12-01T08:26:00.000Z,Pack\n"
                   "\"b, \"\"c\"\"\",,?[2J\n");
}

Test(cli_output_forms, prints_the_first_field_as_an_id)
{
    struct output *output = begin(CLI_OUTPUT_ID, NULL);
    add(output, ROW("a"));
    add(output, ROW("b"));
    expect(output, "a\nb\n");
}

Test(cli_output_forms, take_what_a_row_has_where_the_command_has_no_columns)
{
    cli.output = CLI_OUTPUT_CSV;
    struct output *output = output_new(&cli, NULL);
    add(output, "{\"b\":1.50,\"a\":{\"c\":false}}");
    add(output, "{\"a\":null,\"b\":true}");
    expect(output, "b,a\n1.50,\"{\"\"c\"\":false}\"\ntrue,\n");
}

Test(cli_output_forms, of_nothing_are_empty)
{
    static const struct {
        enum cli_output format;
        const char *expected;
    } cases[] = {
        {CLI_OUTPUT_YAML, "[]\n"}, {CLI_OUTPUT_CSV, "id,at,step.name\n"}, {CLI_OUTPUT_ID, ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down();
        set_up();
        expect(begin(cases[i].format, NULL), cases[i].expected);
    }
}

Test(cli_output_forms, have_the_chosen_fields)
{
    static const struct {
        enum cli_output format;
        const char *expected;
    } cases[] = {{CLI_OUTPUT_FIELDS, "STEP.N.1  ID\n2.5       a\n          b\n"},
                 {CLI_OUTPUT_JSONL, "{\"step.n.1\":2.50,\"id\":\"a\"}\n{\"id\":\"b\"}\n"},
                 {CLI_OUTPUT_YAML, "- step.n.1: 2.50\n  id: a\n- id: b\n"},
                 {CLI_OUTPUT_CSV, "step.n.1,id\n2.50,a\n,b\n"},
                 {CLI_OUTPUT_ID, "2.50\n\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down();
        set_up();
        struct output *output = begin(cases[i].format, "step.n.1,id");
        add(output, ROW("a"));
        add(output, "{\"id\":\"b\"}");
        expect(output, cases[i].expected);
        fflush(cli.err);
        cr_assert_str_eq(err_text, "");
    }
}

Test(cli_output_forms, warn_of_a_field_that_no_row_has)
{
    struct output *output = begin(CLI_OUTPUT_FIELDS, "id, sate");
    add(output, ROW("a"));
    expect(output, "ID  SATE\na\n");
    fflush(cli.err);
    cr_assert_str_eq(err_text, "reeve: warning: no row has the field sate: --output json shows all "
                               "of them\n");
}
