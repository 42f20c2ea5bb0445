/* SPDX-License-Identifier: Apache-2.0 */
/* See status_rows.h. */
#include "cli/submit/status_rows.h"

#include "schemas/json/json_codec.h"
#include "schemas/records.h"

#include <string.h>

enum { STEP_COLUMNS = 16 };

static const struct output_column columns[] = {
    {"ORDER", "status.order_id", output_value, false},
    {"STATUS", "status.kind", output_value, false},
    {"STATE", "status.order_state", output_value, false},
    {"STEP", "step.step", output_value, false},
    {"DIRECTION", "step.direction", output_value, false},
    {"ATTEMPT", "step.attempt", output_value, true},
    {"STEP STATE", "step.state", output_value, false},
    {"REASON", "reason", output_value, false},
    {0},
};

struct output *status_rows_new(const struct cli *cli)
{
    struct output *output = output_new(cli, cli->output == CLI_OUTPUT_TABLE ? columns : NULL);
    if (cli->output != CLI_OUTPUT_TABLE)
        return output;
    /* Rows are printed as they come: columns are wide enough for the usual ones. */
    output_width(output, "STATUS", strlen("Compensating"));
    output_width(output, "STATE", strlen("Compensating"));
    output_width(output, "STEP", STEP_COLUMNS);
    output_width(output, "STEP STATE", strlen("Compensated"));
    return output;
}

/* One row for each step that changed, or one without a step. The first row has the reason of the
 * status. */
static void add_to_table(struct output *output, json_t *status, bool has_reason)
{
    size_t i = 0;
    const json_t *steps = json_object_get(status, "steps");
    do {
        json_t *step = json_array_get(steps, i);
        json_t *reason = i > 0        ? json_incref(json_object_get(step, "error_name"))
                         : has_reason ? output_pair(status, "code", "message")
                                      : json_null();
        output_row(output,
                   json_pack("{s:O, s:O*, s:o}", "status", status, "step", step, "reason", reason));
    } while (++i < json_array_size(steps));
    output_flush(output);
}

/* "ORDER: output JSON", whole: a column would cut it. */
static void print_output(FILE *out, json_t *status)
{
    json_t *output = output_data(json_object_get(status, "output"));
    const char *problem = json_string_value(json_object_get(status, "output_problem"));
    if (output != NULL || problem != NULL) {
        output_text(out, json_string_value(json_object_get(status, "order_id")), 0);
        fputs(output != NULL ? ": output " : ": no output: ", out);
        output_whole_text(out, output != NULL ? json_string_value(output) : problem);
        fputc('\n', out);
        fflush(out);
    }
    json_decref(output);
}

void status_rows_add(struct output *output, const struct cli *cli,
                     const struct status_update *status)
{
    json_t *row = json_codec_encode(record_kind_info(RECORD_STATUS_UPDATE)->binding, status,
                                    JSON_CODEC_NULLS);
    bool failed = status->kind == STATUS_PROCESSED && !text_empty(status->message);
    json_codec_put(row, "output_problem", failed ? json_codec_text(status->message) : json_null());
    if (cli->output == CLI_OUTPUT_TABLE) {
        add_to_table(output, row, !failed);
        print_output(cli->out, row);
        json_decref(row);
    } else {
        output_row(output, row);
        output_flush(output);
    }
}
