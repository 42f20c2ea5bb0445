/* SPDX-License-Identifier: Apache-2.0 */
/* Owners and standbys on a log whose owner has trimmed it: they begin where it begins, and nothing
 * of an order is missing; or they notice. The test is the owner that restates and trims. */
#include "base/goods.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

TestSuite(owner_trimmed);

enum { ORDERS = 5, LOG_END = ORDERS + 1 };

static const struct goods euros = {.currency = TEXT_CONST("EUR")};

static struct owner_kit kit;
static struct owner_kit_process *process;
static struct checkpoint folded; /* what the log says up to its end */
static int64_t start;            /* where it begins when it is trimmed */
static struct order orders[ORDERS];

static const char *id(uint32_t number)
{
    return owner_kit_id(&kit, 0, number);
}

static void keep_orders(struct view *view)
{
    struct error error;
    for (uint32_t i = 0; i < ORDERS; i++) {
        const struct order *order = NULL;
        cr_assert_eq(view_order(view, text_of(id(i)), &order, &error), ERROR_OK);
        cr_assert_not_null(order);
        order_copy(order, &kit.heap.arena, &orders[i]);
    }
    folded = *view_checkpoint(view);
}

/* A log with a Claim and ORDERS Decisions; its owner's store, closed. */
static void begin(void)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    const struct owner *owner = owner_kit_own(process, 0);
    for (uint32_t i = 0; i < ORDERS; i++)
        owner_kit_submit(&kit, id(i));
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), LOG_END);
    keep_orders(owner_view(owner));
    owner_kit_release(process, 0);
    cr_assert_eq(folded.emitted_through, LOG_END - 1, "all is emitted");
}

static int64_t go_on(int64_t trimmed)
{
    struct record record = {.kind = RECORD_CONTINUATION};
    admission_state(&folded, &record.continuation);
    record.continuation.trimmed = trimmed;
    int64_t at =
        owner_kit_send(&kit, "p.events", 0, TEXT("s-1"), RECORD_CONTINUATION, &record.continuation);
    cr_assert_eq(admission_record(&folded, &record, at), ADMITTED);
    return at;
}

static void restate(const struct order *order)
{
    struct statement statement = {.claim_id = folded.claim_id,
                                  .sequence = folded.next_sequence,
                                  .format = STATE_FORMAT,
                                  .order = *order};
    owner_kit_send(&kit, "p.events", 0, order->details.order_id, RECORD_STATEMENT, &statement);
    cr_assert_eq(admission_statement(&folded, &statement), ADMITTED);
}

static void state_all(void)
{
    start = go_on(-1);
    for (uint32_t i = 0; i < ORDERS; i++)
        restate(&orders[i]);
    go_on(start);
    go_on(-1);
}

static void trim(void)
{
    broker_memory_trim(kit.kafka, "p.events", 0, start);
}

static void assert_has_all_orders(const struct owner *owner)
{
    struct error error;
    for (uint32_t i = 0; i < ORDERS; i++) {
        const struct order *order = NULL;
        cr_assert_eq(view_order(owner_view(owner), text_of(id(i)), &order, &error), ERROR_OK);
        cr_assert_not_null(order);
        cr_assert_eq(order->version, orders[i].version);
        cr_assert_eq(order->accepted_offset, orders[i].accepted_offset);
        cr_assert_eq(order->stated_offset, start + 1 + i);
    }
}

Test(owner_trimmed, decides_on_with_an_empty_store_that_begins_inside_the_log)
{
    begin();
    state_all();
    trim();
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    const struct owner *owner = owner_kit_own(other, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    assert_has_all_orders(owner);
    cr_assert_eq(view_checkpoint(owner_view(owner))->start, start);
    owner_kit_report(&kit, id(2));
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, id(2))->order_state, ORDER_PROCESSED);
    for (uint32_t i = 0; i < ORDERS; i++)
        cr_assert_eq(owner_kit_requests(&kit, id(i)), 1, "a statement has no effects");
}

Test(owner_trimmed, goes_on_where_its_store_is_when_it_restarts)
{
    begin();
    state_all();
    trim();
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_run_until(&kit, owner_kit_own(other, 0), OWNER_RUNNING, 5000);
    owner_kit_release(other, 0);
    const struct owner *owner = owner_kit_own(other, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    assert_has_all_orders(owner);
    cr_assert_eq(view_checkpoint(owner_view(owner))->start, start);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTrimmed", true), 0);
}

/* It could not have read what led to them. One that has folded the log goes on; one that has not
 * leaves the partition to newer instances. */
Test(owner_trimmed, does_not_begin_with_orders_of_a_newer_format)
{
    begin();
    folded.state_format = STATE_FORMAT + 1;
    state_all();
    owner_kit_stand_by(process, 0);
    owner_kit_run(&kit, 1000);
    trim();
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    const struct owner *owner = owner_kit_own(other, 0);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 5000);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownFormat", true), 1, "%s", owner_kit_trouble(owner));
    cr_assert(owner_is_outdated(owner));
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 0, "it claims nothing");
    owner_kit_release(other, 0);
    owner_kit_run_until(&kit, owner_kit_own(process, 0), OWNER_RUNNING, 5000);
}

/* Its checkpoint is exactly where the log begins now. */
Test(owner_trimmed, folds_again_what_its_store_has_fallen_behind)
{
    begin();
    state_all();
    trim();
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTrimmed", true), 1);
    assert_has_all_orders(owner);
}

/* ---- a reader that comes and goes ---- */

static struct follower *visitor;

static void on_visitor_checked(void *ctx)
{
    (void)ctx;
    follower_run(visitor, INT64_MAX);
}

static void visit(void)
{
    static const struct follower_ops ops = {.comes_and_goes = true, .checked = on_visitor_checked};
    char path[256];
    struct error error;
    snprintf(path, sizeof(path), "%s/visitor", process->folder);
    struct view_options options = {
        .env = kit.stores, .codec = process->cluster->codec, .path = path, .cache_bytes = 1 << 16};
    cr_assert_eq(follower_new(process->cluster, 0, &options, &ops, NULL, &visitor, &error),
                 ERROR_OK, "%s", error.message);
    owner_kit_run(&kit, 5000);
    cr_assert(follower_is_at_end(visitor));
}

static void end_visit(void)
{
    follower_flush(visitor);
    follower_free(visitor);
}

/* It folds again from where the log begins now, which is ordinary. */
Test(owner_trimmed, raises_no_alert_for_a_reader_that_comes_and_goes)
{
    begin();
    visit();
    end_visit();
    state_all();
    trim();
    visit();
    cr_assert_eq(follower_checkpoint(visitor)->start, start);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTrimmed", true), 0);
    end_visit();
}

Test(owner_trimmed, folds_again_when_its_position_is_deleted_while_it_follows)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    owner_kit_run(&kit, 1000);
    broker_memory_disconnect(process->broker);
    owner_kit_run(&kit, 100);
    go_on(-1);
    state_all();
    trim();
    broker_memory_connect(process->broker);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTrimmed", true), 1);
    cr_assert(owner_is_warm(standby));
    assert_has_all_orders(standby);
}

/* The reader of what was not emitted admits the Decision that follows the statements. */
Test(owner_trimmed, emits_what_was_decided_after_a_statement)
{
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false}};
    struct event events[] = {{.kind = EVENT_ORDER_ACCEPTED,
                              .order_accepted = {.details = {.order_id = text_of("last"),
                                                             .goods = &euros,
                                                             .workflow = TEXT("test"),
                                                             .workflow_version = 1},
                                                 .steps = plans,
                                                 .step_count = 1}},
                             {.kind = EVENT_ORDER_STARTED},
                             {.kind = EVENT_STEP_STARTED,
                              .step_started = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                               .agent = TEXT("agent"),
                                               .action = TEXT("A"),
                                               .locked_by = TEXT("s-1")}}};
    begin();
    state_all();
    owner_kit_submit(&kit, "last");
    events[2].step_started.complete_by = kit.clock.now_wall_ms + 60000;
    struct decision decision = {.claim_id = folded.claim_id,
                                .sequence = folded.next_sequence,
                                .command_offset = folded.next_command_offset,
                                .order_id = TEXT("last"),
                                .order_version = 1,
                                .order_state = ORDER_PROCESSING,
                                .decided_at = kit.clock.now_wall_ms,
                                .emitted_through = LOG_END - 1,
                                .events = events,
                                .event_count = 3};
    owner_kit_send(&kit, "p.events", 0, TEXT("last"), RECORD_DECISION, &decision);
    broker_memory_trim(kit.kafka, "p.commands", 0, ORDERS + 1);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_requests(&kit, "last"), 1);
    for (uint32_t i = 0; i < ORDERS; i++)
        cr_assert_eq(owner_kit_requests(&kit, id(i)), 1);
}

Test(owner_trimmed, does_not_claim_a_log_in_which_orders_may_be_missing)
{
    begin();
    start = go_on(-1);
    for (uint32_t i = 0; i < ORDERS; i++)
        restate(&orders[i]);
    trim(); /* and what said that it may be trimmed is lost */
    int64_t log_end = owner_kit_end(&kit, "p.events", 0);
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    const struct owner *owner = owner_kit_own(other, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "LogIncomplete", true), 1, "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), log_end);
    go_on(start);
    owner_kit_run(&kit, 60000);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
    assert_has_all_orders(owner);
}

Test(owner_trimmed, stops_with_an_empty_store_at_a_log_that_retention_has_cut)
{
    begin();
    state_all();
    broker_memory_trim(kit.kafka, "p.events", 0, start + 1); /* a Statement */
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    const struct owner *owner = owner_kit_own(other, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTruncated", true), 1);
}

Test(owner_trimmed, stops_where_the_log_has_another_number_of_partitions)
{
    begin();
    folded.partition_count = 3;
    struct continuation continuation;
    admission_state(&folded, &continuation);
    start = owner_kit_send(&kit, "p.events", 0, TEXT("s-1"), RECORD_CONTINUATION, &continuation);
    trim();
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(other, 0);
    owner_kit_run(&kit, 10000);
    cr_assert_geq(owner_kit_alerts(&kit, "PartitionsDiffer", true), 1);
}

Test(owner_trimmed, raises_an_alert_where_a_statement_differs)
{
    begin();
    orders[3].complete_by = kit.clock.now_wall_ms + 12345;
    state_all();
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "StatementDiffers", true), 1);
    const struct order *order = NULL;
    struct error error;
    cr_assert_eq(view_order(owner_view(owner), text_of(id(3)), &order, &error), ERROR_OK);
    cr_assert_eq(order->complete_by, orders[3].complete_by, "what it says counts");
}

/* The first one, and a minute later how many there were. */
Test(owner_trimmed, counts_the_statements_that_differ_after_the_first)
{
    begin();
    for (uint32_t i = 0; i < ORDERS; i++)
        orders[i].complete_by = kit.clock.now_wall_ms + 12345;
    state_all();
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "StatementDiffers", true), 1);
    owner_kit_run(&kit, 61000);
    cr_assert_eq(owner_kit_alerts(&kit, "StatementDiffers", true), 2);
    struct record record;
    cr_assert(owner_kit_read(&kit, "p.alerts", 0, owner_kit_end(&kit, "p.alerts", 0) - 1, &record));
    cr_assert(text_equal(record.operator_alert.code, TEXT("StatementDiffers")));
    cr_assert_eq(strncmp(record.operator_alert.message.data, "4 more", 6), 0);
    owner_kit_run(&kit, 180000);
    cr_assert_eq(owner_kit_alerts(&kit, "StatementDiffers", true), 2);
}

/* ---- a broker that has forgotten a deletion ---- */

/* The log was trimmed to `start`, and begins at this offset. */
static void forget_to(int64_t offset)
{
    broker_memory_keep_trimmed(kit.kafka);
    trim();
    broker_memory_forget_trim(kit.kafka, "p.events", 0, offset);
}

static struct owner *own_with_an_empty_store(void)
{
    return owner_kit_own(owner_kit_boot(&kit, "s-2", 0), 0);
}

Test(owner_trimmed, begins_where_the_log_is_whole_when_a_broker_forgets_a_trim)
{
    begin();
    state_all();
    forget_to(start - 2); /* a Decision */
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_expect_eq(view_checkpoint(owner_view(owner))->start, start);
    assert_has_all_orders(owner);
    cr_expect_eq(owner_kit_alerts(&kit, "LogTruncated", true), 0);
}

/* What does not count, of a former owner or of one that no longer is, says nothing. */
static void say_falsely(uint8_t claim_id, int64_t trimmed)
{
    struct continuation continuation;
    admission_state(&folded, &continuation);
    continuation.claim_id = (struct uuid){{claim_id}};
    continuation.trimmed = trimmed;
    owner_kit_send(&kit, "p.events", 0, TEXT("s-0"), RECORD_CONTINUATION, &continuation);
}

Test(owner_trimmed, begins_only_where_a_record_that_counts_names_the_place)
{
    begin();
    int64_t first = go_on(-1);
    say_falsely(99, first);     /* it would count nowhere */
    say_falsely(99, first + 1); /* only for a reader that began with one of these */
    say_falsely(99, LOG_END - 1);
    restate(&orders[0]);
    state_all();
    forget_to(first - 1);
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_expect_eq(view_checkpoint(owner_view(owner))->start, start);
    assert_has_all_orders(owner);
}

static void claim_again(void)
{
    struct record record = {.kind = RECORD_CLAIM,
                            .claim = {.claim_id = {{55}},
                                      .instance = TEXT("s-1"),
                                      .claimed_at = kit.clock.now_wall_ms,
                                      .partition_count = 1,
                                      .format = STATE_FORMAT}};
    int64_t at = owner_kit_send(&kit, "p.events", 0, TEXT("s-1"), RECORD_CLAIM, &record.claim);
    cr_assert_eq(admission_record(&folded, &record, at), ADMITTED);
}

/* The log begins with what a zombie wrote. */
static void expect_begins_after_a_zombie(bool is_claimed)
{
    begin();
    int64_t zombie = owner_kit_end(&kit, "p.events", 0);
    folded.next_command_offset -= is_claimed; /* what it states is old */
    say_falsely(99, -1);
    folded.next_command_offset += is_claimed;
    if (is_claimed)
        claim_again();
    state_all();
    forget_to(zombie);
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_expect_eq(view_checkpoint(owner_view(owner))->start, start);
    assert_has_all_orders(owner);
    cr_expect_eq(owner_kit_alerts(&kit, "LogIncomplete", true), 0);
    cr_expect_eq(owner_kit_alerts(&kit, "ContinuationDiffers", true), 0);
}

Test(owner_trimmed, begins_after_a_zombie_whose_claim_is_never_ended)
{
    expect_begins_after_a_zombie(false);
}

Test(owner_trimmed, begins_after_a_zombie_that_states_something_else)
{
    expect_begins_after_a_zombie(true);
}

/* The Statements before the next Claim count for none that begins with what the zombie wrote, and
 * all that follows fits. */
Test(owner_trimmed, begins_after_a_zombie_whose_claim_ends_after_the_statements)
{
    begin();
    int64_t zombie = owner_kit_end(&kit, "p.events", 0);
    say_falsely(99, -1);
    start = go_on(-1);
    for (uint32_t i = 0; i < ORDERS; i++)
        restate(&orders[i]);
    claim_again();
    go_on(start);
    go_on(-1);
    forget_to(zombie);
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_expect_eq(view_checkpoint(owner_view(owner))->start, start);
    assert_has_all_orders(owner);
}

Test(owner_trimmed, goes_on_as_soon_as_the_log_says_where_it_is_whole)
{
    begin();
    start = go_on(-1);
    for (uint32_t i = 0; i < ORDERS; i++)
        restate(&orders[i]);
    forget_to(start - 1);
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run(&kit, 50000);
    cr_expect_eq(owner_state(owner), OWNER_STOPPED);
    cr_expect_eq(owner_kit_alerts(&kit, "LogTruncated", true), 1, "%s", owner_kit_trouble(owner));
    go_on(start);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    assert_has_all_orders(owner);
}

Test(owner_trimmed, folds_again_from_where_the_log_is_whole)
{
    begin();
    go_on(-1); /* which its store does not have */
    go_on(-1);
    state_all();
    forget_to(start - 1);
    broker_memory_forget_trim(kit.kafka, "p.events", 0, LOG_END + 1);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    assert_has_all_orders(owner);
}

/* The broker has lost the tail as well: the record before the checkpoint, or all after it. */
static void expect_tail_lost(bool regrows)
{
    begin();
    state_all();
    owner_kit_run_until(&kit, owner_kit_own(process, 0), OWNER_RUNNING, 5000);
    owner_kit_release(process, 0);
    int64_t log_end = owner_kit_end(&kit, "p.events", 0);
    forget_to(start - 1);
    broker_memory_truncate(kit.kafka, "p.events", 0, log_end - 1); /* a Claim */
    if (regrows)
        owner_kit_claim(&kit, 0, 77);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    cr_expect_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_expect_eq(owner_kit_alerts(&kit, "LogDiffers", true), 0);
    assert_has_all_orders(owner);
}

Test(owner_trimmed, knows_its_log_when_a_broker_forgets_a_trim_and_loses_a_claim)
{
    expect_tail_lost(false);
}

Test(owner_trimmed, knows_its_log_when_a_broker_forgets_a_trim_and_its_tail_is_another)
{
    expect_tail_lost(true);
}

static void skip(int64_t offset)
{
    struct partition_reset reset = {.expected_offset = owner_kit_end(&kit, "p.events", 0),
                                    .next_command_offset = -1,
                                    .has_skip = true,
                                    .skip = {offset, offset + 1},
                                    .by = TEXT("ann"),
                                    .reason = TEXT("it cannot be folded"),
                                    .reset_at = kit.clock.now_wall_ms};
    owner_kit_send(&kit, "p.events", 0, TEXT("ann"), RECORD_RESET, &reset);
}

/* It counts as the owner's next record, until a Reset skips it. */
static int64_t decide_the_impossible(void)
{
    struct event event = {.kind = EVENT_STEP_SUCCEEDED,
                          .step_succeeded = {.ref = {TEXT("none"), DIRECTION_DO, 1}}};
    struct decision decision = {.claim_id = folded.claim_id,
                                .sequence = folded.next_sequence,
                                .command_offset = folded.next_command_offset,
                                .command_time = kit.clock.now_wall_ms,
                                .order_id = orders[0].details.order_id,
                                .order_version = orders[0].version + 1,
                                .order_state = orders[0].state,
                                .decided_at = folded.newest_decided_at,
                                .emitted_through = folded.emitted_through,
                                .events = &event,
                                .event_count = 1};
    return owner_kit_send(&kit, "p.events", 0, TEXT("x"), RECORD_DECISION, &decision);
}

/* What does not fit is not that the log begins with a zombie's record. Further on is one that only
 * a newer version could read, which is skipped as well. */
Test(owner_trimmed, looks_for_a_reset_where_no_later_beginning_is_found)
{
    begin();
    start = go_on(-1);
    for (uint32_t i = 0; i < ORDERS; i++)
        restate(&orders[i]);
    int64_t impossible = decide_the_impossible();
    go_on(start);
    go_on(-1);
    skip(impossible);
    skip(broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"),
                              (struct text){"\xc3\x01newer-it-is", 13}));
    trim();
    const struct owner *owner = own_with_an_empty_store();
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 60000);
    cr_expect_eq(view_checkpoint(owner_view(owner))->start, start);
    assert_has_all_orders(owner);
}
