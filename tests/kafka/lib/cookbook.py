# SPDX-License-Identifier: Apache-2.0
"""The cases of examples/cookbook/*.test.yaml for real processes, each with a workflow of its own,
made of the cookbook's, in which nothing takes longer than a minute or two.

    case = read_cases(("a", "b"))[0]   # their steps are shared out between these two agents
    case.workflow                      # to deploy, under the name case.name
    case.answer("o-1~Load~3", "Store") # of the remote service
"""

import dataclasses
import json
import re
import typing
import zlib

import yaml

from . import paths
from .remote import Answer

FOLDER = paths.ROOT / "examples" / "cookbook"
ANSWERED_SECONDS, IGNORED_SECONDS, CALL_SECONDS = 600, 2, 120
# Of a step that a service does not answer once, and of an order that ends in Error for its time:
# what is answered is so in time although its agent is killed.
SILENT_SECONDS, ORDER_SECONDS = 45, 120
NOT_RUN = {("etl", "lets a large file take two hours"):
           "an agent that calls services by HTTP does not ask for more time"}


@dataclasses.dataclass
class Signal:
    step: str  # its path
    payload: typing.Any
    by: str
    groups: list
    id: str
    early: bool  # it comes before its step's turn
    late: bool  # it comes when its step has timed out, and its order has ended


@dataclasses.dataclass
class Act:
    """Of an operator, on the command line of `reeve`: VERB ORDER ARGUMENTS FLAGS."""

    step: str  # its path; empty: it is about the root
    verb: list
    arguments: list
    flags: list
    waits: bool  # it comes while the step waits; else once its order is in Error


@dataclasses.dataclass
class Case:
    name: str
    title: str
    input: typing.Any  # None: the order has none
    workflow: dict
    answers: dict
    signals: list
    acts: list
    later: set  # paths of steps that are answered when the rest has happened
    expect: dict

    def is_performed(self, path):
        """Whether a service performs the step."""
        return "Agent" in dict(walk(self.workflow["Steps"]))[without_items(path)]

    def answer(self, order_id, step):
        path = path_of(order_id, step)
        return self.answers.get(path) or self.answers.get(without_items(path)) or Answer()

    def is_later(self, order_id, step):
        path = path_of(order_id, step)
        if path in self.answers:
            return path in self.later
        return without_items(path) in self.later

    def expected(self, kind, path):
        """What the case says of that path among its "Steps", "Suborders" or "Inputs"; or None."""
        known = self.expect.get(kind, {})
        return known.get(path, known.get(without_items(path)))


def path_of(order_id, step=None):
    """"o-1~Load~3", "Store" -> "Load~3/Store"; without a step: "Load~3"."""
    parts, names = order_id.split("~")[1:], []
    for part in parts:
        if part.isdigit():
            names[-1] += f"~{part}"
        else:
            names.append(part)
    return "/".join([*names, *([step] if step else [])])


def without_items(path):
    return re.sub(r"~\d+", "", path)


def place_of(path):
    """"Load~3/Store" -> "~Load~3", "Store": what follows the root's id, and the step's name."""
    *above, step = path.split("/")
    return below("/".join(above)), step


def below(path):
    """Of a sub-order: "Load~3/Box" -> "~Load~3~Box"."""
    return "".join(f"~{part}" for part in path.split("/") if part)


# ---- workflows that take seconds ----

def walk(steps, above=""):
    """(path, step) of all steps on all levels; the paths are without items."""
    for step in steps:
        yield above + step["Name"], step
        yield from walk(step.get("Steps", ()), f"{above}{step['Name']}/")


def hasten(workflow, agents, answered, silent):
    """`answered`: paths of the steps that get a signal, or an operator, in time; `silent`: of those
    whose service does not answer once, or that get only signals that do not count."""
    for path, step in walk(workflow["Steps"]):
        if "Agent" in step:
            step["Agent"] = agents[zlib.crc32(step["Agent"].encode()) % len(agents)]
            step["TimeoutSeconds"] = SILENT_SECONDS if path in silent else CALL_SECONDS
            step.pop("MaxExtensionSeconds", None)
        for retrier in step.get("Retry", ()):
            retrier["IntervalSeconds"] = 0.2
        if "Wait" in step:
            step["Wait"] = {"Seconds": 1}
        if "Await" in step and path in answered:
            step["TimeoutSeconds"] = ANSWERED_SECONDS
        elif "Await" in step and "TimeoutSeconds" in step:
            step["TimeoutSeconds"] = SILENT_SECONDS if path in silent else IGNORED_SECONDS


# ---- cases ----

def answer_of(entries):
    """Of one step. None: it is one that a real service cannot be told to give."""
    entries = entries if isinstance(entries, list) else [entries]
    if any("Error" in entry or "NoAnswer" in entry for entry in entries[:-1]) or \
            any("Extend" in entry for entry in entries):
        return None
    last = entries[-1]
    return Answer(output=last.get("Output"), error=last.get("Error", ""),
                  not_yet=[entry.get("Output") for entry in entries[:-1]],
                  silent=last.get("NoAnswer", False))


def act_of(entry):
    command, step = entry["Command"], entry.get("Step", "")
    name = step.split("/")[-1]
    flags = ["--reason", entry.get("Reason", "the test says it")]
    if "Output" in entry:
        flags += ["--step-output", json.dumps(entry["Output"])]
    if command == "cancel":
        return Act("", ["cancel"], [], flags, False)
    error = [entry["Error"]] if command == "fail" else []
    return Act(step, ["step", command], [name, *error], flags, "AtSeconds" in entry)


def case_of(flow, number, case, text, agents):
    """None: it is one that real processes cannot be made to follow."""
    given = case.get("Answers", {})
    answers = {path: answer_of(entries) for path, entries in given.items()}
    if None in answers.values():
        return None
    later = {path for path, entries in given.items() if "AfterSeconds" in entries}
    workflow = yaml.safe_load(text)
    acts = [act_of(entry) for entry in case.get("Operator", ())]
    steps, signals = dict(walk(workflow["Steps"])), []
    answered = {without_items(act.step) for act in acts}
    for signal in case.get("Signals", ()):
        step, groups = steps[without_items(signal["Step"])], signal.get("Groups", [])
        late = signal.get("AtSeconds", 0) >= step.get("TimeoutSeconds", float("inf"))
        if not late and step["Await"].get("From") in (None, *groups):
            answered.add(without_items(signal["Step"]))
        signals.append(Signal(signal["Step"], signal["Payload"], signal.get("By", ""), groups,
                              signal.get("Id", ""), bool(later), late))
    signals.sort(key=lambda signal: signal.late)
    workflow["Name"] = f"{flow}-{number}"
    silent = {without_items(path) for path, answer in answers.items() if answer.silent}
    silent |= {without_items(signal.step) for signal in signals if not signal.late}
    hasten(workflow, agents, answered, silent)
    if case["Expect"].get("State") == "Error":
        workflow["TimeoutSeconds"] = ORDER_SECONDS
    return Case(workflow["Name"], case["Name"], case.get("Input"), workflow, answers, signals,
                acts, later, case["Expect"])


def read_cases(agents):
    cases, not_run = [], set()
    for file in sorted(FOLDER.glob("*.test.yaml")):
        tests = yaml.safe_load(file.read_text(encoding="utf-8"))
        text = (FOLDER / tests["Workflow"]).read_text(encoding="utf-8")
        flow = file.name.split(".")[0]
        for number, case in enumerate(tests["Cases"], 1):
            found = case_of(flow, number, case, text, agents)
            if found is None:
                not_run.add((flow, case["Name"]))
            else:
                cases.append(found)
    assert not_run == set(NOT_RUN), f"cases that are not run: {not_run}"
    return cases
