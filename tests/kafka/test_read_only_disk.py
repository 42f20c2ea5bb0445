# SPDX-License-Identifier: Apache-2.0
"""The file system of the stores becomes read-only, as ext4 does after an error of its disk. The
partitions on it stop and show the reason, others go on, and no process ends; once a writable file
system is mounted, with or without a restart, everything continues. The file system is a file that
is loop-mounted, which takes root."""

import json
import time
import unittest

from lib import Broker, Cluster, check, paths, wait_for
from lib.checker import partition_of
from lib.loop_disk import new_disk

TIMEOUT_SECONDS = 300
WORKFLOW = paths.ROOT / "examples/workflows/three-steps.yaml"
PARTITIONS = 4
ROLES = ("scheduler", "supervisor", "console")
ENDED = ("Processed", "Error")


class ReadOnlyDiskTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(Broker.shared(), partitions=PARTITIONS, properties={
            "session.timeout.ms": 2000})
        self.disk = new_disk(self.cluster.folder)
        self.addCleanup(self.disk.unmount)
        self.addCleanup(self.cluster.stop)
        self.cluster.expect_alerts("StoreIo", "StoreDamaged")
        self.cluster.topics_apply()
        self.cluster.workflow_deploy(WORKFLOW)
        self.cluster.add("submission")
        self.cluster.add("agent", properties={"agent.name": "noop", "agent.kind": "sim"})
        self.services = [self.add_on_disk(role) for role in ROLES]
        self.other = self.cluster.add("scheduler", name="other", properties={
            "instance.id": "other"})  # its stores are elsewhere
        self.wait_ready()
        self.wait_shared()

    def add_on_disk(self, role):
        service = self.cluster.add(role, start=False, properties={
            "data.dir": self.disk.path / role, "disk.free.min.mb": 0})
        service.data = self.disk.path / role
        service.data.mkdir()
        return service.start(ready=False)

    def wait_ready(self):
        for service in self.services:
            service.wait_ready(90)  # a stopped partition is tried again every 30 s

    def wait_shared(self):
        schedulers = (self.services[0], self.other)
        wait_for("each scheduler runs two partitions", lambda: [
            service.metric("reeve_partitions_running") for service in schedulers] == [2, 2], 60)

    def of_other(self, orders):
        """The orders whose partition belongs to the other scheduler."""
        owners = {r.partition: r.value["instance"] for r in self.cluster.read_topic("events")
                  if r.type == "Claim"}
        return [o for o in orders if owners[partition_of(o, PARTITIONS)] == "other"]

    def submit(self, name, count=20):
        orders = [f"{name}-{number}" for number in range(count)]
        self.assertEqual({partition_of(order, PARTITIONS) for order in orders},
                         set(range(PARTITIONS)))
        self.cluster.reeve("submit", "-", stdin="".join(json.dumps({
            "order_id": order, "customer": "c", "currency": "GBP", "workflow": "three-steps",
            "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}) + "\n"
            for order in orders))
        return orders

    def wait_ended(self, orders):
        def ended(records):
            states = {r.value["order_id"]: r.value["order_state"] for r in records
                      if r.type == "Decision"}
            return all(states.get(order) in ENDED for order in orders)

        return self.cluster.wait_for_records("events", ended, 90)

    def stopped(self, service):
        """Whether a partition of it is stopped. One that writes nothing notices nothing."""
        if service.role == "console":  # ready as soon as it has read every partition once
            return (service.metric("reeve_console_partitions_stopped") or 0) > 0
        status, reason = service.get("/readyz")
        return status == 503 and "Read-only file system" in reason

    def damage_and_submit(self, name):
        """Returns the orders, when every service has stopped a partition and lives."""
        self.disk.damage()
        orders = self.submit(name)
        self.wait_ended(self.of_other(orders))
        for service in self.services:
            wait_for(lambda service=service: f"{service.name} stops with the reason: "
                     f"{service.get('/readyz')}\n{service.tail()}",
                     lambda service=service: self.stopped(service), 30)
        # Beyond the second try to open the stores again, 9 s after the first failure.
        until = time.monotonic() + 12
        wait_for("the stores were tried again", lambda: time.monotonic() > until, 30)
        for service in self.services:
            self.assertTrue(service.is_running, service.tail())
            self.assertEqual(service.get("/livez")[0], 200, service.name)
            self.assertTrue(self.stopped(service), service.get("/readyz"))
        return orders

    def test_partitions_stop_and_continue_by_themselves(self):
        self.wait_ended(self.submit("before"))
        processes = [service.process for service in self.services]

        orders = self.damage_and_submit("mounted")
        self.disk.repair()
        self.wait_ready()
        self.wait_ended(orders)
        self.wait_shared()
        self.assertEqual([service.process for service in self.services], processes)

        orders = self.damage_and_submit("restarted")
        for service in self.services:
            service.terminate()
        self.disk.repair()
        for service in self.services:
            service.start(ready=False)
        self.wait_ready()
        self.wait_ended(orders)

        for service in self.services:
            self.assertNotIn("Assertion", service.stderr, service.tail())
            self.cluster.reeve("verify", "--live", service.data)
        codes = {r.value["code"] for r in self.cluster.read_topic("alerts")
                 if r.type == "OperatorAlert"}
        self.assertIn("StoreIo", codes)
        self.assertEqual(check(self.cluster, effects=["requests.noop"], agents=["noop"]), [])


if __name__ == "__main__":
    unittest.main()
