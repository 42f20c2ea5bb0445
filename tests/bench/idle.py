# SPDX-License-Identifier: Apache-2.0
"""The load of services and the broker while there are no orders.

    idle.py [--seconds N] [--set NAME=VALUE ...] [--schedules N] [--json]

Measures the broker without any client, then with one submission, scheduler, supervisor and agent,
twice for N seconds each (default 25): CPU time of all threads, in percent of a core. --set is for
the services, such as --set kafka.fetch.wait.max.ms=500.

--schedules N measures the supervisor again with that many schedules, first of ticks that are not
due, then of one tick a minute each, with orders of three steps: its CPU time, and its resident
memory in MB.

scripts/bench --only idle runs it, with PYTHONPATH (tests/kafka), REEVE (the executable),
REEVE_BOOTSTRAP and REEVE_KAFKA_DIR."""

import argparse
import json
import os
import pathlib
import time

from lib import Broker, Cluster, paths, wait_for

from process import cpu_seconds, resident_mb

PARTITIONS = 8
SETTLE_SECONDS = 30  # after a start or a load
ROUNDS = 2


def pass_time(seconds):
    """What is measured is an interval in which nothing happens, so time is the condition."""
    end = time.monotonic() + seconds
    wait_for("the interval to end", lambda: time.monotonic() >= end, seconds + 10)


def measure(pids, seconds):
    """{name: percent of a core} of each process."""
    pass_time(SETTLE_SECONDS)
    rounds = []
    for _ in range(ROUNDS):
        before, began = {name: cpu_seconds(pid) for name, pid in pids.items()}, time.monotonic()
        pass_time(seconds)
        passed = time.monotonic() - began
        rounds.append({name: (cpu_seconds(pid) - before[name]) / passed * 100
                       for name, pid in pids.items()})
    return {name: [one[name] for one in rounds] for name in pids}


def deploy_schedules(cluster, count, every_seconds):
    files = []
    for number in range(count):
        files.append(cluster.folder / f"s{number}.json")
        files[-1].write_text(json.dumps({
            "Schedule": f"s{number}", "EverySeconds": every_seconds, "CatchUpSeconds": 0,
            "Order": {"workflow": "three-steps"}}), encoding="utf-8")
    cluster.reeve("schedule", "deploy", *files, seconds=120)


def measure_schedules(cluster, count, seconds):
    pid = cluster["supervisor-1"].process.pid
    cluster.reeve("workflow", "deploy", paths.ROOT / "examples/workflows/three-steps.yaml")
    found = {"supervisor without schedules, MB": [resident_mb(pid)]}
    for what, every_seconds in (("none due", 366 * 86400), ("each a minute", 60)):
        deploy_schedules(cluster, count, every_seconds)
        name = f"supervisor, {count:,} schedules, {what}"
        found.update(measure({name: pid}, seconds))
        found[f"{name}, MB"] = [resident_mb(pid)]
    return found


def run(cluster, broker_pid, seconds, settings, schedules):
    alone = measure({"broker alone": broker_pid}, seconds)
    cluster.topics_apply("web")
    cluster.reeve("topics", "apply", "--agent", "noop")
    pids = {"broker": broker_pid}
    for role in ("submission", "scheduler", "supervisor", "agent"):
        agent = {"agent.name": "noop", "agent.kind": "sim"} if role == "agent" else {}
        pids[role] = cluster.add(role, properties={**settings, **agent}, ledger=False).process.pid
    found = {**alone, **measure(pids, seconds)}
    return {**found, **measure_schedules(cluster, schedules, seconds)} if schedules else found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--schedules", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    node = pathlib.Path(os.environ["REEVE_KAFKA_DIR"]) / "node-1.pid"
    broker = Broker.shared()
    try:
        with Cluster(broker, partitions=PARTITIONS) as cluster:
            found = run(cluster, int(node.read_text(encoding="utf-8")), arguments.seconds, settings,
                        arguments.schedules)
    finally:
        broker.stop()
    if arguments.json:
        print(json.dumps(found))
        return
    print("| | % of a core | again |\n|---|---|---|")
    for name, rounds in found.items():
        print(f"| {name} | " + " | ".join(f"{percent:.2f}" for percent in rounds) + " |")


if __name__ == "__main__":
    main()
