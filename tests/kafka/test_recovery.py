# SPDX-License-Identifier: Apache-2.0
"""Agents that never answer, or answer too late. A supervisor requests the recovery of each attempt;
waits and threshold are those of the workflow; when the policy is exhausted, the order is
compensated or an alert is raised. Late reports are recorded and change nothing."""

import json
import time
import unittest

from lib import wait_for
from lib.stage import MARGIN_MS, StageTest

# Two short waits, then a longer one: the threshold is the third failure.
RETRY = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 0.1, "BackoffRate": 2,
          "MaxAttempts": 2, "JitterStrategy": "NONE"},
         {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1.2, "MaxAttempts": 1,
          "JitterStrategy": "NONE"}]
WAITS = [100, 200, 1200]
STOCK = {"Name": "ReserveStock", "Agent": "stock", "Compensate": {"Action": "ReleaseStock"}}


def workflow(name, *steps, **defaults):
    return {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": 0.5, **defaults},
            "Steps": list(steps)}


class Player(StageTest):
    """The test itself plays the agent "tested" and chooses its answers and their time."""

    @classmethod
    def setUpClass(cls):
        if cls is Player:
            raise unittest.SkipTest("a base class")
        super().setUpClass()

    def request(self, order, attempt, direction="do"):
        def found():
            return [request for request in self.stage.requests("tested", order)
                    if (request["attempt"], request["direction"]) == (attempt, direction)]

        return wait_for(lambda: f"a request, {self.stage.describe(order)}", found, 20)[0]

    def report(self, request, succeeded=True, **more):
        """Returns the position of the report in `commands`."""
        return self.stage.send("commands", "ReportStep", {
            "order_id": request["order_id"], "step": request["step"],
            "direction": request["direction"], "attempt": request["attempt"],
            "succeeded": succeeded, "output": '{"by": "the test"}' if succeeded else "",
            "error_name": "" if succeeded else "Refused", "error_message": "",
            "effect": "applied" if succeeded else "none", "agent": "tested", "instance": "late-one",
            **more})

    def decision_on(self, position):
        partition, offset = position

        def found():
            return [record.value for record in self.stage.tail("events")
                    if record.type == "Decision" and record.partition == partition
                    and record.value["command_offset"] == offset]

        return wait_for(f"a Decision on command {position}", found, 20)[0]

    def assert_ignored(self, request, position, code):
        decision = self.decision_on(position)
        (event,) = decision["events"]
        self.assertEqual((event["_type"], event["code"]), ("ReportIgnored", code))
        self.assertEqual((event["step"], event["direction"], event["attempt"], event["by"]),
                         (request["step"], request["direction"], request["attempt"], "late-one"))
        self.assertTrue(event["reason"])
        version = max([0, *(seen.decision["order_version"]
                            for seen in self.stage.events(request["order_id"])
                            if seen.decision["command_offset"] < position[1])])
        self.assertEqual(decision["order_version"], version, "the order is unchanged")
        return event["reason"]

    def recover(self, order, request, **more):
        """The Decision on a supervisor's request."""
        return self.decision_on(self.stage.send("commands", "RecoverStep", {
            "order_id": order, "step": request["step"], "direction": request["direction"],
            "attempt": request["attempt"], "complete_by": request["complete_by"],
            "by": "supervisor-whose-clock-is-wrong", **more}))


class RecoveryTest(Player):
    """The agent "silent" never answers. The agent "sleepy" is a process that is stopped for a
    while."""

    workflows = [
        workflow("compensate-at-last", STOCK, {"Name": "Wait", "Agent": "silent", "Retry": RETRY}),
        workflow("alert-at-last", STOCK, {
            "Name": "Wait", "Agent": "silent", "OnExhausted": "error",
            "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.4, "MaxAttempts": 1}]}),
        workflow("tested", {"Name": "Ask", "Agent": "tested", "Compensate": {"Action": "TakeBack"},
                            "Retry": RETRY}, TimeoutSeconds=3),
        workflow("tested-patiently", {"Name": "Ask", "Agent": "tested"}, TimeoutSeconds=30),
        workflow("tested-once", STOCK, {"Name": "Ask", "Agent": "tested"}),
        # Slow enough to be stopped during its call even on a slow machine.
        workflow("sleepy", {"Name": "Sleep", "Agent": "sleepy", "Retry": RETRY}, TimeoutSeconds=6),
        workflow("absent", {"Name": "Call", "Agent": "absent"}),
        {"Name": "too-long", "Version": 1, "TimeoutSeconds": 1,
         "Defaults": {"TimeoutSeconds": 0.5,
                      "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 50,
                                 "IntervalSeconds": 0.1, "BackoffRate": 1,
                                 "JitterStrategy": "NONE"}]},
         "Steps": [STOCK, {"Name": "Wait", "Agent": "silent"}]},
    ]
    options = {"http_agents": ["stock"], "silent_agents": ["tested", "absent"], "supervisors": 2,
               "console": True,
               "sim_agents": {"silent": {"agent.sim.silent.share": "1"},
                              "sleepy": {"agent.sim.latency.ms": "3000"}}}

    # ---- no answer ----

    def check_attempts(self, order, waits):
        """Each attempt of Wait times out no earlier than complete_by + margin, at the request of a
        supervisor, and is followed by the wait of the policy. Returns the waits."""
        started = self.stage.find(order, "StepStarted Wait do")
        timed_out = self.stage.find(order, "StepTimedOut Wait do")
        retries = self.stage.find(order, "StepRetryScheduled Wait do")
        self.assertEqual(len(started), len(waits) + 1)
        self.assertEqual([seen.event["failure_count"] for seen in timed_out],
                         list(range(1, len(waits) + 2)))
        for attempt, over in zip(started, timed_out):
            self.assertEqual(attempt.event["complete_by"], attempt.decision["decided_at"] + 500)
            self.assertEqual(over.event["complete_by"], attempt.event["complete_by"])
            self.assertGreaterEqual(over.decision["decided_at"],
                                    attempt.event["complete_by"] + MARGIN_MS)
            self.assertRegex(over.event["by"], "^supervisor-[01]$")
            self.assertEqual(over.event["effect"], "unknown")
        for retry, again in zip(retries, started[1:]):
            self.assertGreaterEqual(again.decision["decided_at"], retry.event["retry_at"])
        return [seen.event["retry_at"] - seen.decision["decided_at"] for seen in retries]

    def test_a_silent_agent_is_retried_with_growing_waits_then_compensated(self):
        self.stage.submit("silence-1", "compensate-at-last")
        self.stage.wait_for_end("silence-1", "Compensated")
        self.assertEqual(self.check_attempts("silence-1", WAITS), WAITS)
        self.assertEqual([(seen.event["retrier"], seen.event["retry"]) for seen in
                          self.stage.find("silence-1", "StepRetryScheduled")],
                         [(0, 1), (0, 2), (1, 1)])
        # A supervisor may ask again before it has seen the outcome: that changes nothing.
        whats = [what for what in self.stage.whats("silence-1") if what != "CommandRejected"]
        self.assertEqual(whats[whats.index("StepExhausted Wait do 4"):], [
            "StepExhausted Wait do 4", "CompensationStarted", "StepStarted ReserveStock undo 1",
            "StepSucceeded ReserveStock undo 1", "StepCompensated ReserveStock undo 1",
            "OrderCompensated"])
        self.assertEqual(self.stage.wait_for_status("silence-1", "Compensated")["code"],
                         "States.Timeout")
        # All attempts share one key, and a supervisor requested the recovery of each.
        self.assertEqual(len({request["idempotency_key"] for request in
                              self.stage.requests("silent", "silence-1")}), 1)
        requested = {(record.value["step"], record.value["attempt"])
                     for record in self.stage.tail("commands")
                     if record.type == "RecoverStep" and record.key == "silence-1"}
        self.assertLessEqual({("Wait", number) for number in (1, 2, 3, 4)}, requested)

    def test_a_silent_agent_raises_an_alert_and_the_order_is_resubmitted(self):
        self.stage.submit("silence-2", "alert-at-last")
        self.stage.wait_for_end("silence-2", "Error")
        (wait,) = self.check_attempts("silence-2", [400])
        self.assertTrue(0 <= wait <= 400, wait)  # with jitter
        alert = self.stage.wait_for_alert("silence-2", raised=True)
        self.assertEqual((alert["code"], alert["step"]), ("States.Timeout", "Wait"))
        self.assertIn("silence-2", alert["message"])
        self.assertEqual(self.stage.wait_for_status("silence-2", "Error")["code"], "States.Timeout")
        self.assertEqual(self.stage.find("silence-2", "StepStarted ReserveStock undo"), [])

        # While the order waits for an operator, the agent is replaced.
        cluster = self.stage.cluster
        cluster["agent-silent"].terminate()
        replacement = self.stage.add_agent("silent", {"agent.kind": "sim"}, "agent-replacement")
        replacement.wait_ready()
        try:
            self.stage.ask_console("resubmit", "silence-2", "--by", "olga",
                                   "--reason", "the agent is repaired")
            self.stage.wait_for_end("silence-2", "Processed")
        finally:
            replacement.terminate()
            cluster["agent-silent"].start()
        resubmitted = self.stage.find("silence-2", "StepResubmitted Wait")[0].event
        self.assertEqual(resubmitted["reason"], "the agent is repaired")
        self.assertTrue(resubmitted["by"])
        closed = self.stage.wait_for_alert("silence-2", raised=False)
        self.assertEqual(closed["by"], resubmitted["by"])
        started = self.stage.find("silence-2", "StepStarted Wait do")
        self.assertEqual([seen.event["attempt"] for seen in started], [1, 2, 3])
        # The effect of the silent attempts is unknown, so the key stays the same.
        self.assertEqual(len({request["idempotency_key"] for request in
                              self.stage.requests("silent", "silence-2")}), 1)
        kinds = [status["kind"] for status in self.stage.statuses("silence-2")]
        self.assertLess(kinds.index("Error"), kinds.index("Resumed"))

    def test_an_agent_without_an_instance_times_out(self):
        self.stage.submit("silence-3", "absent")
        self.stage.wait_for_end("silence-3", "Compensated")
        self.assertEqual(self.stage.find("silence-3", "StepTimedOut")[0].event["failure_count"], 1)

    def test_an_order_past_its_own_deadline_is_compensated(self):
        self.stage.submit("too-long-1", "too-long")
        self.stage.wait_for_end("too-long-1", "Compensated")
        accepted = self.stage.find("too-long-1", "OrderAccepted")[0]
        over = self.stage.find("too-long-1", "OrderTimedOut")[0]
        self.assertGreaterEqual(over.decision["decided_at"],
                                accepted.event["complete_by"] + accepted.event["margin_ms"])
        self.assertEqual(accepted.event["complete_by"], accepted.decision["decided_at"] + 1000)
        self.assertRegex(over.event["by"], "^supervisor-[01]$")
        undo = self.stage.find("too-long-1", "StepStarted ReserveStock undo 1")
        self.assertEqual(len(undo), 1)

    # ---- early recovery ----

    def test_an_early_recovery_request_is_rejected(self):
        self.stage.submit("early-1", "tested-patiently")
        request = self.request("early-1", 1)
        for more, code in (({}, "NotYetDue"), ({"complete_by": 1}, "Stale"),
                           ({"attempt": 2}, "Stale"), ({"direction": "undo"}, "Stale"),
                           ({"step": "Other"}, "UnknownStep")):
            with self.subTest(more=more):
                decision = self.recover("early-1", request, **more)
                (event,) = decision["events"]
                self.assertEqual((event["_type"], event["command"], event["code"]),
                                 ("CommandRejected", "RecoverStep", code))
                self.assertEqual(event["by"], "supervisor-whose-clock-is-wrong")
                self.assertEqual(decision["order_version"], 1)
                if code == "NotYetDue":
                    self.assertEqual(event["due_at"], request["complete_by"] + MARGIN_MS)
        self.report(request)
        self.stage.wait_for_end("early-1", "Processed")

    # ---- late reports ----

    def test_a_late_report_of_a_superseded_attempt_is_ignored(self):
        self.stage.submit("late-1", "tested")
        first = self.request("late-1", 1)
        second = self.request("late-1", 2)
        reason = self.assert_ignored(first, self.report(first), "Superseded")
        self.assertIn("attempt 2", reason)
        # The history shows it.
        history = wait_for("the console has folded it", lambda: [
            line for line in self.stage.ask_console("orders", "history", "late-1")
            if "ReportIgnored" in json.dumps(line)], 15, poll_seconds=0.2)
        self.assertIn(reason, json.dumps(history[0]))
        # A failure is ignored as well.
        self.assert_ignored(first, self.report(first, succeeded=False), "Superseded")
        self.assertEqual(self.stage.state("late-1"), "Processing")
        self.report(second)
        self.stage.wait_for_end("late-1", "Processed")
        (succeeded,) = self.stage.find("late-1", "StepSucceeded")
        self.assertEqual(succeeded.event["attempt"], 2)
        # So is a repeated report after the end.
        self.assert_ignored(second, self.report(second), "AlreadyEnded")
        self.assertEqual(self.stage.state("late-1"), "Processed")
        self.assertEqual(first["idempotency_key"], second["idempotency_key"])

    def test_a_late_report_after_compensation_is_ignored(self):
        self.stage.submit("late-2", "tested-once")
        request = self.request("late-2", 1)
        self.stage.wait_for_end("late-2", "Compensated")
        self.assert_ignored(request, self.report(request), "AlreadyEnded")
        self.assertEqual(self.stage.state("late-2"), "Compensated")
        kinds = [status["kind"] for status in self.stage.statuses("late-2")]
        self.assertEqual(kinds[-1], "Compensated")

    def test_a_late_report_during_the_undo_of_its_step_is_ignored(self):
        self.stage.submit("late-3", "tested")
        first = self.request("late-3", 1)
        self.stage.cancel("late-3")
        undo = self.request("late-3", 1, "undo")
        self.assert_ignored(first, self.report(first), "Superseded")
        self.assertEqual(self.stage.state("late-3"), "Compensating")
        self.report(undo)
        self.stage.wait_for_end("late-3", "Compensated")
        self.assertEqual(undo["do_key"], first["do_key"])
        self.assertEqual(undo["action"], "TakeBack")

    def test_reports_of_unknown_attempts_are_ignored(self):
        self.stage.submit("late-5", "tested-patiently")
        request = self.request("late-5", 1)
        self.assert_ignored({**request, "attempt": 7}, self.report({**request, "attempt": 7}),
                            "UnknownAttempt")
        self.assert_ignored({**request, "direction": "undo"},
                            self.report({**request, "direction": "undo"}), "UnknownAttempt")
        self.assert_ignored({**request, "step": "Other"}, self.report({**request, "step": "Other"}),
                            "UnknownStep")
        unknown = self.decision_on(self.report({**request, "order_id": "late-unknown"}))
        self.assertEqual([event["_type"] for event in unknown["events"]], ["ReportIgnored"])
        self.assertEqual(unknown["order_version"], 0)
        self.report(request)
        self.stage.wait_for_end("late-5", "Processed")

    def test_the_report_of_an_agent_that_was_stopped_is_ignored(self):
        sleepy = self.stage.cluster["agent-sleepy"]
        self.stage.submit("sleepy-1", "sleepy")
        self.stage.wait_for_event("sleepy-1", "StepStarted Sleep do 1")
        sleepy.sigstop()
        try:
            self.stage.wait_for_event("sleepy-1", "StepStarted Sleep do 2")
        finally:
            sleepy.sigcont()
        self.stage.wait_for_end("sleepy-1", "Processed")
        ignored = self.stage.wait_for_event("sleepy-1", "ReportIgnored Sleep do 1").event
        self.assertEqual((ignored["code"], ignored["succeeded"], ignored["by"]),
                         ("Superseded", True, "agent-sleepy"))
        self.assertEqual(len(self.stage.find("sleepy-1", "StepSucceeded")), 1)


class MarginTest(Player):
    """A margin so long that what happens within it is certain to."""

    margin_ms = 60000
    workflows = [workflow("tested-once", {"Name": "Ask", "Agent": "tested"})]
    options = {"http_agents": (), "silent_agents": ["tested"],
               "scheduler_properties": {"clock.skew.max.ms": margin_ms}}

    def request_that_is_over(self, order):
        """The request of an attempt whose complete_by has passed."""
        self.stage.submit(order, "tested-once")
        request = self.request(order, 1)
        wait_for("complete_by has passed", lambda: time.time() * 1000 > request["complete_by"], 5,
                 poll_seconds=0.01)
        return request

    def test_no_step_times_out_within_the_margin(self):
        request = self.request_that_is_over("early-2")
        (event,) = self.recover("early-2", request)["events"]
        self.assertEqual((event["_type"], event["code"], event["due_at"]),
                         ("CommandRejected", "NotYetDue", request["complete_by"] + self.margin_ms))
        self.report(request)
        self.stage.wait_for_end("early-2", "Processed")

    def test_a_late_report_before_its_recovery_counts(self):
        request = self.request_that_is_over("late-4")
        decision = self.decision_on(self.report(request))
        self.assertGreater(decision["decided_at"], request["complete_by"])
        self.assertEqual(decision["events"][0]["_type"], "StepSucceeded")
        self.stage.wait_for_end("late-4", "Processed")


if __name__ == "__main__":
    unittest.main()
