/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters list`. */
#include "cli/dead_letters/dead_letters.h"
#include "cli/output.h"

#include <stdio.h>

enum { LIMIT = 50, PAGE = 1000 };

static const struct output_column columns[] = {
    {"id", "ID", false},          {"time", "TIME (UTC)", false}, {"where", "FROM", false},
    {"code", "CODE", false},      {"order_id", "ORDER", false},  {"state", "STATE", false},
    {"message", "MESSAGE", false}};

static json_t *row_of(const struct cli *cli, json_t *letter)
{
    if (cli->output != CLI_OUTPUT_TABLE)
        return json_incref(letter);
    const json_t *from = json_object_get(letter, "from");
    const char *topic = json_string_value(json_object_get(from, "topic"));
    const json_t *offset = json_object_get(from, "offset");
    json_t *row = json_copy(letter);
    json_object_set_new(row, "time", output_time(json_object_get(letter, "at")));
    if (json_is_integer(offset))
        json_object_set_new(
            row, "where",
            json_sprintf("%s[%lld]@%lld", topic != NULL ? topic : "",
                         (long long)json_integer_value(json_object_get(from, "partition")),
                         (long long)json_integer_value(offset)));
    else
        json_object_set_new(row, "where", json_string(topic != NULL ? topic : ""));
    return row;
}

static void warn(struct cli *cli, const json_t *body)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(body, "incomplete"), i, row) {
        const char *reason = json_string_value(json_object_get(row, "reason"));
        cli_warn(cli, CODE_INCOMPLETE, "dead letters of partition %lld may be missing: %s",
                 (long long)json_integer_value(json_object_get(row, "partition")),
                 reason != NULL ? reason : "");
    }
}

int dead_letters_run_list(struct cli *cli)
{
    struct error error;
    int64_t limit;
    int64_t left;
    int code = EXIT_CODE_OK;
    json_t *cursor = NULL;
    struct dead_letter_flags flags;
    if (!dead_letter_flags_read(cli, &flags, &code))
        return code;
    if (cli_flag_int(cli, "limit", LIMIT, 0, 1000000, &limit, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    left = limit == 0 ? INT64_MAX : limit;
    struct output *output =
        output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
    do {
        char page[16];
        size_t i;
        json_t *letter;
        struct console_answer answer;
        snprintf(page, sizeof(page), "%d", left < PAGE ? (int)left : PAGE);
        if (!dead_letter_list_page(&flags, page, json_string_value(cursor),
                                   cli_flag_given(cli, "all"), &answer, &code))
            break;
        json_decref(cursor);
        cursor = json_incref(json_object_get(answer.json, "next"));
        json_array_foreach(json_object_get(answer.json, "dead_letters"), i, letter)
            output_row(output, row_of(cli, letter));
        left -= (int64_t)i;
        if (!json_is_string(cursor) || left <= 0)
            warn(cli, answer.json);
        console_answer_deinit(&answer);
    } while (left > 0 && json_is_string(cursor));
    json_decref(cursor);
    return output_finish(output, code);
}
