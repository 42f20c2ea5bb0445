/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev env`, `reeve dev agent` and `reeve dev app`: for the `reeve dev` that runs on the
 * folder reeve-dev, or on that of --data-dir. */
#include "cli/dev/dev_internal.h"
#include "cli/output.h"

#include <ctype.h>
#include <stdlib.h>

/* The path of its client.properties. RETRY "NotRunning": none runs there, or it is not ready. */
static enum error_class find_running(const struct cli *cli, char ret_path[PATH_MAX],
                                     struct error *ret_error)
{
    char path[PATH_MAX + 32];
    long pid;
    const char *directory = dev_state_directory(cli);
    if (!dev_state_is_used(directory, &pid))
        return error_set(ret_error, CODE_NOT_RUNNING,
                         "no `reeve dev` runs on %.200s: start it with `reeve dev FILE.yaml`, or "
                         "name its folder with --data-dir",
                         directory);
    snprintf(path, sizeof(path), "%s/client.properties", directory);
    if (realpath(path, ret_path) == NULL)
        return error_set(ret_error, CODE_NOT_RUNNING,
                         "the `reeve dev` on %.200s (pid %ld) is not ready yet: try again in a few "
                         "seconds",
                         directory, pid);
    return ERROR_OK;
}

/* A variable is stronger than the file to which REEVE_CONFIG points. */
static void unset_if_set(const struct cli *cli, const char *key)
{
    char name[64] = "REEVE_";
    size_t size = strlen(name);
    for (; *key != '\0'; key++)
        name[size++] = *key == '.' ? '_' : (char)toupper((unsigned char)*key);
    name[size] = '\0';
    if (getenv(name) != NULL)
        fprintf(cli->out, "unset %s\n", name);
}

int dev_run_env(struct cli *cli)
{
    char path[PATH_MAX];
    struct error error;
    if (find_running(cli, path, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    unset_if_set(cli, "kafka.bootstrap.servers");
    unset_if_set(cli, "topics.prefix");
    unset_if_set(cli, "console.url");
    fputs("export REEVE_CONFIG=", cli->out);
    output_quoted(cli->out, path);
    fputc('\n', cli->out);
    return EXIT_CODE_OK;
}

/* With as many partitions and replicas as commands has. */
static enum error_class make_topic(struct cli *cli, const char *agent, const char *app,
                                   struct error *ret_error)
{
    struct cli_session session;
    struct cluster_kafka_options kafka;
    enum error_class class = cli_session_open(cli, 0, &session, ret_error);
    if (class != ERROR_OK)
        return class;
    struct topics_plan plan = {.kafka = &kafka.options,
                               .topics = &session.cluster->topics,
                               .partitions = session.cluster->partition_count,
                               .agents = &agent,
                               .agent_count = agent != NULL,
                               .apps = &app,
                               .app_count = app != NULL};
    class = cluster_kafka_options(cli->config, 0, &kafka, ret_error);
    if (class == ERROR_OK)
        class = topics_create(&plan, ret_error);
    cli_session_close(&session);
    return class;
}

int dev_run_agent(struct cli *cli)
{
    char path[PATH_MAX];
    struct error error;
    struct dev_agent agent;
    if (dev_agent_parse(cli->arguments[0], &agent, &error) != ERROR_OK ||
        find_running(cli, path, &error) != ERROR_OK ||
        make_topic(cli, agent.name, NULL, &error) != ERROR_OK ||
        dev_keep_agent(dev_state_directory(cli), &agent, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    fprintf(cli->out, "%s: %s\n", agent.name, dev_agent_note(&agent));
    if (agent.kind == DEV_AGENT_KAFKA)
        fprintf(cli->out, "its requests are in the topic %s.requests.%s\n",
                config_string(cli->config, "topics.prefix"), agent.name);
    return EXIT_CODE_OK;
}

int dev_run_app(struct cli *cli)
{
    char path[PATH_MAX];
    struct error error;
    const char *app = cli->arguments[0];
    if (!name_valid_new(text_of(app)))
        return cli_usage(cli, "application \"%.80s\": expected " NAME_NEW_EXPECTED, app);
    if (find_running(cli, path, &error) != ERROR_OK ||
        make_topic(cli, NULL, app, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    fprintf(cli->out, "%s: its replies are in the topic %s.replies.%s\n", app,
            config_string(cli->config, "topics.prefix"), app);
    return EXIT_CODE_OK;
}
