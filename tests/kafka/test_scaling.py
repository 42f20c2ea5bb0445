# SPDX-License-Identifier: Apache-2.0
"""Scaling by starting and stopping instances while orders come in: one scheduler, supervisor and
agent of each name, then two, four, two and one again."""

import json
import unittest

import confluent_kafka

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.load import Load
from lib.records import watermarks

TIMEOUT_SECONDS = 600
PARTITIONS = 8
STEPS = (2, 4, 2, 1)


class ScalingTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, partitions=PARTITIONS, schedulers=1, supervisors=1,
                           properties={"agent.heartbeat.ms": 500})
        self.addCleanup(self.crowd.stop)
        self.groups = {"scheduler": [self.crowd["scheduler-1"]],
                       "supervisor": [self.crowd["supervisor-1"]],
                       "stock": [self.crowd["agent-stock"]], "bank": [self.crowd["agent-bank"]]}

    def set_size(self, size):
        """Starts instances, or stops them with SIGTERM."""
        for name, group in self.groups.items():
            while len(group) < size:
                number = len(group) + 1
                group.append(
                    self.crowd.add(name, f"{name}-{number}", ready=False)
                    if name in ("scheduler", "supervisor")
                    else self.crowd.add_agent(name, f"agent-{name}-{number}", ready=False))
            for service in group[size:]:
                service._signal(15)
            for service in group[size:]:
                self.assertEqual(service.wait_end(60), 0, service.tail())
                # A later instance with this name is a new one.
                del self.crowd.cluster.services[service.name]
            del group[size:]

    def shares(self, name):
        if name == "scheduler":
            return [int(service.metric("reeve_partitions_running") or 0)
                    for service in self.groups[name]]
        if name == "supervisor":
            return [int(service.metric("reeve_partitions_assigned") or 0)
                    for service in self.groups[name]]
        return self.agent_shares(name)

    def agent_shares(self, name):
        """The partitions of each instance, from its latest log line."""
        found = []
        for service in self.groups[name]:
            lines = [json.loads(line) for line in service.stderr.splitlines()
                     if '"partitions assigned"' in line]
            found.append(lines[-1]["count"] if lines else 0)
        return found

    def wait_even(self, size):
        def even():
            for name in self.groups:
                shares = self.shares(name)
                if len(shares) != size or sum(shares) != PARTITIONS or (
                        max(shares) - min(shares) > 1):
                    return False
            return True

        wait_for(lambda: f"evenly spread over {size}: "
                         f"{ {name: self.shares(name) for name in self.groups} }", even, 90, 0.2)

    def end_offsets(self):
        """The end offset of each partition of events."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.broker.bootstrap,
                                             "group.id": "reader"})
        try:
            topic = self.crowd.cluster.topic("events")
            return [watermarks(consumer, confluent_kafka.TopicPartition(topic, number), 30)[1]
                    for number in range(PARTITIONS)]
        finally:
            consumer.close()

    def pauses(self, begin, end):
        """The longest time without a Decision for each partition whose owner changed between these
        two positions of the log."""
        found = []
        records = self.crowd.look()
        for number in range(PARTITIONS):
            part = [r for r in records if r.partition == number
                    and begin[number] - 1 <= r.offset < end[number]]
            if not any(r.type == "Claim" for r in part):
                continue
            times = [r.timestamp_ms for r in part if r.type == "Decision"]
            found.append(max((b - a for a, b in zip(times, times[1:])), default=0))
        return sorted(found)

    def test_scales_to_two_and_four_instances_and_back(self):
        crowd = self.crowd
        self.wait_even(1)
        load = Load(crowd)
        marks = []
        try:
            wait_for("orders end", lambda: len(crowd.ended(list(load.begun))) > 50, 60)
            for size in STEPS:
                before = self.end_offsets()
                self.set_size(size)
                self.wait_even(size)
                # Each partition must decide again.
                have = self.end_offsets()
                wait_for("every partition decides", lambda have=have: all(
                    now > then + 2 for now, then in zip(self.end_offsets(), have)), 60, 0.2)
                marks.append((size, before, self.end_offsets(),
                              {name: self.shares(name) for name in self.groups}))
        finally:
            names = load.finish()
        crowd.wait_for_end(names, 120)
        self.assertEqual(load.lost(), set())
        for size, begin, end, shares in marks:
            pauses = self.pauses(begin, end)
            middle = pauses[len(pauses) // 2] if pauses else 0
            print(f"{size} of each: partitions {shares['scheduler']}, {len(pauses)} moved, "
                  f"pause {middle} ms (median), {max(pauses, default=0)} ms (longest)", flush=True)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        self.assertEqual(crowd.findings(), [])


if __name__ == "__main__":
    unittest.main()
