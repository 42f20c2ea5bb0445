/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, JSON, JSON lines. See output.h. */
#include "cli/output.h"

#include "base/rfc3339.h"
#include "base/utf8.h"
#include "cli/output_chosen.h"
#include "cli/output_csv.h"
#include "cli/output_yaml.h"
#include "platform/clock.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_ROWS = 200,
    CELL_COLUMNS_MAX = 80,
    GAP = 2, /* between columns */
    NUMBER_SIZE = 40,
    JSON_FLAGS = JSON_ENSURE_ASCII | JSON_COMPACT
};

struct output {
    FILE *out;
    const struct cli *cli;
    enum cli_output format;
    struct output_chosen *chosen; /* `columns` are of these; NULL: the command gave them */
    const struct output_column *columns;
    size_t column_count;
    bool single;
    bool omits_empty;
    bool titled;
    size_t line_columns; /* 0: the table is not compact */
    size_t written;      /* rows, JSON */
    size_t *widths;      /* a column's width never shrinks from piece to piece */
    bool *hidden;        /* columns; of a compact table those that are empty */
    size_t owed;         /* blanks before the next cell of the line that is not empty */
    json_t *pending;     /* of a table: lists of cells, which are safe texts */
};

static bool is_table(const struct output *output)
{
    return output->format == CLI_OUTPUT_TABLE || output->format == CLI_OUTPUT_FIELDS;
}

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

static size_t columns_of(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += !is_continuation((unsigned char)*text);
    return columns;
}

struct output *output_new(const struct cli *cli, const struct output_column *columns)
{
    size_t count = 0;
    struct output *output = calloc(1, sizeof(*output));
    assert(output != NULL && (columns != NULL || cli->output != CLI_OUTPUT_TABLE));
    struct output_chosen *chosen = cli->fields != NULL ? output_chosen_new(cli->fields) : NULL;
    if (chosen != NULL)
        columns = chosen->columns;
    while (columns != NULL && columns[count].title != NULL)
        count++;
    *output = (struct output){.out = cli->out,
                              .cli = cli,
                              .format = cli->output,
                              .columns = columns,
                              .column_count = count,
                              .chosen = chosen,
                              .widths = calloc(count + 1, sizeof(size_t)),
                              .hidden = calloc(count + 1, sizeof(bool)),
                              .pending = json_array()};
    assert(output->widths != NULL && output->hidden != NULL && output->pending != NULL);
    for (size_t at = 0; at < count; at++)
        output->widths[at] = columns_of(columns[at].title);
    return output;
}

static void widen(struct output *output, size_t at, size_t columns)
{
    output->widths[at] = columns > output->widths[at] ? columns : output->widths[at];
}

static size_t find_column(const struct output *output, const char *title)
{
    size_t at = 0;
    while (at < output->column_count && strcmp(output->columns[at].title, title) != 0)
        at++;
    return at;
}

void output_hide(struct output *output, const char *title)
{
    size_t at = find_column(output, title);
    assert(at < output->column_count || output->columns == NULL || output->chosen != NULL);
    if (output->chosen == NULL)
        output->hidden[at] = true;
}

void output_width(struct output *output, const char *title, size_t width)
{
    size_t at = find_column(output, title);
    if (output->chosen != NULL)
        return;
    assert(at < output->column_count && !output->titled);
    widen(output, at, width);
}

void output_columns(struct output *output, const struct output_column *columns)
{
    if (output->chosen != NULL)
        return;
    assert(columns[output->column_count].title == NULL);
    output->columns = columns;
}

void output_single(struct output *output)
{
    assert(output->written == 0 && output->line_columns == 0);
    output->single = true;
}

void output_compact(struct output *output, size_t line_columns)
{
    assert(line_columns > 0 && !output->single && !output->titled);
    output->line_columns = line_columns;
}

void output_omit_empty(struct output *output)
{
    output->omits_empty = true;
}

/* ---- texts ---- */

/* Control characters (C0, DEL, C1), and those that reorder or hide text: U+061C, U+200B to U+200F,
 * U+2028 to U+202E, U+2060 to U+2069, U+FEFF. */
static bool steers_terminal(const uint8_t *at, uint32_t size)
{
    if (size == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    if (size == 2)
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (size != 3)
        return false;
    if (at[0] == 0xe2 && at[1] == 0x80)
        return (at[2] >= 0x8b && at[2] <= 0x8f) || (at[2] >= 0xa8 && at[2] <= 0xae);
    if (at[0] == 0xe2 && at[1] == 0x81)
        return at[2] >= 0xa0 && at[2] <= 0xa9;
    return at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf;
}

/* '?' in place of what steers the terminal and of bytes that are not UTF-8. Returns the text that
 * did not fit. */
static const char *clean(const char *text, char ret_cell[OUTPUT_CELL_SIZE])
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = strlen(text);
    size_t size = 0;
    while (left > 0) {
        uint32_t read = utf8_character_size(at, left);
        bool shown = read > 0 && !steers_terminal(at, read);
        uint32_t written = shown ? read : 1;
        if (size + written >= OUTPUT_CELL_SIZE)
            break;
        if (shown)
            memcpy(ret_cell + size, at, written);
        else
            ret_cell[size] = '?';
        size += written;
        at += read > 0 ? read : 1;
        left -= read > 0 ? read : 1;
    }
    assert(size < OUTPUT_CELL_SIZE);
    ret_cell[size] = '\0';
    return (const char *)at;
}

/* Cuts the cell to `width` columns, "..." at its end. */
static void cut(char *cell, size_t width)
{
    if (columns_of(cell) <= width)
        return;
    char *at = cell;
    for (size_t columns = 0; columns + 3 < width || is_continuation((unsigned char)*at); at++)
        columns += !is_continuation((unsigned char)at[1]);
    memcpy(at, "...", 4);
}

void output_text(FILE *out, const char *text, size_t width)
{
    char cell[OUTPUT_CELL_SIZE];
    clean(text, cell);
    if (width > 0)
        cut(cell, width);
    fputs(cell, out);
}

void output_whole_text(FILE *out, const char *text)
{
    char cell[OUTPUT_CELL_SIZE];
    while (*text != '\0') {
        text = clean(text, cell);
        fputs(cell, out);
    }
}

void output_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

/* ---- cells ---- */

const json_t *output_at(const json_t *row, const char *path)
{
    const json_t *at = row;
    while (at != NULL && *path != '\0') {
        size_t size = strcspn(path, ".");
        at = json_is_array(at) ? json_array_get(at, strtoul(path, NULL, 10))
                               : json_object_getn(at, path, size);
        path += size + (path[size] == '.');
    }
    return at;
}

/* Of an answer, what is marked are numbers. */
static void print_string(const json_t *string, char ret_cell[OUTPUT_CELL_SIZE])
{
    struct text number = json_tree_marked(string);
    if (number.data != NULL)
        snprintf(ret_cell, NUMBER_SIZE, "%.6g", strtod(number.data, NULL));
    else
        clean(json_string_value(string), ret_cell);
}

static void print_value(const json_t *value, char ret_cell[OUTPUT_CELL_SIZE])
{
    char *dumped = NULL;
    ret_cell[0] = '\0';
    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        print_string(value, ret_cell);
        break;
    case JSON_INTEGER:
        snprintf(ret_cell, NUMBER_SIZE, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(ret_cell, NUMBER_SIZE, "%.6g", json_real_value(value));
        break;
    case JSON_TRUE:
        snprintf(ret_cell, NUMBER_SIZE, "yes");
        break;
    case JSON_FALSE:
        snprintf(ret_cell, NUMBER_SIZE, "no");
        break;
    case JSON_NULL:
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        dumped = json_tree_print(value, JSON_COMPACT);
        clean(dumped != NULL ? dumped : "", ret_cell);
        free(dumped);
        break;
    }
}

void output_cell(const struct output_column *column, const json_t *row,
                 char ret_cell[OUTPUT_CELL_SIZE])
{
    json_t *shown = column->format(output_at(row, column->path));
    print_value(shown, ret_cell);
    json_decref(shown);
}

static bool is_last(const struct output *output, size_t at)
{
    do
        at++;
    while (at < output->column_count && output->hidden[at]);
    return at == output->column_count;
}

static json_t *cells_of(const struct output *output, const json_t *row)
{
    char cell[OUTPUT_CELL_SIZE];
    json_t *cells = json_array();
    for (size_t at = 0; at < output->column_count; at++) {
        output_cell(&output->columns[at], row, cell);
        /* What ends a line pushes nothing aside. */
        if (!output->single && !is_last(output, at))
            cut(cell, CELL_COLUMNS_MAX);
        json_array_append_new(cells, json_string(cell));
    }
    assert(json_array_size(cells) == output->column_count);
    return cells;
}

static const char *cell_at(const json_t *cells, size_t at)
{
    return json_string_value(json_array_get(cells, at));
}

/* Blanks are printed before the next cell that is not empty, so no line ends with some. */
static void print_cell(struct output *output, size_t at, const char *text)
{
    char cell[OUTPUT_CELL_SIZE];
    size_t width = output->widths[at];
    if (output->hidden[at])
        return;
    snprintf(cell, sizeof(cell), "%s", text);
    if (output->line_columns > 0)
        cut(cell, width);
    size_t columns = columns_of(cell);
    size_t blanks = width > columns ? width - columns : 0;
    bool right = output->columns[at].right;
    output->owed += right ? blanks : 0;
    if (columns > 0) {
        fprintf(output->out, "%*s%s", (int)output->owed, "", cell);
        output->owed = 0;
    }
    output->owed += (right ? 0 : blanks) + GAP;
}

static void end_line(struct output *output)
{
    fputc('\n', output->out);
    output->owed = 0;
}

static void print_table_single(const struct output *output, const json_t *cells)
{
    size_t width = 0;
    for (size_t at = 0; at < output->column_count; at++)
        if (!output->hidden[at] && output->widths[at] > width)
            width = output->widths[at];
    for (size_t at = 0; at < output->column_count; at++)
        if (!output->hidden[at])
            fprintf(output->out, "%-*s  %s\n", (int)width, output->columns[at].title,
                    cell_at(cells, at));
}

static void hide_empty_columns(struct output *output)
{
    size_t index;
    json_t *cells;
    for (size_t at = 0; at < output->column_count; at++) {
        bool empty = true;
        json_array_foreach(output->pending, index, cells)
            empty = empty && cell_at(cells, at)[0] == '\0';
        output->hidden[at] = output->hidden[at] || empty;
    }
}

/* Takes columns from the widest text, again and again, until a line fits. Titles stay whole. */
static void shrink_to_line(struct output *output)
{
    for (;;) {
        size_t total = 0;
        size_t widest = output->column_count;
        for (size_t at = 0; at < output->column_count; at++) {
            if (output->hidden[at])
                continue;
            total += output->widths[at] + GAP;
            if (!output->columns[at].right &&
                output->widths[at] > columns_of(output->columns[at].title) &&
                (widest == output->column_count || output->widths[at] > output->widths[widest]))
                widest = at;
        }
        if (total <= output->line_columns + GAP || widest == output->column_count)
            return;
        output->widths[widest]--;
    }
}

static void print_titles(struct output *output)
{
    for (size_t at = 0; at < output->column_count; at++)
        print_cell(output, at, output->columns[at].title);
    end_line(output);
    output->titled = true;
}

static void print_table(struct output *output)
{
    size_t index;
    json_t *cells;
    json_array_foreach(output->pending, index, cells)
        for (size_t at = 0; at < output->column_count; at++)
            widen(output, at, columns_of(cell_at(cells, at)));
    if (output->line_columns > 0) {
        hide_empty_columns(output);
        shrink_to_line(output);
    }
    if (!output->titled)
        print_titles(output);
    json_array_foreach(output->pending, index, cells) {
        for (size_t at = 0; at < output->column_count; at++)
            print_cell(output, at, cell_at(cells, at));
        end_line(output);
    }
    json_array_clear(output->pending);
}

/* ---- rows ---- */

static void print_json(const struct output *output, const json_t *row)
{
    bool list = output->format == CLI_OUTPUT_JSON && !output->single;
    if (list)
        fputs(output->written == 0 ? "[\n" : ",\n", output->out);
    char *text = json_tree_print(row, JSON_FLAGS);
    fputs(text != NULL ? text : "", output->out);
    free(text);
    if (!list)
        fputc('\n', output->out);
}

/* CSV and ids are of columns: where the command has none, of what the first row has. */
static void print_columns(struct output *output, const json_t *row)
{
    if (output->columns == NULL) {
        output->chosen = output_chosen_of(row);
        output->columns = output->chosen->columns;
    }
    if (output->format == CLI_OUTPUT_ID) {
        output_id(output->out, output->columns, row);
        return;
    }
    if (output->written == 0)
        output_csv_titles(output->out, output->columns);
    output_csv_row(output->out, output->columns, row);
}

static void print_row(struct output *output, const json_t *row)
{
    if (output->format == CLI_OUTPUT_YAML)
        output_yaml(output->out, row, !output->single);
    else if (output->format == CLI_OUTPUT_CSV || output->format == CLI_OUTPUT_ID)
        print_columns(output, row);
    else
        print_json(output, row);
    output->written++;
}

static void add_to_table(struct output *output, json_t *cells)
{
    output->written++;
    if (output->single)
        print_table_single(output, cells);
    else
        json_array_append(output->pending, cells);
    if (output->line_columns == 0 && json_array_size(output->pending) >= PIECE_ROWS)
        print_table(output);
    json_decref(cells);
}

void output_row(struct output *output, json_t *row)
{
    if (row == NULL)
        row = json_object();
    /* An object of the chosen fields is for JSON and YAML; columns find theirs by themselves. */
    json_t *chosen = output->cli->fields != NULL ? output_chosen_row(output->chosen, row) : NULL;
    if (is_table(output))
        add_to_table(output, cells_of(output, row));
    else if (output->format == CLI_OUTPUT_CSV || output->format == CLI_OUTPUT_ID || chosen == NULL)
        print_row(output, row);
    else
        print_row(output, chosen);
    json_decref(chosen);
    json_decref(row);
}

void output_rows(struct output *output, const json_t *list)
{
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
        output_row(output, json_incref(row));
}

void output_flush(struct output *output)
{
    if (is_table(output) && json_array_size(output->pending) > 0)
        print_table(output);
    fflush(output->out);
}

/* There was no row. */
static void print_nothing(const struct output *output)
{
    bool lists = output->format == CLI_OUTPUT_JSON || output->format == CLI_OUTPUT_YAML;
    if (lists && !output->single)
        fputs("[]\n", output->out);
    if (output->format == CLI_OUTPUT_CSV && output->columns != NULL)
        output_csv_titles(output->out, output->columns);
}

int output_finish(struct output *output, int code)
{
    if (output == NULL)
        return code;
    bool lists = output->format == CLI_OUTPUT_JSON && !output->single;
    bool failed = code != EXIT_CODE_OK;
    bool titles = !output->titled && !failed && !output->omits_empty;
    if (is_table(output) && !output->single && (json_array_size(output->pending) > 0 || titles))
        print_table(output);
    if (lists && output->written > 0)
        fputs("\n]\n", output->out);
    else if (output->written == 0 && !failed)
        print_nothing(output);
    if (output->written > 0 && output->cli->fields != NULL)
        output_chosen_check(output->chosen, output->cli);
    bool written = fflush(output->out) == 0 && ferror(output->out) == 0;
    output_chosen_free(output->chosen);
    json_decref(output->pending);
    free(output->hidden);
    free(output->widths);
    free(output);
    return written || failed ? code : EXIT_CODE_INTERNAL;
}

int output_list(const struct cli *cli, const struct output_column *columns, const json_t *list)
{
    struct output *output = output_new(cli, columns);
    output_rows(output, list);
    return output_finish(output, EXIT_CODE_OK);
}

int output_one(const struct cli *cli, const struct output_column *columns, json_t *row)
{
    struct output *output = output_new(cli, columns);
    output_single(output);
    output_row(output, row);
    return output_finish(output, EXIT_CODE_OK);
}

void output_fields(const struct cli *cli, const struct output_column *fields, int width,
                   const json_t *row)
{
    char cell[OUTPUT_CELL_SIZE];
    for (; fields->title != NULL; fields++) {
        output_cell(fields, row, cell);
        if (cell[0] != '\0')
            fprintf(cli->out, "%-*s  %s\n", width, fields->title, cell);
    }
}

/* ---- formats ---- */

json_t *output_value(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

json_t *output_data(const json_t *data)
{
    if (data == NULL || json_is_null(data) || (json_is_object(data) && json_object_size(data) == 0))
        return NULL;
    char *text = json_tree_print(data, JSON_COMPACT);
    json_t *string = json_string(text);
    free(text);
    return string;
}

json_t *output_pair(const json_t *object, const char *code, const char *message)
{
    const char *first = json_string_value(json_object_get(object, code));
    const char *second = json_string_value(json_object_get(object, message));
    return json_sprintf("%s%s%s", first != NULL ? first : "",
                        first != NULL && second != NULL ? ": " : "", second != NULL ? second : "");
}

enum { SECONDS_END = 19, MILLISECONDS_END = 23 };

bool output_read_time(const json_t *time, int64_t *ret_ms)
{
    struct text text = {json_string_value(time), (uint32_t)json_string_length(time)};
    return json_is_string(time) && rfc3339_parse(text, ret_ms);
}

/* The first `size` characters of "2010-12-01 08:26:00.123". */
static json_t *time_until(const json_t *time, int size)
{
    int64_t ms;
    char text[RFC3339_TEXT_SIZE];
    if (!output_read_time(time, &ms))
        return json_string("");
    rfc3339_format(ms, text);
    text[10] = ' ';
    return json_sprintf("%.*s", size, text);
}

json_t *output_time(const json_t *time)
{
    return time_until(time, SECONDS_END);
}

json_t *output_time_ms(const json_t *time)
{
    return time_until(time, MILLISECONDS_END);
}

/* In one unit, so that at least two digits are left of it. */
static json_t *seconds_text(const char *before, long long seconds)
{
    if (seconds < 120)
        return json_sprintf("%s%llds", before, seconds);
    if (seconds < 120 * 60)
        return json_sprintf("%s%lldm", before, seconds / 60);
    if (seconds < 48 * 3600)
        return json_sprintf("%s%lldh", before, seconds / 3600);
    return json_sprintf("%s%lldd", before, seconds / 86400);
}

json_t *output_age_at(const json_t *time, int64_t now)
{
    int64_t at;
    if (!output_read_time(time, &at))
        return json_string("");
    int64_t ms = now - at;
    return seconds_text(ms < -999 ? "in " : "", (ms < 0 ? -ms : ms) / 1000);
}

json_t *output_age(const json_t *time)
{
    return output_age_at(time, clock_wall_ms(clock_real()));
}

json_t *output_duration(const json_t *ms)
{
    long long count = json_integer_value(ms);
    if (!json_is_integer(ms) || count < 0)
        return NULL;
    return count < 2000 ? json_sprintf("%lldms", count) : seconds_text("", count / 1000);
}
