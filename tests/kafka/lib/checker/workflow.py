# SPDX-License-Identifier: Apache-2.0
"""Reads workflow files by docs/use/workflows.md: those that `workflow lint` accepts."""

import json

import yaml

DAY_MS = 24 * 3600 * 1000
NEVER_RETRIED = {"States.QueryEvaluationError", "States.DataLimitExceeded"}
UNDO_RETRY = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 5}]


def milliseconds(seconds):
    return round(float(seconds) * 1000)


def names(value):
    return [value] if isinstance(value, str) else list(value)


def matches(errors, error):
    return ("States.ALL" in errors or error in errors
            or "States.TaskFailed" in errors and error != "States.Timeout")


class Retrier:
    def __init__(self, fields):
        self.errors = fields["ErrorEquals"]
        self.most = fields.get("MaxAttempts", 3)
        self.interval = milliseconds(fields.get("IntervalSeconds", 1))
        self.rate = float(fields.get("BackoffRate", 2.0))
        self.longest = milliseconds(fields.get("MaxDelaySeconds", 366 * DAY_MS / 1000))
        self.exact = fields.get("JitterStrategy", "FULL") == "NONE"

    def wait(self, retry):
        """The longest wait before that retry (1, 2 ...), in ms."""
        return min(self.interval * self.rate ** (retry - 1), self.longest)


class Way:
    """How a step is done, or how it is undone."""

    def __init__(self, action, timeout, extension, retry):
        self.action = action
        self.timeout, self.extension = milliseconds(timeout), milliseconds(extension)
        self.retriers = [Retrier(fields) for fields in retry]

    def retrier(self, used, error):
        """Index of the first retrier that matches and has retries left, or None."""
        if error in NEVER_RETRIED:
            return None
        return next((number for number, retrier in enumerate(self.retriers)
                     if used.get(number, 0) < retrier.most and matches(retrier.errors, error)),
                    None)


class Plan:
    """One step of a workflow. `after`: its predecessors; `before`: also the indirect ones."""

    def __init__(self, fields, defaults, previous):
        self.name = fields["Name"]
        self.agents = names(fields.get("Agents", fields.get("Agent", [])))
        self.when = fields.get("When")
        self.sets = "Set" in fields
        self.wait = fields.get("Wait")
        self.awaits = fields["Await"] if "Await" in fields else None
        self.own_timeout = fields.get("TimeoutSeconds")
        self.until = fields.get("Until")
        self.after = set(names(fields["After"]) if "After" in fields else previous)
        self.before = set()
        self.pivot = fields.get("Pivot", False)
        self.body = {"Steps": fields["Steps"], "Defaults": defaults} if "Steps" in fields else None
        timeout = fields.get("TimeoutSeconds", defaults.get("TimeoutSeconds", 60))
        # Only what an agent does is tried again.
        retry = fields.get("Retry", defaults.get("Retry", [])) if self.agents else []
        self.ways = {"do": Way(self.name, timeout, fields.get("MaxExtensionSeconds", 0), retry)}
        if "Compensate" in fields:
            undo = {"TimeoutSeconds": timeout, "Retry": UNDO_RETRY,
                    **defaults.get("Compensate", {}), **fields["Compensate"]}
            self.ways["undo"] = Way(undo["Action"], undo["TimeoutSeconds"],
                                    undo.get("MaxExtensionSeconds", 0), undo["Retry"])
        # Whose requests carry their Input instead of outputs.
        self.mapped = {"do": "Input" in fields,
                       "undo": "Input" in {**fields, **fields.get("Compensate", {})}}
        self.catchers = fields.get("Catch", defaults.get("Catch", []))
        self.own_end = fields.get("OnExhausted")
        self.default_end = defaults.get("OnExhausted", "compensate")

    def waits(self):
        """The shortest and the longest wait of a Wait, in ms; None: data decides it."""
        seconds = self.wait.get("Seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            return None
        least = milliseconds(seconds)
        return least, least + milliseconds(self.wait.get("SpreadSeconds", 0))

    def limit(self):
        """How long an Await waits, in ms; None: as long as its order has."""
        return None if self.own_timeout is None else milliseconds(self.own_timeout)

    def whole(self):
        """How long a step of sub-orders may take, in ms."""
        return 366 * DAY_MS if self.own_timeout is None else milliseconds(self.own_timeout)

    def end(self, error, behind_pivot):
        """"compensate", "error" or "continue": what follows this error when no retry is left."""
        for catcher in self.catchers:
            if matches(catcher["ErrorEquals"], error):
                return catcher["Next"].removeprefix("$")
        return self.own_end or ("error" if self.pivot or behind_pivot else self.default_end)


class Workflow:
    """`steps`: Plans by name, in the order of the file; `pivot`: its step of no return, or None."""

    def __init__(self, fields):
        timeout = fields.get("TimeoutSeconds")
        self.timeout = None if timeout is None else milliseconds(timeout)
        self.steps, previous = {}, []
        for step in fields["Steps"]:
            plan = Plan(step, fields.get("Defaults", {}), previous)
            self.steps[plan.name], previous = plan, [plan.name]
        self.pivot = next((plan.name for plan in self.steps.values() if plan.pivot), None)
        for plan in self.steps.values():
            waiting = list(plan.after)
            while waiting:
                name = waiting.pop()
                if name not in plan.before:
                    plan.before.add(name)
                    waiting += self.steps[name].after

    def behind(self, step):
        """The names of the steps that wait for this one, directly or not."""
        return {plan.name for plan in self.steps.values() if step in plan.before}

    def end(self, step, error):
        return self.steps[step].end(error, self.pivot in self.steps[step].before)


def read_workflows(definitions):
    """(name, version) -> Workflow, from the records of <p>.workflows. The first one counts."""
    found = {}
    for record in definitions:
        value = record.value
        if record.type != "WorkflowDefinition" or (value["name"], value["version"]) in found:
            continue
        read = json.loads if value["format"] == "json" else yaml.safe_load
        add_workflow(found, value["name"], value["version"], read(value["source"]))
    return found


def add_workflow(found, name, version, fields):
    """With the bodies of its steps, each under its whole name."""
    workflow = found[name, version] = Workflow(fields)
    for plan in workflow.steps.values():
        if plan.body is not None:
            add_workflow(found, f"{name}/{plan.name}", version, plan.body)
