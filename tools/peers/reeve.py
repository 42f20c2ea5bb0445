# SPDX-License-Identifier: Apache-2.0
"""reeve among the peers of scripts/bench-peers: `reeve bench` measures it, with services in
processes of their own and the broker that LittleHorse gets as well."""

import json
import os
import statistics
import subprocess

from machine import ROOT, Failure, Site, Usage, say

WARM_UP_ORDERS = 60000  # for the broker's JVM
ORDERS_PER_SECOND = {1: 200, 50: 2000}  # about what a slow machine does, for the length of a run
MOST_PER_SECOND = 4000
SERVERS = ("submission", "scheduler", "supervisor")
CRASH_OPEN_ORDERS = 1000


class Reeve:
    title = "reeve"
    # Settings of the services and of the topics, as flags of `reeve bench`.
    variants = {"default": [], "tuned": ["--partitions", "2"]}

    def __init__(self, variant, build):
        self.flags = self.variants[variant]
        self.reeve = build.resolve() / "bin" / "reeve"

    def fetch(self):
        if not os.access(self.reeve, os.X_OK):
            raise Failure(f"{self.reeve} is missing: cmake --preset release && cmake --build "
                          "--preset release, or name another folder with --build")
        Site.fetch_kafka()

    def start(self, site):
        self.site, self.bootstrap = site, site.start_kafka()
        say(f"reeve: warms up with {WARM_UP_ORDERS} orders")
        self.bench("--orders", str(WARM_UP_ORDERS), "--alone", "0")

    def bench(self, *arguments):
        """(what it measured, the CPU seconds of all its processes)"""
        command = [self.reeve, "bench", "--kafka-bootstrap-servers", self.bootstrap, "--kafka-dir",
                   self.site.kafka, "--json", *self.flags, *arguments]
        log = self.site.folder / "bench.log"
        with open(log, "ab") as errors:
            program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        try:
            output = program.stdout.read()
        except BaseException:
            program.terminate()  # it stops its services
            program.wait()
            raise
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        if program.returncode != 0:
            raise Failure(f"reeve bench ended with {program.returncode}; see {log}")
        return json.loads(output), usage.ru_utime + usage.ru_stime

    def measure(self, in_flight, seconds):
        """A row of the table."""
        orders = str(seconds * ORDERS_PER_SECOND.get(in_flight, MOST_PER_SECOND))
        usage = Usage(self.site.pids)
        if in_flight == 1:
            found, cpu = self.bench("--orders", "0", "--alone", orders)
            measured = found["alone"]
        else:
            found, cpu = self.bench("--alone", "0", "--in-flight", str(in_flight), "--orders",
                                    orders)
            measured = found["loads"][0]
        return {**row_of(measured), "in_flight": in_flight, "others": usage.end(cpu)["others"]}

    def crash(self):
        """scripts/bench kills one of two schedulers and starts it again."""
        done = subprocess.run([ROOT / "scripts" / "bench", "--only", "kills", "--rounds", "1",
                               "--takeover-orders", str(CRASH_OPEN_ORDERS), "--json"],
                              stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failure("scripts/bench --only kills failed")
        restart = json.loads(done.stdout)["restart"]
        return {"new_s": statistics.median(restart["first_order_ms"]) / 1000}


def part_of(name):
    if name.startswith(SERVERS):
        return "server"
    return {"agent": "worker", "broke": "broker"}.get(name[:5], "load")


def row_of(measured):
    """From what `reeve bench --json` has of one load."""
    cpu_ms, rss = {}, {}
    for process in measured["processes"]:
        part = part_of(process["name"])
        cpu_ms[part] = cpu_ms.get(part, 0) + process["cpu_us_per_order"] / 1e3
        rss[part] = rss.get(part, 0) + process["rss_bytes"] / (1 << 20)
    return {"per_second": measured["orders_per_second"], "cpu_ms": cpu_ms, "rss_mb": rss,
            **{key: measured[key] for key in ("p50_ms", "p90_ms", "p99_ms")}}
