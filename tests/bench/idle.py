# SPDX-License-Identifier: Apache-2.0
"""The load of services and the broker while there are no orders.

    idle.py [--seconds N] [--set NAME=VALUE ...] [--json]

Measures the broker without any client, then with one submission, scheduler, supervisor and agent,
twice for N seconds each (default 25): CPU time of all threads, in percent of a core. --set is for
the services, such as --set kafka.fetch.wait.max.ms=500.

scripts/bench --only idle runs it, with PYTHONPATH (tests/kafka), REEVE (the executable),
REEVE_BOOTSTRAP and REEVE_KAFKA_DIR."""

import argparse
import json
import os
import pathlib
import time

from lib import Broker, Cluster, wait_for

from process import cpu_seconds

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


def run(cluster, broker_pid, seconds, settings):
    alone = measure({"broker alone": broker_pid}, seconds)
    cluster.topics_apply("web")
    cluster.reeve("topics", "apply", "--agent", "noop")
    pids = {"broker": broker_pid}
    for role in ("submission", "scheduler", "supervisor", "agent"):
        agent = {"agent.name": "noop", "agent.kind": "sim"} if role == "agent" else {}
        pids[role] = cluster.add(role, properties={**settings, **agent}, ledger=False).process.pid
    return {**alone, **measure(pids, seconds)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    node = pathlib.Path(os.environ["REEVE_KAFKA_DIR"]) / "node-1.pid"
    broker = Broker.shared()
    try:
        with Cluster(broker, partitions=PARTITIONS) as cluster:
            found = run(cluster, int(node.read_text(encoding="utf-8")), arguments.seconds, settings)
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
