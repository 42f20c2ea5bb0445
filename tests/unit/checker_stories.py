# SPDX-License-Identifier: Apache-2.0
"""Logs for test_checker.py: good ones, and ones with one planted bug each, of a single order "o" on
one partition."""

import json
import os
import pathlib
import sys
import types

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "tests" / "kafka" / "lib"))

import checker  # noqa: E402  (a package of its own: without lib's clients)
from checker import effects  # noqa: E402

NOW = 1_000_000
CLAIM = b"c" * 16
AGENTS = ("one", "two")

TWO = {"Name": "two", "Version": 1, "TimeoutSeconds": 5, "Steps": [
    {"Name": "A", "Agents": ["one", "two"], "TimeoutSeconds": 0.1, "MaxExtensionSeconds": 1,
     "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 0.01, "MaxAttempts": 1,
                "JitterStrategy": "NONE"},
               {"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 0.02, "MaxAttempts": 2},
               {"ErrorEquals": ["States.Timeout"], "MaxAttempts": 1}],
     "Compensate": {"Action": "UndoA", "TimeoutSeconds": 0.2}},
    {"Name": "B", "Agent": "one", "TimeoutSeconds": 0.1, "Compensate": {"Action": "UndoB"}}]}
PIVOT = {"Name": "pivot", "Version": 1, "Defaults": {"TimeoutSeconds": 0.1}, "Steps": [
    {"Name": "A", "Agent": "one", "After": [], "Catch": [
        {"ErrorEquals": ["Fraud"], "Next": "$error"}]},
    {"Name": "B", "Agent": "one", "Pivot": True}]}
REFUSED_PIVOT = {"Name": "refused-pivot", "Version": 1, "Defaults": {
    "TimeoutSeconds": 0.1, "OnExhausted": "error"}, "Steps": [
        {"Name": "A", "Agent": "one", "Pivot": True}, {"Name": "B", "Agent": "one"}]}
PARALLEL = {"Name": "parallel", "Version": 1, "Steps": [
    {"Name": "A", "Agent": "one", "After": [], "Compensate": {"Action": "UndoA"}},
    {"Name": "B", "Agent": "one", "After": [], "Compensate": {"Action": "UndoB"}},
    {"Name": "C", "Agent": "one", "After": ["A", "B"]}],
            "Defaults": {"TimeoutSeconds": 0.1, "OnExhausted": "error"}}
DECIDES = {"Name": "decides", "Version": 1, "Defaults": {"TimeoutSeconds": 0.1}, "Steps": [
    {"Name": "A", "Agent": "one", "Input": {"n": 1}, "Retry": [{"ErrorEquals": ["States.ALL"]}],
     "Catch": [{"ErrorEquals": ["Declined", "States.QueryEvaluationError"],
                "Next": "$continue"}]},
    {"Name": "B", "Set": 1}, {"Name": "C", "Agent": "one", "When": "has(output.A)"},
    {"Name": "D", "Fail": {"Error": "No"}}]}
ASKS = {**DECIDES, "Name": "asks", "Steps": [
    DECIDES["Steps"][0], {"Name": "B", "Set": 1, "When": "has(output.A)"}]}
AMENDS = {"Name": "amends", "Version": 1, "Defaults": {"TimeoutSeconds": 0.1}, "Steps": [
    {"Name": "S", "Set": "${input.n}"},
    {"Name": "A", "Agent": "one", "After": ["S"], "Input": {"n": "${input.n}"},
     "OnExhausted": "error"},
    {"Name": "B", "Agent": "one", "After": ["S"], "Input": {"n": "${input.n}"},
     "Retry": [{"ErrorEquals": ["States.ALL"]}]}]}
WAITS = {"Name": "waits", "Version": 1, "Defaults": {"TimeoutSeconds": 0.1}, "Steps": [
    {"Name": "W", "Wait": {"Seconds": 0.05, "SpreadSeconds": 0.01}},
    {"Name": "V", "Wait": {"Timestamp": "input.t"}},
    {"Name": "A", "Agent": "one", "Until": "result.ready", "Retry": [
        {"ErrorEquals": ["States.NotYet"], "IntervalSeconds": 0.01, "MaxAttempts": 2,
         "JitterStrategy": "NONE"}, {"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]}]}
AWAITS = {"Name": "awaits", "Version": 1, "TimeoutSeconds": 60,
          "Defaults": {"TimeoutSeconds": 0.1}, "Steps": [
    {"Name": "S", "Agent": "one"},
    {"Name": "W", "Await": {"From": "managers"}, "TimeoutSeconds": 0.05, "Until": "result > 1",
     "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "$continue"}]},
    {"Name": "V", "Await": {}}]}
UNDO_MS = {"two": {"A": 200, "B": 100}, "parallel": {"A": 100, "B": 100}}


def deploy(*workflows):
    return checker.read_workflows(
        types.SimpleNamespace(type="WorkflowDefinition", value={
            "name": workflow["Name"], "version": workflow["Version"], "format": "json",
            "source": json.dumps(workflow)}) for workflow in workflows)


THREE = {**TWO, "Version": 2, "Steps": [
    {"Name": "X", "Agent": "one", "After": "A", "TimeoutSeconds": 0.1},
    {**TWO["Steps"][0], "After": []}, {**TWO["Steps"][1], "After": "X"}]}
BARE = {**TWO, "Version": 3, "Steps": [
    {"Name": "Z", "Agent": "one"},
    {"Name": "A", "Agents": ["one", "two"]}, {"Name": "B", "Agent": "one"}]}
OTHER_INPUT = {**DECIDES, "Version": 2, "Steps": [
    {**DECIDES["Steps"][0], "Input": {"n": 2}}, *DECIDES["Steps"][1:]]}
OTHER_WAITS = {**WAITS, "Version": 2, "Steps": [
    {"Name": "W", "Wait": {"Seconds": 1}}, *WAITS["Steps"][1:]]}
# The first definition counts.
WORKFLOWS = deploy(THREE, BARE, TWO, PIVOT, REFUSED_PIVOT, PARALLEL, DECIDES, ASKS, AMENDS, WAITS,
                   AWAITS, OTHER_WAITS, OTHER_INPUT, {**TWO, "Steps": []})


# ---- events ----

def accepted(workflow=TWO, due=None, **more):
    timeout = round(1000 * workflow.get("TimeoutSeconds", 0))
    return {"_type": "OrderAccepted", "margin_ms": 10, "complete_by": (
        due if due is not None else NOW + timeout if timeout else 0),
            "details": {"workflow": workflow["Name"], "workflow_version": 1},
            "steps": [{"name": step["Name"], "agent": "one"} for step in workflow["Steps"]], **more}


def begun(workflow=TWO, **more):
    return accepted(workflow, **more), mark("OrderStarted")


def of_step(kind, step, attempt, direction="do", **more):
    return {"_type": kind, "step": step, "direction": direction, "attempt": attempt, **more}


def started(step, attempt=1, at=NOW, agent="one", reason="", generation=0, **more):
    return of_step("StepStarted", step, attempt, **{
        "generation": generation, "agent": agent, "action": step, "complete_by": at + 100,
        "margin_ms": 10, "routing_reason": reason, **more})


def undo(step, at, attempt=1, workflow="two", **more):
    return started(step, attempt, at, **{
        "direction": "undo", "action": "Undo" + step,
        "complete_by": at + UNDO_MS[workflow][step], **more})


def queued(step, attempt=0, direction="do", since=NOW, retry_at=0, reason="one: circuit open"):
    return of_step("StepQueued", step, attempt, direction, queued_at=since, retry_at=retry_at,
                   reason=reason)


def extended(step, attempt, until, action=None):
    return of_step("StepExtended", step, attempt, action=action or step, complete_by=until)


def succeeded(step, attempt=1, direction="do"):
    return of_step("StepSucceeded", step, attempt, direction, output=f'"{step} done"')


def undone(step, attempt=1):
    return succeeded(step, attempt, "undo"), of_step("StepCompensated", step, attempt, "undo")


def failed(step, attempt=1, error="Declined", count=1, effect="none", direction="do"):
    return of_step("StepFailed", step, attempt, direction, error_name=error, effect=effect,
                   failure_count=count)


def timed_out(step, attempt=1, count=1, effect="unknown"):
    return of_step("StepTimedOut", step, attempt, effect=effect, failure_count=count)


def retry(step, at, retrier=1, number=1, attempt=1, direction="do"):
    return of_step("StepRetryScheduled", step, attempt, direction, retry_at=at, retrier=retrier,
                   retry=number)


def exhausted(step, attempt=1, direction="do"):
    return of_step("StepExhausted", step, attempt, direction)


def skipped(step, attempt=0, reason="never started"):
    return of_step("StepSkipped", step, attempt, reason=reason)


def passed(step, output="1", by="", signal_id=""):
    return of_step("StepPassed", step, 0, output=output, by=by, signal_id=signal_id)


def waiting(step, until):
    return of_step("StepWaiting", step, 0, due_at=until, for_signal=False, group="", options=[],
                   question="")


def awaiting(step, until=0, group=""):
    return {**waiting(step, until), "for_signal": True, "group": group}


def signal(step, payload, kept, by="ann", signal_id=""):
    return {"_type": "SignalReceived", "step": step, "payload": payload, "kept": kept, "by": by,
            "signal_id": signal_id}


def not_yet(step, attempt=1, **more):
    return {**failed(step, attempt, "States.NotYet", attempt), "not_yet": True, **more}


def caught(step, attempt=0):
    return of_step("StepCaught", step, attempt, reason="a Catch matches it")


def unstarted(step, error="States.QueryEvaluationError", count=1):
    return of_step("StepFailedUnstarted", step, 0, error_name=error, failure_count=count, by="")


def resubmitted(step, attempt=1, generation=0, by="ann", direction="do"):
    return of_step("StepResubmitted", step, attempt, direction, generation=generation, by=by)


def completed(step, attempt=1, direction="do", output="", by="ann"):
    return of_step("StepCompletedByHand", step, attempt, direction, output=output, by=by)


def skipped_by_hand(step, attempt=1, direction="do"):
    return of_step("StepSkippedByHand", step, attempt, direction, by="ann")


def failed_by_hand(step, attempt=0, error="Declined", count=1):
    return of_step("StepFailedUnstarted", step, attempt, error_name=error, failure_count=count,
                   by="ann")


def deadline(until):
    return {"_type": "OrderDeadlineSet", "complete_by": until, "margin_ms": 10, "by": "ann"}


def mark(kind, by="ann", code="x"):
    return {"_type": kind, "by": by, "code": code, "reason": "because", "step": ""}


def plan_of(name, *used, new_key=False):
    return {"name": name, "agent": "one", "retries_used": list(used), "new_key": new_key}


def migrated(workflow, **more):
    return {"_type": "OrderMigrated", "from_version": 1, "workflow_version": workflow["Version"],
            "steps": [plan_of(step["Name"]) for step in workflow["Steps"]],
            "moves_retries": True, "by": "ann", "reason": "because", **more}


def amended(*steps, **more):
    """Steps, each with its generation, that begin again."""
    return {"_type": "OrderAmended", "input": '{"n":2}',
            "steps": [{"name": name, "generation": generation} for name, generation in steps],
            "by": "ann", "reason": "because", **more}


def rejected(reason="no", command="CancelOrder"):
    return {"_type": "CommandRejected", "command": command, "code": "Stale", "reason": reason}


def ignored(step, attempt):
    return of_step("ReportIgnored", step, attempt, reason="late", code="Superseded", by="one-1")


def dead(quarantined=False):
    return {"_type": "CommandDeadLettered", "bytes": b"junk", "key": b"poison",
            "code": "Undecodable", "reason": "not Avro", "quarantined": quarantined}


FAILED = (mark("OrderFailed"), mark("AlertRaised"))
UNDOING = (mark("OrderCancelled"), mark("CompensationStarted"))
PROCESSED, COMPENSATED = mark("OrderProcessed"), mark("OrderCompensated")


# ---- logs ----

def record(kind, offset, **value):
    return types.SimpleNamespace(type=kind, value=value, offset=offset, partition=0,
                                 timestamp_ms=value.get("decided_at", NOW) + 3)


def claim(offset=0, claim_id=CLAIM, count=1, instance="scheduler-1"):
    return record("Claim", offset, claim_id=claim_id, partition_count=count, instance=instance)


def continuation(offset, sequence, next_command, decided_at=0, trimmed=-1):
    return record("Continuation", offset, claim_id=CLAIM, sequence=sequence, trimmed=trimmed,
                  next_command_offset=next_command, newest_decided_at=decided_at)


def row_of(name, state, attempt=1, **more):
    return {"name": name, "state": state, "direction": "do", "attempt": attempt, "agent": "one",
            "failure_count": 0, "complete_by": 0, "extension_ms": 0, "margin_ms": 10,
            "retry_at": 0, "queued_at": 0, "effect": "none", "do_generation": 0,
            "undo_generation": 0, "retries_used": [], "started_version": 1,
            "completed_version": 0, "started_at": NOW, "output": "", **more}


HALF_ROWS = [row_of("A", "Processed", effect="applied", completed_version=2),
             row_of("B", "Processing", complete_by=NOW + 110)]


def statement(offset, sequence, version=2, steps=None, key="o", **more):
    """As the order is after FORWARD."""
    return record("Statement", offset, claim_id=CLAIM, sequence=sequence, format=1, order={
        "details": {"order_id": key, "workflow": "two", "workflow_version": 1},
        "version": version, "state": "Processing", "error_from": "Pending", "alert_open": False,
        "paused_at": 0, "accepted_at": NOW, "accepted_offset": 1, "complete_by": NOW + 5000,
        "margin_ms": 10, "steps": HALF_ROWS if steps is None else steps, **more})


def decided(offset, sequence, command, version, state, *events, key="o"):
    return record("Decision", offset, claim_id=CLAIM, sequence=sequence, command_offset=command,
                  command_time=NOW + 20, decided_at=NOW + 20, emitted_through=-1, order_id=key,
                  order_state=state, order_version=version, events=list(events),
                  reply_to="replies")


def trimmed_log():
    """It begins at 5; the order changes once more before it is stated."""
    return [continuation(5, 3, 7, NOW + 9),
            decided(6, 4, 7, 2, "Processing", succeeded("A"), started("B", at=NOW + 20)),
            statement(7, 5, steps=[HALF_ROWS[0], {**HALF_ROWS[1], "complete_by": NOW + 120}]),
            continuation(8, 6, 8, NOW + 20, trimmed=5), statement(9, 7),
            decided(10, 8, 8, 3, "Processed", succeeded("B"), PROCESSED)]


def reset(offset, expected, next_command=-1, skip=None, by="ann", decided_at=0):
    return record("Reset", offset, expected_offset=expected, by=by, skip=skip,
                  next_command_offset=next_command, newest_decided_at=decided_at)


def of_log(*records):
    return checker.fold(records, 1, WORKFLOWS)[0]


def at(time, state, *events, **more):
    """A Decision, `time` ms after NOW; `more` overrides its fields."""
    return time, state, events, more


def expiry(time, ended, **more):
    """What ended `ended` ms after NOW, or before, expires; `more` overrides fields."""
    return at(time, "expiry", ended_at=NOW + ended, **more)


def decisions(*told):
    """The records of a log of these Decisions, after a Claim."""
    records, version, command = [claim()], 0, 0
    for number, (time, state, events, more) in enumerate(told):
        if state == "expiry":
            records.append(record("Expiry", number + 1, **{
                "claim_id": CLAIM, "sequence": number, "decided_at": NOW + time, "order_id": "o",
                **more}))
            version = 0
            continue
        changes = any(event["_type"] not in checker.orders.UNCHANGED for event in events)
        version += changes
        records.append(record("Decision", number + 1, **{
            "claim_id": CLAIM, "sequence": number, "command_offset": command,
            "command_time": NOW + time, "decided_at": NOW + time, "emitted_through": -1,
            "order_id": "o", "order_state": state, "order_version": version,
            "events": list(events), "reply_to": "replies", **more}))
        command += 1
    return records


def folded(*told):
    return checker.fold(decisions(*told), 1, WORKFLOWS)


def story(*told):
    """The findings in a log of these Decisions."""
    return folded(*told)[0].findings


START = at(0, "Processing", *begun(), started("A"))
ONE_DONE = at(10, "Processing", succeeded("A"), started("B", at=NOW + 10))
FORWARD = [START, ONE_DONE]
TWO_DONE = at(20, "Processed", succeeded("B"), PROCESSED)
EXPIRED = expiry(30, 20)
AMENDS_START = at(0, "Processing", *begun(AMENDS), passed("S"), started("A", input='{"n":1}'),
                  started("B", input='{"n":1}'))
AMENDS_FAILS = at(10, "Error", failed("A"), exhausted("A"), *FAILED)
AMENDS_WAITS = (AMENDS_START, AMENDS_FAILS,
                at(20, "Error", failed("B", error="Busy"), retry("B", NOW + 30, 0)))
DECIDES_START = at(0, "Processing", *begun(DECIDES), started("A", input='{"n":1}'))
WAITING = at(0, "Processing", *begun(), queued("A"))
UNTIL_LATER = at(0, "Processing", *begun(WAITS), waiting("W", NOW + 55))
ASKED = [UNTIL_LATER, at(55, "Processing", passed("W", ""), passed("V", ""),
                         started("A", at=NOW + 55))]
ASKED_AGAIN = [*ASKED, at(60, "Processing", not_yet("A"), retry("A", NOW + 70, 0)),
               at(70, "Processing", started("A", 2, NOW + 70, generation=1))]
PIVOT_START = at(0, "Processing", *begun(PIVOT), started("A"))
IN_ERROR = (PIVOT_START, at(15, "Error", failed("A", error="Fraud"), exhausted("A"), *FAILED))
BEHIND = (PIVOT_START, at(10, "Processing", succeeded("A"), started("B", at=NOW + 10)))
PIVOT_SKIPPED = (at(0, "Processing", *begun(REFUSED_PIVOT), started("A")),
                 at(10, "Error", failed("A"), exhausted("A"), *FAILED),
                 at(20, "Processing", skipped_by_hand("A"), mark("OrderResumed"),
                    mark("AlertClosed"), started("B", at=NOW + 20)))
BOTH = at(0, "Processing", *begun(PARALLEL), started("A"), started("B"))
HALF = (WAITING, at(5, "Processing", started("A", at=NOW + 5, reason="one: 1 free")),
        at(10, "Processing", succeeded("A"), queued("B", since=NOW + 10)))


def again(**more):
    """The only attempt of A in DECIDES fails, and the next one starts."""
    return (at(10, "Processing", failed("A", error="Busy"), retry("A", NOW + 20, 0)),
            at(20, "Processing", started("A", 2, NOW + 20, **more)))


def resumed(step="A", attempt=2, generation=1, **more):
    return (resubmitted(step, generation=generation, **more), mark("OrderResumed"),
            mark("AlertClosed"), started(step, attempt, at=NOW + 40, generation=generation))


# ---- what left the partition, and the calls of agents ----

# An order that is processed, a dead letter, and an order that waits for an operator.
SENT = [START, ONE_DONE, TWO_DONE, at(25, "Pending", dead(), order_id="")]
ALERTED = [*IN_ERROR, at(40, "Processing", *resumed())]


def sent(kind, offset, topic, **value):
    return types.SimpleNamespace(type=kind, value=value, offset=offset, partition=0, topic=topic,
                                 raw=None, headers={})


def request(offset, step, outputs=(), number=0, **more):
    key = f"o/{step}/do/0"
    return sent("StepRequest", number, "requests.one", **{
        "order_id": "o", "step": step, "direction": "do", "attempt": 1, "agent": "one",
        "action": step, "complete_by": NOW + 10 * (offset - 1) + 100, "extension": False,
        "idempotency_key": key, "do_key": key, "decision_offset": offset,
        "outputs": [{"step": name, "output": f'"{name} done"'} for name in outputs], **more})


def position(offset, version, time):
    return {"order_id": "o", "order_version": version, "command_offset": offset - 1,
            "decision_offset": offset, "decided_at": NOW + time}


def status(offset, version, time, state, **more):
    return sent("StatusUpdate", offset, "replies", **{
        **position(offset, version, time), "command_partition": 0, "order_state": state, **more})


def alert(offset, version, time, raised, **more):
    return sent("OperatorAlert", offset, "alerts", **{
        **position(offset, version, time), "partition": 0, "raised": raised, "code": "x",
        "root": "", **more})


def letter(topic="commands", offset=3, raw=b"junk", end=None, **headers):
    found = sent(None, 0, "dead-letters")
    found.raw = raw
    found.headers = {"__streams.errors." + name: text.encode() for name, text in {
        "exception": "Undecodable", "message": "not Avro", "topic": topic, "partition": "0",
        "offset": str(offset), **headers}.items()}
    if end is not None:
        found.headers["reeve.errors.next_offset"] = str(end).encode()
    return found


def submission(offset, order):
    found = sent("SubmitOrder", offset, "submissions", order_id=order)
    if order is None:
        found.value = None
    return found


REQUESTS = [request(1, "A"), request(2, "B", "A"), request(2, "B", "A", number=9)]
STATUSES = [status(1, 1, 0, "Processing"), status(2, 2, 10, "Processing"),
            status(3, 3, 20, "Processed"), status(3, 3, 20, "Processed", command_partition=-1)]
ALERTS = [alert(2, 2, 15, True), alert(3, 3, 40, False), alert(-1, 0, 0, True)]
LETTERS = [letter(), letter("submissions", 7, end=9), letter("replies", -1, partition="-1")]
SUBMISSIONS = [submission(0, "o"), submission(5, "poison"), submission(7, None), submission(8, "x")]


def sent_findings(requests=REQUESTS, statuses=STATUSES, letters=LETTERS, submissions=SUBMISSIONS):
    checkers = folded(*SENT)
    return (checkers[0].findings + effects.check_requests(checkers, requests)
            + effects.check_statuses(checkers, "replies", statuses)
            + effects.missing_statuses(checkers, "replies", statuses)
            + effects.check_letters(checkers, letters, "commands")
            + effects.missing_letters(checkers, letters, "commands")
            + effects.check_submissions(checkers, submissions, letters))


def alert_findings(alerts):
    checkers = folded(*ALERTED)
    return (checkers[0].findings + effects.check_alerts(checkers, alerts)
            + effects.missing_alerts(checkers, alerts))


def call(step="A", direction="do", attempt=1, sent_at=1, until=100, generation=0, applied=True):
    return {"key": f"o/{step}/do/{generation}", "request": f"o/{step}/{direction}/{attempt}",
            "direction": direction, "sent": NOW + sent_at, "complete_by": NOW + until,
            "applied": applied, "outcome": "done", "time": NOW + sent_at}


UNDO_WAITS = [
    START, ONE_DONE, at(15, "Compensating", *UNDOING),
    at(20, "Compensating", failed("B"), skipped("B", 1), undo("A", NOW + 20)),
    at(30, "Compensating", failed("A", direction="undo"), retry("A", NOW + 1030, 0,
                                                               direction="undo"))]
UNDONE = [START, ONE_DONE, at(15, "Compensating", *UNDOING), at(
    20, "Compensating", failed("B"), skipped("B", 1), undo("A", NOW + 20)),
          at(30, "Compensated", *undone("A"), COMPENSATED)]


def ledger_findings(told, *calls):
    checkers = folded(*told)
    return checkers[0].findings + checker.check_ledger(checkers, calls, AGENTS)
