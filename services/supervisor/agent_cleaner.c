/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/agent_cleaner.h"

#include "platform/logger.h"
#include "replica/agents/agent_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct agent_cleaner {
    struct cluster *cluster;
    struct agent_table *table;
    int64_t (*silence_ms)(void *ctx, int64_t appended_at);
    void *ctx;
    uint32_t outstanding;
    bool freed;
};

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct agent_cleaner *cleaner = ctx;
    (void)token;
    (void)offset;
    assert(cleaner->outstanding > 0);
    cleaner->outstanding--;
    if (error != NULL && error_is(error)) /* the next term finds its record again */
        log_warning_limited("the record of a vanished agent was not removed", LOG_ERR(error));
    if (cleaner->freed && cleaner->outstanding == 0)
        free(cleaner);
}

static void remove_agent(void *ctx, struct text key)
{
    struct agent_cleaner *cleaner = ctx;
    struct error error;
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = cleaner->cluster->topics.agents,
                                   .partition = 0,
                                   .key = key,
                                   .done = on_appended,
                                   .ctx = cleaner};
    log_info("an agent instance has vanished", LOG_TEXT("instance", key));
    if (broker_append(cleaner->cluster->broker, &append, &error) == ERROR_OK)
        cleaner->outstanding++;
    else /* the next term finds its record again */
        log_warning_limited("the record of a vanished agent was not removed", LOG_ERR(&error));
}

static void on_gone(void *ctx, const struct agent_entry *entry, bool lapsed)
{
    char key[NAME_BYTES_MAX + WHO_BYTES_MAX + 2];
    if (!lapsed)
        return;
    snprintf(key, sizeof(key), "%s/%s", entry->instance, entry->agent);
    remove_agent(ctx, text_of(key));
}

static int64_t silence_ms(void *ctx, int64_t appended_at)
{
    const struct agent_cleaner *cleaner = ctx;
    return cleaner->silence_ms(cleaner->ctx, appended_at);
}

static const struct agent_table_ops agent_ops = {
    .gone = on_gone,
    /* It vanished in an earlier term, or before its first record was read. */
    .outdated = remove_agent,
    .silence_ms = silence_ms};

struct agent_cleaner *agent_cleaner_new(struct cluster *cluster,
                                        int64_t (*silent_for_ms)(void *ctx, int64_t appended_at),
                                        void *ctx)
{
    struct agent_cleaner *cleaner = calloc(1, sizeof(*cleaner));
    assert(cleaner != NULL && cluster->ready);
    cleaner->cluster = cluster;
    cleaner->silence_ms = silent_for_ms;
    cleaner->ctx = ctx;
    cleaner->table = agent_table_follow(cluster, &agent_ops, cleaner);
    return cleaner;
}

void agent_cleaner_free(struct agent_cleaner *cleaner)
{
    if (cleaner == NULL)
        return;
    assert(!cleaner->freed);
    agent_table_free(cleaner->table);
    cleaner->freed = true;
    if (cleaner->outstanding == 0)
        free(cleaner);
}
