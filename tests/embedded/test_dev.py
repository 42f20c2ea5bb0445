# SPDX-License-Identifier: Apache-2.0
"""`reeve dev`: the commands that it prints work as they stand, and what it keeps outlives it."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from lib.dev import REEVE
from lib.waiting import wait_for

SHAPED = """
Name: shaped
Version: 1
InputShape: {"it's": string, amount: number, items: [{sku: string}], gift: boolean?}
Steps:
  - {Name: A, Set: "${input.amount}"}
"""
SLOW = """
Name: slow
Version: 1
TimeoutSeconds: 600
Steps:
  - {Name: First, Agent: one}
  - {Name: Pause, Wait: {Seconds: 4}}
  - {Name: Last, Agent: two}
"""
ASKS = """
Name: asks
Version: 1
Steps:
  - {Name: Only, Agent: late}
"""


class DevTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("REEVE_CONFIG")}
        self.environment["PATH"] = f"{REEVE.parent}:{os.environ['PATH']}"
        self.runs = 0

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *arguments, env=None):
        """Returns (process, the file with what it prints) once it is ready."""
        self.runs += 1
        out = self.folder / f"out-{self.runs}"
        with open(out, "wb") as file:
            dev = subprocess.Popen(
                [REEVE, "dev", "--partitions", "2", "--disk-free-min-mb", "0", *arguments],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={**self.environment, **(env or {})})
        self.addCleanup(self.end, dev)
        wait_for(out.read_text, lambda: "Ctrl-C stops" in out.read_text(), 60)
        return dev, out

    def end(self, dev):
        if dev.poll() is None:
            dev.send_signal(signal.SIGINT)
            self.assertEqual(dev.wait(60), 0)

    def reeve(self, *arguments, check=True, **options):
        script = 'eval "$(reeve dev env)" && exec reeve "$@"'
        done = subprocess.run(["sh", "-ec", script, "sh", *map(str, arguments)], cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=60,
                              env=self.environment, **options)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def submit(self, *orders):
        self.reeve("submit", "-", input="\n".join(json.dumps(order) for order in orders))

    def states(self):
        rows = self.reeve("orders", "list", "--output", "jsonl").stdout.splitlines()
        return {row["order_id"]: row["state"] for row in map(json.loads, rows)}

    def test_prints_an_order_that_the_workflow_takes(self):
        _, out = self.start(self.file("shaped.yaml", SHAPED))
        commands = out.read_text().split("In another terminal:\n")[1].split("In a browser")[0]
        done = subprocess.run(["sh", "-ec", commands], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=60, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 submitted, 0 refused", done.stderr)

    def test_orders_outlive_a_kill(self):
        workflow = self.file("slow.yaml", SLOW)
        dev, out = self.start(workflow)
        self.submit(*({"order_id": f"o-{i}", "workflow": "slow"} for i in range(20)))
        before = self.reeve("orders", "history", "o-7").stdout
        dev.send_signal(signal.SIGKILL)
        dev.wait(60)
        _, out = self.start(workflow)
        self.assertIn("reeve-dev: kept", out.read_text())
        wait_for(self.states, lambda: set(self.states().values()) == {"Processed"}, 60)
        self.assertEqual(len(self.states()), 20)
        after = self.reeve("orders", "history", "o-7").stdout.splitlines()
        for line in before.splitlines()[:2]:
            self.assertIn(line, after, "at the same offset")

    def test_fresh_deletes_its_own_state_only(self):
        workflow = self.file("slow.yaml", SLOW)
        dev, _ = self.start(workflow)
        self.submit({"order_id": "o-1", "workflow": "slow"})
        self.end(dev)
        dev, _ = self.start(workflow, "--fresh")
        self.assertEqual(self.states(), {})
        self.end(dev)
        (self.folder / "other").mkdir()
        (self.folder / "other" / "file").write_text("mine")
        done = subprocess.run([REEVE, "dev", "--fresh", "--data-dir", "other"], cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=60,
                              env=self.environment)
        self.assertEqual(done.returncode, 64)
        self.assertIn("deletes only what reeve dev has made", done.stderr)
        self.assertEqual((self.folder / "other" / "file").read_text(), "mine")

    def test_keeps_nothing_in_memory(self):
        dev, out = self.start("--in-memory")
        self.assertIn("in memory: orders end with it", out.read_text())
        self.assertFalse((self.folder / "reeve-dev").exists())
        self.end(dev)

    def test_starts_once_in_a_folder(self):
        dev, _ = self.start()
        done = subprocess.run([REEVE, "dev"], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60, env=self.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"reeve dev runs already: reeve-dev is in use by another process (pid "
                      f"{dev.pid})", done.stderr)
        self.end(dev)
        done = self.reeve("orders", "list", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no `reeve dev` runs with its state in reeve-dev", done.stderr)

    def test_ignores_where_other_brokers_are(self):
        other = self.file("other.properties", "kafka.bootstrap.servers = 127.0.0.1:1\n")
        _, out = self.start(env={"REEVE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
                                 "REEVE_CONFIG": str(other)})
        for name in ("REEVE_KAFKA_BOOTSTRAP_SERVERS", "REEVE_CONFIG"):
            self.assertIn(f"{name} is set, and ignored", out.read_text())
        self.assertEqual(self.states(), {})

    def test_runs_twice_at_once_on_other_ports(self):
        self.start()
        _, out = self.start("--data-dir", "second")
        self.assertIn('eval "$(reeve dev env --data-dir second)"', out.read_text().replace("'", ""))
        urls = [(self.folder / state / "console" / "http.url").read_text()
                for state in ("reeve-dev", "second")]
        self.assertNotEqual(*urls)

    def test_takes_agents_and_applications_while_it_runs(self):
        _, out = self.start()
        workflow = self.file("asks.yaml", ASKS)
        self.reeve("workflow", "deploy", workflow)
        self.submit({"order_id": "a-1", "workflow": "asks"})
        self.reeve("dev", "agent", "late")
        wait_for(out.read_text, lambda: "agent late is started: simulated" in out.read_text(), 30)
        wait_for(self.states, lambda: self.states() == {"a-1": "Processed"}, 60)
        self.reeve("dev", "app", "shop")

        def replies():
            return self.reeve("submit", "-", "--reply-to", "orders.replies.shop", "--wait",
                              check=False, input='{"order_id": "a-2", "workflow": "asks"}')
        wait_for("its replies topic is there", lambda: replies().returncode == 0, 60)
        done = self.reeve("dev", "agent", "late=ftp://x", check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("expected NAME, NAME=kafka, or NAME=URL", done.stderr)

    def test_deploys_a_changed_file_as_the_next_version(self):
        workflow = self.file("slow.yaml", SLOW)
        dev, out = self.start(workflow, "--watch")
        workflow.write_text(SLOW.replace("Seconds: 4", "Seconds: 0").replace("two", "three"))
        wait_for(out.read_text, lambda: "slow            2" in out.read_text() or
                 "deployed, active" in out.read_text(), 30)
        self.assertIn("agent three is started: simulated", out.read_text())
        self.submit({"order_id": "w-1", "workflow": "slow"})
        wait_for(self.states, lambda: self.states() == {"w-1": "Processed"}, 30)
        workflow.write_text("Name: slow\nSteps: 5\n")
        wait_for(out.read_text, lambda: "slow.yaml is not valid" in out.read_text(), 30)
        workflow.write_text(SLOW)
        wait_for(self.versions, lambda: self.versions() == [1, 2, 3], 30)
        self.end(dev)
        self.start(workflow)
        self.assertEqual(self.versions(), [1, 2, 3])

    def versions(self):
        rows = self.reeve("workflow", "list", "--output", "jsonl").stdout.splitlines()
        return sorted(row["version"] for row in map(json.loads, rows))

    def test_starts_services_again(self):
        _, out = self.start(self.file("slow.yaml", SLOW))
        pid = next(int(line.split("pid ")[1].split()[0])
                   for line in out.read_text().splitlines() if line.startswith("  scheduler-1"))
        os.kill(pid, signal.SIGKILL)
        wait_for(out.read_text, lambda: "scheduler-1 (pid" in out.read_text(), 30)
        self.submit({"order_id": "r-1", "workflow": "slow"})
        wait_for(self.states, lambda: self.states().get("r-1") == "Processed", 60)


if __name__ == "__main__":
    unittest.main()
