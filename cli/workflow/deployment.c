/* SPDX-License-Identifier: Apache-2.0 */
/* See deployment.h. */
#include "cli/workflow/deployment.h"

#include "cli/session.h"
#include "cli/submit/sender.h"
#include "cli/user.h"
#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>

enum { ARENA_SIZE = 16 * 1024, METADATA_MS = 5000, REFRESH_MS = 30000 };

static enum error_class read_file(const char *path, bool notes, struct workflow_file *ret_file,
                                  struct error *ret_error)
{
    struct workflow_file file = {.path = path, .format = workflow_format_of(path)};
    if (files_read(path, WORKFLOW_BYTES_MAX, &file.text, &file.size, ret_error) != ERROR_OK) {
        /* The user named the file: the input is wrong, not the machine. */
        ret_error->class = ERROR_REJECT;
        return ERROR_REJECT;
    }
    *ret_file = file;
    heap_arena_init(&ret_file->heap, ARENA_SIZE);
    struct text text = {ret_file->text, (uint32_t)ret_file->size};
    bool good = notes ? workflow_parse_with_notes(text, ret_file->format, &ret_file->heap.arena,
                                                  &ret_file->problems, &ret_file->workflow)
                      : workflow_parse(text, ret_file->format, &ret_file->heap.arena,
                                       &ret_file->problems, &ret_file->workflow);
    if (!good)
        ret_file->workflow = NULL;
    return ERROR_OK;
}

enum error_class workflow_file_read(const char *path, struct workflow_file *ret_file,
                                    struct error *ret_error)
{
    return read_file(path, false, ret_file, ret_error);
}

enum error_class workflow_file_read_with_notes(const char *path, struct workflow_file *ret_file,
                                               struct error *ret_error)
{
    return read_file(path, true, ret_file, ret_error);
}

void workflow_file_deinit(struct workflow_file *file)
{
    free(file->text);
    file->text = NULL;
    heap_arena_deinit(&file->heap);
}

/* ---- deploying ---- */

static void on_refreshed(void *ctx)
{
    bool *done = ctx;
    *done = true;
}

static bool is_refreshed(void *ctx)
{
    const bool *done = ctx;
    return *done;
}

/* A busy broker may take its time. */
static enum error_class refresh(struct cli_session *session, struct error *ret_error)
{
    bool done = false;
    cluster_refresh_workflows(session->cluster, on_refreshed, &done);
    if (cli_session_wait(session, is_refreshed, &done, REFRESH_MS))
        return ERROR_OK;
    cluster_refresh_cancel(session->cluster, &done);
    return error_set(ret_error, CODE_NOT_READ, "cannot read %s to its end",
                     session->cluster->topics.workflows);
}

/* The record has the key "name:version". */
static enum error_class append(struct cli_session *session, struct text name, uint32_t version,
                               enum record_kind kind, const void *record, struct error *ret_error)
{
    char key[WORKFLOW_KEY_SIZE];
    struct sender *sender = sender_new(session, session->cluster->topics.workflows, NULL, NULL);
    enum error_class class =
        sender_send(sender, 0, workflow_key(name, version, key), kind, record, ret_error);
    if (class == ERROR_OK)
        class = sender_flush(sender, ret_error);
    sender_free(sender);
    return class;
}

static enum error_class append_definition(struct cli_session *session,
                                          const struct workflow_file *file, struct error *ret_error)
{
    char by[WHO_BYTES_MAX];
    cli_user_at_host(by);
    struct workflow_definition definition = {
        .name = file->workflow->name,
        .version = file->workflow->version,
        .text = {file->text, (uint32_t)file->size},
        .format = text_of(workflow_format_name(file->format)),
        .deployed_by = text_of(by),
        .deployed_at = clock_wall_ms(session->context.clock),
    };
    enum error_class class = append(session, definition.name, definition.version,
                                    RECORD_WORKFLOW_DEFINITION, &definition, ret_error);
    return class == ERROR_OK ? refresh(session, ret_error) : class;
}

enum error_class workflow_activate(struct cli_session *session, struct text name, uint32_t version,
                                   bool active, struct text by, struct text reason,
                                   struct error *ret_error)
{
    char user[WHO_BYTES_MAX];
    cli_user_at_host(user);
    struct workflow_activation activation = {
        .name = name,
        .version = version,
        .active = active,
        .by = text_empty(by) ? text_of(user) : by,
        .reason = reason,
        .at = clock_wall_ms(session->context.clock),
    };
    enum error_class class =
        append(session, name, version, RECORD_WORKFLOW_ACTIVATION, &activation, ret_error);
    return class == ERROR_OK ? refresh(session, ret_error) : class;
}

enum error_class workflow_deploy(struct cli_session *session, const struct workflow_file *file,
                                 bool activate, const char **ret_result, struct error *ret_error)
{
    const struct workflow_registry *registry = session->cluster->workflows;
    struct workflow_deployment deployment = {.workflow = file->workflow,
                                             .text = {file->text, (uint32_t)file->size},
                                             .activate = activate};
    enum workflow_deployment_step step = DEPLOYMENT_DONE;
    uint32_t version;
    struct text none = {0};
    enum error_class class;
    while ((class = workflow_deployment_next(registry, &deployment, &step, &version, ret_error)) ==
               ERROR_OK &&
           step != DEPLOYMENT_DONE) {
        if (step == DEPLOYMENT_DEFINE)
            class = append_definition(session, file, ret_error);
        else
            class =
                workflow_activate(session, file->workflow->name, version, step != DEPLOYMENT_RETIRE,
                                  none, workflow_deployment_reason(step), ret_error);
        if (class != ERROR_OK)
            return class;
        deployment.is_new = deployment.is_new || step == DEPLOYMENT_DEFINE;
    }
    if (class == ERROR_OK)
        *ret_result = workflow_deployment_result(registry, &deployment);
    return class;
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
        .agents = &agent,
        .agent_count = 1,
    };
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    return class == ERROR_OK ? topics_create(&plan, ret_error) : class;
}

enum error_class workflow_make_topics(struct cli_session *session, const struct workflow *workflow,
                                      struct error *ret_error)
{
    struct text agents[WORKFLOW_FILE_AGENTS_MAX];
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
            error_wrap(ret_error, &why,
                       "topic %s does not exist and cannot be created: %.200s; create it, then "
                       "deploy again",
                       topic, why.message);
    }
    return class;
}
