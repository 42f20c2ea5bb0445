/* SPDX-License-Identifier: Apache-2.0 */
/* See trees_world.h. */
#include "tests/property/trees_world.h"

#include "base/heap_arena.h"
#include "engine/decide.h"
#include "tests/lib/engine_equal.h"
#include "tests/lib/engine_print.h"
#include "tests/property/engine_digest.h"
#include "tests/property/trees_rules.h"
#include "tests/property/trees_workflow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_BYTES = 16 * 1024 };

struct world world;

void world_say(const char *format, ...)
{
    if (world.wrong[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world.wrong, sizeof(world.wrong), format, arguments);
    va_end(arguments);
}

bool world_is_wrong(void)
{
    return world.wrong[0] != '\0';
}

/* Room for one more; the array before it stays in the arena. */
#define GROW(array, count, room)                                                   \
    do {                                                                           \
        if ((count) == (room)) {                                                   \
            (room) = (room) == 0 ? 16 : 2 * (room);                                \
            void *before_growth = (array);                                         \
            (array) = arena_calloc(&world.memory.arena, (room), sizeof(*(array))); \
            if ((count) > 0)                                                       \
                memcpy((array), before_growth, (count) * sizeof(*(array)));        \
        }                                                                          \
    } while (0)

/* ---- orders ---- */

uint32_t world_partition_of(struct text id)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < id.size; i++)
        hash = hash * 31 + (uint8_t)id.data[i];
    return (hash >> 3) % world.partition_count;
}

struct member *world_find(struct text id)
{
    for (uint32_t i = world.member_count; i-- > 0;) {
        if (!world.members[i]->expired && text_equal(world.members[i]->id, id))
            return world.members[i];
    }
    return NULL;
}

struct member *world_find_item(const struct order_parent *parent, const struct member *after)
{
    bool passed = after == NULL;
    for (uint32_t i = 0; i < world.member_count; i++) {
        struct member *member = world.members[i];
        const struct order_parent *own = member->order.details.parent;
        if (passed && own != NULL && order_parent_equal(own, parent))
            return member;
        passed = passed || member == after;
    }
    return NULL;
}

struct member *world_parent_of(const struct member *member)
{
    const struct order_parent *parent = member->order.details.parent;
    for (uint32_t i = 0; i < world.member_count && parent != NULL; i++) {
        if (text_equal(world.members[i]->id, parent->order_id) &&
            world.members[i]->order.accepted_offset == parent->accepted_offset)
            return world.members[i];
    }
    return NULL;
}

void world_expire(void)
{
    for (uint32_t i = 0; i < world.member_count; i++) {
        struct member *member = world.members[i];
        if (member->expired || !order_ended(&member->order) ||
            world.now < member->order.ended_at + RETENTION_DAYS * DAY_MS)
            continue;
        member->expired = true;
        struct member *parent = world_parent_of(member);
        if (parent != NULL && !order_ended(&parent->order))
            world_saw(TREES_EXPIRED);
    }
}

/* ---- deciding ---- */

void world_send(const struct command *cmd)
{
    struct partition *partition = &world.partitions[world_partition_of(cmd->order_id)];
    GROW(partition->commands, partition->command_count, partition->command_room);
    partition->commands[partition->command_count++] = *cmd;
}

static struct member *add_member(const struct logged *logged, const struct workflow *workflow)
{
    struct member *member = ARENA_NEW(&world.memory.arena, struct member);
    member->id = logged->decision.order_id;
    member->partition = logged->partition;
    member->workflow = workflow;
    GROW(world.members, world.member_count, world.member_room);
    world.members[world.member_count++] = member;
    return member;
}

static struct logged *add_logged(uint32_t number, const struct command *cmd)
{
    struct partition *partition = &world.partitions[number];
    struct logged *logged = ARENA_NEW(&world.memory.arena, struct logged);
    logged->partition = number;
    logged->cmd = *cmd;
    GROW(partition->log, partition->log_count, partition->log_room);
    partition->log[partition->log_count++] = logged;
    GROW(world.told, world.told_count, world.told_room);
    world.told[world.told_count++] = logged;
    return logged;
}

static void decide_in(struct arena *scratch, uint32_t number, const struct command *cmd)
{
    struct arena *arena = &world.memory.arena;
    struct partition *partition = &world.partitions[number];
    struct member *member = world_find(cmd->order_id);
    struct order *before = ARENA_NEW(arena, struct order);
    struct order seen;
    bool submits = cmd->kind == COMMAND_SUBMIT_ORDER;
    struct decide_input input = {.now = world.now,
                                 .margin_ms = 250,
                                 .instance = TEXT("scheduler-1"),
                                 .submission_age_ms_max = SUBMISSION_DAYS * DAY_MS,
                                 .command_offset = partition->decided,
                                 .command_time = world.now,
                                 .scratch = scratch};
    if (member != NULL)
        input.workflow = member->workflow;
    else if (submits)
        input.workflow = trees_workflow_find(world.workflow, cmd->submit_order.workflow);
    if (member != NULL)
        order_copy(&member->order, arena, before);
    struct logged *logged = add_logged(number, cmd);
    struct decision *decision = &logged->decision;
    engine_decide_and_apply(member != NULL ? before : NULL, cmd, &input, arena, decision, &seen);
    digest_add(decision);
    decision->offset = partition->log_count - 1;
    seen.accepted_offset = member != NULL ? before->accepted_offset : decision->offset;
    seen.stated_offset = member != NULL ? before->stated_offset : decision->offset;
    if (member == NULL && decision->events[0].kind == EVENT_ORDER_ACCEPTED)
        member = add_member(logged, input.workflow);
    const char *problem = NULL;
    if (member != NULL)
        problem = order_apply_problem(before->version > 0 ? before : NULL, decision, arena);
    if (problem != NULL)
        world_say("a Decision cannot be applied: %s", problem);
    if (member == NULL || problem != NULL)
        return;
    order_apply_decision(&member->order, decision, arena);
    const char *differs = order_difference(&seen, &member->order);
    if (differs != NULL)
        world_say("the fold is not what engine_decide() saw: %s", differs);
    if ((problem = order_problem(&member->order)) != NULL)
        world_say("a row that cannot be read: %s", problem);
    trees_follow(member, before, logged);
}

/* The Decision has nothing of the scratch. */
static void decide(uint32_t number, const struct command *cmd)
{
    struct heap_arena scratch;
    heap_arena_init(&scratch, SCRATCH_BYTES);
    decide_in(&scratch.arena, number, cmd);
    heap_arena_deinit(&scratch);
}

bool world_decide(uint32_t number)
{
    struct partition *partition = &world.partitions[number];
    if (partition->decided == partition->command_count || world_is_wrong())
        return false;
    struct command cmd = partition->commands[partition->decided++];
    decide(number, &cmd);
    return true;
}

/* ---- what orders tell each other ---- */

static void hash_bytes(uint64_t *hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void hash_text(uint64_t *hash, struct text text)
{
    hash_bytes(hash, &text.size, sizeof(text.size));
    hash_bytes(hash, text.data, text.size);
}

/* As details_hash() does it: what identifies a submission. */
static void add_hash(struct order_details *details)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const struct order_parent *parent = details->parent;
    hash_text(&hash, details->order_id);
    hash_text(&hash, details->workflow);
    hash_bytes(&hash, &details->workflow_version, sizeof(details->workflow_version));
    hash_text(&hash, details->input);
    if (parent != NULL) {
        hash_text(&hash, parent->order_id);
        hash_bytes(&hash, &parent->accepted_offset, sizeof(parent->accepted_offset));
        hash_text(&hash, parent->step);
        hash_bytes(&hash, &parent->item, sizeof(parent->item));
        hash_bytes(&hash, &parent->generation, sizeof(parent->generation));
    }
    memcpy(details->content_hash.bytes, &hash, sizeof(hash));
}

static void effects_now(const struct logged *logged, struct effects *effects)
{
    const struct member *member = world_find(logged->decision.order_id);
    effects_of(&logged->decision, (int32_t)logged->partition,
               member != NULL ? &member->order : NULL, &world.memory.arena, effects);
    trees_check_messages(logged, member, effects);
    for (uint32_t i = 0; i < effects->message_count; i++) {
        if (effects->messages[i].cmd.kind == COMMAND_SUBMIT_ORDER)
            add_hash(&effects->messages[i].cmd.submit_order);
    }
}

bool world_emit(uint32_t from, uint32_t target)
{
    struct partition *partition = &world.partitions[from];
    struct effects effects;
    bool agents = target == world.partition_count;
    if (partition->emitted[target] == partition->log_count || world_is_wrong())
        return false;
    effects_now(partition->log[partition->emitted[target]++], &effects);
    for (uint32_t i = 0; i < effects.message_count && !agents; i++) {
        const struct command *cmd = &effects.messages[i].cmd;
        if (world_partition_of(cmd->order_id) != target)
            continue;
        if (!world.healthy && dice_percent(&world.dice, world.loss_percent))
            world_saw(TREES_LOST);
        else
            world_send(cmd);
    }
    for (uint32_t i = 0; i < effects.request_count && agents; i++)
        agents_request(&effects.requests[i]);
    return true;
}

void world_take_over(uint32_t number)
{
    struct partition *partition = &world.partitions[number];
    uint32_t back = dice_percent(&world.dice, 80) ? 5 : 40;
    for (uint32_t target = 0; target <= world.partition_count; target++) {
        uint32_t again = dice_roll(&world.dice, back);
        uint32_t emitted = partition->emitted[target];
        if (again > 0 && emitted > 0)
            world_saw(TREES_TAKEOVER);
        partition->emitted[target] = emitted > again ? emitted - again : 0;
    }
}

/* What it has told others is on its way already. */
bool world_reset(uint32_t number)
{
    struct partition *partition = &world.partitions[number];
    const struct logged *last = partition->log[partition->log_count - 1];
    struct member *member = world_find(last->decision.order_id);
    const struct event *events = last->decision.events;
    uint32_t count = last->decision.event_count;
    /* A parent that has heard of the end could not learn of another one. And an item that the reset
     * makes unanswered again, although its order was kept, is not known to have been held. */
    bool heard =
        member != NULL && member->order.details.parent != NULL && member->order.held_at == 0;
    if (member == NULL || heard || events[0].kind == EVENT_SUBORDER_ENDED ||
        member->order.version < 2 || events[count - 1].kind != EVENT_ORDER_PROCESSED)
        return false;
    for (uint32_t target = 0; target <= world.partition_count; target++) {
        while (world_emit(number, target))
            ;
        partition->emitted[target]--;
    }
    partition->log_count--;
    world_saw(TREES_RESET);
    struct order again = {0};
    for (uint32_t i = (uint32_t)member->order.accepted_offset; i < partition->log_count; i++) {
        const struct decision *decision = &partition->log[i]->decision;
        if (text_equal(decision->order_id, member->id) && decision->order_version > 0)
            order_apply_decision(&again, decision, &world.memory.arena);
    }
    member->order = again;
    return true;
}

void world_copy(void)
{
    struct partition *partition = &world.partitions[dice_roll(&world.dice, world.partition_count)];
    struct effects effects;
    if (partition->log_count == 0)
        return;
    uint32_t back =
        1 + dice_roll(&world.dice, partition->log_count < 30 ? partition->log_count : 30);
    effects_now(partition->log[partition->log_count - back], &effects);
    for (uint32_t i = 0; i < effects.message_count && world.copy_count < COPIES_MAX; i++)
        world.copies[world.copy_count++] = effects.messages[i].cmd;
}

void world_deliver_copy(void)
{
    if (world.copy_count == 0)
        return;
    uint32_t index = dice_roll(&world.dice, world.copy_count);
    world_send(&world.copies[index]);
    world.copies[index] = world.copies[--world.copy_count];
    world_saw(TREES_COPY);
}

/* ---- a case ---- */

void world_begin(uint64_t seed, uint64_t *rare)
{
    world = (struct world){.dice = dice_of(seed), .now = INT64_C(1800000000000), .rare = rare};
    test_arena_init(&world.memory);
    world.partition_count = 1 + dice_roll(&world.dice, PARTITIONS_MAX);
    world.resets = dice_percent(&world.dice, 60);
    world.loss_percent = dice_percent(&world.dice, 30) ? 0 : dice_roll(&world.dice, 30);
}

void world_end(void)
{
    test_arena_deinit(&world.memory);
}

char *world_tell(void)
{
    struct line line = {0};
    for (uint32_t i = 0; i < world.file.size; i += 64) {
        uint32_t left = world.file.size - i;
        line_add(&line, "%.*s", (int)(left < 64 ? left : 64), world.file.data + i);
    }
    for (uint32_t i = 0; i < world.told_count; i++) {
        const struct logged *logged = world.told[i];
        line_add(&line, "%+" PRId64 " [%u] %s %.*s => ",
                 logged->decision.decided_at - INT64_C(1800000000000), logged->partition,
                 command_kind_name(logged->cmd.kind), TEXT_ARG(logged->cmd.order_id));
        if (logged->cmd.kind == COMMAND_REPORT_SUBORDER)
            line_add(&line, "(%.*s.%lld g%u %s) ", TEXT_ARG(logged->cmd.report_suborder.step),
                     (long long)logged->cmd.report_suborder.item,
                     logged->cmd.report_suborder.generation,
                     suborder_outcome_names.names[logged->cmd.report_suborder.outcome]);
        if (logged->cmd.kind == COMMAND_SETTLE_SUBORDER)
            line_add(&line, "(%s) ", settle_names.names[logged->cmd.settle_suborder.how]);
        line_add_decision(&line, &logged->decision);
        line_add(&line, "\n");
    }
    for (uint32_t i = 0; i < world.member_count; i++) {
        line_add(&line, "%.*s@%lld%s: ", TEXT_ARG(world.members[i]->id),
                 (long long)world.members[i]->order.accepted_offset,
                 world.members[i]->expired ? " (expired)" : "");
        line_add_order(&line, &world.members[i]->order);
        line_add(&line, "\n");
    }
    return line.text;
}
