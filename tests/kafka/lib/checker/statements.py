# SPDX-License-Identifier: Apache-2.0
"""A log that its owner trims: where it begins, and orders that are restated in full."""

from .orders import ENDED, Attempt, Order
from .suborders import items_of

HAVE_OUTPUT = {("do", "Processed"), *(("undo", state) for state in (
    "Pending", "Processing", "Compensated", "Error"))}


class Earlier(Attempt):
    """An attempt of which only a Statement tells: what began it is not in the log any more."""

    def __init__(self, row, number, outcome):
        started = {"attempt": number, "complete_by": row["complete_by"],
                   "extension_ms": row["extension_ms"], "margin_ms": row["margin_ms"],
                   "agent": row["agent"], "action": ""}
        super().__init__(started, {"decided_at": row["started_at"],
                                   "order_version": row["started_version"]}, -1)
        self.outcome = outcome


def take_attempts(step, row):
    direction = row["direction"]
    runs = row["state"] == "Processing"
    numbers = {"do": 0, "undo": 0, direction: row["attempt"]}
    if direction == "undo" and row["started_version"]:
        numbers["do"] = 1  # at least: the Statement does not say how many
    for way, count in numbers.items():
        step.attempts[way] = [
            Earlier(row, number, None if runs and way == direction and number == count
                    else "Restated") for number in range(1, count + 1)]


def order_of(row, workflows):
    """The order as a Statement has it."""
    details = row["details"]
    order = Order(details["order_id"])
    order.version, order.state = row["version"], row["state"]
    order.interrupted = row["error_from"] if row["state"] == "Error" else None
    order.alert_open, order.paused = row["alert_open"], row["paused_at"] != 0
    order.name, order.accepted = details["workflow"], row["accepted_at"]
    order.workflow = (workflows or {}).get((order.name, details["workflow_version"]))
    order.ended_at = row["ended_at"] if order.state in ENDED else None
    order.due = row["complete_by"] + row["margin_ms"] if row["complete_by"] else None
    order.parent, order.held = details.get("parent"), bool(row.get("held_at"))
    order.accepted_offset = row["accepted_offset"]
    for known in row["steps"]:
        step = order.step(known["name"])
        direction = known["direction"]
        take_attempts(step, known)
        step.failures[direction] = known["failure_count"]
        step.used[direction] = {i: used for i, used in enumerate(known["retries_used"]) if used}
        step.effect, step.state = known["effect"], known["state"]
        step.completed = known["completed_version"] or None
        step.retry_at = known["retry_at"] or None
        step.generations = {"do": known["do_generation"], "undo": known["undo_generation"]}
        step.agent = known["agent"] if known["attempt"] else None
        step.output, step.inputs[direction] = known["output"], known.get("input")
        step.queued[direction] = known["queued_at"] or None
        split = known.get("suborders")
        if split:
            step.items, step.listed = items_of(split["items"]), bool(split["list"])
            step.recalled, step.undo_failed = split["recalled"], split["undo_failed"]
            step.quota = split["quota"]
    return order


class StatementRules:
    """Mixed into Checker. Until the log says that every order is in the rest, changes to orders
    that it has not stated only move the position."""

    def begin_inside(self, record):
        """The first record of a trimmed log is believed."""
        value = record.value
        self.start, self.complete = record.offset, False
        self.claim, self.sequence = value["claim_id"], value["sequence"]
        self.next_command = self.first_command = value["next_command_offset"]
        self.decided_at = value["newest_decided_at"]

    def continued(self, record):
        value = record.value
        if (value["claim_id"], value["sequence"]) != (self.claim, self.sequence):
            self.skipped += 1
            return
        self.sequence += 1
        stated = value["next_command_offset"], value["newest_decided_at"]
        if stated != (self.next_command, self.decided_at):
            self.find("I14", record.offset, f"a Continuation states {stated}, the log has "
                                            f"{(self.next_command, self.decided_at)}")
        trimmed = value.get("trimmed", -1)
        if trimmed >= record.offset:
            self.find("I14", record.offset, f"it trims to {trimmed}, which is not before it")
        if trimmed < 0:
            return
        for key, order in self.orders.items():
            if order.stated < trimmed:
                self.find("I14", record.offset, f"it trims to {trimmed}, and {key} was last "
                                                f"stated at {order.stated}")
        self.complete = self.complete or trimmed >= self.start

    def stated(self, record):
        value, row = record.value, record.value["order"]
        if (value["claim_id"], value["sequence"]) != (self.claim, self.sequence):
            self.skipped += 1
            return
        self.sequence += 1
        restated = order_of(row, self.workflows)
        for known in row["steps"]:
            if known["output"] and (known["direction"], known["state"]) not in HAVE_OUTPUT:
                self.find("I29", record.offset, f"{restated.key}/{known['name']} is restated with "
                                                f"an output, and {known['state']}")
        order = self.orders.get(restated.key)
        if order is None and self.complete:
            self.find("I14", record.offset, f"{restated.key} is restated, and does not exist")
        if order is None:
            order = self.orders[restated.key] = restated
        self.same(order, restated, record.offset)
        order.stated = record.offset

    def same(self, order, restated, offset):
        """It is the fold of the log before it."""
        for name in ("version", "state", "alert_open", "paused"):
            was, now = getattr(order, name), getattr(restated, name)
            if was != now:
                self.find("I14", offset, f"{order.key} is restated with {name} {now}, was {was}")
        for name, now in restated.steps.items():
            was = order.step(name)
            for part in ("state", "effect", *(["retry_at"] if now.state == "Waiting" else [])):
                if getattr(was, part) != getattr(now, part):
                    self.find("I14", offset, f"{order.key}/{name} is restated with {part} "
                                             f"{getattr(now, part)}, was {getattr(was, part)}")

    def is_unseen(self, key, changes, names):
        """Its order was accepted before the beginning, and not stated since."""
        return (changes and not self.complete and key not in self.orders
                and names[0] != "OrderAccepted")
