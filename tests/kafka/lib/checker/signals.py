# SPDX-License-Identifier: Apache-2.0
"""The rules of signals: what a step awaits, and what passes it."""


class SignalRules:
    """Handlers of events, mixed into Checker as OrderRules is."""

    def begins_to_await(self, order, step, decision, event, offset):
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        if step.early:
            self.find("I23", offset, f"{name}: awaits a signal that it has")
        if plan is not None:
            limit = plan.limit()
            due = 0 if limit is None else decision["decided_at"] + limit
            if event["due_at"] != due:
                self.find("I10", offset, f"{name}: waits until {event['due_at']}, not {due}")
            if event["group"] != plan.awaits.get("From", ""):
                self.find("I28", offset, f"{name}: asks {event['group'] or 'anyone'}")
        step.awaiting = True

    def signal(self, order, step, decision, event, offset):
        """A step that awaits a signal passes with it, in a pause and in Error as well."""
        phase = order.interrupted if order.state == "Error" else order.state
        if phase != "Processing":
            self.find("I9", offset, f"{order.key}/{step.name}: passes while the order is {phase}")
        step.awaiting = False
        self.passes_by(order, step, decision["command_offset"], offset)

    def passes_by(self, order, step, command, offset):
        """The command is the signal that passes a step which awaits one of a group."""
        plan = order.plan(step)
        group = plan.awaits.get("From") if plan is not None and plan.awaits is not None else None
        if group and command is not None:
            self.group_signals.append((command, order.key, step.name, group, offset))

    def early_signal(self, order, step, event, offset):
        taken = (event["output"] or "null", event["signal_id"], event["by"])
        if step.early != taken:
            self.find("I23", offset, f"{order.key}/{step.name}: passes with {taken}, had "
                                     f"{step.early}")
        self.passes_by(order, step, step.early_command, offset)
        step.early, step.early_command = None, None

    def on_SignalReceived(self, order, decision, event, offset):
        step = order.step(event["step"])
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        phase = order.interrupted if order.state == "Error" else order.state
        if phase != "Processing":
            self.find("I9", offset, f"{name}: receives a signal while the order is {phase}")
        if plan is not None and plan.awaits is None:
            self.find("I4", offset, f"{name}: receives a signal without an Await")
        if step.state != "Pending" and not step.awaiting:
            self.find("I23", offset, f"{name}: receives a signal, but is {step.state}")
        if not event["kept"] and plan is not None and plan.until is None:
            self.find("I23", offset, f"{name}: does not keep a signal without an Until")
        if event["kept"] and (step.early or step.state != "Pending"):
            self.find("I23", offset, f"{name}: keeps a second signal, or one while it waits")
        if event["kept"]:
            step.early = (event["payload"], event["signal_id"], event["by"])
            step.early_command = decision["command_offset"]

    def passes_over(self, order, step, offset):
        """An operator ends a step: not one that a group is to pass."""
        plan = order.plan(step)
        if plan is not None and plan.awaits is not None and plan.awaits.get("From"):
            self.find("I28", offset, f"{order.key}/{step.name}: ended by hand, but awaits "
                                     f"{plan.awaits['From']}")

    def await_ends(self, order, step, decision, event, offset):
        """A step that awaits a signal fails, and no operator asked."""
        name = f"{order.key}/{step.name}"
        if event["error_name"] != "States.Timeout":
            self.find("I10", offset, f"{name}: {event['error_name']} of a step that waits")
        if not step.retry_at or decision["decided_at"] < step.retry_at:
            self.find("I8", offset, f"{name}: its time is over at {step.retry_at}")
        step.state = "Pending"


def check_signals(checkers, records, findings):
    """I28: what passes a step that awaits a signal of a group is a signal with that group. Commands
    that are gone are left out."""
    commands = {(record.partition, record.offset): record for record in records}
    for number, checker in checkers.items():
        for command, key, step, group, offset in checker.group_signals:
            record = commands.get((number, command))
            if record is None:
                continue
            value = record.value if record.type == "SignalOrder" else {}
            if (value.get("order_id"), value.get("step")) != (key, step):
                findings.add("I28", f"events[{number}]@{offset}",
                             f"{key}/{step}: passes without a signal")
            elif group not in value["groups"]:
                findings.add("I28", f"events[{number}]@{offset}",
                             f"{key}/{step}: passes by a signal of {value['groups']}, not {group}")
