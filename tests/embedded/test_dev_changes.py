# SPDX-License-Identifier: Apache-2.0
"""What changes while `reeve dev` runs: agents, workflow files, services that end."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from lib.dev import REEVE, Trial
from lib.waiting import wait_for

FIRST = """
Name: first
Version: 1
Steps:
  - {Name: A, Agent: stock}
"""


class DevChangesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.workflow = self.folder / "first.yaml"
        self.workflow.write_text(FIRST)

    def start(self, *arguments):
        trial = Trial(self.folder, *arguments)
        self.addCleanup(trial.kill)
        return trial.wait_until_ready()

    def versions(self, trial):
        return [(row["version"], row["active"]) for row in trial.rows_of("workflow", "list")]

    def on_health(self, trial):
        """Instances on the console's page Health."""
        done = trial.client("services", "--output", "json", check=False)
        return {row["instance"] for row in json.loads(done.stdout)["services"]
                if row["error"] is None}

    def holder(self, trial, instance):
        """The pid of the last process that locked the instance's data directory."""
        return int((trial.state / instance / "lock").read_text().splitlines()[0])

    def has_agent(self, trial, name):
        return name in [row["agent"] for row in trial.rows_of("agents", "list")]

    def test_other_terminals_find_it(self):
        trial = self.start()
        env = {**trial.env, "REEVE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
               "REEVE_CONFIG": "/nowhere"}
        done = subprocess.run(
            ["sh", "-ec", f'eval "$({REEVE} dev env)"; {REEVE} workflow list; echo $REEVE_CONFIG'],
            capture_output=True, text=True, check=False, timeout=60, cwd=self.folder, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = done.stdout.splitlines()[-1]
        self.assertEqual(path, str(trial.state.resolve() / "client.properties"))
        trial.stop()
        done = trial.run("dev", "env", check=False)
        self.assertEqual((done.returncode, done.stdout), (69, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("start it with `reeve dev FILE.yaml`", done.stderr)

    def test_agents_are_added_changed_and_kept(self):
        trial = self.start("--agent", "own=kafka")
        self.assertIn("orders.requests.own", trial.text())
        trial.run("dev", "agent", "pay=http://127.0.0.1:1")
        trial.wait_for("agent-pay: http://127.0.0.1:1")
        wait_for("the agent runs", lambda: self.has_agent(trial, "pay"))
        wait_for(lambda: self.on_health(trial), lambda: "agent-pay" in self.on_health(trial))
        trial.run("dev", "agent", "pay")
        trial.wait_for("agent-pay: simulated")
        trial.run("dev", "agent", "warehouse=kafka")
        trial.wait_for("agent-warehouse: your own program on Kafka")
        trial.run("dev", "app", "shop")
        self.assertEqual(trial.run("dev", "agent", "pay=ftp://x", check=False).returncode, 64)
        self.workflow.write_text(FIRST.replace("stock", "pay"))
        trial.client("workflow", "deploy", self.workflow)
        done = trial.client("submit", "-", "--wait", "--reply-to", "orders.replies.shop",
                            "--timeout", "40", stdin='{"order_id": "1", "workflow": "first"}')
        self.assertIn("Processed", done.stdout)
        trial.stop()
        trial = self.start()
        self.assertEqual(trial.rows()["agent-pay"][-1], "simulated")
        self.assertRegex(trial.text(), r"agent-warehouse +orders.requests.warehouse")
        trial.stop()
        self.assertEqual(trial.run("dev", "agent", "pay", check=False).returncode, 69)

    def test_agents_of_a_deployed_workflow_are_simulated(self):
        trial = self.start()
        trial.client("workflow", "deploy", self.workflow)
        trial.wait_for("agent-stock: simulated")
        trial.client("submit", "-", "--wait", "--reply-to", "orders.replies.web", "--timeout",
                     "40", stdin='{"order_id": "1", "workflow": "first"}')
        trial.stop()
        trial = self.start()  # without a file: the workflow is still there
        wait_for(trial.text, lambda: re.search("agent-stock.*simulated", trial.text()))
        trial.stop()

    def test_watches_files(self):
        trial = self.start(self.workflow, "--watch")
        self.assertEqual(self.versions(trial), [(1, True)])
        self.workflow.write_text(FIRST.replace("Agent: stock", "Agents: stock"))
        trial.wait_for("first.yaml:5:")
        self.assertEqual(self.versions(trial), [(1, True)])
        self.workflow.write_text(FIRST + "  - {Name: B, Agent: carrier}\n")
        wait_for(trial.text, lambda: (2, True) in self.versions(trial))
        trial.wait_for("deployed, active").wait_for("agent-carrier: simulated")
        everything = {"submission", "scheduler-1", "supervisor-1", "agent-stock", "agent-carrier"}
        wait_for(lambda: self.on_health(trial), lambda: self.on_health(trial) == everything)
        self.workflow.touch()
        trial.wait_for("unchanged")
        self.assertEqual(len(self.versions(trial)), 2)
        trial.stop()

    def test_a_file_that_changed_between_two_runs_is_the_next_version(self):
        self.start(self.workflow).stop()
        self.workflow.write_text(FIRST.replace("{Name: A,", "{Name: B,"))
        trial = self.start(self.workflow)
        self.assertEqual(sorted(self.versions(trial)), [(1, False), (2, True)])
        trial.stop()
        trial = self.start(self.workflow)
        self.assertEqual(sorted(self.versions(trial)), [(1, False), (2, True)])
        trial.stop()

    def test_a_service_that_is_killed_starts_again(self):
        trial = self.start(self.workflow)
        for delay in (1, 2):
            pid = self.holder(trial, "scheduler-1")
            os.kill(pid, signal.SIGKILL)
            trial.wait_for(f"scheduler-1 (pid {pid}) was killed by signal 9; it starts again in "
                           f"{delay} s")
            wait_for("another one", lambda pid=pid: self.holder(trial, "scheduler-1") != pid)
        trial.client("submit", "-", "--wait", "--reply-to", "orders.replies.web", "--timeout",
                     "40", stdin='{"order_id": "1", "workflow": "first"}')
        trial.stop()

    def test_a_service_that_ends_stays_ended_if_it_is_to(self):
        trial = self.start("--no-restart")
        os.kill(trial.pid("supervisor-1"), signal.SIGTERM)
        trial.wait_for("ended with exit code 0")
        self.assertNotIn("starts again", trial.text())
        trial.stop()


if __name__ == "__main__":
    unittest.main()
