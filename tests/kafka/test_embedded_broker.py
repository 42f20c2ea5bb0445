# SPDX-License-Identifier: Apache-2.0
"""Kafka's own tools and librdkafka on `reeve broker`: what they do on Kafka, they do here."""

import os
import pathlib
import signal
import subprocess
import unittest

import confluent_kafka
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from lib import paths, wait_for

OWN_BROKERS = True
TIMEOUT_SECONDS = 300
TOOLS = "org.apache.kafka.tools"


class ReeveBroker:
    def __init__(self, folder, *arguments):
        self.folder, self.arguments = folder, arguments
        self.start()

    def start(self):
        file = self.folder / "bootstrap"
        file.unlink(missing_ok=True)
        self.stderr = self.folder / "stderr"
        port = ["--port", self.bootstrap.split(":")[1]] if hasattr(self, "bootstrap") else []
        with open(self.stderr, "ab") as stderr:
            self.process = subprocess.Popen(
                [paths.reeve_binary(), "broker", "--state", self.folder / "state",
                 "--bootstrap-file", file, *port, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        wait_for(self.stderr.read_text, file.exists)
        self.bootstrap = file.read_text(encoding="utf-8")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class EmbeddedBrokerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([paths.KAFKA, "fetch"], capture_output=True, check=True)

    def setUp(self):
        folder = pathlib.Path(paths.new_folder("embedded"))
        (folder / "state").mkdir(exist_ok=True)
        self.broker = ReeveBroker(folder)
        self.addCleanup(self.broker.stop)

    def tool(self, name, *arguments, stdin="", check=True):
        done = subprocess.run(
            ["java", "-cp", self.classpath(), name, "--bootstrap-server", self.broker.bootstrap,
             *arguments],
            input=stdin, capture_output=True, text=True, check=False, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{name}: {done.stdout}{done.stderr}")
        return done.stdout

    @staticmethod
    def classpath():
        cache = pathlib.Path(os.environ.get("REEVE_CACHE", pathlib.Path.home() / ".cache/reeve"))
        newest = max(cache.glob('kafka-*'))  # tests of older versions leave theirs
        return f"{newest}/libs/*"

    def admin(self):
        return AdminClient({"bootstrap.servers": self.broker.bootstrap})

    def create(self, *topics, **config):
        admin = self.admin()  # its results end with it
        made = admin.create_topics([NewTopic(topic, 3, 1, config=config) for topic in topics])
        for future in made.values():
            future.result(30)

    def produce(self, topic, *values):
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.broker.bootstrap, "enable.idempotence": True})
        offsets = {}

        def delivered(error, message):
            assert error is None, error
            offsets[message.value()] = (message.partition(), message.offset())
        for value in values:
            producer.produce(topic, value, key=value, on_delivery=delivered)
        self.assertEqual(producer.flush(30), 0)
        return offsets

    def consume(self, topic, count, group="g", **settings):
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.bootstrap, "group.id": group,
            "auto.offset.reset": "earliest", "enable.auto.commit": False, **settings})
        consumer.subscribe([topic])
        found = []

        def has_all():
            found.extend(message for message in consumer.consume(100, 0.2)
                         if message.error() is None)
            return len(found) >= count
        try:
            wait_for(lambda: f"{len(found)} of {count}", has_all, 30)
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()
        return {message.value(): (message.partition(), message.offset()) for message in found}

    def test_kafkas_own_tools_work(self):
        topics = f"{TOOLS}.TopicCommand"
        self.tool(topics, "--create", "--topic", "java", "--partitions", "2",
                  "--config", "message.timestamp.type=LogAppendTime")
        self.assertIn("java", self.tool(topics, "--list").split())
        self.assertIn("PartitionCount: 2", self.tool(topics, "--describe", "--topic", "java"))
        self.tool(f"{TOOLS}.ConsoleProducer", "--topic", "java", stdin="one\ntwo\nthree\n")
        read = self.tool(f"{TOOLS}.consumer.ConsoleConsumer", "--topic", "java", "--group", "tools",
                         "--from-beginning", "--max-messages", "3", "--timeout-ms", "30000")
        self.assertEqual(sorted(read.split()), ["one", "three", "two"])
        group = self.tool(f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--describe", "--group",
                          "tools")
        self.assertRegex(group, r"tools\s+java\s+0")
        ends = self.tool(f"{TOOLS}.GetOffsetShell", "--topic", "java")
        self.assertEqual(sum(int(line.rsplit(":", 1)[1]) for line in ends.split()), 3)

    def test_records_and_offsets_outlive_a_kill(self):
        self.create("kept")
        sent = self.produce("kept", *(f"v{i}".encode() for i in range(500)))
        self.assertEqual(self.consume("kept", 500), sent)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(self.consume("kept", 500, group="other"), sent)
        more = self.produce("kept", b"later")
        self.assertEqual(self.consume("kept", 1), more, "the group goes on where it was")

    def test_members_share_partitions(self):
        self.create("shared")
        members = [confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.bootstrap, "group.id": "pair",
            "session.timeout.ms": 6000, "partition.assignment.strategy": "roundrobin"})
            for _ in range(2)]
        for member in members:
            self.addCleanup(member.close)
            member.subscribe(["shared"])

        def shares():
            for member in members:
                member.poll(0.1)
            return sorted(len(member.assignment()) for member in members)
        wait_for(shares, lambda: shares() == [1, 2], 30)
        self.assertEqual(len({part.partition for member in members
                              for part in member.assignment()}), 3)

    def test_settings_partitions_and_topics_change(self):
        self.create("changing", **{"retention.ms": "5000"})
        admin = self.admin()
        resource = ConfigResource(ConfigResource.Type.TOPIC, "changing")
        known = admin.describe_configs([resource])[resource].result(30)
        self.assertEqual(known["retention.ms"].value, "5000")
        self.assertEqual(known["cleanup.policy"].value, "delete")
        resource.set_config("retention.ms", "7000")
        admin.alter_configs([resource])[resource].result(30)
        known = admin.describe_configs([resource])[resource].result(30)
        self.assertEqual(known["retention.ms"].value, "7000")
        admin.create_partitions([NewPartitions("changing", 5)])["changing"].result(30)
        self.assertEqual(len(admin.list_topics("changing").topics["changing"].partitions), 5)
        admin.delete_topics(["changing"])["changing"].result(30)
        self.assertNotIn("changing", admin.list_topics().topics)

    def test_a_full_partition_refuses_and_loses_nothing(self):
        self.broker.stop()
        self.broker.arguments = ("--partition-mb", "1")
        self.broker.start()
        self.create("small")
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.broker.bootstrap, "message.timeout.ms": 4000,
            "batch.num.messages": 1})  # as a smaller batch may fit where a larger one did not
        results = []
        for i in range(12):
            producer.produce("small", os.urandom(200_000), partition=0,
                             on_delivery=lambda error, message: results.append(error is None))
        producer.flush(30)
        self.assertIn(False, results)
        self.assertEqual(results.count(True), results.index(False), "the first ones are kept")
        self.assertIn("cannot append to partition 0 of small", self.broker.stderr.read_text())
        self.assertEqual(len(self.consume("small", results.count(True))), results.count(True))


if __name__ == "__main__":
    unittest.main()
