/* SPDX-License-Identifier: Apache-2.0 */
/* See broker_memory_kit.h. */
#include "tests/unit/kafka/broker_memory_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what an instance notes ---- */

void memory_on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct memory_instance *instance = ctx;
    instance->answers[token] =
        (struct memory_answer){instance->answers[token].count + 1, offset,
                               broker_appended_at(instance->broker), error->class, error->code};
    instance->answered++;
}

uint32_t memory_lab_append(struct memory_instance *instance, const char *topic, int32_t partition,
                           const char *value)
{
    uint32_t token = instance->sent++;
    struct error error;
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = topic,
                                   .partition = partition,
                                   .key = TEXT("k"),
                                   .value = text_of(value),
                                   .batches = instance->batches,
                                   .done = memory_on_appended,
                                   .ctx = instance,
                                   .token = token};
    cr_assert_lt(token, MEMORY_APPENDS_MAX);
    cr_assert_eq(broker_append(instance->broker, &append, &error), ERROR_OK);
    return token;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct memory_instance *instance = ctx;
    if (instance->records > 0)
        cr_assert_eq(record->offset, instance->next_offset);
    instance->next_offset = record->offset + 1;
    instance->records++;
    snprintf(instance->last_value, sizeof(instance->last_value), "%.*s", TEXT_ARG(record->value));
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct memory_instance *instance = ctx;
    if (instance->records > 0)
        cr_assert_eq(next_offset, instance->next_offset);
    instance->ends++;
}

static void on_error(void *ctx, const struct error *error)
{
    struct memory_instance *instance = ctx;
    snprintf(instance->error, sizeof(instance->error), "%s", error_name_of(error));
}

const struct broker_reader_ops memory_reader_ops = {on_record, on_end, on_error};

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct memory_instance *instance = ctx;
    (void)partitions;
    instance->assigned++;
    instance->owned = count;
}

static void on_revoked(void *ctx, bool lost)
{
    struct memory_instance *instance = ctx;
    instance->revoked++;
    instance->lost += lost;
    instance->owned = 0;
}

const struct broker_group_ops memory_group_ops = {on_assigned, on_revoked, on_error};

void memory_on_left(void *ctx)
{
    ((struct memory_instance *)ctx)->left++;
}

void memory_on_position(void *ctx, int32_t partition, int64_t offset, const char *note,
                        const struct error *error)
{
    struct memory_instance *instance = ctx;
    (void)partition;
    instance->committed = offset;
    snprintf(instance->note, sizeof(instance->note), "%s", note);
    instance->replies++;
    instance->reply_class = error->class;
}

void memory_on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct memory_instance *instance = ctx;
    instance->low = low;
    instance->high = high;
    instance->replies++;
    instance->reply_class = error->class;
}

/* ---- the lab ---- */

struct memory_instance *memory_instance_new(struct memory_lab *lab, const char *name)
{
    struct memory_instance *instance = calloc(1, sizeof(*instance));
    cr_assert_not_null(instance);
    instance->broker = broker_memory_new(lab->kafka, name);
    return instance;
}

void memory_lab_open(struct memory_lab *lab, uint64_t seed)
{
    clock_manual_init(&lab->clock, 1700000000000);
    lab->kafka = broker_memory_cluster_new(seed, &lab->clock.clock);
    broker_memory_topic(lab->kafka, "events", 2);
    lab->one = memory_instance_new(lab, "one");
    lab->two = memory_instance_new(lab, "two");
}

void memory_instance_free(struct memory_instance *instance)
{
    broker_reader_close(instance->reader);
    if (instance->group != NULL)
        broker_leave(instance->group, NULL, NULL);
    broker_free(instance->broker);
    free(instance);
}

void memory_lab_close(struct memory_lab *lab)
{
    memory_instance_free(lab->one);
    memory_instance_free(lab->two);
    broker_memory_cluster_free(lab->kafka);
}

void memory_lab_settle(struct memory_lab *lab)
{
    cr_assert_lt(broker_memory_settle(lab->kafka, MEMORY_STEPS_MAX), MEMORY_STEPS_MAX);
}

void memory_lab_read(struct memory_instance *instance, int64_t offset)
{
    instance->reader =
        broker_read(instance->broker, "events", 0, offset, &memory_reader_ops, instance);
}
