# SPDX-License-Identifier: Apache-2.0
"""Checks the records of a cluster's topics against the rules of reeve, sharing no code with it.

    findings = check(cluster)                  # a test expects []
    findings = check(cluster, at_rest=False)   # while orders are in progress

It follows the protocol (which Decisions count) and the pattern (what an order may do), not the
engine's source. Each finding begins with the rule that was broken.
"""

import collections

ENDED = {"Processed", "Compensated"}
UNCHANGED = {"CommandRejected", "ReportIgnored", "SubmissionRepeated", "CommandDeadLettered"}


def murmur2(data):
    """The hash of keys in Kafka's Java client."""
    mask = 0xFFFFFFFF
    m, h = 0x5BD1E995, (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        h = (h * m & mask) ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


def partition_of(key, count):
    return (murmur2(key.encode()) & 0x7FFFFFFF) % count


class Attempt:
    def __init__(self, started, decision, offset):
        self.number = started["attempt"]
        self.complete_by, self.margin = started["complete_by"], started["margin_ms"]
        self.agent, self.action = started["agent"], started["action"]
        self.version = decision["order_version"]
        self.offset = offset
        self.outcome = None

    @property
    def due(self):
        return self.complete_by + self.margin


class Step:
    def __init__(self, name):
        self.name = name
        self.attempts = {"do": [], "undo": []}
        self.failures = {"do": 0, "undo": 0}
        self.effect = "none"
        self.completed = None  # order version at which the effect became applied
        self.state = "Pending"
        self.generation = 0  # of the do
        self.agent = None  # the agent of the latest attempt
        self.queued = {"do": None, "undo": None}  # queued_at

    def running(self, direction):
        attempts = self.attempts[direction]
        return bool(attempts) and attempts[-1].outcome is None

    def rank(self):
        return self.completed if self.effect == "applied" else self.attempts["do"][-1].version


class Order:
    def __init__(self, key):
        self.key = key
        self.version = 0
        self.state = None
        self.alert_open = False
        self.steps = {}
        self.compensating = False
        self.accepted = 0
        self.undone = []

    def step(self, name):
        return self.steps.setdefault(name, Step(name))


class Checker:
    """One partition of <p>.events, record by record."""

    def __init__(self, partition, count):
        self.partition, self.count = partition, count
        self.findings = []
        self.claim, self.sequence, self.next_command = None, 0, 0
        self.orders = {}
        self.decided_at = 0
        self.consumed = {}  # command offset -> command_time
        self.admitted = {}  # offset -> decision
        self.skipped = 0
        self.counts = collections.Counter()
        self.reset = False

    def find(self, rule, offset, text):
        self.findings.append(f"{rule}: events[{self.partition}]@{offset}: {text}")

    # ---- which Decisions count ----

    def record(self, record):
        value, kind = record.value, record.type
        if kind == "Claim":
            if value["claim_id"] != self.claim:
                self.claim, self.sequence = value["claim_id"], 0
                if value.get("reset"):
                    self.next_command, self.reset = value["reset"]["next_command_offset"], True
        elif kind == "Decision":
            good = (value["claim_id"] == self.claim and value["sequence"] == self.sequence
                    and value["command_offset"] >= self.next_command)
            if not good:
                self.skipped += 1
                return
            self.sequence += 1
            self.decision(value, record.offset)
        elif kind == "Attempt":
            self.skipped += value["claim_id"] != self.claim
        else:
            self.find("I12", record.offset, f"a {kind} in the log")

    def decision(self, decision, offset):
        if decision["command_offset"] != self.next_command:
            self.find("I12", offset, f"command {decision['command_offset']} is decided; "
                                     f"the next one was {self.next_command}")
        self.next_command = decision["command_offset"] + 1
        self.consumed[decision["command_offset"]] = decision["command_time"]
        self.admitted[offset] = decision
        if decision["decided_at"] < self.decided_at:
            self.find("I8", offset, "decided_at goes backwards")
        self.decided_at = decision["decided_at"]
        names = [event["_type"] for event in decision["events"]]
        self.counts.update(names)
        changes = any(name not in UNCHANGED for name in names)
        if changes and any(name in UNCHANGED for name in names):
            self.find("I3", offset, f"a change and a refusal in one Decision: {names}")
        key = decision["order_id"]
        if not key:
            return
        order = self.orders.get(key)
        if order is None:
            if not changes:
                return
            order = self.orders[key] = Order(key)
        if partition_of(key, self.count) != self.partition:
            self.find("I2", offset, f"{key} belongs to partition {partition_of(key, self.count)}")
        if decision["order_version"] != order.version + (1 if changes else 0):
            self.find("I2", offset, f"{key}: version {decision['order_version']} follows "
                                    f"{order.version}")
        if names == ["OrderExpired"]:
            self.expired(order, decision, offset)
            return
        if changes and order.state in ENDED:
            self.find("I1", offset, f"{key} ended {order.state} and changes: {names}")
        if not changes:
            return
        order.version = decision["order_version"]
        for event in decision["events"]:
            self.event(order, decision, event, offset)
        order.state = decision["order_state"]
        if (order.state == "Error") != order.alert_open:
            self.find("I1", offset, f"{key} is {order.state} with alert open = {order.alert_open}")

    def expired(self, order, decision, offset):
        """The order is gone: later events with its id belong to another order."""
        if order.state not in ENDED:
            self.find("I1", offset, f"{order.key} expires, but is {order.state}")
        if decision["order_state"] != order.state:
            self.find("I3", offset, f"{order.key} expires as {decision['order_state']}, was "
                                    f"{order.state}")
        if not decision["events"][0]["by"]:
            self.find("I18", offset, f"{order.key}: expired, without naming who requested it")
        del self.orders[order.key]

    # ---- what an order may do ----

    def event(self, order, decision, event, offset):
        handler = getattr(self, "on_" + event["_type"], None)
        if handler is not None:
            handler(order, decision, event, offset)

    def on_OrderAccepted(self, order, decision, event, offset):
        order.accepted += 1
        if order.accepted > 1:
            self.find("I1", offset, f"{order.key} is accepted twice")
        for plan in event["steps"]:
            order.step(plan["name"])

    def on_StepStarted(self, order, decision, event, offset):
        step, direction = order.step(event["step"]), event["direction"]
        attempts = step.attempts[direction]
        if event["attempt"] != len(attempts) + 1:
            self.find("I5", offset, f"{order.key}/{step.name}: attempt {event['attempt']} after "
                                    f"{len(attempts)}")
        if step.running(direction):
            self.find("I5", offset, f"{order.key}/{step.name}: attempt {event['attempt']} starts "
                                    "while the one before runs")
        if direction == "do" and order.compensating:
            self.find("I9", offset, f"{order.key}/{step.name} starts after compensation began")
        if direction == "undo":
            self.undo_starts(order, step, offset)
        if step.agent not in (None, event["agent"]) and step.effect != "none":
            self.find("I11", offset, f"{order.key}/{step.name}: {direction} goes to "
                                     f"{event['agent']}, but {step.agent} may have applied it")
        if step.queued[direction] is not None and not event["routing_reason"]:
            self.find("I18", offset, f"{order.key}/{step.name}: was queued and starts without a "
                                     "routing reason")
        step.agent, step.queued[direction] = event["agent"], None
        attempts.append(Attempt(event, decision, offset))
        step.state = "Processing"

    def on_StepQueued(self, order, decision, event, offset):
        """The step waits for an agent; nothing else changes."""
        step, direction = order.step(event["step"]), event["direction"]
        name = f"{order.key}/{step.name}"
        if event["attempt"] != len(step.attempts[direction]):
            self.find("I5", offset, f"{name}: queued after attempt {event['attempt']}, not "
                                    f"{len(step.attempts[direction])}")
        if step.running("do") or step.running("undo"):
            self.find("I5", offset, f"{name}: queued while it runs")
        if direction == "do" and (order.compensating or step.state != "Pending"):
            self.find("I9", offset, f"{name}: {direction} queued out of turn, {step.state}")
        if direction == "undo" and (not order.compensating or step.effect == "none"):
            self.find("I9", offset, f"{name}: an undo is queued, but there is nothing to undo")
        since = step.queued[direction]
        if event["queued_at"] != (decision["decided_at"] if since is None else since):
            self.find("I3", offset, f"{name}: queued_at {event['queued_at']}, was {since}")
        if event["retry_at"] != 0 and event["retry_at"] <= decision["decided_at"]:
            self.find("I10", offset, f"{name}: queued until a time in the past")
        if not event["reason"]:
            self.find("I18", offset, f"{name}: queued without a reason")
        step.queued[direction] = event["queued_at"]
        if direction == "undo":
            step.state = "Pending"

    def on_StepExtended(self, order, decision, event, offset):
        step, direction = order.step(event["step"]), event["direction"]
        attempts = step.attempts[direction]
        if not step.running(direction) or attempts[-1].number != event["attempt"]:
            self.find("I7", offset, f"{order.key}/{step.name}: attempt {event['attempt']} is "
                                    "extended but not running")
            return
        if event["complete_by"] <= attempts[-1].complete_by:
            self.find("I3", offset, f"{order.key}/{step.name}: extended to an earlier time")
        if event["action"] != attempts[-1].action:
            self.find("I11", offset, f"{order.key}/{step.name}: extended as {event['action']}")
        attempts[-1].complete_by = event["complete_by"]

    def undo_starts(self, order, step, offset):
        if any(other.running("do") for other in order.steps.values()):
            self.find("I9", offset, f"{order.key}: an undo starts while a forward attempt may run")
        if any(other.running("undo") for other in order.steps.values()):
            self.find("I9", offset, f"{order.key}: two undos run at the same time")
        if step.effect == "none":
            self.find("I9", offset, f"{order.key}/{step.name}: undone, but nothing was applied")
        if step.name not in order.undone:
            order.undone.append(step.name)
            done_before = [order.steps[name] for name in order.undone[:-1]]
            if any(other.rank() < step.rank() for other in done_before):
                self.find("I9", offset, f"{order.key}: undone {order.undone}, not in reverse order")

    def outcome(self, order, event, name, offset):
        step, direction = order.step(event["step"]), event["direction"]
        attempts = step.attempts[direction]
        if not attempts or attempts[-1].number != event["attempt"] or attempts[-1].outcome:
            self.find("I6", offset, f"{order.key}/{step.name}: {name} of attempt "
                                    f"{event['attempt']}, which is not running")
            return step, None
        attempts[-1].outcome = name
        return step, attempts[-1]

    def on_StepSucceeded(self, order, decision, event, offset):
        step, attempt = self.outcome(order, event, "Succeeded", offset)
        if event["direction"] == "do" and attempt is not None:
            step.effect, step.completed = "applied", decision["order_version"]
        step.state = "Processed"

    def failed(self, order, event, step, offset):
        direction = event["direction"]
        step.failures[direction] += 1
        if event["failure_count"] != step.failures[direction]:
            self.find("I10", offset, f"{order.key}/{step.name}: failure_count "
                                     f"{event['failure_count']}, counted "
                                     f"{step.failures[direction]}")
        if direction == "do":
            if step.effect == "unknown" and event["effect"] == "none":
                self.find("I9", offset, f"{order.key}/{step.name}: an unknown effect was forgotten")
            step.effect = event["effect"]
            if step.effect == "applied" and step.completed is None:
                step.completed = order.version

    def on_StepFailed(self, order, decision, event, offset):
        step, _ = self.outcome(order, event, "Failed", offset)
        self.failed(order, event, step, offset)

    def on_StepTimedOut(self, order, decision, event, offset):
        step, attempt = self.outcome(order, event, "TimedOut", offset)
        if attempt is not None and decision["decided_at"] < attempt.due:
            self.find("I8", offset, f"{order.key}/{step.name}: timed out "
                                    f"{attempt.due - decision['decided_at']} ms too early")
        self.failed(order, event, step, offset)

    def on_StepRetryScheduled(self, order, decision, event, offset):
        if event["retry_at"] < decision["decided_at"]:
            self.find("I10", offset, f"{order.key}/{event['step']}: retry_at lies in the past")
        order.step(event["step"]).state = "Pending"

    def on_StepExhausted(self, order, decision, event, offset):
        order.step(event["step"]).state = "Error"
        following = [other["_type"] for other in decision["events"]]
        after = following[following.index("StepExhausted") + 1:]
        if order.state in ("Processing", "Compensating") and not {
                "OrderFailed", "CompensationStarted"} & set(after):
            self.find("I10", offset, f"{order.key}/{event['step']} is exhausted, nothing follows")

    def on_StepCompensated(self, order, decision, event, offset):
        order.step(event["step"]).state = "Compensated"

    def on_StepSkipped(self, order, decision, event, offset):
        order.step(event["step"]).state = "Skipped"

    def on_StepResubmitted(self, order, decision, event, offset):
        step = order.step(event["step"])
        step.failures[event["direction"]] = 0
        step.state = "Pending"
        if event["direction"] == "do" and event["generation"] != step.generation:
            step.effect, step.generation = "none", event["generation"]  # the operator has checked
        if not event["by"]:
            self.find("I18", offset, f"{order.key}: {step.name} resubmitted, but not by whom")

    def on_CompensationStarted(self, order, decision, event, offset):
        order.compensating = True

    def on_OrderProcessed(self, order, decision, event, offset):
        open_steps = [s.name for s in order.steps.values() if s.state != "Processed"]
        if open_steps:
            self.find("I1", offset, f"{order.key} is Processed, but {open_steps} are not")

    def on_OrderCompensated(self, order, decision, event, offset):
        running = [s.name for s in order.steps.values() if s.running("do") or s.running("undo")]
        if running:
            self.find("I9", offset, f"{order.key} is Compensated while {running} run")

    def on_AlertRaised(self, order, decision, event, offset):
        if order.alert_open:
            self.find("I1", offset, f"{order.key}: a second alert")
        order.alert_open = True

    def on_AlertClosed(self, order, decision, event, offset):
        if not order.alert_open:
            self.find("I1", offset, f"{order.key}: closes an alert that is not open")
        order.alert_open = False

    # ---- at rest ----

    def at_rest(self):
        for order in self.orders.values():
            if order.state not in ENDED | {"Error"}:
                self.find("L1", -1, f"{order.key} is {order.state}")
            for step in order.steps.values():
                for direction in ("do", "undo"):
                    if step.running(direction):
                        self.find("I6", -1, f"{order.key}/{step.name} still runs {direction}")


def fold(records, count):
    """Checkers by partition for the records of <p>.events."""
    checkers = {number: Checker(number, count) for number in range(count)}
    for record in records:
        checkers[record.partition].record(record)
    return checkers


def check_effects(cluster, checkers, topics):
    """I13: an admitted Decision explains every request, status and alert."""
    findings = []
    explained = {}
    for number, checker in checkers.items():
        for offset, decision in checker.admitted.items():
            explained[(number, decision["command_offset"])] = decision
    for topic in topics:
        for record in cluster.read_topic(topic):
            where = f"{topic}[{record.partition}]@{record.offset}"
            value = record.value
            if record.type == "StepRequest":
                decision = checkers[partition_of(value["order_id"], len(checkers))].admitted.get(
                    value["decision_offset"])
                names = [] if decision is None else [
                    (e["step"], e["direction"], e["attempt"]) for e in decision["events"]
                    if e["_type"] in ("StepStarted", "StepExtended")]
                if (value["step"], value["direction"], value["attempt"]) not in names:
                    findings.append(f"I13: {where}: no admitted StepStarted or StepExtended "
                                    "explains it")
            elif record.type == "StatusUpdate":
                decision = explained.get((value["command_partition"], value["command_offset"]))
                if value["command_partition"] >= 0 and value["command_offset"] >= 0 and (
                        decision is None or decision["order_version"] != value["order_version"]):
                    findings.append(f"I13: {where}: no admitted Decision explains it")
    return findings


def check_statuses(cluster, checkers, topic):
    """I15: each Decision that names this reply topic has its status there, whatever crashed."""
    name = cluster.topic(topic)
    seen = {(r.value["command_partition"], r.value["command_offset"])
            for r in cluster.read_topic(topic) if r.type == "StatusUpdate"}
    silent = {"ReportIgnored", "CommandDeadLettered", "StepQueued", "OrderExpired"}
    missing = []
    for number, checker in checkers.items():
        for decision in checker.admitted.values():
            names = {event["_type"] for event in decision["events"]}
            rejected_request = any(e["_type"] == "CommandRejected" and e["command"] not in (
                "SubmitOrder", "CancelOrder") for e in decision["events"])
            if decision["reply_to"] != name or names <= silent or rejected_request:
                continue
            if (number, decision["command_offset"]) not in seen:
                missing.append(f"I15: {topic}: no status for {decision['order_id']} version "
                               f"{decision['order_version']} ({sorted(names)})")
    return missing


def check(cluster, at_rest=True, effects=(), replies=()):
    """All findings. `effects`: request and reply topics whose records must be explained; `replies`:
    reply topics on which no status may be missing."""
    checkers = fold(cluster.read_topic("events"), cluster.partitions)
    findings = []
    commands = {(r.partition, r.offset): r.timestamp_ms for r in cluster.read_topic("commands")}
    for number, checker in checkers.items():
        if at_rest:
            checker.at_rest()
        for offset, time in checker.consumed.items():
            if commands.get((number, offset), time) != time:
                checker.find("I12", offset, "command_time differs from the time of that record")
        if at_rest and not checker.reset:
            missing = [o for (p, o) in commands if p == number and o not in checker.consumed]
            if missing:
                checker.find("I12", -1, f"commands never decided: {missing[:5]}")
        findings += checker.findings
    findings += check_effects(cluster, checkers, effects)
    for topic in replies:
        findings += check_statuses(cluster, checkers, topic)
    return findings
