/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of `reeve dev`. Those that `reeve dev agent` adds are files in <directory>/agents, a
 * line each: "sim", "kafka" or a URL. The process that runs looks for changes there, and the next
 * one begins with what it finds. */
#include "cli/dev/dev_internal.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>

/* Files that are being written have longer names. */
#define SUFFIX ".agent"
#define SIMULATED "sim"
#define OWN_PROGRAM "kafka"

/* ---- what the user says ---- */

static enum error_class take_name(struct text name, struct dev_agent *agent,
                                  struct error *ret_error)
{
    if (!name_valid_new(name))
        return error_set(ret_error, CODE_USAGE, "agent \"%.*s\": expected " NAME_NEW_EXPECTED,
                         (int)(name.size < 80 ? name.size : 80), name.data);
    snprintf(agent->name, sizeof(agent->name), "%.*s", TEXT_ARG(name));
    return ERROR_OK;
}

/* Of `what`, "sim", "kafka" or a URL. False: it is none of them. */
static bool take_kind(const char *what, struct dev_agent *agent)
{
    bool is_url = string_starts_with(what, "http://") || string_starts_with(what, "https://");
    if (is_url && strlen(what) > AGENT_URL_BYTES_MAX)
        return false;
    agent->url[0] = '\0';
    if (is_url) {
        agent->kind = DEV_AGENT_HTTP;
        snprintf(agent->url, sizeof(agent->url), "%s", what);
    } else if (strcmp(what, OWN_PROGRAM) == 0) {
        agent->kind = DEV_AGENT_KAFKA;
    } else if (strcmp(what, SIMULATED) == 0) {
        agent->kind = DEV_AGENT_SIMULATED;
    } else {
        return false;
    }
    return true;
}

enum error_class dev_agent_parse(const char *pair, struct dev_agent *ret_agent,
                                 struct error *ret_error)
{
    struct dev_agent agent = {0};
    size_t size = strcspn(pair, "=");
    if (take_name((struct text){pair, (uint32_t)size}, &agent, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (!take_kind(pair[size] == '=' ? pair + size + 1 : SIMULATED, &agent))
        return error_set(ret_error, CODE_USAGE,
                         "agent %.100s: expected NAME, NAME=kafka, or NAME=URL with a URL of at "
                         "most %d bytes such as http://127.0.0.1:8001",
                         pair, AGENT_URL_BYTES_MAX);
    *ret_agent = agent;
    return ERROR_OK;
}

const char *dev_agent_note(const struct dev_agent *agent)
{
    switch (agent->kind) {
    case DEV_AGENT_SIMULATED:
        return "simulated";
    case DEV_AGENT_HTTP:
        return agent->url;
    case DEV_AGENT_KAFKA:
        return "your own program on Kafka";
    }
    return "";
}

/* ---- the list ---- */

struct dev_agent *dev_find_agent(struct dev *dev, struct text name)
{
    for (size_t i = 0; i < dev->agent_count; i++) {
        if (text_equal(text_of(dev->agents[i].name), name))
            return &dev->agents[i];
    }
    return NULL;
}

struct dev_agent *dev_add_agent(struct dev *dev, struct text name, struct error *ret_error)
{
    struct dev_agent agent = {.kind = DEV_AGENT_SIMULATED};
    struct dev_agent *known = dev_find_agent(dev, name);
    if (known != NULL)
        return known;
    if (take_name(name, &agent, ret_error) != ERROR_OK)
        return NULL;
    if (dev->agent_count == AGENTS_MAX) {
        error_set(ret_error, CODE_USAGE, "agent %s: `reeve dev` runs at most %d agents", agent.name,
                  AGENTS_MAX);
        return NULL;
    }
    dev->agents[dev->agent_count] = agent;
    return &dev->agents[dev->agent_count++];
}

/* ---- files ---- */

static void path_of(const char *directory, struct text name, char ret_path[PATH_MAX + 128])
{
    snprintf(ret_path, PATH_MAX + 128, "%s/agents/%.*s" SUFFIX, directory, TEXT_ARG(name));
}

enum error_class dev_keep_agent(const char *directory, const struct dev_agent *agent,
                                struct error *ret_error)
{
    char path[PATH_MAX + 128];
    char line[AGENT_URL_BYTES_MAX + 2];
    snprintf(path, sizeof(path), "%s/agents", directory);
    enum error_class class = files_make_dirs(path, ret_error);
    path_of(directory, text_of(agent->name), path);
    snprintf(line, sizeof(line), "%s\n",
             agent->kind == DEV_AGENT_HTTP    ? agent->url
             : agent->kind == DEV_AGENT_KAFKA ? OWN_PROGRAM
                                              : SIMULATED);
    return class == ERROR_OK ? files_write_atomic(path, text_of(line), ret_error) : class;
}

/* What its file says. False: it cannot be read, or a user wrote something else into it. */
static bool read_kept(const struct dev *dev, const char *name, struct dev_agent *ret_agent)
{
    char path[PATH_MAX + 128];
    char *content = NULL;
    size_t size;
    path_of(dev->directory, text_of(name), path);
    if (files_read(path, AGENT_URL_BYTES_MAX + 1, &content, &size, NULL) != ERROR_OK)
        return false;
    content[strcspn(content, "\n")] = '\0';
    bool known = take_kind(content, ret_agent);
    free(content);
    return known;
}

static int is_kept(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name), suffix = strlen(SUFFIX);
    return size > suffix && size - suffix <= NAME_BYTES_MAX &&
           string_ends_with(entry->d_name, SUFFIX) &&
           name_valid_new((struct text){entry->d_name, (uint32_t)(size - suffix)});
}

/* Calls `visit` with the name of each agent that has a file. */
static void each_kept(struct dev *dev, void (*visit)(struct dev *dev, const char *name))
{
    char path[PATH_MAX + 16];
    struct dirent **entries = NULL;
    snprintf(path, sizeof(path), "%s/agents", dev->directory);
    int count = scandir(path, &entries, is_kept, alphasort);
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - strlen(SUFFIX)] = '\0';
        visit(dev, name);
        free(entries[i]);
    }
    free(entries);
}

static void take_kept(struct dev *dev, const char *name)
{
    char path[PATH_MAX + 128];
    struct error error = {0};
    bool from_flag = dev_find_agent(dev, text_of(name)) != NULL;
    struct dev_agent *agent = dev_add_agent(dev, text_of(name), &error);
    if (agent == NULL) {
        cli_warn(dev->cli, error.code, "%s", error.message);
        return;
    }
    path_of(dev->directory, text_of(name), path);
    files_changed(path, &agent->seen);
    if (!from_flag)
        read_kept(dev, name, agent);
}

void dev_take_kept_agents(struct dev *dev)
{
    each_kept(dev, take_kept);
}

/* ---- changes while it runs ---- */

static void start_changed(struct dev *dev, struct dev_agent *agent)
{
    struct error error = {0};
    agent->failed = dev_start_agent(dev, agent, &error) != ERROR_OK;
    if (agent->failed) {
        cli_report(dev->cli, error.code, "%s", error.message);
        return;
    }
    if (dev_write_services(dev, &error) != ERROR_OK)
        cli_report(dev->cli, error.code, "%s", error.message);
    fprintf(dev->cli->out, "agent-%s: %s\n", agent->name, dev_agent_note(agent));
    fflush(dev->cli->out);
}

static void check_kept(struct dev *dev, const char *name)
{
    char path[PATH_MAX + 128];
    struct error error = {0};
    struct dev_agent *agent = dev_find_agent(dev, text_of(name));
    struct dev_agent before;
    path_of(dev->directory, text_of(name), path);
    bool is_new = agent == NULL;
    if (is_new)
        agent = dev_add_agent(dev, text_of(name), &error);
    if (agent == NULL && !dev->agents_full)
        cli_report(dev->cli, error.code, "%s", error.message);
    dev->agents_full = dev->agents_full || agent == NULL;
    if (agent == NULL || !files_changed(path, &agent->seen))
        return;
    before = *agent;
    if (!read_kept(dev, name, agent))
        return;
    if (is_new || before.kind != agent->kind || strcmp(before.url, agent->url) != 0)
        start_changed(dev, agent);
}

void dev_check_agents(struct dev *dev)
{
    each_kept(dev, check_kept);
    for (size_t i = 0; i < dev->agent_count; i++) {
        struct dev_agent *agent = &dev->agents[i];
        if (agent->child == NULL && !agent->failed && agent->kind != DEV_AGENT_KAFKA)
            start_changed(dev, agent); /* a workflow that was deployed names it */
    }
}
