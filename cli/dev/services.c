/* SPDX-License-Identifier: Apache-2.0 */
/* What runs under `reeve dev`: the broker and its topics, and every service as a child process. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

/* Of a request to a Kafka whose JVM has compiled nothing yet. */
enum { JUST_STARTED_MS = 60000 };

/* ---- broker and topics ---- */

static void warn_of_difference(void *ctx, enum topics_finding finding, const char *topic,
                               const char *line)
{
    struct dev *dev = ctx;
    (void)topic;
    if (finding == TOPICS_DIFFERS)
        cli_warn(dev->cli, CODE_TOPIC_DIFFERS, "%s", line);
}

enum error_class dev_broker_options(const struct dev *dev,
                                    struct cluster_kafka_options *ret_options,
                                    struct error *ret_error)
{
    enum error_class class = cluster_kafka_options(dev->cli->config, 0, ret_options, ret_error);
    if (class == ERROR_OK)
        ret_options->options.bootstrap_servers = dev->bootstrap;
    return class;
}

enum error_class dev_make_topics(struct dev *dev, struct error *ret_error)
{
    const struct config *config = dev->cli->config;
    const char *agents[AGENTS_MAX];
    struct cluster_kafka_options kafka;
    for (size_t i = 0; i < dev->agent_count; i++)
        agents[i] = dev->agents[i].name;
    struct topics_plan plan = {
        .kafka = &kafka.options,
        .topics = &dev->topics,
        .partitions = (int32_t)config_int(config, "partitions"),
        .replication_factor = (int32_t)config_int(config, "replication.factor"),
        .agents = agents,
        .agent_count = dev->agent_count,
        .apps = dev->apps,
        .app_count = dev->app_count,
        .timeout_ms = dev->kafka != NULL ? JUST_STARTED_MS : 0,
    };
    enum error_class class = dev_broker_options(dev, &kafka, ret_error);
    return class == ERROR_OK ? topics_apply(&plan, warn_of_difference, dev, ret_error) : class;
}

static void on_report(void *ctx, const char *line)
{
    const struct dev *dev = ctx;
    fprintf(dev->cli->err, "reeve: %s\n", line);
}

static enum error_class embed(struct dev *dev, struct error *ret_error)
{
    char directory[PATH_MAX + 16];
    struct embedded_options options = {.directory = dev->directory_is_temporary ? NULL : directory,
                                       .port = dev->last_broker_port != 0 ? dev->last_broker_port
                                                                          : EMBEDDED_PORT,
                                       .report = on_report,
                                       .ctx = dev};
    snprintf(directory, sizeof(directory), "%s/broker", dev->directory);
    enum error_class class =
        options.directory != NULL ? files_make_dirs(directory, ret_error) : ERROR_OK;
    if (class == ERROR_OK)
        class = embedded_new(&options, &dev->embedded, ret_error);
    if (class == ERROR_OK)
        dev->bootstrap = embedded_bootstrap(dev->embedded);
    return class;
}

enum error_class dev_start_broker(struct dev *dev, struct error *ret_error)
{
    if (dev->kafka != NULL)
        return dev_start_kafka(dev, ret_error);
    if (!config_is_set(dev->cli->config, "kafka.bootstrap.servers"))
        return embed(dev, ret_error);
    dev->bootstrap = config_string(dev->cli->config, "kafka.bootstrap.servers");
    return ERROR_OK;
}

enum error_class dev_await_broker(struct dev *dev, bool *ret_answers, struct error *ret_error)
{
    if (dev->kafka != NULL)
        return dev_await_kafka(dev, ret_answers, ret_error);
    *ret_answers = true;
    return ERROR_OK;
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

static void free_line(struct command_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        free(line->arguments[i]);
    line->count = 0;
}

/* Flags are stronger than all else that a child reads. */
static void add_common(struct dev *dev, struct command_line *line)
{
    const struct cli *cli = dev->cli;
    for (int i = 0; i < cli->config_flag_count; i++)
        add_word(line, "%s", cli->config_flags[i]);
    add_set(line, "kafka.bootstrap.servers", dev->bootstrap);
}

enum error_class dev_service_config(struct dev *dev, struct config **ret_config,
                                    struct error *ret_error)
{
    struct command_line line = {0};
    struct config *config = config_new(&settings_schema);
    add_common(dev, &line);
    enum error_class class =
        config_load(config, (int)line.count, line.arguments, dev->cli->environment, ret_error);
    free_line(&line);
    if (class == ERROR_OK)
        *ret_config = config;
    else
        config_free(config);
    return class;
}

/* Steals the words of `line`. */
static enum error_class start_line(struct dev *dev, struct command_line *line,
                                   const struct child_options *what, struct child **ret_child,
                                   struct error *ret_error)
{
    char directory[PATH_MAX + 128];
    struct child_options options = *what;
    snprintf(directory, sizeof(directory), "%s/%s", dev->directory, what->name);
    options.directory = directory;
    options.arguments = line->arguments;
    options.to_stderr = what->to_stderr || cli_flag_given(dev->cli, "logs");
    enum error_class class = files_make_dirs(directory, ret_error);
    if (class == ERROR_OK)
        class = children_start(dev->children, &options, ret_child, ret_error);
    free_line(line);
    return class;
}

/* A line each; of the console itself the page has more. */
enum error_class dev_write_services(const struct dev *dev, struct error *ret_error)
{
    char root[PATH_MAX], path[PATH_MAX + 16];
    char *list = NULL;
    size_t size = 0;
    if (realpath(dev->directory, root) == NULL)
        return error_set(ret_error, CODE_NO_DIRECTORY, "cannot find %.200s", dev->directory);
    FILE *lines = open_memstream(&list, &size);
    assert(lines != NULL);
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;)
        if (child_kind(child) == CHILD_SERVICE && child_is_wanted(child) &&
            strcmp(child_name(child), "console") != 0)
            fprintf(lines, "%s/%s\n", root, child_name(child));
    fclose(lines);
    snprintf(path, sizeof(path), "%s/services", root);
    enum error_class class =
        files_write_atomic(path, (struct text){list, (uint32_t)size}, ret_error);
    free(list);
    return class;
}

static void add_services(const struct dev *dev, struct command_line *line)
{
    char root[PATH_MAX];
    if (config_is_set(dev->cli->config, "console.services") ||
        realpath(dev->directory, root) == NULL)
        return;
    add_word(line, "--set");
    add_word(line, "console.services=file:%s/services", root);
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

/* All but what is about an agent. *ret_keeps_port: the user did not choose its port. */
static void add_service(struct dev *dev, const char *service, const char *name,
                        struct command_line *line, bool *ret_keeps_port)
{
    const struct config *config = dev->cli->config;
    bool is_console = strcmp(service, "console") == 0;
    bool is_submission = strcmp(service, "submission") == 0;
    *ret_keeps_port = !is_console || !config_is_set(config, "http.port");
    add_word(line, "run");
    add_word(line, "%s", service);
    add_common(dev, line);
    add_word(line, "--set");
    add_word(line, "data.dir=%s/%s", dev->directory, name);
    if (*ret_keeps_port) {
        add_word(line, "--set");
        add_word(line, "http.port=%d",
                 is_console      ? CONSOLE_PORT
                 : is_submission ? SUBMISSION_PORT
                                 : 0);
        add_set(line, "http.port.fallback", "true");
    }
    if (is_console)
        add_services(dev, line);
    if (!config_is_set(config, "http.auth"))
        add_set(line, "http.auth", "none"); /* on a loopback address, which is checked */
    if (is_submission)
        add_console(dev, line);
    add_set(line, "instance.id", name);
}

static enum error_class start_service(struct dev *dev, const char *service, const char *name,
                                      struct error *ret_error)
{
    struct command_line line = {0};
    struct child *child;
    struct child_options options = {.name = name};
    add_service(dev, service, name, &line, &options.keeps_port);
    return start_line(dev, &line, &options, &child, ret_error);
}

enum error_class dev_start_agent(struct dev *dev, struct dev_agent *agent, struct error *ret_error)
{
    char name[NAME_BYTES_MAX + 16];
    struct command_line line = {0};
    struct child_options options = {.name = name};
    if (agent->kind == DEV_AGENT_KAFKA) {
        if (agent->child != NULL)
            child_replace(agent->child, NULL);
        return ERROR_OK;
    }
    snprintf(name, sizeof(name), "agent-%s", agent->name);
    add_service(dev, "agent", name, &line, &options.keeps_port);
    add_set(&line, "agent.name", agent->name);
    add_set(&line, "agent.kind", agent->kind == DEV_AGENT_HTTP ? "http" : "sim");
    if (agent->kind == DEV_AGENT_HTTP)
        add_set(&line, "agent.http.url", agent->url);
    if (agent->child == NULL)
        return start_line(dev, &line, &options, &agent->child, ret_error);
    child_replace(agent->child, line.arguments);
    free_line(&line);
    return ERROR_OK;
}

static enum error_class start_several(struct dev *dev, const char *service, int64_t count,
                                      struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int64_t i = 1; i <= count && class == ERROR_OK; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-%lld", service, (long long)i);
        class = start_service(dev, service, name, ret_error);
    }
    return class;
}

/* Of a command of a client. */
static void add_client(struct dev *dev, struct command_line *line)
{
    add_common(dev, line);
    if (!config_has_file(dev->cli->config)) { /* else it reads the settings of a context */
        add_word(line, "--config");
        add_word(line, "/dev/null");
    }
}

/* A file that changed since it was deployed gets the next number: only so can a start on kept state
 * deploy it. */
enum error_class dev_start_deploy(struct dev *dev, const bool chosen[], struct error *ret_error)
{
    const struct cli *cli = dev->cli;
    struct command_line line = {0};
    const struct child_options options = {.name = "deploy", .kind = CHILD_TASK};
    if (cli->argument_count == 0)
        return ERROR_OK;
    add_word(&line, "workflow");
    add_word(&line, "deploy");
    add_word(&line, "--next-version");
    add_word(&line, "--no-agent-check"); /* they start next */
    add_client(dev, &line);
    add_word(&line, "--");
    for (int i = 0; i < cli->argument_count; i++)
        if (chosen == NULL || chosen[i])
            add_word(&line, "%s", cli->arguments[i]);
    if (dev->deploy == NULL)
        return start_line(dev, &line, &options, &dev->deploy, ret_error);
    child_replace(dev->deploy, line.arguments);
    free_line(&line);
    return ERROR_OK;
}

enum error_class dev_start_trial(struct dev *dev, struct error *ret_error)
{
    char path[PATH_MAX + 32];
    char replies[TOPIC_NAME_SIZE];
    struct command_line line = {0};
    struct child *child;
    const struct child_options options = {.name = "try", .kind = CHILD_TASK, .to_stderr = true};
    snprintf(path, sizeof(path), "%s/try.json", dev->directory);
    if (files_write_atomic(path, text_of(dev->trial), ret_error) != ERROR_OK)
        return ERROR_FATAL;
    topics_replies(&dev->topics, text_of(dev->apps[0]), replies);
    add_word(&line, "submit");
    add_word(&line, "--wait");
    add_word(&line, "--reply-to");
    add_word(&line, "%s", replies);
    add_client(dev, &line);
    add_word(&line, "--");
    add_word(&line, "%s", path);
    return start_line(dev, &line, &options, &child, ret_error);
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
    enum error_class class = dev_start_deploy(dev, NULL, ret_error);
    if (class == ERROR_OK)
        class = start_service(dev, "submission", "submission", ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "scheduler", dev->schedulers, ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "supervisor", dev->supervisors, ret_error);
    for (size_t i = 0; i < dev->agent_count && class == ERROR_OK; i++)
        class = dev_start_agent(dev, &dev->agents[i], ret_error);
    if (class == ERROR_OK)
        class = dev_write_services(dev, ret_error);
    if (class == ERROR_OK)
        class = start_service(dev, "console", "console", ret_error);
    return class == ERROR_OK ? watch(dev, ret_error) : class;
}
