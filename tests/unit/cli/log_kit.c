/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cli/log_kit.h"

#include "base/goods.h"

#include <criterion/criterion.h>

enum { BEGAN_AT = 1000 };

static const struct goods euros = {.currency = TEXT_CONST("EUR")};

static int64_t put(struct log_kit *log, struct record *record)
{
    int64_t at =
        session_kit_append(log->session, "t.events", record->kind, (const void *)&record->claim);
    cr_assert_eq(admission_record(&log->folded, record, at), ADMITTED);
    log->folded.next_event_offset = at + 1;
    return at;
}

void log_kit_begin(struct log_kit *log, struct session_kit *session)
{
    *log = (struct log_kit){.session = session, .folded = admission_begin()};
    heap_arena_init(&log->heap, 16 * 1024);
    log_kit_claim(log, 1);
}

void log_kit_end(struct log_kit *log)
{
    heap_arena_deinit(&log->heap);
}

int64_t log_kit_claim(struct log_kit *log, uint8_t claim_id)
{
    struct record record = {.kind = RECORD_CLAIM,
                            .claim = {.claim_id = {{claim_id}},
                                      .instance = TEXT("s-1"),
                                      .claimed_at = BEGAN_AT,
                                      .partition_count = 1,
                                      .format = STATE_FORMAT}};
    return put(log, &record);
}

static struct text name_of(struct log_kit *log, uint32_t number)
{
    char name[16];
    if (log->parents[number].order_id.size > 0)
        return order_suborder_id(log->parents[number].order_id, TEXT("A"), -1, 0, &log->heap.arena);
    int size = snprintf(name, sizeof(name), "o-%u", number);
    return arena_text(&log->heap.arena, (struct text){name, (uint32_t)size});
}

/* Decided a millisecond after the one before. */
static int64_t decide(struct log_kit *log, uint32_t number, enum order_state state,
                      struct event *events, uint32_t count)
{
    struct order *order = &log->orders[number];
    struct record record = {.kind = RECORD_DECISION,
                            .decision = {.claim_id = log->folded.claim_id,
                                         .sequence = log->folded.next_sequence,
                                         .command_offset = log->folded.next_command_offset,
                                         .command_time = BEGAN_AT,
                                         .order_id = name_of(log, number),
                                         .order_version = order->version + 1,
                                         .order_state = state,
                                         .decided_at = BEGAN_AT + log->folded.next_event_offset,
                                         .emitted_through = -1,
                                         .events = events,
                                         .event_count = count}};
    record.decision.offset = put(log, &record);
    order_apply_decision(order, &record.decision, &log->heap.arena);
    return record.decision.offset;
}

/* `passes`: its step ends at once, and so does it. */
static int64_t accept(struct log_kit *log, const struct order_parent *parent, bool passes)
{
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false}};
    uint32_t number = log->order_count++;
    cr_assert_lt(number, LOG_KIT_ORDERS);
    log->parents[number] = parent != NULL ? *parent : (struct order_parent){0};
    struct event events[] = {{.kind = EVENT_ORDER_ACCEPTED,
                              .order_accepted = {.details = {.order_id = name_of(log, number),
                                                             .goods = &euros,
                                                             .workflow = TEXT("w"),
                                                             .workflow_version = 1,
                                                             .parent = parent},
                                                 .steps = plans,
                                                 .step_count = 1}},
                             {.kind = EVENT_ORDER_STARTED},
                             {.kind = EVENT_STEP_STARTED,
                              .step_started = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                               .agent = TEXT("agent"),
                                               .action = TEXT("A"),
                                               .locked_by = TEXT("s-1"),
                                               .complete_by = BEGAN_AT + 60000}}};
    struct event passed[] = {
        events[0],
        events[1],
        {.kind = EVENT_STEP_PASSED, .step_passed = {.ref = {TEXT("A"), DIRECTION_DO, 0}}},
        {.kind = EVENT_ORDER_PROCESSED}};
    return passes ? decide(log, number, ORDER_PROCESSED, passed, 4)
                  : decide(log, number, ORDER_PROCESSING, events, 3);
}

int64_t log_kit_accept(struct log_kit *log)
{
    return accept(log, NULL, false);
}

int64_t log_kit_pass(struct log_kit *log)
{
    return accept(log, NULL, true);
}

int64_t log_kit_accept_under(struct log_kit *log, uint32_t parent)
{
    const struct order *order = &log->orders[parent];
    struct order_parent above = {.order_id = order->details.order_id,
                                 .accepted_offset = order->accepted_offset,
                                 .step = TEXT("A"),
                                 .item = -1,
                                 .root = order->details.order_id,
                                 .depth = 1};
    cr_assert(order->details.parent == NULL);
    return accept(log, &above, false);
}

int64_t log_kit_finish(struct log_kit *log, uint32_t number)
{
    struct event events[] = {
        {.kind = EVENT_STEP_SUCCEEDED,
         .step_succeeded = {.ref = {TEXT("A"), DIRECTION_DO, 1}, .by = TEXT("a-1")}},
        {.kind = EVENT_ORDER_PROCESSED}};
    return decide(log, number, ORDER_PROCESSED, events, 2);
}

int64_t log_kit_state(struct log_kit *log, uint32_t number)
{
    struct record record = {.kind = RECORD_STATEMENT,
                            .statement = {.claim_id = log->folded.claim_id,
                                          .sequence = log->folded.next_sequence,
                                          .format = STATE_FORMAT,
                                          .order = log->orders[number]}};
    return put(log, &record);
}

int64_t log_kit_continue(struct log_kit *log, int64_t trimmed)
{
    struct record record = {.kind = RECORD_CONTINUATION};
    admission_state(&log->folded, &record.continuation);
    record.continuation.trimmed = trimmed;
    return put(log, &record);
}

int64_t log_kit_state_all(struct log_kit *log)
{
    int64_t start = log_kit_continue(log, -1);
    for (uint32_t i = 0; i < log->order_count; i++)
        log_kit_state(log, i);
    log_kit_continue(log, start);
    log_kit_continue(log, -1);
    return start;
}

int64_t log_kit_zombie(struct log_kit *log, uint8_t claim_id)
{
    struct event event = {.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.code = TEXT("UnknownOrder")}};
    struct decision decision = {.claim_id = {{claim_id}},
                                .command_offset = log->folded.next_command_offset,
                                .command_time = BEGAN_AT,
                                .order_id = TEXT("unknown"),
                                .decided_at = BEGAN_AT,
                                .emitted_through = -1,
                                .events = &event,
                                .event_count = 1};
    int64_t at = session_kit_append(log->session, "t.events", RECORD_DECISION, &decision);
    log->folded.next_event_offset = at + 1;
    return at;
}
