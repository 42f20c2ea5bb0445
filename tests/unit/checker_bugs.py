# SPDX-License-Identifier: Apache-2.0
"""One planted bug, at least, for each rule of the checker: what has to be found, and where."""

from checker_stories import *  # noqa: F403
from checker.signals import check_signals
from checker_trees import TREE_BUGS

HEIR = at(15, "Compensating", *UNDOING)
ASKED_MANAGERS = [
    at(0, "Processing", *begun(AWAITS), started("S")),
    at(3, "Processing", succeeded("S"), awaiting("W", NOW + 53, "managers"))]
RETRIED = [START, at(10, "Processing", failed("A", error="Busy"), retry("A", NOW + 20, 0))]
PAUSED = [*FORWARD, HEIR, at(20, "Compensating", failed("B"), skipped("B", 1),
                             undo("A", NOW + 20))]
BOTH_DONE = [BOTH, at(10, "Processing", succeeded("B")),
             at(20, "Processing", succeeded("A"), started("C", at=NOW + 20)),
             at(30, "Compensating", *UNDOING)]


def log(*told):
    """The findings in this log, when it is read."""
    return lambda: story(*told)


def last(*told, **fields):
    """The same with other fields of the last Decision."""
    time, state, events, more = told[-1]
    return lambda: story(*told[:-1], (time, state, events, {**more, **fields}))


def records(*told):
    return lambda: of_log(*told).findings


def foreign_key():
    """The order's key belongs to another of two partitions."""
    other = 1 - checker.partition_of("o", 2)
    return checker.Checker(other, 2), [claim(count=2), *decisions(START)[1:]]


def on_another_partition():
    reader, log_records = foreign_key()
    for found in log_records:
        reader.record(found)
    return reader.findings


def of_commands(**times):
    """check_commands() for a log of START and the commands at these offsets."""
    checkers = folded(START)
    checker.check_commands(checkers, [
        types.SimpleNamespace(partition=0, offset=int(name[1:]), timestamp_ms=time)
        for name, time in times.items()], True)
    return checkers[0].findings


def at_rest(*told):
    def findings():
        reader = folded(*told)[0]
        reader.at_rest()
        return reader.findings
    return findings


def changed(values, number, **fields):
    """The records with other fields in one of them."""
    copies = [types.SimpleNamespace(**vars(value)) for value in values]
    copies[number].value = {**copies[number].value, **fields}
    return copies


LOG = {
    "a Decision under another key's partition": ("I2: belongs to partition", on_another_partition),
    "a version is left out": ("I2: version 3 follows 1", last(*FORWARD, order_version=3)),
    "a refusal counts as a version": ("I2: version 2 follows 1", last(
        START, at(5, "Processing", rejected()), order_version=2)),
    "a Claim of another number of partitions": ("I2: a Claim states", records(claim(count=2))),
    "a nameless Claim": ("I18: a Claim", records(claim(instance=""))),
    "a Continuation of another position": ("I14: a Continuation", records(
        claim(), continuation(1, 0, 3))),
    "a trim of what is not written": ("I14: which is not before it", records(
        claim(), continuation(1, 0, 0, trimmed=1))),
    "a trim past a statement": ("I14: o was last stated at 1", records(
        *decisions(*FORWARD), continuation(3, 2, 2, NOW + 10, trimmed=2))),
    "an order that does not exist is restated": ("I14: p is restated, and does not exist", records(
        *decisions(*FORWARD), statement(3, 2, key="p"))),
    "an order is restated in another version": ("I14: restated with version 3, was 2", records(
        *decisions(*FORWARD), statement(3, 2, 3))),
    "a step is restated in another state": ("I14: o/B is restated with state Pending", records(
        *decisions(*FORWARD), statement(3, 2, steps=[
            HALF_ROWS[0], {**HALF_ROWS[1], "state": "Pending"}]))),
    "an output of a step that is not Processed": ("I29: is restated with an output", records(
        *decisions(*FORWARD), statement(3, 2, steps=[
            HALF_ROWS[0], {**HALF_ROWS[1], "output": "1"}]))),
    "a change of an order that was never stated": ("I3: begins with StepSucceeded", records(
        continuation(5, 3, 7, NOW + 9), continuation(6, 4, 7, NOW + 9, trimmed=5),
        decided(7, 5, 7, 2, "Processing", succeeded("A")))),
    "a nameless Reset": ("I18: a Reset", records(claim(), reset(1, 1, by=""))),
    "a command in the log": ("I12: a ReportStep in the log", records(record("ReportStep", 0))),
    "a command is passed over": ("I12: the next one was 1", last(*FORWARD, command_offset=2)),
    "a command is another one": ("I12: command_time differs", lambda: of_commands(_0=NOW + 1)),
    "a command is never decided": ("I12: never decided", lambda: of_commands(_0=NOW, _1=NOW)),
    "time goes back": ("I8: goes backwards", last(*FORWARD, decided_at=NOW - 1)),
    "an effect before its Decision": ("I13: emitted through", last(*FORWARD, emitted_through=2)),
    "a change with a refusal": ("I3: a change and a refusal", log(
        START, at(5, "Processing", succeeded("A"), rejected()))),
    "a nameless refusal": ("I18: without a reason", log(START, at(5, "Processing", rejected("")))),
    "a report that counts is ignored": ("I7: a report of the attempt that runs", log(
        START, at(5, "Processing", ignored("A", 1)))),
    "an order out of nothing": ("I3: begins with OrderStarted", log(
        at(0, "Processing", mark("OrderStarted")))),
    "an order changes after its end": ("I1: ended Processed", log(
        START, ONE_DONE, TWO_DONE, at(30, "Processing", mark("OrderResumed")))),
    "a state that no event explains": ("I3: order_state is Error", log(
        START, at(5, "Error", succeeded("A"), started("B", at=NOW + 5)))),
    "Error without an alert": ("I1: with alert open", log(
        PIVOT_START, at(15, "Error", failed("A", error="Fraud"), exhausted("A"), FAILED[0]))),
    "an order expires before its end": ("I1: o expires, and did not end then", log(
        START, expiry(30, 20))),
    "an order expires that ended later": ("I1: o expires, and did not end then", log(
        START, ONE_DONE, TWO_DONE, expiry(30, 19))),
    "an order expires that has a later id": ("I1: n expires, and did not end then", log(
        START, ONE_DONE, TWO_DONE, expiry(30, 20, order_id="n"))),
    "orders expire before they can have ended": ("I1: orders expire before they end", log(
        START, ONE_DONE, TWO_DONE, expiry(30, 31))),
    "an Expiry from the past": ("I8: decided_at goes backwards", log(
        START, ONE_DONE, TWO_DONE, expiry(19, 20))),
    "an order never ends": ("L1: is Processing", at_rest(WAITING)),
    "an attempt never ends": ("I6: still runs", at_rest(START)),
}

ATTEMPTS = {
    "an attempt is left out": ("I5: attempt 2 after 0", log(
        WAITING, at(1, "Processing", started("A", 2, NOW + 1, reason="x")))),
    "two attempts at once": ("I5: while the attempt before runs", log(
        START, at(5, "Processing", started("A", 2, NOW + 5)))),
    "another agent repeats what may be applied": ("I11: may have applied it", log(
        START, at(110, "Processing", timed_out("A"), retry("A", NOW + 120, 2)),
        at(120, "Processing", started("A", 2, NOW + 120, agent="two")))),
    "a new key for the same attempt": ("I11: starts with generation 1", log(
        at(0, "Processing", *begun(), started("A", generation=1)))),
    "a queued step starts without a reason": ("I18: without a routing reason", log(
        WAITING, at(1, "Processing", started("A", at=NOW + 1)))),
    "a wait is cut short": ("I10: starts before its wait", log(
        *RETRIED, at(19, "Processing", started("A", 2, NOW + 19)))),
    "a step starts in Error": ("I9: do starts while the order is Error", log(
        *IN_ERROR, at(20, "Error", started("B", at=NOW + 20)))),
    "a step starts after compensation began": ("I9: do starts while the order is Compens", log(
        *FORWARD, HEIR, at(16, "Compensating", failed("B", error="x"), skipped("B"),
                           started("B", 2, at=NOW + 16)))),
    "a step starts again after its end": ("I10: starts, but is Processed", log(
        *FORWARD, at(15, "Processing", started("A", 2, at=NOW + 15)))),
    "a step is undone twice": ("I9: undo starts again", log(
        *PAUSED, at(30, "Compensating", *undone("A"), undo("A", NOW + 30, 2)))),
    "a step starts before its predecessor": ("I4: starts before ['A']", log(
        at(0, "Processing", *begun(), started("A"), started("B")))),
    "a step is undone that has no Compensate": ("I9: has no Compensate", log(
        *BEHIND[:1], at(10, "Compensating", succeeded("A"), *UNDOING, skipped("B"),
                        undo("A", NOW + 10)))),
    "a step of another workflow": ("I4: is not a step", log(
        START, at(10, "Processing", succeeded("A"), started("B", at=NOW + 10), started("Z")))),
    "a step goes to a foreign agent": ("I4: goes to two", log(
        START, at(10, "Processing", succeeded("A"), started("B", at=NOW + 10, agent="two")))),
    "another action": ("I4: asks for UndoA", log(
        at(0, "Processing", *begun(), started("A", action="UndoA")))),
    "another timeout": ("I8: is not TimeoutSeconds", log(
        at(0, "Processing", *begun(), started("A", at=NOW + 1)))),
    "queued as the wrong attempt": ("I5: queued after attempt 1", log(
        at(0, "Processing", *begun(), queued("A", 1)))),
    "queued while it runs": ("I5: queued while it runs", log(
        START, at(1, "Processing", queued("A", 1, since=NOW + 1)))),
    "an undo of nothing is queued": ("I9: there is nothing to undo", log(
        WAITING, at(20, "Compensating", *UNDOING, skipped("B"), queued("A", 0, "undo", NOW + 20)))),
    "the place in the queue is lost": ("I3: queued_at", log(
        WAITING, at(9, "Processing", queued("A", since=NOW + 9)))),
    "queued until the past": ("I10: until a time in the past", log(
        at(0, "Processing", *begun(), queued("A", retry_at=NOW)))),
    "queued before its wait is over": ("I10: queued before", log(
        *RETRIED, at(19, "Processing", queued("A", 1, since=NOW + 19)))),
    "queued without a reason": ("I18: queued without", log(
        at(0, "Processing", *begun(), queued("A", reason="")))),
    "an ended attempt is extended": ("I7: extended but not running", log(
        *FORWARD, at(20, "Processing", extended("A", 1, NOW + 900)))),
    "another attempt is extended": ("I7: attempt 2 is extended", log(
        START, at(1, "Processing", extended("A", 2, NOW + 900)))),
    "an extension to an earlier time": ("I3: to an earlier time", log(
        START, at(1, "Processing", extended("A", 1, NOW + 100)))),
    "an extension of another action": ("I11: extended as other", log(
        START, at(1, "Processing", extended("A", 1, NOW + 900, "other")))),
    "an extension without end": ("I8: beyond MaxExtensionSeconds", log(
        START, at(1, "Processing", extended("A", 1, NOW + 1101)))),
    "a second outcome": ("I6: Failed of attempt 1", log(
        *FORWARD, at(15, "Processing", failed("A"), retry("A", NOW + 20)))),
    "the outcome of another attempt": ("I6: Succeeded of attempt 2", log(
        START, at(10, "Processing", succeeded("A", 2), started("B", at=NOW + 10)))),
    "an outcome of another order": ("I6: which is not running", log(
        START, ONE_DONE, TWO_DONE, EXPIRED, at(31, "Processed", succeeded("B"), PROCESSED))),
    "an undo that does not count": ("I3: undone, but not Compensated", log(
        *PAUSED, at(30, "Compensating", undone("A")[0]))),
    "a timeout in the last millisecond": ("I8: timed out 1 ms too early", log(
        START, at(109, "Processing", timed_out("A"), retry("A", NOW + 120, 2)))),
    "a timeout before the extension is over": ("I8: too early", log(
        START, at(20, "Processing", extended("A", 1, NOW + 900)),
        at(110, "Processing", timed_out("A"), retry("A", NOW + 120, 2)))),
}

FAILURES = {
    "a failure is not counted": ("I10: failure_count 1, counted 2", log(
        *RETRIED, at(20, "Processing", started("A", 2, NOW + 20)),
        at(30, "Processing", failed("A", 2), retry("A", NOW + 40, attempt=2)))),
    "an unknown effect is forgotten": ("I9: an effect was forgotten: none", log(
        START, at(110, "Processing", timed_out("A"), retry("A", NOW + 120, 2)),
        at(120, "Processing", started("A", 2, NOW + 120)),
        at(130, "Processing", failed("A", 2, count=2), retry("A", NOW + 140, attempt=2)))),
    "a retry after compensation began": ("I9: StepRetryScheduled after", log(
        START, at(5, "Compensating", *UNDOING, skipped("B")),
        at(10, "Compensating", failed("A", effect="unknown"), retry("A", NOW + 20)))),
    "nothing follows a failure": ("I10: neither a retry nor the end", log(
        START, at(10, "Processing", failed("A")))),
    "a retry too many": ("I10: the policy says otherwise", log(
        PIVOT_START, at(10, "Processing", failed("A"), retry("A", NOW + 20, 0)))),
    "a retry too few": ("I10: StepExhausted after Declined", log(
        START, at(10, "Compensated", failed("A"), exhausted("A"), mark("CompensationStarted"),
                  skipped("A", 1), skipped("B"), COMPENSATED))),
    "the wrong retrier": ("I10: expected (0, 1)", log(
        START, at(10, "Processing", failed("A", error="Busy"), retry("A", NOW + 20, 1)))),
    "a used retrier is used again": ("I10: expected (1, 1)", log(
        *RETRIED, at(20, "Processing", started("A", 2, NOW + 20)), at(
            30, "Processing", failed("A", 2, "Busy", 2), retry("A", NOW + 40, 0, 2, 2)))),
    "a wait longer than the policy's": ("I10: says at most 20", log(
        START, at(10, "Processing", failed("A"), retry("A", NOW + 31)))),
    "a wait shorter than the policy's": ("I10: waits 8 ms, the policy says 10", log(
        START, at(10, "Processing", failed("A", error="Busy"), retry("A", NOW + 18, 0)))),
    "a wait in the past": ("I10: retry_at lies in the past", log(
        START, at(10, "Processing", failed("A"), retry("A", NOW + 9)))),
    "nothing follows the end": ("I10: CompensationStarted does not follow", log(
        PIVOT_START, at(10, "Processing", failed("A"), exhausted("A")))),
    "a Catch is passed over": ("I10: OrderFailed does not follow", log(
        PIVOT_START, at(10, "Compensated", failed("A", error="Fraud"), exhausted("A"),
                        mark("CompensationStarted"), skipped("A", 1), skipped("B"), COMPENSATED))),
    "a retry of a success": ("I3: a retry of what has not failed", log(
        *FORWARD, at(15, "Processing", retry("A", NOW + 20)))),
    "the end of a success": ("I3: exhausted without a failure", log(
        *FORWARD, at(15, "Processing", exhausted("A")))),
}

UNDOS = {
    "an undo before the forward attempt ended": ("I9: while a forward attempt may run", log(
        *FORWARD, at(15, "Compensating", *UNDOING, undo("A", NOW + 15)))),
    "two undos at once": ("I9: two undos run", log(
        *BOTH_DONE, at(40, "Compensating", failed("C"), skipped("C", 1), undo(
            "A", NOW + 40, workflow="parallel"), undo("B", NOW + 40, workflow="parallel")))),
    "an undo of nothing": ("I9: undone, but nothing was applied", log(
        START, at(10, "Compensating", failed("A"), exhausted("A"), mark("CompensationStarted"),
                  skipped("B"), undo("A", NOW + 10)))),
    "undos in forward order": ("I9: not in reverse order", log(
        *BOTH_DONE, at(40, "Compensating", failed("C"), skipped("C", 1), undo(
            "B", NOW + 40, workflow="parallel")),
        at(50, "Compensating", *undone("B"), undo("A", NOW + 50, workflow="parallel")))),
    "an undo before that of what was started after it": ("I9: not in reverse order", log(
        *FORWARD, at(15, "Compensating", *UNDOING), at(20, "Compensating", failed(
            "B", effect="unknown"), undo("A", NOW + 20)),
        at(30, "Compensating", *undone("A"), undo("B", NOW + 30)))),
    "compensation behind the pivot": ("I9: behind the pivot", log(
        *BEHIND, at(20, "Compensating", *UNDOING))),
    "compensation of a pivot that may be applied": ("I9: behind the pivot", log(
        *BEHIND, at(20, "Compensated", failed("B", effect="unknown"), exhausted("B"),
                    mark("CompensationStarted"), skipped("B", 1), COMPENSATED))),
    "compensation while a step behind a skipped pivot runs": ("I9: behind the pivot", log(
        *PIVOT_SKIPPED, at(30, "Compensating", *UNDOING))),
    "compensation begins twice": ("I3: from Compensating to Compensating", log(
        *FORWARD, HEIR, at(16, "Compensating", *UNDOING))),
    "Compensated by a failure": ("I9: Compensated, but not undone", log(
        *PAUSED, at(30, "Compensated", failed("A", direction="undo"), retry(
            "A", NOW + 40, 0, direction="undo"), undone("A")[1], COMPENSATED))),
    "a step is skipped in a healthy order": ("I22: skipped in Processing", log(
        WAITING, at(5, "Processing", skipped("B")))),
    "a step without a When is skipped because of it": ("I22: skipped in Processing", log(
        at(0, "Processing", *begun(DECIDES), skipped("A", reason="When: false")))),
    "a step is skipped for another When than its own": ("I22: not for its When", log(
        at(0, "Processing", *begun(DECIDES), unstarted("A"), caught("A"), passed("B"),
           skipped("C", reason="When: has(output.B)"), unstarted("D", "No")))),
    "a step is skipped while the order is in Error": ("I22: skipped in Error", log(
        *IN_ERROR, at(20, "Error", skipped("B")))),
    "a step is skipped although its When is true": ("I29: skipped, and A is Processed", log(
        DECIDES_START, at(10, "Processing", succeeded("A"), passed("B"),
                          skipped("C", reason="When: has(output.A)"),
                          queued("D", since=0, retry_at=NOW + 10)))),
    "a step starts although its When is false": ("I29: goes on, and A is Caught", log(
        at(0, "Processing", *begun(DECIDES), unstarted("A"), caught("A"), passed("B"),
           started("C")))),
    "a Set passes although its When is false": ("I29: goes on, and A is Caught", log(
        at(0, "Processing", *begun(ASKS), unstarted("A"), caught("A"), passed("B")))),
    "a retry gets another input": ("I24: of the same generation", log(
        DECIDES_START, *again(input='{"n":2}'))),
    "a step starts without its Input": ("I24: with the input None", log(
        at(0, "Processing", *begun(DECIDES), started("A")))),
    "an input out of nothing": ("I24: its Input says otherwise", log(
        at(0, "Processing", *begun(), started("A", input="1")))),
    "a step is caught that has not failed": ("I3: caught without a failure", log(
        at(0, "Processing", *begun(DECIDES), caught("A")))),
    "a step passes that has an agent": ("I4: passes without a Set", log(
        at(0, "Processing", *begun(), passed("A")))),
    "a step asks another group": ("I28: asks anyone", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(3, "Processing", succeeded("S"), awaiting("W", NOW + 53)))),
    "a step awaits a signal for too long": ("I10: waits until", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(3, "Processing", succeeded("S"), awaiting("W", NOW + 54, "managers")))),
    "an operator passes what a group is to pass": ("I28: ended by hand, but awaits managers", log(
        *ASKED_MANAGERS, at(9, "Processing", completed("W", 0)))),
    "an operator skips what a group is to pass": ("I28: ended by hand, but awaits managers", log(
        *ASKED_MANAGERS, at(9, "Processing", of_step("StepSkippedByHand", "W", 0, by="ann",
                                                     reason="")))),
    "a signal passes two steps": ("I23: passes with", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(2, "Processing", signal("V", "1", True)),
        at(3, "Processing", succeeded("S"), awaiting("W", NOW + 53, "managers")),
        at(6, "Processed", passed("W", "2", "ann"), passed("V", "2", "ann"), PROCESSED))),
    "a second early signal is kept": ("I23: keeps a second signal", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(2, "Processing", signal("V", "1", True)), at(3, "Processing", signal("V", "2", True)))),
    "a step that has a signal awaits one": ("I23: awaits a signal that it has", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(2, "Processing", signal("W", "2", True)),
        at(3, "Processing", succeeded("S"), awaiting("W", NOW + 53, "managers")))),
    "a step gives up before its time is over": ("I8: its time is over at", log(
        *ASKED_MANAGERS, at(52, "Processing", unstarted("W", "States.Timeout"), caught("W"),
                            awaiting("V")))),
    "a signal counts while its order is undone": ("I9: passes while the order is Compensating", log(
        *ASKED_MANAGERS, at(9, "Compensating", *UNDOING, passed("W", "2", "ann")))),
    "a signal is received while its order is undone": ("I9: receives a signal while", log(
        *ASKED_MANAGERS, at(9, "Compensating", *UNDOING, signal("W", "1", False)))),
    "a signal is received by a step that has an agent": ("I4: receives a signal without", log(
        at(0, "Processing", *begun(AWAITS)), at(1, "Processing", signal("S", "1", True)))),
    "a signal is received by a step that has passed": ("I23: receives a signal, but is", log(
        *ASKED_MANAGERS, at(9, "Processing", passed("W", "2", "ann"), awaiting("V")),
        at(10, "Processing", signal("W", "1", False)))),
    "a signal is lost": ("I23: does not keep a signal without an Until", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(1, "Processing", signal("V", "1", False)))),
    "a step that awaits a signal fails of itself": ("I10: Broken of a step that waits", log(
        *ASKED_MANAGERS, at(53, "Processing", unstarted("W", "Broken")))),
    "an Await waits for a moment": ("I4: waits for a signal, or not", log(
        at(0, "Processing", *begun(AWAITS), started("S")),
        at(3, "Processing", succeeded("S"), waiting("W", NOW + 53)))),
    "a step waits that has an agent": ("I4: waits without a Wait", log(
        at(0, "Processing", *begun(), waiting("A", NOW + 9)))),
    "a step waits for what has passed": ("I10: a moment that has passed", log(
        at(0, "Processing", *begun(WAITS), waiting("W", NOW)))),
    "a step waits longer than its Wait says": ("I10: its Wait says 50 to 60", log(
        at(0, "Processing", *begun(WAITS), waiting("W", NOW + 61)))),
    "a step passes before its moment": ("I8: 1 ms before its moment", log(
        UNTIL_LATER, at(54, "Processing", passed("W"), waiting("V", NOW + 90)))),
    "a step passes during a pause": ("I3: passes while the order is paused", log(
        UNTIL_LATER, at(9, "Processing", mark("OrderPaused")), at(55, "Processing", passed("W")))),
    "a step passes while its order is undone": ("I9: passes while the order is Compensating", log(
        UNTIL_LATER, at(55, "Compensating", *UNDOING, passed("W")))),
    "a step waits twice": ("I10: waits, but is Waiting", log(
        UNTIL_LATER, at(9, "Processing", waiting("W", NOW + 60)))),
    "a service is asked again under the old key": ("I11: starts with generation 0, not 1", log(
        *ASKED, at(60, "Processing", not_yet("A"), retry("A", NOW + 70, 0)),
        at(70, "Processing", started("A", 2, NOW + 70)))),
    "a service is asked again that has done something": ("I9: its effect is applied", log(
        *ASKED, at(60, "Processing", not_yet("A", effect="applied"), retry("A", NOW + 70, 0)))),
    "a service is asked again without an Until": ("I4: is asked again without an Until", log(
        START, at(10, "Processing", not_yet("A"), retry("A", NOW + 20)))),
    "an agent says that its service is not ready": ("I10: not_yet is False", log(
        *ASKED, at(60, "Processing", failed("A", error="States.NotYet"), retry(
            "A", NOW + 70, 0)))),
    "a service is asked for ever": ("I10: the policy says otherwise", log(
        *ASKED_AGAIN, at(80, "Processing", not_yet("A", 2), retry("A", NOW + 90, 0, 2, 2)),
        at(90, "Processing", started("A", 3, NOW + 90, generation=2)),
        at(95, "Processing", not_yet("A", 3), retry("A", NOW + 99, 1, 1, 3)),
        at(99, "Processing", started("A", 4, NOW + 99, generation=3)),
        at(105, "Processing", not_yet("A", 4), retry("A", NOW + 115, 0, 3, 4)))),
    "what is to be caught ends in Error": ("I10: its Catch says otherwise", log(
        at(0, "Error", *begun(DECIDES), unstarted("A"), exhausted("A", 0), *FAILED))),
    "an expression is tried again": ("I10: the policy says otherwise", log(
        at(0, "Processing", *begun(DECIDES), unstarted("A"), retry("A", NOW + 9, 0, attempt=0)))),
    "what was applied is skipped": ("I9: skipped, but is to be undone", log(
        *FORWARD, at(15, "Compensating", *UNDOING, skipped("A", 1)))),
    "Compensated while a step runs": ("I9: is Compensated while ['B'] run", log(
        *FORWARD, at(15, "Compensated", *UNDOING, COMPENSATED))),
    "an undo is left out": ("I9: ['A'] are not undone", log(
        *FORWARD, HEIR, at(20, "Compensated", failed("B"), skipped("B", 1), COMPENSATED))),
}

ORDERS = {
    "an order is accepted twice": ("I1: is accepted twice", log(
        START, at(5, "Processing", accepted(due=NOW + 5005), succeeded("A"),
                  started("B", at=NOW + 5)))),
    "an unknown workflow": ("I4: is not deployed", log(
        at(0, "Processing", accepted({**TWO, "Name": "other"}), mark("OrderStarted"),
           started("A")))),
    "the steps of another workflow": ("I4: not those of its workflow", log(
        at(0, "Processing", accepted(steps=[{"name": "A"}]), mark("OrderStarted"), started("A")))),
    "another order timeout": ("I8: o: complete_by is not", log(
        at(0, "Processing", accepted(due=NOW + 1), mark("OrderStarted"), started("A")))),
    "an order times out in Error": ("I3: is timed out in Error", log(
        *IN_ERROR, at(9000, "Compensated", mark("OrderTimedOut"), mark("CompensationStarted"),
                      mark("AlertClosed"), skipped("B"), COMPENSATED))),
    "an order times out in the last millisecond": ("I8: o: timed out too early", log(
        WAITING, at(5009, "Compensated", mark("OrderTimedOut"), mark("CompensationStarted"),
                    skipped("A"), skipped("B"), COMPENSATED))),
    "Processed with an open step": ("I1: ['B'] are not", log(
        START, at(10, "Processed", succeeded("A"), PROCESSED))),
    "an order starts twice": ("I3: from Processing to Processing", log(
        at(0, "Processing", *begun(), mark("OrderStarted"), started("A")))),
    "Processed while it is undone": ("I3: from Compensating to Processed", log(
        *FORWARD, HEIR, at(20, "Processed", succeeded("B"), PROCESSED))),
    "Compensated without compensation": ("I3: from Processing to Compensated", log(
        PIVOT_START, at(10, "Compensated", succeeded("A"), COMPENSATED))),
    "an order fails twice": ("I3: from Error to Error", log(
        *IN_ERROR, at(20, "Error", mark("OrderFailed")))),
    "a healthy order is resumed": ("I3: from Processing to None", log(
        START, at(5, "Processing", mark("OrderResumed")))),
    "a nameless resubmission": ("I18: StepResubmitted does not", log(
        *IN_ERROR, at(40, "Processing", *resumed(by="")))),
    "a nameless resumption": ("I18: OrderResumed does not", log(
        *IN_ERROR, at(40, "Processing", resubmitted("A", generation=1), mark(
            "OrderResumed", by=""), mark("AlertClosed"), started("A", 2, NOW + 40,
                                                                 generation=1)))),
    "a nameless cancellation": ("I18: OrderCancelled does not", log(
        WAITING, at(5, "Compensated", mark("OrderCancelled", by=""), mark("CompensationStarted"),
                    skipped("A"), skipped("B"), COMPENSATED))),
    "a healthy step is resubmitted": ("I3: resubmitted in Processing", log(
        START, at(5, "Processing", resubmitted("A")))),
    "a generation is left out": ("I11: generation 2 after 0", log(
        *IN_ERROR, at(40, "Processing", *resumed(generation=2)))),
    "a second alert": ("I1: a second alert", log(*IN_ERROR, at(20, "Error", FAILED[1]))),
    "an alert that is not open": ("I1: that is not open", log(
        START, at(5, "Processing", mark("AlertClosed")))),
}

OUTPUT = at(60, "Compensated", completed("A", direction="undo", output="7"), COMPENSATED)
BY_HAND = {
    "by hand after another attempt": ("I5: by hand after attempt 2", log(
        *IN_ERROR, at(40, "Processing", completed("A", 2), mark("OrderResumed"),
                      mark("AlertClosed"), started("B", at=NOW + 40)))),
    "by hand while it runs": ("I6: ended by hand while an attempt runs", log(
        START, at(5, "Processing", completed("A"), started("B", at=NOW + 5)))),
    "by hand after its end": ("I3: ended by hand, but is Processed", log(
        *FORWARD, at(15, "Processing", completed("A")))),
    "by hand in the wrong direction": ("I9: do ended by hand in Compensating", log(
        *UNDO_WAITS, at(40, "Compensating", completed("C", 0)))),
    "by hand before its turn": ("I4: ended by hand before ['A']", log(
        WAITING, at(5, "Processing", completed("B", 0)))),
    "a nameless completion": ("I18: StepCompletedByHand does not", log(
        *IN_ERROR, at(40, "Processing", completed("A", by=""), mark("OrderResumed"),
                      mark("AlertClosed"), started("B", at=NOW + 40)))),
    "an undo with an output": ("I3: an undo with an output", log(*UNDO_WAITS, OUTPUT)),
    "an undo is skipped by hand": ("I9: but its effect remains", log(
        *UNDO_WAITS, at(60, "Compensating", skipped_by_hand("A", direction="undo")))),
    "what has failed fails by hand": ("I3: fails by hand, but is in Error", log(
        *IN_ERROR, at(40, "Error", failed_by_hand("A", 1, count=2), exhausted("A")))),
    "a failure by hand is not counted": ("I10: failure_count by hand is 1, counted 2", log(
        *RETRIED, at(15, "Processing", failed_by_hand("A", 1), retry("A", NOW + 20)))),
    "a deadline in the past": ("I8: a new deadline that lies", log(
        *IN_ERROR, at(40, "Processing", completed("A"), mark("OrderResumed"), deadline(NOW + 40),
                      mark("AlertClosed"), started("B", at=NOW + 40)))),
    "a deadline for an undo": ("I3: a new deadline in Compensating", log(
        *UNDO_WAITS, at(40, "Compensating", deadline(NOW + 50)))),
    "paused twice": ("I3: paused twice", log(
        START, at(1, "Processing", mark("OrderPaused")),
        at(2, "Processing", mark("OrderPaused")))),
    "a pause that was none": ("I3: the end of a pause", log(
        START, at(1, "Processing", mark("OrderPauseEnded")))),
    "moved to the version that it has": ("I3: moved to the version", log(
        START, at(1, "Processing", migrated(THREE, from_version=2)))),
    "moved to other steps than those of the version": ("I4: its steps are not those of the", log(
        START, at(1, "Processing", migrated(THREE, steps=[plan_of("A")])))),
    "moved although a step stands elsewhere": ("I4: stands elsewhere", log(
        START, at(1, "Processing", migrated(BARE)))),
    "moved although its undo would be missing": ("I9: is undone in another way", log(
        START, at(1, "Processing", migrated(BARE)))),
    "moved to a version without a started step": ("I4: was started, and the other", log(
        START, at(1, "Processing", migrated(THREE, steps=[plan_of("X")])))),
    "the retries of an equal retrier are forgotten": ("I10: moved with retries {}, not {0: 1}", log(
        *RETRIED, at(20, "Processing", migrated(THREE), started("A", 2, at=NOW + 20)))),
    "moved while it is undone": ("I3: another version in Compensating", log(
        *UNDO_WAITS, at(40, "Compensating", migrated(THREE)))),
    "amended while it goes forward": ("I3: amended in Processing", log(
        START, at(1, "Processing", amended()))),
    "amended while an attempt runs": ("I6: amended while ['B'] run", log(
        AMENDS_START, AMENDS_FAILS, at(20, "Error", amended()))),
    "a step with an effect begins again": ("I9: begins again, but its effect is applied", log(
        AMENDS_START, AMENDS_FAILS, at(20, "Error", succeeded("B")),
        at(30, "Error", amended(("B", 1))))),
    "a step in Error begins again": ("I3: begins again, but is Error after 1", log(
        *AMENDS_WAITS, at(40, "Error", amended(("A", 1), ("B", 1))))),
    "a Set before an effect begins again": ("I4: begins again, and stands before ['B']", log(
        AMENDS_START, AMENDS_FAILS, at(20, "Error", succeeded("B")),
        at(30, "Error", amended(("S", 0))))),
    "a moved step waits under the key of its old input": ("I11: is moved without a new key", log(
        *RETRIED, at(20, "Processing", migrated(THREE)))),
    "another input under the same key": ("I11: begins again with generation 0", log(
        *AMENDS_WAITS, at(40, "Error", amended(("B", 0))))),
    "a step goes on with what was made of the old data": ("I24: waits with what was made", log(
        *AMENDS_WAITS, at(40, "Error", amended()))),
    "a step starts during a pause": ("I3: starts while the order is paused", log(
        START, at(1, "Processing", mark("OrderPaused")), ONE_DONE)),
}

SENT_BUGS = {
    "a request of no Decision": ("I13: explains the request", lambda: sent_findings(
        requests=changed(REQUESTS, 0, decision_offset=2))),
    "a request of another attempt": ("I13: explains the request", lambda: sent_findings(
        requests=changed(REQUESTS, 1, attempt=2))),
    "a request with another deadline": ("I13: complete_by is", lambda: sent_findings(
        requests=changed(REQUESTS, 1, complete_by=NOW))),
    "a request with another key": ("I11: idempotency_key is", lambda: sent_findings(
        requests=changed(REQUESTS, 1, idempotency_key="o/B/do/1"))),
    "a request with what is not in the log yet": ("I13: outputs of", lambda: sent_findings(
        requests=changed(REQUESTS, 2, outputs=[]))),
    "a request with another input": ("I24: input is 1", lambda: sent_findings(
        requests=changed(REQUESTS, 1, input="1"))),
    "a status of no Decision": ("I13: explains the status", lambda: sent_findings(
        statuses=changed(STATUSES, 1, order_version=9))),
    "a status of another state": ("I15: the status says", lambda: sent_findings(
        statuses=changed(STATUSES, 2, order_state="Error"))),
    "a status on a foreign topic": ("I15: implies no status", lambda: effects.check_statuses(
        folded(*SENT), "replies.other", STATUSES)),
    "a repeated status is another one": ("I15: another content", lambda: sent_findings(
        statuses=[*STATUSES, *changed(STATUSES[:1], 0, code="x")])),
    "a status is lost": ("I15: no status for o version 2", lambda: sent_findings(
        statuses=STATUSES[:1] + STATUSES[2:])),
    "an alert of no Decision": ("I13: explains the alert", lambda: alert_findings(
        changed(ALERTS, 0, decided_at=0))),
    "an alert is closed instead of raised": ("I13: is not the Decision's", lambda: alert_findings(
        changed(ALERTS, 0, raised=False))),
    "an alert of another tree": ("I13: o is not in the tree of x", lambda: alert_findings(
        changed(ALERTS, 0, root="x"))),
    "an alert is lost": ("I1: its alert is not there", lambda: alert_findings(ALERTS[:1])),
    "a quarantine without an alert": ("I1: its alert is not there", lambda: effects.missing_alerts(
        folded(at(0, "Pending", dead(quarantined=True), order_id="")), [])),
    "a dead letter without a reason": ("I18: a dead letter without", lambda: sent_findings(
        letters=[*LETTERS, letter(message="")])),
    "a dead letter from nowhere": ("I17: without coordinates", lambda: sent_findings(
        letters=[*LETTERS, letter("replies", partition="")])),
    "a dead letter of a good command": ("I13: explains the dead letter", lambda: sent_findings(
        letters=[*LETTERS, letter(offset=1)])),
    "a dead letter of other bytes": ("I17: not those of the command", lambda: sent_findings(
        letters=[letter(raw=b"other"), *LETTERS[1:]])),
    "a dead letter is lost": ("I17: no dead letter", lambda: sent_findings(letters=LETTERS[1:])),
    "a submission is lost": ("I1: has no outcome", lambda: sent_findings(
        submissions=[*SUBMISSIONS, submission(9, "x")])),
    "a command waits while another partition stalls": ("L5: waited 3 ms", lambda:
                                                       effects.check_prompt(folded(*SENT), 2)),
}

ENDED_WELL = [START, ONE_DONE, TWO_DONE]
LEDGERS = {
    "a call without a request": ("I11: explains the call", lambda: ledger_findings(
        ENDED_WELL, call(), call("B"), call("B", attempt=2))),
    "a call with another key": ("I11: called with the key", lambda: ledger_findings(
        [START], call(generation=1))),
    "a call after its complete_by": ("I11: called 1 ms after", lambda: ledger_findings(
        [START], call(sent_at=101))),
    "applied twice": ("I11: do was applied twice", lambda: ledger_findings(
        [START], call(), call())),
    "done after its undo": ("I11: was done after its undo", lambda: ledger_findings(
        UNDONE, call(direction="undo"), call())),
    "a success that was never applied": ("I11: succeeded, but nothing", lambda: ledger_findings(
        FORWARD, call(applied=False))),
    "a Processed order without its operation": ("I16: 0 operations remain", lambda:
                                                ledger_findings(ENDED_WELL, call())),
    "a Processed order with two operations": ("I16: 2 operations remain", lambda: ledger_findings(
        [*ALERTED, at(50, "Processing", succeeded("A", 2), started("B", at=NOW + 50)),
         at(60, "Processed", succeeded("B"), PROCESSED)],
        call(), call(attempt=2, generation=1, sent_at=41, until=140),
        call("B", sent_at=51, until=150))),
    "a Compensated order keeps something": ("I16: Compensated, but 1", lambda: ledger_findings(
        UNDONE, call())),
}

SIGNALLED = [*ASKED_MANAGERS, at(9, "Processing", passed("W", "2", "ann"), awaiting("V"))]
SIGNALLED_EARLY = [
    at(0, "Processing", *begun(AWAITS), started("S")), at(2, "Processing", signal("W", "2", True)),
    at(3, "Processing", succeeded("S"), passed("W", "2", "ann"), awaiting("V"))]


def signal_findings(told, *commands):
    """`commands`: (offset, type, fields) of those that were sent to order "o"."""
    checkers = folded(*told)
    findings = checker.Findings(checkers[0].findings)
    check_signals(checkers, [sent(kind, offset, "commands", **{"order_id": "o", "step": "W",
                                                               "groups": ["managers"], **more})
                             for offset, kind, more in commands], findings)
    return findings


SIGNALS = {
    "another group passes a step": ("I28: by a signal of ['staff'], not managers", lambda:
                                    signal_findings(SIGNALLED, (2, "SignalOrder", {
                                        "groups": ["staff"]}))),
    "an early signal without a group passes a step": (
        "I28: by a signal of [], not managers", lambda: signal_findings(
            SIGNALLED_EARLY, (1, "SignalOrder", {"groups": []}))),
    "a signal of another step passes a step": (
        "I28: passes without a signal", lambda: signal_findings(
            SIGNALLED, (2, "SignalOrder", {"step": "V"}))),
    "an operator's command passes a step": (
        "I28: passes without a signal", lambda: signal_findings(
            SIGNALLED, (2, "CompleteStep", {}))),
}

BUGS = {**BY_HAND, **LOG, **ATTEMPTS, **FAILURES, **UNDOS, **ORDERS, **SENT_BUGS, **LEDGERS,
        **SIGNALS, **TREE_BUGS}
