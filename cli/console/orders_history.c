/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders history`: what was decided about one order, an event a line. */
#include "cli/console/orders.h"
#include "cli/field.h"
#include "cli/output.h"

void orders_print_events_title(struct cli *cli, bool with_order)
{
    fprintf(cli->out, "PARTITION/OFFSET  %-23s  %s\n", "TIME (UTC)",
            with_order ? "ORDER  EVENT" : "EVENT");
}

/* Where the Decision is in the topic of events, right-aligned below its title. */
static void print_position(FILE *out, const json_t *decision)
{
    char position[48];
    snprintf(position, sizeof(position), "%lld/%lld", field_int(decision, "partition"),
             field_int(decision, "offset"));
    fprintf(out, "%16s  ", position);
}

void orders_print_events(struct cli *cli, const json_t *decision, bool with_order)
{
    size_t i;
    const json_t *event;
    json_t *time = output_time_ms(json_object_get(decision, "time"));
    json_array_foreach(json_object_get(decision, "events"), i, event) {
        print_position(cli->out, decision);
        fprintf(cli->out, "%-23s  ", json_string_value(time));
        if (with_order) {
            output_text(cli->out, field_text(decision, "order_id"), 0);
            fputs("  ", cli->out);
        }
        output_text(cli->out, field_text(event, "words"), 0);
        fputc('\n', cli->out);
    }
    json_decref(time);
}

static void print_entries(struct cli *cli, const json_t *entries)
{
    size_t i;
    const json_t *decision;
    json_array_foreach(entries, i, decision)
        orders_print_events(cli, decision, false);
}

int orders_run_history(struct cli *cli)
{
    char after[24] = "";
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    bool more = true;
    struct output *output = cli->output == CLI_OUTPUT_TABLE ? NULL : output_new(cli, NULL);
    while (more) {
        orders_path(&path, cli->arguments[0], "/history");
        console_path_add_query(&path, "after", after[0] != '\0' ? after : NULL);
        if (!console_get(cli, &path, &answer, &code))
            break;
        const json_t *next = json_object_get(answer.json, "next");
        if (output == NULL && after[0] == '\0')
            orders_print_events_title(cli, false);
        if (output == NULL && after[0] == '\0' &&
            json_is_false(json_object_get(answer.json, "whole")))
            fprintf(cli->out,
                    "The log was trimmed: what was decided before offset %lld is not kept.\n",
                    field_int(answer.json, "log_start"));
        if (output != NULL)
            output_rows(output, json_object_get(answer.json, "entries"));
        else
            print_entries(cli, json_object_get(answer.json, "entries"));
        more = json_is_integer(next);
        snprintf(after, sizeof(after), "%lld", (long long)json_integer_value(next));
        console_answer_deinit(&answer);
    }
    return output_finish(output, code);
}
