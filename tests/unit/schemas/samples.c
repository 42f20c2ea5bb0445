/* SPDX-License-Identifier: Apache-2.0 */
/* See samples.h. All values differ from each other and from their defaults. */
#include "tests/unit/schemas/samples.h"

#include "base/goods.h"

#define AT(n) (INT64_C(1700000000000) + (n))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UUID(first)                                                                                \
    {                                                                                              \
        {                                                                                          \
            (first), 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, \
                0xee, 0xff                                                                         \
        }                                                                                          \
    }
#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

/* ---- the order ---- */

static struct order_line lines[] = {
    {T("85123A"), T("WHITE HANGING HEART T-LIGHT HOLDER"), 6, {25500}},
    {T("71053"), T("Caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80"), 1000000000, {1}},
    {T("zero"), T(""), 1, {0}},
    {T("bounds"), T("-127 and 128 need their bytes"), 127, {-127}},
    {T("more"), T("128"), 128, {128}},
    {T("large"), T("all 18 digits"), -3, {DECIMAL_UNSCALED_MAX}},
    {T("small"), T("all 18 digits"), 64, {-DECIMAL_UNSCALED_MAX}},
};
static struct attribute attributes[] = {
    {T("channel"), T("web")},
    {T("gift note"), T("line one\nline two")},
    {T("z"), T("")},
};
static const struct goods goods = {T("GBP"), lines, COUNT(lines)};
static const struct order_parent parent = {T("o-7"), 4711, T("Waves"), 12, 3, T("o-1"), 2, 99};
static const struct goods least_goods = {.currency = T("EUR")};
#define DETAILS(id, pinned)                                                                   \
    {                                                                                         \
        .order_id = T(id), .customer = T("17850"), .goods = &goods, .attributes = attributes, \
        .attribute_count = COUNT(attributes), .priority = PRIORITY_LOW,                       \
        .reply_to = T("orders.replies.shop"), .workflow = T("order-fulfilment"),              \
        .workflow_version = (pinned),                                                         \
        .traceparent = T("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),          \
        .input = T("{\"express\":true,\"total\":100.1}"), .submitted_by = T("web shop"),      \
        .parent = &parent, .content_hash = {                                                  \
            {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}                           \
        }                                                                                     \
    }
static const struct order_details details = DETAILS("536365", 3);

/* ---- commands ---- */

static const struct command submit_order = {.kind = COMMAND_SUBMIT_ORDER,
                                            .order_id = T("536365"),
                                            .submit_order = DETAILS("536365", 7),
                                            .submit_order.submitted_at = AT(7)};
/* The least that a third-party client must fill in. */
static const struct command submit_order_least = {.kind = COMMAND_SUBMIT_ORDER,
                                                  .order_id = T("536366"),
                                                  .submit_order = {.order_id = T("536366"),
                                                                   .goods = &least_goods,
                                                                   .priority = PRIORITY_NORMAL,
                                                                   .workflow = T("three-steps")}};
static const struct command cancel_order = {.kind = COMMAND_CANCEL_ORDER,
                                            .cancel_order = {T("536365"), T("ann"),
                                                             T("ordered twice"),
                                                             T("orders.replies.shop"), T("shop")}};
static const struct command report_step = {.kind = COMMAND_REPORT_STEP,
                                           .report_step = {.order_id = T("536365"),
                                                           .step = T("TakePayment"),
                                                           .direction = DIRECTION_UNDO,
                                                           .attempt = 300,
                                                           .succeeded = true,
                                                           .output = T("{\"id\":1}"),
                                                           .error_name = T("PaymentDeclined"),
                                                           .error_message = T("no money"),
                                                           .effect = EFFECT_APPLIED,
                                                           .agent = T("payment"),
                                                           .instance = T("payment-1")}};
static const struct command recover_step = {
    .kind = COMMAND_RECOVER_STEP,
    .recover_step = {T("536365"), T("TakePayment"), DIRECTION_UNDO, 2, AT(1), T("supervisor-1")}};
static const struct command start_step = {
    .kind = COMMAND_START_STEP,
    .start_step = {T("536365"), T("TakePayment"), DIRECTION_UNDO, 5, AT(2), T("supervisor-1")}};
static const struct command time_out_order = {
    .kind = COMMAND_TIME_OUT_ORDER, .time_out_order = {T("536365"), AT(3), T("supervisor-2")}};
static const struct command compensate_order = {
    .kind = COMMAND_COMPENSATE_ORDER,
    .compensate_order = {T("536365"), T("bob"), T("the customer gave up")}};
static const struct command resubmit_step = {
    .kind = COMMAND_RESUBMIT_STEP,
    .resubmit_step = {T("536365"), T("TakePayment"), T("bob"), T("bank is back"), true, 7200000}};
static const struct command extend_step = {.kind = COMMAND_EXTEND_STEP,
                                           .extend_step = {T("536365"), T("TakePayment"),
                                                           DIRECTION_UNDO, 6, AT(32),
                                                           T("half done"), T("bank"), T("bank-1")}};

static const struct command complete_step = {
    .kind = COMMAND_COMPLETE_STEP,
    .complete_step = {T("536365"), T("TakePayment"), T("{\"paid\":true}"), T("ann"), T("paid")}};
static const struct command skip_step = {
    .kind = COMMAND_SKIP_STEP,
    .skip_step = {T("536365"), T("TakePayment"), true, T("ann"), T("a gift")}};
static const struct command fail_step = {.kind = COMMAND_FAIL_STEP,
                                         .fail_step = {T("536365"), T("TakePayment"), T("Declined"),
                                                       T("ann"), T("the bank refused"), 13}};
static const struct command pause_order = {
    .kind = COMMAND_PAUSE_ORDER, .pause_order = {T("536365"), T("ann"), T("to look at it")}};
static const struct command resume_order = {
    .kind = COMMAND_RESUME_ORDER, .resume_order = {T("536365"), T("bob"), T("it is right")}};

static const struct command migrate_order = {
    .kind = COMMAND_MIGRATE_ORDER,
    .migrate_order = {T("536365"), T("order-fulfilment"), 3, 4, T("ann"), T("it was wrong")}};
static const struct command amend_order = {
    .kind = COMMAND_AMEND_ORDER,
    .amend_order = {T("536365"), T("{\"amount\":12.5}"), T("ann"), T("a typing error")}};
static const struct text options[] = {T("approve"), T("decline")};
static const struct text groups[] = {T("managers"), T("clerks")};
static const struct command signal_order = {.kind = COMMAND_SIGNAL_ORDER,
                                            .signal_order = {T("536365"),
                                                             T("Approve"),
                                                             T("m-1"),
                                                             T("{\"choice\":\"approve\"}"),
                                                             T("ann"),
                                                             {groups, COUNT(groups)},
                                                             T("orders.replies.shop"),
                                                             T("shop")}};

static const struct command report_suborder = {
    .kind = COMMAND_REPORT_SUBORDER,
    .report_suborder = {T("536365"), 4712, T("Waves"), 14, 4, SUBORDER_FAILED, T("{\"rows\":7}"),
                        T("Declined"), T("no money")}};
static const struct command settle_suborder = {
    .kind = COMMAND_SETTLE_SUBORDER,
    .settle_suborder = {T("536365"), &parent, SETTLE_UNKNOWN, true, T("it has gone"), T("ann")}};

/* ---- the log ---- */

static const struct claim claim = {.claim_id = UUID(1),
                                   .instance = T("scheduler-1"),
                                   .claimed_at = AT(4),
                                   .partition_count = 12,
                                   .format = 5};
static const struct claim claim_reset = {.claim_id = UUID(2),
                                         .instance = T("scheduler-2"),
                                         .claimed_at = AT(5),
                                         .partition_count = 6,
                                         .has_reset = true,
                                         .reset = {77, T("carol"), T("commands were lost")}};
static const struct command_guard attempt = {UUID(3), 4611686018427387904};

static const struct continuation continuation = {.claim_id = UUID(7),
                                                 .sequence = 71,
                                                 .first_claim_id = UUID(8),
                                                 .partition_count = 12,
                                                 .next_command_offset = 72,
                                                 .last_command_offset = -1,
                                                 .last_command_time = AT(40),
                                                 .newest_decided_at = AT(41),
                                                 .emitted_through = -1,
                                                 .claim_decisions = 73,
                                                 .previous_claim_decisions = 74,
                                                 .guarded_offset = 75,
                                                 .guards = 4,
                                                 .written_at = AT(42),
                                                 .format = 6,
                                                 .trimmed = 79,
                                                 .instance = T("scheduler-7"),
                                                 .claimed_at = AT(48)};
static const struct partition_reset reset = {.expected_offset = 76,
                                             .next_command_offset = -1,
                                             .newest_decided_at = AT(44),
                                             .by = T("bob"),
                                             .reason = T("a clock was wrong"),
                                             .reset_at = AT(43)};
static const struct partition_reset reset_skip = {.expected_offset = 77,
                                                  .next_command_offset = 78,
                                                  .has_skip = true,
                                                  .skip = {60, 70},
                                                  .by = T("bob"),
                                                  .reason = T("another client wrote here"),
                                                  .reset_at = AT(45)};

static struct submitted_item submitted_items[] = {
    {16, T("{\"file\":\"a\"}"), {0}, {0}},
    {-1, {0}, T("States.QueryEvaluationError"), T("there is no member b")}};
static struct step_plan migrated_plans[] = {{T("ReserveStock"), T("stock"), {0, 2}, true},
                                            {T("CheckCredit"), T("credit"), {0}, false}};
static struct amended_step amended_steps[] = {{T("Total"), 0}, {T("TakePayment"), 2}};
static struct step_plan plans[] = {{T("ReserveStock"), T("stock"), {0}, false},
                                   {T("TakePayment"), T("bank"), {0}, false}};
#define REF(n)                                \
    {                                         \
        T("TakePayment"), DIRECTION_UNDO, (n) \
    }
#define MARK(n)                                            \
    {                                                      \
        T("code" n), T("reason" n), T("by" n), T("step" n) \
    }
static struct command_header command_headers[] = {{T("trace"), T("\xff\x00")}, {{0}, {0}}};

static struct event events[] = {
    {EVENT_ORDER_ACCEPTED, .order_accepted = {DETAILS("536365", 3), plans, 2, AT(6), 1001}},
    {EVENT_ORDER_STARTED, .order_marked = MARK("2")},
    {EVENT_STEP_STARTED,
     .step_started = {REF(3), 31, T("bank"), T("refund"), T("scheduler-1"), AT(7), 1002,
                      T("bank: 4 of 16 free"), 5, T("{\"amount\":100.1}")}},
    {EVENT_STEP_SUCCEEDED, .step_succeeded = {REF(4), T("{\"ok\":true}"), T("payment-1")}},
    {EVENT_STEP_FAILED, .step_failed = {REF(5), T("Declined"), T("no money"), EFFECT_APPLIED, 51,
                                        T("payment-2"), true}},
    {EVENT_STEP_TIMED_OUT,
     .step_timed_out = {REF(6), EFFECT_APPLIED, 61, AT(8), T("supervisor-1")}},
    {EVENT_STEP_RETRY_SCHEDULED, .step_retry_scheduled = {REF(7), AT(9), 7, 71}},
    {EVENT_STEP_EXHAUSTED, .step_marked = {REF(8), T("no retry is left")}},
    {EVENT_STEP_SKIPPED, .step_marked = {REF(9), T("nothing to undo")}},
    {EVENT_STEP_COMPENSATED, .step_marked = {REF(10), T("undone")}},
    {EVENT_STEP_RESUBMITTED, .step_resubmitted = {REF(11), 111, T("bob"), T("bank is back")}},
    {EVENT_ORDER_CANCELLED, .order_marked = MARK("12")},
    {EVENT_ORDER_TIMED_OUT, .order_marked = MARK("13")},
    {EVENT_COMPENSATION_STARTED, .order_marked = MARK("14")},
    {EVENT_ORDER_PROCESSED, .order_processed = {T("code15"), T("reason15"), T("by15"), T("step15"),
                                                T("{\"paid\":true}"), T("no member x")}},
    {EVENT_ORDER_COMPENSATED, .order_marked = MARK("16")},
    {EVENT_ORDER_FAILED, .order_marked = MARK("17")},
    {EVENT_ORDER_RESUMED, .order_marked = MARK("18")},
    {EVENT_ALERT_RAISED, .order_marked = MARK("19")},
    {EVENT_ALERT_CLOSED, .order_marked = MARK("20")},
    {EVENT_COMMAND_REJECTED,
     .command_rejected = {COMMAND_START_STEP, T("NotYetDue"), T("too early"), T("supervisor-1"),
                          REF(21), AT(10), &parent, SETTLE_UNKNOWN}},
    {EVENT_REPORT_IGNORED, .report_ignored = {REF(22), true, T("Superseded"), T("attempt 23 runs"),
                                              T("payment-1"), &parent, SETTLE_UNDO}},
    {EVENT_SUBMISSION_REPEATED, .order_marked = MARK("23")},
    {EVENT_COMMAND_DEAD_LETTERED,
     .command_dead_lettered = {.bytes = T("\x00\xff\xc3\x28"),
                               .key = T("\xfe"),
                               .reason = T("not Avro"),
                               .code = T("Undecodable"),
                               .quarantined = true,
                               .value_bytes = 241,
                               .value_xxh128 = T("00112233445566778899aabbccddeeff"),
                               .meta_bytes = 242,
                               .headers = command_headers,
                               .header_count = COUNT(command_headers)}},
    {EVENT_STEP_QUEUED, .step_queued = {REF(25), AT(33), AT(34), T("bank: circuit open")}},
    {EVENT_STEP_EXTENDED,
     .step_extended = {REF(26), T("refund"), AT(35), T("half done"), T("bank-1"), 6}},
    {EVENT_STEP_COMPLETED_BY_HAND,
     .step_completed_by_hand = {REF(28), T("{\"ok\":2}"), T("ann"), T("paid in cash")}},
    {EVENT_STEP_SKIPPED_BY_HAND, .step_skipped_by_hand = {REF(29), T("bob"), T("a gift")}},
    {EVENT_STEP_FAILED_UNSTARTED,
     .step_failed_unstarted = {REF(30), T("Declined"), 52, T("ann"), T("the bank refused")}},
    {EVENT_ORDER_DEADLINE_SET, .order_deadline_set = {AT(36), 1003, T("bob"), T("in a hurry")}},
    {EVENT_ORDER_PAUSED, .order_marked = MARK("32")},
    {EVENT_ORDER_PAUSE_ENDED, .order_marked = MARK("33")},
    {EVENT_ORDER_MIGRATED, .order_migrated = {3, 4, migrated_plans, COUNT(migrated_plans), true,
                                              T("ann"), T("it was wrong")}},
    {EVENT_STEP_PASSED, .step_passed = {REF(34), T("{\"total\":7}"), T("m-2"), T("ann")}},
    {EVENT_STEP_CAUGHT, .step_marked = {REF(35), T("a Catch matches Declined")}},
    {EVENT_ORDER_AMENDED, .order_amended = {T("{\"amount\":12.5}"), amended_steps,
                                            COUNT(amended_steps), T("ann"), T("a typing error")}},
    {EVENT_STEP_WAITING,
     .step_waiting =
         {REF(37), AT(38), true, T("managers"), {options, COUNT(options)}, T("Refund 7 EUR?")}},
    {EVENT_SIGNAL_RECEIVED,
     .signal_received = {T("Approve"), T("m-3"), T("{\"status\":\"pending\"}"), T("bob"), true}},
    {EVENT_SUBORDERS_STARTED, .suborders_started = {REF(39), 391, T("import/Waves"), 392, 393,
                                                    T("[1,2]"), PRIORITY_LOW, AT(49), 394}},
    {EVENT_SUBORDERS_SUBMITTED,
     .suborders_submitted = {REF(40), 401, AT(50), submitted_items, COUNT(submitted_items)}},
    {EVENT_SUBORDERS_ASKED, .suborders_asked = {REF(41), 411, AT(51)}},
    {EVENT_SUBORDER_ENDED,
     .suborder_ended = {T("Waves"), 15, 421, SUBORDER_FINAL, T("{\"rows\":8}"), T("Declined"),
                        T("no money"), true, true, T("ann")}},
    {EVENT_SUBORDERS_RECALLED,
     .suborders_recalled = {REF(43), 431, AT(52), T("States.Timeout"), T("too slow")}},
    {EVENT_ORDER_HELD, .order_held = {AT(53), T("{\"rows\":9}"), T("no member y")}},
};
_Static_assert(COUNT(events) == EVENT_KIND_COUNT - 1, "one of each");
static const struct decision decision = {
    .claim_id = UUID(4),
    .sequence = 41,
    .command_offset = 42,
    .command_time = AT(11),
    .order_id = T("536365"),
    .order_version = 43,
    .order_state = ORDER_COMPENSATING,
    .reply_to = T("orders.replies.shop"),
    .decided_at = AT(12),
    .emitted_through = 44,
    .events = events,
    .event_count = COUNT(events),
};

static struct event small_events[] = {
    {EVENT_STEP_SUCCEEDED,
     .step_succeeded = {{T("ReserveStock"), DIRECTION_DO, 1}, T("{\"ok\":true}"), T("stock-1")}},
    {EVENT_STEP_STARTED, .step_started = {{T("TakePayment"), DIRECTION_DO, 1},
                                          0,
                                          T("payment"),
                                          T("TakePayment"),
                                          T("scheduler-1"),
                                          AT(30000),
                                          1000,
                                          T(""),
                                          0,
                                          T("")}},
    {EVENT_STEP_STARTED, .step_started = {{T("BookCarrier"), DIRECTION_DO, 1},
                                          0,
                                          T("carrier"),
                                          T("BookCarrier"),
                                          T("scheduler-1"),
                                          AT(30000),
                                          1000,
                                          T(""),
                                          0,
                                          T("")}},
};
const struct decision sample_small_decision = {
    .claim_id = UUID(5),
    .sequence = 123456,
    .command_offset = 234567,
    .command_time = AT(13),
    .order_id = T("order-0000123456"),
    .order_version = 2,
    .order_state = ORDER_PROCESSING,
    .reply_to = T("orders.replies.shop"),
    .decided_at = AT(14),
    .emitted_through = 345678,
    .events = small_events,
    .event_count = COUNT(small_events),
};

/* ---- effects ---- */

static struct step_output outputs[] = {{T("ReserveStock"), T("{\"reserved\":6}")},
                                       {T("TakePayment"), T("{}")}};
static const struct step_request step_request = {
    .order_id = T("536365"),
    .ref = REF(12),
    .generation = 3,
    .agent = T("bank"),
    .action = T("refund"),
    .idempotency_key = T("536365/TakePayment/undo/3"),
    .do_key = T("536365/TakePayment/do/2"),
    .complete_by = AT(15),
    .extension = true,
    .order = &details,
    .outputs = outputs,
    .output_count = COUNT(outputs),
    .claim_id = UUID(6),
    .decision_offset = 61,
    .order_version = 62,
    .input = T("{\"amount\":100.1}"),
};
static struct step_change changes[] = {
    {T("ReserveStock"), DIRECTION_DO, STEP_PROCESSED, 1, T("")},
    {T("TakePayment"), DIRECTION_UNDO, STEP_ERROR, 2, T("Declined")},
};
static const struct status_update status_update = {
    .order_id = T("536365"),
    .kind = STATUS_RESUMED,
    .order_state = ORDER_ERROR,
    .order_version = 71,
    .decided_at = AT(16),
    .command_partition = 11,
    .command_offset = 72,
    .decision_offset = 73,
    .code = T("PaymentDeclined"),
    .message = T("no money"),
    .steps = changes,
    .step_count = COUNT(changes),
    .output = T("{\"paid\":true}"),
    .question = T("Refund 7 EUR?"),
};
static const struct operator_alert operator_alert = {
    .order_id = T("536365"),
    .raised = true,
    .code = T("PaymentDeclined"),
    .message = T("look at it"),
    .step = T("TakePayment"),
    .by = T("bob"),
    .order_version = 81,
    .partition = 10,
    .command_offset = 82,
    .decision_offset = 83,
    .decided_at = AT(17),
    .root = T("536364"),
};

/* ---- side topics and stores ---- */

static const struct workflow_activation workflow_activation = {
    T("order-fulfilment"), 7, true, T("ann"), T("tested"), AT(47)};
static const struct workflow_definition workflow_definition = {
    T("order-fulfilment"), 3, T("Name: order-fulfilment\n"), T("yaml"), T("ann"), AT(18)};
static const struct agent_health agent_health = {.agent = T("bank"),
                                                 .instance = T("bank-1"),
                                                 .capacity = 1000,
                                                 .in_flight = 17,
                                                 .queued = 18,
                                                 .partitions = 4,
                                                 .latency_p50_ms = 19,
                                                 .latency_p95_ms = 20,
                                                 .errors_permille = 21,
                                                 .circuit = T("half-open"),
                                                 .version = T("0.1.0"),
                                                 .last_error = T("503 from the bank"),
                                                 .heartbeat_ms = 2000,
                                                 .reported_at = AT(19)};
static const struct agent_pause agent_pause = {T("bank"), true, T("ann"), T("the bank is down"),
                                               AT(48)};
static const struct schedule_definition schedule = {
    T("nightly"), T("Schedule: nightly\n"), T("yaml"), T("ann"), AT(18), true,
    T("bob"),     T("the bank is down"),    AT(48)};
static const struct dead_letter_resolution dead_letter_resolution = {
    .partition = 12,
    .offset = 48,
    .kind = DEAD_LETTER_REPLAYED,
    .topic = T("orders.submissions"),
    .replayed_partition = 13,
    .replayed_offset = 49,
    .corrected = true,
    .by = T("ann"),
    .reason = T("the shop sent a wrong currency"),
    .resolved_at = AT(48)};
static const struct leadership leadership = {.role = T("auditor"),
                                             .kind = LEADERSHIP_RENEW,
                                             .instance = T("supervisor-1"),
                                             .candidate_id = UUID(7),
                                             .rank = 5,
                                             .term = 41,
                                             .lease_ms = 6000,
                                             .progress_at = AT(28),
                                             .said_at = AT(29),
                                             .reason = T("outranked")};

static const struct awaiting awaiting = {.group = T("managers"),
                                         .options = {options, COUNT(options)},
                                         .question = T("Refund 7 EUR?"),
                                         .payload = T("{\"ok\":true}"),
                                         .by = T("eve"),
                                         .signal_id = T("m-4"),
                                         .signals = 99};
static struct suborder_item items[] = {{ITEM_SUBMITTED, 5, AT(54), T("{\"file\":\"a\"}"), {0}},
                                       {ITEM_HELD, 4, AT(55), {0}, T("{\"rows\":7}")},
                                       {ITEM_TO_DO, 0, 0, {0}, {0}}};
static struct suborders suborders = {.workflow = T("import/Waves"),
                                     .list = T("[\"a\",\"b\",\"c\"]"),
                                     .items = items,
                                     .item_count = COUNT(items),
                                     .quota = 111,
                                     .priority = PRIORITY_HIGH,
                                     .asked_since = AT(56),
                                     .times_out_at = AT(57),
                                     .recalled = true,
                                     .stopped = true,
                                     .failed = true,
                                     .undo_failed = true,
                                     .error_name = T("Declined"),
                                     .error_message = T("no money")};
static struct step steps[] = {
    {.name = T("ReserveStock"), .agent = T("stock")},
    {.name = T("TakePayment"),
     .agent = T("bank"),
     .direction = DIRECTION_UNDO,
     .state = STEP_SKIPPED,
     .attempt = 91,
     .failure_count = 92,
     .locked_by = T("scheduler-1"),
     .complete_by = AT(20),
     .extension_ms = 99,
     .margin_ms = 1003,
     .wait = {.retry_at = AT(21), .queued_at = AT(36)},
     .effect = EFFECT_UNKNOWN,
     .undo_effect = EFFECT_APPLIED,
     .generation = {93, 94},
     .retries_used = {0, 2, 0, 1},
     .started_version = 95,
     .completed_version = 96,
     .started_at = AT(22),
     .inputs = 97,
     .workflow_version = 98,
     .ended_at = AT(23),
     .output = T("[1]"),
     .error_name = T("Declined"),
     .error_message = T("no money"),
     .input = T("{\"amount\":100.1}"),
     .awaiting = &awaiting,
     .suborders = &suborders},
    {.name = T("BookCarrier"), .agent = T("carrier"), .retries_used = {1, 2, 3, 4, 5, 6, 7, 8}},
};
#define ORDER_ROW                                                                             \
    {                                                                                         \
        .details = DETAILS("536365", 3), .version = 101, .state = ORDER_ERROR,                \
        .error_from = ORDER_COMPENSATING, .accepted_at = AT(24), .accepted_offset = 102,      \
        .stated_offset = 103, .updated_at = AT(25), .complete_by = AT(26), .margin_ms = 1004, \
        .ended_at = AT(27), .steps = steps, .step_count = COUNT(steps), .alert_open = true,   \
        .cancelled = true, .reason_code = T("Cancelled"), .reason = T("ordered twice"),       \
        .reason_by = T("ann"), .paused_at = AT(46), .paused_by = T("carol"),                  \
        .pause_reason = T("a stocktaking"), .output = T("{\"paid\":true}"),                   \
        .output_problem = T("no member x"), .held_at = AT(58),                                \
    }
static const struct order order_row = ORDER_ROW;
static const struct statement statement = {
    .claim_id = UUID(9), .sequence = 80, .format = 7, .order = ORDER_ROW};
static const struct expiry expiry = {.claim_id = UUID(10),
                                     .sequence = 81,
                                     .decided_at = AT(47),
                                     .ended_at = AT(31),
                                     .order_id = T("536365")};

const struct sample samples[] = {
    {"SubmitOrder", RECORD_SUBMIT_ORDER, &submit_order},
    {"SubmitOrder-least", RECORD_SUBMIT_ORDER, &submit_order_least},
    {"CancelOrder", RECORD_CANCEL_ORDER, &cancel_order},
    {"ReportStep", RECORD_REPORT_STEP, &report_step},
    {"RecoverStep", RECORD_RECOVER_STEP, &recover_step},
    {"StartStep", RECORD_START_STEP, &start_step},
    {"TimeOutOrder", RECORD_TIME_OUT_ORDER, &time_out_order},
    {"CompensateOrder", RECORD_COMPENSATE_ORDER, &compensate_order},
    {"ResubmitStep", RECORD_RESUBMIT_STEP, &resubmit_step},
    {"ExtendStep", RECORD_EXTEND_STEP, &extend_step},
    {"CompleteStep", RECORD_COMPLETE_STEP, &complete_step},
    {"SkipStep", RECORD_SKIP_STEP, &skip_step},
    {"FailStep", RECORD_FAIL_STEP, &fail_step},
    {"PauseOrder", RECORD_PAUSE_ORDER, &pause_order},
    {"ResumeOrder", RECORD_RESUME_ORDER, &resume_order},
    {"MigrateOrder", RECORD_MIGRATE_ORDER, &migrate_order},
    {"AmendOrder", RECORD_AMEND_ORDER, &amend_order},
    {"SignalOrder", RECORD_SIGNAL_ORDER, &signal_order},
    {"ReportSuborder", RECORD_REPORT_SUBORDER, &report_suborder},
    {"SettleSuborder", RECORD_SETTLE_SUBORDER, &settle_suborder},
    {"Claim", RECORD_CLAIM, &claim},
    {"Claim-reset", RECORD_CLAIM, &claim_reset},
    {"Attempt", RECORD_COMMAND_GUARD, &attempt},
    {"Continuation", RECORD_CONTINUATION, &continuation},
    {"Reset", RECORD_RESET, &reset},
    {"Reset-skip", RECORD_RESET, &reset_skip},
    {"Statement", RECORD_STATEMENT, &statement},
    {"Expiry", RECORD_EXPIRY, &expiry},
    {"Decision", RECORD_DECISION, &decision},
    {"Decision-small", RECORD_DECISION, &sample_small_decision},
    {"StepRequest", RECORD_STEP_REQUEST, &step_request},
    {"StatusUpdate", RECORD_STATUS_UPDATE, &status_update},
    {"OperatorAlert", RECORD_OPERATOR_ALERT, &operator_alert},
    {"WorkflowDefinition", RECORD_WORKFLOW_DEFINITION, &workflow_definition},
    {"WorkflowActivation", RECORD_WORKFLOW_ACTIVATION, &workflow_activation},
    {"AgentHealth", RECORD_AGENT_HEALTH, &agent_health},
    {"AgentPause", RECORD_AGENT_PAUSE, &agent_pause},
    {"Schedule", RECORD_SCHEDULE, &schedule},
    {"Leadership", RECORD_LEADERSHIP, &leadership},
    {"DeadLetterResolution", RECORD_DEAD_LETTER_RESOLUTION, &dead_letter_resolution},
    {"OrderRow", RECORD_ORDER_ROW, &order_row},
};
const uint32_t sample_count = COUNT(samples);
