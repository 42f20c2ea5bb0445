# SPDX-License-Identifier: Apache-2.0
"""Dead letters as operators deal with them: listed, decoded, corrected, replayed and discarded,
also by a console that crashes between a replay and its resolution."""

import json
import unittest

from lib import wait_for
from lib.stage import Stage

WORKFLOW = {"Name": "one-step", "Version": 1, "Defaults": {"TimeoutSeconds": 30},
            "Steps": [{"Name": "TakePayment", "Agent": "payment"}]}


class DeadLettersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage([WORKFLOW], http_agents=["payment"], console=True)
        cls.addClassCleanup(cls.stage.stop)
        cls.cluster = cls.stage.cluster
        cls.console = cls.cluster["console"]

    def reeve(self, *arguments, check=True, stdin=None):
        url = f"http://127.0.0.1:{self.console.http_port()}"
        return self.cluster.reeve("dead-letters", *arguments, "--console", url, check=check,
                                  stdin=stdin)

    def listed(self, *arguments):
        done = self.reeve("list", "--output", "jsonl", *arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def wait_listed(self, key, *arguments):
        """The open dead letter with this order id."""
        def find():
            return [row for row in self.listed(*arguments) if row["order_id"] == key]

        return wait_for(lambda: f"a dead letter of {key}: {self.listed('--all')}", find, 30)[0]

    def poison(self, key, value):
        self.cluster.produce("submissions", [(key, value, [("trace", b"t-1")])])
        return self.wait_listed(key)

    def is_open(self, letter):
        return letter["id"] in [row["id"] for row in self.listed("--limit", "0")]

    def submissions(self, key):
        return [record for record in self.cluster.read_topic("submissions") if record.key == key]

    def test_a_corrected_poison_submission_is_processed(self):
        order = self.stage.order("poison-1", "one-step")
        order = {**order, "currency": "gbp"}
        self.stage.send("submissions", "SubmitOrder", order)
        letter = self.wait_listed("poison-1")
        self.assertEqual(letter["code"], "InvalidOrder")
        self.assertEqual(letter["from"]["topic"], self.cluster.topic("submissions"))
        text = self.reeve("get", letter["id"]).stdout
        self.assertIn('"currency": "gbp"', text)
        self.assertIn("InvalidOrder", text)
        value = json.loads(self.reeve("get", letter["id"], "--json").stdout)
        corrected = self.cluster.folder / "corrected.json"
        corrected.write_text(json.dumps({**value, "currency": "GBP"}), encoding="utf-8")
        self.reeve("replay", letter["id"], "--json", corrected, "--by", "ann", "--reason",
                   "the shop sent lower case")
        self.stage.wait_for_end("poison-1", "Processed")
        self.assertFalse(self.is_open(letter))
        (resolved,) = [row for row in self.listed("--all") if row["id"] == letter["id"]]
        self.assertEqual(resolved["state"], "replayed")
        self.assertEqual(resolved["resolution"]["by"], "ann")
        self.assertTrue(resolved["resolution"]["corrected"])
        again = self.reeve("discard", letter["id"], "--by", "bob", "--reason", "late", check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("ann replayed it before", again.stderr)

    def test_garbage_is_shown_safely_and_discarded_by_a_filter(self):
        letter = self.poison("garbage-1", b"\x00\xff\x1b[2Jhello")
        shown = self.reeve("get", letter["id"])
        self.assertIn("|...[2Jhello|", shown.stdout)
        self.assertNotIn("\x1b", shown.stdout + shown.stderr)
        self.assertIn("trace = t-1", shown.stdout)
        self.assertIn(letter["id"], self.reeve("list").stdout)
        refused = self.reeve("discard", "--code", letter["code"], "--by", "ann", "--reason", "x",
                             check=False)
        self.assertEqual(refused.returncode, 64, "it asks for confirmation")
        self.reeve("discard", "--code", letter["code"], "--by", "ann", "--reason", "a test",
                   "--yes", "--rate", "50/s")
        self.assertFalse(self.is_open(letter))

    def test_a_second_console_sees_the_same_state(self):
        letter = self.poison("shared-1", b"junk")
        self.reeve("discard", "-", "--by", "ann", "--reason", "junk", "--yes",
                   stdin=letter["id"] + "\n")
        second = self.cluster.add("console", name="console-2")
        url = f"http://127.0.0.1:{second.http_port()}"

        def state():
            done = self.cluster.reeve("dead-letters", "list", "--all", "--limit", "0", "--output",
                                      "jsonl", "--console", url)
            rows = map(json.loads, done.stdout.splitlines())
            return [row["state"] for row in rows if row["id"] == letter["id"]]

        wait_for(lambda: f"the second console knows: {state()}",
                 lambda: state() == ["discarded"], 30)
        second.terminate()

    def test_a_crash_between_replay_and_resolution_leaves_it_open(self):
        order = self.stage.order("crash-1", "later")
        self.stage.send("submissions", "SubmitOrder", order)
        letter = self.wait_listed("crash-1")
        self.assertEqual(letter["code"], "UnknownWorkflow")
        later = self.cluster.folder / "later.json"
        later.write_text(json.dumps({**WORKFLOW, "Name": "later"}), encoding="utf-8")
        self.cluster.workflow_deploy(later)
        self.console.terminate()
        self.console.start(env={"REEVE_FAILPOINT": "console.dead-letter.replayed=kill"})
        self.console.wait_ready(60)
        self.reeve("replay", letter["id"], "--by", "ann", "--reason", "deployed", check=False)
        self.assertEqual(self.console.wait_end(30), -9)
        self.console.start()
        self.console.wait_ready(60)
        self.assertEqual(len(self.submissions("crash-1")), 2, "appended, but not resolved")
        self.wait_listed("crash-1")
        self.reeve("replay", letter["id"], "--by", "ann", "--reason", "deployed")
        self.stage.wait_for_end("crash-1", "Processed")
        self.assertEqual(len(self.submissions("crash-1")), 3)
        self.assertFalse(self.is_open(letter))
        requests = [record for record in self.cluster.read_topic("requests.payment")
                    if record.key == "crash-1"]
        self.assertEqual(len(requests), 1, "the order ran once")


if __name__ == "__main__":
    unittest.main()
