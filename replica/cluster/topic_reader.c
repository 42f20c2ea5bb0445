/* SPDX-License-Identifier: Apache-2.0 */
/* See topic_reader.h. */
#include "replica/cluster/topic_reader.h"

#include "platform/logger.h"

#include <assert.h>

static void on_record(void *ctx, const struct broker_record *record)
{
    struct topic_reader *reader = ctx;
    reader->ops->record(reader->ctx, record);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct topic_reader *reader = ctx;
    reader->trouble = (struct error){.class = ERROR_OK};
    if (reader->ops->end != NULL)
        reader->ops->end(reader->ctx, next_offset);
}

static void begin_again(struct topic_reader *reader, int64_t delay_ms)
{
    broker_reader_close(reader->reader);
    reader->reader = NULL;
    loop_timer_after(cluster_loop(reader->cluster), &reader->timer, delay_ms);
}

static void on_error(void *ctx, const struct error *error)
{
    struct topic_reader *reader = ctx;
    if (!error_has_code_of(&reader->trouble, error))
        log_warning("cannot read a topic", LOG_STR("topic", reader->topic),
                    LOG_I64("partition", reader->partition), LOG_ERR(error));
    reader->trouble = *error;
    if (error->class != ERROR_FATAL)
        return;
    reader->retried = -1;
    begin_again(reader, reader->again_ms);
    if (reader->ops->again != NULL)
        reader->ops->again(reader->ctx);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void open_at(struct topic_reader *reader, int64_t offset)
{
    assert(reader->reader == NULL && !loop_timer_armed(&reader->timer));
    reader->reader = broker_read(reader->cluster->broker, reader->topic, reader->partition, offset,
                                 &reader_ops, reader);
}

static void on_timer(void *ctx)
{
    open_at(ctx, BROKER_EARLIEST);
}

void topic_reader_init(struct topic_reader *reader, struct cluster *cluster, const char *topic,
                       int32_t partition, int64_t again_ms, const struct topic_reader_ops *ops,
                       void *ctx)
{
    assert(again_ms > 0 && ops->record != NULL);
    *reader = (struct topic_reader){.cluster = cluster,
                                    .topic = topic,
                                    .partition = partition,
                                    .again_ms = again_ms,
                                    .ops = ops,
                                    .ctx = ctx,
                                    .retried = -1};
    loop_timer_init(&reader->timer, on_timer, reader);
    open_at(reader, BROKER_EARLIEST);
}

void topic_reader_restart(struct topic_reader *reader)
{
    if (reader->reader != NULL)
        begin_again(reader, 0);
}

static void on_schemas(void *ctx)
{
    struct topic_reader *reader = ctx;
    reader->awaits_schemas = false;
    open_at(reader, reader->retried);
}

bool topic_reader_retry(struct topic_reader *reader, const struct broker_record *record,
                        const struct error *error)
{
    if (error->code != CODE_UNKNOWN_SCHEMA || reader->retried == record->offset)
        return false;
    broker_reader_close(reader->reader);
    reader->reader = NULL;
    reader->retried = record->offset;
    reader->awaits_schemas = true;
    cluster_refresh_schemas(reader->cluster, on_schemas, reader);
    return true;
}

void topic_reader_close(struct topic_reader *reader)
{
    if (reader->cluster == NULL)
        return;
    if (reader->awaits_schemas)
        cluster_refresh_cancel(reader->cluster, reader);
    reader->awaits_schemas = false;
    broker_reader_close(reader->reader);
    reader->reader = NULL;
    loop_timer_cancel(cluster_loop(reader->cluster), &reader->timer);
}
