/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_trees.h"

#include "tests/lib/site.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/trees_workflow.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 4096,
    ROOTS_MAX = 3,
    LOSES_PERCENT = 60,
    ORDERS_MAX = PARTITIONS_MAX * FOLD_ORDERS_MAX,
    DELIVERIES = 200,
    RETENTION_DAYS = 8,
    SLEEP_DAYS_MAX = 12,
    SLEEP_MINUTES = 20,
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
    ASK_EVERY = 8, /* hours of a sleep */
    JUMP_MS = 10 * 1000
};

struct trees {
    const struct workflow *workflow;
    bool loses;                     /* messages */
    uint32_t roots;                 /* submitted so far */
    int64_t purged[PARTITIONS_MAX]; /* the next command, as far as none is decided yet; 0: it is */
    struct heap_arena arena;        /* of `orders` */
    struct order orders[ORDERS_MAX];
    uint32_t order_count;
};

/* ---- the workflow ---- */

struct file {
    char text[FILE_BYTES_MAX];
    size_t used;
};

static void __attribute__((format(printf, 2, 3))) put(struct file *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t left = sizeof(file->text) - file->used;
    int size = vsnprintf(file->text + file->used, left, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < left);
    file->used += (size_t)size;
}

static void put_task(struct world *world, struct file *file, int indent, const char *name)
{
    put(file, "%*s- {Name: %s, Agent: agent, TimeoutSeconds: 5, OnExhausted: compensate", indent,
        "", name);
    if (dice_percent(&world->dice, 30))
        put(file, ", Retry: [{ErrorEquals: [States.ALL], IntervalSeconds: 1, MaxAttempts: 2}]");
    if (dice_percent(&world->dice, 70))
        put(file, ", Compensate: {Action: Undo, TimeoutSeconds: 3}");
    put(file, "}\n");
}

static void put_items(struct world *world, struct file *file)
{
    put(file, "  ForEach: {Items: [%s]", dice_percent(&world->dice, 50) ? "0, 1" : "0, 1, 2");
    if (dice_percent(&world->dice, 40))
        put(file, ", MaxConcurrency: %u", 1 + dice_roll(&world->dice, 2));
    if (dice_percent(&world->dice, 40))
        put(file, ", ToleratedFailureCount: %u", 1 + dice_roll(&world->dice, 2));
    put(file, "}\n");
    if (dice_percent(&world->dice, 50))
        put(file, "  Input: {n: \"${item}\"}\n");
}

static void put_body(struct world *world, struct file *file)
{
    put(file, "  Steps:\n");
    put_task(world, file, 2, "C");
    if (dice_percent(&world->dice, 30)) {
        put(file, "  - Name: D\n    OnExhausted: compensate\n    Steps:\n");
        put_task(world, file, 4, "E");
    }
}

static void put_workflow(struct world *world, struct file *file)
{
    put(file, "Name: trees\nVersion: 1\nSteps:\n");
    if (dice_percent(&world->dice, 50))
        put_task(world, file, 0, "A");
    put(file, "- Name: B\n  OnExhausted: %s\n",
        dice_percent(&world->dice, 70) ? "compensate" : "error");
    if (dice_percent(&world->dice, 80))
        put_items(world, file);
    put_body(world, file);
    if (dice_percent(&world->dice, 50))
        put_task(world, file, 0, "F");
    if (dice_percent(&world->dice, 30))
        put(file,
            "- {Name: G, Agent: agent, TimeoutSeconds: 5, Pivot: true, OnExhausted: error}\n");
}

static const struct workflow *deploy(struct world *world)
{
    static struct workflow_problems problems;
    static struct file file;
    struct workflow *workflow = NULL;
    file.used = 0;
    put_workflow(world, &file);
    struct text text = {file.text, (uint32_t)file.used};
    if (!workflow_parse(text, WORKFLOW_YAML, &world->arena.arena, &problems, &workflow)) {
        fprintf(stderr, "%s\n%s\n", file.text, problems.items[0].text);
        abort();
    }
    site_deploy(world->kafka, world->run->codec, "p.workflows", workflow->name, 1, "yaml", text);
    return workflow;
}

/* ---- a world ---- */

static void submit_root(struct world *world)
{
    char name[16];
    int size = snprintf(name, sizeof(name), "tree-%u", world->trees->roots++ % ROOTS_MAX);
    struct command cmd =
        site_submission((struct text){name, (uint32_t)size}, world->trees->workflow->name, 1);
    cmd.submit_order.reply_to = TEXT("p.replies.app");
    cmd.submit_order.content_hash.bytes[0] = 1;
    send_command(world, &cmd);
}

void trees_begin(struct world *world)
{
    world->trees = calloc(1, sizeof(*world->trees));
    assert(world->trees != NULL);
    heap_arena_init(&world->trees->arena, 64 * 1024);
    world->trees->loses = dice_percent(&world->dice, LOSES_PERCENT);
    world->trees->workflow = deploy(world);
    broker_memory_keep_trimmed(world->kafka);
    submit_root(world);
    if (!world->trees->loses)
        return;
    world->retention_ms = RETENTION_DAYS * 24 * (int64_t)HOUR_MS;
    world->expiry_max = 1 + dice_roll(&world->dice, 3);
}

/* Twelve days are too long for clocks that drift. */
uint32_t trees_excludes(const struct world *world)
{
    uint32_t without = 1U << CHAOS_FAR_CLOCKS | 1U << CHAOS_GARBAGE | 1U << CHAOS_UPGRADE |
                       1U << CHAOS_DEPLOYMENTS | 1U << CHAOS_EXPIRY | 1U << CHAOS_TAIL;
    return world->trees->loses ? without | 1U << CHAOS_CLOCKS : without;
}

void trees_free(struct world *world)
{
    if (world->trees == NULL)
        return;
    heap_arena_deinit(&world->trees->arena);
    free(world->trees);
    world->trees = NULL;
}

bool trees_has(struct text order_id)
{
    return order_id.size > 5 && memcmp(order_id.data, "tree-", 5) == 0;
}

static bool is_part(struct text order_id)
{
    return trees_has(order_id) && memchr(order_id.data, '~', order_id.size) != NULL;
}

const struct workflow *trees_workflow(const struct world *world,
                                      const struct order_details *details)
{
    return trees_workflow_find(world->trees->workflow, details->workflow);
}

static void see(struct world *world, enum trees_seen what)
{
    world->run->sometimes.trees[what]++;
}

/* ---- the orders of all partitions ---- */

static void load(struct world *world)
{
    static struct fold fold;
    struct trees *trees = world->trees;
    heap_arena_reset(&trees->arena);
    trees->order_count = 0;
    for (int32_t p = 0; p < world->partitions; p++) {
        if (fold_log(world, p, log_end(world, "p.events", p), NULL, &fold) != NULL)
            continue; /* the comparison reports it */
        for (uint32_t i = 0; i < fold.order_count; i++) {
            if (!trees_has(fold.orders[i].details.order_id))
                continue;
            assert(trees->order_count < ORDERS_MAX);
            order_copy(&fold.orders[i], &trees->arena.arena, &trees->orders[trees->order_count++]);
        }
    }
}

static const struct order *find(const struct trees *trees, struct text order_id)
{
    for (uint32_t i = 0; i < trees->order_count; i++)
        if (text_equal(trees->orders[i].details.order_id, order_id))
            return &trees->orders[i];
    return NULL;
}

/* ---- messages that are lost ---- */

/* The operator tries until the log has got nothing else meanwhile. */
void trees_reset_purged(struct world *world)
{
    static struct fold fold;
    for (int32_t p = 0; p < world->partitions && world->trees != NULL; p++) {
        int64_t *purged = &world->trees->purged[p];
        int64_t end = log_end(world, "p.events", p);
        if (*purged == 0 || fold_log(world, p, end, NULL, &fold) != NULL)
            continue;
        if (fold.checkpoint.next_command_offset >= *purged) {
            *purged = 0;
            continue;
        }
        struct partition_reset reset = {.expected_offset = end,
                                        .next_command_offset = *purged,
                                        .by = TEXT("ann"),
                                        .reason = TEXT("the commands are gone"),
                                        .reset_at = world->clock.now_wall_ms};
        send_record(world, "p.events", p, TEXT("x"), RECORD_RESET, &reset);
    }
}

static void purge(struct world *world, int32_t partition)
{
    static struct fold fold;
    int64_t end = log_end(world, "p.commands", partition);
    if (end == 0 ||
        fold_log(world, partition, log_end(world, "p.events", partition), NULL, &fold) != NULL ||
        fold.checkpoint.next_command_offset >= end)
        return;
    broker_memory_trim(world->kafka, "p.commands", partition, end);
    world->trees->purged[partition] = end;
    see(world, TREES_SEEN_PURGED);
}

static void pass(struct world *world, int64_t ms)
{
    world_advance(world, ms);
    for (uint32_t i = 0; i < DELIVERIES && instances_deliver(world); i++)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    supervisor_turn(world);
    agent_read_requests(world);
}

/* Longer than the emitter keeps a message for a partition that acknowledges none; perhaps longer
 * than an order may be submitted, or is kept. */
static void stop_commands(struct world *world, int32_t partition)
{
    static const enum broker_memory_partition_fault faults[] = {
        PARTITION_NO_LEADER, PARTITION_READ_ONLY, PARTITION_FAILS_APPEND, PARTITION_UNREADABLE,
        PARTITION_HOLDS_ACKS};
    uint32_t count = sizeof(faults) / sizeof(faults[0]);
    uint32_t hours = dice_percent(&world->dice, 50) ? dice_roll(&world->dice, 4)
                                                    : dice_roll(&world->dice, SLEEP_DAYS_MAX * 24);
    broker_memory_set_partition_fault(world->kafka, "p.commands", partition,
                                      faults[dice_roll(&world->dice, count)]);
    for (uint32_t i = 0; i < SLEEP_MINUTES; i++)
        pass(world, MINUTE_MS);
    for (uint32_t i = 0; i < hours; i++) {
        if (i % ASK_EVERY == 0)
            supervise(world, false);
        pass(world, HOUR_MS);
    }
    world->run->sometimes.trees[TREES_SEEN_STOPPED] += hours >= 7 * 24;
    broker_memory_set_partition_fault(world->kafka, "p.commands", partition, PARTITION_WORKS);
}

/* ---- actors ---- */

static void resubmit(struct world *world, struct text order_id)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = order_id};
    cmd.resubmit_step =
        (struct resubmit_step){.order_id = order_id, .by = TEXT("ann"), .reason = TEXT("repaired")};
    send_command(world, &cmd);
}

static void cancel(struct world *world, struct text order_id)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = order_id};
    cmd.cancel_order =
        (struct cancel_order){.order_id = order_id, .by = TEXT("app"), .reason = TEXT("mind")};
    send_command(world, &cmd);
}

static void operate(struct world *world)
{
    struct trees *trees = world->trees;
    load(world);
    if (trees->order_count == 0)
        return;
    const struct order *order = &trees->orders[dice_roll(&world->dice, trees->order_count)];
    if (order->state == ORDER_ERROR || dice_percent(&world->dice, 40))
        resubmit(world, order->details.order_id);
    else
        cancel(world, order->details.order_id);
}

void trees_act(struct world *world)
{
    uint32_t roll = dice_roll(&world->dice, 100);
    int32_t partition = (int32_t)dice_roll(&world->dice, (uint32_t)world->partitions);
    trees_reset_purged(world);
    if (roll < 6)
        submit_root(world);
    else if (roll < 60)
        agent_answer(world, 75);
    else if (roll < 66)
        operate(world);
    else if (roll < 68 && world->trees->loses)
        stop_commands(world, partition);
    else if (roll < 69 && world->trees->loses)
        purge(world, partition);
}

/* ---- peace ---- */

/* Keep where its parent has kept it, as far as an operator can find out. */
static void settle(struct world *world, const struct order *order)
{
    const struct order_parent *own = order->details.parent;
    const struct order *parent = find(world->trees, own->order_id);
    bool kept = parent != NULL && parent->state == ORDER_PROCESSED &&
                parent->accepted_offset == own->accepted_offset;
    struct command cmd = {.kind = COMMAND_SETTLE_SUBORDER, .order_id = order->details.order_id};
    cmd.settle_suborder = (struct settle_suborder){.order_id = cmd.order_id,
                                                   .how = kept ? SETTLE_KEEP : SETTLE_UNDO,
                                                   .by = TEXT("ann"),
                                                   .reason = TEXT("its parent is gone")};
    send_command(world, &cmd);
}

static bool repair(struct world *world)
{
    bool any = false;
    for (uint32_t i = 0; i < world->trees->order_count; i++) {
        const struct order *order = &world->trees->orders[i];
        if (order->state == ORDER_ERROR)
            resubmit(world, order->details.order_id);
        else if (order->state == ORDER_HELD && order->alert_open)
            settle(world, order);
        else
            continue;
        any = true;
    }
    return any;
}

static void jump(struct world *world)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < world->trees->order_count; i++) {
        struct deadline deadlines[DEADLINES_MAX];
        uint32_t count = deadlines_of(&world->trees->orders[i], deadlines);
        for (uint32_t n = 0; n < count; n++)
            next = deadlines[n].due_at < next ? deadlines[n].due_at : next;
    }
    if (next != INT64_MAX && next - world->clock.now_wall_ms > JUMP_MS)
        world_advance(world, next - world->clock.now_wall_ms);
}

/* A message was at hand each time that an owner crashed, and is quarantined. */
static bool has_quarantined(const struct world *world)
{
    int64_t count = 0;
    for (int32_t p = 0; p < world->partitions; p++)
        count += log_end(world, "p.dead-letters", p);
    return count > 0;
}

void trees_go_on(struct world *world)
{
    if (world->trees == NULL || agent_answer_open(world, 90))
        return;
    load(world);
    if (!repair(world) && (world->trees->loses || has_quarantined(world)))
        jump(world);
}

/* ---- what must hold ---- */

static bool has_deadline(const struct order *order, uint32_t step)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(order, deadlines);
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].step == step)
            return true;
    return false;
}

const char *trees_check_deadlines(struct world *world)
{
    if (world->trees == NULL)
        return NULL;
    load(world);
    for (uint32_t i = 0; i < world->trees->order_count; i++) {
        const struct order *order = &world->trees->orders[i];
        if (order->state == ORDER_HELD && !has_deadline(order, UINT32_MAX))
            return wrong("%.*s is held, and never asks", TEXT_ARG(order->details.order_id));
        for (uint32_t s = 0; s < order->step_count && !order_ended(order); s++) {
            const struct step *step = &order->steps[s];
            if (step->suborders != NULL && suborders_unanswered(step->suborders) > 0 &&
                !has_deadline(order, s))
                return wrong("step %.*s of %.*s is not answered, and never asks",
                             TEXT_ARG(step->name), TEXT_ARG(order->details.order_id));
        }
    }
    return NULL;
}

/* I19, I20 */
static const char *check_item(struct world *world, const struct order *order,
                              const struct step *step, uint32_t number)
{
    const struct trees *trees = world->trees;
    const struct suborders *suborders = step->suborders;
    const struct suborder_item *item = &suborders->items[number];
    int64_t place = text_empty(suborders->list) ? -1 : (int64_t)number;
    struct text id = order_suborder_id(order->details.order_id, step->name, place, item->generation,
                                       &world->scratch.arena);
    struct order_parent parent = {.order_id = order->details.order_id,
                                  .accepted_offset = order->accepted_offset,
                                  .step = step->name,
                                  .item = place,
                                  .generation = item->generation};
    const struct order *child = find(trees, id);
    bool done = item->state == ITEM_HELD || item->state == ITEM_FINAL;
    if (item->state == ITEM_SUBMITTED)
        return wrong("%.*s never answers", TEXT_ARG(id));
    if (child != NULL && !order_parent_equal(child->details.parent, &parent))
        return wrong("%.*s is another order's", TEXT_ARG(id));
    if (child == NULL && done && !trees->loses)
        return wrong("%.*s is done, and not there", TEXT_ARG(id));
    if (child == NULL && done)
        see(world, TREES_SEEN_EXPIRED);
    if (child == NULL) /* or it was refused */
        return NULL;
    if (done && child->state != ORDER_PROCESSED)
        return wrong("the item of %.*s is %s, and it is %s", TEXT_ARG(id),
                     item_state_names.names[item->state], order_state_name(child->state));
    if (item->state == ITEM_FAILED && child->state != ORDER_COMPENSATED && !trees->loses)
        return wrong("the item of %.*s has failed, and it is %s", TEXT_ARG(id),
                     order_state_name(child->state));
    if (item->state == ITEM_HELD && order->state != ORDER_PROCESSED)
        return wrong("%.*s is kept, and its parent is %s", TEXT_ARG(id),
                     order_state_name(order->state));
    return NULL;
}

static const char *check_order(struct world *world, const struct order *order)
{
    const char *failed = NULL;
    if (!order_ended(order)) /* I21 */
        return wrong("%.*s is %s at the end", TEXT_ARG(order->details.order_id),
                     order_state_name(order->state));
    for (uint32_t s = 0; s < order->step_count; s++) {
        const struct step *step = &order->steps[s];
        uint32_t count = step->suborders != NULL ? step->suborders->item_count : 0;
        for (uint32_t n = 0; n < count && failed == NULL; n++)
            if (step->suborders->items[n].state != ITEM_TO_DO)
                failed = check_item(world, order, step, n);
    }
    return failed;
}

const char *trees_check(struct world *world)
{
    const char *failed = NULL;
    if (world->trees == NULL)
        return NULL;
    load(world);
    for (uint32_t i = 0; i < world->trees->order_count && failed == NULL; i++)
        failed = check_order(world, &world->trees->orders[i]);
    return failed;
}

int64_t trees_count_messages(struct world *world)
{
    int64_t count = 0;
    for (int32_t p = 0; p < world->partitions && world->trees != NULL; p++) {
        heap_arena_reset(&world->scratch);
        for (int64_t at = 0; at < log_end(world, "p.commands", p); at++) {
            struct record record;
            if (read_log(world, "p.commands", p, at, &record) != NULL)
                continue;
            enum command_kind kind = record.command.kind;
            count += kind == COMMAND_REPORT_SUBORDER || kind == COMMAND_SETTLE_SUBORDER ||
                     (kind == COMMAND_SUBMIT_ORDER && record.command.submit_order.parent != NULL);
        }
    }
    return count;
}

/* ---- what was met ---- */

static enum trees_seen seen_in(const struct decision *decision, const struct event *event)
{
    bool part = is_part(decision->order_id);
    switch ((int)event->kind) {
    case EVENT_ORDER_HELD:
        return TREES_SEEN_HELD;
    case EVENT_ORDER_PROCESSED:
        return part ? TREES_SEEN_KEPT : TREES_SEEN_COUNT;
    case EVENT_ORDER_COMPENSATED:
        return part ? TREES_SEEN_UNDONE : TREES_SEEN_COUNT;
    case EVENT_SUBORDERS_SUBMITTED:
        return event->suborders_submitted.generation > 0 ? TREES_SEEN_GENERATION : TREES_SEEN_COUNT;
    case EVENT_SUBORDERS_RECALLED:
        return TREES_SEEN_RECALLED;
    case EVENT_SUBORDERS_ASKED:
        return TREES_SEEN_ASKED;
    case EVENT_COMMAND_REJECTED:
        return part && text_equal(event->command_rejected.code, TEXT("TooOld")) ? TREES_SEEN_TOO_OLD
                                                                                : TREES_SEEN_COUNT;
    default:
        return TREES_SEEN_COUNT;
    }
}

void trees_see_decision(struct world *world, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        enum trees_seen what = seen_in(decision, &decision->events[i]);
        if (what != TREES_SEEN_COUNT)
            see(world, what);
    }
}

static const char *const names[] = {
    [TREES_SEEN_HELD] = "held",
    [TREES_SEEN_KEPT] = "done",
    [TREES_SEEN_UNDONE] = "undone",
    [TREES_SEEN_GENERATION] = "done again",
    [TREES_SEEN_RECALLED] = "recalled",
    [TREES_SEEN_ASKED] = "asked",
    [TREES_SEEN_STATED] = "stated while held",
    [TREES_SEEN_STOPPED] = "commands stopped for days",
    [TREES_SEEN_PURGED] = "commands purged",
    [TREES_SEEN_TOO_OLD] = "submissions too old",
    [TREES_SEEN_EXPIRED] = "sub-orders expired",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == TREES_SEEN_COUNT, "every situation has a name");

const char *trees_never(const struct ownership_sometimes *sometimes)
{
    for (int i = 0; i < TREES_SEEN_COUNT; i++)
        if (sometimes->trees[i] == 0 && i != TREES_SEEN_EXPIRED) /* in one of a hundred cases */
            return names[i];
    return NULL;
}

void trees_print(const struct ownership_sometimes *sometimes)
{
    for (int i = 0; i < TREES_SEEN_COUNT; i++)
        fprintf(stderr, "%s%" PRIu64 " %s", i > 0 ? ", " : "    ", sometimes->trees[i], names[i]);
    fprintf(stderr, "\n");
}
