/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_actors.h"

#include "tests/lib/site.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_ledger.h"
#include "tests/property/ownership_route.h"

#include <stdio.h>
#include <string.h>

enum { ORDERS_MAX = 6 };

/* ---- operators ---- */

static void operate(struct world *world)
{
    struct command cmd = {.order_id = order_name(world, dice_roll(&world->dice, ORDERS_MAX))};
    switch (dice_roll(&world->dice, 4)) {
    case 0:
        cmd.kind = COMMAND_CANCEL_ORDER;
        cmd.cancel_order = (struct cancel_order){
            .order_id = cmd.order_id, .by = TEXT("app"), .reason = TEXT("mind")};
        break;
    case 1:
        cmd.kind = COMMAND_COMPENSATE_ORDER;
        cmd.compensate_order = (struct compensate_order){cmd.order_id, TEXT("ann"), TEXT("so")};
        break;
    default:
        cmd.kind = COMMAND_RESUBMIT_STEP;
        cmd.resubmit_step = (struct resubmit_step){
            .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("repaired")};
        break;
    }
    send_command(world, &cmd);
}

/* ---- the agent ---- */

static void take_request(struct world *world, const struct step_request *asked)
{
    struct request *request = &world->requests[world->request_count++ % REQUESTS_MAX];
    *request = (struct request){.direction = asked->ref.direction,
                                .attempt = asked->ref.attempt,
                                .complete_by = asked->complete_by};
    snprintf(request->do_key, sizeof(request->do_key), "%.*s", TEXT_ARG(asked->do_key));
    snprintf(request->order_id, sizeof(request->order_id), "%.*s", TEXT_ARG(asked->order_id));
    snprintf(request->step, sizeof(request->step), "%.*s", TEXT_ARG(asked->ref.step));
}

void agent_read_requests(struct world *world)
{
    for (int32_t p = 0; p < world->partitions; p++) {
        int64_t end = log_end(world, "p.requests.agent", p);
        for (; world->requests_read[p] < end; world->requests_read[p]++) {
            struct record record;
            heap_arena_reset(&world->scratch);
            if (read_log(world, "p.requests.agent", p, world->requests_read[p], &record) == NULL)
                take_request(world, &record.step_request);
        }
    }
}

static void report(struct world *world, const struct request *request)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(request->order_id)};
    cmd.report_step = (struct report_step){.order_id = cmd.order_id,
                                           .step = text_of(request->step),
                                           .direction = request->direction,
                                           .attempt = request->attempt,
                                           .succeeded = request->succeeded,
                                           .agent = TEXT("agent"),
                                           .instance = TEXT("agent-1")};
    char output[64];
    snprintf(output, sizeof(output), "{\"%s\": %u}", request->step, request->attempt);
    if (request->succeeded) {
        cmd.report_step.output = text_of(output);
    } else {
        cmd.report_step.error_name = random_error(&world->dice);
        cmd.report_step.error_message = TEXT("no");
        cmd.report_step.effect = world->ledger != NULL
                                     ? request->effect
                                     : (enum effect)dice_roll(&world->dice, EFFECT_COUNT);
    }
    send_command(world, &cmd);
}

/* The agent remembers what it answered, also to a request that comes twice. */
static const struct request *earlier_answer(const struct world *world,
                                            const struct request *request)
{
    for (uint32_t i = 0; i < REQUESTS_MAX; i++) {
        const struct request *other = &world->requests[i];
        if (other->answered && other->direction == request->direction &&
            other->attempt == request->attempt && strcmp(other->step, request->step) == 0 &&
            strcmp(other->order_id, request->order_id) == 0)
            return other;
    }
    return NULL;
}

/* False: it calls nothing any more, and has nothing to report. */
static bool call(struct world *world, struct request *request, uint32_t success_percent)
{
    if (world->ledger == NULL) {
        request->succeeded = dice_percent(&world->dice, success_percent);
        return true;
    }
    const struct request *earlier = earlier_answer(world, request);
    if (earlier != NULL) {
        request->succeeded = earlier->succeeded;
        request->effect = earlier->effect;
        return true;
    }
    if (world->clock.now_wall_ms >= request->complete_by)
        return false;
    struct ledger_answer answer =
        ledger_call(world, request->direction, request->do_key, success_percent);
    request->succeeded = answer.succeeded;
    request->effect = answer.effect;
    return true;
}

static uint32_t known_requests(const struct world *world)
{
    return world->request_count < REQUESTS_MAX ? world->request_count : REQUESTS_MAX;
}

static bool answer(struct world *world, struct request *request, uint32_t success_percent)
{
    if (!call(world, request, success_percent))
        return false;
    request->answered = true;
    report(world, request);
    return true;
}

void agent_answer(struct world *world, uint32_t success_percent)
{
    uint32_t known = known_requests(world);
    if (known == 0)
        return;
    struct request *request = &world->requests[dice_roll(&world->dice, known)];
    if (!request->answered || dice_percent(&world->dice, 10))
        answer(world, request, success_percent);
}

bool agent_answer_open(struct world *world, uint32_t success_percent)
{
    bool any = false;
    for (uint32_t i = 0; i < known_requests(world); i++) {
        struct request *request = &world->requests[i];
        bool open = !request->answered && world->clock.now_wall_ms < request->complete_by;
        any = (open && answer(world, request, success_percent)) || any;
    }
    return any;
}

static void report_success(struct world *world, const struct step_request *request)
{
    struct command cmd = site_success(request->order_id, &request->ref, request->agent);
    send_command(world, &cmd);
}

void agent_succeed(struct world *world, const char *topic, int64_t *next)
{
    for (int32_t p = 0; p < world->partitions; p++) {
        int64_t end = log_end(world, topic, p);
        for (; next[p] < end; next[p]++) {
            struct record record;
            heap_arena_reset(&world->scratch);
            if (read_log(world, topic, p, next[p], &record) == NULL)
                report_success(world, &record.step_request);
        }
    }
}

/* ---- the supervisor ---- */

void supervise(struct world *world, bool early)
{
    static struct fold fold;
    struct deadline deadlines[DEADLINES_MAX];
    if (world->watcher != NULL && !early)
        return; /* the real one does */
    for (int32_t p = 0; p < world->partitions; p++) {
        if (fold_log(world, p, log_end(world, "p.events", p), NULL, &fold) != NULL)
            continue; /* the comparison reports it */
        for (uint32_t i = 0; i < fold.order_count; i++) {
            uint32_t count = deadlines_of(&fold.orders[i], deadlines);
            for (uint32_t k = 0; k < count; k++) {
                struct command cmd;
                if (!early && deadlines[k].due_at > world->clock.now_wall_ms)
                    continue;
                deadline_command(&fold.orders[i], &deadlines[k], TEXT("supervisor"), &cmd);
                send_command(world, &cmd);
            }
        }
    }
}

/* ---- faults ---- */

static void crash_or_restart(struct world *world)
{
    struct instance *instance = &world->instances[dice_roll(&world->dice, INSTANCES)];
    if (instance->process.cluster != NULL && dice_percent(&world->dice, 50)) {
        world_count(world, SOMETIMES_CRASHED);
        instance_shut(world, instance);
        if (dice_percent(&world->dice, 20)) {
            instance_lose_stores(world, instance);
            world_count(world, SOMETIMES_STORE_LOST);
        }
    }
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
}

/* As RocksDB does by itself when its memory is full. */
static void flush_a_store(struct world *world, struct instance *instance)
{
    const struct ownership *ownership =
        &instance->partitions[dice_roll(&world->dice, (uint32_t)world->partitions)];
    struct error error;
    if (ownership->owner != NULL && view_store(owner_view(ownership->owner)) != NULL &&
        view_flush(owner_view(ownership->owner), &error) == ERROR_OK)
        world_count(world, SOMETIMES_FLUSHED);
}

static int32_t some_partition(struct world *world)
{
    return (int32_t)dice_roll(&world->dice, (uint32_t)world->partitions);
}

static void disturb(struct world *world)
{
    struct instance *instance = &world->instances[dice_roll(&world->dice, INSTANCES)];
    if (instance->process.cluster == NULL)
        return;
    switch (dice_roll(&world->dice, 10)) {
    case 9:
    case 8:
        flush_a_store(world, instance);
        break;
    case 7:
    case 6:
        route_disturb(world, instance);
        break;
    case 0:
        broker_memory_pause(instance->process.broker);
        break;
    case 1:
        broker_memory_fail_producer(instance->process.broker,
                                    (enum broker_producer)dice_roll(&world->dice, 2));
        break;
    case 2:
        broker_memory_disconnect(instance->process.broker);
        break;
    case 3:
        instance_lose(world, instance, some_partition(world));
        break;
    default:
        broker_memory_continue(instance->process.broker);
        broker_memory_connect(instance->process.broker);
        break;
    }
}

static void own_somewhere(struct world *world)
{
    struct instance *instance = &world->instances[dice_roll(&world->dice, INSTANCES)];
    if (instance->process.cluster == NULL)
        return;
    if (dice_percent(&world->dice, 40))
        instance_stand_by(world, instance, some_partition(world));
    else
        instance_take(world, instance, some_partition(world));
}

static void submit_garbage(struct world *world)
{
    broker_memory_append(world->kafka, "p.commands", some_partition(world), TEXT("x"),
                         TEXT("garbage"));
}

uint32_t some_order(struct world *world, struct dice *dice)
{
    return world->orders < ORDERS_MAX ? world->orders++ : dice_roll(dice, ORDERS_MAX);
}

void act(struct world *world)
{
    uint32_t roll = dice_roll(&world->dice, 100);
    heap_arena_reset(&world->scratch);
    if (roll < 20)
        submit_order(world, some_order(world, &world->dice));
    else if (roll < 55)
        agent_answer(world, 60);
    else if (roll < 65)
        supervise(world, dice_percent(&world->dice, 15));
    else if (roll < 72)
        operate(world);
    else if (roll < 74)
        submit_garbage(world);
    else if (roll < 82)
        world_advance(world, dice_roll(&world->dice, 6000));
    else if (roll < 86)
        crash_or_restart(world);
    else if (roll < 90)
        disturb(world);
    else
        own_somewhere(world);
}
