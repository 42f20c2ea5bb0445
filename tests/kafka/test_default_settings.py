# SPDX-License-Identifier: Apache-2.0
"""Three brokers, and a command line whose replication.factor is the default: it never makes a topic
less durable, except with --allow-weaker."""

import json
import unittest

from confluent_kafka.admin import AdminClient, ConfigResource

from lib import Broker, Cluster

OWN_BROKERS = True
TIMEOUT_SECONDS = 400

FACTOR = ("--replication-factor", "3")


class DefaultSettingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker(nodes=3)
        cls.addClassCleanup(cls.broker.stop)
        cls.admin = AdminClient({"bootstrap.servers": cls.broker.bootstrap})

    def cluster(self):
        """A cluster whose command line has no replication.factor, with its topics applied."""
        cluster = Cluster(self.broker, partitions=2)
        self.enterContext(cluster)
        lines = cluster.config.read_text().splitlines(keepends=True)
        cluster.config.write_text("".join(
            line for line in lines if not line.startswith("replication.factor")))
        cluster.reeve("topics", "apply", "--app", "web", *FACTOR)
        return cluster

    def replicas(self, cluster, topic):
        found = self.admin.list_topics(timeout=30).topics[topic].partitions.values()
        return {len(partition.replicas) for partition in found}

    def settings(self, cluster, name="min.insync.replicas"):
        """{topic: value} of every topic of the cluster."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic)
                     for topic in cluster.topics() if topic.startswith(f"{cluster.prefix}.")]
        return {resource.name: future.result(30)[name].value
                for resource, future in self.admin.describe_configs(resources).items()}

    def set(self, topic, **settings):
        """As an operator would; what is left out becomes the default."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={
            name.replace("_", "."): value for name, value in settings.items()})
        for future in self.admin.alter_configs([resource]).values():
            future.result(30)

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
