# SPDX-License-Identifier: Apache-2.0
"""Checks the records of a cluster's topics against the rules of reeve, sharing no code with it.

    findings = check(cluster)                  # a test expects []
    findings = check(cluster, at_rest=False)   # while orders are in progress

It follows the protocol (which Decisions count), the pattern (what an order may do) and the
workflows, not the engine's source. Each finding begins with the rule that was broken.
"""

from .effects import (check_alerts, check_letters, check_prompt, check_requests, check_statuses,
                      check_submissions, missing_alerts, missing_letters, missing_statuses)
from .ledger import check_ledger, read_ledger
from .log import Checker, Findings, fold, murmur2, partition_of
from .orders import ENDED
from .signals import check_signals
from .suborders import check_messages, check_trees
from .workflow import Workflow, read_workflows

__all__ = ["ENDED", "Checker", "Findings", "Workflow", "check", "check_ledger", "check_prompt",
           "fold", "missing", "murmur2", "partition_of", "read_ledger", "read_workflows"]


def folded(cluster):
    """Checkers by partition, which know the cluster's workflows."""
    return fold(cluster.read_topic("events"), cluster.partitions,
                read_workflows(cluster.read_topic("workflows")))


def of_type(records, kind):
    return [record for record in records if record.type == kind]


def check_commands(checkers, records, at_rest):
    """I12: each command is decided once, and is the one that the Decision names."""
    commands = {(r.partition, r.offset): r.timestamp_ms for r in records}
    for number, checker in checkers.items():
        for offset, time in checker.consumed.items():
            if commands.get((number, offset), time) != time:
                checker.find("I12", offset, "command_time differs from the time of that record")
        missing_commands = [o for (p, o) in commands if p == number
                            and o >= checker.first_command and o not in checker.consumed]
        if at_rest and not checker.reset and missing_commands:
            checker.find("I12", -1, f"commands never decided: {missing_commands[:5]}")


def missing(cluster, replies=(), checkers=None):
    """What the log implies and is not there yet: statuses, alerts and dead letters."""
    checkers = checkers or folded(cluster)
    findings = missing_alerts(checkers, of_type(cluster.read_topic("alerts"), "OperatorAlert"))
    findings += missing_letters(checkers, cluster.read_topic("dead-letters"),
                                cluster.topic("commands"))
    for topic in replies:
        findings += missing_statuses(checkers, cluster.topic(topic),
                                     of_type(cluster.read_topic(topic), "StatusUpdate"))
    return findings


def check(cluster, at_rest=True, effects=(), replies=(), agents=()):
    """All findings. `effects`: request topics whose records must be explained; `replies`: reply
    topics, on which no status may be missing at rest; `agents`: simulated ones, whose calls are in
    the cluster's ledger."""
    checkers = folded(cluster)
    commands = cluster.read_topic("commands")
    check_commands(checkers, commands, at_rest)
    findings = Findings()
    check_trees(checkers, findings, at_rest)
    check_messages(checkers, commands, findings)
    check_signals(checkers, commands, findings)
    for checker in checkers.values():
        if at_rest:
            checker.at_rest()
        findings += checker.findings
    for topic in effects:
        findings += check_requests(checkers, of_type(cluster.read_topic(topic), "StepRequest"))
    for topic in replies:
        findings += check_statuses(checkers, cluster.topic(topic),
                                   of_type(cluster.read_topic(topic), "StatusUpdate"))
    findings += check_alerts(checkers, of_type(cluster.read_topic("alerts"), "OperatorAlert"))
    letters = cluster.read_topic("dead-letters")
    findings += check_letters(checkers, letters, cluster.topic("commands"))
    if at_rest:
        findings += missing(cluster, replies, checkers)
    whole = all(checker.start == 0 for checker in checkers.values())
    if at_rest and whole and not any(checker.reset for checker in checkers.values()):
        findings += check_submissions(checkers, cluster.read_topic("submissions"), letters)
    if agents:
        calls = cluster.ledger.read_text(encoding="utf-8") if cluster.ledger.exists() else ""
        findings += check_ledger(checkers, read_ledger(calls), agents)
    return findings
