/* SPDX-License-Identifier: Apache-2.0 */
/* What happens while `reeve dev` runs: agents and applications are added, and, with --watch, files
 * of workflows change. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>

struct dev_watch {
    struct files_version versions[FILES_MAX]; /* of the files, in the order of the command line */
};

void dev_watch_begin(struct dev *dev)
{
    dev->watch = calloc(1, sizeof(*dev->watch));
    assert(dev->watch != NULL);
    for (int i = 0; i < dev->cli->argument_count; i++)
        files_changed(dev->cli->arguments[i], &dev->watch->versions[i]);
}

void dev_watch_free(struct dev_watch *watch)
{
    free(watch);
}

/* Agents that were added, or have another URL, are started. */
static void start_agents(struct dev *dev)
{
    struct error error = {0};
    for (size_t i = 0; i < dev->agent_count; i++) {
        struct dev_agent *agent = &dev->agents[i];
        bool starts =
            strcmp(agent->url, agent->started_with) != 0 && strcmp(agent->url, DEV_ON_KAFKA) != 0;
        if (dev_start_agent(dev, agent, &error) != ERROR_OK)
            cli_fail(dev->cli, &error);
        else if (starts)
            fprintf(dev->cli->out, "agent %s is started: %s\n", agent->name,
                    strcmp(agent->url, DEV_SIMULATED) == 0 ? "simulated" : agent->url);
    }
    fflush(dev->cli->out);
}

static void take_added(struct dev *dev)
{
    struct error error = {0};
    bool added = false;
    enum error_class class = dev_take_kept(dev, &added, &error);
    if (class == ERROR_OK && !added)
        return;
    if (class == ERROR_OK)
        class = dev_make_topics(dev, &error);
    if (class != ERROR_OK)
        cli_fail(dev->cli, &error);
    else
        start_agents(dev);
}

/* A file that is not valid is left alone until it changes again: its problems were printed. */
static void deploy_changed(struct dev *dev, const char *path)
{
    struct error error = {0};
    size_t agents = dev->agent_count;
    char *paths[] = {(char *)(uintptr_t)path};
    fprintf(dev->cli->out, "%s has changed\n", path);
    enum error_class class = dev_take_workflow(dev, path, &error);
    if (class == ERROR_OK && dev->agent_count > agents)
        class = dev_make_topics(dev, &error);
    if (class == ERROR_OK)
        class = dev_start_deploy(dev, paths, 1, &error);
    if (class != ERROR_OK)
        cli_fail(dev->cli, &error);
    else
        start_agents(dev);
}

static void look_at_files(struct dev *dev)
{
    for (int i = 0; i < dev->cli->argument_count; i++) {
        const char *path = dev->cli->arguments[i];
        /* While an editor replaces a file, there is none. */
        if (files_exists(path) && files_changed(path, &dev->watch->versions[i]))
            deploy_changed(dev, path);
    }
}

void dev_look(struct dev *dev)
{
    take_added(dev);
    if (cli_flag_given(dev->cli, "watch"))
        look_at_files(dev);
}
