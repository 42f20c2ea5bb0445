/* SPDX-License-Identifier: Apache-2.0 */
/* See output_csv.h. */
#include "cli/output_csv.h"

#include "platform/json_tree.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* New. */
static char *text_of_value(const json_t *value)
{
    char *text = NULL;
    struct text marked = value != NULL ? json_tree_marked(value) : (struct text){0};
    if (marked.data != NULL)
        text = strndup(marked.data, marked.size);
    else if (json_is_string(value))
        text = strdup(json_string_value(value));
    else if (value == NULL || json_is_null(value))
        text = strdup("");
    else
        text = json_tree_print(value, JSON_COMPACT | JSON_ENCODE_ANY);
    assert(text != NULL);
    return text;
}

/* Several columns may show the same value in different ways. */
static bool is_repeated(const struct output_column *columns, const struct output_column *column)
{
    while (columns < column && strcmp(columns->path, column->path) != 0)
        columns++;
    return columns < column && column->path[0] != '\0';
}

static char *value_of(const struct output_column *column, const json_t *row)
{
    if (column->path[0] != '\0')
        return text_of_value(output_at(row, column->path));
    json_t *shown = column->format(row);
    char *text = text_of_value(shown);
    json_decref(shown);
    return text;
}

static void print_field(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        output_whole_text(out, text);
        return;
    }
    /* With each quote doubled. */
    size_t size = 0;
    char *quoted = malloc(2 * strlen(text) + 1);
    assert(quoted != NULL);
    for (; *text != '\0'; text++) {
        quoted[size++] = *text;
        if (*text == '"')
            quoted[size++] = '"';
    }
    quoted[size] = '\0';
    fputc('"', out);
    output_whole_text(out, quoted);
    fputc('"', out);
    free(quoted);
}

void output_csv_titles(FILE *out, const struct output_column *columns)
{
    for (const struct output_column *column = columns; column->title != NULL; column++) {
        if (is_repeated(columns, column))
            continue;
        fputs(column > columns ? "," : "", out);
        if (column->path[0] != '\0')
            print_field(out, column->path);
        for (const char *at = column->title; column->path[0] == '\0' && *at != '\0'; at++)
            fputc(*at == ' ' ? '_' : tolower((unsigned char)*at), out);
    }
    fputc('\n', out);
}

void output_csv_row(FILE *out, const struct output_column *columns, const json_t *row)
{
    for (const struct output_column *column = columns; column->title != NULL; column++) {
        if (is_repeated(columns, column))
            continue;
        char *text = value_of(column, row);
        fputs(column > columns ? "," : "", out);
        print_field(out, text);
        free(text);
    }
    fputc('\n', out);
}

void output_id(FILE *out, const struct output_column *columns, const json_t *row)
{
    char *text = columns->title != NULL ? value_of(columns, row) : strdup("");
    assert(text != NULL);
    output_whole_text(out, text);
    fputc('\n', out);
    free(text);
}
