# SPDX-License-Identifier: Apache-2.0
"""Orders from submission to their end: steps in the order of the workflow, parallel where it
allows, each with its record; statuses on the application's own reply topic; a third-party client
that has nothing but the .avsc files."""

import json
import subprocess
import unittest

from lib import paths
from lib.stage import MARGIN_MS, StageTest
from lib.waiting import wait_for

WORKFLOWS = paths.ROOT / "examples" / "workflows"
CLIENT = paths.ROOT / "examples" / "third_party_client"

SIGNALS = {"Name": "signals", "Version": 1, "TimeoutSeconds": 600, "Steps": [
    {"Name": "Weigh", "Await": {}},
    {"Name": "Approve", "Await": {"From": "managers", "Options": ["yes", "no"]}},
    {"Name": "Pack", "Agent": "noop"}]}


class FlowTest(StageTest):
    workflows = [WORKFLOWS / "order-fulfilment.yaml", WORKFLOWS / "parallel.yaml",
                 WORKFLOWS / "three-steps.yaml", SIGNALS]
    options = {"sim_agents": {"noop": {"agent.sim.latency.ms": "1"}},
               "applications": ("web", "shop-floor"), "schedulers": 2, "supervisors": 2}

    def started(self, order_id):
        """Two maps: each step's StepStarted and StepSucceeded."""
        def of(kind):
            return {seen.event["step"]: seen for seen in self.stage.find(order_id, kind)}
        return of("StepStarted"), of("StepSucceeded")

    def test_steps_run_one_after_the_other(self):
        self.stage.submit("flow-1", "three-steps")
        self.stage.wait_for_end("flow-1", "Processed")
        self.assertEqual(self.stage.whats("flow-1"), [
            "OrderAccepted", "OrderStarted", "StepStarted First do 1",
            "StepSucceeded First do 1", "StepStarted Second do 1",
            "StepSucceeded Second do 1", "StepStarted Third do 1",
            "StepSucceeded Third do 1", "OrderProcessed"])

    def test_steps_wait_for_their_predecessors(self):
        self.stage.submit("flow-2", "order-fulfilment")
        self.stage.wait_for_end("flow-2", "Processed")
        started, succeeded = self.started("flow-2")
        version = {name: seen.decision["order_version"] for name, seen in started.items()}
        done = {name: seen.decision["order_version"] for name, seen in succeeded.items()}
        self.assertEqual(version["ReserveStock"], 1)
        self.assertEqual(version["CheckFraud"], 1)
        self.assertEqual(version["TakePayment"], max(done["ReserveStock"], done["CheckFraud"]))
        self.assertEqual(version["ShipOrder"], done["TakePayment"])
        self.assertEqual(set(self.shop.actions("flow-2")[:2]), {"ReserveStock", "CheckFraud"})
        self.assertEqual(self.shop.actions("flow-2")[2:], ["TakePayment", "ShipOrder"])

    def test_independent_steps_run_at_the_same_time(self):
        for service in ("stock", "payment"):
            self.shop.fault(service, "slow", "flow-3", ms=700)
        self.stage.submit("flow-3", "parallel")
        self.stage.wait_for_end("flow-3", "Processed")
        calls = {call["step"]: call for call in self.shop.calls("flow-3")}
        first = [calls[name] for name in ("ReserveStock", "CheckFraud", "TakePayment")]
        self.assertLess(max(call["received_ms"] for call in first),
                        min(call["time_ms"] for call in first))
        self.assertGreaterEqual(calls["ShipOrder"]["received_ms"],
                                max(call["time_ms"] for call in first))

    def signal(self, order_id, step, payload, **more):
        self.stage.send("submissions", "SignalOrder", {
            "order_id": order_id, "step": step, "id": "", "by": "", "groups": [], "reply_to": "",
            "payload": json.dumps(payload), "submitted_by": "", **more})

    def test_signals_by_kafka_count_once_and_prove_no_group(self):
        self.stage.submit("flow-s", "signals")
        self.stage.wait_for_event("flow-s", "StepWaiting Weigh")
        answers = self.stage.cluster.topic("replies.shop-floor")
        for groups in ([], ["managers"]):
            self.signal("flow-s", "Approve", {"choice": "yes"}, by="eve", groups=groups,
                        reply_to=answers)
        self.stage.wait_for_event("flow-s", "CommandRejected", code="NotAllowed", count=2)
        for number in range(2):
            self.signal("flow-s", "Weigh", {"kg": 1.10, "number": number}, id="scales-1",
                        reply_to=answers)
        passed = self.stage.wait_for_event("flow-s", "StepPassed Weigh")
        self.assertEqual(json.loads(passed.event["output"]), {"kg": 1.1, "number": 0})
        self.stage.wait_for_event("flow-s", "CommandRejected", code="SignalRepeated")
        self.stage.wait_for_event("flow-s", "StepWaiting Approve")
        for seen in self.stage.find("flow-s", "CommandRejected"):
            self.assertIn(seen.event["code"], {"NotAllowed", "SignalRepeated"})
        wait_for("each refusal is answered", lambda: sorted(
            status["code"] for status in self.stage.statuses("flow-s", "shop-floor")) == [
                "NotAllowed", "NotAllowed", "SignalRepeated"])
        self.stage.cancel("flow-s")
        self.stage.wait_for_end("flow-s", "Compensated")

    def test_each_step_records_its_deadline_owner_and_failures(self):
        self.shop.fault("payment", "503-before", "flow-4", action="TakePayment", times=2)
        self.stage.submit("flow-4", "order-fulfilment")
        self.stage.wait_for_end("flow-4", "Processed")
        owners = {(record.partition, bytes(record.value["claim_id"])): record.value["instance"]
                  for record in self.stage.tail("events") if record.type == "Claim"}
        steps = self.stage.find("flow-4", "StepStarted")
        self.assertEqual(len(steps), 4)
        for seen in steps:
            owner = owners[(seen.partition, bytes(seen.decision["claim_id"]))]
            self.assertEqual(seen.event["locked_by"], owner)
            self.assertEqual(seen.event["complete_by"] - seen.decision["decided_at"], 4000)
            self.assertEqual(seen.event["margin_ms"], MARGIN_MS)
        # The agent retries within the attempt, so the step counts no failure.
        self.assertEqual(self.stage.find("flow-4", "StepFailed"), [])
        self.assertEqual([call["status"] for call in self.shop.calls("flow-4")
                          if call["step"] == "TakePayment"], [503, 503, 200])

        self.shop.fault("payment", "decline", "flow-5", action="TakePayment")
        self.stage.submit("flow-5", "order-fulfilment")
        self.stage.wait_for_end("flow-5", "Compensated")
        (failed,) = self.stage.find("flow-5", "StepFailed")
        self.assertEqual((failed.event["step"], failed.event["failure_count"],
                          failed.event["error_name"], failed.event["effect"], failed.event["by"]),
                         ("TakePayment", 1, "PaymentDeclined", "none", "agent-payment"))

    def test_the_application_gets_every_change_on_its_reply_topic(self):
        self.stage.submit("flow-6", "order-fulfilment", application="shop-floor")
        self.stage.wait_for_status("flow-6", "Processed", "shop-floor")
        statuses = self.stage.statuses("flow-6", "shop-floor")
        self.assertEqual(self.stage.statuses("flow-6", "web"), [])
        self.assertEqual([status["order_version"] for status in statuses], [1, 2, 3, 4, 5])
        self.assertEqual([status["kind"] for status in statuses],
                         ["Received", "StepChanged", "StepChanged", "StepChanged", "Processed"])
        self.assertEqual([status["order_state"] for status in statuses],
                         ["Processing"] * 4 + ["Processed"])
        self.assertEqual([(s["step"], s["state"]) for s in statuses[0]["steps"]],
                         [("ReserveStock", "Processing"), ("CheckFraud", "Processing")])
        self.assertEqual([(s["step"], s["state"]) for s in statuses[-1]["steps"]],
                         [("ShipOrder", "Processed")])

    def test_the_application_learns_why_its_order_was_compensated(self):
        self.shop.fault("payment", "decline", "flow-7", action="TakePayment")
        self.stage.submit("flow-7", "order-fulfilment")
        end = self.stage.wait_for_status("flow-7", "Compensated")
        statuses = self.stage.statuses("flow-7")
        self.assertEqual([status["order_version"] for status in statuses],
                         list(range(1, len(statuses) + 1)))
        self.assertEqual([status["kind"] for status in statuses],
                         ["Received", "StepChanged", "StepChanged", "Compensating", "Compensated"])
        self.assertEqual((statuses[-2]["code"], end["code"]), ("PaymentDeclined",) * 2)
        self.assertIn("declined", end["message"])
        self.assertIn(("TakePayment", "Error", "PaymentDeclined"),
                      [(s["step"], s["state"], s["error_name"]) for s in statuses[-2]["steps"]])

    def test_the_application_learns_of_the_error_and_of_the_resumption(self):
        self.shop.fault("carrier", "decline", "flow-8")
        self.stage.submit("flow-8", "order-fulfilment")
        error = self.stage.wait_for_status("flow-8", "Error")
        self.assertEqual((error["order_state"], error["code"]), ("Error", "ShipmentRefused"))
        self.shop.heal("flow-8")
        self.stage.resubmit("flow-8", "a larger truck is booked")
        self.stage.wait_for_status("flow-8", "Resumed")
        self.stage.wait_for_status("flow-8", "Processed")
        versions = [status["order_version"] for status in self.stage.statuses("flow-8")]
        self.assertEqual(versions, sorted(set(versions)))

    def test_each_of_many_concurrent_orders_ends_once(self):
        names = [f"flow-many-{number}" for number in range(60)]
        self.stage.cluster.reeve("submit", "-", stdin="\n".join(json.dumps({
            "order_id": name, "currency": "EUR", "workflow": "three-steps",
            "reply_to": self.stage.cluster.topic("replies.web")}) for name in names))
        for name in names:
            self.stage.wait_for_end(name, "Processed")
        for name in names:
            self.assertEqual(len(self.stage.find(name, "OrderProcessed")), 1)

    def test_a_third_party_client_submits_and_follows_an_order(self):
        def run(order_id, *options):
            return subprocess.run(
                ["/usr/bin/python3", "-B", str(CLIENT / "submit.py"), "--app", "web",
                 "--bootstrap", self.stage.broker.bootstrap, "--prefix", self.stage.cluster.prefix,
                 "--order-id", order_id, *options, str(CLIENT / "order.json")],
                capture_output=True, text=True, timeout=60, check=False)

        done = run("flow-client-1")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split(" ", 2)[2] for line in done.stdout.splitlines()]
        self.assertTrue(lines[0].startswith("v1 Received (Processing)"), lines)
        self.assertTrue(lines[-1].startswith("v5 Processed (Processed)"), lines)
        self.shop.fault("payment", "decline", "flow-client-2", action="TakePayment")
        self.assertEqual(run("flow-client-2").returncode, 3)


if __name__ == "__main__":
    unittest.main()
