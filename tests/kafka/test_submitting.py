# SPDX-License-Identifier: Apache-2.0
"""The same order submitted twice, the same id with different content, and cancellations at every
moment of an order's life."""

import json
import unittest

from lib.stage import StageTest

STOCK = {"Name": "ReserveStock", "Agent": "stock", "Compensate": {"Action": "ReleaseStock"}}
PAY = {"Name": "TakePayment", "Agent": "payment", "Compensate": {"Action": "RefundPayment"}}
SHIP = {"Name": "ShipOrder", "Agent": "carrier"}


def workflow(name, *steps):
    return {"Name": name, "Version": 1, "Steps": list(steps),
            "Defaults": {"TimeoutSeconds": 5, "Compensate": {"TimeoutSeconds": 5, "Retry": [
                {"ErrorEquals": ["States.ALL"], "MaxAttempts": 1, "IntervalSeconds": 0.1}]}}}


class SubmittingTest(StageTest):
    workflows = [workflow("sale", STOCK, PAY, {**SHIP, "Pivot": True}),
                 workflow("gift", STOCK, SHIP)]
    options = {"applications": ("web", "other")}

    def slow(self, order, workflow_name, service, action, ms, direction="do"):
        """Submits an order whose call to `action` takes that long."""
        self.shop.fault(service, "slow", order, action=action, ms=ms, direction=direction)
        self.stage.submit(order, workflow_name)

    def undone(self, order):
        return [seen.event["step"] for seen in self.stage.find(order, "StepStarted")
                if seen.event["direction"] == "undo"]

    def rejected(self, order, code, count=1):
        found = self.stage.wait_for_event(order, "CommandRejected", count=count, code=code)
        before = self.stage.events(order)
        earlier = [seen for seen in before if seen.offset < found.offset]
        self.assertEqual(found.decision["order_version"],
                         earlier[-1].decision["order_version"] if earlier else 0)
        return found

    # ---- twice ----

    def test_an_order_submitted_twice_runs_once(self):
        self.stage.submit("twice", "sale")
        self.stage.submit("twice", "sale")
        self.stage.wait_for_status("twice", "Repeated")
        self.stage.wait_for_end("twice", "Processed")
        # Also after its end, written differently but with the same content.
        self.stage.submit("twice", "sale", price="12.5",
                          attributes={"country": "United Kingdom", "gift": "no"},
                          traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        repeated = self.stage.wait_for_status("twice", "Repeated", order_state="Processed")
        end = self.stage.wait_for_status("twice", "Processed")
        self.assertEqual(repeated["order_version"], end["order_version"])
        self.assertEqual(len(self.stage.find("twice", "OrderAccepted")), 1)
        self.assertEqual(len(self.stage.find("twice", "SubmissionRepeated")), 2)
        self.assertEqual(self.shop.actions("twice"), ["ReserveStock", "TakePayment", "ShipOrder"])

    def test_an_order_submitted_a_hundred_times_runs_once(self):
        order = json.dumps({"order_id": "hundred", "currency": "GBP", "workflow": "sale",
                            "lines": [{"sku": "A", "quantity": 1, "unit_price": "1.00"}],
                            "reply_to": self.stage.cluster.topic("replies.web")})
        self.stage.cluster.reeve("submit", "-", stdin="\n".join([order] * 100))
        self.stage.wait_for_end("hundred", "Processed")
        self.stage.wait_for_event("hundred", "SubmissionRepeated", count=99)
        self.assertEqual(len(self.stage.find("hundred", "OrderAccepted")), 1)
        self.assertEqual(self.shop.actions("hundred"), ["ReserveStock", "TakePayment", "ShipOrder"])

    def test_the_same_id_with_different_content_is_rejected(self):
        self.slow("differs", "sale", "payment", "TakePayment", ms=600)
        for number, more in enumerate(({"quantity": 3}, {"price": "12.5001"}, {"customer": "other"},
                                       {"attributes": {}}, {"workflow": "gift"},
                                       {"priority": "high"}), 1):
            self.stage.submit("differs", **{"workflow": "sale", **more})
            self.rejected("differs", "ContentDiffers", number)
        self.stage.wait_for_end("differs", "Processed")
        self.stage.submit("differs", "sale", quantity=4)
        self.rejected("differs", "ContentDiffers", 7)
        status = self.stage.wait_for_status("differs", "Rejected", order_state="Processed")
        self.assertEqual(status["code"], "ContentDiffers")
        self.assertIn("different content", status["message"])
        self.assertEqual(self.shop.balance("differs")["charged"], {"GBP": "25.00"})
        # The first submission counts, also against a third one.
        self.stage.submit("differs", "sale")
        self.stage.wait_for_status("differs", "Repeated")

    def test_a_repeated_id_is_answered_on_the_reply_topic_of_its_sender(self):
        self.stage.submit("taken", "sale")
        self.stage.wait_for_end("taken", "Processed")
        self.stage.submit("taken", "sale", application="other", quantity=9)
        status = self.stage.wait_for_status("taken", "Rejected", "other")
        self.assertEqual(status["code"], "ContentDiffers")
        self.assertEqual([s["kind"] for s in self.stage.statuses("taken", "web")
                          if s["kind"] == "Rejected"], [])

    # ---- cancelled ----

    def test_an_order_is_cancelled_right_after_its_submission(self):
        self.slow("breath", "sale", "stock", "ReserveStock", ms=1500)
        self.stage.cancel("breath")
        end = self.stage.wait_for_end("breath", "Compensated")[-1]
        self.assertEqual((end.type, end.event["code"], end.event["reason"], end.event["by"]),
                         ("OrderCompensated", "Cancelled", "ordered twice", "application:customer"))
        self.assertEqual(self.stage.wait_for_status("breath", "Compensated")["message"],
                         "ordered twice")

    def test_an_order_is_cancelled_during_a_step(self):
        self.slow("running", "sale", "payment", "TakePayment", ms=2500)
        self.stage.wait_for_event("running", "StepStarted TakePayment do 1")
        self.stage.cluster.reeve("cancel", "running", "--no-wait", "--reason", "changed her mind",
                                 "--by", "ann")
        self.stage.wait_for_end("running", "Compensated")
        cancelled = self.stage.find("running", "OrderCancelled")[0].event
        self.assertEqual(cancelled["reason"], "changed her mind")
        self.assertIn("ann", cancelled["by"])
        whats = self.stage.whats("running")
        # The step may finish, its report counts, and it is undone with the others.
        self.assertLess(whats.index("CompensationStarted"),
                        whats.index("StepSucceeded TakePayment do 1"))
        self.assertEqual(self.undone("running"), ["TakePayment", "ReserveStock"])
        self.assertIn("StepSkipped ShipOrder do 0", whats)
        self.assertEqual(self.shop.balance("running")["refunded"], {"GBP": "25.00"})

    def test_an_order_is_not_cancelled_during_and_after_compensation(self):
        self.shop.fault("carrier", "decline", "undoing")
        self.slow("undoing", "gift", "stock", "ReleaseStock", ms=1500, direction="undo")
        self.stage.wait_for_event("undoing", "StepStarted ReserveStock undo 1")
        self.stage.cancel("undoing")
        self.rejected("undoing", "AlreadyCompensating")
        self.assertEqual(self.stage.wait_for_status("undoing", "Rejected")["code"],
                         "AlreadyCompensating")
        end = self.stage.wait_for_end("undoing", "Compensated")[-1]
        self.assertEqual(end.event["code"], "ShipmentRefused")  # not the cancellation
        self.stage.cancel("undoing")
        self.rejected("undoing", "AlreadyEnded")
        self.assertEqual(self.stage.state("undoing"), "Compensated")
        self.assertEqual(self.undone("undoing"), ["ReserveStock"])

    def test_a_second_cancellation_changes_nothing(self):
        self.slow("cancel-twice", "sale", "payment", "TakePayment", ms=1500)
        self.stage.wait_for_event("cancel-twice", "StepStarted TakePayment do 1")
        self.stage.cancel("cancel-twice")
        self.stage.cancel("cancel-twice")
        self.stage.wait_for_end("cancel-twice", "Compensated")
        self.rejected("cancel-twice", "AlreadyCompensating")
        self.assertEqual(len(self.stage.find("cancel-twice", "OrderCancelled")), 1)
        self.assertEqual(self.undone("cancel-twice"), ["TakePayment", "ReserveStock"])

    def test_a_cancellation_after_the_start_of_the_pivot_is_rejected(self):
        self.slow("pivot", "sale", "carrier", "ShipOrder", ms=1500)
        self.stage.wait_for_event("pivot", "StepStarted ShipOrder do 1")
        self.stage.cancel("pivot")
        self.rejected("pivot", "PastPivot")
        status = self.stage.wait_for_status("pivot", "Rejected")
        self.assertEqual((status["code"], status["order_state"]), ("PastPivot", "Processing"))
        self.stage.wait_for_end("pivot", "Processed")
        self.stage.cancel("pivot")
        self.rejected("pivot", "AlreadyEnded")
        self.assertEqual(self.undone("pivot"), [])

    def test_a_cancellation_after_a_pivot_with_unknown_effect_is_rejected(self):
        self.shop.fault("carrier", "503-after", "pivot-error")
        self.stage.submit("pivot-error", "sale")
        self.stage.wait_for_end("pivot-error", "Error")
        self.stage.cancel("pivot-error")
        self.rejected("pivot-error", "PastPivot")
        self.shop.heal("pivot-error")
        self.stage.resubmit("pivot-error", "look again")
        self.stage.wait_for_end("pivot-error", "Processed")
        self.assertEqual(self.shop.balance("pivot-error")["shipments"], 1)

    def test_an_order_in_error_is_cancelled(self):
        self.shop.fault("carrier", "decline", "waiting")
        self.stage.submit("waiting", "sale")
        self.stage.wait_for_end("waiting", "Error")  # the pivot had no effect
        self.stage.wait_for_alert("waiting", raised=True)
        self.stage.cancel("waiting")
        self.stage.wait_for_end("waiting", "Compensated")
        self.assertEqual(self.undone("waiting"), ["TakePayment", "ReserveStock"])
        closed = self.stage.wait_for_alert("waiting", raised=False)
        self.assertEqual(closed["by"], "application:customer")

    def test_an_unknown_order_cannot_be_cancelled(self):
        self.stage.cancel("nothing", application="other")
        status = self.stage.wait_for_status("nothing", "Rejected", "other")
        self.assertEqual((status["code"], status["order_version"]), ("UnknownOrder", 0))
        # The cancellation does not apply to a later order with that id.
        self.stage.submit("nothing", "sale")
        self.stage.wait_for_end("nothing", "Processed")

    def test_a_cancelled_order_cannot_be_submitted_again(self):
        self.slow("again", "sale", "stock", "ReserveStock", ms=1500)
        self.stage.cancel("again")
        self.stage.wait_for_end("again", "Compensated")
        self.stage.submit("again", "sale")
        repeated = self.stage.wait_for_status("again", "Repeated")
        self.assertEqual(repeated["order_state"], "Compensated")
        self.assertEqual(self.stage.state("again"), "Compensated")


if __name__ == "__main__":
    unittest.main()
