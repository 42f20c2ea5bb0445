/* SPDX-License-Identifier: Apache-2.0 */
/* The main of agents: of the ready-made ones (kinds/kinds.c) and of those of users (sdk/run.c).
 *
 * A process may have several agents (agent.names). They share the loop and nothing else: each has
 * its configuration, its connections to the brokers, its group, its queue, its calls. */
#include "replica/service/settings.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/core/core.h"
#include "services/services.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS_MAX = 32, REASON_SIZE = 256 };

/* Of this process. */
static agent_ops_of arg_ops_of;

/* One of the agents of this process. */
struct hosted_agent {
    struct service_context context; /* the process's, with the agent's own configuration */
    struct config *config;
    struct agent *agent;
    struct agent_process *process;
    bool drained;
};

struct agent_process {
    struct service_context *context;
    uint32_t count;
    struct hosted_agent agents[AGENTS_MAX];
};

static void free_process(void *state)
{
    struct agent_process *process = state;
    for (uint32_t i = 0; i < process->count; i++) {
        agent_free(process->agents[i].agent);
        config_free(process->agents[i].config);
    }
    free(process);
}

static enum error_class add_agent(struct agent_process *process, const char *name,
                                  struct error *ret_error)
{
    struct hosted_agent *hosted = &process->agents[process->count++];
    hosted->process = process;
    hosted->config = config_scoped(process->context->config, name);
    hosted->context = *process->context;
    hosted->context.config = hosted->config;
    hosted->context.part = name;
    const struct agent_ops *ops = arg_ops_of(hosted->context.config);
    return agent_new(&hosted->context, ops, NULL, &hosted->agent, ret_error);
}

/* Those of agent.names; else *ret_one: agent.name, or what the program calls its agent, or "". */
static size_t list_names(const struct config *config, const char **ret_one,
                         const char *const **ret_names)
{
    const char *own = arg_ops_of(config)->name;
    size_t count = config_list(config, "agent.names", ret_names);
    *ret_one = config_string(config, "agent.name");
    if (count > 0)
        return count;
    if ((*ret_one)[0] == '\0' && own != NULL)
        *ret_one = own;
    *ret_names = ret_one;
    return 1;
}

static enum error_class check(const struct config *config, struct error *ret_error)
{
    const char *one;
    const char *const *names;
    size_t count = list_names(config, &one, &names);
    if (names != &one && one[0] != '\0')
        return error_set(ret_error, CODE_CONFIG,
                         "agent.name and agent.names are both set: set one of them");
    if (count > AGENTS_MAX)
        return error_set(ret_error, CODE_CONFIG, "agent.names has %zu names; the limit is %d",
                         count, AGENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        enum error_class class = agent_name_check(names[i], ret_error);
        if (class != ERROR_OK)
            return class;
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return error_set(ret_error, CODE_CONFIG, "agent.names: %s appears twice", names[i]);
    }
    return config_check_scopes(config, names, count, ret_error);
}

static enum error_class start(struct service_context *context, void **ret_state,
                              struct error *ret_error)
{
    const char *one;
    const char *const *names;
    size_t count = list_names(context->config, &one, &names);
    enum error_class class = ERROR_OK;
    struct agent_process *process = calloc(1, sizeof(*process));
    assert(process != NULL);
    process->context = context;
    for (size_t i = 0; i < count && class == ERROR_OK; i++)
        class = add_agent(process, names[i], ret_error);
    if (class != ERROR_OK) {
        free_process(process);
        return class;
    }
    *ret_state = process;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct agent_process *process = state;
    char reason[REASON_SIZE];
    for (uint32_t i = 0; i < process->count; i++) {
        const struct agent *agent = process->agents[i].agent;
        if (agent_ready(agent, reason, sizeof(reason)))
            continue;
        if (process->count > 1)
            snprintf(ret_reason, reason_size, "agent %s: %s", agent_name(agent), reason);
        else
            snprintf(ret_reason, reason_size, "%s", reason);
        return false;
    }
    return true;
}

static void drained(void *ctx)
{
    struct hosted_agent *hosted = ctx;
    hosted->drained = true;
    const struct agent_process *process = hosted->process;
    for (uint32_t i = 0; i < process->count; i++)
        if (!process->agents[i].drained)
            return;
    service_drained(process->context);
}

static void drain(void *state)
{
    struct agent_process *process = state;
    for (uint32_t i = 0; i < process->count; i++)
        agent_drain(process->agents[i].agent, drained, &process->agents[i]);
}

const struct http_routes *const agent_routes[] = {&agent_callback_routes, &service_about_routes,
                                                  &http_built_in_routes, NULL};

static const struct service service = {
    .name = "agent",
    .bit = SETTINGS_AGENT,
    .has_stores = true,
    .routes = agent_routes,
    .check = check,
    .start = start,
    .ready = ready,
    .drain = drain,
    .stop = free_process,
};

int agent_service_main(agent_ops_of ops_of, const struct config_schema *schema, int argc,
                       char *const argv[])
{
    struct service own = service;
    assert(arg_ops_of == NULL && ops_of != NULL);
    arg_ops_of = ops_of;
    own.schema = schema;
    return service_main(&own, argc, argv);
}
