# SPDX-License-Identifier: Apache-2.0
"""The life cycle of workflow versions while services crash: orders move to another version with a
scheduler that is killed between command and outcome; versions are deployed, activated, withdrawn
and retired with a submission service that is killed in between."""

import threading
import unittest

from lib import wait_for
from lib.delivery import BILL, CRASHES, PACK, DeliveryTest

TIMEOUT_SECONDS = 600
WHO = ("--by", "ann", "--reason", "version 1 asks the wrong carrier")
# Steps change their places and one is new.
SECOND = [{"Name": "Check", "Agent": "noop", "After": "Pack"}, {**PACK, "After": []},
          {"Name": "Ship", "Agent": "courier", "After": "Check"}, {**BILL, "After": "Ship"}]
# What Pack has done would be undone in another way.
THIRD = [{**PACK, "Compensate": {"Action": "Discard"}}, {"Name": "Ship", "Agent": "courier"}, BILL]


class VersionsTest(DeliveryTest):
    def migrate(self, *arguments, **options):
        return self.cli("workflow", "migrate", "delivery:1", *arguments, *WHO, **options)

    def test_moves_orders_across_crashes(self):
        crashed = [f"crash-{number}" for number in range(len(CRASHES))]
        rest = [f"rest-{number}" for number in range(10)]
        self.submit(*crashed, *rest)
        warned = self.deploy(2, steps=SECOND).stderr
        self.assertIn("no running instance serves agent courier of step Ship", warned)
        self.assertNotIn("agent noop", warned)
        self.assertIn("no running instance serves agent courier of step Ship in delivery:2",
                      self.cluster.reeve("workflow", "list").stderr)
        self.assertEqual(self.cluster.reeve("workflow", "list", "--no-agent-check").stderr, "")
        self.deploy(3, "--no-activate", steps=THIRD)
        refused = self.migrate("delivery:3", "rest-0", check=False)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("rest-0: step Pack is Processed, and in version 3 it is undone in another "
                      "way (StepsDiffer)", refused.stderr)
        for point, order in zip(CRASHES, crashed):
            with self.subTest(point):
                decision = self.across_a_crash(point, "workflow", "migrate", "delivery:1",
                                               "delivery:2", order, *WHO)
                self.assertEqual(decision["events"][0]["kind"], "OrderMigrated")
                self.assertEqual(decision["events"][0]["data"]["by"], "ann")
                self.wait_at_ship(order)  # nothing else is decided in the next round
        unknown = self.migrate("delivery:9", "rest-0", check=False)
        self.assertEqual((unknown.returncode, unknown.stdout), (1, ""))
        self.assertIn("(UnknownWorkflow)", unknown.stderr)
        listed = self.migrate("delivery:2", "--dry-run")
        self.assertEqual({line.split()[0] for line in listed.stdout.splitlines()[1:]}, set(rest))
        self.assertIn("10 of 10 orders would be accepted, 0 refused", listed.stderr)
        done = self.migrate("delivery:2", "--yes")
        self.assertIn("10 of 10 orders: done; 0 refused", done.stderr)
        again = self.migrate("delivery:2", "rest-0", check=False)
        self.assertIn("(OtherVersion)", again.stderr)
        self.add_agent("courier")
        self.wait_state("Processed", *crashed, *rest)
        self.assertEqual({row["workflow_version"] for row in self.orders().values()}, {2})
        moved = [r for r in self.cluster.read_topic("events") if r.type == "Decision"
                 and r.value["events"][0]["_type"] == "OrderMigrated"]
        self.assertEqual(len(moved), len(crashed) + len(rest))
        self.check("noop", "courier")

    def take(self, order, change=None):
        """An order whose submission service is killed when it has pinned a version; `change` is
        made while no such service runs. Returns the version that the order has."""
        self.submission.terminate()
        self.submission.start(ready=False,
                              env={"REEVE_FAILPOINT": "submission.acknowledged=kill@1"})
        waiting = threading.Thread(target=lambda: self.send(order, check=False))
        waiting.start()
        self.assertEqual(self.submission.wait_end(), -9)
        if change is not None:
            change()
        self.submission.start()
        waiting.join(60)
        wait_for(f"{order} is known", lambda: order in self.orders(), 60)
        return self.orders()[order]["workflow_version"]

    def test_versions_change_while_the_submission_service_is_killed(self):
        life = [("deployed", lambda: self.deploy(2, "--no-activate", steps=SECOND), {1}, 1),
                ("activated", lambda: self.cluster.reeve(
                    "workflow", "activate", "delivery:2", *WHO), {1, 2}, 2),
                ("withdrawn", lambda: self.cluster.reeve(
                    "workflow", "rollback", "delivery", *WHO), {1, 2}, 1),
                ("retired", lambda: self.cluster.reeve(
                    "workflow", "retire", "delivery:2", *WHO), {1}, 1)]
        for name, change, between, after in life:
            with self.subTest(name):
                self.assertIn(self.take(f"{name}-between", change), between)
                self.assertEqual(self.take(f"{name}-after"), after)
        # The killed service has read each submission twice; each order exists once.
        accepted = [r.key for r in self.cluster.read_topic("events") if r.type == "Decision"
                    and r.value["events"][0]["_type"] == "OrderAccepted"]
        self.assertEqual(sorted(accepted), sorted(self.orders()))
        self.assertEqual(len(accepted), 2 * len(life))


if __name__ == "__main__":
    unittest.main()
