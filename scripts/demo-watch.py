#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The middle of scripts/demo: watches orders, cancels some, kills a scheduler.

    demo-watch.py ready DIR                     exit code 0: the service of that folder is ready
    demo-watch.py watch DEMO REEVE IMPORT_PID   until every imported order has ended
"""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

CANCELS = 4          # orders cancelled by hand
SECONDS_MAX = 240    # then something is stuck
ENDED = {"Processed", "Compensated", "Error"}
STATES = ["Pending", "Processing", "Processed", "Compensating", "Compensated", "Error"]


def ready(folder):
    try:
        port = int((pathlib.Path(folder) / "http.port").read_text())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return answer.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended too: its parent, the script, collects it later.
    return " Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()


def milliseconds(text):
    return datetime.datetime.fromisoformat(text).timestamp() * 1000


class Demo:
    def __init__(self, folder, reeve, import_pid):
        self.folder, self.reeve, self.import_pid = pathlib.Path(folder), reeve, import_pid
        self.config = str(self.folder / "reeve.properties")
        self.console = (self.folder / "console" / "http.port").read_text().strip()
        self.began = time.monotonic()

    def run(self, *arguments):
        return subprocess.run([self.reeve, *arguments, "--config", self.config],
                              capture_output=True, text=True, check=False)

    def orders(self):
        done = self.run("orders", "list", "--limit", "0", "--output", "jsonl", "--console",
                        f"http://127.0.0.1:{self.console}")
        if done.returncode:
            return []
        return [json.loads(line) for line in done.stdout.splitlines()]

    def say(self, text):
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def cancel_some(self, orders):
        open_orders = [o["order_id"] for o in orders if o["state"] == "Processing"][:CANCELS]
        for order_id in open_orders:
            self.run("cancel", order_id, "--reason", "the customer changed her mind")
        if open_orders:
            self.say(f"cancelled {', '.join(open_orders)}")
        return bool(open_orders)

    def kill_scheduler(self):
        pid = int((self.folder / "scheduler-1" / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        self.say(f"SIGKILL to scheduler-1 (pid {pid}): scheduler-2 takes its partitions over")

    def watch(self):
        imported, cancelled, killed, shown = None, False, False, ""
        expected = None
        while time.monotonic() - self.began < SECONDS_MAX:
            orders = self.orders()
            counts = {state: sum(o["state"] == state for o in orders) for state in STATES}
            ended = sum(counts[state] for state in ENDED)
            line = "  ".join(f"{state.lower()} {counts[state]}"
                             for state in STATES if counts[state])
            if line != shown:
                self.say(line)
                shown = line
            if expected is None and not alive(self.import_pid):
                expected = self.imported()
                self.say(f"the day is imported: {expected} orders")
            cancelled = cancelled or (len(orders) > 20 and self.cancel_some(orders))
            third = (expected or 137) / 3
            if not killed and ended >= third:
                self.kill_scheduler()
                killed = True
            if expected is not None and len(orders) >= expected and ended == len(orders):
                self.table(orders, counts)
                return 0
            time.sleep(1)
        self.say("not every order has ended in time")
        return 1

    def imported(self):
        """How many orders the import has sent, by its last line."""
        text = (self.folder / "import.log").read_text()
        sent = re.search(r"(\d+) orders submitted", text)
        if sent is None:
            raise SystemExit(f"the import failed: {text.strip()}")
        return int(sent.group(1))

    def table(self, orders, counts):
        took = sorted(milliseconds(o["ended_at"]) - milliseconds(o["accepted_at"])
                      for o in orders if o.get("ended_at"))
        first = min(milliseconds(o["accepted_at"]) for o in orders)
        last = max(milliseconds(o["updated_at"]) for o in orders)
        unfinished = len(orders) - sum(counts[state] for state in ENDED)
        seconds = max(last - first, 1) / 1000
        print()
        print("processed  compensated  error  unfinished  orders/s  p50 ms  p99 ms")
        print(f"{counts['Processed']:9}  {counts['Compensated']:11}  {counts['Error']:5}  "
              f"{unfinished:10}  {len(orders) / seconds:8.1f}  {took[len(took) // 2]:6.0f}  "
              f"{took[min(len(took) - 1, len(took) * 99 // 100)]:6.0f}")
        print()


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "ready":
        return 0 if ready(arguments[1]) else 1
    if len(arguments) == 4 and arguments[0] == "watch":
        return Demo(arguments[1], arguments[2], int(arguments[3])).watch()
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
