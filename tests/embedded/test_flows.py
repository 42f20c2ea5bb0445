# SPDX-License-Identifier: Apache-2.0
"""Workflows that decide and wait, on the embedded broker, while schedulers, agents and supervisors
are killed: each order ends as lib.flows works it out from its input and the services' answers, and
so does `reeve test` say. REEVE_SEED repeats a run's orders and kills."""

import json
import os
import random
import re
import subprocess
import unittest
import urllib.request

import confluent_kafka
import yaml

from lib import Cluster, EmbeddedBroker, check, flows, paths, records, wait_for
from lib.checker import ENDED, Checker, missing, partition_of, read_workflows
from lib.remote import RemoteServices

TIMEOUT_SECONDS = 300
PREFIX, APP, PARTITIONS = "flows", "web", 2
ORDERS, BATCH = 60, 15
# A round for each: it is killed, and up to AGENTS agents with it. The embedded broker takes six
# seconds until those that come back have their partitions.
KILLS, AGENTS = ["scheduler", "scheduler", "supervisor", "scheduler"], 3


def draw_orders(seed):
    dice = random.Random(seed)
    return [flows.draw(dice, number) for number in range(ORDERS)]


def with_time(text):
    """The workflow, with deadlines for attempts that no kill reaches."""
    return re.sub(r"^  TimeoutSeconds: 10$", "  TimeoutSeconds: 60", text, flags=re.M)


class FlowsTest(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("REEVE_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"REEVE_SEED={self.seed}", flush=True)
        self.orders = draw_orders(self.seed)
        self.folder = paths.new_folder("workflows")
        self.asked = {}  # workflow -> its steps that a service performs
        for name, path in flows.FILES.items():
            text = with_time(path.read_text(encoding="utf-8"))
            (self.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
            self.asked[name] = {step["Name"] for step in yaml.safe_load(text)["Steps"]
                                if "Agent" in step}

    def test_the_rehearsal_ends_as_worked_out(self):
        for name in flows.FILES:
            cases = [flows.case_of(order) for order in self.orders if order.workflow == name]
            (self.folder / f"{name}.test.yaml").write_text(
                json.dumps({"Workflow": f"{name}.yaml", "Cases": cases}), encoding="utf-8")
        done = subprocess.run([paths.reeve_binary(), "test", self.folder], capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual((done.stdout, done.stderr), (f"{ORDERS} passed, 0 failed\n", ""))

    def test_orders_end_as_worked_out_although_processes_are_killed(self):
        self.dice = random.Random(~self.seed)
        self.start()
        self.submit_and_kill()
        wait_for(self.describe, lambda: self.have_ended(self.orders), 60)
        for order in self.orders:
            with self.subTest(order.wanted, order=order.id):
                self.check_order(order)
        self.check_inputs()
        self.assertEqual(self.findings(), [])
        self.check_statuses()

    # ---- services ----

    def start(self):
        answers = {order.id: order.answers for order in self.orders}
        self.services = RemoteServices(
            lambda order, step: answers[order].get(step, flows.Answer()))
        self.addCleanup(self.services.stop)
        broker = EmbeddedBroker(PREFIX, PARTITIONS, flows.AGENTS, [APP])
        self.addCleanup(broker.stop)
        self.cluster = Cluster(broker, PARTITIONS, prefix=PREFIX, properties={
            "session.timeout.ms": 2000})
        self.live = self.cluster.folder / "live"
        self.live.mkdir()
        self.addCleanup(lambda: self.cluster.stop(check=self._outcome.success))
        for name in flows.FILES:
            self.cluster.workflow_deploy(self.folder / f"{name}.yaml")
        for role in "submission", "scheduler", "supervisor":
            self.add(role, role, {})
        for agent in flows.AGENTS:
            self.add("agent", f"agent-{agent}", {
                "agent.name": agent, "agent.http.url": f"{self.services.url}/{agent}",
                # A call that was given up might have been applied.
                "agent.http.try.timeout.ms": 60000})
        self.wait_ready()
        self.log = confluent_kafka.Consumer({
            "bootstrap.servers": broker.bootstrap, "group.id": "log", "enable.auto.commit": False})
        self.addCleanup(self.log.close)
        self.log.assign([confluent_kafka.TopicPartition(self.cluster.topic("events"), number, 0)
                         for number in range(PARTITIONS)])
        self.seen = 0  # records of the log
        workflows = read_workflows(self.cluster.read_topic("workflows"))
        self.checkers = {number: Checker(number, PARTITIONS, workflows=workflows)
                         for number in range(PARTITIONS)}

    def add(self, role, name, properties):
        service = self.cluster.add(role, name, {"instance.id": name, **properties}, ready=False)
        (self.live / name).symlink_to(service.data)

    def wait_ready(self):
        for service in self.cluster.services.values():
            service.wait_ready(60)

    # ---- orders ----

    def submit(self, order):
        body = {"order_id": order.id, "workflow": order.workflow, "customer": "c-7",
                "reply_to": self.cluster.topic(f"replies.{APP}")}
        if order.input is not None:
            body["input"] = order.input
        port = self.cluster["submission"].http_port()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/orders", data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.assertEqual(answer.status, 202)

    def submit_and_kill(self):
        """A batch at a time; in the middle of it some processes end at once: agents during calls
        that were applied, and one of the others."""
        left, submitted = list(self.orders), []
        self.dice.shuffle(left)
        for role in self.dice.sample(KILLS, len(KILLS)):
            batch, left = left[:BATCH], left[BATCH:]
            first = self.dice.randint(1, BATCH)
            self.services.gate.clear()
            for order in batch[:first]:
                self.submit(order)
            names = [role, *self.agents_in_calls()]
            for name in self.dice.sample(names, len(names)):
                self.cluster[name].sigkill()
            self.services.gate.set()
            for order in batch[first:]:
                self.submit(order)
            for name in names:
                self.cluster[name].start(ready=False)
            submitted += batch
            enough = self.look() + self.dice.randint(1, 3 * BATCH)
            wait_for(self.describe,
                     lambda e=enough: self.look() >= e or self.have_ended(submitted), 60)
        self.assertEqual(left, [])
        self.wait_ready()

    def agents_in_calls(self):
        wait_for(self.describe, self.services.holding, 60)
        found = self.services.holding()
        return [f"agent-{name}" for name in self.dice.sample(found, min(AGENTS, len(found)))]

    def look(self):
        """Follows the log; returns how long it is."""
        for message in self.log.consume(1000, timeout=0.1):
            self.assertIsNone(message.error())
            record = records.to_record(message, records.local_schemas())
            self.checkers[record.partition].record(record)
            self.seen += 1
        return self.seen

    def known(self, order):
        return self.checkers[partition_of(order.id, PARTITIONS)].orders.get(order.id)

    def have_ended(self, orders):
        self.look()
        return all(map(self.has_ended, orders))

    def has_ended(self, order):
        known = self.known(order)
        return known is not None and known.state in ENDED | {"Error"}

    def describe(self):
        left = [f"{order.id}: {self.known(order).state if self.known(order) else 'not known'}"
                for order in self.orders if not self.has_ended(order)]
        tails = "\n".join(f"--- {service.name}\n{service.tail(8)}"
                          for service in self.cluster.services.values())
        return f"orders end, and {left} have not:\n{tails}"

    # ---- what became of them ----

    def check_order(self, order):
        known = self.known(order)
        self.assertEqual(known.state, order.state)
        found = {name: known.step(name).state for name in order.steps}
        # A step in parallel with the one that failed has not begun if its agent was away.
        away = {name: "Skipped" for name in order.parallel if found[name] == "Skipped"}
        self.assertEqual(found, {**order.steps, **away})
        for name, state in found.items():
            kept = self.services.kept.get((order.id, name), ())
            asked = name in self.asked[order.workflow]
            self.assertEqual(len(kept), asked and state == "Processed", name)

    def check_statuses(self):
        """The application reads the Output and the reason in the last one."""
        last = {record.key: record.value for record in self.cluster.read_topic(f"replies.{APP}")}
        for order in self.orders:
            status = last[order.id]
            self.assertEqual(status["order_state"], order.state, order.wanted)
            self.assertEqual(json.loads(status["output"] or "null"), order.output, order.wanted)
            self.assertEqual(status["code"], order.reason, order.wanted)

    def check_inputs(self):
        """Every request of a step has the input that was worked out, in each attempt."""
        orders = {order.id: order for order in self.orders}
        sent = set()
        for agent in flows.AGENTS:
            for record in self.cluster.read_topic(f"requests.{agent}"):
                order, step = orders[record.value["order_id"]], record.value["step"]
                found = record.value["input"]
                self.assertEqual(json.loads(found) if found else None, order.inputs.get(step))
                sent.add((order.id, step))
        for order in self.orders:
            for step in order.inputs:
                self.assertIn((order.id, step), sent)

    def findings(self):
        topics = [f"replies.{APP}"]
        wait_for("every status, alert and dead letter is there",
                 lambda: not missing(self.cluster, topics), 30, 0.3)
        done = self.cluster.reeve("verify", "--live", self.live, check=False)
        findings = [] if done.returncode == 0 else [f"verify: {done.stdout}{done.stderr}"]
        return findings + check(self.cluster, replies=topics,
                                effects=[f"requests.{agent}" for agent in flows.AGENTS])


if __name__ == "__main__":
    unittest.main()
