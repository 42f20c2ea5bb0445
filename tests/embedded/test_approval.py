# SPDX-License-Identifier: Apache-2.0
"""Steps that wait for people: questions, answers by the console, the command line and the
submission service, and what becomes of answers of others, repeated ones and late ones."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from lib.dev import REEVE, Dev
from lib.waiting import wait_for

TIMEOUT_SECONDS = 240
WORKFLOW = """
Name: refund
Version: 1
TimeoutSeconds: 600
InputShape: {amount: number}
Steps:
  - Name: Approve
    Await:
      From: managers
      Options: [approve, decline]
      Question: "Refund ${input.amount} EUR?"
    TimeoutSeconds: 300
  - Name: Delivered
    Await: {}
  - Name: Pay
    Agent: noop
    When: output.Approve.choice == 'approve'
    OnExhausted: error
"""
WAVES = """
Name: rollout
Version: 1
Steps:
  - Name: Waves
    ForEach: {Items: [1, 2]}
    Steps:
      - Name: GoOn
        Await: {From: managers, Options: [go, stop]}
        TimeoutSeconds: 300
"""
GROUPS = "managers viewer\nauditors operator submitter\n"


class ApprovalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        names = ("refund.yaml", "rollout.yaml", "groups", "token")
        workflow, waves, groups, viewer = (cls.folder / name for name in names)
        workflow.write_text(WORKFLOW)
        waves.write_text(WAVES)
        groups.write_text(GROUPS)
        viewer.write_text("reeve_viewer-canary\n")
        cls.dev = Dev(cls.folder, workflow, waves, "--http-groups-file", groups,
                      "--set", f"submission.console.token.file={viewer}")
        cls.addClassCleanup(cls.dev.stop)

    def ask(self, service, method, path, role, body=None):
        answer = self.dev.ask(service, method, path, self.dev.tokens[role], body)
        return answer.status, json.loads(answer.body)

    def submit(self, order):
        status, body = self.ask("submission", "POST", "/orders", "submitter", {
            "order_id": order, "workflow": "refund", "input": {"amount": 120.50}})
        self.assertEqual(status, 202, body)
        self.wait_until(order, "Approve")

    def order(self, order):
        return self.ask("console", "GET", f"/api/orders/{order}", "viewer")[1]

    def wait_until(self, order, step):
        """The order waits for that step."""
        wait_for(lambda: self.order(order), lambda: step in [
            wait["step"] for wait in self.order(order).get("waiting_for", [])], 30)

    def signal(self, order, step, role, **body):
        status, answer = self.ask("console", "POST", f"/api/orders/{order}/signals/{step}", role,
                                  body)
        return status, answer.get("code"), answer

    def reeve(self, role, *words):
        return subprocess.run(
            [REEVE, *words, "--console", f"http://127.0.0.1:{self.dev.port('console')}"],
            env={**os.environ, "REEVE_CONSOLE_TOKEN": self.dev.tokens[role]},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def test_an_order_says_what_it_waits_for(self):
        self.submit("asks")
        for service, path, role in (("console", "/api/orders/asks", "operator"),
                                    ("submission", "/orders/asks", "submitter")):
            with self.subTest(service):
                wait = self.ask(service, "GET", path, role)[1]["waiting_for"]
                self.assertIsNotNone(wait[0].pop("due_at"))
                self.assertEqual(wait, [{
                    "step": "Approve", "for": "signal", "group": "managers",
                    "question": "Refund 120.5 EUR?", "options": ["approve", "decline"]}])
        found = {query: "asks" in [order["order_id"] for order in self.ask(
            "console", "GET", f"/api/orders?{query}", "viewer")[1]["orders"]]
            for query in ("waiting_for=Approve", "group=managers", "group=auditors",
                          "waiting_for=Delivered", "waiting_for=Approve&group=managers",
                          "waiting_for=Delivered&group=managers")}
        self.assertEqual(found, {
            "waiting_for=Approve": True, "group=managers": True, "group=auditors": False,
            "waiting_for=Delivered": False, "waiting_for=Approve&group=managers": True,
            "waiting_for=Delivered&group=managers": False})
        listed = self.reeve("viewer", "orders", "list", "--waiting-for", "Approve")
        self.assertIn("Approve: waits for managers", listed.stdout)
        shown = self.reeve("viewer", "orders", "get", "asks").stdout
        self.assertIn("Refund 120.5 EUR?", shown)
        self.assertIn("approve, decline", shown)

    def test_the_list_of_a_group_has_the_items_that_wait_for_it(self):
        status, body = self.ask("submission", "POST", "/orders", "submitter",
                                {"order_id": "r", "workflow": "rollout"})
        self.assertEqual(status, 202, body)
        for query in ("group=managers", "waiting_for=GoOn"):
            wait_for(f"both items are listed with {query}", lambda query=query: {
                "r~Waves~0", "r~Waves~1"} <= {order["order_id"] for order in self.ask(
                    "console", "GET", f"/api/orders?{query}", "viewer")[1]["orders"]})
        before = self.ask("console", "GET", "/api/orders/count?group=managers", "viewer")[1]
        self.assertGreaterEqual(before["orders"], 2)
        for item in ("r~Waves~0", "r~Waves~1"):
            done = self.reeve("viewer", "signal", item, "GoOn", "--choose", "go")
            self.assertEqual(done.returncode, 0, done.stderr)
        wait_for(lambda: self.order("r"), lambda: self.order("r")["state"] == "Processed", 30)
        listed = self.reeve("viewer", "orders", "list", "--group", "managers", "--output", "id")
        self.assertNotIn("r~", listed.stdout)

    def test_only_a_member_of_the_group_approves_and_only_once(self):
        self.submit("refund-1")
        self.assertEqual(self.signal("refund-1", "Approve", "operator", choice="approve")[:2],
                         (403, "NotAllowed"))
        self.assertEqual(self.signal("refund-1", "Approve", "operator", choice="approve",
                                     groups=["managers"])[0], 400)
        self.assertEqual(self.signal("refund-1", "Approve", "submitter", choice="approve")[:2],
                         (403, "Forbidden"))
        self.assertEqual(self.signal("refund-1", "Approve", "viewer", choice="perhaps")[:2],
                         (409, "BadPayload"))
        self.assertEqual(self.signal("refund-1", "Aprove", "viewer", choice="approve")[:2],
                         (404, "UnknownStep"))
        self.assertEqual(self.signal("unknown", "Approve", "viewer", choice="approve")[:2],
                         (404, "UnknownOrder"))
        answer = {"choice": "approve", "comment": "a <b>regular</b> customer", "id": "mail-1"}
        status, _, decision = self.signal("refund-1", "Approve", "viewer", **answer, by="eve")
        self.assertEqual(status, 200, decision)
        self.assertEqual(decision["by"], "viewer", "not who the body says")
        status, _, again = self.signal("refund-1", "Approve", "viewer", **answer)
        self.assertEqual(status, 200, again)
        self.assertEqual(again["events"][0]["data"]["code"], "SignalRepeated")
        self.assertEqual(self.signal("refund-1", "Approve", "viewer", choice="decline",
                                     id="mail-2")[:2], (409, "TooLate"))
        self.wait_until("refund-1", "Delivered")
        steps = {step["step"]: step for step in self.order("refund-1")["steps"]}
        self.assertEqual(steps["Approve"]["output"], {
            "choice": "approve", "comment": "a <b>regular</b> customer", "by": "viewer"})
        self.assertEqual(self.signal("refund-1", "Delivered", "operator", payload=[1.10],
                                     id="d-1")[0], 200)
        wait_for(lambda: self.order("refund-1"),
                 lambda: self.order("refund-1")["state"] == "Processed", 30)
        steps = {step["step"]: step for step in self.order("refund-1")["steps"]}
        self.assertEqual((steps["Delivered"]["output"], steps["Pay"]["state"]),
                         ([1.1], "Processed"))
        self.assertEqual(self.signal("refund-1", "Delivered", "operator", payload=1)[:2],
                         (409, "AlreadyEnded"))
        status, _, again = self.signal("refund-1", "Delivered", "operator", payload=[1.10],
                                       id="d-1")
        self.assertEqual(status, 200, "the one that ended the order counted")
        self.assertEqual(again["events"][0]["data"]["code"], "SignalRepeated")

    def test_the_command_line_answers(self):
        self.submit("refund-2")
        signal = ("signal", "refund-2", "Approve", "--choose")
        refused = self.reeve("operator", *signal, "approve")
        self.assertEqual(refused.returncode, 77, refused.stderr)
        self.assertIn("managers", refused.stderr)
        self.assertNotIn("role of the token", refused.stderr)
        self.assertEqual(self.reeve("viewer", *signal, "perhaps").returncode, 1)
        done = self.reeve("viewer", *signal, "decline", "--comment", "no", "--id", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("passed", done.stdout)
        again = self.reeve("viewer", *signal, "decline", "--comment", "no", "--id", "1")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("received before, nothing changes", again.stdout)
        self.assertEqual(self.reeve("viewer", *signal, "approve").returncode, 1, "late")
        passed = self.reeve("operator", "signal", "refund-2", "Delivered", "--payload", '{"n": 1}')
        self.assertEqual(passed.returncode, 0, passed.stderr)
        wait_for(lambda: self.order("refund-2"),
                 lambda: self.order("refund-2")["state"] == "Processed", 30)
        skipped = next(s for s in self.order("refund-2")["steps"] if s["step"] == "Pay")
        self.assertEqual(skipped["state"], "Skipped")

    def test_the_submission_service_takes_signals_of_its_submitters(self):
        self.submit("refund-3")

        def post(order, step, **body):
            status, answer = self.ask("submission", "POST", f"/orders/{order}/signals/{step}",
                                      "submitter", body)
            return status, answer.get("code")

        self.assertEqual(post("refund-3", "Delivered", payload={"signed_by": "zo\u00eb"}, id="p-1"),
                         (202, None), "before its turn")
        self.assertEqual(post("refund-3", "Approve", choice="approve"), (202, None))
        self.assertEqual(post("refund-3", "Sign", payload=1), (404, "UnknownStep"))
        self.assertEqual(post("refund-9", "Delivered", payload=1), (404, "UnknownOrder"))
        self.assertEqual(post("refund-3", "Delivered"), (400, "BadField"))
        rejected = wait_for("the answer to Approve", lambda: [
            event["data"]["code"] for entry in self.ask(
                "console", "GET", "/api/orders/refund-3/history", "viewer")[1]["entries"]
            for event in entry["events"] if event["kind"] == "CommandRejected"], 30)
        self.assertEqual(rejected, ["NotAllowed"])
        self.assertEqual(self.signal("refund-3", "Approve", "viewer", choice="approve")[0], 200)
        wait_for(lambda: self.order("refund-3"),
                 lambda: self.order("refund-3")["state"] == "Processed", 30)
        steps = {step["step"]: step for step in self.order("refund-3")["steps"]}
        self.assertEqual(steps["Delivered"]["output"], {"signed_by": "zo\u00eb"})
        self.assertEqual(post("refund-3", "Delivered", payload=1), (409, "AlreadyEnded"))
        self.assertEqual(post("refund-3", "Delivered", payload=1, id="p-1"), (202, None),
                         "the scheduler knows whether it counted")


if __name__ == "__main__":
    unittest.main()
