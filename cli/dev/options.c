/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reeve dev`: agents, applications, workflows, the directory. */
#include "base/heap_arena.h"
#include "cli/dev/dev_internal.h"
#include "cli/workflow/deployment.h"
#include "cli/workflow/verbs.h"
#include "platform/files.h"
#include "workflow/shape_example.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { INSTANCES_MAX = 16 };

static struct dev_agent *add_agent(struct dev *dev, struct text name, struct error *ret_error)
{
    for (size_t i = 0; i < dev->agent_count; i++) {
        if (text_equal(text_of(dev->agents[i].name), name))
            return &dev->agents[i];
    }
    if (dev->agent_count == AGENTS_MAX || !name_valid_new(name)) {
        error_set(ret_error, CODE_USAGE,
                  "agent \"%.*s\": expected at most %d names of " NAME_NEW_EXPECTED, TEXT_ARG(name),
                  AGENTS_MAX);
        return NULL;
    }
    struct dev_agent *agent = &dev->agents[dev->agent_count++];
    snprintf(agent->name, sizeof(agent->name), "%.*s", TEXT_ARG(name));
    return agent;
}

static enum error_class take_agents(struct dev *dev, struct error *ret_error)
{
    const char *pair;
    for (size_t index = 0; (pair = cli_flag_next(dev->cli, "agent", &index)) != NULL;) {
        size_t size = strcspn(pair, "=");
        struct dev_agent *agent = add_agent(dev, (struct text){pair, (uint32_t)size}, ret_error);
        if (agent == NULL)
            return ERROR_REJECT;
        agent->url =
            pair[size] == '=' && strcmp(pair + size + 1, "sim") != 0 ? pair + size + 1 : NULL;
        if (agent->url != NULL && strncmp(agent->url, "http://", 7) != 0 &&
            strncmp(agent->url, "https://", 8) != 0)
            return error_set(ret_error, CODE_USAGE,
                             "--agent %.100s: expected NAME, or NAME=URL with a URL such as "
                             "http://127.0.0.1:8001",
                             pair);
    }
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

/* The agents that the workflows name; mistakes in the files are reported before anything starts. */
static enum error_class take_workflows(struct dev *dev, struct error *ret_error)
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
            class = add_agent(dev, names[n], ret_error) != NULL ? ERROR_OK : ERROR_REJECT;
        if (class == ERROR_OK && i == 0)
            dev->example = example_order(file.workflow);
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
    for (size_t index = 0; (app = cli_flag_next(cli, "app", &index)) != NULL;) {
        if (dev->app_count == APPS_MAX || !name_valid_new(text_of(app)))
            return error_set(ret_error, CODE_USAGE,
                             "--app %.80s: expected at most %d names of " NAME_NEW_EXPECTED, app,
                             APPS_MAX);
        dev->apps[dev->app_count++] = app;
    }
    if (dev->app_count == 0)
        dev->apps[dev->app_count++] = "web";
    enum error_class class = take_agents(dev, ret_error);
    return class == ERROR_OK ? take_workflows(dev, ret_error) : class;
}

enum error_class dev_make_directory(struct dev *dev, struct error *ret_error)
{
    const char *set = config_string(dev->cli->config, "data.dir");
    const char *tmp = getenv("TMPDIR");
    bool embedded = !config_is_set(dev->cli->config, "kafka.bootstrap.servers");
    if (*set != '\0' || !embedded) {
        snprintf(dev->directory, sizeof(dev->directory), "%s",
                 *set != '\0' ? set : "reeve-data/dev");
        return files_make_dirs(dev->directory, ret_error);
    }
    snprintf(dev->directory, sizeof(dev->directory), "%s/reeve-dev-XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(dev->directory) == NULL)
        return error_set(ret_error, CODE_NO_DIRECTORY, "cannot make %.200s: %s", dev->directory,
                         strerror(errno));
    dev->directory_is_temporary = true;
    return ERROR_OK;
}
