# SPDX-License-Identifier: Apache-2.0
"""Logs for test_checker.py of sub-orders: "o" with the step W, which is an order for each
item of a list, and then B. All on one partition."""

from checker_stories import *  # noqa: F403
from checker.suborders import check_messages, check_trees

HOUR, WHOLE = 3600000, 366 * 24 * 3600000
T = NOW + 20  # of every Decision here
BODY = {"Name": "tree/W", "Version": 1, "Steps": [
    {"Name": "A", "Agent": "one", "TimeoutSeconds": 0.1,
     "Compensate": {"Action": "UndoA", "TimeoutSeconds": 0.2}}]}
B = {"Name": "B", "Agent": "one", "TimeoutSeconds": 0.1}
W = {"Name": "W", "ForEach": {"Items": [0, 1]}, "Steps": BODY["Steps"]}
TREE = {"Name": "tree", "Version": 1, "Steps": [W, B]}
KEPT = {"Name": "kept", "Version": 1, "Steps": [{**W, "Pivot": True}]}
KNOWN = deploy(TREE, KEPT)


def child(item, generation=0, **more):
    return {"order_id": "o", "accepted_offset": 1, "step": "W", "item": item,
            "generation": generation, "root": "o", "depth": 1, "quota": 9, **more}


def split(attempt=1, generation=0, of="tree", **more):
    return of_step("SubordersStarted", "W", attempt, **{
        "generation": generation, "workflow": of + "/W", "workflow_version": 1, "count": 2,
        "items": "[0,1]" if attempt == 1 else "", "times_out_at": T + WHOLE, "quota": 9, **more})


def submits(*items, attempt=1, generation=0, until=T + HOUR, error=""):
    return of_step("SubordersSubmitted", "W", attempt, generation=generation, complete_by=until,
                   items=[{"item": item, "error_name": error} for item in items])


def asks(attempt=1, generation=0, until=T + HOUR):
    return of_step("SubordersAsked", "W", attempt, generation=generation, complete_by=until)


def recalls(direction="do", attempt=1, generation=0):
    return of_step("SubordersRecalled", "W", attempt, direction, generation=generation,
                   complete_by=T + HOUR)


def ended(item, outcome, generation=0, **more):
    return {"_type": "SuborderEnded", "step": "W", "item": item, "generation": generation,
            "outcome": outcome, "undo_failed": False, **more}


def held(until=T + HOUR):
    return {"_type": "OrderHeld", "complete_by": until}


def born(number, generation=0, state="Processing", *events, key=None, **parent):
    """A sub-order begins."""
    key = key or f"o~W~{number}" + (f"~~{generation}" if generation else "")
    first, second = begun(BODY)
    first["details"].update(workflow="tree/W", parent=child(number, generation, **parent))
    return (key, state, first, second, started("A", at=T), *events)


def family(*told):
    """The records of a log: (key, state, events ...) each."""
    versions, found = {}, [claim()]
    for number, (key, state, *events) in enumerate(told):
        if events[0]["_type"] == "OrderAccepted":
            versions[key] = 0
        changes = any(event["_type"] not in checker.orders.UNCHANGED for event in events)
        versions[key] = versions.get(key, 0) + changes
        found.append(decided(number + 1, number, number, versions[key], state, *events, key=key))
    return found


def trees(*told, messages=(), at_rest=True):
    """The findings in it."""
    checkers = checker.fold(family(*told), 1, KNOWN)
    findings = checker.Findings(checkers[0].findings)
    check_trees(checkers, findings, at_rest)
    check_messages(checkers, messages, findings)
    return findings


BEGUN = ("o", "Processing", *begun(TREE), split(), submits(0, 1))
HELD = [(f"o~W~{number}", "Held", succeeded("A"), held()) for number in (0, 1)]
DONE = [("o", "Processing", ended(0, "held")),
        ("o", "Processing", ended(1, "held"), succeeded("W"), started("B", at=T))]
ALL_HELD = [BEGUN, born(0), born(1), *HELD, *DONE]
KEPT_BOTH = [(f"o~W~{number}", "Processed", mark("OrderProcessed")) for number in (0, 1)]
PROCESSED_BOTH = [*ALL_HELD, ("o", "Processed", succeeded("B"), PROCESSED), *KEPT_BOTH]


def undoes(number):
    return (f"o~W~{number}", "Compensating", mark("CompensationStarted"), undo("A", T))


def gone(number):
    return (f"o~W~{number}", "Compensated", *undone("A"), COMPENSATED)


def fails(number):
    return (f"o~W~{number}", "Compensated", failed("A"), exhausted("A"),
            mark("CompensationStarted"), skipped("A", 1), COMPENSATED)


UNDONE_IN_TURN = [
    *ALL_HELD, ("o", "Compensating", failed("B"), exhausted("B"), mark("CompensationStarted"),
                skipped("B", 1), recalls("undo")),
    undoes(0), undoes(1), gone(0), ("o", "Compensating", ended(0, "failed")), gone(1),
    ("o", "Compensated", ended(1, "failed"), *undone("W"), COMPENSATED)]
FAILS = [BEGUN, born(0), born(1), HELD[0], ("o", "Processing", ended(0, "held")), fails(1),
         ("o", "Processing", ended(1, "failed"), recalls())]
W_FAILS = (failed("W"), exhausted("W"), mark("CompensationStarted"), skipped("W", 1), skipped("B"),
           COMPENSATED)
RECALLED = [*FAILS, undoes(0), gone(0), ("o", "Compensated", ended(0, "failed"), *W_FAILS)]
AT_THE_PIVOT = [("o", "Processing", *begun(KEPT), split(of="kept"), submits(0, 1)),
                ("o", "Processing", ended(0, "refused"))]
AGAIN = [
    *AT_THE_PIVOT, born(1), HELD[1],
    ("o", "Error", ended(1, "held"), failed("W", effect="applied"), exhausted("W"), *FAILED),
    ("o", "Processing", resubmitted("W", generation=1), mark("OrderResumed"), mark("AlertClosed"),
     split(2, 1, "kept"), submits(0, attempt=2, generation=1)),
    born(0, 1), ("o~W~0~~1", "Held", succeeded("A"), held()),
    ("o", "Processed", ended(0, "held", 1), succeeded("W", 2), PROCESSED), KEPT_BOTH[1],
    ("o~W~0~~1", "Processed", PROCESSED)]
ALONE = [born(0, order_id="p"), HELD[0], ("o~W~0", "Held", {
    "_type": "OrderDeadlineSet", "complete_by": T + HOUR, "margin_ms": 0, "by": "supervisor-1"}),
         ("o~W~0", "Held", mark("AlertRaised"))]


def message(kind, **value):
    return sent(kind, 0, "commands", **{"order_id": "o~W~0", **value})


MESSAGES = [message("SubmitOrder", parent=child(0)), message("SubmitOrder", order_id="x"),
            message("SettleSuborder", parent=child(1), how="undo"),
            message("ReportSuborder", **{**child(0), "outcome": "held"})]

GOOD_TREES = {
    "sub-orders are held and kept": PROCESSED_BOTH,
    "sub-orders are asked, and undone at their step's turn": [
        BEGUN, ("o", "Processing", asks()), *UNDONE_IN_TURN[1:]],
    "a sub-order fails, and the other one is recalled": RECALLED,
    "at the pivot an item fails, and is done again": AGAIN,
    "a held order whose parent there is not": ALONE,
}


def other(told, number, *events, state=None):
    """The log up to that Decision, which has other events."""
    key, was, *_ = told[number]
    return lambda: trees(*told[:number], (key, state or was, *events), at_rest=False)


TREE_BUGS = {
    "sub-orders as a later attempt": ("I5: as attempt 2 after 0", other(
        [BEGUN], 0, *begun(TREE), split(2))),
    "sub-orders begin again while they run": ("I5: begin while the attempt before", other(
        [BEGUN, BEGUN], 1, split(2))),
    "sub-orders of another generation": ("I11: sub-orders of generation 1", other(
        [BEGUN], 0, *begun(TREE), split(generation=1))),
    "sub-orders of another workflow": ("I4: its sub-orders are of other/W", other(
        [BEGUN], 0, *begun(TREE), split(of="other"))),
    "sub-orders that take too long": ("I8: times_out_at is not", other(
        [BEGUN], 0, *begun(TREE), split(times_out_at=T))),
    "another number of items": ("I19: has 3 items, had 2", other(
        AGAIN, 5, resubmitted("W", generation=1), mark("OrderResumed"), mark("AlertClosed"),
        split(2, 1, "kept", count=3))),
    "more than the quota": ("I27: may have 20002 sub-orders", other(
        [BEGUN], 0, *begun(TREE), split(quota=10000))),
    "items of a step that does not run": ("I6: and no sub-orders run", other(
        [BEGUN], 0, *begun(TREE), submits(0))),
    "items of another generation": ("I26: of generation 1, not 0", other(
        [BEGUN], 0, *begun(TREE), split(), submits(0, generation=1))),
    "items that are never asked": ("I25: and is never asked again", other(
        [BEGUN], 0, *begun(TREE), split(), submits(0, until=0))),
    "an item that is recalled begins": ("I3: although nothing may start", lambda: trees(
        ("o", "Processing", *begun(TREE), split(), submits(0)), ("o", "Processing", recalls()),
        ("o", "Processing", submits(1)), at_rest=False)),
    "an item is submitted twice": ("I19: is submitted, but is submitted", other(
        [BEGUN], 0, *begun(TREE), split(), submits(0, 0))),
    "nothing is left to ask": ("I25: all have answered", lambda: trees(
        ("o", "Processing", *begun(TREE), split(), asks()), at_rest=False)),
    "sub-orders of the pivot are recalled": ("I9: is recalled behind the pivot", other(
        AT_THE_PIVOT, 1, recalls())),
    "an item that was not submitted ends": ("I20: ends, and was not to", lambda: trees(
        ("o", "Processing", *begun(TREE), split(), submits(0)),
        ("o", "Processing", ended(1, "final")), at_rest=False)),
    "an item ends in another generation": ("I20: ends in generation 1", other(
        AT_THE_PIVOT, 1, ended(0, "held", 1))),
    "a step ends before its items": ("I6: 1 of its orders have not answered", other(
        ALL_HELD, 5, ended(0, "held"), succeeded("W"))),
    "a step fails before its items": ("I6: 1 of its orders have not answered", other(
        RECALLED, -1, *W_FAILS, state="Compensated")),
    "a root is held": ("I3: is held without a parent", lambda: trees(
        ("o", "Held", *begun(BODY), started("A", at=T), succeeded("A"), held()))),
    "an order is held before its steps are finished": ("I1: is held, but ['A']", other(
        ALL_HELD, 3, held())),
    "a held order never reports again": ("I25: does not report again", other(
        ALL_HELD, 3, succeeded("A"), held(0))),
    "a held order without a parent or an alert": ("I21: has no parent any more", lambda: trees(
        *ALONE[:2])),
    "an order that its parent has not submitted": ("I19: o has not submitted it", lambda: trees(
        BEGUN, born(0, 1))),
    "a parent ends before its sub-orders": ("I21: is Held, and its parent Processed", lambda: trees(
        *PROCESSED_BOTH[:-1])),
    "a parent keeps what was undone": ("I20: and its parent has the item as held", lambda: trees(
        *PROCESSED_BOTH[:-2], undoes(0), gone(0), PROCESSED_BOTH[-1])),
    "a parent forgets what was kept": ("I20: and its parent has the item as failed", lambda: trees(
        *RECALLED[:-3], KEPT_BOTH[0], RECALLED[-1])),
    "an item that was never an order": ("I19: never was an order", lambda: trees(
        BEGUN, *DONE, at_rest=False)),
    "a submission of no Decision": ("I26: which no Decision has submitted", lambda: trees(
        *ALL_HELD, messages=[message("SubmitOrder", parent=child(2))], at_rest=False)),
    "a report of no sub-order": ("I26: of no sub-order", lambda: trees(
        *ALL_HELD, messages=[message("ReportSuborder", **child(0, 7))], at_rest=False)),
}
