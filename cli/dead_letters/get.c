/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters get`. */
#include "cli/dead_letters/dead_letters.h"

#include "base/base64.h"
#include "base/numbers.h"
#include "cli/output.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEX_LINE = 16, HEX_LINES_MAX = 64 };

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void field(struct cli *cli, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    fprintf(cli->out, "%-12s  ", name);
    output_text(cli->out, text, 0);
    fputc('\n', cli->out);
}

static void field_json(struct cli *cli, const char *name, json_t *text)
{
    field(cli, name, json_string_value(text) != NULL ? json_string_value(text) : "");
    json_decref(text);
}

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

static void print_resolution(struct cli *cli, const json_t *letter)
{
    const json_t *resolution = json_object_get(letter, "resolution");
    field(cli, "State", text_at(letter, "state"));
    if (!json_is_object(resolution))
        return;
    field_json(cli, "Since", output_time(json_object_get(resolution, "at")));
    field(cli, "By", text_at(resolution, "by"));
    field(cli, "Reason", text_at(resolution, "reason"));
}

static void print_value(struct cli *cli, const json_t *value)
{
    const json_t *error = json_object_get(value, "error");
    const json_t *json = json_object_get(value, "json");
    json_int_t kept = json_integer_value(json_object_get(value, "kept"));
    json_int_t size = json_integer_value(json_object_get(value, "size"));
    fprintf(cli->out, "%-12s  %lld bytes", "Value", (long long)size);
    if (kept != size)
        fprintf(cli->out, ", of which the first %lld are kept", (long long)kept);
    fputc('\n', cli->out);
    field(cli, "Hash", text_at(value, "xxh128"));
    field(cli, "Record", text_at(value, "record"));
    field(cli, "Schema", text_at(value, "schema"));
    field(cli, "Order", text_at(value, "order_id"));
    field(cli, "Reply to", text_at(value, "reply_to"));
    if (json_is_object(error))
        field_json(cli, "Not decoded",
                   json_sprintf("%s: %s", text_at(error, "code"), text_at(error, "message")));
    if (json_is_object(json)) {
        fputc('\n', cli->out);
        json_dumpf(json, cli->out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        fputc('\n', cli->out);
    } else if (kept > 0) {
        fputc('\n', cli->out);
        print_hex(cli, text_at(value, "hex"), kept);
    }
}

static json_t *bytes_of(const json_t *object)
{
    const char *hex = text_at(object, "hex");
    return hex[0] != '\0' ? json_sprintf("0x%s", hex) : json_string(text_at(object, "text"));
}

static void print_letter(struct cli *cli, const json_t *letter)
{
    size_t i;
    const json_t *header;
    const json_t *from = json_object_get(letter, "from");
    field(cli, "Dead letter", text_at(letter, "id"));
    field_json(cli, "Time (UTC)", output_time(json_object_get(letter, "at")));
    print_resolution(cli, letter);
    field_json(cli, "Why",
               json_sprintf("%s: %s", text_at(letter, "code"), text_at(letter, "message")));
    field(cli, "From", text_at(from, "topic"));
    if (json_is_integer(json_object_get(from, "offset")))
        field_json(cli, "At",
                   json_sprintf("partition %lld, offset %lld",
                                (long long)json_integer_value(json_object_get(from, "partition")),
                                (long long)json_integer_value(json_object_get(from, "offset"))));
    field_json(cli, "Key", bytes_of(json_object_get(letter, "key")));
    json_array_foreach(json_object_get(letter, "headers"), i, header) {
        json_t *value = bytes_of(header);
        field_json(cli, "Header",
                   json_sprintf("%s = %s", text_at(header, "name"), json_string_value(value)));
        json_decref(value);
    }
    field(cli, "No replay", text_at(letter, "not_replayable"));
    print_value(cli, json_object_get(letter, "value"));
}

/* ---- its value alone ---- */

static int write_value(struct cli *cli, const json_t *letter, const char *path)
{
    struct error error;
    const char *text = text_at(json_object_get(letter, "value"), "bytes");
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
    json_dumpf(json, cli->out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    fputc('\n', cli->out);
    return ferror(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

static int print_whole(struct cli *cli, json_t *letter)
{
    if (cli->output == CLI_OUTPUT_TABLE) {
        print_letter(cli, letter);
        return ferror(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    struct output *output = output_new(cli->out, cli->output, NULL, 0);
    output_single(output);
    output_row(output, json_incref(letter));
    return output_finish(output, EXIT_CODE_OK);
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
