# SPDX-License-Identifier: Apache-2.0
"""`reeve verify` finds what is wrong with a log, names it, and exits with 1."""

import json
import unittest

from lib import Broker, Cluster
from lib.records import local_schemas

CLAIM = bytes(range(16))
AT = 1_700_000_000_000


def attempt(**fields):
    return {"step": "Reserve", "direction": "do", "attempt": 1, **fields}


class VerifyTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker.shared()
        self.cluster = Cluster(self.broker, partitions=1)
        self.addCleanup(self.cluster.stop)
        self.cluster.topics_apply()
        self.schemas = local_schemas()
        self.append("Claim", {"claim_id": CLAIM, "instance": "s-1", "claimed_at": AT,
                              "partition_count": 1, "reset": None})
        self.decided = self.sequence = 0
        self.decide("Processing", AT + 10, [
            ("reeve.OrderAccepted", {
                "details": {"order_id": "o-1", "currency": "EUR", "workflow": "w",
                            "workflow_version": 1},
                "steps": [{"name": "Reserve", "agent": "stock"}]}),
            ("reeve.OrderStarted", {}),
            ("reeve.StepStarted", attempt(agent="stock", action="Reserve", generation=0,
                                          complete_by=AT + 100, margin_ms=10))])

    def append(self, name, value):
        self.cluster.produce("events", [("o-1", self.schemas.encode(name, value))])

    def restate(self, **fields):
        """As an owner does before it trims: events[0] then begins at offset 2."""
        step = {"name": "Reserve", "agent": "stock", "direction": "do", "state": "Processing",
                "attempt": 1, "complete_by": AT + 100, "margin_ms": 10, "started_version": 1,
                "started_at": AT + 10, "locked_by": "s-1", "workflow_version": 1}
        went_on = {"claim_id": CLAIM, "first_claim_id": CLAIM, "partition_count": 1,
                   "next_command_offset": 1, "last_command_offset": 0, "last_command_time": AT,
                   "newest_decided_at": AT + 10, "emitted_through": 1, "claim_decisions": 1,
                   "previous_claim_decisions": -1, "guarded_offset": -1, "guards": 0,
                   "written_at": AT + 11, "format": 1}
        self.append("Continuation", {**went_on, "sequence": 1})
        self.append("Statement", {"claim_id": CLAIM, "sequence": 2, "format": 1, "order": {
            "details": {"order_id": "o-1", "currency": "EUR", "workflow": "w",
                        "workflow_version": 1},
            "version": 1, "state": "Processing", "accepted_at": AT + 10, "accepted_offset": 1,
            "stated_offset": 1, "updated_at": AT + 10, "steps": [step], **fields}})
        self.append("Continuation", {**went_on, "sequence": 3, "trimmed": 2})
        self.sequence = 4
        self.broker.delete_records(self.cluster.topic("events"), 0, 2)

    def decide(self, state, at, events):
        self.append("Decision", {
            "claim_id": CLAIM, "sequence": self.sequence, "command_offset": self.decided,
            "command_time": AT, "order_id": "o-1", "order_version": self.decided + 1,
            "order_state": state, "decided_at": at, "emitted_through": -1, "events": events})
        self.decided += 1
        self.sequence += 1

    def end(self, at):
        self.decide("Processed", at, [("reeve.StepSucceeded", attempt(output="{}")),
                                      ("reeve.OrderProcessed", {})])

    def verify(self, *arguments):
        return self.cluster.reeve("verify", *arguments, check=False)

    def test_a_clean_log_is_one_line(self):
        self.end(AT + 20)
        done = self.verify()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            done.stdout, "OK: 1 order (1 processed, 0 compensated, 0 in Error, 0 unfinished) in "
            "2 decisions, no violations\n")

    def test_a_trimmed_log_is_checked_from_where_it_begins(self):
        self.restate()
        self.end(AT + 20)
        done = self.verify()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            done.stdout, "OK: 1 order (1 processed, 0 compensated, 0 in Error, 0 unfinished) in "
            "1 decision, no violations; 1 partition checked from where the trimmed log begins\n")
        rows = json.loads(self.verify("--output", "json").stdout)
        self.assertEqual([(row["start"], row["records"]) for row in rows], [(2, 4)])

    def test_a_violation_is_named_with_its_place(self):
        self.end(AT + 5)  # earlier than the Decision before
        done = self.verify()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("o-1", done.stderr)
        self.assertIn("decided_at is earlier than that of the Decision before", done.stderr)
        table, summary = done.stdout.rstrip().rsplit("\n", 1)
        self.assertIn("violations", table)
        self.assertEqual(
            summary, "NOT OK: 1 violation; 1 order (1 processed, 0 compensated, 0 in Error, "
            "0 unfinished) in 2 decisions")
        rows = json.loads(self.verify("--output", "json").stdout)
        self.assertEqual([(row["partition"], row["result"]) for row in rows], [(0, "violations")])

    def test_a_decision_that_cannot_follow_stops_the_check(self):
        self.decide("Processing", AT + 20, [("reeve.StepSucceeded", {**attempt(), "attempt": 7})])
        done = self.verify()
        self.assertNotIn(done.returncode, (0, 1), done.stdout)
        self.assertIn("cannot follow the ones before it", done.stderr)
        self.assertIn("events[0]@2", done.stderr)


if __name__ == "__main__":
    unittest.main()
