# SPDX-License-Identifier: Apache-2.0
"""A cluster for tests of what operators do to orders that wait.

The workflow "delivery" packs, ships and bills. No agent "carrier" runs until a test adds it: each
order waits there, and a scheduler can be made to crash between a command and its outcome."""

import json
import threading
import unittest

from .broker import Broker
from .checker import check
from .cluster import Cluster
from .waiting import wait_for

PACK = {"Name": "Pack", "Agent": "noop", "Compensate": {"Action": "Unpack"}}
SHIP = {"Name": "Ship", "Agent": "carrier", "OnExhausted": "error"}
BILL = {"Name": "Bill", "Agent": "noop", "Compensate": {"Action": "Refund"}}
# Before the Decision is in the log, or after: acknowledged, stored, emitted.
CRASHES = ("cycle.decide", "cycle.append", "cycle.acknowledged", "cycle.stored", "cycle.emitted")


class DeliveryTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(Broker.shared(), partitions=2)
        self.addCleanup(self.stop)
        self.cluster.topics_apply()
        self.deploy(1, "--no-agent-check")
        self.submission = self.cluster.add("submission", ready=False)
        self.scheduler = self.cluster.add("scheduler", ready=False)
        self.add_agent("noop")
        self.console = self.cluster.add("console", ready=False)
        for service in self.cluster.services.values():
            service.wait_ready(60)

    def stop(self):
        self.cluster.stop(check=self._outcome.success)

    def add_agent(self, name, **properties):
        """`properties`: with underscores for dots."""
        more = {key.replace("_", "."): value for key, value in properties.items()}
        self.cluster.add("agent", name=name, ready=False,
                         properties={"agent.name": name, "agent.kind": "sim", **more})

    def deploy(self, version, *flags, steps=(PACK, SHIP, BILL)):
        """Returns what the command printed: its result in JSON, and its warnings."""
        path = self.cluster.folder / f"delivery-{version}.json"
        path.write_text(json.dumps({
            "Name": "delivery", "Version": version, "Defaults": {"TimeoutSeconds": 30},
            "Steps": steps}), encoding="utf-8")
        return self.cluster.reeve("workflow", "deploy", path, *flags, "--output", "json")

    def cli(self, *arguments, **options):
        url = f"http://127.0.0.1:{self.console.http_port()}"
        return self.cluster.reeve(*arguments, "--console", url, **options)

    def order(self, order, **more):
        """The JSON of an order for `reeve submit`."""
        return json.dumps({
            "order_id": order, "customer": "c", "currency": "GBP", "workflow": "delivery",
            "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}], **more}) + "\n"

    def send(self, *orders, **options):
        return self.cluster.reeve("submit", "-", stdin="".join(map(self.order, orders)), **options)

    def submit(self, *orders):
        self.send(*orders)
        self.wait_at_ship(*orders)

    def orders(self, *filters):
        """The rows of the orders that the console lists, by id."""
        done = self.cli("orders", "list", "--limit", "0", "--output", "jsonl", *filters)
        return {row["order_id"]: row for row in map(json.loads, done.stdout.splitlines())}

    def state(self, order):
        return json.loads(self.cli("orders", "get", order, "--output", "json").stdout)["state"]

    def wait_at_ship(self, *orders):
        def waiting():
            known = self.orders()
            return all(order in known and any(
                step["step"] == "Ship" and step.get("queued_at")
                for step in known[order]["active_steps"]) for order in orders)

        wait_for("all wait for the carrier", waiting, 60)

    def wait_state(self, state, *orders):
        def reached():
            known = self.orders()
            return all(order in known and known[order]["state"] == state for order in orders)

        wait_for(f"{orders} are {state}", reached, 60)

    def across_a_crash(self, point, *arguments):
        """Sends the command to a scheduler that crashes at this point of its Decision; the next
        one answers it. Returns the answer."""
        answers = []
        self.scheduler.terminate()
        self.scheduler.start(env={"REEVE_FAILPOINT": f"{point}=kill@1"})
        waiting = threading.Thread(target=lambda: answers.append(
            self.cli(*arguments, "--output", "json", check=False)))
        waiting.start()
        self.assertEqual(self.scheduler.wait_end(), -9, point)
        self.scheduler.start()
        waiting.join(60)
        (answer,) = answers
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)[0]

    def check(self, *agents):
        """The invariants hold, as the log and these agents have it."""
        effects = tuple(f"requests.{agent}" for agent in agents)
        self.assertEqual(check(self.cluster, at_rest=False, effects=effects, agents=agents), [])
