# SPDX-License-Identifier: Apache-2.0
"""The cases of examples/cookbook/*.test.yaml for real processes: those in which all services answer
and no operator acts, each with a workflow of its own, made of the cookbook's, in which nothing
takes longer than seconds.

    case = read_cases(("a", "b"))[0]   # their steps are shared out between these two agents
    case.workflow                      # to deploy, under the name case.name
    case.answer("o-1~Load~3", "Store") # of the remote service
"""

import dataclasses
import re
import typing
import zlib

import yaml

from . import paths
from .remote import Answer

FOLDER = paths.ROOT / "examples" / "cookbook"
ANSWERED_SECONDS, IGNORED_SECONDS, CALL_SECONDS = 600, 2, 120
REHEARSED = {"NoAnswer", "Extend", "AfterSeconds"}  # of an answer: what only `reeve test` can do


@dataclasses.dataclass
class Signal:
    step: str  # its path
    payload: typing.Any
    by: str
    groups: list
    id: str
    late: bool  # it comes when its step has timed out


@dataclasses.dataclass
class Case:
    name: str
    title: str
    input: typing.Any  # None: the order has none
    workflow: dict
    answers: dict
    signals: list
    expect: dict

    def is_performed(self, path):
        """Whether a service performs the step."""
        return "Agent" in dict(walk(self.workflow["Steps"]))[without_items(path)]

    def answer(self, order_id, step):
        path = path_of(order_id, step)
        return self.answers.get(path) or self.answers.get(without_items(path)) or Answer()

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
    return "".join(f"~{part}" for part in above), step


# ---- workflows that take seconds ----

def walk(steps, above=""):
    """(path, step) of all steps on all levels; the paths are without items."""
    for step in steps:
        yield above + step["Name"], step
        yield from walk(step.get("Steps", ()), f"{above}{step['Name']}/")


def hasten(workflow, agents, answered):
    """`answered`: paths of the steps that get a signal in time."""
    for path, step in walk(workflow["Steps"]):
        if "Agent" in step:
            step["Agent"] = agents[zlib.crc32(step["Agent"].encode()) % len(agents)]
            step["TimeoutSeconds"] = CALL_SECONDS
            step.pop("MaxExtensionSeconds", None)
        for retrier in step.get("Retry", ()):
            retrier["IntervalSeconds"] = 0.2
        if "Wait" in step:
            step["Wait"] = {"Seconds": 1}
        if "Await" in step:
            step["TimeoutSeconds"] = ANSWERED_SECONDS if path in answered else IGNORED_SECONDS


# ---- cases ----

def answer_of(entries):
    """Of one step. None: it is one that a real service cannot be told to give."""
    entries = entries if isinstance(entries, list) else [entries]
    if any(REHEARSED & set(entry) for entry in entries) or any("Error" in e for e in entries[:-1]):
        return None
    last = entries[-1]
    return Answer(output=last.get("Output"), error=last.get("Error", ""),
                  not_yet=[entry.get("Output") for entry in entries[:-1]])


def case_of(flow, number, case, text, agents):
    """None: an operator acts in it, a service never answers, or it does not end."""
    answers = {path: answer_of(entries) for path, entries in case.get("Answers", {}).items()}
    if case["Expect"].get("State") not in ("Processed", "Compensated") or "Operator" in case or \
            None in answers.values():
        return None
    workflow = yaml.safe_load(text)
    steps, signals, answered = dict(walk(workflow["Steps"])), [], set()
    for signal in case.get("Signals", ()):
        step, groups = steps[without_items(signal["Step"])], signal.get("Groups", [])
        late = signal.get("AtSeconds", 0) >= step.get("TimeoutSeconds", float("inf"))
        if not late and step["Await"].get("From") in (None, *groups):
            answered.add(without_items(signal["Step"]))
        signals.append(Signal(signal["Step"], signal["Payload"], signal.get("By", ""), groups,
                              signal.get("Id", ""), late))
    workflow["Name"] = f"{flow}-{number}"
    hasten(workflow, agents, answered)
    return Case(workflow["Name"], case["Name"], case.get("Input"), workflow, answers, signals,
                case["Expect"])


def read_cases(agents):
    cases = []
    for file in sorted(FOLDER.glob("*.test.yaml")):
        tests = yaml.safe_load(file.read_text(encoding="utf-8"))
        text = (FOLDER / tests["Workflow"]).read_text(encoding="utf-8")
        found = [case_of(file.name.split(".")[0], number, case, text, agents)
                 for number, case in enumerate(tests["Cases"], 1)]
        assert any(found), f"{file}: no case for real processes"
        cases += [case for case in found if case is not None]
    return cases
