# SPDX-License-Identifier: Apache-2.0
"""The rules for work by hand: operators end steps outside of any attempt, and pause orders."""

FINISHED = {"Processed", "Skipped", "Caught"}  # the steps behind may start


class ByHandRules:
    """Handlers of events, mixed into Checker as OrderRules is."""

    def by_hand(self, order, event, offset):
        """The step, which may be ended by hand: nothing of it runs, and it is its turn."""
        step, direction = order.step(event["step"]), event["direction"]
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        self.named(order, event, offset)
        if event["attempt"] != len(step.attempts[direction]):
            self.find("I5", offset, f"{name}: by hand after attempt {event['attempt']}, not "
                                    f"{len(step.attempts[direction])}")
        if step.running(direction):
            self.find("I6", offset, f"{name}: ended by hand while an attempt runs")
        if step.state not in ("Pending", "Waiting", "Error", "Processing"):
            self.find("I3", offset, f"{name}: ended by hand, but is {step.state}")
        phase = order.interrupted if order.state == "Error" else order.state
        if phase != ("Processing" if direction == "do" else "Compensating"):
            self.find("I9", offset, f"{name}: {direction} ended by hand in {order.state}")
        early = [other for other in (plan.after if plan is not None and direction == "do" else ())
                 if order.step(other).state not in FINISHED]
        if early:
            self.find("I4", offset, f"{name}: ended by hand before {early}")
        step.queued[direction], step.retry_at = None, None
        return step

    def on_StepCompletedByHand(self, order, decision, event, offset):
        step = self.by_hand(order, event, offset)
        step.by_hand = True
        if event["direction"] == "undo":
            if event["output"]:
                self.find("I3", offset, f"{order.key}/{step.name}: an undo with an output")
            step.state = "Compensated"
            return
        self.passes_over(order, step, offset)
        step.effect, step.completed = "applied", decision["order_version"]
        step.state, step.output = "Processed", event["output"]

    def on_StepSkippedByHand(self, order, decision, event, offset):
        step = self.by_hand(order, event, offset)
        self.passes_over(order, step, offset)
        if event["direction"] == "undo" or step.effect == "applied":
            self.find("I9", offset, f"{order.key}/{step.name}: skipped, but its effect remains")
        step.state, step.effect = "Skipped", "none"

    def on_StepFailedUnstarted(self, order, decision, event, offset):
        """By an operator, or because the step needs what cannot be had, or is a Fail."""
        step, direction = order.step(event["step"]), event["direction"]
        if event["by"]:
            self.by_hand(order, event, offset)
            if step.state == "Error":
                self.find("I3", offset, f"{order.key}/{step.name}: fails by hand, but is in Error")
        else:
            if step.state == "Waiting" and step.awaiting:
                self.await_ends(order, step, decision, event, offset)
            self.turns_up(order, step, direction, "fails", offset)
            step.queued[direction], step.retry_at = None, None
        step.failures[direction] += 1
        if event["failure_count"] != step.failures[direction]:
            self.find("I10", offset, f"{order.key}/{step.name}: failure_count by hand is "
                                     f"{event['failure_count']}, counted "
                                     f"{step.failures[direction]}")
        step.state, step.awaiting, step.early = "Pending", False, None
        self.follows(order, decision, event, step, event["error_name"], offset)

    # ---- another version ----

    def on_OrderMigrated(self, order, decision, event, offset):
        self.named(order, event, offset)
        old = order.workflow
        new = (self.workflows or {}).get((order.name, event["workflow_version"]))
        if (order.interrupted if order.state == "Error" else order.state) != "Processing":
            self.find("I3", offset, f"{order.key}: another version in {order.state}")
        if event["from_version"] == event["workflow_version"]:
            self.find("I3", offset, f"{order.key}: moved to the version that it has")
        plans = {plan["name"]: plan for plan in event["steps"]}
        if new is not None and list(plans) != list(new.steps):
            self.find("I4", offset, f"{order.key}: its steps are not those of the version")
        for step in order.steps.values():
            self.migrated(order, step, (old, new), plans, offset)
            if event["moves_retries"]:
                self.moves_retries(order, step, (old, new), plans, offset)
        order.workflow = new

    def moves_retries(self, order, step, versions, plans, offset):
        """What was used of a retrier that both versions have, and nothing of any other."""
        before, after = (workflow.steps.get(step.name) if workflow is not None else None
                         for workflow in versions)
        if before is None or after is None or step.name not in plans:
            return
        known = [vars(retrier) for retrier in before.ways["do"].retriers]
        used = [step.used["do"].get(known.index(vars(retrier)), 0) if vars(retrier) in known else 0
                for retrier in after.ways["do"].retriers]
        moved = {i: count for i, count in enumerate(used) if count}
        told = {i: count for i, count in enumerate(plans[step.name]["retries_used"]) if count}
        if told != moved:
            self.find("I10", offset, f"{order.key}/{step.name}: moved with retries {told}, "
                                     f"not {moved}")
        step.used["do"] = told

    def migrated(self, order, step, versions, names, offset):
        name = f"{order.key}/{step.name}"
        finished = (step.state in FINISHED or step.state == "Waiting" or step.effect != "none"
                    or step.running("do"))
        if (finished or step.attempts["do"]) and step.name not in names:
            self.find("I4", offset, f"{name}: was started, and the other version lacks it")
        before, after = (workflow.steps.get(step.name) if workflow is not None else None
                         for workflow in versions)
        if finished and before is not None and after is not None:
            if before.after != after.after or before.pivot != after.pivot:
                self.find("I4", offset, f"{name}: stands elsewhere in the other version")
            if (step.effect != "none" or step.running("do")) and (
                    ("undo" in before.ways) != ("undo" in after.ways)):
                self.find("I9", offset, f"{name}: is undone in another way in the other version")
        new_key = names.get(step.name, {}).get("new_key", False)
        again = not finished and bool(step.attempts["do"]) and step.state == "Pending"
        if step.name in names and new_key != again:
            self.find("I11", offset,
                      f"{name}: is moved {'with' if new_key else 'without'} a new key")
        step.generations["do"] += new_key
        step.queued["do"] = None
        if step.state != "Waiting":  # its moment stays
            step.retry_at = None
        if not step.running("do"):
            step.inputs["do"] = None

    # ---- another input ----

    def on_OrderAmended(self, order, decision, event, offset):
        self.named(order, event, offset)
        if order.state != "Error" or order.interrupted != "Processing":
            self.find("I3", offset, f"{order.key}: amended in {order.state}")
        running = [step.name for step in order.steps.values() if step.running("do")]
        if running:
            self.find("I6", offset, f"{order.key}: amended while {running} run")
        for told in event["steps"]:
            self.begins_again(order, order.step(told["name"]), told["generation"], offset)
        again = {told["name"] for told in event["steps"]}
        for step in order.steps.values():
            waits = step.retry_at is not None or step.queued["do"] is not None
            if step.state == "Pending" and step.effect == "none" and step.name not in again and (
                    waits or step.attempts["do"]):
                self.find("I24", offset, f"{order.key}/{step.name}: waits with what was made of "
                                         "the data before it was amended")

    def begins_again(self, order, step, generation, offset):
        """Nothing of it is lost, and what its attempts get next has a key of its own."""
        name, attempts = f"{order.key}/{step.name}", step.attempts["do"]
        if step.effect != "none":
            self.find("I9", offset, f"{name}: begins again, but its effect is {step.effect}")
        begun = step.state in FINISHED or step.state == "Waiting"
        if step.state != "Pending" and (not begun or attempts):
            self.find("I3", offset, f"{name}: begins again, but is {step.state} after "
                                    f"{len(attempts)} attempts")
        if generation != step.generations["do"] + bool(attempts):
            self.find("I11", offset, f"{name}: begins again with generation {generation}, was "
                                     f"{step.generations['do']}")
        late = [other.name for other in order.steps.values()
                if order.plan(other) is not None and step.name in order.plan(other).after
                and other.effect != "none"]
        if step.state in FINISHED and late:
            self.find("I4", offset, f"{name}: begins again, and stands before {late}")
        if begun:
            step.state, step.output = "Pending", ""
            step.failures["do"], step.used["do"] = 0, {}
        step.generations["do"] = generation
        step.inputs["do"], step.queued["do"], step.retry_at = None, None, None

    # ---- deadlines and pauses ----

    def on_OrderDeadlineSet(self, order, decision, event, offset):
        self.named(order, event, offset)
        if event["complete_by"] <= decision["decided_at"]:
            self.find("I8", offset, f"{order.key}: a new deadline that lies in the past")
        if order.state not in ("Processing", "Held"):
            self.find("I3", offset, f"{order.key}: a new deadline in {order.state}")
        order.due = event["complete_by"] + event["margin_ms"]

    def on_OrderPaused(self, order, decision, event, offset):
        self.named(order, event, offset)
        if order.paused:
            self.find("I3", offset, f"{order.key}: paused twice")
        order.paused = True

    def on_OrderPauseEnded(self, order, decision, event, offset):
        self.named(order, event, offset)
        if not order.paused:
            self.find("I3", offset, f"{order.key}: the end of a pause that was none")
        order.paused = False
