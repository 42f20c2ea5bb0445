/* SPDX-License-Identifier: Apache-2.0 */
/* The workflows of a `reeve dev` that runs. It follows what is deployed, by whichever client, so
 * that agents that only those workflows name are simulated. With --watch it also looks at the files
 * of the command line, and deploys one that has changed, once it has not changed for a tick: an
 * editor writes a file in pieces. */
#include "cli/dev/dev_internal.h"
#include "cli/output.h"
#include "cli/workflow/deployment.h"
#include "cli/workflow/verbs.h"

#include <assert.h>
#include <stdlib.h>

enum { LOG_MAX = 64 << 20, LOG_PATH_SIZE = PATH_MAX + 16 };

struct dev_workflows {
    struct service_context context;
    struct config *config;
    struct metrics *metrics;
    struct cluster *cluster;
    bool ready;
    bool refreshing;
    bool watches;
    bool printing;   /* what the deployment prints is shown when it ends */
    size_t log_size; /* before it */
    struct files_version seen[WORKFLOW_FILES_MAX];
    bool changed[WORKFLOW_FILES_MAX]; /* since it was deployed last */
};

/* ---- what is deployed ---- */

static void on_ready(void *ctx)
{
    struct dev_workflows *workflows = ctx;
    workflows->ready = true;
}

static void on_refreshed(void *ctx)
{
    struct dev *dev = ctx;
    struct error error = {0};
    struct text names[WORKFLOW_FILE_AGENTS_MAX];
    const struct workflow_registry *registry = dev->workflows->cluster->workflows;
    dev->workflows->refreshing = false;
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        size_t count = workflow_agents(workflow_registry_at(registry, i)->workflow, names);
        for (size_t n = 0; n < count; n++) {
            if (dev_add_agent(dev, names[n], &error) != NULL || dev->agents_full)
                continue;
            dev->agents_full = true;
            cli_report(dev->cli, error.code, "%s", error.message);
        }
    }
}

enum error_class dev_follow_workflows(struct dev *dev, struct error *ret_error)
{
    struct dev_workflows *workflows = calloc(1, sizeof(*workflows));
    assert(workflows != NULL && dev->workflows == NULL);
    dev->workflows = workflows;
    workflows->watches = cli_flag_given(dev->cli, "watch");
    for (int i = 0; i < dev->cli->argument_count; i++)
        files_changed(dev->cli->arguments[i], &workflows->seen[i]);
    enum error_class class = dev_service_config(dev, &workflows->config, ret_error);
    if (class != ERROR_OK)
        return class;
    workflows->metrics = metrics_new();
    workflows->context =
        (struct service_context){.name = "cli",
                                 .instance_id = config_string(workflows->config, "instance.id"),
                                 .data_dir = dev->directory,
                                 .clock = clock_real(),
                                 .config = workflows->config,
                                 .loop = dev->loop,
                                 .metrics = workflows->metrics};
    class = cluster_open(&workflows->context, CLUSTER_FOLLOWS_WORKFLOWS, on_ready, workflows,
                         &workflows->cluster, ret_error);
    if (class == ERROR_OK)
        workflows->cluster->silent = true; /* the services report what is wrong */
    return class;
}

void dev_unfollow_workflows(struct dev *dev)
{
    struct dev_workflows *workflows = dev->workflows;
    if (workflows == NULL)
        return;
    if (workflows->refreshing)
        cluster_refresh_cancel(workflows->cluster, dev);
    cluster_close(workflows->cluster);
    metrics_free(workflows->metrics);
    config_free(workflows->config);
    free(workflows);
    dev->workflows = NULL;
}

const struct workflow_registry *dev_deployed_workflows(const struct dev *dev)
{
    return dev->workflows->ready ? dev->workflows->cluster->workflows : NULL;
}

/* ---- what changes in the files ---- */

static void log_path(const struct dev *dev, char ret_path[LOG_PATH_SIZE])
{
    snprintf(ret_path, LOG_PATH_SIZE, "%s/deploy/log", dev->directory);
}

/* Prints what is wrong with it. The version that is deployed stays. */
static bool is_valid(struct dev *dev, const char *path)
{
    struct workflow_file file;
    struct error error = {0};
    if (workflow_file_read(path, &file, &error) != ERROR_OK) {
        cli_report(dev->cli, error.code, "%s", error.message);
        return false;
    }
    workflow_print_problems(dev->cli, NULL, path, &file.problems);
    bool valid = file.workflow != NULL;
    workflow_file_deinit(&file);
    return valid;
}

static void deploy(struct dev *dev, const bool chosen[])
{
    char path[LOG_PATH_SIZE];
    char *content = NULL;
    struct error error = {0};
    log_path(dev, path);
    dev->workflows->log_size = 0;
    if (files_read(path, LOG_MAX, &content, &dev->workflows->log_size, NULL) == ERROR_OK)
        free(content);
    dev->workflows->printing = true;
    if (dev_start_deploy(dev, chosen, &error) != ERROR_OK)
        cli_report(dev->cli, error.code, "%s", error.message);
}

void dev_deployed(struct dev *dev)
{
    char path[LOG_PATH_SIZE];
    char *content = NULL;
    size_t size = 0;
    size_t from = dev->workflows->log_size;
    log_path(dev, path);
    if (!dev->workflows->printing || files_read(path, LOG_MAX, &content, &size, NULL) != ERROR_OK)
        return;
    if (from < size)
        fputs(content + from, dev->cli->out);
    fflush(dev->cli->out);
    free(content);
    dev->workflows->printing = false;
}

static void check_files(struct dev *dev)
{
    struct dev_workflows *workflows = dev->workflows;
    bool chosen[WORKFLOW_FILES_MAX] = {false};
    bool any = false;
    if (child_is_running(dev->deploy))
        return;
    for (int i = 0; i < dev->cli->argument_count; i++) {
        const char *path = dev->cli->arguments[i];
        if (files_changed(path, &workflows->seen[i])) {
            workflows->changed[i] = true;
        } else if (workflows->changed[i]) {
            workflows->changed[i] = false;
            chosen[i] = files_exists(path) && is_valid(dev, path);
            any = any || chosen[i];
        }
    }
    if (any)
        deploy(dev, chosen);
}

void dev_check_workflows(struct dev *dev)
{
    struct dev_workflows *workflows = dev->workflows;
    if (workflows->ready && !workflows->refreshing) {
        workflows->refreshing = true;
        cluster_refresh_workflows(workflows->cluster, on_refreshed, dev);
    }
    if (workflows->watches && dev->deploy != NULL)
        check_files(dev);
}
