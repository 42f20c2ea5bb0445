/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters list`. */
#include "cli/dead_letters/dead_letters.h"
#include "cli/field.h"
#include "cli/output.h"

#include <stdio.h>

enum { LIMIT = 50, PAGE = 1000 };

/* "orders.commands[2]@17", or only the topic. */
static json_t *place_of(const json_t *from)
{
    const char *topic = field_text(from, "topic");
    if (!json_is_integer(json_object_get(from, "offset")))
        return json_string(topic);
    return json_sprintf("%s[%lld]@%lld", topic, field_int(from, "partition"),
                        field_int(from, "offset"));
}

static const struct output_column columns[] = {
    {"ID", "id", output_value, false},           {"TIME (UTC)", "at", output_time, false},
    {"FROM", "from", place_of, false},           {"CODE", "code", output_value, false},
    {"ORDER", "order_id", output_value, false},  {"STATE", "state", output_value, false},
    {"MESSAGE", "message", output_value, false}, {0},
};

static void warn(struct cli *cli, const json_t *body)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(body, "incomplete"), i, row) {
        cli_warn(cli, CODE_INCOMPLETE, "dead letters of partition %lld may be missing: %s",
                 field_int(row, "partition"), field_text(row, "reason"));
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
    struct output *output = output_new(cli, columns);
    do {
        char page[16];
        struct console_answer answer;
        snprintf(page, sizeof(page), "%d", left < PAGE ? (int)left : PAGE);
        if (!dead_letter_list_page(&flags, page, cli_flag_given(cli, "all"), &cursor, &answer,
                                   &code))
            break;
        const json_t *letters = json_object_get(answer.json, "dead_letters");
        output_rows(output, letters);
        left -= (int64_t)json_array_size(letters);
        if (!json_is_string(cursor) || left <= 0)
            warn(cli, answer.json);
        console_answer_deinit(&answer);
    } while (left > 0 && json_is_string(cursor));
    json_decref(cursor);
    return output_finish(output, code);
}
