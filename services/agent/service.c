/* SPDX-License-Identifier: Apache-2.0 */
/* The mains of agents: agent_main for the ready-made ones, agent_run for those made with the SDK.
 *
 * A process may have several agents (agent.names). They share the loop and nothing else: each has
 * its configuration, its connections to the brokers, its group, its queue, its calls. */
#include "replica/settings.h"
#include "services/agent/core/core.h"
#include "services/agent/kinds/exec_agent.h"
#include "services/agent/kinds/http_agent.h"
#include "services/agent/kinds/sim_agent.h"
#include "services/services.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 32, REASON_SIZE = 256 };

/* Of this process; NULL = agent.kind says which. */
static const struct agent_ops *arg_ops;

static const struct agent_ops *ops_of_kind(const char *kind)
{
    if (strcmp(kind, "http") == 0)
        return &http_agent_ops;
    if (strcmp(kind, "exec") == 0)
        return &exec_agent_ops;
    assert(strcmp(kind, "sim") == 0); /* settings.c has the same kinds */
    return &sim_agent_ops;
}

/* One of the agents of this process. */
struct part {
    struct service_context context; /* the process's, with the agent's own configuration */
    struct config *config;          /* NULL: the process's */
    struct agent *agent;
    struct parts *of;
    bool drained;
};

struct parts {
    struct service_context *context;
    uint32_t count;
    struct part list[PARTS_MAX];
};

static void free_parts(struct parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        agent_free(parts->list[i].agent);
        config_free(parts->list[i].config);
    }
    free(parts);
}

/* "" = it has none yet: agent_new says what is wrong. */
static enum error_class add_part(struct parts *parts, const char *name, struct error *ret_error)
{
    struct part *part = &parts->list[parts->count++];
    const struct agent_ops *ops = arg_ops;
    part->of = parts;
    part->context = *parts->context;
    if (name[0] != '\0') {
        part->config = config_scoped(parts->context->config, name);
        part->context.config = part->config;
    }
    if (ops == NULL)
        ops = ops_of_kind(config_string(part->context.config, "agent.kind"));
    return agent_new(&part->context, ops, NULL, &part->agent, ret_error);
}

static enum error_class check_names(const struct config *config, const char *const names[],
                                    size_t count, struct error *ret_error)
{
    if (count > PARTS_MAX)
        return error_set(ret_error, ERROR_REJECT, "Config",
                         "agent.names: at most %d agents in one process", PARTS_MAX);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return error_set(ret_error, ERROR_REJECT, "Config",
                                 "agent.names: %s is there twice", names[i]);
    return config_check_scopes(config, names, count, ret_error);
}

static enum error_class start(struct service_context *context, void **ret_state,
                              struct error *ret_error)
{
    const char *const *names;
    const char *only = config_string(context->config, "agent.name");
    size_t count = config_list(context->config, "agent.names", &names);
    if (count > 0 && only[0] != '\0')
        return error_set(ret_error, ERROR_REJECT, "Config",
                         "agent.name and agent.names are both set: one of them is wanted");
    if (count == 0) {
        if (only[0] == '\0' && arg_ops != NULL && arg_ops->name != NULL)
            only = arg_ops->name;
        names = &only;
        count = 1;
    }
    enum error_class class = check_names(context->config, names, count, ret_error);
    if (class != ERROR_OK)
        return class;
    struct parts *parts = calloc(1, sizeof(*parts));
    assert(parts != NULL);
    parts->context = context;
    for (size_t i = 0; i < count && class == ERROR_OK; i++)
        class = add_part(parts, names[i], ret_error);
    if (class != ERROR_OK) {
        free_parts(parts);
        return class;
    }
    *ret_state = parts;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct parts *parts = state;
    char reason[REASON_SIZE];
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct agent *agent = parts->list[i].agent;
        if (agent_ready(agent, reason, sizeof(reason)))
            continue;
        if (parts->count > 1)
            snprintf(ret_reason, reason_size, "agent %s: %s", agent->name, reason);
        else
            snprintf(ret_reason, reason_size, "%s", reason);
        return false;
    }
    return true;
}

static void drained(void *ctx)
{
    struct part *part = ctx;
    part->drained = true;
    const struct parts *parts = part->of;
    for (uint32_t i = 0; i < parts->count; i++)
        if (!parts->list[i].drained)
            return;
    service_drained(parts->context);
}

static void drain(void *state)
{
    struct parts *parts = state;
    for (uint32_t i = 0; i < parts->count; i++)
        agent_drain(parts->list[i].agent, drained, &parts->list[i]);
}

static void stop(void *state)
{
    free_parts(state);
}

static const struct service service = {
    .name = "agent",
    .bit = SETTINGS_AGENT,
    .has_stores = true,
    .start = start,
    .ready = ready,
    .drain = drain,
    .stop = stop,
};

int agent_main(int argc, char **argv)
{
    return service_main(&service, argc, argv);
}

int agent_run(const struct agent_ops *ops, int argc, char *const argv[])
{
    assert(arg_ops == NULL && ops != NULL);
    arg_ops = ops;
    return service_main(&service, argc, argv);
}
