/* SPDX-License-Identifier: Apache-2.0 */
/* What runs under `reeve dev`: the broker and its topics, and every service as a child process. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define CONSOLE_PORT "8080"
#define SUBMISSION_PORT "8070"

/* ---- broker and topics ---- */

static void warn_of_difference(void *ctx, enum topics_finding finding, const char *topic,
                               const char *line)
{
    struct dev *dev = ctx;
    (void)topic;
    if (finding == TOPICS_DIFFERS)
        cli_warn(dev->cli, CODE_TOPIC_DIFFERS, "%s", line);
}

enum error_class dev_make_topics(struct dev *dev, struct error *ret_error)
{
    const struct config *config = dev->cli->config;
    const char *agents[AGENTS_MAX];
    const char *apps[APPS_MAX];
    struct cluster_kafka_options kafka;
    for (size_t i = 0; i < dev->agent_count; i++)
        agents[i] = dev->agents[i].name;
    for (size_t i = 0; i < dev->app_count; i++)
        apps[i] = dev->apps[i];
    struct topics_plan plan = {
        .kafka = &kafka.options,
        .topics = &dev->topics,
        .partitions = (int32_t)config_int(config, "partitions"),
        .replication_factor = (int32_t)config_int(config, "replication.factor"),
        .agents = agents,
        .agent_count = dev->agent_count,
        .apps = apps,
        .app_count = dev->app_count,
    };
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    if (class == ERROR_OK)
        kafka.options.bootstrap_servers = dev->bootstrap;
    return class == ERROR_OK ? topics_apply(&plan, warn_of_difference, dev, ret_error) : class;
}

/* In the broker's thread. */
static void report(void *ctx, const char *line)
{
    const struct dev *dev = ctx;
    fprintf(dev->cli->err, "reeve: %s; --fresh starts with empty topics\n", line);
}

static enum error_class start_embedded(struct dev *dev, struct error *ret_error)
{
    char folder[PATH_MAX + 32];
    struct embedded_options options = {.port = EMBEDDED_PORT, .report = report, .ctx = dev};
    enum error_class class = ERROR_OK;
    if (!dev->directory_is_temporary) {
        snprintf(folder, sizeof(folder), "%s/broker", dev->directory);
        options.directory = folder;
        class = files_make_dirs(folder, ret_error);
    }
    if (class == ERROR_OK)
        class = embedded_new(&options, &dev->embedded, ret_error);
    if (class == ERROR_OK)
        dev->bootstrap = embedded_bootstrap(dev->embedded);
    return class;
}

enum error_class dev_start_broker(struct dev *dev, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    if (config_is_set(dev->cli->config, "kafka.bootstrap.servers"))
        dev->bootstrap = config_string(dev->cli->config, "kafka.bootstrap.servers");
    else
        class = start_embedded(dev, ret_error);
    return class == ERROR_OK ? dev_make_topics(dev, ret_error) : class;
}

/* ---- child processes ---- */

/* `reeve WORD... <the configuration flags of this command> --set KEY=VALUE...` */
struct command_line {
    char *arguments[CHILD_ARGUMENTS_MAX + 1];
    size_t count;
};

static void add_word(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_word(struct command_line *line, const char *format, ...)
{
    va_list args;
    char *word = NULL;
    va_start(args, format);
    int size = vasprintf(&word, format, args);
    va_end(args);
    assert(size >= 0 && line->count < CHILD_ARGUMENTS_MAX);
    line->arguments[line->count++] = word;
    line->arguments[line->count] = NULL;
}

static void add_set(struct command_line *line, const char *name, const char *value)
{
    add_word(line, "--set");
    add_word(line, "%s=%s", name, value);
}

static void add_common(struct dev *dev, struct command_line *line)
{
    const struct cli *cli = dev->cli;
    for (int i = 0; i < cli->config_flag_count; i++)
        add_word(line, "%s", cli->config_flags[i]);
    if (dev->embedded == NULL)
        return;
    add_set(line, "kafka.bootstrap.servers", dev->bootstrap);
}

/* Steals the words of the line. */
static enum error_class start_line(struct dev *dev, const char *name, struct command_line *line,
                                   struct child **ret_child, struct error *ret_error)
{
    char directory[PATH_MAX + 128];
    snprintf(directory, sizeof(directory), "%s/%s", dev->directory, name);
    enum error_class class = files_make_dirs(directory, ret_error);
    if (class == ERROR_OK && *ret_child != NULL)
        child_replace(*ret_child, line->arguments);
    else if (class == ERROR_OK)
        class = children_start(dev->children, name, directory, line->arguments,
                               cli_flag_given(dev->cli, "logs"), ret_child, ret_error);
    for (size_t i = 0; i < line->count; i++)
        free(line->arguments[i]);
    return class;
}

/* For the console's page Health: the services that were started before it. */
static void add_services(struct dev *dev, struct command_line *line)
{
    char root[PATH_MAX];
    char *list = strdup("");
    if (config_is_set(dev->cli->config, "console.services") ||
        realpath(dev->directory, root) == NULL)
        root[0] = '\0';
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        char *longer = NULL;
        if (root[0] == '\0' || strcmp(child_name(child), "deploy") == 0)
            continue;
        int size = asprintf(&longer, "%s%s%s/%s", list, list[0] != '\0' ? "," : "", root,
                            child_name(child));
        assert(size > 0);
        free(list);
        list = longer;
    }
    if (list[0] != '\0')
        add_set(line, "console.services", list);
    free(list);
}

/* The submission service asks it what became of orders. */
static void add_console(const struct dev *dev, struct command_line *line)
{
    char root[PATH_MAX];
    if (config_is_set(dev->cli->config, "submission.console.url") ||
        realpath(dev->directory, root) == NULL)
        return;
    add_word(line, "--set");
    add_word(line, "submission.console.url=%s/console", root);
}

/* People have these two in their bookmarks and scripts. */
static void add_port(const struct dev *dev, const char *service, struct command_line *line)
{
    bool is_console = strcmp(service, "console") == 0;
    if (is_console && config_is_set(dev->cli->config, "http.port"))
        return;
    add_set(line, "http.port",
            is_console                           ? CONSOLE_PORT
            : strcmp(service, "submission") == 0 ? SUBMISSION_PORT
                                                 : "0");
    add_set(line, "http.port.fallback", "true");
}

/* `agent` NULL: another service. *ret_child not NULL: it gets these settings instead of its own. */
static enum error_class start_service(struct dev *dev, const char *service, const char *name,
                                      const struct dev_agent *agent, struct child **ret_child,
                                      struct error *ret_error)
{
    struct command_line line = {0};
    add_word(&line, "run");
    add_word(&line, "%s", service);
    add_common(dev, &line);
    add_word(&line, "--set");
    add_word(&line, "data.dir=%s/%s", dev->directory, name);
    add_port(dev, service, &line);
    if (strcmp(service, "console") == 0)
        add_services(dev, &line);
    if (!config_is_set(dev->cli->config, "http.auth"))
        add_set(&line, "http.auth", "none"); /* on a loopback address, which is checked */
    if (strcmp(service, "submission") == 0)
        add_console(dev, &line);
    add_set(&line, "instance.id", name);
    if (agent != NULL) {
        bool simulated = strcmp(agent->url, DEV_SIMULATED) == 0;
        add_set(&line, "agent.name", agent->name);
        add_set(&line, "agent.kind", simulated ? "sim" : "http");
        if (!simulated)
            add_set(&line, "agent.http.url", agent->url);
    }
    return start_line(dev, name, &line, ret_child, ret_error);
}

static enum error_class start_several(struct dev *dev, const char *service, int64_t count,
                                      struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int64_t i = 1; i <= count && class == ERROR_OK; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-%lld", service, (long long)i);
        class = start_service(dev, service, name, NULL, &(struct child *){NULL}, ret_error);
    }
    return class;
}

static enum error_class start_one(struct dev *dev, const char *service, struct error *ret_error)
{
    return start_service(dev, service, service, NULL, &(struct child *){NULL}, ret_error);
}

enum error_class dev_start_agent(struct dev *dev, struct dev_agent *agent, struct error *ret_error)
{
    char name[NAME_BYTES_MAX + 16];
    if (strcmp(agent->url, DEV_ON_KAFKA) == 0 || strcmp(agent->url, agent->started_with) == 0)
        return ERROR_OK;
    snprintf(name, sizeof(name), "agent-%s", agent->name);
    snprintf(agent->started_with, sizeof(agent->started_with), "%s", agent->url);
    return start_service(dev, "agent", name, agent, &agent->child, ret_error);
}

/* The one before it is over, and its log is no longer of interest. */
static enum error_class end_deploy(struct dev *dev, struct error *ret_error)
{
    char log[PATH_MAX + 32];
    struct child *child = NULL;
    while ((child = children_next(dev->children, child)) != NULL &&
           strcmp(child_name(child), "deploy") != 0)
        ;
    if (child != NULL && child_runs(child))
        return error_set_as(ret_error, ERROR_RETRY, CODE_NOT_DEPLOYED,
                            "another deployment runs: save the file again when it is over");
    if (child != NULL)
        children_remove(dev->children, child);
    snprintf(log, sizeof(log), "%s/deploy/log", dev->directory);
    unlink(log);
    return ERROR_OK;
}

enum error_class dev_start_deploy(struct dev *dev, char *const paths[], int count,
                                  struct error *ret_error)
{
    struct command_line line = {0};
    struct child *child = NULL;
    enum error_class class = end_deploy(dev, ret_error);
    if (count == 0 || class != ERROR_OK)
        return class;
    add_word(&line, "workflow");
    add_word(&line, "deploy");
    add_word(&line, "--next-version");
    add_word(&line, "--no-agent-check"); /* they start next */
    for (int i = 0; i < count; i++)
        add_word(&line, "%s", paths[i]);
    add_common(dev, &line);
    class = start_line(dev, "deploy", &line, &child, ret_error);
    if (class == ERROR_OK)
        child_is_task(child);
    return class;
}

static const char *path_of(const struct dev *dev, const char *key)
{
    const char *path = config_string(dev->cli->config, key);
    return path[0] != '\0' ? path : NULL;
}

/* By HTTPS if the services have a certificate, which is its own authority unless one is named. */
static enum error_class watch(const struct dev *dev, struct error *ret_error)
{
    const char *ca = path_of(dev, "console.tls.ca");
    const struct http_client_options tls = {.ca_file =
                                                ca != NULL ? ca : path_of(dev, "http.tls.cert"),
                                            .cert_file = path_of(dev, "console.tls.cert"),
                                            .key_file = path_of(dev, "console.tls.key")};
    if (path_of(dev, "http.tls.client.ca") != NULL &&
        (tls.cert_file == NULL || tls.key_file == NULL))
        return error_set(ret_error, CODE_CONFIG,
                         "http.tls.client.ca: reeve dev needs a certificate of its own to ask its "
                         "services whether they are ready: set console.tls.cert and "
                         "console.tls.key");
    return children_watch(dev->children, &tls, ret_error);
}

enum error_class dev_start_services(struct dev *dev, struct error *ret_error)
{
    enum error_class class =
        dev_start_deploy(dev, dev->cli->arguments, dev->cli->argument_count, ret_error);
    if (class == ERROR_OK)
        class = start_one(dev, "submission", ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "scheduler", dev->schedulers, ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "supervisor", dev->supervisors, ret_error);
    for (size_t i = 0; i < dev->agent_count && class == ERROR_OK; i++)
        class = dev_start_agent(dev, &dev->agents[i], ret_error);
    if (class == ERROR_OK)
        class = start_one(dev, "console", ret_error);
    return class == ERROR_OK ? watch(dev, ret_error) : class;
}
