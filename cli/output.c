/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, JSON, JSON lines. See output.h. */
#include "cli/output.h"

#include "platform/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_ROWS = 200,
    CELL_SIZE = 1024,
    CELL_COLUMNS_MAX = 80,
    NUMBER_SIZE = 40,
    JSON_FLAGS = JSON_ENSURE_ASCII | JSON_COMPACT
};

struct output {
    FILE *out;
    enum cli_output format;
    const struct output_column *columns;
    size_t column_count;
    bool single;
    bool titled;
    size_t written;  /* rows, JSON */
    size_t *widths;  /* a column's width never shrinks from piece to piece */
    json_t *pending; /* of a table */
};

struct output *output_new(FILE *out, enum cli_output format, const struct output_column *columns,
                          size_t column_count)
{
    struct output *output = calloc(1, sizeof(*output));
    assert(output != NULL && column_count > 0);
    *output = (struct output){.out = out,
                              .format = format,
                              .columns = columns,
                              .column_count = column_count,
                              .widths = calloc(column_count, sizeof(size_t)),
                              .pending = json_array()};
    assert(output->widths != NULL && output->pending != NULL);
    return output;
}

void output_width(struct output *output, const char *key, size_t width)
{
    for (size_t at = 0; at < output->column_count; at++)
        if (strcmp(output->columns[at].key, key) == 0)
            output->widths[at] = width;
}

void output_single(struct output *output)
{
    output->single = true;
}

/* ---- texts ---- */

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* Control characters as '?': C0, DEL, and C1 as UTF-8 (c2 80 .. c2 9f). */
static size_t clean(const char *text, char ret_cell[CELL_SIZE])
{
    size_t size = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
        bool control = *at < 0x20 || *at == 0x7f || c1;
        /* Room for a whole character and the NUL. */
        if (size + 5 > CELL_SIZE && !is_continuation(*at))
            break;
        ret_cell[size++] = control ? '?' : (char)*at;
        at += c1;
    }
    ret_cell[size] = '\0';
    return size;
}

static size_t columns_of(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += !is_continuation((unsigned char)*text);
    return columns;
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
    char cell[CELL_SIZE];
    (void)clean(text, cell);
    if (width > 0)
        cut(cell, width);
    fputs(cell, out);
}

/* ---- cells ---- */

static const json_t *find(const json_t *row, const char *key)
{
    const json_t *at = row;
    while (at != NULL && *key != '\0') {
        size_t size = strcspn(key, ".");
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)size, key);
        at = json_object_get(at, name);
        key += size + (key[size] == '.');
    }
    return at;
}

static void cell_of(const json_t *row, const struct output_column *column, char ret_cell[CELL_SIZE])
{
    const json_t *value = find(row, column->key);
    char *dumped = NULL;
    ret_cell[0] = '\0';
    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        (void)clean(json_string_value(value), ret_cell);
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
        dumped = json_dumps(value, JSON_COMPACT);
        (void)clean(dumped != NULL ? dumped : "", ret_cell);
        free(dumped);
        break;
    }
    cut(ret_cell, CELL_COLUMNS_MAX);
}

static void pad(FILE *out, size_t columns)
{
    fprintf(out, "%*s", (int)columns, "");
}

static void print_cell(const struct output *output, size_t at, const char *cell)
{
    size_t columns = columns_of(cell), width = output->widths[at];
    bool last = at + 1 == output->column_count;
    if (at > 0)
        pad(output->out, 2);
    if (output->columns[at].right && width > columns)
        pad(output->out, width - columns);
    fputs(cell, output->out);
    if (!output->columns[at].right && !last && width > columns)
        pad(output->out, width - columns);
}

static void widen(struct output *output, const json_t *row)
{
    char cell[CELL_SIZE];
    for (size_t at = 0; at < output->column_count; at++) {
        cell_of(row, &output->columns[at], cell);
        size_t columns = columns_of(cell), title = columns_of(output->columns[at].title);
        size_t width = columns > title ? columns : title;
        output->widths[at] = width > output->widths[at] ? width : output->widths[at];
    }
}

static void print_table_single(struct output *output, const json_t *row)
{
    char cell[CELL_SIZE];
    size_t width = 0;
    for (size_t at = 0; at < output->column_count; at++) {
        size_t columns = columns_of(output->columns[at].title);
        width = columns > width ? columns : width;
    }
    for (size_t at = 0; at < output->column_count; at++) {
        cell_of(row, &output->columns[at], cell);
        fprintf(output->out, "%-*s  %s\n", (int)width, output->columns[at].title, cell);
    }
}

static void print_table(struct output *output)
{
    size_t index;
    json_t *row;
    char cell[CELL_SIZE];
    json_array_foreach(output->pending, index, row)
        widen(output, row);
    if (!output->titled) {
        for (size_t at = 0; at < output->column_count; at++)
            print_cell(output, at, output->columns[at].title);
        fputc('\n', output->out);
        output->titled = true;
    }
    json_array_foreach(output->pending, index, row) {
        for (size_t at = 0; at < output->column_count; at++) {
            cell_of(row, &output->columns[at], cell);
            print_cell(output, at, cell);
        }
        fputc('\n', output->out);
    }
    json_array_clear(output->pending);
}

/* ---- rows ---- */

static void print_json(struct output *output, const json_t *row)
{
    bool list = output->format == CLI_OUTPUT_JSON && !output->single;
    if (list)
        fputs(output->written == 0 ? "[\n" : ",\n", output->out);
    json_dumpf(row, output->out, JSON_FLAGS);
    if (!list)
        fputc('\n', output->out);
    output->written++;
}

void output_row(struct output *output, json_t *row)
{
    if (row == NULL)
        row = json_object();
    switch (output->format) {
    case CLI_OUTPUT_JSON:
    case CLI_OUTPUT_JSONL:
        print_json(output, row);
        break;
    case CLI_OUTPUT_TABLE:
        if (output->single) {
            print_table_single(output, row);
        } else {
            json_array_append(output->pending, row);
            if (json_array_size(output->pending) >= PIECE_ROWS)
                print_table(output);
        }
        break;
    case CLI_OUTPUT_COUNT:
        break;
    }
    json_decref(row);
}

void output_flush(struct output *output)
{
    if (output->format == CLI_OUTPUT_TABLE && json_array_size(output->pending) > 0)
        print_table(output);
    fflush(output->out);
}

bool output_finish(struct output *output)
{
    if (output->format == CLI_OUTPUT_TABLE && !output->single &&
        (json_array_size(output->pending) > 0 || !output->titled))
        print_table(output);
    if (output->format == CLI_OUTPUT_JSON && !output->single)
        fputs(output->written == 0 ? "[]\n" : "\n]\n", output->out);
    bool written = fflush(output->out) == 0 && ferror(output->out) == 0;
    json_decref(output->pending);
    free(output->widths);
    free(output);
    return written;
}

int output_list(const struct cli *cli, const struct output_column *columns, size_t column_count,
                const json_t *list, json_t *(*row_of)(const json_t *item, int64_t now))
{
    size_t i;
    json_t *item;
    int64_t now = clock_wall_ms(clock_real());
    struct output *output = output_new(cli->out, cli->output, columns, column_count);
    json_array_foreach(list, i, item)
        output_row(output, cli->output == CLI_OUTPUT_TABLE ? row_of(item, now) : json_incref(item));
    return output_finish(output) ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}
