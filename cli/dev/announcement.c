/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve dev` prints: what runs where, and the log of a child that has failed. */
#include "cli/dev/dev_internal.h"
#include "cli/output.h"
#include "platform/clock.h"
#include "platform/files.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LOG_TAIL = 2000, LOG_MAX = 64 << 20, WORKFLOWS_SHOWN = 8 };

static const char *note_of(struct dev *dev, const char *name)
{
    if (!string_starts_with(name, "agent-"))
        return "";
    const struct dev_agent *agent = dev_find_agent(dev, text_of(name + strlen("agent-")));
    return agent != NULL ? dev_agent_note(agent) : "";
}

static const char *console_url(struct dev *dev)
{
    const char *url = "";
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;)
        if (strcmp(child_name(child), "console") == 0)
            url = child_url(child);
    return url;
}

enum error_class dev_write_client_config(struct dev *dev, struct error *ret_error)
{
    char path[PATH_MAX + 32];
    char content[3 * 1024];
    const char *registry = config_string(dev->cli->config, "schema.registry.url");
    snprintf(path, sizeof(path), "%s/client.properties", dev->directory);
    int size = snprintf(content, sizeof(content),
                        "kafka.bootstrap.servers = %.600s\ntopics.prefix = %s\n"
                        "console.url = %s\n%s%.1024s%s",
                        dev->bootstrap, dev->topics.prefix, console_url(dev),
                        registry[0] != '\0' ? "schema.registry.url = " : "", registry,
                        registry[0] != '\0' ? "\n" : "");
    return files_write_atomic(path, (struct text){content, (uint32_t)size}, ret_error);
}

/* How to get a token, if the user asked for them. */
static void announce_tokens(struct dev *dev)
{
    const struct config *config = dev->cli->config;
    if (!config_is_set(config, "http.auth") ||
        strcmp(config_string(config, "http.auth"), "tokens") != 0)
        return;
    const char *file = config_string(config, "http.tokens.file");
    fprintf(dev->cli->out,
            "  export REEVE_CONSOLE_TOKEN=...  # reeve token add NAME --role operator --file %s\n",
            file[0] != '\0' ? file : "FILE, and start this with --http-tokens-file FILE");
}

/* A command that finds this state also from another folder, unless it is in the usual place. */
static void announce_environment(const struct dev *dev)
{
    char path[PATH_MAX];
    FILE *out = dev->cli->out;
    if (strcmp(dev->directory, DEV_DIRECTORY) == 0 || realpath(dev->directory, path) == NULL) {
        fputs("In another terminal, in this folder:\n  eval \"$(reeve dev env)\"\n", out);
        return;
    }
    fputs("In another terminal:\n  eval \"$(reeve dev env --data-dir ", out);
    output_quoted(out, path);
    fputs(")\"\n", out);
}

static void announce_kafka(const struct dev *dev)
{
    FILE *out = dev->cli->out;
    fprintf(out, "  %-20s %s", "kafka", dev->bootstrap);
    if (dev->embedded != NULL && dev->directory_is_temporary)
        fputs("          embedded, in memory: its records are lost when it stops", out);
    else if (dev->embedded != NULL)
        fprintf(out, "          embedded, kept in %s; --fresh starts with an empty one",
                dev->directory);
    else if (dev->kafka != NULL)
        fprintf(out, "          pid %d  Kafka of %s, kept in %s; --fresh starts with an empty one",
                (int)dev_kafka_pid(dev), dev_kafka_home(dev), dev->directory);
    fputc('\n', out);
}

static void announce_processes(struct dev *dev)
{
    FILE *out = dev->cli->out;
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        const char *note = note_of(dev, child_name(child));
        if (*child_url(child) != '\0')
            fprintf(out, "  %-20s %-23s pid %d%s%s\n", child_name(child), child_url(child),
                    (int)child_pid(child), *note != '\0' ? "  " : "", note);
    }
    for (size_t i = 0; i < dev->agent_count; i++) {
        const struct dev_agent *agent = &dev->agents[i];
        if (agent->kind == DEV_AGENT_KAFKA)
            fprintf(out, "  agent-%-14s %s.requests.%s  %s\n", agent->name, dev->topics.prefix,
                    agent->name, dev_agent_note(agent));
    }
}

/* Whether orders may name it without a version, and it is the last entry of its name. */
static const struct workflow_entry *served(const struct workflow_registry *registry, uint32_t at)
{
    const struct workflow_entry *entry = workflow_registry_at(registry, at);
    struct text name = entry->workflow->name;
    if (at + 1 < workflow_registry_count(registry) &&
        text_equal(workflow_registry_at(registry, at + 1)->workflow->name, name))
        return NULL;
    entry = workflow_registry_entry(registry, name, 0);
    return entry != NULL && !entry->retired ? entry : NULL;
}

/* Without files, orders are of what earlier runs have deployed. */
static void announce_workflows(struct dev *dev)
{
    FILE *out = dev->cli->out;
    size_t shown = 0;
    const struct workflow_registry *registry = dev_deployed_workflows(dev);
    if (dev->cli->argument_count > 0)
        return;
    for (uint32_t at = 0; at < workflow_registry_count(registry); at++) {
        const struct workflow_entry *entry = served(registry, at);
        if (entry == NULL || shown++ >= WORKFLOWS_SHOWN)
            continue;
        if (shown == 1)
            dev_take_example(dev, entry->workflow);
        fprintf(out, shown == 1 ? "  workflows            %.*s %" PRIu32 : ", %.*s %" PRIu32,
                TEXT_ARG(entry->workflow->name), entry->workflow->version);
    }
    if (shown > WORKFLOWS_SHOWN)
        fprintf(out, " and %zu more", shown - WORKFLOWS_SHOWN);
    fputs(shown > 0 ? ", as deployed before\n"
                    : "No workflow was named: `reeve dev FILE.yaml` deploys one and simulates its "
                      "agents.\n",
          out);
}

void dev_announce(struct dev *dev)
{
    FILE *out = dev->cli->out;
    double seconds = (double)(clock_mono_ms(clock_real()) - dev->began_ms) / 1000;
    fprintf(out, "reeve dev is ready (%.1f s)\n", seconds);
    announce_kafka(dev);
    announce_processes(dev);
    fprintf(out, "  %-20s %s/NAME/log\n", "logs", dev->directory);
    announce_workflows(dev);
    announce_environment(dev);
    announce_tokens(dev);
    if (dev->example != NULL) {
        fputs("  echo ", out);
        output_quoted(out, dev->example);
        fputs(" | reeve submit -\n", out);
    }
    fprintf(out, "  reeve orders list\nIn a browser: %s\nCtrl-C stops everything.\n",
            console_url(dev));
    if (dev->trial != NULL)
        fprintf(out, "Trying it with %s\n", dev->trial);
    if (dev->signals != NULL && *dev->signals != '\0')
        fprintf(out, "When it waits for a signal, in the other terminal:\n%s", dev->signals);
    fflush(out);
    dev->announced = true;
}

void dev_show_log(struct dev *dev, const struct child *child)
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/log", child_directory(child));
    if (files_read(path, LOG_MAX, &content, &size, NULL) != ERROR_OK)
        return;
    const char *from = content + (size > LOG_TAIL ? size - LOG_TAIL : 0);
    if (from > content)
        from += strcspn(from, "\n");
    fprintf(dev->cli->err, "%s\n", from);
    free(content);
}
