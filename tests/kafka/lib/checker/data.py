# SPDX-License-Identifier: Apache-2.0
"""The rules of data: why steps are skipped, what attempts get, and which outputs there are."""

import re

HAS_OUTPUT = re.compile(r"(!?)has\(output\.(\w+)\)")
CONTROL = {code: " " for code in range(ord(" "))}


class DataRules:
    """Mixed into Checker as OrderRules is."""

    def skips(self, order, step, event, offset):
        """A step of an order that goes forward: its When is false."""
        plan, reason = order.plan(step), event["reason"]
        self.turns_up(order, step, "do", "is skipped", offset)
        when = plan.when if plan is not None else reason.removeprefix("When: ")
        asked = "When: " + str(when).translate(CONTROL)
        if not when or not reason.startswith("When: ") or not asked.startswith(reason):
            self.find("I22", offset, f"{order.key}/{step.name}: skipped in Processing, and not for "
                                     f"its When: {reason}")
        self.answers(order, step, False, offset)

    def answers(self, order, step, yes, offset):
        """What its When was, as far as that can be told without a second evaluator: where it only
        asks for the output of one step."""
        plan = order.plan(step)
        asks = HAS_OUTPUT.fullmatch(plan.when) if plan is not None and plan.when else None
        if asks is None:
            return
        there = order.step(asks[2]).state == "Processed"
        if (there != bool(asks[1])) != yes:
            self.find("I29", offset, f"{order.key}/{step.name}: {'goes on' if yes else 'skipped'}, "
                                     f"and {asks[2]} is {order.step(asks[2]).state}")

    def takes_input(self, order, step, event, offset):
        """The first attempt of a generation records the input of all."""
        plan, direction = order.plan(step), event["direction"]
        name, made, known = f"{order.key}/{step.name}", event.get("input"), step.inputs[direction]
        if made and known and made != known:
            self.find("I24", offset, f"{name}: an attempt of the same generation got {known}, this "
                                     f"one {made}")
        step.inputs[direction] = made or known
        if plan is not None and bool(made or known) != plan.mapped[direction]:
            self.find("I24", offset, f"{name}: starts with the input {made or known}, its Input "
                                     f"says otherwise")
