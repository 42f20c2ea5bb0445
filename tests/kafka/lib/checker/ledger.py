# SPDX-License-Identifier: Apache-2.0
"""The ledgers of simulated remote services against the log. The format is that of
`tests/lib/sim_ledger.h`: one JSON line for each call that reached the service."""

import json

from .log import Findings, partition_of


def read_ledger(text):
    """The calls. A line that a crash cut off does not count."""
    calls = []
    for line in text.splitlines():
        try:
            calls.append(json.loads(line))
        except ValueError:
            continue
    return calls


def name_of(request):
    """(order, step, direction, attempt) of "order/step/direction/attempt"."""
    order, step, direction, attempt = request.rsplit("/", 3)
    return order, step, direction, int(attempt)


def check_ledger(checkers, calls, agents):
    """I11 and I16. `agents`: those whose services write this ledger."""
    findings = Findings()
    attempts = {name: attempt for checker in checkers.values()
                for name, attempt in checker.attempts.items()}
    again = {key for checker in checkers.values() for key, count in checker.acceptances.items()
             if count > 1}  # an id that was accepted again after its order had expired
    applied = {}  # key -> "do" or "undo", whichever came last
    def is_checked(key):
        """Not of a trimmed partition: what began its calls may be gone."""
        return key not in again and checkers[partition_of(key, len(checkers))].start == 0

    for call in calls:
        name = name_of(call["request"])
        if is_checked(name[0]):
            check_call(findings, call, attempts.get(name), applied)
    for name, attempt in attempts.items():
        if attempt.outcome != "Succeeded" or attempt.agent not in agents or not is_checked(name[0]):
            continue
        if name[2] not in applied.get(attempt.do_key, ()):
            findings.add("I11", "/".join(map(str, name)), "succeeded, but nothing was applied")
    for checker in checkers.values():
        for order in checker.orders.values():
            if is_checked(order.key):
                check_balance(findings, order, applied, agents)
    return findings


def check_call(findings, call, attempt, applied):
    request, key, direction = call["request"], call["key"], call["direction"]
    if attempt is None:
        findings.add("I11", request, "no admitted StepStarted explains the call")
        return
    if key != attempt.do_key:
        findings.add("I11", request, f"called with the key {key}, not {attempt.do_key}")
    if call["sent"] > attempt.complete_by:
        findings.add("I11", request, f"called {call['sent'] - attempt.complete_by} ms after its "
                                     "complete_by")
    if not call["applied"]:
        return
    before = applied.setdefault(key, [])
    if direction in before:
        findings.add("I11", request, f"{key}: {direction} was applied twice")
    if direction == "do" and "undo" in before:
        findings.add("I11", request, f"{key}: was done after its undo")
    before.append(direction)


def check_balance(findings, order, applied, agents):
    """I16: a Processed order keeps each step's operation once; a Compensated one keeps none that
    can be undone."""
    if order.workflow is None or order.state not in ("Processed", "Compensated"):
        return
    for name, plan in order.workflow.steps.items():
        step = order.step(name)
        if step.agent not in agents or step.by_hand:
            continue
        kept = sum(applied.get(f"{order.key}/{name}/do/{generation}", [""])[-1] == "do"
                   for generation in range(step.generations["do"] + 1))
        if order.state == "Processed" and kept != (step.state != "Skipped"):
            findings.add("I16", f"{order.key}/{name}", f"Processed, and {kept} operations remain")
        if order.state == "Compensated" and "undo" in plan.ways and kept != 0:
            findings.add("I16", f"{order.key}/{name}", f"Compensated, but {kept} remains")
