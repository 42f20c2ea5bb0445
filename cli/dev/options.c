/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reeve dev`: agents, applications, workflows. */
#include "base/heap_arena.h"
#include "cli/dev/dev_internal.h"
#include "cli/workflow/deployment.h"
#include "cli/workflow/verbs.h"
#include "workflow/shape_example.h"

#include <assert.h>
#include <stdlib.h>

enum { INSTANCES_MAX = 16 };

struct dev_agent *dev_find_agent(struct dev *dev, struct text name)
{
    for (size_t i = 0; i < dev->agent_count; i++) {
        if (text_equal(text_of(dev->agents[i].name), name))
            return &dev->agents[i];
    }
    return NULL;
}

static struct dev_agent *add_agent(struct dev *dev, struct text name, struct error *ret_error)
{
    struct dev_agent *agent = dev_find_agent(dev, name);
    if (agent != NULL)
        return agent;
    if (dev->agent_count == AGENTS_MAX || !name_valid_new(name)) {
        error_set(ret_error, CODE_USAGE,
                  "agent \"%.*s\": expected at most %d names of " NAME_NEW_EXPECTED, TEXT_ARG(name),
                  AGENTS_MAX);
        return NULL;
    }
    agent = &dev->agents[dev->agent_count++];
    *agent = (struct dev_agent){.url = DEV_SIMULATED};
    snprintf(agent->name, sizeof(agent->name), "%.*s", TEXT_ARG(name));
    return agent;
}

static bool is_url(const char *url)
{
    return strcmp(url, DEV_SIMULATED) == 0 || strcmp(url, DEV_ON_KAFKA) == 0 ||
           string_starts_with(url, "http://") || string_starts_with(url, "https://");
}

enum error_class dev_take_agent(struct dev *dev, const char *pair, struct error *ret_error)
{
    size_t size = strcspn(pair, "=");
    const char *url = pair[size] == '=' ? pair + size + 1 : DEV_SIMULATED;
    if (!is_url(url) || strlen(url) >= URL_SIZE)
        return error_set(ret_error, CODE_USAGE,
                         "agent %.100s: expected NAME, NAME=kafka, or NAME=URL with a URL such as "
                         "http://127.0.0.1:8001",
                         pair);
    struct dev_agent *agent = add_agent(dev, (struct text){pair, (uint32_t)size}, ret_error);
    if (agent == NULL)
        return ERROR_REJECT;
    snprintf(agent->url, sizeof(agent->url), "%s", url);
    return ERROR_OK;
}

enum error_class dev_take_app(struct dev *dev, const char *name, struct error *ret_error)
{
    if (dev->app_count == APPS_MAX || !name_valid_new(text_of(name)))
        return error_set(ret_error, CODE_USAGE,
                         "application %.80s: expected at most %d names of " NAME_NEW_EXPECTED, name,
                         APPS_MAX);
    snprintf(dev->apps[dev->app_count++], sizeof(dev->apps[0]), "%s", name);
    return ERROR_OK;
}

static char *example_order(const struct workflow *workflow)
{
    char *order = NULL;
    struct heap_arena heap;
    heap_arena_init(&heap, 16 * 1024);
    struct text input = {0};
    if (workflow->input_shape != NULL)
        input = shape_example(workflow->input_shape, &heap.arena);
    int size = asprintf(&order, "{\"order_id\": \"1\", \"workflow\": \"%.*s\"%s%.*s}",
                        TEXT_ARG(workflow->name),
                        text_empty(input) ? "" : ", \"input\": ", TEXT_ARG(input));
    assert(size > 0);
    heap_arena_deinit(&heap);
    return order;
}

enum error_class dev_take_workflow(struct dev *dev, const char *path, struct error *ret_error)
{
    struct workflow_file file;
    struct text names[WORKFLOW_FILE_AGENTS_MAX];
    enum error_class class = workflow_file_read(path, &file, ret_error);
    if (class != ERROR_OK)
        return class;
    if (file.workflow == NULL) {
        workflow_print_problems(dev->cli, NULL, path, &file.problems);
        class = error_set(ret_error, CODE_BAD_WORKFLOW, "%.200s is not valid", path);
    }
    size_t count = class == ERROR_OK ? workflow_agents(file.workflow, names) : 0;
    for (size_t n = 0; n < count && class == ERROR_OK; n++)
        class = add_agent(dev, names[n], ret_error) != NULL ? ERROR_OK : ERROR_REJECT;
    if (class == ERROR_OK && dev->example == NULL)
        dev->example = example_order(file.workflow);
    workflow_file_deinit(&file);
    return class;
}

enum error_class dev_take_flags(struct dev *dev, struct error *ret_error)
{
    const struct cli *cli = dev->cli;
    const char *value;
    enum error_class class = ERROR_OK;
    if (cli_flag_int(cli, "schedulers", 1, 1, INSTANCES_MAX, &dev->schedulers, ret_error) !=
            ERROR_OK ||
        cli_flag_int(cli, "supervisors", 1, 1, INSTANCES_MAX, &dev->supervisors, ret_error) !=
            ERROR_OK ||
        topics_init(&dev->topics, config_string(cli->config, "topics.prefix"), ret_error) !=
            ERROR_OK)
        return ERROR_REJECT;
    if (cli_flag_given(cli, "in-memory") && cli_flag_given(cli, "fresh"))
        return error_set(ret_error, CODE_USAGE,
                         "--in-memory keeps nothing that --fresh could delete: give one of them");
    for (size_t at = 0; class == ERROR_OK && (value = cli_flag_next(cli, "app", &at)) != NULL;)
        class = dev_take_app(dev, value, ret_error);
    if (class == ERROR_OK && dev->app_count == 0)
        class = dev_take_app(dev, "web", ret_error);
    for (size_t at = 0; class == ERROR_OK && (value = cli_flag_next(cli, "agent", &at)) != NULL;)
        class = dev_take_agent(dev, value, ret_error);
    for (size_t i = 0; i < dev->agent_count; i++)
        dev->agents[i].given = true;
    for (int i = 0; i < cli->argument_count && class == ERROR_OK; i++)
        class = dev_take_workflow(dev, cli->arguments[i], ret_error);
    return class;
}
