/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow diff`: what differs between two versions, by step and field. */
#include "cli/output.h"
#include "cli/workflow/operands.h"
#include "cli/workflow/verbs.h"
#include "replica/cluster/workflow_entry_json.h"

/* As a patch: "-" is what the left one says, "+" what the right one says. */
static void print_difference(FILE *out, const struct workflow_difference *difference)
{
    if (text_equal(TEXT("Step"), text_of(difference->field))) {
        fprintf(out, "%c step %.*s\n", text_empty(difference->left) ? '+' : '-',
                TEXT_ARG(difference->step));
        return;
    }
    fprintf(out, "  %.*s%s%s\n", TEXT_ARG(difference->step),
            text_empty(difference->step) ? "" : ".", difference->field);
    if (!text_empty(difference->left))
        fprintf(out, "-     %.*s\n", TEXT_ARG(difference->left));
    if (!text_empty(difference->right))
        fprintf(out, "+     %.*s\n", TEXT_ARG(difference->right));
    if (difference->warning != NULL)
        fprintf(out, "      warning: %s\n", difference->warning);
}

static void print_title(FILE *out, char sign, const struct workflow_operand *operand)
{
    fprintf(out, "%c%c%c %.*s:%u%s%s%s\n", sign, sign, sign, TEXT_ARG(operand->workflow->name),
            operand->workflow->version, operand->is_file ? " (" : "",
            operand->is_file ? operand->argument : "", operand->is_file ? ")" : "");
}

static int print(struct cli *cli, const struct workflow_operands *operands)
{
    struct heap_arena heap;
    const struct workflow_difference *differences;
    heap_arena_init(&heap, 64 * 1024);
    uint32_t count = workflow_diff(operands->of[0].workflow, operands->of[1].workflow, &heap.arena,
                                   &differences);
    int code = count == 0 ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
    if (cli->output == CLI_OUTPUT_TABLE && count > 0) {
        print_title(cli->out, '-', &operands->of[0]);
        print_title(cli->out, '+', &operands->of[1]);
        for (uint32_t i = 0; i < count; i++)
            print_difference(cli->out, &differences[i]);
    } else if (cli->output != CLI_OUTPUT_TABLE) {
        struct output *output = output_new(cli, NULL);
        for (uint32_t i = 0; i < count; i++)
            output_row(output, workflow_difference_json(&differences[i]));
        code = output_finish(output, EXIT_CODE_OK) == EXIT_CODE_OK ? code : EXIT_CODE_INTERNAL;
    }
    heap_arena_deinit(&heap);
    return code;
}

int workflow_run_diff(struct cli *cli)
{
    struct workflow_operands operands;
    int code = EXIT_CODE_OK;
    if (workflow_operands_init(cli, true, &operands, &code))
        code = print(cli, &operands);
    workflow_operands_deinit(&operands);
    return code;
}
