/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of an agent (include/reeve/agent.h): its callbacks as the core sees them, what it
 * learns about its process, and wakeups. */
#include "platform/logger.h"
#include "replica/service/settings.h"
#include "services/agent/sdk/sdk.h"

#include <assert.h>
#include <reeve/agent.h>
#include <stdlib.h>
#include <string.h>

/* What the core knows as the agent's `ctx`. */
struct reeve_agent {
    struct service_context *service;
    void *ctx; /* of the program */
    bool started;
    struct error failure; /* of start() */
};

struct reeve_wakeup {
    struct loop_wakeup wakeup;
    void (*callback)(void *ctx);
    void *ctx;
};

/* Of this process: the program's callbacks, and the same for the core. */
static const struct reeve_agent_ops *arg_ops;
static struct agent_ops arg_core_ops;

/* ---- the program's callbacks ---- */

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    struct reeve_agent *agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    agent->service = service;
    if (arg_ops->start != NULL && !arg_ops->start(agent, &agent->ctx)) {
        if (agent->failure.class == ERROR_OK)
            reeve_agent_fail(agent, REEVE_AGENT_FATAL, "the agent's start() failed");
        *ret_error = agent->failure;
        free(agent);
        return ret_error->class;
    }
    agent->started = true;
    *ret_ctx = agent;
    return ERROR_OK;
}

static void execute(void *ctx, struct agent_call *call)
{
    const struct reeve_agent *agent = ctx;
    arg_ops->execute(agent->ctx, (struct reeve_agent_call *)call);
}

static void compensate(void *ctx, struct agent_call *call)
{
    const struct reeve_agent *agent = ctx;
    arg_ops->compensate(agent->ctx, (struct reeve_agent_call *)call);
}

static void extended(void *ctx, struct agent_call *call)
{
    const struct reeve_agent *agent = ctx;
    arg_ops->extended(agent->ctx, (struct reeve_agent_call *)call);
}

static void probe(void *ctx, struct agent_probe *probe)
{
    const struct reeve_agent *agent = ctx;
    arg_ops->probe(agent->ctx, (struct reeve_agent_probe *)probe);
}

static void stop(void *ctx)
{
    struct reeve_agent *agent = ctx;
    if (arg_ops->stop != NULL)
        arg_ops->stop(agent->ctx);
    free(agent);
}

const struct agent_ops *sdk_agent_ops(const struct reeve_agent_ops *ops)
{
    assert(ops != NULL && ops->execute != NULL);
    arg_ops = ops;
    arg_core_ops = (struct agent_ops){
        .name = ops->name,
        .capacity = ops->capacity,
        .start = start,
        .execute = execute,
        .compensate = ops->compensate != NULL ? compensate : NULL,
        .extended = ops->extended != NULL ? extended : NULL,
        .probe = ops->probe != NULL ? probe : NULL,
        .stop = stop,
    };
    return &arg_core_ops;
}

struct config_schema sdk_config_schema(const struct reeve_agent_ops *ops)
{
    struct config_schema schema = settings_schema;
    struct config_key *keys = calloc(schema.key_count + ops->key_count, sizeof(*keys));
    assert(keys != NULL && (ops->keys != NULL || ops->key_count == 0));
    memcpy(keys, schema.keys, schema.key_count * sizeof(*keys));
    for (uint32_t i = 0; i < ops->key_count; i++) {
        const struct reeve_agent_key *key = &ops->keys[i];
        for (size_t k = 0; k < schema.key_count + i; k++)
            assert(strcmp(keys[k].name, key->name) != 0);
        keys[schema.key_count + i] =
            (struct config_key){.name = key->name,
                                .type = key->secret ? CONFIG_SECRET : CONFIG_STRING,
                                .fallback = key->fallback != NULL ? key->fallback : "",
                                .readers = SETTINGS_AGENT,
                                .doc = key->doc};
    }
    schema.keys = keys;
    schema.key_count += ops->key_count;
    return schema;
}

static const struct agent_ops *ops_of(const struct config *config)
{
    (void)config;
    return &arg_core_ops;
}

int reeve_agent_run(const struct reeve_agent_ops *ops, int argc, char *const argv[])
{
    assert(arg_ops == NULL);
    sdk_agent_ops(ops);
    struct config_schema schema = sdk_config_schema(ops);
    int code = agent_service_main(ops_of, &schema, argc, argv);
    free((void *)schema.keys);
    return code;
}

/* ---- the process ---- */

const char *reeve_agent_config(const struct reeve_agent *agent, const char *key)
{
    return config_text(agent->service->config, key);
}

const char *reeve_agent_name(const struct reeve_agent *agent)
{
    const char *name = config_string(agent->service->config, "agent.name");
    return name[0] != '\0' ? name : arg_ops->name;
}

const char *reeve_agent_data_dir(const struct reeve_agent *agent)
{
    return agent->service->data_dir;
}

void reeve_agent_fail(struct reeve_agent *agent, enum reeve_agent_error error, const char *message)
{
    struct error failure;
    const char *what = message != NULL ? message : "the agent gave no reason";
    switch (error) {
    case REEVE_AGENT_UNAVAILABLE:
        error_set(&failure, CODE_AGENT_UNAVAILABLE, "%s", what);
        break;
    case REEVE_AGENT_CONFIG:
        error_set(&failure, CODE_CONFIG, "%s", what);
        break;
    case REEVE_AGENT_FATAL:
        error_set(&failure, CODE_AGENT_FAILED, "%s", what);
        break;
    }
    if (agent->started)
        service_fail(agent->service, &failure);
    else
        agent->failure = failure;
}

/* ---- wakeups ---- */

static void on_wakeup(void *ctx)
{
    const struct reeve_wakeup *own = ctx;
    own->callback(own->ctx);
}

struct reeve_wakeup *reeve_wakeup_new(struct reeve_agent *agent, void (*callback)(void *ctx),
                                      void *ctx)
{
    struct error error;
    struct reeve_wakeup *wakeup = calloc(1, sizeof(*wakeup));
    assert(wakeup != NULL && callback != NULL);
    wakeup->callback = callback;
    wakeup->ctx = ctx;
    if (loop_wakeup_open(agent->service->loop, &wakeup->wakeup, on_wakeup, wakeup, &error) ==
        ERROR_OK)
        return wakeup;
    log_error("cannot create a wakeup", LOG_ERR(&error));
    free(wakeup);
    return NULL;
}

void reeve_wakeup_send(struct reeve_wakeup *wakeup)
{
    loop_wakeup_send(&wakeup->wakeup);
}

void reeve_wakeup_free(struct reeve_wakeup *wakeup)
{
    if (wakeup == NULL)
        return;
    loop_wakeup_close(&wakeup->wakeup);
    free(wakeup);
}
