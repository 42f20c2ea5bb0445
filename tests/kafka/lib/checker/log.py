# SPDX-License-Identifier: Apache-2.0
"""Which Decisions of <p>.events count, and what each partition of it holds."""

import collections

from .orders import ENDED, UNCHANGED, Order, OrderRules
from .statements import StatementRules


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


class Findings(list):
    """Lines of text; each begins with the rule that was broken. Every rule adds to one here."""

    def add(self, rule, where, text):
        self.append(f"{rule}: {where}: {text}")


def valid_reset(record):
    """A Reset counts only where it expects to be, and skips only what is behind it."""
    skip = record.value.get("skip")
    return record.value["expected_offset"] == record.offset and (
        skip is None or 0 <= skip["from"] < skip["to"] <= record.offset)


def skipped_ranges(records):
    """What the Resets of one partition skip; those within the range of a later one are void."""
    ranges = []
    for record in reversed([r for r in records if r.type == "Reset" and valid_reset(r)]):
        skip = record.value.get("skip")
        if skip and not any(first <= record.offset < end for first, end in ranges):
            ranges.append((skip["from"], skip["to"]))
    return ranges


class Checker(OrderRules, StatementRules):
    """One partition of <p>.events, record by record, from where it begins. `workflows`: see
    read_workflows(); without them, what depends on the workflow is not checked."""

    def __init__(self, partition, count, ranges=(), workflows=None):
        self.ranges = ranges  # of offsets that do not count
        self.partition, self.count = partition, count
        self.workflows = workflows
        self.findings = Findings()
        self.claim, self.sequence, self.next_command = None, 0, 0
        self.orders = {}
        self.begun = False
        self.start, self.first_command = 0, 0  # what came before was trimmed
        self.complete = True  # every order of the log is known
        self.decided_at = 0
        self.consumed = {}  # command offset -> command_time
        self.admitted = {}  # offset -> decision
        self.appended = {}  # offset -> the broker's time
        self.attempts = {}  # (order, step, direction, number) -> Attempt
        self.submitted, self.children = set(), set()  # identities of sub-orders
        self.group_signals = []  # (command offset, order, step, group, offset of the event)
        self.requests = {}  # (offset, order, step, direction, number) -> what the request says
        self.acceptances = collections.Counter()  # of an id, over all its orders
        self.skipped = 0
        self.counts = collections.Counter()
        self.reset = False

    def find(self, rule, offset, text):
        self.findings.add(rule, f"events[{self.partition}]@{offset}", text)

    # ---- which Decisions count ----

    def record(self, record):
        value, kind = record.value, record.type
        if not self.begun and record.offset > 0 and kind == "Continuation":
            self.begin_inside(record)
        self.begun = True
        if any(first <= record.offset < end for first, end in self.ranges):
            self.skipped += 1
        elif kind == "Claim":
            self.claimed(value, record.offset)
        elif kind == "Continuation":
            self.continued(record)
        elif kind == "Statement":
            self.stated(record)
        elif kind == "Expiry":
            self.expired(record)
        elif kind == "Reset":
            self.follow_reset(record)
        elif kind == "Decision":
            good = (value["claim_id"] == self.claim and value["sequence"] == self.sequence
                    and value["command_offset"] >= self.next_command)
            if not good:
                self.skipped += 1
                return
            self.sequence += 1
            self.appended[record.offset] = record.timestamp_ms
            self.decision(value, record.offset)
        elif kind == "Attempt":
            self.skipped += value["claim_id"] != self.claim
        else:
            self.find("I12", record.offset, f"a {kind} in the log")

    def claimed(self, value, offset):
        if value["partition_count"] != self.count:
            self.find("I2", offset, f"a Claim states {value['partition_count']} partitions")
        if not value["instance"]:
            self.find("I18", offset, "a Claim does not say whose it is")
        if value["claim_id"] != self.claim:
            self.claim, self.sequence = value["claim_id"], 0
            if value.get("reset"):
                self.next_command, self.reset = value["reset"]["next_command_offset"], True

    def follow_reset(self, record):
        value = record.value
        if not valid_reset(record):
            self.skipped += 1
            return
        self.claim, self.reset = None, True
        if value["next_command_offset"] >= 0:
            self.next_command = value["next_command_offset"]
        if value["newest_decided_at"] > 0:
            self.decided_at = min(self.decided_at, value["newest_decided_at"])
        if not value["by"]:
            self.find("I18", record.offset, "a Reset does not say by whom")

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
        if not -1 <= decision["emitted_through"] < offset:
            self.find("I13", offset, f"emitted through {decision['emitted_through']}")
        names = [event["_type"] for event in decision["events"]]
        self.counts.update(names)
        changes = any(name not in UNCHANGED for name in names)
        if changes and any(name in UNCHANGED for name in names):
            self.find("I3", offset, f"a change and a refusal in one Decision: {names}")
        if not changes:
            self.refused(decision, offset)
        key = decision["order_id"]
        if not key or self.is_unseen(key, changes, names):
            return
        order = self.orders.get(key)
        if order is None:
            if not changes:
                return
            order = self.orders[key] = Order(key)
            order.stated = offset
            if names[0] != "OrderAccepted":
                self.find("I3", offset, f"{key} begins with {names[0]}")
        self.of_order(order, decision, names, changes, offset)

    def of_order(self, order, decision, names, changes, offset):
        key = order.key
        if partition_of(key, self.count) != self.partition:
            self.find("I2", offset, f"{key} belongs to partition {partition_of(key, self.count)}")
        if decision["order_version"] != order.version + (1 if changes else 0):
            self.find("I2", offset, f"{key}: version {decision['order_version']} follows "
                                    f"{order.version}")
        if changes and order.state in ENDED:
            self.find("I1", offset, f"{key} ended {order.state} and changes: {names}")
        if changes:
            order.version = decision["order_version"]
            self.acceptances[key] += "OrderAccepted" in names
            for event in decision["events"]:
                self.event(order, decision, event, offset)
            if order.state in ENDED and order.ended_at is None:
                order.ended_at = decision["decided_at"]
        if decision["order_state"] != order.state:
            self.find("I3", offset, f"{key}: order_state is {decision['order_state']} after "
                                    f"{names}, expected {order.state}")
        if (order.state == "Error") != order.alert_open and order.state != "Held":
            self.find("I1", offset, f"{key} is {order.state} with alert open = {order.alert_open}")

    def refused(self, decision, offset):
        """Decisions that change nothing say why, and ignore no report that counts."""
        for event in decision["events"]:
            if event["_type"] != "SubmissionRepeated" and not event["reason"]:
                self.find("I18", offset, f"a {event['_type']} without a reason")
            if event["_type"] != "ReportIgnored":
                continue
            order = self.orders.get(decision["order_id"])
            step = order.steps.get(event["step"]) if order else None
            attempts = step.attempts[event["direction"]] if step else []
            if attempts and (attempts[-1].number, attempts[-1].outcome) == (event["attempt"], None):
                self.find("I7", offset, f"{order.key}/{event['step']}: a report of the attempt "
                                        "that runs is ignored")

    def expired(self, record):
        """Orders that ended by then are gone: later events with their ids belong to others."""
        value, offset = record.value, record.offset
        if (value["claim_id"], value["sequence"]) != (self.claim, self.sequence):
            self.skipped += 1
            return
        self.sequence += 1
        if value["decided_at"] < self.decided_at:
            self.find("I8", offset, "decided_at goes backwards")
        self.decided_at = max(self.decided_at, value["decided_at"])
        if value["ended_at"] > value["decided_at"]:
            self.find("I1", offset, "orders expire before they end")
        last = value["ended_at"], value["order_id"].encode()
        gone = [key for key, order in self.orders.items()
                if order.state in ENDED and (order.ended_at, key.encode()) <= last]
        if self.complete and value["order_id"] not in gone:
            self.find("I1", offset, f"{value['order_id']} expires, and did not end then")
        self.counts["expired"] += len(gone)
        for key in gone:
            del self.orders[key]

    # ---- at rest ----

    def at_rest(self):
        for order in self.orders.values():
            if order.state not in ENDED | {"Error"}:
                self.find("L1", -1, f"{order.key} is {order.state}")
            for step in order.steps.values():
                if step.running("do") or step.running("undo"):
                    self.find("I6", -1, f"{order.key}/{step.name} still runs")


def fold(records, count, workflows=None):
    """Checkers by partition for the records of <p>.events."""
    records = list(records)
    checkers = {number: Checker(number, count, skipped_ranges(
        [r for r in records if r.partition == number]), workflows) for number in range(count)}
    for record in records:
        checkers[record.partition].record(record)
    return checkers
