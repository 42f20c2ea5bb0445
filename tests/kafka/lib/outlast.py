# SPDX-License-Identifier: Apache-2.0
"""Steps that wait for a moment, while processes are killed, orders are paused, and orders stand in
Error: each passes once, never before its moment, and soon after nothing holds it up any more.

A subclass makes the cluster; REEVE_SEED repeats a run's orders and kills."""

import collections
import contextlib
import dataclasses
import datetime
import json
import os
import random
import time
import unittest
import urllib.request

import yaml

from .checker import check, folded
from .waiting import wait_for

AGENT, PARTITIONS = "noop", 2
# Broken fails at once and keeps its order in Error, while the others wait.
WORKFLOW = f"""
Name: reminders
Version: 1
Defaults: {{TimeoutSeconds: 60}}
Steps:
  - {{Name: Begin, Agent: {AGENT}}}
  - {{Name: Hours, After: [], Wait: {{Seconds: input.seconds}}}}
  - {{Name: Day, After: [], Wait: {{Timestamp: input.on, SpreadSeconds: 1}}}}
  - {{Name: Then, After: Hours, Wait: {{Seconds: 0.25}}}}
  - {{Name: Broken, After: [], When: input.fails, Fail: {{Error: Broken}}, OnExhausted: error}}
  - {{Name: Remind, After: [Begin, Day, Then, Broken], Agent: {AGENT}}}
"""
WAITS = [step["Name"] for step in yaml.safe_load(WORKFLOW)["Steps"] if "Wait" in step]
SPREAD_MS = 1000
PLAIN, PAUSED, FAILING = "plain", "paused", "failing"
ORDERS = {PLAIN: 16, PAUSED: 6, FAILING: 6}
# A round for each: these are killed together.
KILLS = [("supervisor",), ("scheduler",), ("scheduler", "supervisor"), ("agent", "supervisor")]
SPAN_MS = 4000  # the longest wait of most
LONG_MS = 15000  # of orders that are paused when the kill of their round is over
LATE_MS = 5000  # a busy machine; a moment that was lost would never come
FOLLOWED = ("StepWaiting", "StepPassed", "StepSkippedByHand", "OrderPauseEnded")
WHO = ("--by", "ann", "--reason", "stocktaking", "--yes")


@dataclasses.dataclass
class Order:
    id: str
    kind: str
    seconds: float
    on: int  # ms


def rfc3339(ms):
    time_of = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    return time_of.isoformat(timespec="milliseconds")


class OutlastTest(unittest.TestCase):
    """`cluster`, of which nothing runs yet; its topics have AGENT and PARTITIONS."""

    def make_cluster(self):
        raise NotImplementedError

    def test_waits_outlast_kills_pauses_and_errors(self):
        seed = int(os.environ.get("REEVE_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"REEVE_SEED={seed}", flush=True)
        self.dice = random.Random(seed)
        self.cluster = self.make_cluster()
        self.addCleanup(lambda: self.cluster.stop(check=self._outcome.success))
        self.start()
        self.outages = []  # (killed, ready), in ms
        self.orders = []
        self.submit_and_kill()
        self.hold_and_let_go()
        for order in self.orders:
            with self.subTest(order):
                self.check_order(order)
        self.assertEqual(self.findings(), [])

    # ---- services ----

    def start(self):
        path = self.cluster.folder / "reminders.yaml"
        path.write_text(WORKFLOW, encoding="utf-8")
        self.cluster.reeve("workflow", "deploy", path, "--no-agent-check")
        self.live = self.cluster.folder / "live"
        self.live.mkdir()
        for role in "submission", "scheduler", "supervisor", "agent", "console":
            properties = {"agent.name": AGENT, "agent.kind": "sim"} if role == "agent" else {}
            service = self.cluster.add(role, role, {"instance.id": role, **properties},
                                       ready=False)
            (self.live / role).symlink_to(service.data)
        self.wait_ready()

    def wait_ready(self):
        for service in self.cluster.services.values():
            service.wait_ready(60)

    @contextlib.contextmanager
    def killed(self, names):
        """They die at once and come back after what is done meanwhile."""
        killed = time.time() * 1000
        for name in self.dice.sample(names, len(names)):
            self.cluster[name].sigkill()
        yield
        for name in names:
            self.cluster[name].start(ready=False)
        self.wait_ready()
        self.outages.append((killed, time.time() * 1000))

    def operate(self, *arguments):
        url = f"http://127.0.0.1:{self.cluster['console'].http_port()}"
        self.cluster.reeve(*arguments, *WHO, "--console", url)

    # ---- orders ----

    def submit(self, kind):
        longest = LONG_MS if kind == PAUSED else SPAN_MS
        least = LONG_MS if kind == PAUSED else 1  # a wait of no time is none
        order = Order(f"{kind}-{len(self.orders)}", kind,
                      self.dice.randint(least, longest) / 1000,
                      round(time.time() * 1000) + self.dice.randint(least - 500, longest))
        body = {"order_id": order.id, "workflow": "reminders",
                "input": {"seconds": order.seconds, "on": rfc3339(order.on),
                          "fails": kind == FAILING}}
        port = self.cluster["submission"].http_port()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/orders", data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.assertEqual(answer.status, 202)
        self.orders.append(order)

    def submit_and_kill(self):
        """A batch for each round; in the middle of it some processes end."""
        kinds = list(collections.Counter(ORDERS).elements())
        self.dice.shuffle(kinds)
        rounds = self.dice.sample(KILLS, len(KILLS))
        for number, names in enumerate(rounds):
            batch = kinds[number::len(rounds)]
            first = self.dice.randint(1, len(batch))
            for kind in batch[:first]:
                self.submit(kind)
            with self.killed(names):
                for kind in batch[first:]:
                    self.submit(kind)
            paused = self.of(PAUSED)[-batch.count(PAUSED):] if PAUSED in batch else []
            if paused:
                self.operate("orders", "pause", *paused)

    def of(self, kind):
        return [order.id for order in self.orders if order.kind == kind]

    def hold_and_let_go(self):
        """Paused orders, and those in Error, are let go when all moments have passed."""
        wait_for("the others are processed", lambda: self.states(PLAIN) == {"Processed"}, 60, 0.3)
        wait_for("all orders are known", lambda: self.states(FAILING) == {"Error"}, 60, 0.3)
        last = max(event["due_at"] for _, _, event in self.events()
                   if event["_type"] == "StepWaiting")
        wait_for("all moments pass", lambda: time.time() * 1000 > last + 500, 60)
        held = set(self.of(PAUSED)) | set(self.of(FAILING))
        self.assertEqual([name for name, _, event in self.events() if name in held
                          and event["_type"] == "StepPassed" and self.waited(name, event)], [])
        with self.killed(["scheduler", "supervisor"]):
            pass
        self.operate("orders", "resume", *self.of(PAUSED))
        with self.killed(["supervisor"]):
            self.operate("step", "skip", *self.of(FAILING), "Broken")
        wait_for("all are processed", lambda: self.states(*ORDERS) == {"Processed"}, 60, 0.3)

    # ---- what the log says ----

    def events(self):
        """(order, decided_at, event) of each that counts."""
        return [(decision["order_id"], decision["decided_at"], event)
                for checker in folded(self.cluster).values()
                for _, decision in sorted(checker.admitted.items())
                for event in decision["events"]]

    def states(self, *kinds):
        known = {name: order.state for checker in folded(self.cluster).values()
                 for name, order in checker.orders.items()}
        return {known.get(order.id) for order in self.orders if order.kind in kinds}

    def waited(self, name, passed):
        return any(other == name and event["_type"] == "StepWaiting"
                   and event["step"] == passed["step"] for other, _, event in self.events())

    def check_order(self, order):
        events = [(at, event) for name, at, event in self.events()
                  if name == order.id and event["_type"] in FOLLOWED]
        let_go = [at for at, event in events
                  if event["_type"] in ("OrderPauseEnded", "StepSkippedByHand")]
        self.assertEqual(len(let_go), order.kind != PLAIN)
        for step in WAITS:
            of_step = [(at, event) for at, event in events if event.get("step") == step]
            kinds = [event["_type"] for _, event in of_step]
            passed_at = of_step[-1][0]
            if kinds == ["StepPassed"]:  # the moment had passed before
                self.assertEqual(step, "Day")
                self.assertLessEqual(order.on, passed_at)
                continue
            self.assertEqual(kinds, ["StepWaiting", "StepPassed"], step)
            began, due = of_step[0][0], of_step[0][1]["due_at"]
            self.check_moment(order, step, began, due)
            self.assertGreaterEqual(passed_at, max([due, *let_go]), step)
            self.check_lateness(step, due, passed_at, let_go)

    def check_moment(self, order, step, began, due):
        if step == "Day":
            self.assertTrue(order.on <= due <= order.on + SPREAD_MS, due - order.on)
        else:
            seconds = order.seconds if step == "Hours" else 0.25
            self.assertEqual(due - began, round(seconds * 1000), step)

    def check_lateness(self, step, due, passed_at, let_go):
        """What holds it up: an operator, an Error, and what is not running."""
        free = max([due, *let_go])
        for killed, ready in self.outages:
            if killed < passed_at and ready > free:
                free = ready
        self.assertLessEqual(passed_at - free, LATE_MS, step)

    def findings(self):
        done = self.cluster.reeve("verify", "--live", self.live, check=False)
        findings = [] if done.returncode == 0 else [f"verify: {done.stdout}{done.stderr}"]
        return findings + check(self.cluster, effects=[f"requests.{AGENT}"], agents=[AGENT])
