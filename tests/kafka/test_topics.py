# SPDX-License-Identifier: Apache-2.0
"""Topics that are not as reeve needs them: partitions were added, the log is not kept for ever. No
service goes on or starts, each says why, and nothing is decided meanwhile."""

import unittest

from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions

from lib import Broker, wait_for
from lib.crowd import Crowd

TIMEOUT_SECONDS = 300
PARTITIONS = 3


class TopicsTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, partitions=PARTITIONS)
        self.addCleanup(self.crowd.stop)
        self.admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})

    def add_partitions(self, *names):
        wanted = [NewPartitions(self.crowd.cluster.topic(name), PARTITIONS + 2) for name in names]
        for future in self.admin.create_partitions(wanted).values():
            future.result(30)

    def alerts(self):
        return {record.value["code"] for record in self.crowd.cluster.read_topic("alerts")}

    def test_services_end_when_partitions_are_added(self):
        crowd = self.crowd
        crowd.cluster.expect_alerts("PartitionsDiffer")
        crowd.add("console", "console")
        crowd.wait_for_end(crowd.submit(20))
        self.add_partitions("commands", "events")
        for name in ("scheduler-1", "supervisor-1", "console"):
            service = crowd[name]
            self.assertEqual(service.wait_end(60), 65, service.tail())
            self.assertIn("has 5 partitions now, and had 3 when this process started",
                          service.stderr)
        self.assertIn("PartitionsDiffer", self.alerts())
        # All topics agree with each other, but not with the log.
        self.add_partitions("submissions")
        for name in ("scheduler-1", "supervisor-1", "console"):
            crowd[name].start(ready=False)
            self.assertEqual(crowd[name].wait_end(60), 65, crowd[name].tail())
            self.assertIn("was claimed when there were 3 partitions, and now there are 5",
                          crowd[name].stderr)
        claims = {record.value["partition_count"] for record in crowd.claims()}
        self.assertEqual(claims, {PARTITIONS})

    def test_no_service_starts_while_submissions_differ(self):
        crowd = self.crowd
        service = crowd["scheduler-1"]
        service.terminate()
        self.add_partitions("submissions")
        service.start(ready=False)
        self.assertEqual(service.wait_end(60), 65, service.tail())
        self.assertIn("submissions: has 5 partitions; expected 3", service.stderr)

    def test_no_service_starts_while_the_log_is_not_kept_for_ever(self):
        crowd, topic = self.crowd, self.crowd.cluster.topic("events")
        crowd.wait_for_end(crowd.submit(5))
        for name in ("submission", "scheduler-1", "supervisor-1"):
            crowd[name].terminate()
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={
            "retention.ms": "604800000", "message.timestamp.type": "LogAppendTime"})
        self.admin.alter_configs([resource])[resource].result(30)
        wait_for("the setting is in force", lambda: self.admin.describe_configs(
            [resource])[resource].result(30)["retention.ms"].value == "604800000", 30)
        for name in ("submission", "scheduler-1", "supervisor-1"):
            crowd[name].start(ready=False)
            self.assertEqual(crowd[name].wait_end(60), 65, crowd[name].tail())
            self.assertIn(f"{topic}: retention.ms is 604800000; expected -1", crowd[name].stderr)
        flags = [flag for agent in crowd.agents for flag in ("--agent", agent)]
        crowd.cluster.reeve("topics", "apply", "--app", "web", *flags)
        for name in ("submission", "scheduler-1", "supervisor-1"):
            crowd[name].start()
        crowd.wait_for_end(crowd.submit(5))
        self.assertEqual(crowd.findings(), [])


if __name__ == "__main__":
    unittest.main()
