/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reeve dev`: agents, applications, workflows. */
#include "base/heap_arena.h"
#include "cli/dev/dev_internal.h"
#include "cli/output.h"
#include "cli/workflow/deployment.h"
#include "cli/workflow/verbs.h"
#include "workflow/shape_example.h"

#include <assert.h>
#include <stdlib.h>

enum { INSTANCES_MAX = 16 };

static enum error_class take_agents(struct dev *dev, struct error *ret_error)
{
    const char *pair;
    for (size_t index = 0; (pair = cli_flag_next(dev->cli, "agent", &index)) != NULL;) {
        struct dev_agent agent;
        if (dev_agent_parse(pair, &agent, ret_error) != ERROR_OK)
            return ERROR_REJECT;
        struct dev_agent *added = dev_add_agent(dev, text_of(agent.name), ret_error);
        if (added == NULL)
            return ERROR_REJECT;
        *added = agent;
    }
    return ERROR_OK;
}

static char *example_order(const struct workflow *workflow, const char *order_id)
{
    char *order = NULL;
    struct heap_arena heap;
    heap_arena_init(&heap, 16 * 1024);
    struct text input = {0};
    if (workflow->input_shape != NULL)
        input = shape_example(workflow->input_shape, &heap.arena);
    int size = asprintf(&order, "{\"order_id\": \"%s\", \"workflow\": \"%.*s\"%s%.*s}", order_id,
                        TEXT_ARG(workflow->name),
                        text_empty(input) ? "" : ", \"input\": ", TEXT_ARG(input));
    assert(size > 0);
    heap_arena_deinit(&heap);
    return order;
}

void dev_take_example(struct dev *dev, const struct workflow *workflow)
{
    assert(dev->example == NULL);
    dev->example = example_order(workflow, "1");
}

static void print_signal(FILE *out, const struct workflow_step *step, const char *order_id)
{
    char choice[TEXT_ITEM_BYTES_MAX + 1];
    bool chooses = step->await.options.count > 0;
    snprintf(choice, sizeof(choice), "%.*s",
             TEXT_ARG(chooses ? step->await.options.items[0] : (struct text){0}));
    fprintf(out, "  reeve signal %s %.*s ", order_id, TEXT_ARG(step->name));
    fputs(chooses ? "--choose " : "--payload ", out);
    output_quoted(out, chooses ? choice : "{}");
    if (!text_empty(step->await.from))
        fprintf(out, "  # by a member of %.*s", TEXT_ARG(step->await.from));
    fputc('\n', out);
}

/* A command that sends a signal to each step of the order, and of its sub-orders, that awaits one:
 * in ForEach, to the first item's. */
static void print_signals(FILE *out, const struct workflow *workflow, const char *order_id)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        const struct workflow_step *step = &workflow->steps[i];
        if (step->kind == STEP_KIND_SUBORDERS) {
            char below[ORDER_ID_BYTES_MAX + 1];
            snprintf(below, sizeof(below), "%s~%.*s%s", order_id, TEXT_ARG(step->name),
                     step->suborders.for_each ? "~0" : "");
            print_signals(out, step->suborders.body, below);
        } else if (step->kind == STEP_KIND_AWAIT) {
            print_signal(out, step, order_id);
        }
    }
}

static char *signals_of(const struct workflow *workflow, const char *order_id)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    assert(out != NULL);
    print_signals(out, workflow, order_id);
    fclose(out);
    return lines;
}

/* On a state that is kept, an order of the same id was submitted before. */
static void take_examples(struct dev *dev, const struct workflow *workflow)
{
    char order_id[32];
    dev_take_example(dev, workflow);
    if (!cli_flag_given(dev->cli, "try"))
        return;
    snprintf(order_id, sizeof(order_id), "try-%lld",
             (long long)(clock_wall_ms(clock_real()) / 1000));
    dev->trial = example_order(workflow, order_id);
    dev->signals = signals_of(workflow, order_id);
}

/* The agents that the workflows name; mistakes in the files are reported before anything starts. */
enum error_class dev_take_workflows(struct dev *dev, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int i = 0; i < dev->cli->argument_count && class == ERROR_OK; i++) {
        struct workflow_file file;
        struct text names[WORKFLOW_FILE_AGENTS_MAX];
        const char *path = dev->cli->arguments[i];
        class = workflow_file_read(path, &file, ret_error);
        if (class != ERROR_OK)
            break;
        if (file.workflow == NULL) {
            workflow_print_problems(dev->cli, NULL, path, &file.problems);
            class = error_set(ret_error, CODE_BAD_WORKFLOW, "%.200s is not valid", path);
        }
        size_t count = class == ERROR_OK ? workflow_agents(file.workflow, names) : 0;
        for (size_t n = 0; n < count && class == ERROR_OK; n++)
            class = dev_add_agent(dev, names[n], ret_error) != NULL ? ERROR_OK : ERROR_REJECT;
        if (class == ERROR_OK && i == 0)
            take_examples(dev, file.workflow);
        workflow_file_deinit(&file);
    }
    return class;
}

enum error_class dev_take_flags(struct dev *dev, struct error *ret_error)
{
    const struct cli *cli = dev->cli;
    const char *app;
    if (cli_flag_int(cli, "schedulers", 1, 1, INSTANCES_MAX, &dev->schedulers, ret_error) !=
            ERROR_OK ||
        cli_flag_int(cli, "supervisors", 1, 1, INSTANCES_MAX, &dev->supervisors, ret_error) !=
            ERROR_OK ||
        topics_init(&dev->topics, config_string(cli->config, "topics.prefix"), ret_error) !=
            ERROR_OK)
        return ERROR_REJECT;
    if (cli_flag_given(cli, "try") && cli->argument_count == 0)
        return error_set(ret_error, CODE_USAGE,
                         "--try needs a workflow: reeve dev FILE.yaml --try");
    for (size_t index = 0; (app = cli_flag_next(cli, "app", &index)) != NULL;) {
        if (dev->app_count == APPS_MAX || !name_valid_new(text_of(app)))
            return error_set(ret_error, CODE_USAGE,
                             "--app %.80s: expected at most %d names of " NAME_NEW_EXPECTED, app,
                             APPS_MAX);
        dev->apps[dev->app_count++] = app;
    }
    if (dev->app_count == 0)
        dev->apps[dev->app_count++] = "web";
    return take_agents(dev, ret_error);
}
