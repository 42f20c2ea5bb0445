/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/schedule/deployed.h"

#include "cli/submit/sender.h"

enum { READ_MS = 30000 };

static const struct schedule_topic_ops topic_ops = {.changed = NULL};

static bool is_read(void *ctx)
{
    const struct deployed_schedules *deployed = ctx;
    return schedule_topic_is_complete(deployed->topic) &&
           schedule_topic_offset(deployed->topic) >= deployed->written;
}

/* A busy broker may take its time. */
static enum error_class read_topic(struct deployed_schedules *deployed, struct error *ret_error)
{
    const char *topic = deployed->session->cluster->topics.schedules;
    if (cli_session_wait(deployed->session, is_read, deployed, READ_MS))
        return ERROR_OK;
    const struct error *why = schedule_topic_trouble(deployed->topic);
    return error_set(ret_error, CODE_NOT_READ, "cannot read %s to its end%s%s", topic,
                     why != NULL ? ": " : "", why != NULL ? why->message : "");
}

enum error_class deployed_schedules_init(struct deployed_schedules *deployed,
                                         struct cli_session *session, struct error *ret_error)
{
    *deployed = (struct deployed_schedules){.session = session, .written = -1};
    deployed->topic = schedule_topic_follow(session->cluster, &topic_ops, NULL);
    enum error_class class = read_topic(deployed, ret_error);
    if (class != ERROR_OK)
        deployed_schedules_deinit(deployed);
    return class;
}

void deployed_schedules_deinit(struct deployed_schedules *deployed)
{
    schedule_topic_free(deployed->topic);
    deployed->topic = NULL;
}

const struct schedule_registry *deployed_schedules_registry(
    const struct deployed_schedules *deployed)
{
    return schedule_topic_registry(deployed->topic);
}

static void on_written(void *ctx, struct text key, int32_t partition, int64_t offset)
{
    struct deployed_schedules *deployed = ctx;
    (void)key;
    (void)partition;
    deployed->written = offset;
}

enum error_class deployed_schedules_write(struct deployed_schedules *deployed, struct text name,
                                          const struct schedule_definition *definition,
                                          struct error *ret_error)
{
    struct sender *sender = sender_new(
        deployed->session, deployed->session->cluster->topics.schedules, on_written, deployed);
    enum error_class class = sender_send(sender, 0, name, RECORD_SCHEDULE, definition, ret_error);
    if (class == ERROR_OK)
        class = sender_flush(sender, ret_error);
    sender_free(sender);
    return class == ERROR_OK ? read_topic(deployed, ret_error) : class;
}

int64_t deployed_schedules_now(const struct deployed_schedules *deployed)
{
    return clock_wall_ms(deployed->session->context.clock) / 1000;
}
