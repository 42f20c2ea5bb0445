# SPDX-License-Identifier: Apache-2.0
"""An upgrade from the last release to this tree, instance by instance while orders come in, as
docs/operate/upgrades.md has it; and the way back, for one instance of each service."""

import contextlib
import json
import os
import subprocess
import unittest
from unittest import mock

from lib import Broker, paths, records, wait_for
from lib.checker import ENDED
from lib.crowd import WORKFLOW, Crowd

TIMEOUT_SECONDS = 900

RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.2, "MaxAttempts": 9}]
UNDO = {"Action": "Undo", "Retry": RETRY}
AWAITED = "Agree"
# Waits for a person during the whole upgrade, then has an order for each item.
PATIENT = {"Name": "patient", "Version": 1, "Defaults": {"TimeoutSeconds": 30, "Retry": RETRY},
           "Steps": [
               {"Name": "Reserve", "Agent": "stock", "Compensate": UNDO},
               {"Name": AWAITED, "Await": {"Options": ["yes", "no"]}, "TimeoutSeconds": 86400},
               {"Name": "Refuse", "When": f"output.{AWAITED}.choice == 'no'",
                "Fail": {"Error": "Refused"}},
               {"Name": "Parts", "ForEach": {"Items": [0, 1, 2]},
                "Steps": [{"Name": "Pack", "Agent": "stock", "Compensate": UNDO}]},
               {"Name": "Ship", "Agent": "bank", "Pivot": True}]}
FAILING = {"agent.sim.fail.share": "0.05", "agent.sim.unknown.share": "0.02"}
# Supervisors and console before schedulers.
ORDER = ("supervisor-1", "supervisor-2", "console", "scheduler-1", "scheduler-2", "agent-stock",
         "agent-bank", "submission")


def released():
    """The folder with the last release's programs; None if this clone's history has no release."""
    done = subprocess.run([paths.ROOT / "scripts" / "released"], capture_output=True, text=True,
                          check=False, timeout=TIMEOUT_SECONDS)
    if done.returncode == 3:
        return None
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class UpgradeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.release = released()
        if cls.release is None:
            raise unittest.SkipTest("this clone's history has no release (git fetch --unshallow)")
        cls.tree = paths.reeve_binary().parent
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)

    def setUp(self):
        with self.programs_of(self.release):
            self.crowd = Crowd(self.broker, schedulers=2, supervisors=2,
                               workflows=(WORKFLOW, PATIENT),
                               agents={"stock": {}, "bank": FAILING})
            self.addCleanup(self.crowd.stop)
            self.crowd.add("console")
        self.awaiting = self.crowd.submit(12, "patient")
        self.ended = self.crowd.submit(24)
        self.crowd.wait_for_end(self.ended)
        wait_for("orders wait for a person", self.all_wait, 60)

    @contextlib.contextmanager
    def programs_of(self, folder):
        with mock.patch.dict(os.environ, {"REEVE": f"{folder}/reeve"}):
            yield

    def replace(self, name, folder):
        """Stops an instance, and starts it from the programs of that folder on its own data."""
        service = self.crowd[name]
        service.terminate(60)
        program, *rest = service.command
        service.command = [f"{folder}/{os.path.basename(program)}", *rest]
        service.start(ready=False)
        self.crowd.wait_ready()

    def run_some(self):
        """Orders go through whatever runs; after a kill, its partitions go to the other version."""
        names = self.crowd.submit(24)
        self.crowd.wait_for_end(names)
        self.ended += names

    def kill(self, name):
        self.crowd[name].sigkill()
        self.run_some()
        self.crowd[name].start(ready=False)
        self.crowd.wait_ready()

    def order(self, name):
        done = self.crowd.cluster.reeve(
            "orders", "get", name, "--output", "json",
            "--console", f"http://127.0.0.1:{self.crowd['console'].http_port()}")
        return json.loads(done.stdout)

    def all_wait(self):
        self.crowd.look()
        orders = [order for checker in self.crowd.checkers.values()
                  for key, order in checker.orders.items() if key in self.awaiting]
        return len(orders) == len(self.awaiting) and all(
            order.step(AWAITED).awaiting for order in orders)

    def answer(self, names, choice):
        self.crowd.cluster.produce("submissions", [
            (name, records.local_schemas().encode("SignalOrder", {
                "order_id": name, "step": AWAITED, "id": "1", "by": "", "groups": [],
                "payload": json.dumps({"choice": choice}), "reply_to": "", "submitted_by": ""}))
            for name in names])
        self.crowd.wait_for_end(names, 120)

    def verify_by(self, folder):
        with self.programs_of(folder):
            self.assertEqual(self.crowd.verify(), [])

    def test_instances_are_replaced_one_by_one_and_back(self):
        quarter = len(self.awaiting) // 4
        self.verify_by(self.release)
        for name in ORDER:
            with self.subTest(name):
                self.replace(name, self.tree)
                self.run_some()
            if name == "scheduler-1":
                # The fleet is mixed: each version takes over from the other, and answers.
                self.kill("scheduler-1")
                self.kill("scheduler-2")
                self.answer(self.awaiting[:quarter], "yes")
        self.verify_by(self.tree)
        self.answer(self.awaiting[quarter:2 * quarter], "no")
        for name in ("scheduler-1", "supervisor-1", "agent-stock", "console"):
            with self.subTest(f"{name} goes back"):
                self.replace(name, self.release)
                self.run_some()
        self.kill("scheduler-2")
        self.answer(self.awaiting[2 * quarter:3 * quarter], "yes")
        for name in ("scheduler-1", "supervisor-1", "agent-stock", "console"):
            self.replace(name, self.tree)
        self.answer(self.awaiting[3 * quarter:], "yes")
        for name in self.awaiting + self.ended:
            self.assertIn(self.crowd.state(name), ENDED | {"Error"})
        self.assertEqual(self.order(self.awaiting[-1])["order_id"], self.awaiting[-1])
        self.assertEqual(self.crowd.findings(), [])


if __name__ == "__main__":
    unittest.main()
