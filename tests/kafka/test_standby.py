# SPDX-License-Identifier: Apache-2.0
"""What makes a takeover short: static members that are back in time, and schedulers that stand by.

REEVE_TAKEOVER_ORDERS: how many orders are open when their scheduler is killed (100000)."""

import decimal
import json
import os
import threading
import time
import unittest

import confluent_kafka

from lib import Broker, Cluster, records, wait_for
from lib.checker import partition_of
from lib.crowd import Crowd

TIMEOUT_SECONDS = 600


class StaticTest(unittest.TestCase):
    """Two schedulers and agents, all of them static members; the session is long: whatever waits
    for its end would be seen."""

    @classmethod
    def setUpClass(cls):
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)
        cls.crowd = Crowd(cls.broker, schedulers=2,
                          properties={"group.static": "true", "session.timeout.ms": 30000})
        cls.addClassCleanup(cls.crowd.stop)

    @classmethod
    def tearDownClass(cls):
        findings = cls.crowd.findings()
        if findings:
            raise AssertionError("\n".join(findings))

    def rebalances(self, name):
        return self.crowd[name].stderr.count("partitions revoked")

    def wait_for_both(self):
        wait_for("each scheduler runs three partitions", lambda: [
            self.crowd[f"scheduler-{i}"].metric("reeve_partitions_running") for i in (1, 2)
        ] == [3, 3], 60)

    def test_who_is_back_at_once_is_not_missed(self):
        crowd = self.crowd
        self.wait_for_both()
        crowd.wait_for_end(crowd.submit(60))
        before = self.rebalances("scheduler-1")
        claims = len(crowd.claims())
        owned = [p for p, name in crowd.owners().items() if name == "scheduler-2"]
        victim = crowd["scheduler-2"]
        victim.sigkill()
        begun = time.monotonic()
        names = crowd.submit(30)
        victim.start(ready=False)
        first = [name for name in names if partition_of(name, 6) in owned]
        wait_for("an order of its partitions ends", lambda: crowd.ended(first), 60, 0.01)
        print(f"killed and started again: the first order was done after "
              f"{time.monotonic() - begun:.2f} s")
        crowd.wait_for_end(names)
        self.wait_for_both()
        self.assertEqual(self.rebalances("scheduler-1"), before, crowd["scheduler-1"].tail())
        new = {claim.partition: claim.value["instance"] for claim in crowd.claims()[claims:]}
        self.assertEqual(new, {p: "scheduler-2" for p in owned})

    def test_of_two_with_one_name_the_older_ends(self):
        crowd = self.crowd
        self.wait_for_both()
        for role, name in (("scheduler", "scheduler-2"), ("agent", "agent-bank"),
                           ("submission", "submission")):
            older = crowd[name]
            twin = crowd.add(role, f"{name}-twin", {**older.properties, "instance.id": name,
                                                    "data.dir": crowd.cluster.folder / "twin"},
                             start=False)
            twin.properties["data.dir"] = twin.data
            twin.start(ready=False)
            self.assertEqual(older.wait_end(60), 78, older.tail())
            self.assertIn(f"another process with instance.id {name} has taken this one's place",
                          older.stderr)
            twin.wait_ready(60)
            twin.sigkill()
            older.start(ready=False)
        crowd.wait_ready()
        crowd.wait_for_end(crowd.submit(20))

    def test_a_static_member_has_a_name(self):
        service = self.crowd.cluster.add("scheduler", "nameless", start=False)
        service.start(ready=False)
        self.assertEqual(service.wait_end(30), 78)
        self.assertIn("group.static needs an instance.id", service.stderr)


def lines_of(service, message):
    """The service's log lines with that message, as dicts."""
    found = []
    for line in service.stderr.splitlines():
        if line.startswith("{") and message in line:
            entry = json.loads(line)
            if entry.get("message") == message:
                found.append(entry)
    return found


class StandbyTest(unittest.TestCase):
    """Of three schedulers, each stands by for all that it does not own."""

    def test_every_takeover_is_warm(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        crowd = Crowd(broker, schedulers=0, supervisors=1)
        self.addCleanup(crowd.stop)
        trio = [crowd.add("scheduler", f"scheduler-{number}", {"scheduler.standby": 2})
                for number in (1, 2, 3)]
        names = crowd.submit(60)
        for service in trio:
            wait_for(lambda s=service: f"{s.name} runs two, stands by for four:\n{s.tail()}",
                     lambda s=service: (s.metric("reeve_partitions_running") == 2 and
                                        s.metric("reeve_partitions_warm") == 4), 60)
        crowd.wait_for_end(names)
        victim, others = trio[1], (trio[0], trio[2])
        before = [len(lines_of(service, "standby takes over")) for service in others]
        claims = len(crowd.claims())
        owned = {p for p, name in crowd.owners().items() if name == victim.name}
        names = crowd.submit(60)
        victim.sigkill()
        crowd.wait_for_end(names)
        for service in others:
            wait_for(f"{service.name} runs three", lambda s=service:
                     s.metric("reeve_partitions_running") == 3, 60)
        taken = sum(len(lines_of(service, "standby takes over")) for service in others)
        claimed = {claim.partition for claim in crowd.claims()[claims:]}
        self.assertLessEqual(owned, claimed)
        self.assertEqual(taken - sum(before), len(claimed), [s.tail() for s in others])
        for service in others:
            wait_for(f"{service.name} stands by for the other three", lambda s=service:
                     s.metric("reeve_partitions_warm") == 3, 60)
        # `verify --live` compares the standbys' stores too.
        self.assertEqual(crowd.findings(), [])


LONG = {"Name": "long", "Version": 1, "TimeoutSeconds": 864000,
        "Steps": [{"Name": "Wait", "Agent": "mute", "TimeoutSeconds": 777600}]}


class Orders(threading.Thread):
    """SubmitOrder commands as the submission service writes them, one encoded for all: a million
    takes seconds. As a thread, one order every 10 ms."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.topic, self.count, self.ends = cluster.topic("commands"), 0, threading.Event()
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": cluster.broker.bootstrap, "acks": "all",
            "enable.idempotence": True, "linger.ms": 5, "compression.type": "lz4",
            "queue.buffering.max.messages": 1000000})
        self.template = records.local_schemas().encode("SubmitOrder", {
            "order_id": "order-########", "customer": "17850", "currency": "GBP",
            "lines": [{"sku": "85123A", "description": "WHITE HANGING HEART", "quantity": 6,
                       "unit_price": decimal.Decimal("2.5500")}] * 2,
            "attributes": {}, "priority": "normal", "reply_to": "", "workflow": "long",
            "workflow_version": 1, "traceparent": "", "content_hash": bytes(16)})

    def submit(self, count=1):
        for _ in range(count):
            self.count += 1
            name = b"order-%08d" % self.count
            while True:
                try:
                    self.producer.produce(
                        self.topic, self.template.replace(b"order-########", name), key=name)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self.producer.poll(0)

    def run(self):
        while not self.ends.wait(0.01):
            self.submit()

    def finish(self):
        self.ends.set()
        if self.ident is not None:
            self.join(30)
        self.producer.flush(60)


class TakeoverTest(unittest.TestCase):
    """One partition, all orders open: what its scheduler's death costs."""

    count = int(os.environ.get("REEVE_TAKEOVER_ORDERS", "100000"))
    session_ms = 2000
    patience = 300 + count // 1000

    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.cluster = Cluster(self.broker, partitions=1, properties={
            "session.timeout.ms": self.session_ms, "routing.enabled": "false"})
        self.addCleanup(self.cluster.stop)
        self.cluster.reeve("topics", "apply", "--agent", "mute")
        path = self.cluster.folder / "long.json"
        path.write_text(json.dumps(LONG), encoding="utf-8")
        self.cluster.workflow_deploy(path)

    def scheduler(self, name, standby):
        return self.cluster.add("scheduler", name, {
            "instance.id": name, "scheduler.standby": standby}, ready=False)

    def decided(self, *services):
        return sum(service.metric("reeve_decisions_total") or 0 for service in services)

    def wait_decided(self, count, *services):
        wait_for(lambda: f"{count} decided, {self.decided(*services)} are: {services[-1].tail()}",
                 lambda: self.decided(*services) >= count, self.patience)

    def end_of_log(self, consumer):
        return records.watermarks(consumer, confluent_kafka.TopicPartition(
            self.cluster.topic("events"), 0), 30)[1]

    def read_log(self, start):
        """Of events[0], from that offset to its present end."""
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.bootstrap, "group.id": "reader",
            "enable.auto.commit": False, "auto.offset.reset": "error"})
        try:
            end, found = self.end_of_log(consumer), []
            consumer.assign([confluent_kafka.TopicPartition(
                self.cluster.topic("events"), 0, start)])
            while not found or found[-1].offset + 1 < end:
                message = consumer.poll(30)
                self.assertIsNotNone(message)
                if not message.error():
                    found.append(records.to_record(message, records.local_schemas()))
            return found
        finally:
            consumer.close()

    def take_over(self, victim, heir, what):
        """Kills the owner while orders come in. How many records the heir folded, and the pause in
        the log, in ms: until its claim, until its first Decision."""
        claims = len(lines_of(heir, "partition claimed"))
        load = Orders(self.cluster)
        load.count = self.next_order
        before = self.decided(victim)
        load.start()
        try:
            wait_for("orders come in", lambda: self.decided(victim) > before + 20, 60)
            mark = lines_of(victim, "partition claimed")[-1]["claim_offset"]
            victim.sigkill()
            wait_for(lambda: f"{heir.name} takes over:\n{heir.tail()}", lambda: (
                len(lines_of(heir, "partition claimed")) > claims and
                self.decided(heir) > 0), self.patience, 0.05)
        finally:
            load.finish()
        self.next_order = load.count
        line = lines_of(heir, "partition claimed")[-1]
        claim = line["claim_offset"]
        log = self.read_log(max(mark, claim - 50))
        last = max(r.timestamp_ms for r in log if r.type == "Decision" and r.offset < claim)
        claimed = next(r.timestamp_ms for r in log if r.offset == claim)
        first = next(r.timestamp_ms for r in log
                     if r.type == "Decision" and r.offset > claim)
        print(f"{self.count} open orders, {what}: {line['folded']} records folded, "
              f"claimed {claimed - last} ms and decided {first - last} ms after the last Decision "
              f"of the old owner (session timeout {self.session_ms} ms)", flush=True)
        return line["folded"], first - last

    def test_takeover_with_many_open_orders(self):
        first, second = self.scheduler("owner-1", 1), None
        orders = Orders(self.cluster)
        begun = time.monotonic()
        orders.submit(self.count)
        orders.finish()
        self.next_order = orders.count
        self.wait_decided(self.count, first)
        print(f"{self.count} orders opened in {time.monotonic() - begun:.1f} s", flush=True)
        second = self.scheduler("owner-2", 1)
        wait_for(lambda: f"one owns and one stands by:\n{first.tail()}\n{second.tail()}",
                 lambda: sorted((s.metric("reeve_partitions_running") or 0,
                                 s.metric("reeve_partitions_warm") or 0)
                                for s in (first, second)) == [(0, 1), (1, 0)], self.patience)
        if second.metric("reeve_partitions_running") == 1:
            first, second = second, first
        warm, pause = self.take_over(first, second, "with a standby")
        third = self.scheduler("owner-3", 0)
        wait_for("the third joined and owns nothing", lambda: (
            lines_of(third, "partitions assigned") and
            lines_of(third, "partitions assigned")[-1]["count"] == 0), 60)
        cold, slow = self.take_over(second, third, "without")
        self.assertLess(warm, 2000)
        self.assertGreater(cold, self.count)
        self.assertLess(pause, self.session_ms + 60000)  # the machine may be busy
        self.assertLess(slow, self.session_ms + 300000)
        self.cluster.reeve("verify", seconds=self.patience)


if __name__ == "__main__":
    unittest.main()
