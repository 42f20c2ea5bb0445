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

    def signal(self, order, step, event, offset):
        """A step that awaits a signal passes with it, in a pause and in Error as well."""
        phase = order.interrupted if order.state == "Error" else order.state
        if phase != "Processing":
            self.find("I9", offset, f"{order.key}/{step.name}: passes while the order is {phase}")
        step.awaiting = False

    def early_signal(self, order, step, event, offset):
        taken = (event["output"] or "null", event["signal_id"], event["by"])
        if step.early != taken:
            self.find("I23", offset, f"{order.key}/{step.name}: passes with {taken}, had "
                                     f"{step.early}")
        step.early = None

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
