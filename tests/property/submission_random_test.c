/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service under random inputs and faults: appends that fail or may have failed, dead
 * producers, crashes, rebalances, zombies that were paused. At the end, each valid
 * input has its command on the right partition, each invalid one its dead letter with its own
 * bytes, and nothing that was committed is repeated.
 *
 * REEVE_SEED repeats one case, REEVE_PROPERTY_CASES says how many. */
#include "tests/lib/seed.h"
#include "tests/lib/site.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 500, INPUTS = 60, ACTIONS = 250 };

enum input_kind {
    INPUT_GOOD,
    INPUT_CANCEL,
    INPUT_GARBAGE,
    INPUT_CUT,
    INPUT_UNKNOWN_SCHEMA,
    INPUT_WRONG_KEY,
    INPUT_NO_WORKFLOW,
    INPUT_NO_REPLY,
    INPUT_KIND_COUNT
};

struct input {
    enum input_kind kind;
    int32_t partition;
    int64_t offset;
    char id[16];
    char bytes[512];
    uint32_t size;
};

static struct stage stage;
static struct input inputs[INPUTS];
static uint32_t input_count;

static uint64_t chance(uint64_t bound)
{
    return broker_memory_random(stage.kafka, bound);
}

static bool is_good(const struct input *input)
{
    return input->kind == INPUT_GOOD || input->kind == INPUT_CANCEL;
}

static struct text make_value(const struct input *input)
{
    switch (input->kind) {
    case INPUT_GOOD:
    case INPUT_CUT:
    case INPUT_UNKNOWN_SCHEMA:
    case INPUT_WRONG_KEY:
        return stage_order(&stage, input->id, "w", chance(2) == 0 ? "" : "p.replies.web");
    case INPUT_NO_WORKFLOW:
        return stage_order(&stage, input->id, "none", "p.replies.web");
    case INPUT_NO_REPLY:
        return stage_order(&stage, input->id, "w", "p.replies.none");
    case INPUT_CANCEL:
        return stage_cancel(&stage, input->id);
    case INPUT_GARBAGE:
    case INPUT_KIND_COUNT:
        break;
    }
    return TEXT("garbage");
}

static void submit_something(void)
{
    if (input_count == INPUTS)
        return;
    struct input *input = &inputs[input_count];
    *input = (struct input){.kind = (enum input_kind)chance(INPUT_KIND_COUNT),
                            .partition = (int32_t)chance(STAGE_PARTITIONS)};
    snprintf(input->id, sizeof(input->id), "i%u", input_count);
    heap_arena_reset(&stage.heap);
    struct text value = make_value(input);
    cr_assert(value.size <= sizeof(input->bytes));
    memcpy(input->bytes, value.data, value.size);
    input->size = value.size - (input->kind == INPUT_CUT ? 1 + (uint32_t)chance(10) : 0);
    if (input->kind == INPUT_UNKNOWN_SCHEMA)
        input->bytes[2 + chance(8)] ^= (char)(1 + chance(255));
    const char *key = input->kind == INPUT_WRONG_KEY ? "other" : input->id;
    input->offset =
        stage_submit(&stage, input->partition, key, (struct text){input->bytes, input->size});
    input_count++;
}

static void set_random_faults(void)
{
    struct broker_memory_faults faults = {
        .ack_without_offset = (uint32_t)chance(100),
        .append_lost = (uint32_t)chance(100),
        .append_unknown = (uint32_t)chance(100),
        .reply_failed = (uint32_t)chance(100),
    };
    if (chance(2) == 0)
        faults = (struct broker_memory_faults){0};
    broker_memory_set_faults(stage.kafka, &faults);
}

static void disturb(size_t index)
{
    struct broker *broker = stage.brokers[index];
    if (broker == NULL) {
        stage_start(&stage, index);
        return;
    }
    switch (chance(7)) {
    case 0:
        stage_end(&stage, index, true);
        break;
    case 1:
        stage_end(&stage, index, false);
        break;
    case 2:
        broker_memory_fail_producer(broker, (enum broker_producer)chance(BROKER_PRODUCER_COUNT));
        break;
    case 3:
        broker_memory_pause(broker);
        break;
    case 4:
        broker_memory_continue(broker);
        broker_memory_connect(broker);
        break;
    case 5:
        broker_memory_disconnect(broker);
        break;
    default:
        broker_memory_expire(broker, "p.submission");
        break;
    }
}

static void act(void)
{
    uint64_t what = chance(100);
    if (what < 25)
        submit_something();
    else if (what < 30)
        set_random_faults();
    else if (what < 40)
        disturb(chance(STAGE_INSTANCES_MAX));
    else if (what < 48)
        stage_rebalance(&stage);
    else
        stage_turn(&stage, (uint32_t)chance(40), (int64_t)chance(200));
}

static void end_all(bool crash)
{
    for (size_t i = 0; i < STAGE_INSTANCES_MAX; i++) {
        if (stage.instances[i] != NULL)
            stage_end(&stage, i, crash);
    }
}

/* Faults stop. Those that are there must recover by themselves, or (every other time) a new one
 * takes over. */
static void calm_down(void)
{
    bool keep = chance(2) == 0;
    size_t alive = 0;
    broker_memory_set_faults(stage.kafka, &(struct broker_memory_faults){0});
    for (size_t i = 0; i < STAGE_INSTANCES_MAX; i++) {
        if (stage.instances[i] == NULL)
            continue;
        broker_memory_continue(stage.brokers[i]);
        broker_memory_connect(stage.brokers[i]);
        alive++;
    }
    if (!keep)
        end_all(false);
    if (!keep || alive == 0)
        stage_start(&stage, 0);
    stage_settle(&stage);
    stage_rebalance(&stage);
    stage_settle(&stage);
}

static void check_input(const struct input *input)
{
    struct text value = {input->bytes, input->size};
    uint32_t commands =
        stage_commands(&stage, input->id,
                       input->kind == INPUT_CANCEL ? COMMAND_CANCEL_ORDER : COMMAND_SUBMIT_ORDER);
    uint32_t letters = stage_dead_letters(&stage, input->partition, input->offset, value, NULL);
    cr_assert((commands > 0) == is_good(input), "%s of kind %d: %u commands", input->id,
              (int)input->kind, commands);
    cr_assert((letters > 0) == !is_good(input), "%s of kind %d: %u dead letters", input->id,
              (int)input->kind, letters);
    bool reported = input->kind == INPUT_NO_WORKFLOW;
    uint32_t rejections = stage_rejections(&stage, input->partition, input->offset);
    cr_assert(!reported || rejections > 0, "no rejection of %s was reported", input->id);
    cr_assert(!is_good(input) || rejections == 0, "%s was rejected", input->id);
}

static int64_t records_of(const char *topic)
{
    return site_ends(stage.kafka, topic, STAGE_COMMAND_PARTITIONS);
}

static void check_committed(void)
{
    int64_t commands = records_of("p.commands"), letters = records_of("p.dead-letters");
    end_all(true);
    stage_start(&stage, 1);
    stage_settle(&stage);
    stage_rebalance(&stage);
    stage_settle(&stage);
    cr_assert(records_of("p.commands") == commands && records_of("p.dead-letters") == letters,
              "done again though it was committed");
}

static void run_case(uint64_t seed)
{
    seed_begin(seed);
    input_count = 0;
    stage_open(&stage, seed);
    for (size_t i = 0; i < 2; i++)
        stage_start(&stage, i);
    for (int i = 0; i < ACTIONS; i++)
        act();
    calm_down();
    for (uint32_t i = 0; i < input_count; i++)
        check_input(&inputs[i]);
    check_committed();
    stage_close(&stage);
    seed_end();
}

Test(submission_random, gives_every_input_its_outcome)
{
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(first + i);
}

/* A member that had lost the partition, and did not know it yet, moved the committed offset back.
 */
Test(submission_random, refuses_commits_of_earlier_generations)
{
    run_case(UINT64_C(323368746928511239));
}
