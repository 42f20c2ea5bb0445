/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/site.h"

#include "base/goods.h"
#include "base/heap_arena.h"

#include <assert.h>
#include <stdio.h>

enum { STEPS_MAX = 100000 };

/* The program says why it ends. */
static void require(enum error_class class, const struct error *error)
{
    if (class != ERROR_OK)
        fprintf(stderr, "%s\n", error->message);
    assert(class == ERROR_OK);
}

/* ---- topics ---- */

void site_topics(struct broker_memory_cluster *kafka, int32_t partitions, const char *const names[])
{
    for (size_t i = 0; names[i] != NULL; i++)
        broker_memory_topic(kafka, names[i], partitions);
}

int64_t site_end(const struct broker_memory_cluster *kafka, const char *topic, int32_t partition)
{
    int64_t low;
    int64_t high;
    broker_memory_bounds(kafka, topic, partition, &low, &high);
    return high;
}

int64_t site_ends(const struct broker_memory_cluster *kafka, const char *topic, int32_t partitions)
{
    int64_t sum = 0;
    for (int32_t partition = 0; partition < partitions; partition++)
        sum += site_end(kafka, topic, partition);
    return sum;
}

/* ---- commands ---- */

struct command site_submission(struct text order_id, struct text workflow, uint32_t version)
{
    static struct order_line line = {.sku = {"sku", 3}, .quantity = 1, .unit_price = {12500}};
    static const struct goods goods = {TEXT_CONST("GBP"), &line, 1};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = order_id};
    cmd.submit_order = (struct order_details){.order_id = order_id,
                                              .customer = TEXT("c"),
                                              .goods = &goods,
                                              .workflow = workflow,
                                              .workflow_version = version};
    return cmd;
}

struct command site_success(struct text order_id, const struct attempt_ref *ref, struct text agent)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = order_id};
    cmd.report_step = (struct report_step){.order_id = order_id,
                                           .step = ref->step,
                                           .direction = ref->direction,
                                           .attempt = ref->attempt,
                                           .succeeded = true,
                                           .output = TEXT("{}"),
                                           .agent = agent,
                                           .instance = TEXT("agent-1")};
    return cmd;
}

/* ---- records ---- */

int64_t site_append(struct broker_memory_cluster *kafka, struct codec *codec, const char *topic,
                    int32_t partition, struct text key, enum record_kind kind, const void *record)
{
    struct buffer bytes = {.size = 0};
    codec_encode(codec, kind, record, &bytes);
    struct text value = {(const char *)bytes.data, (uint32_t)bytes.size};
    int64_t offset = broker_memory_append(kafka, topic, partition, key, value);
    buffer_deinit(&bytes);
    return offset;
}

int64_t site_append_command(struct broker_memory_cluster *kafka, struct codec *codec,
                            const char *topic, int32_t partitions, const struct command *cmd)
{
    return site_append(kafka, codec, topic, broker_partition_of(cmd->order_id, partitions),
                       cmd->order_id, (enum record_kind)cmd->kind, cmd);
}

void site_deploy(struct broker_memory_cluster *kafka, struct codec *codec, const char *topic,
                 struct text name, uint32_t version, const char *format, struct text source)
{
    char key[NAME_BYTES_MAX + 16];
    int size = snprintf(key, sizeof(key), "%.*s:%u", TEXT_ARG(name), version);
    struct workflow_definition definition = {.name = name,
                                             .version = version,
                                             .text = source,
                                             .format = text_of(format),
                                             .deployed_by = TEXT("test")};
    site_append(kafka, codec, topic, 0, (struct text){key, (uint32_t)size},
                RECORD_WORKFLOW_DEFINITION, &definition);
}

void site_decode(struct codec *codec, struct text bytes, struct arena *arena,
                 struct record *ret_record)
{
    struct error error;
    require(codec_decode(codec, bytes, false, arena, ret_record, &error), &error);
}

static bool is_alert(struct codec *codec, struct text bytes, const char *code, bool raised)
{
    struct heap_arena heap;
    struct record record;
    struct error error;
    heap_arena_init(&heap, 4096);
    const struct operator_alert *alert = &record.operator_alert;
    bool found = codec_decode(codec, bytes, false, &heap.arena, &record, &error) == ERROR_OK &&
                 record.kind == RECORD_OPERATOR_ALERT && alert->raised == raised &&
                 text_equal(alert->code, text_of(code));
    heap_arena_deinit(&heap);
    return found;
}

uint32_t site_alerts(const struct broker_memory_cluster *kafka, struct codec *codec,
                     const char *topic, int32_t partitions, const char *code, bool raised)
{
    uint32_t count = 0;
    struct broker_record record;
    for (int32_t p = 0; p < partitions; p++)
        for (int64_t at = 0; broker_memory_record(kafka, topic, p, at, &record); at++)
            count += is_alert(codec, record.value, code, raised);
    return count;
}

/* ---- services ---- */

void site_settle(struct broker_memory_cluster *kafka, struct loop *loop)
{
    do
        broker_memory_settle(kafka, STEPS_MAX);
    while (loop_once(loop, 0) > 0);
}

static void ignore_ready(void *ctx)
{
    (void)ctx;
}

struct cluster *site_open_cluster(struct service_context *service, struct broker *broker,
                                  unsigned flags, cluster_ready on_ready, void *ctx)
{
    struct cluster *cluster = NULL;
    struct error error;
    require(cluster_open_on(service, broker, flags, on_ready != NULL ? on_ready : ignore_ready, ctx,
                            &cluster, &error),
            &error);
    return cluster;
}
