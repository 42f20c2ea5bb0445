# SPDX-License-Identifier: Apache-2.0
"""How many orders one instance of submission takes by HTTP.

    front_door.py [--seconds N] [--json]

Starts a submission service, and nothing that decides orders, and has wrk send POST /orders over 1,
16, 64 and 256 connections, each for N seconds (default 10) with one request at a time. An answer
comes once the order is in Kafka. CPU time is that of all threads of the service.

scripts/bench --only front-door runs it, with PYTHONPATH (tests/kafka), REEVE (the executable) and
REEVE_BOOTSTRAP."""

import argparse
import json
import os
import pathlib
import re
import subprocess

from lib import Broker, Cluster

from process import cpu_seconds

PARTITIONS = 8
CONNECTIONS = (1, 16, 64, 256)
WORKFLOW = {"Name": "test", "Version": 1,
            "Steps": [{"Name": "A", "Agent": "agent", "OnExhausted": "error"}]}
SCRIPT = pathlib.Path(__file__).with_name("front_door.lua")
ACCEPTED = "reeve_submissions_total"
UNITS = {"us": 0.001, "ms": 1, "s": 1000}


def percentile(report, percent):
    """In ms, of what wrk printed."""
    value, unit = re.search(rf"^ +{percent}%\s+([\d.]+)(us|ms|s)$", report, re.M).groups()
    return float(value) * UNITS[unit]


def measure(service, connections, seconds, name):
    before, accepted = cpu_seconds(service.process.pid), service.metric(ACCEPTED)
    report = subprocess.run(
        ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s",
         "--latency", "--script", SCRIPT, f"http://127.0.0.1:{service.http_port()}/orders"],
        check=True, capture_output=True, text=True,
        env={**os.environ, "REEVE_BENCH_RUN": name}).stdout
    count = int(re.search(r"(\d+) requests in ", report)[1])
    in_kafka = service.metric(ACCEPTED) - accepted  # more: at its end wrk leaves without answers
    if "Non-2xx" in report or not 0 < count <= in_kafka:
        raise AssertionError(f"of {count} orders {in_kafka:.0f} were accepted:\n{report}")
    return {"connections": connections, "orders": count,
            "orders_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", report)[1]),
            "p50_ms": percentile(report, 50), "p99_ms": percentile(report, 99),
            "cpu_us_per_order": (cpu_seconds(service.process.pid) - before) / count * 1e6}


def run(cluster, seconds, ret_line):
    definition = cluster.folder / "test.json"
    definition.write_text(json.dumps(WORKFLOW), encoding="utf-8")
    cluster.topics_apply("web")
    cluster.reeve("topics", "apply", "--agent", "agent")
    cluster.workflow_deploy(definition)
    service = cluster.add("submission")
    measure(service, 64, seconds, "warm-up")  # the broker's JVM compiles
    for connections in CONNECTIONS:
        ret_line(measure(service, connections, seconds, f"with-{connections}"))


def show(line):
    print("| {connections} | {orders_per_second:,.0f} | {p50_ms:.1f} | {p99_ms:.1f} | "
          "{cpu_us_per_order:.0f} |".format(**line), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    broker = Broker.shared()
    if not arguments.json:
        print("| connections | orders/s | p50 ms | p99 ms | CPU us an order |\n"
              "|---|---|---|---|---|", flush=True)
    try:
        with Cluster(broker, partitions=PARTITIONS) as cluster:
            run(cluster, arguments.seconds,
                (lambda line: print(json.dumps(line), flush=True)) if arguments.json else show)
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
