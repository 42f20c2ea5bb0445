/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/submission/stage.h"

#include "base/goods.h"
#include "platform/logger.h"
#include "replica/service/settings.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETTLE_TURNS = 400, TURN_STEPS = 500 };

static const char workflow_text[] = "Name: %s\nVersion: %u\nSteps:\n  - Name: s\n    Agent: a\n";

static struct workflow_definition definition_of(const char *name, uint32_t version,
                                                char source[static 128])
{
    int size = snprintf(source, 128, workflow_text, name, version);
    return (struct workflow_definition){.name = text_of(name),
                                        .version = version,
                                        .text = {source, (uint32_t)size},
                                        .format = TEXT("yaml")};
}

void stage_register(struct workflow_registry *registry, const char *name, uint32_t version)
{
    char source[128];
    struct error error = {0};
    struct workflow_definition definition = definition_of(name, version, source);
    enum error_class class = workflow_registry_add(registry, &definition, &error);
    if (class != ERROR_OK)
        fprintf(stderr, "%s\n", error.message);
    assert(class == ERROR_OK);
}

/* ---- the cluster ---- */

void stage_open(struct stage *stage, uint64_t seed)
{
    struct error error;
    *stage = (struct stage){0};
    log_set_level(LOG_LEVEL_ERROR);
    clock_manual_init(&stage->clock, 1600000000000);
    stage->kafka = broker_memory_cluster_new(seed, &stage->clock.clock);
    stage->config = config_new(&settings_schema);
    heap_arena_init(&stage->heap, 64 * 1024);
    stage->codec = codec_new();
    enum error_class class = loop_new(&stage->clock.clock, &stage->loop, &error);
    if (class == ERROR_OK)
        class = config_set(stage->config, "topics.prefix", "p", &error);
    if (class == ERROR_OK)
        class = config_set(stage->config, "submission.http", "false", &error);
    if (class == ERROR_OK)
        class = config_finish(stage->config, &error);
    assert(class == ERROR_OK);
    SITE_TOPICS(stage->kafka, STAGE_PARTITIONS, "p.submissions");
    SITE_TOPICS(stage->kafka, STAGE_COMMAND_PARTITIONS, "p.commands", "p.events", "p.dead-letters",
                "p.alerts");
    /* An application's need not have N. */
    SITE_TOPICS(stage->kafka, 1, "p.schemas", "p.workflows", "p.replies.web");
    stage_deploy(stage, "w", 1);
}

void stage_close(struct stage *stage)
{
    for (size_t i = 0; i < STAGE_INSTANCES_MAX; i++) {
        if (stage->instances[i] != NULL)
            stage_end(stage, i, true);
    }
    loop_free(stage->loop);
    broker_memory_cluster_free(stage->kafka);
    config_free(stage->config);
    codec_free(stage->codec);
    heap_arena_deinit(&stage->heap);
}

/* ---- instances ---- */

void stage_start(struct stage *stage, size_t index)
{
    char name[32];
    struct error error = {0};
    assert(stage->instances[index] == NULL);
    snprintf(name, sizeof(name), "instance-%zu", index);
    stage->brokers[index] = broker_memory_new(stage->kafka, name);
    stage->contexts[index] = (struct service_context){.name = "submission",
                                                      .instance_id = "i",
                                                      .clock = &stage->clock.clock,
                                                      .config = stage->config,
                                                      .loop = stage->loop,
                                                      .metrics = metrics_new()};
    enum error_class class = submission_open(&stage->contexts[index], stage->brokers[index],
                                             &stage->instances[index], &error);
    if (class != ERROR_OK)
        fprintf(stderr, "%s\n", error.message);
    assert(class == ERROR_OK);
}

void stage_end(struct stage *stage, size_t index, bool crash)
{
    if (crash)
        broker_memory_kill(stage->brokers[index]);
    submission_close(stage->instances[index]);
    metrics_free(stage->contexts[index].metrics);
    stage->instances[index] = NULL;
    stage->brokers[index] = NULL;
}

void stage_turn(struct stage *stage, uint32_t steps, int64_t ms)
{
    for (uint32_t i = 0; i < steps && broker_memory_step(stage->kafka); i++)
        loop_once(stage->loop, 0);
    clock_manual_advance(&stage->clock, ms);
    loop_once(stage->loop, 0);
}

void stage_settle(struct stage *stage)
{
    for (int i = 0; i < SETTLE_TURNS; i++)
        stage_turn(stage, TURN_STEPS, 50);
}

void stage_rebalance(struct stage *stage)
{
    broker_memory_rebalance(stage->kafka, "p.submission");
}

/* ---- inputs ---- */

static struct text encode(struct stage *stage, enum record_kind kind, const void *record)
{
    struct buffer buffer = {0};
    codec_encode(stage->codec, kind, record, &buffer);
    struct text bytes = arena_text(&stage->heap.arena,
                                   (struct text){(const char *)buffer.data, (uint32_t)buffer.size});
    buffer_deinit(&buffer);
    return bytes;
}

void stage_deploy(struct stage *stage, const char *name, uint32_t version)
{
    char source[128];
    struct workflow_definition definition = definition_of(name, version, source);
    site_deploy(stage->kafka, stage->codec, "p.workflows", definition.name, version, "yaml",
                definition.text);
}

struct text stage_order(struct stage *stage, const char *order_id, const char *workflow,
                        const char *reply_to)
{
    struct order_line line = {TEXT("sku"), TEXT(""), 1, {10000}};
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER,
        .order_id = text_of(order_id),
        .submit_order = {.order_id = text_of(order_id),
                         .goods = &(struct goods){TEXT("EUR"), &line, 1},
                         .priority = PRIORITY_NORMAL,
                         .workflow = text_of(workflow),
                         .reply_to = text_of(reply_to)},
    };
    return encode(stage, RECORD_SUBMIT_ORDER, &cmd);
}

struct text stage_cancel(struct stage *stage, const char *order_id)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER,
                          .order_id = text_of(order_id),
                          .cancel_order = {.order_id = text_of(order_id)}};
    return encode(stage, RECORD_CANCEL_ORDER, &cmd);
}

int64_t stage_submit(struct stage *stage, int32_t partition, const char *key, struct text value)
{
    return broker_memory_append(stage->kafka, "p.submissions", partition, text_of(key), value);
}

int64_t stage_submit_header(struct stage *stage, int32_t partition, const char *key,
                            struct text value, uint32_t size)
{
    char *bytes = calloc(1, size);
    assert(bytes != NULL);
    struct broker_header header = {TEXT("h"), {bytes, size}};
    int64_t offset = broker_memory_append_headers(stage->kafka, "p.submissions", partition,
                                                  text_of(key), value, &header, 1);
    free(bytes);
    return offset;
}

/* ---- outcomes ---- */

/* Calls `visit` for all records of a topic. */
static void each(struct stage *stage, const char *topic, int32_t partitions,
                 void (*visit)(void *ctx, const struct broker_record *record), void *ctx)
{
    for (int32_t p = 0; p < partitions; p++) {
        int64_t low, high;
        broker_memory_bounds(stage->kafka, topic, p, &low, &high);
        for (int64_t offset = low; offset < high; offset++) {
            struct broker_record record;
            bool found = broker_memory_record(stage->kafka, topic, p, offset, &record);
            assert(found);
            visit(ctx, &record);
        }
    }
}

struct search {
    struct stage *stage;
    const char *order_id;
    enum command_kind kind;
    int32_t partition;
    int64_t offset;
    struct text value;
    char *code;
    struct broker_record record;
    uint32_t found;
};

static struct record decoded_of(struct search *search, const struct broker_record *record)
{
    struct record decoded;
    heap_arena_reset(&search->stage->heap);
    site_decode(search->stage->codec, record->value, &search->stage->heap.arena, &decoded);
    return decoded;
}

static void count_command(void *ctx, const struct broker_record *record)
{
    struct search *search = ctx;
    struct record decoded = decoded_of(search, record);
    assert(text_equal(decoded.command.order_id, record->key));
    assert(record->partition == broker_partition_of(record->key, STAGE_COMMAND_PARTITIONS));
    if (decoded.kind == RECORD_SUBMIT_ORDER)
        assert(decoded.command.submit_order.workflow_version > 0);
    search->found +=
        text_equal(record->key, text_of(search->order_id)) && decoded.command.kind == search->kind;
}

uint32_t stage_commands(struct stage *stage, const char *order_id, enum command_kind kind)
{
    struct search search = {.stage = stage, .order_id = order_id, .kind = kind};
    each(stage, "p.commands", STAGE_COMMAND_PARTITIONS, count_command, &search);
    return search.found;
}

struct text stage_header(const struct broker_record *record, const char *name)
{
    for (uint32_t i = 0; i < record->header_count; i++) {
        if (text_equal(record->headers[i].name, text_of(name)))
            return record->headers[i].value;
    }
    return (struct text){0};
}

static bool is_dead_letter_of(const struct broker_record *record, const struct search *search)
{
    char partition[16];
    char offset[24];
    snprintf(partition, sizeof(partition), "%d", search->partition);
    snprintf(offset, sizeof(offset), "%lld", (long long)search->offset);
    assert(text_equal(stage_header(record, "__streams.errors.topic"), TEXT("p.submissions")));
    assert(!text_empty(stage_header(record, "__streams.errors.message")));
    return text_equal(stage_header(record, "__streams.errors.partition"), text_of(partition)) &&
           text_equal(stage_header(record, "__streams.errors.offset"), text_of(offset));
}

static void count_dead_letter(void *ctx, const struct broker_record *record)
{
    struct search *search = ctx;
    if (!is_dead_letter_of(record, search))
        return;
    assert(text_equal(record->value, search->value));
    if (search->code != NULL)
        snprintf(search->code, ERROR_CODE_SIZE, "%.*s",
                 TEXT_ARG(stage_header(record, "__streams.errors.exception")));
    search->found++;
}

uint32_t stage_dead_letters(struct stage *stage, int32_t partition, int64_t offset,
                            struct text value, char ret_code[ERROR_CODE_SIZE])
{
    struct search search = {
        .stage = stage, .partition = partition, .offset = offset, .value = value, .code = ret_code};
    each(stage, "p.dead-letters", STAGE_COMMAND_PARTITIONS, count_dead_letter, &search);
    return search.found;
}

static void keep_dead_letter(void *ctx, const struct broker_record *record)
{
    struct search *search = ctx;
    if (!is_dead_letter_of(record, search))
        return;
    search->record = *record;
    search->found++;
}

struct broker_record stage_dead_letter(struct stage *stage, int32_t partition, int64_t offset)
{
    struct search search = {.stage = stage, .partition = partition, .offset = offset};
    each(stage, "p.dead-letters", STAGE_COMMAND_PARTITIONS, keep_dead_letter, &search);
    assert(search.found == 1);
    return search.record;
}

uint32_t stage_alerts(struct stage *stage, const char *code)
{
    return site_alerts(stage->kafka, stage->codec, "p.alerts", STAGE_COMMAND_PARTITIONS, code,
                       true) +
           site_alerts(stage->kafka, stage->codec, "p.alerts", STAGE_COMMAND_PARTITIONS, code,
                       false);
}

static void count_rejection(void *ctx, const struct broker_record *record)
{
    struct search *search = ctx;
    struct record decoded = decoded_of(search, record);
    assert(decoded.kind == RECORD_STATUS_UPDATE);
    const struct status_update *status = &decoded.status_update;
    assert(status->kind == STATUS_REJECTED && status->order_version == 0);
    assert(!text_empty(status->code) && !text_empty(status->message));
    search->found += status->command_partition == -1 - search->partition &&
                     status->command_offset == search->offset;
}

uint32_t stage_rejections(struct stage *stage, int32_t partition, int64_t offset)
{
    struct search search = {.stage = stage, .partition = partition, .offset = offset};
    each(stage, "p.replies.web", 1, count_rejection, &search);
    return search.found;
}
