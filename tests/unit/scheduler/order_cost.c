/* SPDX-License-Identifier: Apache-2.0 */
/* What orders of three steps cost a scheduler and a supervisor, over the broker in memory, and so
 * the same each time: test_order_cost.py counts the instructions of order_cost_pass().
 *
 *     order-cost ORDERS [decides]
 *
 * With "decides", each of the three steps has a condition and a mapping, and a Set comes first.
 * A closed loop; the agent can take all steps at once. Prints the records that were written. */
#include "services/scheduler/router/router.h"
#include "services/supervisor/partition.h"
#include "tests/lib/site.h"
#include "tests/unit/scheduler/owner_kit.h"
#include "tests/unit/statestore/kit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    IN_FLIGHT = 100,
    CALLS = 1000,
    PASS_MS = 10,
    PASSES_MAX = 100000,
    CACHE_BYTES = 2 * 1024 * 1024
};

static const char three_steps[] =
    "{\"Name\": \"three-steps\", \"Version\": 1, \"Steps\": ["
    "{\"Name\": \"First\", \"Agent\": \"agent\"}, {\"Name\": \"Second\", \"Agent\": \"agent\"}, "
    "{\"Name\": \"Third\", \"Agent\": \"agent\"}]}";

static const char decides[] =
    "{\"Name\": \"decides\", \"Version\": 1, \"Steps\": ["
    "{\"Name\": \"Total\", \"Set\": {\"sum\": \"${input.n * 2}\"}}, "
    "{\"Name\": \"First\", \"Agent\": \"agent\", \"When\": \"input.n > 0\", "
    "\"Input\": {\"sum\": \"${output.Total.sum}\"}}, "
    "{\"Name\": \"Second\", \"Agent\": \"agent\", \"When\": \"output.Total.sum > 1\", "
    "\"Input\": {\"n\": \"${input.n}\"}}, "
    "{\"Name\": \"Third\", \"Agent\": \"agent\", \"When\": \"has(output.Second)\", "
    "\"Input\": {\"who\": \"${order.customer}\"}}]}";

struct cost {
    struct text workflow;
    struct owner_kit kit;
    struct supervisor_metrics metrics;
    uint32_t submitted;
    uint32_t over;
    int64_t requests_seen;
    int64_t replies_seen;
};

void order_cost_pass(struct owner_kit *kit);

/* All that the services (and the broker in memory) do, and nothing that this program does. */
__attribute__((noinline)) void order_cost_pass(struct owner_kit *kit)
{
    owner_kit_run(kit, PASS_MS);
}

static struct supervisor_partition *watch(struct cost *cost)
{
    struct supervisor_partition *partition = NULL;
    struct error error;
    struct owner_kit_process *process = owner_kit_host(&cost->kit, "supervisor", "0");
    process->cluster = site_open_cluster(&process->service, process->broker, 0, NULL, NULL);
    owner_kit_run(&cost->kit, 100);
    supervisor_metrics_init(&cost->metrics, process->service.metrics);
    struct view_options options = {.env = cost->kit.stores,
                                   .codec = process->cluster->codec,
                                   .path = kit_path(process->folder, "watch"),
                                   .cache_bytes = CACHE_BYTES,
                                   .deadlines = true};
    enum error_class class = supervisor_partition_new(process->cluster, 0, &options, &cost->metrics,
                                                      NULL, &partition, &error);
    assert(class == ERROR_OK);
    return partition;
}

static void submit(struct cost *cost)
{
    char id[24];
    snprintf(id, sizeof(id), "order-%06u", cost->submitted++);
    struct command cmd = owner_kit_submission(id);
    cmd.submit_order.workflow = cost->workflow;
    if (text_equal(cost->workflow, TEXT("decides")))
        cmd.submit_order.input = TEXT("{\"n\":3}");
    owner_kit_command(&cost->kit, &cmd);
}

static void report(struct cost *cost, const struct step_request *request)
{
    char id[ORDER_ID_BYTES_MAX + 1];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(request->order_id));
    struct command cmd = owner_kit_report_of(id);
    cmd.report_step.step = request->ref.step;
    cmd.report_step.attempt = request->ref.attempt;
    owner_kit_command(&cost->kit, &cmd);
}

/* The agent answers, and the application submits as many as have ended. */
static void play(struct cost *cost, uint32_t orders)
{
    struct owner_kit *kit = &cost->kit;
    struct record record;
    heap_arena_reset(&kit->heap);
    for (; owner_kit_read(kit, "p.requests.agent", 0, cost->requests_seen, &record);
         cost->requests_seen++)
        report(cost, &record.step_request);
    for (; owner_kit_read(kit, "p.replies.app", 0, cost->replies_seen, &record);
         cost->replies_seen++)
        cost->over += record.status_update.order_state == ORDER_PROCESSED;
    while (cost->submitted < orders && cost->submitted - cost->over < IN_FLIGHT)
        submit(cost);
}

int main(int argc, char **argv)
{
    static struct cost cost;
    uint32_t orders = argc >= 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    cost.workflow = text_of(argc == 3 ? argv[2] : "three-steps");
    if (orders == 0 || argc > 3 || (argc == 3 && !text_equal(cost.workflow, TEXT("decides")))) {
        fprintf(stderr, "usage: order-cost ORDERS [decides]\n");
        return 64;
    }
    owner_kit_begin(&cost.kit, 1);
    owner_kit_deploy(&cost.kit, "three-steps", 1, three_steps);
    owner_kit_deploy(&cost.kit, "decides", 1, decides);
    struct owner *owner = owner_kit_own(owner_kit_boot(&cost.kit, "s-1", CALLS), 0);
    owner_kit_run_until(&cost.kit, owner, OWNER_RUNNING, 10000);
    struct supervisor_partition *partition = watch(&cost);
    while (!supervisor_partition_is_ready(partition))
        owner_kit_run(&cost.kit, PASS_MS);
    for (uint32_t passes = 0; cost.over < orders; passes++) {
        assert(passes < PASSES_MAX);
        play(&cost, orders);
        order_cost_pass(&cost.kit);
    }
    printf("{\"orders\": %u, \"commands\": %lld, \"events\": %lld, \"requests\": %lld}\n", orders,
           (long long)owner_kit_end(&cost.kit, "p.commands", 0),
           (long long)owner_kit_end(&cost.kit, "p.events", 0),
           (long long)owner_kit_end(&cost.kit, "p.requests.agent", 0));
    return 0;
}
