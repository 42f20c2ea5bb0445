# SPDX-License-Identifier: Apache-2.0
"""What `reeve dev` keeps, for whom, and what it leaves alone."""

import json
import pathlib
import re
import socket
import tempfile
import unittest

from lib.dev import WORKFLOW, Trial
from lib.waiting import wait_for

ORDERS = 100


def orders():
    return "".join(json.dumps({"order_id": f"o-{i}", "workflow": "three-steps"}) + "\n"
                   for i in range(ORDERS))


class DevStateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *arguments, env=None):
        trial = Trial(self.folder, *arguments, env=env)
        self.addCleanup(trial.kill)
        return trial

    def refused(self, code, *arguments):
        """What it prints."""
        trial = self.start(*arguments)
        self.assertEqual(trial.process.wait(60), code, trial.text())
        return trial.text()

    def test_serves_the_same_orders_after_a_kill(self):
        flags = [WORKFLOW, "--agent-sim-latency-ms", "300"]
        trial = self.start(*flags).wait_until_ready()
        trial.client("submit", "-", stdin=orders())
        wait_for("some have begun", lambda: trial.rows_of("orders", "list", "--limit", "1"))
        first = trial.rows_of("orders", "list", "--limit", "1")[0]["order_id"]
        before = trial.client("orders", "history", first).stdout.splitlines()[:2]
        trial.kill()
        trial = self.start(*flags).wait_until_ready()
        after = trial.client("orders", "history", first).stdout.splitlines()
        self.assertEqual(after[:2], before, "at the same offset")
        wait_for(lambda: trial.rows_of("orders", "list", "--limit", "0"), lambda: len(
            trial.rows_of("orders", "list", "--state", "Processed", "--limit", "0")) == ORDERS, 120)
        ids = {row["order_id"] for row in trial.rows_of("orders", "list", "--limit", "0")}
        self.assertEqual(ids, {f"o-{i}" for i in range(ORDERS)})
        trial.stop()

    def test_runs_once_on_a_folder(self):
        trial = self.start().wait_until_ready()
        text = self.refused(70)
        self.assertIn(f"`reeve dev` runs already on reeve-dev (pid {trial.process.pid}): ", text)
        self.assertIn("--data-dir", text)
        self.assertEqual(len(text.splitlines()), 1, text)
        trial.stop()

    def test_refuses_a_folder_of_others(self):
        other = self.folder / "reeve-dev"
        other.mkdir()
        (other / "thesis").write_text("chapter 1")
        for flags in ([], ["--fresh"]):
            text = self.refused(78, *flags)
            self.assertIn("reeve-dev holds files that are not of `reeve dev`", text)
        self.assertEqual([path.name for path in other.iterdir()], ["thesis"])

    def test_refuses_a_state_of_another_prefix(self):
        self.start().wait_until_ready().stop()
        self.assertIn("is of another broker or prefix of topics (embedded orders)",
                      self.refused(78, "--topics-prefix", "shop"))
        self.start("--topics-prefix", "shop", "--fresh").wait_until_ready().stop()

    def test_begins_with_nothing_if_it_is_to(self):
        trial = self.start(WORKFLOW).wait_until_ready()
        trial.client("submit", "-", stdin=orders())
        wait_for("an order", lambda: trial.rows_of("orders", "list"))
        trial.stop()
        trial = self.start("--fresh").wait_until_ready()
        self.assertEqual(trial.rows_of("orders", "list"), [])
        self.assertEqual(trial.rows_of("workflow", "list"), [])
        trial.stop()

    def test_names_the_workflows_that_it_serves(self):
        trial = self.start().wait_until_ready()
        self.assertIn("No workflow was named: `reeve dev FILE.yaml` deploys one", trial.text())
        self.assertNotIn("reeve submit", trial.text())
        trial.stop()
        trial = self.start(WORKFLOW).wait_until_ready()
        self.assertNotRegex(trial.text(), r"No workflow|\n  workflows ")
        trial.stop()
        trial = self.start().wait_until_ready()
        self.assertNotIn("No workflow was named", trial.text())
        self.assertRegex(trial.text(), r"\n  workflows +three-steps 1, as deployed before\n")
        command = re.search(r"echo '([^']*)' \| reeve submit -\n", trial.text())
        self.assertIn("1 submitted, 0 refused", trial.client(
            "submit", "-", stdin=command[1]).stderr)
        trial.stop()

    def test_keeps_nothing_in_memory(self):
        tmp = self.folder / "tmp"
        tmp.mkdir()
        trial = self.start("--in-memory", env={"TMPDIR": str(tmp)}).wait_until_ready()
        folder = re.search(r"env --data-dir '([^']*)'", trial.text())[1]
        self.assertIn(str(tmp), folder)
        self.assertIn(folder, trial.run("dev", "env", "--data-dir", folder).stdout)
        trial.stop()
        self.assertEqual(list(tmp.iterdir()), [])
        self.assertFalse(trial.state.exists())
        self.assertIn("--in-memory keeps nothing",
                      self.refused(64, "--in-memory", "--data-dir", "x"))

    def test_takes_another_port_where_one_is_taken_and_keeps_it(self):
        listeners = []
        for port in (8080, 8081, 9092):
            listener = socket.socket()
            self.addCleanup(listener.close)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
                listener.listen()
            except OSError:
                continue  # taken already
            listeners.append(listener)
        trial = self.start().wait_until_ready()
        text, rows = trial.text(), trial.rows()
        kafka = re.search(r"kafka +(\S+)", text)[1]
        self.assertNotIn(":9092", kafka)
        self.assertFalse(rows["console"][0].endswith(":8080"), text)
        self.assertFalse(rows["submission"][0].endswith(":8081"), text)
        trial.stop()
        for listener in listeners:
            listener.close()
        trial = self.start().wait_until_ready()
        self.assertEqual(re.search(r"kafka +(\S+)", trial.text())[1], kafka)
        self.assertEqual({name: row[0] for name, row in trial.rows().items()},
                         {name: row[0] for name, row in rows.items()})
        trial.stop()

    def test_names_and_ignores_what_is_left_over(self):
        (self.folder / "old.properties").write_text("kafka.bootstrap.servers = 127.0.0.1:1\n")
        trial = self.start(env={"REEVE_CONFIG": str(self.folder / "old.properties"),
                                "REEVE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
                                "REEVE_KAFKA_SECURITY_PROTOCOL": "ssl"}).wait_until_ready()
        warnings = [line for line in trial.text().splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1, warnings)
        for name in ("REEVE_CONFIG", "REEVE_KAFKA_BOOTSTRAP_SERVERS",
                     "REEVE_KAFKA_SECURITY_PROTOCOL"):
            self.assertIn(name, warnings[0])
        for name in ("scheduler-1", "console"):
            environment = pathlib.Path(f"/proc/{trial.pid(name)}/environ").read_bytes()
            self.assertNotIn(b"REEVE_CONFIG", environment)
            self.assertNotIn(b"REEVE_KAFKA_BOOTSTRAP", environment)
            self.assertNotIn(b"REEVE_KAFKA_SECURITY", environment)
        trial.stop()

    def test_names_and_ignores_a_context(self):
        trial = Trial(self.folder, "--help")
        trial.process.wait(60)
        trial.run("context", "add", "far", "--kafka-bootstrap-servers", "127.0.0.1:1")
        trial = self.start(WORKFLOW).wait_until_ready()
        self.assertIn("ignored: the context far.", trial.text())
        self.assertEqual(len(trial.rows_of("workflow", "list")), 1)
        trial.stop()

    def test_reads_settings_that_name_no_broker(self):
        (self.folder / "my.properties").write_text("topics.prefix = shop\n")
        trial = self.start(
            env={"REEVE_CONFIG": str(self.folder / "my.properties")}).wait_until_ready()
        self.assertNotIn("warning", trial.text())
        self.assertIn("topics.prefix = shop", (trial.state / "client.properties").read_text())
        trial.stop()


if __name__ == "__main__":
    unittest.main()
