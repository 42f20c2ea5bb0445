#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of the tests on Kafka is itself tested: it finds nothing in a good log, and what is
planted in a bad one."""

import os
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "tests" / "kafka" / "lib"))

import checker  # noqa: E402  (a file of its own: without lib's clients)

NOW = 1_000_000
CLAIM = b"c" * 16


def accepted(*steps):
    return {"_type": "OrderAccepted", "steps": [{"name": step, "agent": "one"} for step in steps]}


def started(step, attempt, direction="do", agent="one", at=NOW, reason=""):
    return {"_type": "StepStarted", "step": step, "direction": direction, "attempt": attempt,
            "generation": 0, "agent": agent, "action": step, "complete_by": at + 100,
            "margin_ms": 10, "routing_reason": reason}


def queued(step, attempt=0, direction="do", since=NOW, retry_at=0, reason="one: circuit open"):
    return {"_type": "StepQueued", "step": step, "direction": direction, "attempt": attempt,
            "queued_at": since, "retry_at": retry_at, "reason": reason}


def extended(step, attempt, until, action=None):
    return {"_type": "StepExtended", "step": step, "direction": "do", "attempt": attempt,
            "action": action or step, "complete_by": until, "progress": "half", "by": "one-1"}


def succeeded(step, attempt, direction="do"):
    return {"_type": "StepSucceeded", "step": step, "direction": direction, "attempt": attempt}


def timed_out(step, attempt, count=1):
    return {"_type": "StepTimedOut", "step": step, "direction": "do", "attempt": attempt,
            "effect": "unknown", "failure_count": count}


def retry(step, at):
    return {"_type": "StepRetryScheduled", "step": step, "direction": "do", "attempt": 1,
            "retry_at": at}


def mark(kind, by=""):
    return {"_type": kind, "by": by, "code": "", "reason": "", "step": ""}


def story(*decisions):
    """Findings of a log of one order: each Decision is (time, state afterwards, events...)."""
    partition = checker.Checker(0, 1)
    partition.record(types.SimpleNamespace(type="Claim", value={"claim_id": CLAIM}, offset=0))
    version = 0
    for number, (now, state, *events) in enumerate(decisions):
        version += 1
        value = {"claim_id": CLAIM, "sequence": number, "command_offset": number,
                 "command_time": now, "decided_at": now, "order_id": "o", "order_state": state,
                 "order_version": version, "events": events, "reply_to": ""}
        partition.record(types.SimpleNamespace(type="Decision", value=value, offset=number + 1))
        if events[0]["_type"] == "OrderExpired":
            version = 0
    return partition.findings


SUBMITTED = (NOW, "Processing", accepted("A"), mark("OrderStarted"), started("A", 1))
WAITING = (NOW, "Processing", accepted("A"), mark("OrderStarted"), queued("A"))
DONE = (NOW + 50, "Processed", succeeded("A", 1), mark("OrderProcessed"))
EXPIRED = (NOW + 99, "Processed", mark("OrderExpired", "auditor"))


class CheckerTest(unittest.TestCase):
    def assert_found(self, rule, *decisions):
        findings = story(*decisions)
        self.assertTrue(any(line.startswith(rule + ":") for line in findings), findings)

    def test_a_good_log(self):
        for decisions in (
            [SUBMITTED, DONE, EXPIRED],
            [SUBMITTED, DONE, EXPIRED, SUBMITTED[:0] + (NOW + 99, *SUBMITTED[1:])],
            [WAITING,
             (NOW + 5, "Processing", queued("A", retry_at=NOW + 9)),
             (NOW + 6, "Processing", started("A", 1, agent="two", reason="two: 4 free")), DONE],
            [SUBMITTED,
             (NOW + 20, "Processing", extended("A", 1, NOW + 900)),
             (NOW + 910, "Processing", timed_out("A", 1), retry("A", NOW + 920)),
             (NOW + 920, "Processing", queued("A", 1, since=NOW + 920)),
             (NOW + 930, "Processing", started("A", 2, reason="one: 1 free", at=NOW + 930))],
            [(NOW, "Processing", accepted("A", "B"), mark("OrderStarted"), started("A", 1)),
             (NOW + 1, "Processing", succeeded("A", 1), queued("B", since=NOW + 1)),
             (NOW + 2, "Compensating", mark("OrderCancelled", "ann"), mark("CompensationStarted"),
              {"_type": "StepSkipped", "step": "B"}, queued("A", 0, "undo", NOW + 2)),
             (NOW + 3, "Compensating", started("A", 1, "undo", reason="one: 1 free")),
             (NOW + 4, "Compensated", succeeded("A", 1, "undo"),
              {"_type": "StepCompensated", "step": "A"}, mark("OrderCompensated"))],
        ):
            self.assertEqual(story(*decisions), [])

    def test_queueing(self):
        self.assert_found("I5", SUBMITTED, (NOW + 1, "Processing", queued("A", 1, since=NOW + 1)))
        self.assert_found("I5", (NOW, "Processing", accepted("A"), queued("A", attempt=1)))
        self.assert_found("I3", WAITING, (NOW + 9, "Processing", queued("A", since=NOW + 9)))
        self.assert_found("I10", (NOW, "Processing", accepted("A"), queued("A", retry_at=NOW)))
        self.assert_found("I18", (NOW, "Processing", accepted("A"), queued("A", reason="")))
        self.assert_found("I18", WAITING, (NOW + 1, "Processing", started("A", 1)))
        self.assert_found("I9", SUBMITTED, DONE[:1] + ("Processing", succeeded("A", 1)),
                          (NOW + 60, "Processing", queued("A", 1, since=NOW + 60)))
        self.assert_found("I9", SUBMITTED, (NOW + 50, "Processing", succeeded("A", 1)),
                          (NOW + 60, "Processing", queued("A", 0, "undo", NOW + 60)))
        # An attempt that was never counted is not one.
        self.assert_found("I5", WAITING, (NOW + 1, "Processing", started("A", 2, reason="x")))

    def test_whom_the_next_attempt_is_asked_of(self):
        self.assert_found("I11", SUBMITTED,
                          (NOW + 110, "Processing", timed_out("A", 1), retry("A", NOW + 120)),
                          (NOW + 120, "Processing", started("A", 2, agent="two", reason="two")))

    def test_extension(self):
        later = (NOW + 20, "Processing", extended("A", 1, NOW + 900))
        self.assert_found("I8", SUBMITTED, later, (NOW + 110, "Processing", timed_out("A", 1),
                                                   retry("A", NOW + 120)))
        self.assert_found("I7", SUBMITTED, DONE[:1] + ("Processing", succeeded("A", 1)), later)
        self.assert_found("I7", SUBMITTED, (NOW + 1, "Processing", extended("A", 2, NOW + 900)))
        self.assert_found("I3", SUBMITTED, (NOW + 1, "Processing", extended("A", 1, NOW + 100)))
        self.assert_found("I11", SUBMITTED,
                          (NOW + 1, "Processing", extended("A", 1, NOW + 900, "other")))

    def test_expiry(self):
        self.assert_found("I1", SUBMITTED, (NOW + 1, "Processing", mark("OrderExpired", "x")))
        self.assert_found("I18", SUBMITTED, DONE, (NOW + 99, "Processed", mark("OrderExpired")))
        self.assert_found("I3", SUBMITTED, DONE,
                          (NOW + 99, "Compensated", mark("OrderExpired", "x")))
        # Whatever comes after it is of another order.
        self.assert_found("I6", SUBMITTED, DONE, EXPIRED, (NOW + 99, *DONE[1:]))


if __name__ == "__main__":
    unittest.main()
