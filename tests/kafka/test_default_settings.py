# SPDX-License-Identifier: Apache-2.0
"""Three brokers, and a command line whose replication.factor is the default: it never makes a topic
less durable, except with --allow-weaker."""

import itertools
import json
import unittest

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from lib import Broker, Cluster, wait_for

OWN_BROKERS = True
TIMEOUT_SECONDS = 400

FACTOR = ("--replication-factor", "3")


class DefaultSettingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker(nodes=3)
        cls.addClassCleanup(cls.broker.stop)
        cls.admin = AdminClient({"bootstrap.servers": cls.broker.bootstrap})
        cls.marks = itertools.count(1)
        cls.admin.create_topics([NewTopic("mark", 1, 3)])["mark"].result(30)

    def cluster(self):
        """A cluster whose command line has no replication.factor, with its topics applied."""
        cluster = Cluster(self.broker, partitions=2)
        self.enterContext(cluster)
        lines = cluster.config.read_text().splitlines(keepends=True)
        cluster.config.write_text("".join(
            line for line in lines if not line.startswith("replication.factor")))
        cluster.reeve("topics", "apply", "--app", "web", *FACTOR)
        return cluster

    def alter(self, topic, settings):
        """What is left out becomes the default."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=settings)
        self.admin.alter_configs([resource])[resource].result(30)

    def describe(self, topics, **options):
        """{topic: {name: entry}}."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        return {resource.name: future.result(30)
                for resource, future in self.admin.describe_configs(resources, **options).items()}

    def settle(self):
        """Returns when each broker knows all changes so far. The controller acknowledges a change
        before the brokers, which answer for topics, have read it; they read changes in order, so a
        broker that knows the last one knows all."""
        mark = str(next(self.marks))
        self.alter("mark", {"retention.ms": mark})
        for broker in self.admin.list_topics(timeout=30).brokers:
            wait_for(f"broker {broker} knows mark {mark}", lambda at=broker: self.describe(
                ["mark"], broker=at)["mark"]["retention.ms"].value == mark)

    def replicas(self, cluster, topic):
        self.settle()
        found = self.admin.list_topics(timeout=30).topics[topic].partitions.values()
        return {len(partition.replicas) for partition in found}

    def settings(self, cluster, name="min.insync.replicas"):
        """{topic: value} of every topic of the cluster."""
        self.settle()
        topics = [topic for topic in cluster.topics() if topic.startswith(f"{cluster.prefix}.")]
        return {topic: entries[name].value for topic, entries in self.describe(topics).items()}

    def set(self, topic, **settings):
        """As an operator would, long before the next command."""
        self.alter(topic, {name.replace("_", "."): value for name, value in settings.items()})
        self.settle()

    def test_deploy_touches_only_the_topic_that_it_creates(self):
        cluster = self.cluster()
        workflow = cluster.folder / "workflow.json"
        workflow.write_text(json.dumps({"Name": "one", "Version": 1, "Steps": [
            {"Name": "Only", "Agent": "fresh"}]}))
        alerts, fresh = cluster.topic("alerts"), cluster.topic("requests.fresh")
        self.set(alerts, min_insync_replicas="2", retention_ms="86400000")
        cluster.reeve("workflow", "deploy", workflow)
        self.assertEqual(set(self.settings(cluster).values()), {"2"})
        self.assertEqual(self.settings(cluster, "retention.ms")[alerts], "86400000")
        self.assertEqual(self.settings(cluster, "retention.ms")[fresh], "86400000")
        self.assertEqual(self.replicas(cluster, fresh), {3})
        self.assertEqual(len(cluster.topics()[fresh].partitions), 2)

    def test_apply_takes_the_factor_of_commands(self):
        cluster = self.cluster()
        before = self.settings(cluster)
        done = cluster.reeve("topics", "apply", "--agent", "late")
        self.assertEqual(done.stderr, "1 created, 0 changed, 0 differ\n")
        late = cluster.topic("requests.late")
        self.assertEqual(self.settings(cluster), {**before, late: "2"})
        self.assertEqual(self.replicas(cluster, late), {3})
        cluster.reeve("topics", "check")

    def test_apply_keeps_a_stricter_setting(self):
        cluster = self.cluster()
        events = cluster.topic("events")
        self.set(events, min_insync_replicas="3")
        cluster.reeve("topics", "apply", *FACTOR)
        self.assertEqual(self.settings(cluster)[events], "3")
        cluster.reeve("topics", "check", *FACTOR)

    def test_apply_refuses_to_lower_durability(self):
        cluster = self.cluster()
        before = self.settings(cluster)
        for more in ((), ("--agent", "late")):
            done = cluster.reeve("topics", "apply", "--replication-factor", "1", *more,
                                 "--output", "json", check=False)
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertEqual(json.loads(done.stderr)["error"]["code"], "WeakerDurability")
            self.assertIn("--allow-weaker", done.stderr)
            self.assertEqual(self.settings(cluster), before)
        done = cluster.reeve("topics", "apply", "--replication-factor", "1", "--agent", "late",
                             "--allow-weaker", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)  # replicas never change: they differ
        self.assertEqual(set(self.settings(cluster).values()), {"1"})
        self.assertEqual(self.replicas(cluster, cluster.topic("requests.late")), {1})


if __name__ == "__main__":
    unittest.main()
