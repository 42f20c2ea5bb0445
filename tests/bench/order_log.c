/* SPDX-License-Identifier: Apache-2.0 */
/* See order_log.h. */
#include "tests/bench/order_log.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "kafka/broker.h"
#include "tests/lib/engine_workflow.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNTRIES = 40, CUSTOMERS = 50000 };

static const char waiting[] = "Name: test\n"
                              "Version: 1\n"
                              "Steps:\n"
                              "  - {Name: W, Wait: {Seconds: 31622400}}\n"
                              "  - {Name: A, Agent: agent}\n"
                              "  - {Name: B, Agent: agent}\n"
                              "  - {Name: C, Agent: agent}\n";

struct order_log {
    struct codec *codec;
    struct workflow *workflow;
    struct heap_arena workflow_heap;
    struct heap_arena heap; /* of one order */
    struct buffer value;
    int64_t *offsets; /* of the next command */
    int64_t *sequences;
    int32_t partitions;
    uint64_t random;
    uint64_t number; /* of the next order */
    int64_t now;
    order_log_append append;
    void *ctx;
    struct order_log_end end;
};

static uint64_t choose(struct order_log *log, uint64_t bound)
{
    log->random ^= log->random << 13;
    log->random ^= log->random >> 7;
    log->random ^= log->random << 17;
    return log->random % bound;
}

static void append(struct order_log *log, int32_t partition, struct text key, enum record_kind kind,
                   const void *record)
{
    log->value.size = 0;
    codec_encode(log->codec, kind, record, &log->value);
    log->append(log->ctx, partition, key,
                (struct text){(const char *)log->value.data, (uint32_t)log->value.size});
}

static void decide(struct order_log *log, int32_t partition, struct order *order,
                   const struct command *cmd)
{
    struct decision decision;
    struct decide_input input = {.now = log->now,
                                 .margin_ms = 1000,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = log->workflow,
                                 .command_offset = log->offsets[partition],
                                 .command_time = log->now};
    engine_decide(order->version > 0 ? order : NULL, cmd, &input, &log->heap.arena, &decision);
    decision.claim_id.bytes[0] = (uint8_t)(partition + 1);
    decision.sequence = log->sequences[partition]++;
    log->offsets[partition]++;
    append(log, partition, decision.order_id, RECORD_DECISION, &decision);
    order_apply_decision(order, &decision, &log->heap.arena);
}

static void submit(struct order_log *log, int32_t partition, struct text id, struct order *order)
{
    char customer[24];
    char country[24];
    struct order_line line = {TEXT("85123A"), TEXT("HEART T-LIGHT HOLDER"), 6, {25500}};
    uint64_t who = choose(log, 10) == 0 ? 0 : choose(log, CUSTOMERS);
    uint64_t where = choose(log, 2) == 0 ? 0 : choose(log, COUNTRIES);
    snprintf(customer, sizeof(customer), "c-%llu", (unsigned long long)who);
    snprintf(country, sizeof(country), "country-%llu", (unsigned long long)where);
    struct attribute attributes[] = {{TEXT("channel"), TEXT("web")},
                                     {TEXT("country"), text_of(country)}};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = id};
    cmd.submit_order = (struct order_details){.order_id = id,
                                              .customer = text_of(customer),
                                              .goods = &(struct goods){TEXT("GBP"), &line, 1},
                                              .attributes = attributes,
                                              .attribute_count = 2,
                                              .workflow = TEXT("test")};
    decide(log, partition, order, &cmd);
}

static void report(struct order_log *log, int32_t partition, struct order *order, uint32_t step,
                   bool fails)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = order->details.order_id};
    cmd.report_step = (struct report_step){.order_id = cmd.order_id,
                                           .step = order->steps[step].name,
                                           .attempt = 1,
                                           .succeeded = !fails,
                                           .agent = TEXT("agent"),
                                           .instance = TEXT("agent-1"),
                                           .output = fails ? TEXT("") : TEXT("{\"ok\":1}")};
    if (fails)
        cmd.report_step.error_name = TEXT("Declined");
    decide(log, partition, order, &cmd);
}

void order_log_add(struct order_log *log)
{
    char id[24];
    struct order order = {.version = 0};
    uint64_t fate = choose(log, 100);
    heap_arena_reset(&log->heap);
    log->now += ORDER_LOG_EACH_MS;
    snprintf(id, sizeof(id), "o-%08llu", (unsigned long long)log->number++);
    int32_t partition = broker_partition_of(text_of(id), log->partitions);
    submit(log, partition, text_of(id), &order);
    for (uint32_t i = 0; i < order.step_count && order.steps[i].state != STEP_WAITING; i++) {
        bool fails = fate == 0 && i == 1;
        if ((fate == 1 || fate == 2) && i == 2)
            break;
        report(log, partition, &order, i, fails);
        if (fails)
            break;
    }
    log->end = (struct order_log_end){partition, log->workflow->name,
                                      order.details.workflow_version, order.state};
}

struct order_log *order_log_new(struct codec *codec, int32_t partitions, int64_t now,
                                order_log_append append_record, void *ctx)
{
    struct order_log *log = calloc(1, sizeof(*log));
    assert(log != NULL && partitions > 0 && partitions <= UINT8_MAX);
    log->codec = codec;
    log->offsets = calloc((size_t)partitions, sizeof(log->offsets[0]));
    log->sequences = calloc((size_t)partitions, sizeof(log->sequences[0]));
    assert(log->offsets != NULL && log->sequences != NULL);
    log->partitions = partitions;
    log->random = 88172645463325252;
    log->now = now;
    log->append = append_record;
    log->ctx = ctx;
    heap_arena_init(&log->heap, 1 << 16);
    heap_arena_init(&log->workflow_heap, 4096);
    log->workflow = workflow_of(&log->workflow_heap.arena, "A{c} B<-A{c,e} C<-B");
    for (int32_t p = 0; p < partitions; p++) {
        struct claim claim = {
            .instance = TEXT("scheduler-1"), .claimed_at = now, .partition_count = partitions};
        claim.claim_id.bytes[0] = (uint8_t)(p + 1);
        append(log, p, TEXT("scheduler-1"), RECORD_CLAIM, &claim);
    }
    return log;
}

void order_log_wait(struct order_log *log)
{
    struct workflow_problems problems;
    bool valid = workflow_parse(text_of(waiting), WORKFLOW_YAML, &log->workflow_heap.arena,
                                &problems, &log->workflow);
    assert(valid);
}

void order_log_free(struct order_log *log)
{
    buffer_deinit(&log->value);
    heap_arena_deinit(&log->heap);
    heap_arena_deinit(&log->workflow_heap);
    free(log->offsets);
    free(log->sequences);
    free(log);
}

void order_log_skip(struct order_log *log, int32_t partition)
{
    log->sequences[partition]++;
}

int64_t order_log_now(const struct order_log *log)
{
    return log->now;
}

struct order_log_end order_log_end(const struct order_log *log)
{
    return log->end;
}
