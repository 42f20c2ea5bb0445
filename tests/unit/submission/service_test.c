/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service over the broker in memory. */
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct stage stage;
static char code[ERROR_CODE_SIZE];

static void set_up(void)
{
    stage_open(&stage, 1);
    stage_start(&stage, 0);
    stage_settle(&stage); /* it joins when it knows all schemas */
    stage_rebalance(&stage);
}

static void tear_down(void)
{
    stage_close(&stage);
}

TestSuite(submission_service, .init = set_up, .fini = tear_down);

/* The heap is used again by the counting functions: values that are compared later live here. */
static struct text keep(struct text value)
{
    static char bytes[16][2048];
    static unsigned next;
    char *copy = bytes[next++ % 16];
    cr_assert(value.size <= sizeof(bytes[0]));
    memcpy(copy, value.data, value.size);
    return (struct text){copy, value.size};
}

Test(submission_service, turns_an_order_into_a_command)
{
    (void)stage_submit(&stage, 1, "o1", stage_order(&stage, "o1", "w", ""));
    (void)stage_submit(&stage, 1, "o1", stage_cancel(&stage, "o1"));
    (void)stage_submit(&stage, 2, "", stage_order(&stage, "o2", "w", "p.replies.web"));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o1", COMMAND_CANCEL_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
}

/* Repetitions are the engine's to recognize. */
Test(submission_service, appends_two_commands_for_two_submissions)
{
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 2);
}

Test(submission_service, dead_letters_poison_and_processes_its_neighbours)
{
    struct text garbage = TEXT("garbage");
    struct text order = keep(stage_order(&stage, "x", "w", ""));
    struct text cut = {order.data, order.size - 3};
    struct text unknown = keep(order);
    ((char *)(uintptr_t)unknown.data)[4] ^= 0x11;
    struct text wrong = keep(stage_order(&stage, "x", "w", "p.replies.web"));
    struct text nowhere = keep(stage_order(&stage, "y", "none", "p.replies.web"));
    struct text lost = keep(stage_order(&stage, "z", "w", "p.replies.none"));
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    int64_t at_garbage = stage_submit(&stage, 0, "g", garbage);
    (void)stage_submit(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""));
    int64_t at_cut = stage_submit(&stage, 0, "x", cut);
    int64_t at_unknown = stage_submit(&stage, 0, "u", unknown);
    (void)stage_submit(&stage, 0, "o3", stage_order(&stage, "o3", "w", ""));
    int64_t at_wrong = stage_submit(&stage, 0, "not-x", wrong);
    int64_t at_nowhere = stage_submit(&stage, 0, "y", nowhere);
    int64_t at_lost = stage_submit(&stage, 0, "z", lost);
    (void)stage_submit(&stage, 0, "o4", stage_order(&stage, "o4", "w", ""));
    stage_settle(&stage);
    const struct {
        int64_t offset;
        struct text value;
        const char *code;
        uint32_t rejections;
    } refused[] = {
        {at_garbage, garbage, "NotAvro", 0},         {at_cut, cut, "Truncated", 0},
        {at_unknown, unknown, "UnknownSchema", 0},   {at_wrong, wrong, "WrongKey", 1},
        {at_nowhere, nowhere, "UnknownWorkflow", 1}, {at_lost, lost, "UnknownReplyTopic", 0},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        cr_assert(stage_dead_letters(&stage, 0, refused[i].offset, refused[i].value, code) == 1,
                  "%s", refused[i].code);
        cr_assert_str_eq(code, refused[i].code);
        cr_assert(stage_rejections(&stage, 0, refused[i].offset) == refused[i].rejections, "%s",
                  refused[i].code);
    }
    for (int i = 1; i <= 4; i++) {
        char id[16];
        snprintf(id, sizeof(id), "o%d", i);
        cr_assert(stage_commands(&stage, id, COMMAND_SUBMIT_ORDER) == 1, "%s", id);
    }
    cr_assert(stage_commands(&stage, "x", COMMAND_SUBMIT_ORDER) == 0);
}

Test(submission_service, finds_a_workflow_that_was_just_deployed)
{
    stage_settle(&stage);
    stage_deploy(&stage, "new", 1);
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "new", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
}

/* An order that has to wait is not overtaken by its own cancellation, but by others. */
Test(submission_service, keeps_the_sequence_of_inputs_of_each_order)
{
    stage_settle(&stage);
    stage_deploy(&stage, "new", 1);
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "new", ""));
    (void)stage_submit(&stage, 0, "o1", stage_cancel(&stage, "o1"));
    stage_settle(&stage);
    int32_t partition = broker_partition_of(TEXT("o1"), STAGE_COMMAND_PARTITIONS);
    struct broker_record record;
    struct record decoded;
    struct error error;
    cr_assert(broker_memory_record(stage.kafka, "p.commands", partition, 0, &record));
    cr_assert(codec_decode(stage.codec, record.value, true, &stage.heap.arena, &decoded, &error) ==
              ERROR_OK);
    cr_assert(decoded.kind == RECORD_SUBMIT_ORDER);
    cr_assert(broker_memory_record(stage.kafka, "p.commands", partition, 1, &record));
    cr_assert(codec_decode(stage.codec, record.value, true, &stage.heap.arena, &decoded, &error) ==
              ERROR_OK);
    cr_assert(decoded.kind == RECORD_CANCEL_ORDER);
}

/* More than the window and what may be waiting. */
Test(submission_service, processes_floods_of_valid_and_invalid_inputs)
{
    for (int i = 0; i < 10000; i++) {
        char id[16];
        snprintf(id, sizeof(id), "f%d", i);
        heap_arena_reset(&stage.heap);
        struct text value = stage_order(&stage, id, i % 10 == 3 ? "none" : "w", "");
        (void)stage_submit(&stage, 0, id, value);
    }
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 5000, 50);
    stage_settle(&stage);
    int64_t low, high, total = 0;
    for (int32_t p = 0; p < STAGE_COMMAND_PARTITIONS; p++) {
        broker_memory_bounds(stage.kafka, "p.commands", p, &low, &high);
        total += high;
    }
    cr_assert(total == 9000, "%lld", (long long)total);
    total = 0;
    for (int32_t p = 0; p < STAGE_COMMAND_PARTITIONS; p++) {
        broker_memory_bounds(stage.kafka, "p.dead-letters", p, &low, &high);
        total += high;
    }
    cr_assert(total == 1000, "%lld", (long long)total);
}

Test(submission_service, repeats_no_committed_inputs)
{
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    stage_end(&stage, 0, true);
    broker_memory_rebalance(stage.kafka, "p.submission");
    stage_settle(&stage);
    stage_start(&stage, 1);
    stage_settle(&stage);
    stage_rebalance(&stage);
    (void)stage_submit(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
}

Test(submission_service, sends_unacknowledged_commands_again)
{
    stage_settle(&stage);
    struct broker_memory_faults faults = {.append_lost = 1000};
    broker_memory_set_faults(stage.kafka, &faults);
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    (void)stage_submit(&stage, 0, "g", TEXT("garbage"));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 0);
    broker_memory_set_faults(stage.kafka, &(struct broker_memory_faults){0});
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_dead_letters(&stage, 0, 1, TEXT("garbage"), code) == 1);
}

Test(submission_service, loses_nothing_when_the_producer_dies)
{
    stage_settle(&stage);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "d%d", i);
        (void)stage_submit(&stage, 0, id, stage_order(&stage, id, "w", ""));
    }
    stage_turn(&stage, 60, 1);
    broker_memory_fail_producer(stage.brokers[0], BROKER_PRODUCER_LOG);
    stage_settle(&stage);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "d%d", i);
        cr_assert(stage_commands(&stage, id, COMMAND_SUBMIT_ORDER) >= 1, "%s", id);
    }
}

/* Records that retention removed are reported and passed over. */
Test(submission_service, skips_a_gap_in_the_log)
{
    stage_settle(&stage);
    stage_end(&stage, 0, false);
    for (int i = 0; i < 5; i++)
        (void)stage_submit(&stage, 0, "g", TEXT("garbage"));
    (void)stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    broker_memory_trim(stage.kafka, "p.submissions", 0, 3);
    stage_start(&stage, 0);
    stage_settle(&stage);
    stage_rebalance(&stage);
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_dead_letters(&stage, 0, 4, TEXT("garbage"), code) == 1);
}
