# SPDX-License-Identifier: Apache-2.0
"""What left the partitions: requests, statuses, alerts and dead letters, against the log."""

from .log import Findings, partition_of
from .waits import asks_again

POSITION = ("order_id", "order_version", "command_offset", "decided_at")
SILENT = {"ReportIgnored", "CommandDeadLettered", "StepQueued", "OrderPaused", "OrderPauseEnded",
          "OrderMigrated", "OrderAmended", "SubordersSubmitted", "SubordersAsked", "SuborderEnded",
          "OrderHeld", "SignalReceived"}


def where(record):
    return f"{record.topic}[{record.partition}]@{record.offset}"


def is_before(checkers, partition, offset):
    """The Decision at the offset was trimmed."""
    return offset < checkers[partition].start


def check_requests(checkers, records):
    """I13, I11: an admitted Decision explains every request, from any owner."""
    findings = Findings()
    for record in records:
        value = record.value
        number = partition_of(value["order_id"], len(checkers))
        if is_before(checkers, number, value["decision_offset"]):
            continue
        attempt = (value["order_id"], value["step"], value["direction"], value["attempt"])
        wanted = checkers[number].requests.get((value["decision_offset"], *attempt))
        if wanted is None:
            findings.add("I13", where(record), "no admitted StepStarted or StepExtended explains "
                                               f"the request of {attempt}")
            continue
        for name in ("agent", "action", "complete_by", "extension"):
            if value[name] != wanted[name]:
                findings.add("I13", where(record), f"{name} is {value[name]}, the log has "
                                                   f"{wanted[name]}")
        for name in ("idempotency_key", "do_key"):
            if value[name] != wanted[name]:
                findings.add("I11", where(record), f"{name} is {value[name]}, not {wanted[name]}")
        if value.get("input", "") != wanted["input"]:
            findings.add("I24", where(record), f"input is {value['input']}, the log has "
                                               f"{wanted['input']}")
        outputs = {output["step"]: output["output"] for output in value["outputs"]}
        if wanted["outputs"] is not None and outputs != wanted["outputs"]:
            findings.add("I13", where(record), f"outputs of {sorted(outputs)}, expected those of "
                                               f"{sorted(wanted['outputs'])}")
    return findings


def decision_of(checkers, value, partition):
    """The admitted Decision of a status or alert, or None."""
    decision = checkers[partition].admitted.get(value["decision_offset"])
    if decision is None or any(decision[name] != value[name] for name in POSITION):
        return None
    return decision


def implies_status(decision):
    rejected_request = any(e["_type"] == "CommandRejected" and e["command"] not in (
        "SubmitOrder", "CancelOrder", "SignalOrder") for e in decision["events"])
    events = decision["events"]
    told = any(event["_type"] not in SILENT and not asks_again(events, number)
               for number, event in enumerate(events))
    return told and not rejected_request


def check_statuses(checkers, topic, records):
    """I13, I15: the statuses of a reply topic are those that its Decisions imply."""
    findings = Findings()
    first = {}
    for record in records:
        value = record.value
        if value["command_partition"] < 0:
            continue  # a refused submission
        if is_before(checkers, value["command_partition"], value["decision_offset"]):
            continue
        decision = decision_of(checkers, value, value["command_partition"])
        if decision is None:
            findings.add("I13", where(record), "no admitted Decision explains the status")
            continue
        if value["order_state"] != decision["order_state"]:
            findings.add("I15", where(record), f"the status says {value['order_state']}, the log "
                                               f"{decision['order_state']}")
        if decision["reply_to"] != topic or not implies_status(decision):
            findings.add("I15", where(record), "the Decision implies no status on this topic")
        position = value["command_partition"], value["decision_offset"]
        if first.setdefault(position, value) != value:
            findings.add("I15", where(record), "it was repeated with another content")
    return findings


def missing_statuses(checkers, topic, records):
    """I15: each Decision that names this reply topic has its status there, whatever crashed."""
    findings = Findings()
    seen = {(r.value["command_partition"], r.value["decision_offset"]) for r in records}
    for number, checker in checkers.items():
        for offset, decision in checker.admitted.items():
            if (decision["reply_to"] == topic and implies_status(decision)
                    and (number, offset) not in seen):
                findings.add("I15", topic, f"no status for {decision['order_id']} version "
                                           f"{decision['order_version']}")
    return findings


def alert_of(decision):
    """(raised, code) of the order's alert that a Decision implies, or None."""
    marks = [e for e in decision["events"] if e["_type"] in ("AlertRaised", "AlertClosed")]
    if marks:
        mark = next((e for e in reversed(marks) if e["_type"] == "AlertRaised"), marks[0])
        return mark["_type"] == "AlertRaised", mark["code"]
    if any(e["_type"] == "CommandDeadLettered" and e["quarantined"] for e in decision["events"]):
        return True, "CommandQuarantined"
    return None


def roots_of(checker, value):
    """The root that an alert may name: that of the sub-order as accepted, else none."""
    order = checker.orders.get(value["order_id"])
    if order is None:  # expired meanwhile
        return [value.get("root", "")]
    return [order.parent["root"] if order.parent else ""]


def check_alerts(checkers, records):
    """I13: an admitted Decision explains every alert about an order."""
    findings = Findings()
    for record in records:
        value = record.value
        if value["decision_offset"] < 0:
            continue  # about a partition or an instance
        if is_before(checkers, value["partition"], value["decision_offset"]):
            continue
        decision = decision_of(checkers, value, value["partition"])
        if decision is None:
            findings.add("I13", where(record), "no admitted Decision explains the alert")
        elif alert_of(decision) != (value["raised"], value["code"]):
            findings.add("I13", where(record), f"the alert {value['code']} (raised: "
                                               f"{value['raised']}) is not the Decision's")
        elif value.get("root", "") not in roots_of(checkers[value["partition"]], value):
            findings.add("I13", where(record), f"{value['order_id']} is not in the tree of "
                                               f"{value.get('root') or 'itself'}")
    return findings


def missing_alerts(checkers, records):
    """I1: each Decision that raises or closes an alert has its record on <p>.alerts."""
    findings = Findings()
    seen = {(r.value["partition"], r.value["decision_offset"]) for r in records}
    for number, checker in checkers.items():
        for offset, decision in checker.admitted.items():
            if alert_of(decision) is not None and (number, offset) not in seen:
                findings.add("I1", f"events[{number}]@{offset}",
                             f"its alert is not there: {alert_of(decision)}")
    return findings


class Letter:
    """A dead letter's own headers."""

    def __init__(self, record):
        def header(name):
            return (record.headers.get(name) or b"").decode()

        self.code = header("__streams.errors.exception")
        self.message = header("__streams.errors.message")
        self.topic = header("__streams.errors.topic")
        self.partition = int(header("__streams.errors.partition") or -2)
        self.offset = int(header("__streams.errors.offset") or -2)
        self.end = int(header("reeve.errors.next_offset") or self.offset + 1)


def dead_lettered(decision):
    return next((e for e in decision["events"] if e["_type"] == "CommandDeadLettered"), None)


def check_letters(checkers, records, commands):
    """I17, I18: each dead letter says what it was and why; those of commands have a Decision."""
    findings = Findings()
    decisions = {(number, decision["command_offset"]): decision
                 for number, checker in checkers.items() for decision in checker.admitted.values()}
    for record in records:
        letter = Letter(record)
        if not letter.code or not letter.message:
            findings.add("I18", where(record), "a dead letter without a reason")
        if not letter.topic or letter.partition < -1 or letter.offset < -1:
            findings.add("I17", where(record), "a dead letter without coordinates")
        if letter.topic != commands or letter.offset < checkers[letter.partition].first_command:
            continue
        event = dead_lettered(decisions.get((letter.partition, letter.offset), {"events": []}))
        if event is None:
            findings.add("I13", where(record), "no admitted Decision explains the dead letter")
        elif (record.raw or b"") != event["bytes"]:
            findings.add("I17", where(record), "its bytes are not those of the command")
    return findings


def missing_letters(checkers, records, commands):
    """I17: each command that was made a dead letter has one."""
    findings = Findings()
    letters = [Letter(record) for record in records]
    seen = {(letter.partition, letter.offset) for letter in letters if letter.topic == commands}
    for number, checker in checkers.items():
        for offset, decision in checker.admitted.items():
            if dead_lettered(decision) and (number, decision["command_offset"]) not in seen:
                findings.add("I17", f"events[{number}]@{offset}", "no dead letter of command "
                                                                  f"{decision['command_offset']}")
    return findings


def check_submissions(checkers, records, letters):
    """I1: each submission is decided or has a dead letter."""
    findings = Findings()
    decisions = [d for checker in checkers.values() for d in checker.admitted.values()]
    decided = {decision["order_id"] for decision in decisions}
    decided |= {letter["key"].decode(errors="replace")  # accepted, and quarantined as a command
                for letter in map(dead_lettered, decisions) if letter}
    refused = {}
    for letter in map(Letter, letters):
        refused.setdefault((letter.topic, letter.partition), []).append(letter)
    for record in records:
        if record.value is not None and record.value.get("order_id") in decided:
            continue
        if not any(letter.offset <= record.offset < letter.end
                   for letter in refused.get((record.topic, record.partition), ())):
            findings.add("I1", where(record), "the submission has no outcome")
    return findings


def check_prompt(checkers, within_ms, apart_from=()):
    """L5: whatever is broken elsewhere, no command waits longer than this for its Decision."""
    findings = Findings()
    for number, checker in checkers.items():
        for offset, decision in checker.admitted.items():
            waited = checker.appended[offset] - decision["command_time"]
            if number not in apart_from and waited > within_ms:
                findings.add("L5", f"events[{number}]@{offset}",
                             f"command {decision['command_offset']} waited {waited} ms")
    return findings
