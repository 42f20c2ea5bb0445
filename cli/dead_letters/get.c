/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters get`. */
#include "cli/dead_letters/dead_letters.h"
#include "cli/field.h"

#include "base/base64.h"
#include "base/numbers.h"
#include "cli/output.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TITLE_COLUMNS = 12, HEX_LINE = 16, HEX_LINES_MAX = 64 };

/* ---- hex ---- */

static void print_hex_line(struct cli *cli, size_t at, const char *hex, size_t size)
{
    fprintf(cli->out, "%08zx  ", at);
    for (size_t i = 0; i < HEX_LINE; i++) {
        if (i < size)
            fprintf(cli->out, "%.2s ", hex + 2 * i);
        else
            fputs("   ", cli->out);
        if (i == HEX_LINE / 2 - 1)
            fputc(' ', cli->out);
    }
    fputs(" |", cli->out);
    for (size_t i = 0; i < size; i++) {
        int c = 16 * number_hex_digit(hex[2 * i]) + number_hex_digit(hex[2 * i + 1]);
        fputc(c >= 0x20 && c < 0x7f ? c : '.', cli->out);
    }
    fputs("|\n", cli->out);
}

/* The console is not trusted to send hexadecimal digits only. */
static bool is_hex(const char *hex, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (number_hex_digit(hex[i]) < 0)
            return false;
    return size % 2 == 0;
}

static void print_hex(struct cli *cli, const char *hex, json_int_t kept)
{
    size_t size = strlen(hex);
    if (!is_hex(hex, size))
        return;
    size /= 2;
    for (size_t at = 0; at < size && at < (size_t)HEX_LINE * HEX_LINES_MAX; at += HEX_LINE)
        print_hex_line(cli, at, hex + 2 * at, size - at < HEX_LINE ? size - at : HEX_LINE);
    if (kept > HEX_LINE * HEX_LINES_MAX)
        fprintf(cli->out, "and %lld more bytes: --value FILE writes all of them\n",
                (long long)kept - HEX_LINE * HEX_LINES_MAX);
}

/* ---- the table ---- */

static json_t *size_of(const json_t *value)
{
    long long kept = field_int(value, "kept");
    long long size = field_int(value, "size");
    if (kept == size)
        return json_sprintf("%lld bytes", size);
    return json_sprintf("%lld bytes, of which the first %lld are kept", size, kept);
}

static json_t *error_of(const json_t *object)
{
    return output_pair(object, "code", "message");
}

static const struct output_column value_fields[] = {
    {"Value", "", size_of, false},
    {"Hash", "xxh128", output_value, false},
    {"Record", "record", output_value, false},
    {"Schema", "schema", output_value, false},
    {"Schema id", "schema_id", output_value, false},
    {"Order", "order_id", output_value, false},
    {"Reply to", "reply_to", output_value, false},
    {"Not decoded", "error", error_of, false},
    {0},
};

static void print_indented(struct cli *cli, const json_t *json)
{
    char *text = json_tree_print(json, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    assert(text != NULL);
    fprintf(cli->out, "%s\n", text);
    free(text);
}

static void print_value(struct cli *cli, const json_t *value)
{
    const json_t *json = json_object_get(value, "json");
    json_int_t kept = field_int(value, "kept");
    output_fields(cli, value_fields, TITLE_COLUMNS, value);
    if (json_is_object(json)) {
        fputc('\n', cli->out);
        print_indented(cli, json);
    } else if (kept > 0) {
        fputc('\n', cli->out);
        print_hex(cli, field_text(value, "hex"), kept);
    }
}

static json_t *bytes_of(const json_t *object)
{
    const char *hex = field_text(object, "hex");
    return hex[0] != '\0' ? json_sprintf("0x%s", hex) : json_string(field_text(object, "text"));
}

static json_t *position_of(const json_t *from)
{
    if (!json_is_integer(json_object_get(from, "offset")))
        return NULL;
    return json_sprintf("partition %lld, offset %lld", field_int(from, "partition"),
                        field_int(from, "offset"));
}

static json_t *header_of(const json_t *header)
{
    json_t *value = bytes_of(header);
    json_t *text = json_sprintf("%s = %s", field_text(header, "name"), json_string_value(value));
    json_decref(value);
    return text;
}

static const struct output_column fields[] = {
    {"Dead letter", "id", output_value, false},
    {"Time (UTC)", "at", output_time, false},
    {"State", "state", output_value, false},
    {"Since", "resolution.at", output_time, false},
    {"By", "resolution.by", output_value, false},
    {"Reason", "resolution.reason", output_value, false},
    {"Why", "", error_of, false},
    {"From", "from.topic", output_value, false},
    {"At", "from", position_of, false},
    {"Key", "key", bytes_of, false},
    {0},
};
static const struct output_column header_fields[] = {{"Header", "", header_of, false}, {0}};
static const struct output_column last_fields[] = {
    {"No replay", "not_replayable", output_value, false}, {0}};

static void print_letter(struct cli *cli, const json_t *letter)
{
    size_t i;
    const json_t *header;
    output_fields(cli, fields, TITLE_COLUMNS, letter);
    json_array_foreach(json_object_get(letter, "headers"), i, header)
        output_fields(cli, header_fields, TITLE_COLUMNS, header);
    output_fields(cli, last_fields, TITLE_COLUMNS, letter);
    print_value(cli, json_object_get(letter, "value"));
}

/* ---- its value alone ---- */

static int write_value(struct cli *cli, const json_t *letter, const char *path)
{
    struct error error;
    const char *text = field_text(json_object_get(letter, "value"), "bytes");
    uint32_t size = 0;
    char *bytes = malloc(strlen(text) + 1);
    bool to_stdout = strcmp(path, "-") == 0;
    assert(bytes != NULL);
    bool decoded = base64_decode(text_of(text), bytes, strlen(text), &size);
    FILE *file = !decoded ? NULL : to_stdout ? cli->out : fopen(path, "we");
    bool written = file != NULL && fwrite(bytes, 1, size, file) == size && fflush(file) == 0;
    if (file != NULL && !to_stdout)
        written = fclose(file) == 0 && written;
    free(bytes);
    if (written)
        return EXIT_CODE_OK;
    error_set(&error, CODE_IO, "%.200s cannot be written", path);
    return cli_fail(cli, &error);
}

static int print_json(struct cli *cli, const json_t *letter)
{
    const json_t *json = json_object_get(json_object_get(letter, "value"), "json");
    if (!json_is_object(json)) {
        cli_report(cli, CODE_NOT_DECODED,
                   "the value cannot be decoded; --value FILE writes its bytes");
        return EXIT_CODE_NEGATIVE;
    }
    print_indented(cli, json);
    return ferror(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

static int print_whole(struct cli *cli, json_t *letter)
{
    if (cli->output == CLI_OUTPUT_TABLE) {
        print_letter(cli, letter);
        return ferror(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    return output_one(cli, NULL, json_incref(letter));
}

int dead_letters_run_get(struct cli *cli)
{
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    const char *file = cli_flag_value(cli, "value");
    if (dead_letter_path(cli->arguments[0], "", &path, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (file != NULL && strcmp(file, "-") == 0 && cli->out == stdout && isatty(STDOUT_FILENO))
        return cli_usage(cli, "--value -: bytes are not for a terminal; give a FILE");
    console_path_add_query(&path, "bytes", file != NULL ? "1" : NULL);
    if (!console_get(cli, &path, &answer, &code))
        return code;
    if (file != NULL)
        code = write_value(cli, answer.json, file);
    else if (cli_flag_given(cli, "json"))
        code = print_json(cli, answer.json);
    else
        code = print_whole(cli, answer.json);
    console_answer_deinit(&answer);
    return code;
}
