# SPDX-License-Identifier: Apache-2.0
"""`reeve dev --kafka`: everything on one machine, with a Kafka that it starts itself."""

import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from lib import paths, wait_for
from lib.dev import WORKFLOW, Trial

OWN_BROKERS = True
TIMEOUT_SECONDS = 900
PATIENCE = 180  # Java, while other tests run


def kafka_home():
    """A folder with libs/, as an unpacked Kafka has."""
    done = subprocess.run(
        ["bash", "-c", f'. {paths.KAFKA}; version=$default_version; fetch_jars; echo "$jars"'],
        capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Dev(Trial):
    def wait_until_ready(self):
        try:
            return self.wait_for("Ctrl-C stops", PATIENCE)
        except AssertionError:
            self.kill()
            raise

    def kafka(self):
        """Its address and its pid."""
        words = next(line.split() for line in self.text().splitlines()
                     if line.startswith("  kafka "))
        return words[1], int(words[3])

    def order(self, name):
        """Submits it until it is processed: a broker that starts again takes its time."""
        def is_processed():
            done = self.client("submit", "-", "--wait", "--reply-to", "orders.replies.web",
                               "--timeout", "30", check=False,
                               stdin=json.dumps({"order_id": name, "workflow": "three-steps"}))
            return "Processed" in done.stdout
        wait_for(self.text, is_processed, PATIENCE)


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class DevOnKafkaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = kafka_home()

    def setUp(self):
        self.folder = paths.new_folder("dev")

    def start(self, *arguments, env=None, home=True):
        flags = ["--kafka-home", self.home] if home else []
        trial = Dev(self.folder, *arguments, *flags, env=env)
        self.addCleanup(trial.kill)
        return trial

    def refused(self, code, part, *arguments, **more):
        trial = self.start(*arguments, **more)
        self.assertEqual(trial.process.wait(60), code, trial.text())
        self.assertIn(part, trial.text())
        self.assertEqual(len(trial.text().splitlines()), 1, trial.text())

    def test_serves_the_same_orders_after_a_kill(self):
        trial = self.start(WORKFLOW, "--kafka").wait_until_ready()
        address, pid = trial.kafka()
        self.assertIn("kafka.Kafka", pathlib.Path(f"/proc/{pid}/cmdline").read_text())
        trial.order("o-1")
        before = trial.client("orders", "history", "o-1").stdout.splitlines()
        self.assertGreater(len(before), 2)
        trial.kill()
        wait_for("no orphan", lambda: not runs(pid))

        trial = self.start(WORKFLOW, "--kafka").wait_until_ready()
        self.assertEqual(trial.kafka()[0], address, "at the same port")
        after = trial.client("orders", "history", "o-1").stdout.splitlines()
        self.assertEqual(after[:len(before)], before, "at the same offsets")
        trial.order("o-2")
        self.assertEqual({row["order_id"] for row in trial.rows_of("orders", "list")},
                         {"o-1", "o-2"})
        self.ends_in_order(trial)
        self.refuses_the_state_for_another_broker()
        self.begins_with_nothing()

    def ends_in_order(self, trial):
        pid = trial.kafka()[1]
        trial.stop()
        self.assertFalse(runs(pid))
        self.assertTrue((trial.state / "kafka/data/.kafka_cleanshutdown").exists())

    def refuses_the_state_for_another_broker(self):
        self.refused(78, "is of another broker or prefix of topics (kafka orders), not of "
                         "(embedded orders): name another folder with --data-dir, or empty it",
                     home=False)

    def begins_with_nothing(self):
        trial = self.start("--kafka", "--fresh").wait_until_ready()
        self.assertEqual(trial.rows_of("orders", "list"), [])
        self.assertEqual(trial.rows_of("workflow", "list"), [])
        trial.stop()

    def test_a_broker_that_is_killed_starts_again(self):
        trial = self.start(WORKFLOW, "--kafka", env={"KAFKA_HOME": self.home}, home=False)
        pid = trial.wait_until_ready().kafka()[1]
        trial.order("o-1")
        os.kill(pid, signal.SIGKILL)
        trial.wait_for(f"kafka (pid {pid}) was killed by signal 9; it starts again in 1 s")
        trial.order("o-2")
        trial.stop()

    def test_moves_where_another_broker_takes_its_port_meanwhile(self):
        trial = self.start("--kafka")
        properties = trial.state / "kafka/server.properties"
        wait_for(trial.text, properties.exists, PATIENCE)
        port = re.search(r"advertised.listeners=.*:(\d+)", properties.read_text())[1]
        other = subprocess.Popen([paths.reeve_binary(), "broker", "--port", port],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.wait)
        self.addCleanup(other.terminate)
        self.assertEqual(other.stdout.readline(), f"127.0.0.1:{port}\n")
        address, _ = trial.wait_until_ready().kafka()
        self.assertNotEqual(address, f"127.0.0.1:{port}")
        self.assertEqual(trial.rows_of("orders", "list"), [])
        trial.stop()

    def test_stops_while_the_broker_starts(self):
        trial = self.start("--kafka")
        log = trial.state / "kafka/log"
        wait_for("Java starts", log.exists, PATIENCE)
        trial.stop()
        self.assertNotIn("is ready", trial.text())

    def test_shows_why_a_broker_does_not_start(self):
        """A Kafka whose jars hold no class."""
        home = self.folder / "empty"
        (home / "libs").mkdir(parents=True)
        (home / "libs/kafka_2.13-0.jar").write_bytes(b"PK\x05\x06" + bytes(18))
        trial = self.start("--kafka", "--kafka-home", home, home=False)
        self.assertEqual(trial.process.wait(PATIENCE), 70, trial.text())
        self.assertRegex(trial.text(), r"reeve: kafka-format \(pid \d+\) ended with exit code 1")
        self.assertIn("kafka.tools.StorageTool", trial.text())

    def test_refuses_what_cannot_be(self):
        self.refused(64, "leave out --in-memory", "--kafka", "--in-memory")
        self.refused(64, "leave out kafka.bootstrap.servers (--kafka-bootstrap-servers)", "--kafka",
                     "--kafka-bootstrap-servers", "127.0.0.1:1")
        self.refused(64, "--kafka-home is for --kafka: add it")
        self.refused(78, "unpack one and name its folder with --kafka-home or KAFKA_HOME",
                     "--kafka", env={"KAFKA_HOME": ""}, home=False)
        self.refused(78, "KAFKA_HOME: /nowhere has no libs/kafka_*.jar", "--kafka",
                     env={"KAFKA_HOME": "/nowhere"}, home=False)
        self.refused(78, "--kafka needs Java (Kafka 4 needs version 17 or later): install it",
                     "--kafka", env={"PATH": "/nowhere:", "JAVA_HOME": ""})
        self.refused(78, "JAVA_HOME is /nowhere, which has no bin/java", "--kafka",
                     env={"JAVA_HOME": "/nowhere"})
        self.refused(78, "name another one with --data-dir", "--kafka", "--data-dir", "a,b")


if __name__ == "__main__":
    unittest.main()
