# SPDX-License-Identifier: Apache-2.0
"""The records of tests/unit/schemas/samples.c as Python values, for another Avro implementation."""

import decimal

WIDE = decimal.Context(prec=40)


def at(offset):
    return 1_700_000_000_000 + offset


def uid(first):
    return bytes([first]) + bytes.fromhex("112233445546778899aabbccddeeff")


def price(unscaled):
    return decimal.Decimal(unscaled).scaleb(-4, context=WIDE)


def line(sku, description, quantity, unscaled):
    return {"sku": sku, "description": description, "quantity": quantity,
            "unit_price": price(unscaled)}


def details(order_id, version):
    return {
        "order_id": order_id, "customer": "17850", "currency": "GBP",
        "lines": [
            line("85123A", "WHITE HANGING HEART T-LIGHT HOLDER", 6, 25500),
            line("71053", "Café € 🚀", 1000000000, 1),
            line("zero", "", 1, 0),
            line("bounds", "-127 and 128 need their bytes", 127, -127),
            line("more", "128", 128, 128),
            line("large", "all 18 digits", -3, 999999999999999999),
            line("small", "all 18 digits", 64, -999999999999999999),
        ],
        "attributes": {"channel": "web", "gift note": "line one\nline two", "z": ""},
        "priority": "low", "reply_to": "orders.replies.shop", "workflow": "order-fulfilment",
        "workflow_version": version,
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "content_hash": bytes(range(1, 17)), "submitted_by": "web shop",
        "input": '{"express":true,"total":100.1}', "parent": PARENT,
    }


PARENT = {"order_id": "o-7", "accepted_offset": 4711, "step": "Waves", "item": 12,
          "generation": 3, "root": "o-1", "depth": 2, "quota": 99}


def ref(attempt, step="TakePayment", direction="undo"):
    return {"step": step, "direction": direction, "attempt": attempt}


def marked(number):
    return {"code": f"code{number}", "reason": f"reason{number}", "by": f"by{number}",
            "step": f"step{number}"}


ID = {"order_id": "536365"}

EVENTS = [
    ("OrderAccepted", {"details": details("536365", 3), "steps": [
        {"name": "ReserveStock", "agent": "stock", "retries_used": [],
         "new_key": False},
        {"name": "TakePayment", "agent": "bank", "retries_used": [], "new_key": False}],
        "complete_by": at(6), "margin_ms": 1001}),
    ("OrderStarted", marked(2)),
    ("StepStarted", {**ref(3), "generation": 31, "agent": "bank", "action": "refund",
                     "locked_by": "scheduler-1", "complete_by": at(7), "margin_ms": 1002,
                     "routing_reason": "bank: 4 of 16 free", "inputs": 5,
                     "input": '{"amount":100.1}'}),
    ("StepSucceeded", {**ref(4), "output": '{"ok":true}', "by": "payment-1"}),
    ("StepFailed", {**ref(5), "error_name": "Declined", "error_message": "no money",
                    "effect": "applied", "failure_count": 51, "by": "payment-2",
                    "not_yet": True}),
    ("StepTimedOut", {**ref(6), "effect": "applied", "failure_count": 61, "complete_by": at(8),
                      "by": "supervisor-1"}),
    ("StepRetryScheduled", {**ref(7), "retry_at": at(9), "retrier": 7, "retry": 71}),
    ("StepExhausted", {**ref(8), "reason": "no retry is left"}),
    ("StepSkipped", {**ref(9), "reason": "nothing to undo"}),
    ("StepCompensated", {**ref(10), "reason": "undone"}),
    ("StepResubmitted", {**ref(11), "generation": 111, "by": "bob", "reason": "bank is back"}),
    ("OrderCancelled", marked(12)),
    ("OrderTimedOut", marked(13)),
    ("CompensationStarted", marked(14)),
    ("OrderProcessed", {**marked(15), "output": '{"paid":true}', "problem": "no member x"}),
    ("OrderCompensated", marked(16)),
    ("OrderFailed", marked(17)),
    ("OrderResumed", marked(18)),
    ("AlertRaised", marked(19)),
    ("AlertClosed", marked(20)),
    ("CommandRejected", {"command": "StartStep", "code": "NotYetDue", "reason": "too early",
                         "by": "supervisor-1", **ref(21), "due_at": at(10), "parent": PARENT,
                         "settle": "unknown"}),
    ("ReportIgnored", {**ref(22), "succeeded": True, "code": "Superseded",
                       "reason": "attempt 23 runs", "by": "payment-1", "parent": PARENT,
                       "settle": "undo"}),
    ("SubmissionRepeated", marked(23)),
    ("CommandDeadLettered", {"bytes": b"\x00\xff\xc3\x28", "key": b"\xfe", "reason": "not Avro",
                             "quarantined": True, "code": "Undecodable", "value_bytes": 241,
                             "value_xxh128": "00112233445566778899aabbccddeeff",
                             "meta_bytes": 242, "headers": [
                                 {"name": b"trace", "value": b"\xff\x00"},
                                 {"name": b"", "value": b""}]}),
    ("StepQueued", {**ref(25), "queued_at": at(33), "retry_at": at(34),
                    "reason": "bank: circuit open"}),
    ("StepExtended", {**ref(26), "action": "refund", "complete_by": at(35),
                      "progress": "half done", "by": "bank-1", "inputs": 6}),
    ("StepCompletedByHand", {**ref(28), "output": '{"ok":2}', "by": "ann",
                             "reason": "paid in cash"}),
    ("StepSkippedByHand", {**ref(29), "by": "bob", "reason": "a gift"}),
    ("StepFailedUnstarted", {**ref(30), "error_name": "Declined", "failure_count": 52, "by": "ann",
                          "reason": "the bank refused"}),
    ("OrderDeadlineSet", {"complete_by": at(36), "margin_ms": 1003, "by": "bob",
                          "reason": "in a hurry"}),
    ("OrderPaused", marked(32)),
    ("OrderPauseEnded", marked(33)),
    ("OrderMigrated", {"from_version": 3, "workflow_version": 4, "steps": [
        {"name": "ReserveStock", "agent": "stock", "retries_used": [0, 2],
         "new_key": True},
        {"name": "CheckCredit", "agent": "credit", "retries_used": [],
         "new_key": False}],
        "moves_retries": True, "by": "ann", "reason": "it was wrong"}),
    ("StepPassed", {**ref(34), "output": '{"total":7}', "signal_id": "m-2", "by": "ann"}),
    ("StepCaught", {**ref(35), "reason": "a Catch matches Declined"}),
    ("OrderAmended", {"input": '{"amount":12.5}', "steps": [
        {"name": "Total", "generation": 0}, {"name": "TakePayment", "generation": 2}],
        "by": "ann", "reason": "a typing error"}),
    ("StepWaiting", {**ref(37), "due_at": at(38), "for_signal": True, "group": "managers",
                     "options": ["approve", "decline"], "question": "Refund 7 EUR?"}),
    ("SignalReceived", {"step": "Approve", "signal_id": "m-3",
                        "payload": '{"status":"pending"}', "by": "bob", "kept": True}),
    ("SubordersStarted", {**ref(39), "generation": 391, "workflow": "import/Waves",
                          "workflow_version": 392, "count": 393, "items": "[1,2]",
                          "priority": "low", "times_out_at": at(49), "quota": 394}),
    ("SubordersSubmitted", {**ref(40), "generation": 401, "complete_by": at(50), "items": [
        {"item": 16, "input": '{"file":"a"}', "error_name": "", "error_message": ""},
        {"item": -1, "input": "", "error_name": "States.QueryEvaluationError",
         "error_message": "there is no member b"}]}),
    ("SubordersAsked", {**ref(41), "generation": 411, "complete_by": at(51)}),
    ("SuborderEnded", {"step": "Waves", "item": 15, "generation": 421, "outcome": "final",
                       "output": '{"rows":8}', "error_name": "Declined",
                       "error_message": "no money", "stop": True, "undo_failed": True,
                       "by": "ann"}),
    ("SubordersRecalled", {**ref(43), "generation": 431, "complete_by": at(52),
                           "error_name": "States.Timeout", "reason": "too slow"}),
    ("OrderHeld", {"complete_by": at(53), "output": '{"rows":9}', "problem": "no member y"}),
]

DECISION = {
    "claim_id": uid(4), "sequence": 41, "command_offset": 42, "command_time": at(11), **ID,
    "order_version": 43, "order_state": "Compensating", "reply_to": "orders.replies.shop",
    "decided_at": at(12), "emitted_through": 44, "events": EVENTS,
}


def small_started(step, agent):
    return ("StepStarted", {
        **ref(1, step, "do"), "generation": 0, "agent": agent, "action": step,
        "locked_by": "scheduler-1", "complete_by": at(30000), "margin_ms": 1000,
        "routing_reason": "", "inputs": 0, "input": ""})


SMALL_DECISION = {
    "claim_id": uid(5), "sequence": 123456, "command_offset": 234567, "command_time": at(13),
    "order_id": "order-0000123456", "order_version": 2, "order_state": "Processing",
    "reply_to": "orders.replies.shop", "decided_at": at(14), "emitted_through": 345678,
    "events": [
        ("StepSucceeded", {**ref(1, "ReserveStock", "do"), "output": '{"ok":true}',
                           "by": "stock-1"}),
        small_started("TakePayment", "payment"), small_started("BookCarrier", "carrier")],
}


def row_step(name, agent, **fields):
    return {
        "name": name, "agent": agent, "direction": "do", "state": "Pending", "attempt": 0,
        "failure_count": 0, "locked_by": "", "complete_by": 0, "extension_ms": 0, "margin_ms": 0,
        "retry_at": 0,
        "queued_at": 0,
        "effect": "none", "undo_effect": "none", "do_generation": 0, "undo_generation": 0,
        "retries_used": [], "started_version": 0, "completed_version": 0, "started_at": 0,
        "inputs": 0, "workflow_version": 0, "ended_at": 0, "output": "",
        "error_name": "", "error_message": "", "input": "", "wait": None, "suborders": None,
        **fields}


def item(state, generation, submitted_at, **fields):
    return {"state": state, "generation": generation, "submitted_at": submitted_at, "input": "",
            "output": "", **fields}


ORDER_ROW = {
    "details": details("536365", 3), "version": 101, "state": "Error",
    "error_from": "Compensating", "accepted_at": at(24), "accepted_offset": 102,
    "stated_offset": 103,
    "updated_at": at(25), "complete_by": at(26), "margin_ms": 1004, "ended_at": at(27),
    "steps": [
        row_step("ReserveStock", "stock"),
        row_step(
            "TakePayment", "bank", direction="undo", state="Skipped", attempt=91,
            failure_count=92, locked_by="scheduler-1", complete_by=at(20),
            extension_ms=99, margin_ms=1003,
            retry_at=at(21), queued_at=at(36), effect="unknown", undo_effect="applied",
            do_generation=93, undo_generation=94, retries_used=[0, 2, 0, 1], started_version=95,
            completed_version=96, started_at=at(22), inputs=97, workflow_version=98,
            ended_at=at(23), output="[1]",
            error_name="Declined", error_message="no money", input='{"amount":100.1}',
            wait={"group": "managers", "options": ["approve", "decline"],
                  "question": "Refund 7 EUR?", "signal_id": "m-4", "signals": 99,
                  "payload": '{"ok":true}', "by": "eve"},
            suborders={
                "workflow": "import/Waves", "list": '["a","b","c"]',
                "items": [item("submitted", 5, at(54), input='{"file":"a"}'),
                          item("held", 4, at(55), output='{"rows":7}'), item("to_do", 0, 0)],
                "quota": 111, "priority": "high", "asked_since": at(56), "times_out_at": at(57),
                "recalled": True, "stopped": True, "failed": True, "undo_failed": True,
                "error_name": "Declined", "error_message": "no money"}),
        row_step("BookCarrier", "carrier", retries_used=[1, 2, 3, 4, 5, 6, 7, 8])],
    "alert_open": True, "cancelled": True, "reason_code": "Cancelled", "reason": "ordered twice",
    "reason_by": "ann", "paused_at": at(46), "paused_by": "carol", "pause_reason": "a stocktaking",
    "output": '{"paid":true}', "output_problem": "no member x", "held_at": at(58),
}

# name of the golden file (up to '-': of the record) -> value
RECORDS = {
    "SubmitOrder": {**details("536365", 7), "submitted_at": at(7)},
    # Only what has no default.
    "SubmitOrder-least": {"order_id": "536366", "currency": "EUR", "workflow": "three-steps"},
    "CancelOrder": {**ID, "by": "ann", "reason": "ordered twice",
                    "reply_to": "orders.replies.shop", "submitted_by": "shop"},
    "ReportStep": {**ID, **ref(300), "succeeded": True, "output": '{"id":1}',
                   "error_name": "PaymentDeclined", "error_message": "no money",
                   "effect": "applied", "agent": "payment", "instance": "payment-1"},
    "RecoverStep": {**ID, **ref(2), "complete_by": at(1), "by": "supervisor-1"},
    "StartStep": {**ID, **ref(5), "retry_at": at(2), "by": "supervisor-1"},
    "TimeOutOrder": {**ID, "complete_by": at(3), "by": "supervisor-2"},
    "CompensateOrder": {**ID, "by": "bob", "reason": "the customer gave up"},
    "ResubmitStep": {**ID, "step": "TakePayment", "by": "bob", "reason": "bank is back",
                     "new_generation": True, "timeout_ms": 7200000},
    "ExtendStep": {**ID, **ref(6), "complete_by": at(32), "progress": "half done",
                   "agent": "bank", "instance": "bank-1"},
    "CompleteStep": {**ID, "step": "TakePayment", "output": '{"paid":true}', "by": "ann",
                     "reason": "paid"},
    "SkipStep": {**ID, "step": "TakePayment", "nothing_applied": True, "by": "ann",
                 "reason": "a gift"},
    "FailStep": {**ID, "step": "TakePayment", "error_name": "Declined", "by": "ann",
                 "reason": "the bank refused", "item": 13},
    "PauseOrder": {**ID, "by": "ann", "reason": "to look at it"},
    "ResumeOrder": {**ID, "by": "bob", "reason": "it is right"},
    "MigrateOrder": {**ID, "workflow": "order-fulfilment", "from_version": 3, "version": 4,
                     "by": "ann", "reason": "it was wrong"},
    "AmendOrder": {**ID, "input": '{"amount":12.5}', "by": "ann", "reason": "a typing error"},
    "SignalOrder": {**ID, "step": "Approve", "id": "m-1", "payload": '{"choice":"approve"}',
                    "by": "ann", "groups": ["managers", "clerks"],
                    "reply_to": "orders.replies.shop", "submitted_by": "shop"},
    "ReportSuborder": {**ID, "accepted_offset": 4712, "step": "Waves", "item": 14, "generation": 4,
                       "outcome": "failed", "output": '{"rows":7}', "error_name": "Declined",
                       "error_message": "no money"},
    "SettleSuborder": {**ID, "parent": PARENT, "how": "unknown", "held": True,
                       "reason": "it has gone", "by": "ann"},
    "Claim": {"claim_id": uid(1), "instance": "scheduler-1", "claimed_at": at(4),
              "partition_count": 12, "reset": None, "format": 5},
    "Claim-reset": {"claim_id": uid(2), "instance": "scheduler-2", "claimed_at": at(5),
                    "partition_count": 6,
                    "reset": {"next_command_offset": 77, "by": "carol",
                              "reason": "commands were lost"}, "format": 0},
    "Attempt": {"claim_id": uid(3), "command_offset": 1 << 62},
    "Continuation": {
        "claim_id": uid(7), "sequence": 71, "first_claim_id": uid(8), "partition_count": 12,
        "next_command_offset": 72, "last_command_offset": -1, "last_command_time": at(40),
        "newest_decided_at": at(41), "emitted_through": -1, "claim_decisions": 73,
        "previous_claim_decisions": 74, "guarded_offset": 75, "guards": 4, "written_at": at(42),
        "format": 6, "trimmed": 79, "instance": "scheduler-7", "claimed_at": at(48)},
    "Statement": {"claim_id": uid(9), "sequence": 80, "format": 7, "order": ORDER_ROW},
    "Expiry": {"claim_id": uid(10), "sequence": 81, "decided_at": at(47), "ended_at": at(31), **ID},
    "Reset": {"expected_offset": 76, "next_command_offset": -1, "newest_decided_at": at(44),
              "skip": None, "by": "bob", "reason": "a clock was wrong", "reset_at": at(43)},
    "Reset-skip": {"expected_offset": 77, "next_command_offset": 78, "newest_decided_at": 0,
                   "skip": {"from": 60, "to": 70}, "by": "bob",
                   "reason": "another client wrote here", "reset_at": at(45)},
    "Decision": DECISION,
    "Decision-small": SMALL_DECISION,
    "StepRequest": {
        **ID, **ref(12), "generation": 3, "agent": "bank", "action": "refund",
        "idempotency_key": "536365/TakePayment/undo/3", "do_key": "536365/TakePayment/do/2",
        "complete_by": at(15), "extension": True, "order": details("536365", 3),
        "outputs": [{"step": "ReserveStock", "output": '{"reserved":6}'},
                    {"step": "TakePayment", "output": "{}"}],
        "claim_id": uid(6), "decision_offset": 61, "order_version": 62,
        "input": '{"amount":100.1}'},
    "StatusUpdate": {
        **ID, "kind": "Resumed", "order_state": "Error", "order_version": 71,
        "decided_at": at(16), "command_partition": 11, "command_offset": 72, "decision_offset": 73,
        "code": "PaymentDeclined", "message": "no money",
        "steps": [
            {**ref(1, "ReserveStock", "do"), "state": "Processed", "error_name": ""},
            {**ref(2), "state": "Error", "error_name": "Declined"}],
        "output": '{"paid":true}', "question": "Refund 7 EUR?"},
    "OperatorAlert": {
        **ID, "raised": True, "code": "PaymentDeclined", "message": "look at it",
        "step": "TakePayment", "by": "bob", "order_version": 81, "partition": 10,
        "command_offset": 82, "decision_offset": 83, "decided_at": at(17), "root": "536364"},
    "WorkflowActivation": {"name": "order-fulfilment", "version": 7, "active": True, "by": "ann",
                           "reason": "tested", "at": at(47)},
    "WorkflowDefinition": {
        "name": "order-fulfilment", "version": 3, "source": "Name: order-fulfilment\n",
        "format": "yaml", "deployed_by": "ann", "deployed_at": at(18)},
    "AgentHealth": {
        "agent": "bank", "instance": "bank-1", "capacity": 1000, "in_flight": 17, "queued": 18,
        "partitions": 4, "latency_p50_ms": 19, "latency_p95_ms": 20, "errors_permille": 21,
        "circuit": "half-open", "version": "0.1.0", "last_error": "503 from the bank",
        "heartbeat_ms": 2000, "reported_at": at(19)},
    "AgentPause": {"agent": "bank", "paused": True, "by": "ann", "reason": "the bank is down",
                   "at": at(48)},
    "Schedule": {
        "name": "nightly", "text": "Schedule: nightly\n", "format": "yaml", "deployed_by": "ann",
        "deployed_at": at(18), "paused": True, "by": "bob", "reason": "the bank is down",
        "at": at(48)},
    "Leadership": {
        "role": "auditor", "kind": "renew", "instance": "supervisor-1", "candidate_id": uid(7),
        "rank": 5, "term": 41, "lease_ms": 6000, "progress_at": at(28), "said_at": at(29),
        "reason": "outranked"},
    "DeadLetterResolution": {
        "partition": 12, "offset": 48, "kind": "replayed", "topic": "orders.submissions",
        "replayed_partition": 13, "replayed_offset": 49, "corrected": True, "by": "ann",
        "reason": "the shop sent a wrong currency", "resolved_at": at(48)},
    "OrderRow": ORDER_ROW,
}
