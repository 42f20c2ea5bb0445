# SPDX-License-Identifier: Apache-2.0
"""Remote services fail and orders are compensated: in reverse order, including steps with an
unknown effect, never while a forward attempt may still run, and never past the pivot. The shop's
ledger shows whether its books balance."""

import time
import unittest

from lib import paths, wait_for
from lib.stage import StageTest

QUICK = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.1, "MaxAttempts": 2,
          "JitterStrategy": "NONE"}]
STOCK = {"Name": "ReserveStock", "Agent": "stock", "Compensate": {"Action": "ReleaseStock"}}
PAY = {"Name": "TakePayment", "Agent": "payment", "Compensate": {"Action": "RefundPayment"}}
PAY_SOON = {**PAY, "TimeoutSeconds": 2}
SHIP = {"Name": "ShipOrder", "Agent": "carrier", "Compensate": {"Action": "RecallShipment"}}
FRAUD = {"Name": "CheckFraud", "Agent": "payment"}
PIVOT = {"Name": "TakePayment", "Agent": "payment", "Pivot": True, "OnExhausted": "compensate",
         "Retry": QUICK}
# Long enough for a busy machine: only calls without an answer may time out.
DEFAULTS = {"TimeoutSeconds": 30, "Compensate": {"TimeoutSeconds": 30, "Retry": QUICK}}


def workflow(name, *steps, **more):
    return {"Name": name, "Version": 1, "Defaults": DEFAULTS, "Steps": list(steps), **more}


class FailuresTest(StageTest):
    workflows = [
        paths.ROOT / "examples" / "workflows" / "order-fulfilment.yaml",
        workflow("chain", STOCK, PAY, SHIP, FRAUD),
        workflow("chain-in-time", STOCK, PAY_SOON, {**SHIP, "TimeoutSeconds": 3}, FRAUD),
        workflow("fork", {**STOCK, "After": []}, {**FRAUD, "After": []}, {**PAY, "After": []},
                 {**SHIP, "After": ["ReserveStock", "CheckFraud", "TakePayment"]}),
        workflow("fork-in-time", {**STOCK, "After": []}, {**FRAUD, "After": []},
                 {**PAY_SOON, "After": []},
                 {**SHIP, "After": ["ReserveStock", "CheckFraud", "TakePayment"]}),
        workflow("caught", STOCK,
                 {**FRAUD, "Catch": [{"ErrorEquals": ["FraudSuspected"], "Next": "$error"}]}, PAY),
        workflow("pivot", STOCK, PIVOT, {"Name": "ShipOrder", "Agent": "carrier", "Retry": QUICK}),
        workflow("pivot-in-time", STOCK, {**PIVOT, "TimeoutSeconds": 2},
                 {"Name": "ShipOrder", "Agent": "carrier", "Retry": QUICK}),
    ]

    def undone(self, order):
        return [seen.event["step"] for seen in self.stage.find(order, "StepStarted")
                if seen.event["direction"] == "undo" and seen.event["attempt"] == 1]

    def assert_balanced(self, order):
        """The shop keeps nothing of the order."""
        balance = self.shop.balance(order)
        for taken, given in (("reserved", "released"), ("charged", "refunded"),
                             ("shipments", "recalled")):
            self.assertEqual(balance.get(taken), balance.get(given), balance)

    # ---- effect none ----

    def test_a_declined_payment_undoes_the_earlier_steps(self):
        self.shop.fault("payment", "decline", "declined", action="TakePayment")
        self.stage.submit("declined", "order-fulfilment")
        end = self.stage.wait_for_end("declined", "Compensated")[-1]
        self.assertEqual((end.type, end.event["code"]), ("OrderCompensated", "PaymentDeclined"))
        # The declined payment had no effect and is not refunded; CheckFraud has no Compensate.
        self.assertEqual(self.undone("declined"), ["ReserveStock"])
        self.assertEqual([call["action"] for call in self.shop.calls("declined")][-2:],
                         ["TakePayment", "ReleaseStock"])
        self.assert_balanced("declined")
        self.assertEqual(self.shop.balance("declined")["reserved"], 2)

    def test_steps_are_undone_in_reverse_order(self):
        self.shop.fault("payment", "decline", "reverse", action="CheckFraud")
        self.stage.submit("reverse", "chain")
        self.stage.wait_for_end("reverse", "Compensated")
        self.assertEqual(self.undone("reverse"), ["ShipOrder", "TakePayment", "ReserveStock"])
        self.assertEqual(self.shop.actions("reverse"), [
            "ReserveStock", "TakePayment", "ShipOrder",
            "RecallShipment", "RefundPayment", "ReleaseStock"])
        whats = self.stage.whats("reverse")
        self.assertLess(whats.index("StepCompensated ShipOrder undo 1"),
                        whats.index("StepStarted TakePayment undo 1"))
        # An undo uses the key of its do.
        keys = {call["step"]: set() for call in self.shop.calls("reverse")}
        for call in self.shop.calls("reverse"):
            keys[call["step"]].add(call["key"])
        self.assertTrue(all(len(found) == 1 for found in keys.values()), keys)

    def test_parallel_steps_are_undone_in_reverse_order_of_their_completion(self):
        self.shop.fault("stock", "slow", "reverse-fork", ms=1000)
        self.shop.fault("payment", "slow", "reverse-fork", ms=20, action="TakePayment")
        self.shop.fault("carrier", "decline", "reverse-fork")
        self.stage.submit("reverse-fork", "fork")
        self.stage.wait_for_end("reverse-fork", "Compensated")
        self.assertEqual(self.undone("reverse-fork"), ["ReserveStock", "TakePayment"])
        self.assert_balanced("reverse-fork")

    # ---- effect unknown ----

    def test_a_step_that_was_applied_and_answered_503_is_undone(self):
        self.shop.fault("carrier", "503-after", "unknown-503")
        self.stage.submit("unknown-503", "chain-in-time")
        self.stage.wait_for_end("unknown-503", "Compensated")
        failed = self.stage.find("unknown-503", "StepFailed ShipOrder do 1")[0].event
        self.assertEqual((failed["error_name"], failed["effect"]), ("Http.503", "unknown"))
        self.assertEqual(self.undone("unknown-503"), ["ShipOrder", "TakePayment", "ReserveStock"])
        self.assertEqual(self.shop.balance("unknown-503")["recalled"], 1)
        self.assert_balanced("unknown-503")

    def test_a_step_that_was_applied_without_an_answer_is_undone(self):
        self.shop.fault("payment", "never-after", "unknown-silence")
        self.stage.submit("unknown-silence", "chain-in-time")
        self.stage.wait_for_end("unknown-silence", "Compensated")
        timed_out = self.stage.find("unknown-silence", "StepTimedOut TakePayment do 1")[0].event
        self.assertEqual(timed_out["effect"], "unknown")
        self.assertEqual(self.undone("unknown-silence"), ["TakePayment", "ReserveStock"])
        self.assertEqual(self.shop.balance("unknown-silence")["refunded"], {"GBP": "25.00"})
        self.assert_balanced("unknown-silence")

    def test_a_step_that_was_not_applied_and_never_answered_is_undone(self):
        self.shop.fault("payment", "never", "unknown-nothing")
        self.stage.submit("unknown-nothing", "chain-in-time")
        self.stage.wait_for_end("unknown-nothing", "Compensated")
        self.assertEqual(self.undone("unknown-nothing"), ["TakePayment", "ReserveStock"])
        self.assertFalse(self.shop.balance("unknown-nothing").get("charged"))
        self.assertFalse(self.shop.balance("unknown-nothing").get("refunded"))
        self.assert_balanced("unknown-nothing")

    def test_a_call_overtaken_by_its_undo_is_refused(self):
        # The shop holds the call back until after the refund, which spends the key.
        self.shop.fault("payment", "slow", "overtaken", ms=6000)
        self.stage.submit("overtaken", "chain-in-time")
        self.stage.wait_for_end("overtaken", "Compensated")

        def arrived():
            return [call for call in self.shop.calls("overtaken")
                    if call["action"] == "TakePayment" and call["fault"] == "slow"]

        late = wait_for("the late call is answered", arrived, 30)
        self.assertEqual([call["applied"] for call in late], [False])
        self.assertEqual(self.shop.calls("overtaken")[-1]["action"], "TakePayment")
        self.assert_balanced("overtaken")

    # ---- the start of compensation ----

    def test_compensation_waits_for_the_report_of_a_running_step(self):
        self.shop.fault("payment", "slow-after", "patient", ms=2000, action="TakePayment")
        self.shop.fault("payment", "decline", "patient", action="CheckFraud")
        self.stage.submit("patient", "fork")
        self.stage.wait_for_end("patient", "Compensated")
        whats = self.stage.whats("patient")
        self.assertLess(whats.index("CompensationStarted"),
                        whats.index("StepSucceeded TakePayment do 1"))
        first_undo = next(what for what in whats if what.endswith("undo 1"))
        self.assertLess(whats.index("StepSucceeded TakePayment do 1"), whats.index(first_undo))
        self.assertEqual(self.undone("patient"), ["TakePayment", "ReserveStock"])
        self.assert_balanced("patient")

    def test_compensation_waits_for_the_timeout_of_a_silent_step(self):
        self.shop.fault("payment", "never-after", "very-patient", action="TakePayment")
        self.shop.fault("payment", "decline", "very-patient", action="CheckFraud")
        self.stage.submit("very-patient", "fork-in-time")
        self.stage.wait_for_end("very-patient", "Compensated")
        started = self.stage.find("very-patient", "StepStarted TakePayment do 1")[0].event
        undo = next(seen for seen in self.stage.find("very-patient", "StepStarted")
                    if seen.event["direction"] == "undo")
        self.assertGreaterEqual(undo.decision["decided_at"],
                                started["complete_by"] + started["margin_ms"])
        whats = self.stage.whats("very-patient")
        self.assertLess(whats.index("StepTimedOut TakePayment do 1"), whats.index(undo.what))
        # ReserveStock completed after TakePayment started, so it is undone first.
        self.assertEqual(self.undone("very-patient"), ["ReserveStock", "TakePayment"])
        self.assert_balanced("very-patient")

    # ---- delayed retries ----

    def test_a_retry_that_became_due_while_the_supervisor_was_paused_starts(self):
        supervisor = self.stage.cluster["supervisor-1"]
        self.shop.fault("payment", "decline", "overdue")
        supervisor.sigstop()
        try:
            self.stage.submit("overdue", "pivot")
            wait = self.stage.wait_for_event("overdue", "StepRetryScheduled TakePayment")
            wait_for("the next attempt is overdue",
                     lambda: time.time() * 1000 > wait.event["retry_at"] + 100, 10)
        finally:
            supervisor.sigcont()
        self.stage.wait_for_end("overdue", "Compensated")

    # ---- failing undos ----

    def test_an_undo_is_retried(self):
        self.shop.fault("payment", "decline", "hard-undo", action="RefundPayment",
                        direction="undo", times=2)
        self.shop.fault("carrier", "decline", "hard-undo")
        self.stage.submit("hard-undo", "chain")
        self.stage.wait_for_end("hard-undo", "Compensated")
        self.assertEqual([seen.event["failure_count"] for seen in
                          self.stage.find("hard-undo", "StepFailed TakePayment undo")], [1, 2])
        self.assertEqual(self.undone("hard-undo"), ["TakePayment", "ReserveStock"])
        self.assert_balanced("hard-undo")

    def test_an_undo_that_keeps_failing_raises_an_alert_and_can_be_resubmitted(self):
        self.shop.fault("payment", "decline", "stuck-undo", action="RefundPayment",
                        direction="undo")
        self.shop.fault("carrier", "decline", "stuck-undo")
        self.stage.submit("stuck-undo", "chain")
        self.stage.wait_for_end("stuck-undo", "Error")
        self.assertEqual(len(self.stage.find("stuck-undo", "StepFailed TakePayment undo")), 3)
        self.assertEqual(self.undone("stuck-undo"), ["TakePayment"])
        self.stage.wait_for_alert("stuck-undo", raised=True, step="TakePayment",
                                  code="PaymentDeclined")
        self.shop.heal("stuck-undo")
        self.stage.resubmit("stuck-undo", "the bank is back")
        self.stage.wait_for_end("stuck-undo", "Compensated")
        self.stage.wait_for_alert("stuck-undo", raised=False, by="olga")
        self.assert_balanced("stuck-undo")

    def test_a_caught_error_waits_for_an_operator_to_compensate(self):
        self.stage.submit("caught", "caught", quantity=100, price="1000.0001")
        self.stage.wait_for_end("caught", "Error")
        exhausted = self.stage.find("caught", "StepExhausted CheckFraud do 1")[0].event
        self.assertIn("a Catch matches FraudSuspected", exhausted["reason"])
        self.assertEqual(self.undone("caught"), [])
        self.stage.wait_for_alert("caught", raised=True, code="FraudSuspected")
        self.stage.operator("CompensateOrder", "caught", "fraud confirmed")
        self.stage.wait_for_end("caught", "Compensated")
        self.assertEqual(self.undone("caught"), ["ReserveStock"])
        self.stage.wait_for_alert("caught", raised=False)
        self.assert_balanced("caught")

    # ---- the pivot ----

    def test_an_order_whose_pivot_was_refused_is_compensated(self):
        self.shop.fault("payment", "decline", "pivot-refused")
        self.stage.submit("pivot-refused", "pivot")
        self.stage.wait_for_end("pivot-refused", "Compensated")
        self.assertEqual(len(self.stage.find("pivot-refused", "StepFailed TakePayment do")), 3)
        self.assertEqual(self.undone("pivot-refused"), ["ReserveStock"])
        self.assert_balanced("pivot-refused")

    def test_a_pivot_with_unknown_effect_is_never_undone(self):
        self.shop.fault("payment", "never-after", "pivot-unknown")
        self.stage.submit("pivot-unknown", "pivot-in-time")
        self.stage.wait_for_end("pivot-unknown", "Error")
        self.assertEqual(self.undone("pivot-unknown"), [])
        self.stage.wait_for_alert("pivot-unknown", raised=True, step="TakePayment",
                                  code="States.Timeout")
        keys = {request["idempotency_key"]
                for request in self.stage.requests("payment", "pivot-unknown")}
        self.assertEqual(len(keys), 1)
        self.stage.operator("CompensateOrder", "pivot-unknown", "give up")
        rejected = self.stage.wait_for_event("pivot-unknown", "CommandRejected")
        self.assertEqual(rejected.event["code"], "PastPivot")
        self.shop.heal("pivot-unknown")
        self.stage.resubmit("pivot-unknown", "checked with the bank")
        self.stage.wait_for_end("pivot-unknown", "Processed")
        keys |= {request["idempotency_key"]
                 for request in self.stage.requests("payment", "pivot-unknown")}
        self.assertEqual(len(keys), 1, "a step that may have been applied keeps its key")

    def test_past_the_pivot_the_order_only_moves_forward(self):
        self.shop.fault("carrier", "decline", "past-pivot")
        self.stage.submit("past-pivot", "pivot")
        self.stage.wait_for_end("past-pivot", "Error")
        self.assertEqual(self.undone("past-pivot"), [])
        self.stage.wait_for_alert("past-pivot", raised=True, code="ShipmentRefused")
        self.shop.heal("past-pivot")
        self.stage.resubmit("past-pivot", "another carrier is booked")
        self.stage.wait_for_end("past-pivot", "Processed")
        # Nothing was applied, so the key is new: the shop would repeat a refusal that it remembers.
        keys = [request["idempotency_key"]
                for request in self.stage.requests("carrier", "past-pivot")]
        self.assertEqual([keys.count(key) for key in dict.fromkeys(keys)], [3, 1])


if __name__ == "__main__":
    unittest.main()
