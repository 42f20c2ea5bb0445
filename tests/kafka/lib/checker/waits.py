# SPDX-License-Identifier: Apache-2.0
"""The rules of time: steps that wait for a moment, and services that are asked until they are
ready."""


class TimeRules:
    """Handlers of events, mixed into Checker as OrderRules is."""

    def on_StepWaiting(self, order, decision, event, offset):
        step, name = order.step(event["step"]), f"{order.key}/{event['step']}"
        plan, wait = order.plan(step), event["due_at"] - decision["decided_at"]
        self.turns_up(order, step, "do", "waits", offset)
        self.answers(order, step, True, offset)
        step.awaiting = False
        if plan is not None and (plan.awaits is not None) != event["for_signal"]:
            self.find("I4", offset, f"{name}: waits for a signal, or not, against its workflow")
        elif event["for_signal"]:
            self.begins_to_await(order, step, decision, event, offset)
            step.state, step.retry_at = "Waiting", event["due_at"]
            return
        if wait <= 0:
            self.find("I10", offset, f"{name}: waits for a moment that has passed")
        if plan is not None and plan.wait is None:
            self.find("I4", offset, f"{name}: waits without a Wait")
        elif plan is not None and plan.waits() is not None:
            least, most = plan.waits()
            if not least <= wait <= most:
                self.find("I10", offset, f"{name}: waits {wait} ms, its Wait says {least} to "
                                         f"{most}")
        step.state, step.retry_at = "Waiting", event["due_at"]

    def moment(self, order, step, decision, offset):
        """A step that waits passes."""
        name = f"{order.key}/{step.name}"
        if order.paused:
            self.find("I3", offset, f"{name}: passes while the order is paused")
        if order.state != "Processing":
            self.find("I9", offset, f"{name}: passes while the order is {order.state}")
        if decision["decided_at"] < step.retry_at:
            self.find("I8", offset, f"{name}: passes {step.retry_at - decision['decided_at']} ms "
                                    "before its moment")

    def asks_again(self, order, step, event, offset):
        """Its service has answered, and Until was not true of the answer."""
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        if event.get("not_yet", False) != (event["error_name"] == "States.NotYet"):
            self.find("I10", offset, f"{name}: {event['error_name']}, and not_yet is "
                                     f"{event.get('not_yet', False)}")
        if not event.get("not_yet", False):
            return
        if plan is not None and plan.until is None:
            self.find("I4", offset, f"{name}: is asked again without an Until")
        if event["direction"] != "do" or event["effect"] != "none":
            self.find("I9", offset, f"{name}: is asked again, and its effect is "
                                    f"{event['effect']}")
        step.effect = "none"
        step.generations["do"] += 1


def asks_again(events, number):
    """The application hears of the attempts alone."""
    event = events[number]
    if event["_type"] == "StepRetryScheduled" and number > 0:
        event = events[number - 1]  # the failure that it follows
    return event["_type"] == "StepFailed" and event.get("not_yet", False)
