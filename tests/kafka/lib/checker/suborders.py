# SPDX-License-Identifier: Apache-2.0
"""The rules of sub-orders: what a step says of its sub-orders, and what a parent and a
sub-order say of each other. See docs/design/decisions/0018-suborders.md."""

from .by_hand import FINISHED

TREE_MAX = 10000
AFTER = {"held": "held", "final": "final", "failed": "failed", "refused": "failed"}
ENDS_WITH = {"held": "Processed", "final": "Processed", "failed": "Compensated"}
DONE = {"Processed", "Compensated"}


class Item:
    """Of a step of sub-orders. `given_up`: an operator has failed it, or it may have expired."""

    def __init__(self, state="to_do", generation=0):
        self.state, self.generation = state, generation
        self.submitted_in = set()  # generations
        self.given_up = set()


class SuborderRules:
    """Handlers of events, mixed into Checker as OrderRules is."""

    def splits(self, order, step, event, direction, offset):
        """An attempt that is sub-orders begins."""
        attempts, name = step.attempts[direction], f"{order.key}/{step.name}"
        if event["attempt"] != len(attempts) + 1:
            self.find("I5", offset, f"{name}: sub-orders as attempt {event['attempt']} after "
                                    f"{len(attempts)}")
        if step.running(direction):
            self.find("I5", offset, f"{name}: sub-orders begin while the attempt before runs")
        self.turns_up(order, step, direction, "begins", offset)
        step.state, step.retry_at = "Processing", None

    def on_SubordersStarted(self, order, decision, event, offset):
        step, plan = order.step(event["step"]), order.plan(order.step(event["step"]))
        name = f"{order.key}/{step.name}"
        self.splits(order, step, event, "do", offset)
        if event["attempt"] == 1:
            self.answers(order, step, True, offset)
        if event["generation"] != step.generations["do"]:
            self.find("I11", offset, f"{name}: sub-orders of generation {event['generation']}, not "
                                     f"{step.generations['do']}")
        if plan is not None and event["workflow"] != f"{order.name}/{step.name}":
            self.find("I4", offset, f"{name}: its sub-orders are of {event['workflow']}")
        if plan is not None and event["times_out_at"] != decision["decided_at"] + plan.whole():
            self.find("I8", offset, f"{name}: times_out_at is not TimeoutSeconds from now")
        if step.items is None:
            step.listed = bool(event["items"])
            step.items = [Item() for _ in range(event["count"])]
        elif len(step.items) != event["count"]:
            self.find("I19", offset, f"{name}: has {event['count']} items, had {len(step.items)}")
        for item in step.items:
            if item.state == "failed":
                item.state = "to_do"
        step.recalled, step.quota = False, event["quota"]
        self.shares(order, offset)
        self.begin_attempt(order, step, decision, event, event["times_out_at"], offset)

    def begin_attempt(self, order, step, decision, event, until, offset):
        step.attempts[event["direction"]].append(self.attempt_of(
            {**event, "complete_by": until, "margin_ms": 0, "agent": None, "action": ""}, decision,
            offset))

    def shares(self, order, offset):
        """I27"""
        most = order.parent["quota"] if order.parent else TREE_MAX
        taken = sum(len(step.items) * (1 + step.quota) for step in order.steps.values()
                    if step.items)
        if taken > most:
            self.find("I27", offset, f"{order.key} may have {taken} sub-orders, its quota is "
                                     f"{most}")

    def runs(self, order, step, decision, event, offset):
        """Its sub-orders run, and are asked again at complete_by."""
        name = f"{order.key}/{step.name}"
        if not step.running(event["direction"]) or step.items is None:
            self.find("I6", offset, f"{name}: {event['_type']}, and no sub-orders run")
            return False
        if event["generation"] != step.generations["do"]:
            self.find("I26", offset, f"{name}: {event['_type']} of generation "
                                     f"{event['generation']}, not {step.generations['do']}")
        if event["complete_by"] < decision["decided_at"]:
            self.find("I25", offset, f"{name}: {event['_type']}, and is never asked again")
        return True

    def on_SubordersSubmitted(self, order, decision, event, offset):
        step = order.step(event["step"])
        name = f"{order.key}/{step.name}"
        if not self.runs(order, step, decision, event, offset):
            return
        if event["items"] and (order.state != "Processing" or order.paused or step.recalled):
            self.find("I3", offset, f"{name}: submits items although nothing may start")
        for told in event["items"]:
            item = step.items[max(told["item"], 0)]
            if item.state != "to_do":
                self.find("I19", offset, f"{name}.{told['item']} is submitted, but is {item.state}")
            item.state = "failed" if told["error_name"] else "submitted"
            item.generation = event["generation"]
            if item.state == "submitted":
                item.submitted_in.add(item.generation)
                self.submitted.add((order.key, order.accepted_offset, step.name, told["item"],
                                    item.generation))

    def on_SubordersAsked(self, order, decision, event, offset):
        step = order.step(event["step"])
        if self.runs(order, step, decision, event, offset) and not unanswered(step):
            self.find("I25", offset, f"{order.key}/{step.name}: asks, and all have answered")

    def on_SubordersRecalled(self, order, decision, event, offset):
        step, plan = order.step(event["step"]), order.plan(order.step(event["step"]))
        name, undo = f"{order.key}/{step.name}", event["direction"] == "undo"
        if undo:
            self.splits(order, step, event, "undo", offset)
            self.undo_starts(order, step, offset)
            self.begin_attempt(order, step, decision, event, event["complete_by"], offset)
        if not self.runs(order, step, decision, event, offset):
            return
        pivot = order.workflow.pivot if order.workflow is not None else None
        if pivot is not None and (plan.pivot or pivot in plan.before):
            self.find("I9", offset, f"{name}: is recalled behind the pivot")
        step.recalled = True

    def on_SuborderEnded(self, order, decision, event, offset):
        step = order.step(event["step"])
        name = f"{order.key}/{step.name}.{event['item']}"
        items, number = step.items or [], max(event["item"], 0)
        if number >= len(items) or items[number].state not in ("submitted", "held"):
            self.find("I20", offset, f"{name} ends, and was not to")
            return
        item = items[number]
        if event["generation"] != item.generation:
            self.find("I20", offset, f"{name} ends in generation {event['generation']}, and is of "
                                     f"{item.generation}")
        if event["outcome"] == "refused":
            item.given_up.add(item.generation)
        item.state = AFTER[event["outcome"]]
        step.undo_failed = step.undo_failed or event.get("undo_failed", False)

    def all_answered(self, order, step, offset):
        """Before the step ends."""
        left = unanswered(step)
        if left:
            self.find("I6", offset, f"{order.key}/{step.name}: ends, and {left} of its orders have "
                                    "not answered")

    def on_OrderHeld(self, order, decision, event, offset):
        open_steps = [s.name for s in order.steps.values() if s.state not in FINISHED]
        if order.parent is None:
            self.find("I3", offset, f"{order.key} is held without a parent")
        if open_steps:
            self.find("I1", offset, f"{order.key} is held, but {open_steps} are not finished")
        if event["complete_by"] <= decision["decided_at"]:
            self.find("I25", offset, f"{order.key} is held, and does not report again")
        self.turn(order, "Held", ("Processing",), offset)
        order.held, order.due = True, event["complete_by"]


def unanswered(step):
    return sum(item.state == "submitted" or item.state == "held" and step.recalled
               for item in step.items or ())


def items_of(rows):
    """As a Statement has them."""
    items = []
    for row in rows:
        item = Item(row["state"], row["generation"])
        if row["submitted_at"]:
            item.submitted_in.add(row["generation"])
        items.append(item)
    return items


# ---- parents and sub-orders ----

class Trees:
    """All partitions together."""

    def __init__(self, checkers, findings):
        self.checkers, self.findings = checkers, findings
        self.orders = {order.key: order for checker in checkers.values()
                       for order in checker.orders.values()}
        self.whole = all(checker.complete and checker.start == 0 and not checker.reset
                         for checker in checkers.values())

    def find(self, rule, order, text):
        self.findings.add(rule, order.key, text)

    def parent_of(self, order):
        parent = self.orders.get(order.parent["order_id"])
        return parent if parent is not None and (
            parent.accepted_offset == order.parent["accepted_offset"]) else None

    def item_of(self, parent, order):
        items = parent.steps[order.parent["step"]].items if (
            order.parent["step"] in parent.steps) else None
        number = max(order.parent["item"], 0)
        return items[number] if items and number < len(items) else None

    def check(self, order, at_rest):
        """What a sub-order and its parent know of each other."""
        parent = self.parent_of(order)
        if parent is None:
            if at_rest and order.state not in DONE and not order.alert_open:
                self.find("I21", order, f"is {order.state}, and has no parent any more")
            return
        item, generation = self.item_of(parent, order), order.parent["generation"]
        if item is None or self.whole and generation not in item.submitted_in:
            self.find("I19", order, f"{parent.key} has not submitted it")
            return
        if not at_rest:
            return
        if parent.state in DONE and order.state not in DONE:
            self.find("I21", order, f"is {order.state}, and its parent {parent.state}")
        kept = ENDS_WITH.get(item.state) if generation == item.generation else "Compensated"
        given_up = generation in item.given_up and not order.held
        if order.state in DONE and parent.state in DONE and order.state != kept and not given_up:
            self.find("I20", order, f"is {order.state}, and its parent has the item as "
                                    f"{item.state}")

    def check_items(self, order):
        """Each item that is done has been an order."""
        for step in order.steps.values():
            for number, item in enumerate(step.items or ()):
                key = child_key(order.key, step, number, item.generation)
                accepted = sum(checker.acceptances[key] for checker in self.checkers.values())
                if item.state in ("held", "final") and not accepted:
                    self.find("I19", order, f"item {number} of {step.name} is {item.state}, and "
                                            "never was an order")


def child_key(key, step, number, generation):
    listed = f"~{number}" if step.listed else ""
    return f"{key}~{step.name}{listed}" + (f"~~{generation}" if generation else "")


def check_trees(checkers, findings, at_rest=True):
    """I19 to I21, over all partitions of the log."""
    trees = Trees(checkers, findings)
    for order in trees.orders.values():
        if order.parent is not None:
            trees.check(order, at_rest)
        if trees.whole:
            trees.check_items(order)


def check_messages(checkers, records, findings):
    """I26: what orders tell each other comes of Decisions. In logs that nothing was cut from."""
    trees = Trees(checkers, findings)
    told = {key: set() for key in ("submitted", "accepted")}
    for checker in checkers.values():
        told["submitted"] |= checker.submitted
        told["accepted"] |= checker.children
    if not trees.whole:
        return
    for record in records:
        value = record.value or {}
        parent, where = value.get("parent"), f"{record.topic}[{record.partition}]@{record.offset}"
        if record.type in ("SubmitOrder", "SettleSuborder") and parent:
            if identity(parent) not in told["submitted"]:
                findings.add("I26", where, f"{record.type} of {value['order_id']}, which no "
                                           "Decision has submitted")
        elif record.type == "ReportSuborder":
            if identity(value) not in told["accepted"] | told["submitted"]:
                findings.add("I26", where, f"a report to {value['order_id']}, of no sub-order")


def identity(of):
    return (of["order_id"], of["accepted_offset"], of["step"], of["item"], of["generation"])
