# SPDX-License-Identifier: Apache-2.0
"""Too little free disk space for the stores: scheduler (owner or standby), supervisor and console
pause before a write could fail, report it, lose nothing, and resume by themselves once there is
space. A large file fills the disk and is removed again; no process is restarted."""

import json
import os
import time
import unittest

from lib import Broker, Cluster, check, paths, wait_for
from lib.checker import partition_of

TIMEOUT_SECONDS = 600
WORKFLOW = paths.ROOT / "examples/workflows/three-steps.yaml"
# It has no agent: only the supervisor ends such an order.
SILENT = {"Name": "silent", "Version": 1, "TimeoutSeconds": 3600, "Steps": [
    {"Name": "Wait", "Agent": "absent", "TimeoutSeconds": 0.5, "OnExhausted": "error"}]}
ROLES = ("scheduler", "supervisor", "console")
ENDED = ("Processed", "Error")
MB = 1 << 20


class Disk:
    """The disk of `folder`. The watermark is one margin below the space that is free now; fill()
    leaves one margin less than the watermark. Other processes use less than a margin meanwhile."""

    MARGIN_MIN, MARGIN_MEMORY, MARGIN_MAX = 128 * MB, 256 * MB, 2048 * MB

    def __init__(self, folder):
        self.path = folder / "filler"
        self.folder = folder
        free = self.free()
        most = self.MARGIN_MEMORY if self.is_memory() else self.MARGIN_MAX
        self.margin = min(free // 4, most)
        assert self.margin >= self.MARGIN_MIN, f"only {free // MB} MB are free in {folder}"
        self.limit_mb = (free - self.margin) // MB

    def is_memory(self):
        device = os.stat(self.folder).st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8") as lines:
            return any(line.split()[2] == name and " - tmpfs " in line for line in lines)

    def free(self):
        info = os.statvfs(self.folder)
        return info.f_bavail * info.f_frsize

    def fill(self):
        """May be called again, when other processes have freed space."""
        missing = self.free() - (self.limit_mb * MB - self.margin)
        if missing > 0:
            with open(self.path, "ab") as file:
                os.posix_fallocate(file.fileno(), file.tell(), missing)

    def empty(self):
        self.path.unlink(missing_ok=True)

    def __str__(self):
        return f"{self.free() // MB} MB are free, the watermark is {self.limit_mb} MB"


def ended(records, orders):
    """Whether all of the orders have ended, according to these records."""
    states = {r.value["order_id"]: r.value["order_state"] for r in records if r.type == "Decision"}
    return all(states.get(order) in ENDED for order in orders)


class DiskTest(unittest.TestCase):
    """Services with too little space (`tight`) once the disk is filled."""

    def setUp(self):
        # The agent "absent" publishes no AgentHealth.
        self.cluster = Cluster(Broker.shared(), partitions=2, properties={
            "routing.enabled": "false", "session.timeout.ms": 2000})
        self.addCleanup(self.cluster.stop)
        self.disk = Disk(self.cluster.folder)
        self.addCleanup(self.disk.empty)
        self.cluster.topics_apply()
        self.cluster.workflow_deploy(WORKFLOW)
        silent = self.cluster.folder / "silent.json"
        silent.write_text(json.dumps(SILENT), encoding="utf-8")
        self.cluster.workflow_deploy(silent)
        self.cluster.add("submission")
        self.cluster.add("agent", properties={"agent.name": "noop", "agent.kind": "sim"})
        self.tight = []

    def add_tight(self, role, **properties):
        service = self.cluster.add(role, name=f"tight-{role}", ready=False, properties={
            "instance.id": f"tight-{role}", "disk.free.min.mb": self.disk.limit_mb, **properties})
        self.tight.append(service)
        return service

    def add_roomy(self, name, **properties):
        return self.cluster.add("scheduler", name=name, properties={
            "instance.id": name, "disk.free.min.mb": 0, **properties})

    def submit(self, name, count, workflow):
        orders = [f"{name}-{number}" for number in range(count)]
        self.cluster.reeve("submit", "-", stdin="".join(json.dumps({
            "order_id": order, "customer": "c", "currency": "GBP", "workflow": workflow,
            "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}) + "\n"
            for order in orders))
        return orders

    def fill(self):
        def all_are_low():
            self.disk.fill()
            return all(service.metric("reeve_disk_low") == 1 for service in self.tight)

        wait_for(lambda: f"all have seen that {self.disk}", all_are_low, 60)
        for service in self.tight:
            status, reason = service.get("/readyz")
            self.assertEqual(status, 503, service.name)
            self.assertIn("disk.free.min.mb", reason, service.name)

    def empty(self):
        """Returns the time in milliseconds."""
        now_ms = time.time() * 1000
        self.disk.empty()
        wait_for(lambda: f"all have seen that {self.disk}", lambda: all(
            service.metric("reeve_disk_low") == 0 for service in self.tight), 60)
        for service in self.tight:
            service.wait_ready(60)
        return now_ms

    def wait_unclaimed(self):
        """Waits until the scheduler without space is assigned a partition that it has to fold."""
        wait_for(lambda: f"both partitions assigned, one claimed:\n{self.scheduler.tail()}",
                 lambda: [self.scheduler.metric(f"reeve_partitions_{what}")
                          for what in ("assigned", "running")] == [2, 1], 60)

    def decisions_of_the_tight_one(self, records):
        claims = {str(r.value["claim_id"]) for r in records if r.type == "Claim"
                  and r.value["instance"] == "tight-scheduler"}
        return [r for r in records if r.type == "Decision" and str(r.value["claim_id"]) in claims]


class WatermarkTest(DiskTest):
    def setUp(self):
        super().setUp()
        self.scheduler, self.supervisor, self.console = [self.add_tight(role) for role in ROLES]
        for service in self.tight:
            service.wait_ready(60)
        self.processes = [service.process for service in self.tight]

    def lags(self):
        return [service.metric("reeve_fold_lag_records")
                for service in (self.supervisor, self.console)]

    def test_each_service_pauses_and_resumes_by_itself(self):
        before = self.submit("before", 10, "three-steps")
        events = self.cluster.wait_for_records("events", lambda all: ended(all, before), 60)
        wait_for("both have folded that", lambda: self.lags() == [0, 0] and
                 self.console.get("/api/orders/before-9")[0] == 200, 60)
        self.fill()

        # The scheduler decides nothing.
        processed, silent = self.submit("p", 20, "three-steps"), self.submit("s", 10, "silent")
        self.cluster.wait_for_records(
            "commands", lambda all: {*processed, *silent} <= {r.key for r in all}, 60)
        # Another scheduler has space, so the log grows; supervisor and console do not fold it.
        roomy = self.add_roomy("roomy")
        seen = self.cluster.wait_for_records("events", lambda all: any(
            ended([r for r in all if r.partition == number], orders) for number in (0, 1)
            for orders in [[r.key for r in all if r.partition == number and r.key in processed]]
            if orders), 60)
        grown = [r for r in seen if r.type == "Decision" and r.key not in before]
        wait_for(lambda: f"{len(grown)} records wait: {self.lags()}",
                 lambda: all((lag or 0) >= len(grown) for lag in self.lags()), 60)
        status, body = self.console.get(f"/api/orders/{grown[0].key}")
        self.assertEqual((status, "waits for free disk space" in body), (503, True), body)
        # It stops. The scheduler without space gets its partition, cannot fold what it missed, and
        # so does not claim.
        roomy.terminate()
        self.wait_unclaimed()
        wait_for(lambda: f"it says what it waits for:\n{self.scheduler.tail()}",
                 lambda: "disk space to fold" in self.scheduler.stderr, 60)
        # Steps are overdue, and no supervisor requests their recovery.
        started = max(r.timestamp_ms for r in grown)
        wait_for("a step is overdue", lambda: time.time() * 1000 > started + 2500, 30)

        emptied_ms = self.empty()
        events = self.cluster.wait_for_records(
            "events", lambda all: ended(all, processed + silent), 120)
        wait_for(lambda: f"everything is folded: {self.lags()}", lambda: self.lags() == [0, 0], 60)

        paused = [r for r in events if r.key not in before]
        self.assertEqual([r for r in self.decisions_of_the_tight_one(events) if r in paused
                          and r.timestamp_ms < emptied_ms], [])
        self.assertNotEqual([r for r in self.decisions_of_the_tight_one(events) if r in paused], [])
        requests = [r for r in self.cluster.read_topic("commands") if r.type == "RecoverStep"]
        self.assertEqual({r.key for r in requests}, set(silent))
        self.assertGreaterEqual(min(r.timestamp_ms for r in requests), emptied_ms)
        self.assertEqual([service.process for service in self.tight], self.processes)
        for service in self.tight:
            self.assertTrue(service.is_running, service.name)
            for line in ("paused: too little free disk space", "resumed: enough free disk space"):
                self.assertEqual(service.stderr.count(line), 1, service.tail())
            self.cluster.reeve("verify", "--live", service.data)
        self.assertEqual(check(self.cluster, effects=["requests.noop"], agents=["noop"]), [])


class StandbyTest(DiskTest):
    """Two schedulers, each owner of one partition and standby for the other; one has no space."""

    def setUp(self):
        super().setUp()
        self.scheduler = self.add_tight("scheduler", **{"scheduler.standby": 1})
        self.roomy = self.add_roomy("roomy", **{"scheduler.standby": 1})
        self.wait_for_standby()

    def wait_for_standby(self):
        wait_for(lambda: f"one partition owned, one on standby:\n{self.scheduler.tail()}", lambda: [
            self.scheduler.metric(f"reeve_partitions_{what}")
            for what in ("running", "standby", "warm")] == [1, 1, 1], 60)

    def owned_by(self, name):
        """The partitions whose latest Claim is by that scheduler."""
        owners = {r.partition: r.value["instance"] for r in self.cluster.read_topic("events")
                  if r.type == "Claim"}
        return [number for number, owner in owners.items() if owner == name]

    def orders_of(self, name, orders):
        """The orders on that scheduler's partitions."""
        owned = self.owned_by(name)
        return [order for order in orders if partition_of(order, 2) in owned]

    def wait_ended(self, orders):
        return self.cluster.wait_for_records("events", lambda all: ended(all, orders), 120)

    def fill_and_submit(self, name):
        """Fills the disk and submits orders; those on the roomy scheduler's partition end. Returns
        the time when the disk was full, and the orders."""
        self.fill()
        filled_ms = time.time() * 1000
        orders = self.submit(name, 20, "three-steps")
        self.wait_ended(self.orders_of("roomy", orders))
        wait_for("the standby pauses", lambda: (
            self.scheduler.metric("reeve_partitions_warm") == 0 and
            self.scheduler.metric("reeve_partitions_standby") == 1 and
            self.scheduler.metric("reeve_standby_lag_records") > 0), 60)
        return filled_ms, orders

    def test_a_standby_pauses_and_loses_no_partition(self):
        self.wait_ended(self.submit("before", 10, "three-steps"))

        # It resumes as a standby.
        first_ms, orders = self.fill_and_submit("paused")
        first_end_ms = self.empty()
        self.wait_for_standby()
        self.wait_ended(orders)

        # The owner crashes. The scheduler without space is assigned the partition and cannot fold
        # what it missed, so it does not claim; a new one with space continues.
        second_ms, orders = self.fill_and_submit("killed")
        self.roomy.sigkill()
        orders += self.submit("orphaned", 20, "three-steps")
        self.wait_unclaimed()
        self.add_roomy("third", **{"scheduler.standby": 1})
        self.wait_ended(self.orders_of("third", orders))
        second_end_ms = self.empty()
        events = self.wait_ended(orders)
        self.wait_for_standby()

        for since_ms, until_ms in ((first_ms, first_end_ms), (second_ms, second_end_ms)):
            self.assertEqual([r for r in self.decisions_of_the_tight_one(events)
                              if since_ms < r.timestamp_ms < until_ms], [])
        self.assertEqual(self.scheduler.stderr.count("paused: too little free disk space"), 2,
                         self.scheduler.tail())
        self.assertEqual(self.scheduler.stderr.count("resumed: enough free disk space"), 2,
                         self.scheduler.tail())
        self.assertNotIn("partition stopped", self.scheduler.stderr)
        self.cluster.reeve("verify", "--live", self.scheduler.data)
        self.assertEqual(check(self.cluster, effects=["requests.noop"], agents=["noop"]), [])


if __name__ == "__main__":
    unittest.main()
