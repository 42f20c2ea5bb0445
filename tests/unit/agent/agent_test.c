/* SPDX-License-Identifier: Apache-2.0 */
/* The whole agent on the broker in memory: requests in, reports out, commits, rebalances,
 * losses. */
#include "base/bytes.h"
#include "schemas/avro/schema.h"
#include "tests/lib/site.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>

enum { SOON = 1000000 + 60000, HEARTBEAT_MS = 2000 };

static struct world *world;

static void open_world(void)
{
    world = world_new(1);
}

static void close_world(void)
{
    world_free(world);
}

TestSuite(agent, .init = open_world, .fini = close_world);

/* Two orders of one partition, one of another. */
#define A "A"
static const char *same_partition_as_a(void)
{
    static char order[16];
    for (int i = 0;; i++) {
        snprintf(order, sizeof(order), "B%d", i);
        if (world_partition(order) == world_partition(A))
            return order;
    }
}

static struct instance *alone(const char *const settings[])
{
    struct instance *instance = world_add(world, settings);
    world_rebalance(world);
    return instance;
}

Test(agent, commits_a_request_after_its_report)
{
    struct instance *instance = alone(NULL);
    char reason[100];
    cr_assert(agent_ready(instance->agent, reason, sizeof(reason)));
    world_request(world, A, DIRECTION_DO, 1, SOON);
    cr_assert_eq(instance->call_count, 1);
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 0);
    world_succeed(instance, "{ \"paid\": 1 }");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {\"paid\":1}\n");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 1);
}

Test(agent, reports_failures_and_undos)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_fail(instance, EFFECT_NONE, false);
    world_request(world, A, DIRECTION_DO, 2, SOON);
    world_fail(instance, EFFECT_UNKNOWN, true);
    cr_assert_eq(instance->call_count, 0);
    world_advance(world, 500);
    world_fail(instance, EFFECT_NONE, false);
    world_request(world, A, DIRECTION_UNDO, 1, SOON);
    world_succeed(instance, "");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 Oops none\n"
                                           "A/Pay/do/2 Oops unknown\n"
                                           "A/Pay/undo/1 ok \n");
}

Test(agent, sanitizes_names_and_outputs)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    agent_call_fail(instance->calls[0],
                    &(struct agent_failure){.name = TEXT("not a name"), .message = TEXT("\xff")});
    instance->call_count = 0;
    world_request(world, A, DIRECTION_DO, 2, SOON);
    world_succeed(instance, "no JSON");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 Agent.Error none\nA/Pay/do/2 ok \n");
}

Test(agent, commits_up_to_the_oldest_unsettled_request)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_request(world, same_partition_as_a(), DIRECTION_DO, 1, SOON);
    struct agent_call *first = instance->calls[0];
    instance->calls[0] = instance->calls[1];
    instance->call_count = 1;
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 0);
    agent_call_succeed(first, TEXT(""));
    world_settle(world);
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 2);
}

Test(agent, commits_without_a_report_past_the_deadline)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, 1000000 + 500);
    world_advance(world, 500);
    world_fail(instance, EFFECT_UNKNOWN, true);
    world_advance(world, 1000);
    cr_assert_str_eq(world_reports(world), "");
    cr_assert_eq(world_committed(instance, A), 1);
}

Test(agent, sends_invalid_requests_to_the_dead_letters)
{
    struct instance *instance = alone(NULL);
    int32_t partition = world_partition(A);
    struct cancel_order cancel = {.order_id = TEXT(A), .by = TEXT("x")};
    struct command cmd = {
        .kind = COMMAND_CANCEL_ORDER, .order_id = TEXT(A), .cancel_order = cancel};
    broker_memory_append(world->kafka, WORLD_REQUESTS, partition, TEXT(A), TEXT("garbage"));
    site_append(world->kafka, world->codec, WORLD_REQUESTS, partition, TEXT(A), RECORD_CANCEL_ORDER,
                &cmd);
    /* Framed with a fingerprint that was never published. */
    broker_memory_append(world->kafka, WORLD_REQUESTS, partition, TEXT(A),
                         TEXT("\xc3\x01whoknows12345"));
    world_request(world, A, DIRECTION_DO, 1, SOON);
    cr_assert_eq(instance->call_count, 1, "the neighbour is processed");
    cr_assert_eq(world_count(world, "t.dead-letters"), 3);
    struct broker_record record;
    cr_assert(broker_memory_record(world->kafka, "t.dead-letters",
                                   broker_partition_of(TEXT(A), WORLD_PARTITIONS), 0, &record));
    cr_assert(text_equal(record.value, TEXT("garbage")));
    cr_assert(text_equal(record.headers[2].value, TEXT(WORLD_REQUESTS)));
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 3);
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 4);
}

/* Its schema is known, and a newer version has raised a limit. */
Test(agent, keeps_a_request_that_only_a_newer_version_can_read)
{
    struct instance *instance = alone(NULL);
    static char avsc[16 * 1024];
    static char name[NAME_BYTES_MAX + 1];
    const char *piece = "{\"name\": \"step\"";
    const struct avro_type *type = NULL;
    struct error error;
    struct heap_arena heap;
    struct text own = codec_schema(RECORD_STEP_REQUEST);
    const char *at = strstr(own.data, piece);
    cr_assert_not_null(at);
    snprintf(avsc, sizeof(avsc),
             "%.*s{\"name\": \"limits\", \"type\": \"null\", \"default\": null}, %.*s",
             (int)(at - own.data), own.data, (int)(own.size - (size_t)(at - own.data)), at);
    heap_arena_init(&heap, 16 * 1024);
    cr_assert_eq(avro_schema_parse(text_of(avsc), &heap.arena, &type, &error), ERROR_OK);
    uint64_t fingerprint = avro_schema_fingerprint(type, &heap.arena);
    heap_arena_deinit(&heap);
    broker_memory_append(world->kafka, "t.schemas", 0, TEXT("newer"), text_of(avsc));
    world_advance(world, 1000);
    struct buffer bytes = {0};
    uint8_t frame[10] = {0xc3, 0x01};
    bytes_put_le(frame + 2, fingerprint, 8);
    buffer_append(&bytes, frame, sizeof(frame));
    buffer_append(&bytes, "\2A\x82\x01", 4); /* the order, and a step's name of 65 bytes */
    memset(name, 'x', sizeof(name));
    buffer_append(&bytes, name, sizeof(name));
    int32_t partition = world_partition(A);
    broker_memory_append(world->kafka, WORLD_REQUESTS, partition, TEXT(A),
                         (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_advance(world, 60000);
    char reason[ERROR_MESSAGE_SIZE];
    cr_assert_eq(world_count(world, "t.dead-letters"), 0);
    cr_assert_eq(instance->call_count, 0, "the partition waits");
    cr_assert_leq(world_committed(instance, A), 0);
    cr_assert(!agent_ready(instance->agent, reason, sizeof(reason)));
    cr_assert_not_null(strstr(reason, "upgrade this agent"), "%s", reason);
}

Test(agent, limits_calls_in_flight)
{
    static const char *const settings[] = {"agent.in.flight.max", "8", NULL};
    struct instance *instance = alone(settings);
    char order[16];
    for (int i = 0; i < 100; i++) {
        snprintf(order, sizeof(order), "O%d", i);
        world_request(world, order, DIRECTION_DO, 1, SOON);
        cr_assert_leq(attempts_in_flight(agent_attempts(instance->agent)), 8);
    }
    cr_assert_eq(instance->call_count, 8);
    for (int i = 0; i < 100; i++) {
        world_succeed(instance, "");
        cr_assert_leq(attempts_in_flight(agent_attempts(instance->agent)), 8);
    }
    cr_assert_eq(instance->call_count, 0);
    cr_assert_eq(world_count(world, "t.commands"), 100);
}

Test(agent, continues_through_a_rebalance_that_changes_nothing)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_rebalance(world);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 1);
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 1);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok \n");
    cr_assert_eq(world->calls_started, 1);
}

Test(agent, reads_again_and_merges_after_a_lost_session)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    broker_memory_revoke(instance->broker, WORLD_GROUP, true);
    world_settle(world);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 1, "the same attempt is in flight");
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, A), 1);
    cr_assert_eq(world->calls_started, 1);
    cr_assert_eq(world_count_reports(world, A), 1);
}

Test(agent, reports_revoked_calls_that_the_next_owner_repeats)
{
    struct instance *one = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    struct instance *two = world_add(world, NULL);
    broker_memory_assign(one->broker, WORLD_GROUP, NULL, 0);
    broker_memory_assign(two->broker, WORLD_GROUP, (const int32_t[]){0, 1, 2, 3}, 4);
    world_settle(world);
    cr_assert(one->call_count == 1 && two->call_count == 1);
    world_succeed(one, "");
    world_request(world, A, DIRECTION_DO, 2, SOON);
    cr_assert(one->call_count == 0 && two->call_count == 1, "the later attempt waits");
    world_succeed(two, "");
    cr_assert_eq(two->call_count, 1);
    world_succeed(two, "");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok \nA/Pay/do/1 ok \nA/Pay/do/2 ok \n");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(two, A), 2);
}

Test(agent, sends_reports_until_the_broker_acknowledges_them)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    struct broker_memory_faults faults = {.append_lost = 1000};
    broker_memory_set_faults(world->kafka, &faults);
    world_succeed(instance, "");
    world_advance(world, 5000);
    cr_assert_str_eq(world_reports(world), "");
    cr_assert_eq(world_committed(instance, A), 0);
    broker_memory_fail_producer(instance->broker, BROKER_PRODUCER_LOG);
    faults.append_lost = 0;
    broker_memory_set_faults(world->kafka, &faults);
    for (int i = 0; i < 5; i++)
        world_advance(world, 1000);
    cr_assert_geq(world_count_reports(world, A), 1);
    cr_assert_eq(world_committed(instance, A), 1);
}

Test(agent, takes_over_from_a_killed_agent)
{
    struct instance *one = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_request(world, "C", DIRECTION_DO, 1, SOON);
    world_succeed(one, "");
    world_advance(world, 1000);
    world_kill(one);
    struct instance *two = alone(NULL);
    cr_assert_eq(two->call_count, 1, "only the call without a report");
    world_succeed(two, "");
    cr_assert_eq(world_count_reports(world, A), 1);
    cr_assert_eq(world_count_reports(world, "C"), 1);
}

Test(agent, skips_requests_that_retention_removed)
{
    struct instance *one = alone(NULL);
    int32_t partition = world_partition(A);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_succeed(one, "");
    world_advance(world, 1000);
    world_kill(one);
    world_request(world, A, DIRECTION_DO, 2, SOON);
    world_request(world, A, DIRECTION_DO, 3, SOON);
    broker_memory_trim(world->kafka, WORLD_REQUESTS, partition, 2);
    struct instance *two = alone(NULL);
    cr_assert_eq(two->call_count, 1);
    cr_assert_eq(two->calls[0]->request->ref.attempt, 3);
}

Test(agent, joins_when_its_topic_is_created)
{
    static const char *const settings[] = {"agent.name", "late", NULL};
    char reason[200];
    struct instance *instance = world_add(world, settings);
    cr_assert_not(agent_ready(instance->agent, reason, sizeof(reason)));
    cr_assert_str_eq(reason,
                     "topic t.requests.late does not exist: create it with `reeve topics apply`");
    broker_memory_topic(world->kafka, "t.requests.late", WORLD_PARTITIONS);
    world_advance(world, 2000);
    cr_assert_not(agent_ready(instance->agent, reason, sizeof(reason)));
    cr_assert_str_eq(reason, "joining the group t.agent.late");
    broker_memory_rebalance(world->kafka, "t.agent.late");
    world_settle(world);
    cr_assert(agent_ready(instance->agent, reason, sizeof(reason)), "%s", reason);
}

/* ---- the clock ---- */

static void check_clock_off(struct instance *instance)
{
    char reason[200];
    cr_assert_eq(agent_phase(instance->agent), AGENT_PHASE_CLOCK_OFF);
    cr_assert_not(agent_ready(instance->agent, reason, sizeof(reason)));
    cr_assert_not_null(strstr(reason, "this machine's clock is"), "%s", reason);
    cr_assert_null(agent_group(instance->agent));
}

Test(agent, begins_no_call_with_a_clock_that_is_wrong_from_the_start)
{
    static const int64_t offs[] = {-3600000, -600, 600, 3600000};
    for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
        world->clock.now_wall_ms += offs[i];
        struct instance *instance = alone(NULL);
        world_request(world, A, DIRECTION_DO, 1, world->broker_clock.now_wall_ms + 60000);
        cr_assert_eq(instance->call_count, 0);
        check_clock_off(instance);
        world->clock.now_wall_ms -= offs[i];
        world_advance(world, HEARTBEAT_MS);
        world_rebalance(world);
        cr_assert_eq(agent_phase(instance->agent), AGENT_PHASE_WORKING);
        cr_assert_eq(instance->call_count, 1);
        close_world();
        open_world();
    }
}

Test(agent, leaves_its_group_while_its_clock_is_wrong)
{
    struct instance *instance = alone(NULL);
    world->clock.now_wall_ms += 3600000;
    world_advance(world, HEARTBEAT_MS);
    check_clock_off(instance);
    world_request(world, A, DIRECTION_DO, 1, world->broker_clock.now_wall_ms + 60000);
    world_advance(world, 10 * HEARTBEAT_MS);
    cr_assert_eq(instance->call_count, 0);
    check_clock_off(instance);
    world->clock.now_wall_ms -= 3600000;
    world_advance(world, HEARTBEAT_MS);
    world_rebalance(world);
    cr_assert_eq(agent_phase(instance->agent), AGENT_PHASE_WORKING);
    cr_assert_eq(instance->call_count, 1);
}

/* Requests that waited while the agent was away, and answers that come late, prove nothing. */
Test(agent, does_not_take_late_records_and_answers_for_a_wrong_clock)
{
    struct instance *instance = alone(NULL);
    for (int i = 0; i < 40; i++) {
        broker_memory_disconnect(instance->broker);
        world_request(world, A, DIRECTION_DO, (uint32_t)i + 1, world->clock.now_wall_ms + 3600000);
        world_advance(world, 5 * HEARTBEAT_MS);
        broker_memory_connect(instance->broker);
        world_settle(world);
        cr_assert_eq(agent_phase(instance->agent), AGENT_PHASE_WORKING);
    }
}

/* Its own health records may be what is broken. */
Test(agent, begins_calls_although_its_clock_cannot_be_measured)
{
    broker_memory_set_partition_fault(world->kafka, "t.agents", 0, PARTITION_NO_LEADER);
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    cr_assert_eq(instance->call_count, 0);
    world_advance(world, 10000);
    cr_assert_eq(instance->call_count, 1);
}

/* ---- draining ---- */

static void note_drained(void *ctx)
{
    ((struct instance *)ctx)->drained = true;
}

Test(agent, reports_and_commits_running_calls_when_drained)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    agent_drain(instance->agent, note_drained, instance);
    world_request(world, "C", DIRECTION_DO, 1, SOON);
    world_advance(world, 1000);
    cr_assert_not(instance->drained);
    cr_assert_eq(instance->call_count, 1, "nothing new");
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert(instance->drained);
    world_stop(instance);
    struct instance *two = alone(NULL);
    cr_assert_eq(two->call_count, 1, "the other order");
    cr_assert_eq(world_committed(two, A), 1);
}

Test(agent, drains_at_once_when_idle)
{
    struct instance *instance = alone(NULL);
    agent_drain(instance->agent, note_drained, instance);
    world_settle(world);
    cr_assert(instance->drained);
}

Test(agent, drains_before_the_topic_exists)
{
    static const char *const settings[] = {"agent.name", "late", NULL};
    struct instance *instance = world_add(world, settings);
    agent_drain(instance->agent, note_drained, instance);
    world_settle(world);
    cr_assert(instance->drained);
}

Test(agent, stops_with_everything_in_flight)
{
    struct instance *instance = alone(NULL);
    world_request(world, A, DIRECTION_DO, 1, SOON);
    world_request(world, A, DIRECTION_DO, 2, SOON);
    world_request(world, "C", DIRECTION_DO, 1, SOON);
    world_request(world, "D", DIRECTION_DO, 1, SOON);
    instance->calls[0] = instance->calls[1];
    world_fail(instance, EFFECT_UNKNOWN, true);
    agent_call_succeed(instance->calls[1], TEXT(""));
    agent_drain(instance->agent, note_drained, instance);
    world_stop(instance); /* the drain timed out */
}
