/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cli/session_kit.h"

#include "platform/logger.h"
#include "replica/service/settings.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { STEPS = 100000, WAIT_MS = 30000 };

/* The broker in memory does nothing by itself. */
static void on_timer(void *ctx)
{
    struct session_kit *kit = ctx;
    if (kit->turn != NULL)
        kit->turn(kit->turn_ctx);
    broker_memory_settle(kit->kafka, kit->steps);
    loop_timer_after(kit->session.context.loop, &kit->timer, 1);
}

void session_kit_init(struct session_kit *kit)
{
    struct error error = {0};
    log_set_level(LOG_LEVEL_ERROR);
    *kit = (struct session_kit){.session.metrics = metrics_new(), .steps = STEPS};
    cr_assert_eq(loop_new(clock_real(), &kit->session.context.loop, &error), ERROR_OK);
    kit->kafka = broker_memory_cluster_new(7, clock_real());
    SITE_TOPICS(kit->kafka, 1, "t.commands", "t.events", "t.submissions", "t.schemas",
                "t.leadership", "t.workflows", "t.schedules");
    kit->codec = codec_new();
    kit->cli.out = open_memstream(&kit->out, &kit->out_size);
    kit->cli.err = open_memstream(&kit->err, &kit->err_size);
    loop_timer_init(&kit->timer, on_timer, kit);
    loop_timer_after(kit->session.context.loop, &kit->timer, 0);
}

void session_kit_deinit(struct session_kit *kit)
{
    config_free((struct config *)(uintptr_t)kit->session.context.config);
    cli_session_close(&kit->session);
    codec_free(kit->codec);
    broker_memory_cluster_free(kit->kafka);
    fclose(kit->cli.out);
    fclose(kit->cli.err);
    free(kit->out);
    free(kit->err);
}

int64_t session_kit_append(struct session_kit *kit, const char *topic, enum record_kind kind,
                           const void *record)
{
    return site_append(kit->kafka, kit->codec, topic, 0, TEXT("key"), kind, record);
}

static void on_ready(void *ctx)
{
    struct session_kit *kit = ctx;
    kit->session.ready = true;
}

static bool is_ready(void *ctx)
{
    const struct session_kit *kit = ctx;
    return kit->session.ready;
}

void session_kit_open(struct session_kit *kit, unsigned flags)
{
    struct error error = {0};
    struct cli_session *session = &kit->session;
    struct config *config = config_new(&settings_schema);
    cr_assert_eq(config_set(config, "topics.prefix", "t", &error), ERROR_OK);
    cr_assert_eq(config_finish(config, &error), ERROR_OK);
    session->context.name = "cli";
    session->context.instance_id = "cli-1";
    session->context.clock = clock_real();
    session->context.config = config;
    session->context.metrics = session->metrics;
    session->cluster = site_open_cluster(&session->context, broker_memory_new(kit->kafka, "cli-1"),
                                         flags, on_ready, kit);
    cr_assert(cli_session_wait(session, is_ready, kit, WAIT_MS));
}

void session_kit_flush(struct session_kit *kit)
{
    fflush(kit->cli.out);
    fflush(kit->cli.err);
}
