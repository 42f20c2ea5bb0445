/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders tree`: an order with its sub-orders, a line each, indented by level. */
#include "cli/console/orders.h"
#include "cli/field.h"
#include "cli/output.h"

enum { INDENT = 2 };

/* "W: 5 items, 1 failed, 3 submitted": what is not 0. */
static void print_step(FILE *out, const json_t *step, int level)
{
    static const char *const counts[] = {"to_do", "submitted", "held",
                                         "final", "failed",    "left_out"};
    static const char *const words[] = {"to do", "submitted", "held",
                                        "final", "failed",    "left out"};
    long long count = field_int(step, "count");
    const char *noun = json_is_true(json_object_get(step, "for_each")) ? "item" : "sub-order";
    fprintf(out, "%*s", level * INDENT, "");
    output_text(out, field_text(step, "step"), 0);
    fprintf(out, ": %lld %s%s", count, noun, count == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (field_int(step, counts[i]) > 0)
            fprintf(out, ", %lld %s", field_int(step, counts[i]), words[i]);
    fputs(json_is_true(json_object_get(step, "recalled")) ? "; recalled\n" : "\n", out);
}

static void print_order(FILE *out, const json_t *order, int level)
{
    const json_t *state = json_object_get(order, "state");
    const json_t *id = json_object_get(order, "order_id");
    bool expired = json_is_true(json_object_get(order, "expired"));
    fprintf(out, "%*s", level * INDENT, "");
    output_text(out, json_is_string(id) ? json_string_value(id) : "(not submitted)", 0);
    fputs("  ", out);
    if (json_is_string(state))
        output_text(out, json_string_value(state), 0);
    else
        output_text(out, expired ? "expired" : "not known", 0);
    if (json_is_string(json_object_get(order, "outcome")))
        fprintf(out, " (%s)", field_text(order, "outcome"));
    if (json_is_true(json_object_get(order, "paused")))
        fputs(", paused", out);
    if (json_is_string(json_object_get(order, "problem"))) {
        fputs("  ", out);
        output_text(out, field_text(order, "problem"), 0);
    }
    fputc('\n', out);
}

/* The API bounds the depth. */
static void print_tree(FILE *out, const json_t *order, int level)
{
    size_t i, k;
    const json_t *step, *suborder;
    print_order(out, order, level);
    json_array_foreach(json_object_get(order, "steps"), i, step) {
        print_step(out, step, level + 1);
        json_array_foreach(json_object_get(step, "suborders"), k, suborder)
            print_tree(out, suborder, level + 2);
    }
}

int orders_run_tree(struct cli *cli)
{
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    orders_path(&path, cli->arguments[0], "/tree");
    if (cli_flag_given(cli, "all"))
        console_path_add_query(&path, "all", "1");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    if (cli->output != CLI_OUTPUT_TABLE) {
        code = output_one(cli, NULL, json_incref(answer.json));
    } else {
        print_tree(cli->out, answer.json, 0);
        if (json_is_true(json_object_get(answer.json, "more")))
            fputs("There are more orders than are shown: see the tree of one of them.\n", cli->out);
    }
    console_warn_incomplete(cli, answer.json);
    console_answer_deinit(&answer);
    return code;
}
