/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait in an agent start by priority; none starves and none is lost. */
#include "tests/unit/agent/world.h"

#include "replica/service/settings.h"
#include "services/agent/core/request_queue.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAR = 1 << 30 };

/* ---- the queue ---- */

static struct config *usual_config(void)
{
    struct config *config = config_new(&settings_schema);
    struct error error;
    cr_assert(config_finish(config, &error) == ERROR_OK);
    return config;
}

static void push(struct request_queue *queue, enum priority priority, int32_t partition,
                 const char *value)
{
    request_queue_push(queue, (int)priority, &(struct request_receipt){.partition = partition},
                       text_of(value));
}

/* Pops all requests; their contents in order. */
static const char *pop_all(struct request_queue *queue)
{
    static char text[256];
    size_t size = 0;
    struct queued_request *queued;
    text[0] = '\0';
    while ((queued = request_queue_pop(queue)) != NULL) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%.*s ", (int)queued->size,
                                 queued->bytes);
        free(queued);
    }
    cr_assert_eq(queue->count, 0);
    cr_assert_eq(queue->bytes, 0);
    return text;
}

Test(request_queue, pops_by_priority_and_then_by_age)
{
    struct config *config = usual_config();
    struct request_queue queue;
    request_queue_init(&queue, config);
    cr_assert_null(request_queue_pop(&queue));
    push(&queue, PRIORITY_LOW, 0, "l1");
    push(&queue, PRIORITY_NORMAL, 0, "n1");
    push(&queue, PRIORITY_HIGH, 0, "h1");
    push(&queue, PRIORITY_LOW, 0, "l2");
    push(&queue, PRIORITY_HIGH, 0, "h2");
    cr_assert_str_eq(pop_all(&queue), "h1 h2 n1 l1 l2 ");
    push(&queue, PRIORITY_NORMAL, 0, "n2");
    cr_assert_str_eq(pop_all(&queue), "n2 ");
    config_free(config);
}

static bool is_of(void *ctx, const struct request_receipt *receipt)
{
    return receipt->partition == *(const int32_t *)ctx;
}

Test(request_queue, drops_requests_of_lost_partitions)
{
    struct config *config = usual_config();
    struct request_queue queue;
    int32_t kept = 1;
    request_queue_init(&queue, config);
    push(&queue, PRIORITY_LOW, 0, "a");
    push(&queue, PRIORITY_LOW, 1, "b");
    push(&queue, PRIORITY_LOW, 0, "c");
    push(&queue, PRIORITY_HIGH, 0, "d");
    request_queue_purge(&queue, is_of, &kept);
    cr_assert_eq(queue.count, 1);
    push(&queue, PRIORITY_LOW, 1, "e");
    push(&queue, PRIORITY_HIGH, 1, "f");
    cr_assert_str_eq(pop_all(&queue), "f b e ");
    push(&queue, PRIORITY_HIGH, 1, "g");
    request_queue_clear(&queue);
    cr_assert_str_eq(pop_all(&queue), "");
    config_free(config);
}

/* ---- whole agents ---- */

static const char *const four_calls[] = {"agent.in.flight.max", "4", NULL};

static bool runs(const struct instance *instance, const char *order)
{
    for (uint32_t i = 0; i < instance->call_count; i++)
        if (text_equal(instance->calls[i]->request->order_id, text_of(order)))
            return true;
    return false;
}

static void append_many(struct world *world, enum priority priority, const char *prefix, int count)
{
    char order[32];
    for (int i = 0; i < count; i++) {
        snprintf(order, sizeof(order), "%s%d", prefix, i);
        world_append_request(world, order, priority, DIRECTION_DO, 1, FAR);
    }
    world_settle(world);
}

Test(request_queue, begins_an_urgent_request_behind_ten_thousand_others)
{
    struct world *world = world_new(1);
    append_many(world, PRIORITY_LOW, "low", 10000);
    struct instance *instance = world_add(world, four_calls);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 4);
    cr_assert_eq(agent_queued(instance->agent), 10000 - 4);
    world_append_request(world, "urgent", PRIORITY_HIGH, DIRECTION_DO, 1, FAR);
    world_settle(world);
    cr_assert_not(runs(instance, "urgent"));
    world_succeed(instance, ""); /* it begins at the first free capacity */
    cr_assert(runs(instance, "urgent"));
    world_free(world);
}

Test(request_queue, gives_low_priorities_their_share)
{
    struct world *world = world_new(2);
    struct instance *instance = world_add(world, four_calls);
    int low = 0;
    world_rebalance(world);
    append_many(world, PRIORITY_LOW, "low", 100);
    append_many(world, PRIORITY_HIGH, "high", 400);
    for (int i = 0; i < 4 + 170; i++) {
        low += i >= 4 && instance->calls[0]->request->order_id.data[0] == 'l';
        world_succeed(instance, "");
    }
    cr_assert(low >= 9 && low <= 11, "%d", low);
    world_free(world);
}

Test(request_queue, commits_no_queued_requests)
{
    struct world *world = world_new(3);
    struct instance *instance =
        world_add(world, (const char *[]){"agent.in.flight.max", "1", NULL});
    world_rebalance(world);
    /* One partition: all requests are of the same order. */
    world_append_request(world, "A", PRIORITY_LOW, DIRECTION_DO, 1, FAR);
    world_settle(world);
    world_append_request(world, "B1", PRIORITY_LOW, DIRECTION_DO, 1, FAR);
    for (int i = 0, found = 0; found < 3; i++) {
        char order[16];
        snprintf(order, sizeof(order), "H%d", i);
        if (world_partition(order) != world_partition("B1"))
            continue;
        world_append_request(world, order, PRIORITY_HIGH, DIRECTION_DO, 1, FAR);
        found++;
    }
    world_settle(world);
    for (int i = 0; i < 4; i++) /* A and the three high ones */
        world_succeed(instance, "");
    cr_assert(runs(instance, "B1"));
    world_advance(world, 1000);
    cr_assert_eq(world_count(world, "t.commands"), 4);
    int64_t before = world_partition("A") == world_partition("B1");
    cr_assert_eq(world_committed(instance, "B1"), before > 0 ? 1 : 0);
    /* Killed: the next instance reads it again, and calls nothing that was settled behind it. */
    world_kill(instance);
    instance = world_add(world, NULL);
    world_rebalance(world);
    cr_assert(runs(instance, "B1"));
    cr_assert_eq(instance->call_count, 1);
    world_free(world);
}

Test(request_queue, drops_queued_requests_with_their_partition)
{
    struct world *world = world_new(4);
    struct instance *first = world_add(world, four_calls);
    world_rebalance(world);
    append_many(world, PRIORITY_NORMAL, "n", 100);
    cr_assert_eq(agent_queued(first->agent), 96);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_geq(second->call_count, 1);
    cr_assert_lt(agent_queued(first->agent), 96);
    for (int i = 0; i < 200; i++) {
        if (first->call_count > 0)
            world_succeed(first, "");
        if (second->call_count > 0)
            world_succeed(second, "");
    }
    for (int i = 0; i < 100; i++) {
        char order[16];
        snprintf(order, sizeof(order), "n%d", i);
        cr_assert_geq(world_count_reports(world, order), 1, "%s", order);
    }
    world_free(world);
}

Test(request_queue, stops_reading_when_the_queue_is_full)
{
    struct world *world = world_new(5);
    struct instance *instance = world_add(
        world, (const char *[]){"agent.in.flight.max", "2", "agent.queue.max", "8", NULL});
    world_rebalance(world);
    append_many(world, PRIORITY_NORMAL, "n", 200);
    cr_assert_eq(agent_queued(instance->agent), 8);
    while (instance->call_count > 0)
        world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_count(world, "t.commands"), 200);
    world_free(world);
}
