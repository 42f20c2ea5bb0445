/* SPDX-License-Identifier: Apache-2.0 */
/* See deployment.h. */
#include "cli/workflow/deployment.h"

#include "cli/session.h"
#include "cli/submit/sender.h"
#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARENA_SIZE = 16 * 1024, METADATA_MS = 5000, REFRESH_MS = 15000 };

enum error_class workflow_source_read(const char *path, struct workflow_source *ret_source,
                                      struct error *ret_error)
{
    *ret_source = (struct workflow_source){.path = path, .format = workflow_format_of(path)};
    heap_arena_init(&ret_source->heap, ARENA_SIZE);
    enum error_class class =
        files_read(path, WORKFLOW_BYTES_MAX, &ret_source->text, &ret_source->size, ret_error);
    if (class != ERROR_OK) {
        /* The user named the file: the input is wrong, not the machine. */
        ret_error->class = ERROR_REJECT;
        return ERROR_REJECT;
    }
    struct text text = {ret_source->text, (uint32_t)ret_source->size};
    if (!workflow_parse(text, ret_source->format, &ret_source->heap.arena, &ret_source->problems,
                        &ret_source->workflow))
        ret_source->workflow = NULL;
    return ERROR_OK;
}

void workflow_source_deinit(struct workflow_source *source)
{
    free(source->text);
    source->text = NULL;
    heap_arena_deinit(&source->heap);
}

/* True: it was not among them. */
static bool add_name(struct text name, struct text names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal(names[i], name))
            return false;
    }
    names[count] = name;
    return true;
}

size_t workflow_agents(const struct workflow *workflow, struct text ret_names[])
{
    size_t count = 0;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        for (uint32_t j = 0; j < workflow->steps[i].agent_count; j++)
            count += add_name(workflow->steps[i].agents[j], ret_names, count);
    }
    return count;
}

/* ---- deploying ---- */

struct refreshed {
    bool done;
    bool fresh;
};

static void on_refreshed(void *ctx, bool fresh)
{
    struct refreshed *refreshed = ctx;
    *refreshed = (struct refreshed){true, fresh};
}

static bool is_refreshed(void *ctx)
{
    const struct refreshed *refreshed = ctx;
    return refreshed->done;
}

static enum error_class refresh(struct cli_session *session, struct error *ret_error)
{
    struct refreshed refreshed = {0};
    cluster_refresh_workflows(session->cluster, on_refreshed, &refreshed);
    /* The cluster answers within seconds, one way or the other. */
    while (!cli_session_wait(session, is_refreshed, &refreshed, REFRESH_MS))
        ;
    if (refreshed.fresh)
        return ERROR_OK;
    return error_set(ret_error, ERROR_RETRY, "NotRead", "cannot read %s to its end",
                     session->cluster->topics.workflows);
}

static bool same_source(const struct workflow_entry *entry, const struct workflow_source *source)
{
    return text_equal(entry->definition.source,
                      (struct text){source->text, (uint32_t)source->size});
}

static enum error_class other_content(const struct workflow *workflow, struct error *ret_error)
{
    return error_set(ret_error, ERROR_REJECT, "OtherContent",
                     "%.*s version %u is deployed with other content: increase Version in the file",
                     TEXT_ARG(workflow->name), workflow->version);
}

static enum error_class append(struct cli_session *session, const struct workflow_source *source,
                               struct error *ret_error)
{
    const struct workflow *workflow = source->workflow;
    const char *user = getenv("USER");
    char host[64] = "";
    char by[WHO_BYTES_MAX];
    char key[NAME_BYTES_MAX + 16];
    gethostname(host, sizeof(host) - 1);
    snprintf(by, sizeof(by), "%.60s@%s", user != NULL ? user : "unknown", host);
    int key_size =
        snprintf(key, sizeof(key), "%.*s:%u", TEXT_ARG(workflow->name), workflow->version);
    struct workflow_definition definition = {
        .name = workflow->name,
        .version = workflow->version,
        .source = {source->text, (uint32_t)source->size},
        .format = text_of(workflow_format_name(source->format)),
        .deployed_by = text_of(by),
        .deployed_at = clock_wall_ms(session->context.clock),
    };
    struct sender *sender = sender_new(session, session->cluster->topics.workflows, NULL, NULL);
    enum error_class class = sender_send(sender, 0, (struct text){key, (uint32_t)key_size},
                                         RECORD_WORKFLOW_DEFINITION, &definition, ret_error);
    if (class == ERROR_OK)
        class = sender_flush(sender, ret_error);
    sender_free(sender);
    return class;
}

enum error_class workflow_deploy(struct cli_session *session, const struct workflow_source *source,
                                 bool *ret_new, struct error *ret_error)
{
    const struct workflow *workflow = source->workflow;
    const struct workflow_registry *registry = session->cluster->workflows;
    const struct workflow_entry *entry =
        workflow_registry_entry(registry, workflow->name, workflow->version);
    *ret_new = false;
    if (entry != NULL)
        return same_source(entry, source) ? ERROR_OK : other_content(workflow, ret_error);
    enum error_class class = append(session, source, ret_error);
    if (class == ERROR_OK)
        class = refresh(session, ret_error);
    if (class != ERROR_OK)
        return class;
    /* Another client may have been faster: the first definition counts. */
    entry = workflow_registry_entry(registry, workflow->name, workflow->version);
    assert(entry != NULL);
    if (!same_source(entry, source))
        return other_content(workflow, ret_error);
    *ret_new = true;
    return ERROR_OK;
}

/* ---- the agents' topics ---- */

static enum error_class make_topic(struct cli_session *session, const char *agent,
                                   struct error *ret_error)
{
    struct cluster_kafka_options kafka;
    const struct config *config = session->context.config;
    struct topics_plan plan = {
        .kafka = &kafka.options,
        .topics = &session->cluster->topics,
        .partitions = session->cluster->partition_count,
        .replication_factor = (int32_t)config_int(config, "replication.factor"),
        .agents = &agent,
        .agent_count = 1,
    };
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    return class == ERROR_OK ? topics_apply(&plan, NULL, NULL, ret_error) : class;
}

enum error_class workflow_make_topics(struct cli_session *session, const struct workflow *workflow,
                                      struct error *ret_error)
{
    struct text agents[WORKFLOW_AGENTS_MAX];
    size_t count = workflow_agents(workflow, agents);
    enum error_class class = ERROR_OK;
    for (size_t i = 0; i < count && class == ERROR_OK; i++) {
        char topic[TOPIC_NAME_SIZE];
        char agent[NAME_BYTES_MAX + 1];
        struct error why = {0};
        topics_requests(&session->cluster->topics, agents[i], topic);
        snprintf(agent, sizeof(agent), "%.*s", TEXT_ARG(agents[i]));
        if (broker_partition_count(session->cluster->broker, topic, METADATA_MS) > 0)
            continue;
        class = make_topic(session, agent, &why);
        if (class != ERROR_OK)
            error_set(ret_error, class, why.code,
                      "topic %s does not exist and cannot be created: %.200s; create it, then "
                      "deploy again",
                      topic, why.message);
    }
    return class;
}
