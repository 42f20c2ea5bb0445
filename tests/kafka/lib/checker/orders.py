# SPDX-License-Identifier: Apache-2.0
"""The grammar of an order's events, written from the pattern and the workflow."""

from .by_hand import FINISHED, ByHandRules
from .data import DataRules
from .signals import SignalRules
from .suborders import SuborderRules, identity
from .waits import TimeRules

ENDED = {"Processed", "Compensated"}
UNCHANGED = {"CommandRejected", "ReportIgnored", "SubmissionRepeated", "CommandDeadLettered"}


class Attempt:
    def __init__(self, started, decision, offset):
        self.number = started["attempt"]
        self.begun = decision["decided_at"]
        self.complete_by, self.margin = started["complete_by"], started["margin_ms"]
        self.first_due = self.complete_by - started.get("extension_ms", 0)
        self.agent, self.action = started["agent"], started["action"]
        self.version = decision["order_version"]
        self.offset = offset
        self.do_key = None
        self.outcome = None

    @property
    def due(self):
        return self.complete_by + self.margin


class Step:
    def __init__(self, name):
        self.name = name
        self.attempts = {"do": [], "undo": []}
        self.failures = {"do": 0, "undo": 0}
        self.used = {"do": {}, "undo": {}}  # retries by the retrier's index
        self.effect = "none"
        self.completed = None  # order version at which the effect became applied
        self.state = "Pending"
        self.retry_at = None
        self.generations = {"do": 0, "undo": 0}
        self.agent = None  # the agent of the latest attempt
        self.output = ""
        self.inputs = {"do": None, "undo": None}  # of the attempts of a generation
        self.queued = {"do": None, "undo": None}  # queued_at
        self.awaiting = False  # it waits for a signal
        self.early = None  # payload, id and sender of a signal before its turn
        self.early_command = None  # the command that it was, as far as it is known
        self.items = None  # of a step of sub-orders
        self.listed = False  # by a ForEach
        self.recalled = self.undo_failed = False
        self.quota = 0  # of each sub-order
        self.by_hand = False  # done or undone outside, where no ledger has it

    def running(self, direction):
        attempts = self.attempts[direction]
        return bool(attempts) and attempts[-1].outcome is None

    def rank(self):
        """In one Decision a start follows the completion that allows it."""
        if self.effect == "applied":
            return self.completed, 0
        return self.attempts["do"][-1].version, 1


class Order:
    def __init__(self, key):
        self.key = key
        self.version = 0
        self.state = None
        self.interrupted = None  # the state that Error interrupted
        self.alert_open = False
        self.steps = {}
        self.name = None  # of its workflow
        self.workflow = None  # not known
        self.ended_at = None
        self.due = None  # complete_by + margin of the whole order
        self.accepted = 0
        self.undone = []
        self.paused = False
        self.stated = -1  # offset of its acceptance, or of its last Statement
        self.parent = None  # of a sub-order
        self.accepted_offset = -1
        self.held = False  # it was, once

    def step(self, name):
        return self.steps.setdefault(name, Step(name))

    def plan(self, step):
        return self.workflow.steps.get(step.name) if self.workflow is not None else None

    def key_of(self, step, direction):
        return f"{self.key}/{step.name}/{direction}/{step.generations[direction]}"


class OrderRules(ByHandRules, DataRules, SignalRules, SuborderRules, TimeRules):
    """Handlers of events, mixed into Checker, which provides find(), workflows and attempts."""

    attempt_of = Attempt

    def event(self, order, decision, event, offset):
        handler = getattr(self, "on_" + event["_type"], None)
        if handler is not None:
            handler(order, decision, event, offset)

    def turn(self, order, state, allowed, offset):
        if order.state not in allowed:
            self.find("I3", offset, f"{order.key} turns from {order.state} to {state}")
        order.state = state

    # ---- attempts ----

    def on_StepStarted(self, order, decision, event, offset):
        step, direction = order.step(event["step"]), event["direction"]
        attempts, name = step.attempts[direction], f"{order.key}/{step.name}"
        if event["attempt"] != len(attempts) + 1:
            self.find("I5", offset, f"{name}: attempt {event['attempt']} after {len(attempts)}")
        if step.running(direction):
            self.find("I5", offset, f"{name}: starts while the attempt before runs")
        self.turns_up(order, step, direction, "starts", offset)
        if direction == "undo":
            self.undo_starts(order, step, offset)
        if step.agent not in (None, event["agent"]) and step.effect != "none":
            self.find("I11", offset, f"{name}: {direction} goes to {event['agent']}, but "
                                     f"{step.agent} may have applied it")
        if event["generation"] != step.generations[direction]:
            self.find("I11", offset, f"{name}: starts with generation {event['generation']}, not "
                                     f"{step.generations[direction]}")
        if step.queued[direction] is not None and not event["routing_reason"]:
            self.find("I18", offset, f"{name}: was queued and starts without a routing reason")
        if step.retry_at is not None and decision["decided_at"] < step.retry_at:
            self.find("I10", offset, f"{name}: starts before its wait is over")
        self.as_planned(order, step, decision, event, offset)
        self.takes_input(order, step, event, offset)
        if direction == "do" and event["attempt"] == 1:
            self.answers(order, step, True, offset)
        step.agent, step.queued[direction], step.retry_at = event["agent"], None, None
        attempt = Attempt(event, decision, offset)
        attempt.do_key = order.key_of(step, "do")
        attempts.append(attempt)
        self.attempts[order.key, step.name, direction, attempt.number] = attempt
        self.request(order, step, event, attempt, offset)
        step.state = "Processing"

    def turns_up(self, order, step, direction, what, offset):
        """It is the step's turn, in this direction."""
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        if order.paused:
            self.find("I3", offset, f"{name}: {what} while the order is paused")
        if order.state != ("Processing" if direction == "do" else "Compensating"):
            self.find("I9", offset, f"{name}: {direction} {what} while the order is {order.state}")
        if direction == "do" and step.state != "Pending":
            self.find("I10", offset, f"{name}: {what}, but is {step.state}")
        if direction == "undo" and step.state == "Compensated":
            self.find("I9", offset, f"{name}: undo {what} again")
        if direction == "do" and plan is not None:
            early = [other for other in plan.after if order.step(other).state not in FINISHED]
            if early:
                self.find("I4", offset, f"{name}: {what} before {early}")

    def as_planned(self, order, step, decision, event, offset):
        """As the workflow says."""
        name, plan = f"{order.key}/{step.name}", order.plan(step)
        if plan is None:
            if order.workflow is not None:
                self.find("I4", offset, f"{name}: is not a step of its workflow")
            return
        way = plan.ways.get(event["direction"])
        if way is None:
            self.find("I9", offset, f"{name}: has no Compensate and is undone")
            return
        if event["agent"] not in plan.agents:
            self.find("I4", offset, f"{name}: goes to {event['agent']}, not to {plan.agents}")
        if event["action"] != way.action:
            self.find("I4", offset, f"{name}: asks for {event['action']}, not {way.action}")
        if event["complete_by"] != decision["decided_at"] + way.timeout:
            self.find("I8", offset, f"{name}: complete_by is not TimeoutSeconds from now")

    def request(self, order, step, event, attempt, offset):
        """What the StepRequest of this event says."""
        plan, direction = order.plan(step), event["direction"]
        outputs = None
        if plan is not None:
            wanted = set() if plan.mapped[direction] else set(plan.before)
            wanted |= {step.name} if direction == "undo" else set()
            outputs = {name: order.step(name).output for name in wanted
                       if order.step(name).output}
        self.requests[offset, order.key, step.name, direction, attempt.number] = {
            "agent": attempt.agent, "action": attempt.action, "complete_by": attempt.complete_by,
            "extension": event["_type"] == "StepExtended", "outputs": outputs,
            "input": "" if event["_type"] == "StepExtended" else step.inputs[direction] or "",
            "idempotency_key": order.key_of(step, direction), "do_key": attempt.do_key}

    def on_StepQueued(self, order, decision, event, offset):
        """The step waits for an agent; nothing else changes."""
        step, direction = order.step(event["step"]), event["direction"]
        name = f"{order.key}/{step.name}"
        if event["attempt"] != len(step.attempts[direction]):
            self.find("I5", offset, f"{name}: queued after attempt {event['attempt']}, not "
                                    f"{len(step.attempts[direction])}")
        if step.running("do") or step.running("undo"):
            self.find("I5", offset, f"{name}: queued while it runs")
        self.turns_up(order, step, direction, "is queued", offset)
        if direction == "undo" and step.effect == "none":
            self.find("I9", offset, f"{name}: an undo is queued, but there is nothing to undo")
        if event["queued_at"] == 0:  # for a Decision with time for it, not for an agent
            step.retry_at = event["retry_at"]
            return
        since = step.queued[direction]
        if event["queued_at"] != (decision["decided_at"] if since is None else since):
            self.find("I3", offset, f"{name}: queued_at {event['queued_at']}, was {since}")
        if event["retry_at"] != 0 and event["retry_at"] <= decision["decided_at"]:
            self.find("I10", offset, f"{name}: queued until a time in the past")
        if step.retry_at is not None and decision["decided_at"] < step.retry_at:
            self.find("I10", offset, f"{name}: queued before its wait is over")
        if not event["reason"]:
            self.find("I18", offset, f"{name}: queued without a reason")
        step.queued[direction], step.retry_at = event["queued_at"], None
        if direction == "undo":
            step.state = "Pending"

    def on_StepExtended(self, order, decision, event, offset):
        step, direction = order.step(event["step"]), event["direction"]
        attempts, name = step.attempts[direction], f"{order.key}/{step.name}"
        if not step.running(direction) or attempts[-1].number != event["attempt"]:
            self.find("I7", offset, f"{name}: attempt {event['attempt']} is extended but not "
                                    "running")
            return
        attempt, plan = attempts[-1], order.plan(step)
        if event["complete_by"] <= attempt.complete_by:
            self.find("I3", offset, f"{name}: extended to an earlier time")
        if event["action"] != attempt.action:
            self.find("I11", offset, f"{name}: extended as {event['action']}")
        if plan is not None and direction in plan.ways:
            way = plan.ways[direction]
            if event["complete_by"] > attempt.first_due + way.extension:
                self.find("I8", offset, f"{name}: extended beyond MaxExtensionSeconds")
        attempt.complete_by = event["complete_by"]
        self.request(order, step, event, attempt, offset)

    # ---- outcomes ----

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
        self.all_answered(order, step, offset)
        if event["direction"] == "do" and attempt is not None:
            step.effect, step.completed = "applied", decision["order_version"]
            step.output = event["output"]
        if event["direction"] == "undo" and not following(decision, event, "StepCompensated"):
            self.find("I3", offset, f"{order.key}/{step.name}: undone, but not Compensated")
        step.state = "Processed"

    def on_StepFailed(self, order, decision, event, offset):
        step, _ = self.outcome(order, event, "Failed", offset)
        self.all_answered(order, step, offset)
        self.asks_again(order, step, event, offset)
        self.failed(order, event, step, offset)
        self.follows(order, decision, event, step, event["error_name"], offset)

    def on_StepTimedOut(self, order, decision, event, offset):
        step, attempt = self.outcome(order, event, "TimedOut", offset)
        if attempt is not None and decision["decided_at"] < attempt.due:
            self.find("I8", offset, f"{order.key}/{step.name}: timed out "
                                    f"{attempt.due - decision['decided_at']} ms too early")
        self.failed(order, event, step, offset)
        self.follows(order, decision, event, step, "States.Timeout", offset)

    def failed(self, order, event, step, offset):
        direction = event["direction"]
        step.failures[direction] += 1
        if event["failure_count"] != step.failures[direction]:
            self.find("I10", offset, f"{order.key}/{step.name}: failure_count "
                                     f"{event['failure_count']}, counted "
                                     f"{step.failures[direction]}")
        if direction == "do":
            if ["none", "unknown", "applied"].index(event["effect"]) < [
                    "none", "unknown", "applied"].index(step.effect):
                self.find("I9", offset, f"{order.key}/{step.name}: an effect was forgotten: "
                                        f"{event['effect']}, was {step.effect}")
            step.effect = event["effect"]
            if step.effect == "applied" and step.completed is None:
                step.completed = order.version
        step.state = "Pending"

    def follows(self, order, decision, event, step, error, offset):
        """The Decision in which an attempt failed also says what follows."""
        direction, name = event["direction"], f"{order.key}/{step.name}"
        next_one = following(decision, event, "StepRetryScheduled", "StepExhausted", "StepSkipped",
                             "StepCaught")
        kind = next_one["_type"] if next_one else None
        if direction == "do" and order.state == "Compensating":
            if kind in ("StepRetryScheduled", "StepExhausted"):
                self.find("I9", offset, f"{name}: {kind} after compensation began")
            return
        if kind not in ("StepRetryScheduled", "StepExhausted", "StepCaught"):
            self.find("I10", offset, f"{name}: failed, and neither a retry nor the end follows")
            return
        plan = order.plan(step)
        if plan is None or direction not in plan.ways:
            return
        way, used = plan.ways[direction], step.used[direction]
        number = way.retrier(used, error)
        if (number is None) != (kind in ("StepExhausted", "StepCaught")):
            self.find("I10", offset, f"{name}: {kind} after {error}, the policy says otherwise")
        elif number is not None:
            self.waits(name, decision, next_one, way.retriers[number],
                       (number, used.get(number, 0) + 1), offset)
        caught = direction == "do" and order.workflow.end(step.name, error) == "continue"
        if kind == "StepRetryScheduled":
            used[next_one["retrier"]] = next_one["retry"]
        elif (kind == "StepCaught") != caught:
            self.find("I10", offset, f"{name}: {kind} after {error}, its Catch says otherwise")
        elif kind == "StepExhausted" and order.state != "Error":
            self.ends(order, decision, next_one, error, offset)

    def waits(self, name, decision, event, retrier, number, offset):
        if (event["retrier"], event["retry"]) != number:
            self.find("I10", offset, f"{name}: retry {event['retry']} of retrier "
                                     f"{event['retrier']}, expected {number}")
        wait, longest = event["retry_at"] - decision["decided_at"], retrier.wait(number[1])
        if not 0 <= wait <= longest:
            self.find("I10", offset, f"{name}: waits {wait} ms, the policy says at most {longest}")
        if retrier.exact and abs(wait - longest) > 1:
            self.find("I10", offset, f"{name}: waits {wait} ms, the policy says {longest}")

    def ends(self, order, decision, event, error, offset):
        """No retry is left: the order is compensated or fails."""
        wanted = "OrderFailed"
        if (event["direction"] == "do" and self.way_back(order)
                and order.workflow.end(event["step"], error) == "compensate"):
            wanted = "CompensationStarted"
        if not following(decision, event, wanted, same_step=False):
            self.find("I10", offset, f"{order.key}/{event['step']}: is exhausted, and {wanted} "
                                     "does not follow")

    def on_StepRetryScheduled(self, order, decision, event, offset):
        step = order.step(event["step"])
        if event["retry_at"] < decision["decided_at"]:
            self.find("I10", offset, f"{order.key}/{event['step']}: retry_at lies in the past")
        if step.state != "Pending" or not step.failures[event["direction"]]:
            self.find("I3", offset, f"{order.key}/{step.name}: a retry of what has not failed")
        step.retry_at = event["retry_at"]

    def on_StepExhausted(self, order, decision, event, offset):
        step = order.step(event["step"])
        if step.state != "Pending" or not step.failures[event["direction"]]:
            self.find("I3", offset, f"{order.key}/{step.name}: exhausted without a failure")
        step.state, step.retry_at = "Error", None

    def on_StepCaught(self, order, decision, event, offset):
        step = order.step(event["step"])
        if step.state != "Pending" or not step.failures["do"]:
            self.find("I3", offset, f"{order.key}/{step.name}: caught without a failure")
        step.state, step.retry_at = "Caught", None

    # ---- steps without attempts ----

    def on_StepPassed(self, order, decision, event, offset):
        step, plan = order.step(event["step"]), order.plan(order.step(event["step"]))
        if step.state == "Waiting" and step.awaiting:
            self.signal(order, step, decision, event, offset)
        elif step.state == "Waiting":
            self.moment(order, step, decision, offset)
        else:
            self.turns_up(order, step, "do", "passes", offset)
            self.answers(order, step, True, offset)
            if plan is not None and plan.awaits is not None:
                self.early_signal(order, step, event, offset)
        if plan is not None and not plan.sets and plan.wait is None and plan.awaits is None:
            self.find("I4", offset, f"{order.key}/{step.name}: passes without a Set")
        step.state, step.output, step.retry_at = "Processed", event["output"], None

    # ---- compensation ----

    def undo_starts(self, order, step, offset):
        if any(other.running("do") for other in order.steps.values()):
            self.find("I9", offset, f"{order.key}: an undo starts while a forward attempt may run")
        if any(other.running("undo") for other in order.steps.values()):
            self.find("I9", offset, f"{order.key}: two undos run at the same time")
        if step.effect == "none":
            self.find("I9", offset, f"{order.key}/{step.name}: undone, but nothing was applied")
            return
        if step.name not in order.undone:
            order.undone.append(step.name)
            done_before = [order.steps[name] for name in order.undone[:-1]]
            if any(other.rank() < step.rank() for other in done_before
                   if other.effect != "none"):
                self.find("I9", offset, f"{order.key}: undone {order.undone}, not in reverse order")

    def way_back(self, order):
        """False: the pivot or a step behind it has started, and it is not known to have had no
        effect."""
        if order.workflow is None or order.workflow.pivot is None:
            return True
        passed = order.workflow.behind(order.workflow.pivot) | {order.workflow.pivot}
        return all(step.effect == "none" and not step.running("do")
                   for name, step in order.steps.items() if name in passed)

    def on_CompensationStarted(self, order, decision, event, offset):
        if not self.way_back(order):
            self.find("I9", offset, f"{order.key}: compensation behind the pivot")
        self.turn(order, "Compensating", ("Processing", "Error", "Held"), offset)

    def on_StepCompensated(self, order, decision, event, offset):
        step = order.step(event["step"])
        attempts = step.attempts["undo"]
        if not attempts or attempts[-1].outcome != "Succeeded":
            self.find("I9", offset, f"{order.key}/{step.name}: Compensated, but not undone")
        step.state = "Compensated"

    def to_undo(self, order, step):
        """What is applied or may be, and can be undone."""
        plan = order.plan(step)
        if step.items is not None:
            held = any(item.state == "held" for item in step.items)
            return step.effect != "none" and (held or step.undo_failed)
        return step.effect != "none" and plan is not None and "undo" in plan.ways

    def on_StepSkipped(self, order, decision, event, offset):
        step = order.step(event["step"])
        if order.state == "Processing":
            self.skips(order, step, event, offset)
        elif order.state != "Compensating":
            self.find("I22", offset, f"{order.key}/{step.name}: skipped in {order.state}")
        if step.running("do") or self.to_undo(order, step):
            self.find("I9", offset, f"{order.key}/{step.name}: skipped, but is to be undone")
        step.state = "Skipped"

    # ---- the order as a whole ----

    def on_OrderAccepted(self, order, decision, event, offset):
        order.accepted += 1
        if order.accepted > 1:
            self.find("I1", offset, f"{order.key} is accepted twice")
        for plan in event["steps"]:
            order.step(plan["name"])
        self.turn(order, "Pending", (None,), offset)
        details = event["details"]
        order.name, order.accepted_offset = details["workflow"], offset
        order.parent = details.get("parent")
        if order.parent:
            self.children.add(identity(order.parent))
        if self.workflows is None:
            return
        order.workflow = self.workflows.get((details["workflow"], details["workflow_version"]))
        if order.workflow is None:
            self.find("I4", offset, f"{order.key}: its workflow is not deployed")
            return
        if [plan["name"] for plan in event["steps"]] != list(order.workflow.steps):
            self.find("I4", offset, f"{order.key}: its steps are not those of its workflow")
        timeout, until = order.workflow.timeout, event["complete_by"]
        if until != (0 if timeout is None else decision["decided_at"] + timeout):
            self.find("I8", offset, f"{order.key}: complete_by is not TimeoutSeconds from now")
        order.due = until + event["margin_ms"]

    def on_OrderStarted(self, order, decision, event, offset):
        self.turn(order, "Processing", ("Pending",), offset)

    def on_OrderTimedOut(self, order, decision, event, offset):
        if order.state != "Processing":
            self.find("I3", offset, f"{order.key} is timed out in {order.state}")
        if order.due is not None and decision["decided_at"] < order.due:
            self.find("I8", offset, f"{order.key}: timed out too early")

    def on_OrderProcessed(self, order, decision, event, offset):
        open_steps = [s.name for s in order.steps.values() if s.state not in FINISHED]
        if open_steps:
            self.find("I1", offset, f"{order.key} is Processed, but {open_steps} are not")
        self.turn(order, "Processed", ("Processing", "Held"), offset)

    def on_OrderCompensated(self, order, decision, event, offset):
        running = [s.name for s in order.steps.values() if s.running("do") or s.running("undo")]
        if running:
            self.find("I9", offset, f"{order.key} is Compensated while {running} run")
        left = [step.name for step in order.steps.values()
                if self.to_undo(order, step) and step.state != "Compensated"]
        if left:
            self.find("I9", offset, f"{order.key} is Compensated, but {left} are not undone")
        self.turn(order, "Compensated", ("Compensating",), offset)

    def on_OrderFailed(self, order, decision, event, offset):
        order.interrupted = order.state
        self.turn(order, "Error", ("Processing", "Compensating"), offset)

    def on_OrderResumed(self, order, decision, event, offset):
        self.named(order, event, offset)
        self.turn(order, order.interrupted, ("Error",), offset)

    def on_OrderCancelled(self, order, decision, event, offset):
        self.named(order, event, offset)

    def on_StepResubmitted(self, order, decision, event, offset):
        step, direction = order.step(event["step"]), event["direction"]
        self.named(order, event, offset)
        if step.state != "Error":
            self.find("I3", offset, f"{order.key}/{step.name}: resubmitted in {step.state}")
        if event["generation"] - step.generations[direction] not in (0, 1):
            self.find("I11", offset, f"{order.key}/{step.name}: generation {event['generation']} "
                                     f"after {step.generations[direction]}")
        step.failures[direction], step.used[direction] = 0, {}
        step.state, step.retry_at = "Pending", None
        if event["generation"] != step.generations[direction]:
            step.generations[direction] = event["generation"]
            step.inputs[direction] = None
            if direction == "do":
                step.effect = "none"  # the operator has checked

    def named(self, order, event, offset):
        if not event["by"]:
            self.find("I18", offset, f"{order.key}: {event['_type']} does not say by whom")

    def on_AlertRaised(self, order, decision, event, offset):
        if order.alert_open:
            self.find("I1", offset, f"{order.key}: a second alert")
        order.alert_open = True

    def on_AlertClosed(self, order, decision, event, offset):
        if not order.alert_open:
            self.find("I1", offset, f"{order.key}: closes an alert that is not open")
        order.alert_open = False


def following(decision, event, *kinds, same_step=True):
    """The first event of these kinds behind this one, of the same step."""
    events = decision["events"]
    at = next(number for number, other in enumerate(events) if other is event)
    return next((other for other in events[at + 1:] if other["_type"] in kinds
                 and (not same_step or other["step"] == event["step"])), None)
