# SPDX-License-Identifier: Apache-2.0
"""The commands that `reeve dev` prints work as they stand, and it tries a workflow itself."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import unittest

from lib.dev import REEVE, Trial
from lib.waiting import wait_for

WORKFLOW = """
Name: shaped
Version: 1
InputShape: {"it's": string, amount: number, items: [{sku: string}], gift: boolean?}
Steps:
  - {Name: A, Set: "${input.amount}"}
"""

ASKS = """
Name: asks
Version: 1
TimeoutSeconds: 600
Steps:
  - {Name: Approve, Await: {Options: ["it's fine", "no"]}}
  - {Name: Parts, ForEach: {Items: [a]}, Steps: [
      {Name: Packed, Await: {}, TimeoutSeconds: 60}]}
  - {Name: Paid, Await: {From: bank}}
"""


class DevTest(unittest.TestCase):
    def test_prints_an_order_that_the_workflow_takes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            workflow = folder / "shaped.yaml"
            workflow.write_text(WORKFLOW)
            out = folder / "out"
            with open(out, "wb") as file:
                dev = subprocess.Popen(
                    [REEVE, "dev", workflow, "--data-dir", folder / "data", "--partitions", "2"],
                    stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            try:
                wait_for(out.read_text, lambda: "Ctrl-C stops" in out.read_text(), 60)
                text = out.read_text().split("In another terminal:\n")[1]
                commands = text.split("In a browser")[0]
                done = subprocess.run(
                    ["sh", "-ec", commands], capture_output=True, text=True, check=False,
                    timeout=60, env={**os.environ, "PATH": f"{REEVE.parent}:{os.environ['PATH']}"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("1 submitted, 0 refused", done.stderr)
            finally:
                dev.send_signal(signal.SIGINT)
                self.assertEqual(dev.wait(60), 0, out.read_text())

    def test_tries_the_workflow(self):
        with tempfile.TemporaryDirectory() as name:
            workflow = pathlib.Path(name) / "shaped.yaml"
            workflow.write_text(WORKFLOW)
            trial = Trial(name, workflow, "--try")
            try:
                trial.wait_until_ready().wait_for("1 submitted, 0 refused")
                self.assertRegex(trial.text(), r"(?m)^try-\d+ +Processed +Processed ")
                order_id = re.search(r"try-\d+", trial.text())[0]
                wait_for("the order is in the list", lambda: [order_id] == [
                    row["order_id"] for row in trial.rows_of("orders", "list")])
            finally:
                trial.stop()

    def test_says_how_to_answer_what_the_trial_asks(self):
        with tempfile.TemporaryDirectory() as name:
            workflow = pathlib.Path(name) / "asks.yaml"
            workflow.write_text(ASKS)
            trial = Trial(name, workflow, "--try")
            try:
                text = trial.wait_until_ready().wait_for(" Waiting").text()
                order_id = re.search(r"try-\d+", text)[0]
                commands = re.findall(r"^  reeve (signal .*)$", text, re.M)
                self.assertEqual(commands, [
                    f"signal {order_id} Approve --choose 'it'\\''s fine'",
                    f"signal {order_id}~Parts~0 Packed --payload '{{}}'",
                    f"signal {order_id} Paid --payload '{{}}'  # by a member of bank"])
                for command in commands[:2]:
                    wait_for(f"its step waits: {command}", lambda command=command: trial.client(
                        *shlex.split(command), check=False).returncode == 0, 30)
                wait_for(trial.text, lambda: re.search(
                    r"(?m)^try-\d+ .* Paid .* Waiting", trial.text()), 30)
            finally:
                trial.stop()

    def test_tries_nothing_without_a_workflow(self):
        with tempfile.TemporaryDirectory() as name:
            done = subprocess.run([REEVE, "dev", "--try"], capture_output=True, text=True,
                                  check=False, timeout=60, cwd=name)
            self.assertEqual(done.returncode, 64)
            self.assertEqual(done.stderr, "reeve: --try needs a workflow: "
                                          "reeve dev FILE.yaml --try\n")


if __name__ == "__main__":
    unittest.main()
