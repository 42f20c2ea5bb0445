# SPDX-License-Identifier: Apache-2.0
"""Operators' commands about orders, with a scheduler that crashes between each command and its
outcome; and about many orders at once."""

import json
import unittest

from lib import millis, wait_for
from lib.delivery import CRASHES, DeliveryTest

TIMEOUT_SECONDS = 300
WHO = ("--by", "ann", "--reason", "the carrier is away")


class OperatorsTest(DeliveryTest):
    def test_decides_commands_across_crashes(self):
        cases = [
            (("step", "complete", "completed", "Ship", "--step-output", '{"parcel": 7}'),
             "StepCompletedByHand", "Processed"),
            (("step", "skip", "skipped", "Ship"), "StepSkippedByHand", "Processed"),
            (("step", "fail", "failed", "Ship", "Strike"), "StepFailedUnstarted", "Error"),
            (("orders", "pause", "paused"), "OrderPaused", "Processing"),
            (("orders", "resume", "paused"), "OrderPauseEnded", "Processing"),
            (("cancel", "cancelled"), "OrderCancelled", "Compensated"),
            (("compensate", "undone"), "CompensationStarted", "Compensated"),
            (("resubmit", "failed", "--timeout", "2h"), "StepResubmitted", "Processing"),
        ]
        orders = ("completed", "skipped", "failed", "paused", "cancelled", "undone")
        self.submit(*orders)
        for number, (arguments, event, state) in enumerate(cases):
            point = CRASHES[number % len(CRASHES)]
            with self.subTest(f"{arguments[:2]} at {point}"):
                decision = self.across_a_crash(point, *arguments, *WHO)
                self.assertEqual(decision["events"][0]["kind"], event)
                self.assertEqual(decision["events"][0]["data"]["by"], "ann")
                self.wait_state(state, decision["order_id"])
        known = {order: json.loads(self.cli("orders", "get", order, "--output", "json").stdout)
                 for order in orders}
        self.assertEqual(known["completed"]["steps"][1]["output"], {"parcel": 7})
        self.assertEqual(known["skipped"]["steps"][1]["state"], "Skipped")
        self.assertGreater(millis(known["failed"]["complete_by"]),
                           millis(known["failed"]["updated_at"]) + 7e6)
        # Each was decided once.
        decided = [r for r in self.cluster.read_topic("events") if r.type == "Decision"
                   and r.value["events"][0]["_type"] in {event for _, event, _ in cases}]
        self.assertEqual(len(decided), len(cases))
        self.check("noop", "carrier")

    def test_refuses_what_would_not_be_true(self):
        self.submit("one")
        for arguments, code in (
                (("step", "complete", "one", "Pack"), "StepEnded"),
                (("step", "skip", "one", "Bill"), "NotItsTurn"),
                (("step", "fail", "one", "Nothing", "Strike"), "UnknownStep"),
                (("orders", "resume", "one"), "NotPaused"),
                (("resubmit", "one"), "NotInError"),
                (("cancel", "none"), "UnknownOrder")):
            done = self.cli(*arguments, *WHO, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(f"({code})", done.stderr)
        self.assertEqual(self.state("one"), "Processing")

    def test_ends_no_step_by_hand_while_an_attempt_runs(self):
        self.add_agent("carrier", agent_sim_silent_share=1)
        self.send("one")

        def runs():
            known = self.orders()
            return "one" in known and any(
                step["step"] == "Ship" and step["state"] == "Processing"
                for step in known["one"]["active_steps"])

        wait_for("an attempt of Ship runs", runs, 60)
        for arguments in (("complete", "one", "Ship"), ("skip", "one", "Ship"),
                          ("fail", "one", "Ship", "Strike")):
            done = self.cli("step", *arguments, *WHO, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn("(AttemptRuns)", done.stderr)
        rejected = [event["code"] for r in self.cluster.read_topic("events")
                    if r.type == "Decision" for event in r.value["events"]
                    if event["_type"] == "CommandRejected"]
        self.assertEqual(rejected, ["AttemptRuns"] * 3)
        self.check("noop", "carrier")

    def test_acts_on_many_orders_at_once(self):
        orders = [f"many-{number}" for number in range(40)]
        self.submit("apart", *orders)
        self.cli("orders", "pause", "apart", *WHO)
        ship = ("step", "complete", "Ship", "--workflow", "delivery")
        listed = self.cli(*ship, "--dry-run")
        self.assertEqual(set(listed.stdout.split()[1:]), {"apart", *orders})
        self.assertIn("41 orders; nothing was sent", listed.stderr)
        asked = self.cli(*ship, *WHO, check=False, stdin="")
        self.assertEqual(asked.returncode, 64)
        self.assertIn("41 orders: --dry-run lists them, --yes goes ahead", asked.stderr)
        self.assertEqual(self.state("many-0"), "Processing")

        # Ids from stdin; one is refused, and the others go on.
        done = self.cli("step", "complete", "-", "Ship", *WHO, "--yes", check=False,
                        stdin="many-0\nnone\n\nmany-1\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none: there is no order none (UnknownOrder)", done.stderr)
        self.assertIn("2 of 3 orders: done; 1 refused", done.stderr)
        self.wait_state("Processed", "many-0", "many-1")

        done = self.cli(*ship, *WHO, "--yes", "--rate", "200/s")
        self.assertIn("39 of 39 orders: done; 0 refused", done.stderr)
        self.wait_state("Processed", *orders)
        # The step is done, and the order still paused.
        self.assertEqual(self.state("apart"), "Processing")
        self.cli("orders", "resume", "--workflow", "delivery", "--state", "Processing", *WHO,
                 "--yes")
        self.wait_state("Processed", "apart")
        done = self.cli(*ship, *WHO, "--yes")
        self.assertIn("No order matches.", done.stderr)
        self.check("noop", "carrier")

    def submit_details(self, order, customer, **attributes):
        self.cluster.reeve("submit", "-", stdin=self.order(
            order, customer=customer, attributes=attributes))

    def ids(self, *filters):
        """The orders that the list finds; the count agrees."""
        found = list(self.orders(*filters))
        count = json.loads(self.cli("orders", "count", *filters, "--output", "json").stdout)
        if filters:
            self.assertEqual((count["orders"], count["exact"]), (len(found), True), filters)
        return found

    def test_selects_orders_by_customer_attribute_id_and_time(self):
        long_note = "x" * 300
        self.submit_details("web-1", "ann & co", country="FR", note=long_note + "1")
        wait_for("the first is known", lambda: len(self.ids()) == 1, 60)  # --since tells them apart
        self.submit_details("web-2", "bob", country="FR", note=long_note + "2")
        wait_for("both are known", lambda: len(self.ids()) == 2, 60)
        between = json.loads(self.cli("orders", "get", "web-2", "--output", "json").stdout)
        self.submit_details("shop-1", "bob", country="UK")
        self.submit_details("count", "bob", country="UK")
        wait_for("all are known", lambda: len(self.ids()) == 4, 60)
        for filters, orders in (
                (("--customer", "ann & co"), ["web-1"]),
                (("--customer", "bo"), []),
                (("--customer", "bob", "--attribute", "country=FR"), ["web-2"]),
                (("--attribute", f"note={long_note}2"), ["web-2"]),
                (("--prefix", "web-"), ["web-1", "web-2"]),
                (("--since", "1h", "--prefix", "web-", "--state", "Processing"),
                 ["web-1", "web-2"]),
                (("--until", "1h"), []),
                (("--paused",), [])):
            self.assertEqual(sorted(self.ids(*filters)), orders, filters)
        later = ["--since", between["accepted_at"]]
        self.assertLessEqual({"web-2", "shop-1", "count"}, set(self.ids(*later)))
        self.assertNotIn("web-1", self.ids(*later))
        self.assertIn("bob", self.cli("orders", "list", "--wide", "--prefix", "count").stdout)
        self.assertEqual(self.state("count"), "Processing")
        for filters in (("--since", "soon"), ("--customer", ""), ("--attribute", "country")):
            self.assertEqual(self.cli("orders", "list", *filters, check=False).returncode, 64)

        self.cli("orders", "pause", "--customer", "bob", "--attribute", "country=UK", *WHO, "--yes")
        self.assertEqual(sorted(self.ids("--paused")), ["count", "shop-1"])
        # A console with an empty directory finds the same.
        expected = self.ids("--customer", "bob")
        self.console.terminate()
        self.console.drop_data()
        self.console.start()
        self.console.wait_ready(60)
        self.assertEqual(self.ids("--customer", "bob"), expected)
        self.assertEqual(sorted(self.ids("--paused")), ["count", "shop-1"])

    def version_of(self, order, **more):
        """The version that a new order takes, or the code of the refusal."""
        done = self.cluster.reeve("submit", "-", "--output", "json", check=False,
                                  stdin=self.order(order, **more))
        if done.returncode != 0:
            return json.loads(done.stderr)["error"]["code"]
        wait_for(f"{order} is known", lambda: order in self.orders(), 60)
        return self.orders()[order]["workflow_version"]

    def result(self, version, *flags):
        (row,) = json.loads(self.deploy(version, *flags).stdout)
        return row["result"]

    def test_a_version_is_deployed_activated_withdrawn_and_retired(self):
        self.assertEqual(self.result(2, "--no-activate"), "deployed, not active")
        self.assertEqual(self.version_of("first"), 1)
        self.cluster.reeve("workflow", "activate", "delivery:2", *WHO)
        self.assertEqual(self.version_of("second"), 2)
        self.assertEqual(self.result(3), "deployed, active")
        self.assertEqual(self.version_of("third"), 3)
        (row,) = self.cluster.reeve_json("workflow", "rollback", "delivery", *WHO)
        self.assertEqual(row["version"], 2)
        self.cluster.reeve("workflow", "retire", "delivery:3", *WHO)
        self.assertEqual(self.version_of("fourth"), 2)
        self.assertEqual(self.version_of("refused", workflow_version=3), "WorkflowRetired")
        self.assertEqual([(row["version"], row["active"], row["retired_by"])
                          for row in self.cluster.reeve_json("workflow", "list")],
                         [(1, False, None), (2, True, None), (3, False, "ann")])
        # Orders that run keep their version, and end.
        self.cli("step", "complete", "third", "Ship", *WHO)
        self.wait_state("Processed", "third")
        # Back again, past the retired one.
        (row,) = self.cluster.reeve_json("workflow", "rollback", "delivery", *WHO)
        self.assertEqual(row["version"], 1)
        missing = self.cluster.reeve("workflow", "activate", "delivery:9", *WHO, check=False)
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        self.assertIn("workflow delivery:9 is not deployed", missing.stderr)
        # None is active once the active one is retired.
        retired = self.cluster.reeve("workflow", "retire", "delivery:1", *WHO)
        self.assertIn("delivery:1 was the active version: new orders that name no version are "
                      "refused", retired.stderr)
        self.assertEqual([(row["active"], row["retired_by"])
                          for row in self.cluster.reeve_json("workflow", "list")],
                         [(False, "ann"), (False, None), (False, "ann")])
        self.assertEqual(self.version_of("none"), "WorkflowRetired")

    def test_a_paused_order_starts_nothing_until_it_is_resumed(self):
        self.submit("held", "free")
        self.cli("orders", "pause", "held", *WHO)
        row = self.orders()["held"]
        self.assertEqual((row["state"], row["paused_by"]), ("Processing", "ann"))
        self.add_agent("carrier")
        self.wait_state("Processed", "free")
        self.assertEqual(self.state("held"), "Processing")
        self.assertEqual([r.key for r in self.cluster.read_topic("requests.carrier")], ["free"])
        self.cli("orders", "resume", "held", *WHO)
        self.wait_state("Processed", "held")
        self.check("noop", "carrier")


if __name__ == "__main__":
    unittest.main()
