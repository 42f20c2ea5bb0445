# SPDX-License-Identifier: Apache-2.0
"""An operator pauses an agent: its steps wait for longer than their timeouts, whatever is killed
meanwhile, and nothing times out; after the resume all orders end as Processed."""

import time
import unittest

from lib import wait_for
from lib.checker import read_ledger
from lib.crowd import CrowdTest
from lib.delivery import CRASHES, DeliveryTest

TIMEOUT_SECONDS = 600

SECONDS = 4  # of an attempt
ORDERS = 60
PROPERTIES = {"clock.skew.max.ms": 400, "agent.heartbeat.ms": 300, "routing.retry.ms": 300,
              "routing.retry.max.ms": 600, "routing.alert.ms": 500}
WORKFLOW = {
    "Name": "ship", "Version": 1, "TimeoutSeconds": 600, "Defaults": {"TimeoutSeconds": SECONDS},
    "Steps": [{"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}},
              {"Name": "Ship", "Agent": "carrier"}],
}


class PauseTest(CrowdTest):
    switched_off = False

    @classmethod
    def setUpClass(cls):
        cls.start_crowd(partitions=4, workflows=[WORKFLOW], agents={"stock": {}, "carrier": {}},
                        properties={**PROPERTIES,
                                    **({"routing.enabled": "false"} if cls.switched_off else {})})
        cls.crowd.add("console")
        cls.crowd.wait_ready()

    def agents(self, *arguments, check=True):
        url = f"http://127.0.0.1:{self.crowd['console'].http_port()}"
        return self.crowd.cluster.reeve("agents", *arguments, "--console", url, check=check)

    def change(self, action, by, reason, check=True):
        return self.agents(action, "carrier", "--by", by, "--reason", reason, check=check)

    def is_paused(self):
        _, body = self.crowd["scheduler-1"].get("/metrics")
        return 'reeve_agent_paused{agent="carrier"} 1' in body

    def events(self, names, kind):
        return [event for _, _, decision in self.crowd.admitted()
                if decision["order_id"] in names
                for event in decision["events"] if event["_type"] == kind]

    def wait_for_queued(self, names):
        wait_for(lambda: f"{len(names)} queued steps, {len(self.events(names, 'StepQueued'))} now",
                 lambda: len(self.events(names, "StepQueued")) >= len(names), 120)

    def calls(self):
        """The calls of the carrier so far."""
        text = self.crowd.cluster.ledger.read_text(encoding="utf-8")
        return [call for call in read_ledger(text) if "/Ship/" in call["key"]]

    def test_steps_of_a_paused_agent_wait_and_nothing_times_out(self):
        crowd = self.crowd
        before = crowd.submit(5, "ship")
        crowd.wait_for_end(before, 120)
        self.change("pause", "ann", "the carrier is down")
        wait_for("the scheduler knows", self.is_paused, 60)
        calls = len(self.calls())
        self.assertEqual(calls, 5)

        names = crowd.submit(ORDERS, "ship")
        self.wait_for_queued(names)
        again = self.change("pause", "bob", "maintenance", check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("ann has paused agent carrier: the carrier is down", again.stderr)
        self.assertIn("by ann", self.agents("list").stdout)

        # Neither a crash of the scheduler, nor the loss of its store, nor restarts of the others
        # end the pause.
        scheduler = crowd["scheduler-1"]
        scheduler.sigkill()
        for name in ("supervisor-1", "console"):
            crowd[name].terminate()
            crowd[name].start(ready=False)
        names += crowd.submit(10, "ship")
        scheduler.drop_data()
        scheduler.start(ready=False)
        crowd.wait_ready()
        self.wait_for_queued(names)
        self.assertTrue(self.is_paused())
        last = max(event["queued_at"] for event in self.events(names, "StepQueued"))
        wait_for("the steps have waited for longer than their timeouts",
                 lambda: time.time() * 1000 > last + 3000 * SECONDS, 60)

        self.assertEqual(len(self.calls()), calls, "the service was called while it was paused")
        queued = self.events(names, "StepQueued")
        self.assertEqual({event["retry_at"] for event in queued}, {0})
        self.assertEqual({event["reason"] for event in queued},
                         {"carrier: paused by ann: the carrier is down"})
        self.assertEqual(len(queued), len(names), "no supervisor asked again")
        self.assertFalse([record for record in crowd.tail("alerts") if record.value["raised"]])
        self.assertFalse(crowd.ended(names))

        self.change("resume", "bob", "the carrier is back")
        crowd.wait_for_end(names, 180)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        self.assertEqual(self.events(names, "StepTimedOut"), [])
        self.assertEqual(len(self.events(names, "StepStarted")), 2 * len(names))
        self.assertEqual(self.change("resume", "bob", "again", check=False).returncode, 1)

    def test_an_unknown_agent_is_paused_with_a_warning(self):
        done = self.agents("pause", "courier", "--by", "ann", "--reason", "a spelling mistake")
        self.assertIn("no deployed workflow names it", done.stderr)
        self.assertIn("courier", self.agents("list").stdout)
        self.agents("resume", "courier", "--by", "ann", "--reason", "a spelling mistake")
        self.assertNotIn("courier", self.agents("list").stdout)
        bad = self.agents("pause", "a/b", "--by", "ann", "--reason", "down", check=False)
        self.assertEqual(bad.returncode, 64)
        self.assertIn("AGENT must be", bad.stderr)


class PauseWithoutRoutingTest(PauseTest):
    switched_off = True


class PauseAcrossCrashesTest(DeliveryTest):
    """No scheduler runs when an operator pauses or resumes an agent, and the one that is started
    next crashes in the Decision that follows from it."""

    def change(self, action):
        self.scheduler.terminate()
        self.cli("agents", action, "carrier", "--by", "ann", "--reason", "maintenance")

    def crash(self, point, decision, then=lambda: None):
        self.scheduler.start(ready=False, env={"REEVE_FAILPOINT": f"{point}=kill@{decision}"})
        then()
        self.assertEqual(self.scheduler.wait_end(), -9, point)
        self.scheduler.start()

    def events(self, order, kind):
        return [event for r in self.cluster.read_topic("events")
                if r.type == "Decision" and r.value["order_id"] == order
                for event in r.value["events"]
                if event["_type"] == kind and event["step"] == "Ship"]

    def test_pauses_and_resumes(self):
        self.add_agent("carrier")
        for point in CRASHES:
            order = f"held-{point}"
            with self.subTest(point):
                self.change("pause")
                # It accepts the order, and queues Ship when Pack is done.
                self.crash(point, 2, lambda order=order: self.send(order))
                self.wait_at_ship(order)
                self.assertEqual({event["reason"] for event in self.events(order, "StepQueued")},
                                 {"carrier: paused by ann: maintenance"})
                self.assertEqual(self.events(order, "StepStarted"), [])
                self.assertNotIn(order, [r.key for r in self.cluster.read_topic(
                    "requests.carrier")])
                self.change("resume")
                self.crash(point, 1)
                self.wait_state("Processed", order)
                self.assertEqual(len(self.events(order, "StepStarted")), 1)
                self.assertEqual(self.events(order, "StepTimedOut"), [])
        self.check("noop", "carrier")


if __name__ == "__main__":
    unittest.main()
