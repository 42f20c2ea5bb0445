# SPDX-License-Identifier: Apache-2.0
"""How fast a console answers what its pages ask, with many orders in its read model.

    pages.py [--orders N] [--repeats N] [--json]

Writes the log of N orders (bench-log) to a broker, starts a console on it, and waits until it has
folded the log. Then it asks for each page what the browser asks, all at once and each on a
connection of its own, and measures from the first request to the end of the last answer. CPU time
is that of the console's loop, which answers all requests; on a machine that does other work it
says more than the time on the wall.

scripts/bench --only pages runs it, with PYTHONPATH (tests/kafka), REEVE (the executable),
REEVE_BUILD_DIR (with bench-log) and REEVE_BOOTSTRAP."""

import argparse
import http.client
import json
import os
import pathlib
import random
import subprocess
import time
import urllib.parse

from lib import Broker, Cluster

from process import cpu_seconds, resident_mb

PARTITIONS = 8
DEAD_LETTERS = 25000  # more than the console keeps in memory
WORKFLOW = {"Name": "test", "Version": 1, "Defaults": {"TimeoutSeconds": 10}, "Steps": [
    {"Name": "A", "Agent": "agent", "After": [], "Compensate": {"Action": "UndoA"}},
    {"Name": "B", "Agent": "agent", "After": ["A"], "OnExhausted": "error",
     "Compensate": {"Action": "UndoB"}},
    {"Name": "C", "Agent": "agent", "After": ["B"]}]}
LISTED = {"limit": 50}  # as the pages ask


class Console:
    """The service under test, with a persistent connection for each request of a page."""

    def __init__(self, service):
        self.service = service
        self.connections = []
        self.task = pathlib.Path(f"/proc/{service.process.pid}/task/{service.process.pid}")

    def cpu_ms(self):
        return int((self.task / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e6

    def cpu_seconds(self):
        return cpu_seconds(self.service.process.pid)

    def resident_mb(self):
        return resident_mb(self.service.process.pid)

    def connection(self, number):
        while len(self.connections) <= number:
            self.connections.append(
                http.client.HTTPConnection("127.0.0.1", self.service.http_port(), timeout=60))
            self.connections[-1].connect()
        return self.connections[number]

    def ask(self, paths):
        """(ms on the wall, ms of CPU, answers) of requests that are sent together."""
        connections = [self.connection(number) for number in range(len(paths))]
        cpu, began = self.cpu_ms(), time.perf_counter()
        for connection, path in zip(connections, paths):
            connection.request("GET", path)
        answers = []
        for connection in connections:
            answer = connection.getresponse()
            answers.append((answer.status, answer.read()))
        wall = (time.perf_counter() - began) * 1000
        return wall, self.cpu_ms() - cpu, answers


def orders(filters=None, cursor=None):
    """The requests of the page Orders."""
    filters = filters or {}
    found = [path("/api/orders", **filters, **LISTED, cursor=cursor), "/api/counts",
             "/api/workflows"]
    rest = {name: value for name, value in filters.items() if name != "state"}
    if rest:
        found.append(path("/api/orders/count", **rest, by="state"))
    return found


def path(name, **parameters):
    given = {key: value for key, value in parameters.items() if value is not None}
    return f"{name}?{urllib.parse.urlencode(given)}" if given else name


def hour_ago():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))


def pages(count):
    """(name, requests of one look at it); `cursor` is where the list goes on."""
    choose = random.Random(1).randrange

    def order(_):
        name = f"/api/orders/o-{choose(count):08d}"
        return [name, f"{name}/history?limit=1000", "/api/workflows"]

    def listed(**filters):
        return lambda cursor: orders(filters, cursor)

    def some(**filters):
        return lambda cursor: orders({name: value() for name, value in filters.items()})

    return [
        ("Overview", lambda _: ["/api/overview"]),
        ("Orders", listed()),
        ("Orders: state Error", listed(state="Error")),
        ("Orders: a customer of 20", some(customer=lambda: f"c-{choose(1, 50000)}")),
        ("Orders: a customer of a tenth", listed(customer="c-0")),
        ("Orders: an attribute of an eightieth", listed(attribute="country=country-7")),
        ("Orders: an id prefix of all", listed(id_prefix="o-")),
        ("Orders: since 1h", listed(since=hour_ago())),
        ("Orders: since 1h, state Error", listed(since=hour_ago(), state="Error")),
        ("Orders: customer, attribute, step",
         listed(customer="c-0", attribute="country=country-39", step="C")),
        ("Order", order),
        ("Recovery", lambda _: ["/api/alerts?open=1&limit=50", "/api/overview",
                                "/api/dead-letters?limit=50"]),
        ("Partitions", lambda _: ["/api/partitions"]),
        ("Workflows", lambda _: ["/api/workflows", "/api/counts"]),
        ("Agents", lambda _: ["/api/agents", "/api/workflows"]),
        ("Health", lambda _: ["/api/health", "/api/services"]),
    ]


def measure(console, name, requests, repeats):
    """One page after the other; lists go on with their next page, from the first again at the
    end."""
    walls, cpus, cursor = [], [], None
    for _ in range(repeats):
        asked = requests(cursor)
        wall, cpu, answers = console.ask(asked)
        for request, (status, body) in zip(asked, answers):
            if status != 200:
                raise AssertionError(f"{request}: {status} {body[:300]}")
        walls.append(wall)
        cpus.append(cpu)
        cursor = json.loads(answers[0][1]).get("next")
    walls.sort()
    cpus.sort()
    last = repeats * 99 // 100
    return {"page": name, "requests": len(asked), "p50_ms": walls[repeats // 2],
            "p99_ms": walls[last], "p50_cpu_ms": cpus[repeats // 2], "p99_cpu_ms": cpus[last]}


def write_log(cluster, count):
    program = pathlib.Path(os.environ["REEVE_BUILD_DIR"]) / "tests/bench/bench-log"
    done = subprocess.run([program, cluster.broker.bootstrap, cluster.prefix, str(PARTITIONS),
                           str(count)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def write_dead_letters(cluster):
    topic = cluster.topic("submissions")
    cluster.produce("dead-letters", [(f"d-{number}", b"{}", [
        ("__streams.errors.exception", b"InvalidOrder"),
        ("__streams.errors.message", b"the currency has 4 letters; expected 3"),
        ("__streams.errors.topic", topic.encode()),
        ("__streams.errors.partition", b"0"),
        ("__streams.errors.offset", str(number).encode())]) for number in range(DEAD_LETTERS)],
        seconds=120)


def run(cluster, count, repeats, ret_line):
    definition = cluster.folder / "test.json"
    definition.write_text(json.dumps(WORKFLOW), encoding="utf-8")
    cluster.topics_apply("web")
    cluster.reeve("topics", "apply", "--agent", "agent")
    cluster.workflow_deploy(definition)
    for number in (1, 2):
        cluster.add("agent", f"agent-{number}", {"agent.name": "agent", "agent.kind": "sim"},
                    ledger=False)
    records = write_log(cluster, count)
    write_dead_letters(cluster)
    service = cluster.add("console", ready=False)
    began = time.perf_counter()
    service.wait_ready(600)
    seconds = time.perf_counter() - began
    console = Console(service)
    ret_line({"records": records, "seconds": seconds,
              "cpu_seconds": console.cpu_seconds(), "resident_mb": console.resident_mb()})
    for name, requests in pages(count):
        ret_line(measure(console, name, requests, repeats))
    ret_line({"resident_mb": console.resident_mb(), "peak_mb": service.peak_memory_mb()})


def show(line):
    if "page" in line:
        print("| {page} | {requests} | {p50_ms:.1f} | {p99_ms:.1f} | {p50_cpu_ms:.1f} | "
              "{p99_cpu_ms:.1f} |".format(**line), flush=True)
    elif "records" in line:
        print("{records} records folded in {seconds:.1f} s, {rate:.0f} a second of CPU time; "
              "{resident_mb} MB resident\n\n| page | requests | p50 ms | p99 ms | p50 CPU | "
              "p99 CPU |\n|---|---|---|---|---|---|".format(
                  rate=line["records"] / line["cpu_seconds"], **line), flush=True)
    else:
        print("\n{resident_mb} MB resident, {peak_mb} at most".format(**line))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=1000000)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    broker = Broker.shared()
    try:
        with Cluster(broker, partitions=PARTITIONS) as cluster:
            run(cluster, arguments.orders, arguments.repeats,
                (lambda line: print(json.dumps(line), flush=True)) if arguments.json else show)
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
