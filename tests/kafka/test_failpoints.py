# SPDX-License-Identifier: Apache-2.0
"""A scheduler crashes between any two steps of claim, fold, cycle and emission, under load, and is
restarted: every order ends, no status or request is missing, and the log breaks no rule."""

import unittest

from lib import Broker
from lib.crowd import Crowd, failpoints_in

TIMEOUT_SECONDS = 300

# Failpoint -> the specification that reaches it, if it takes more than itself.
CLAIM = {"claim.begin": "", "claim.acknowledged": "", "claim.folded": "", "claim.running": "",
         "follower.fold": "", "follower.commit": "",
         # After a claim without a Decision, the next owner writes an Attempt first.
         "attempt.acknowledged": ""}
CYCLE = {"cycle.decide": "", "cycle.append": "", "cycle.acknowledged": "", "cycle.stored": "",
         "cycle.emitted": "",
         # A store error: the claim is given up and the store dropped.
         "cycle.store": "cycle.store=error@2,follower.drop=kill",
         "owner.given_up": "cycle.store=error@2,owner.given_up=kill",
         "follower.drop": "cycle.store=error@2,follower.drop=kill"}
EMISSION = {"emit.begin": "", "emit.request": "", "emit.status": ""}
OF_SUBORDERS = {"emit.message"}  # these orders have none: test_suborders.py


class FailpointsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)
        cls.crowd = Crowd(cls.broker, partitions=2, properties={"session.timeout.ms": 1500})
        cls.addClassCleanup(cls.crowd.stop)
        # Of cycle.store=error, if it is sent before the scheduler is killed.
        cls.crowd.cluster.expect_alerts("StoreDamaged")
        cls.names = cls.crowd.submit(20)

    @classmethod
    def tearDownClass(cls):
        cls.crowd.wait_for_end(cls.names)
        findings = cls.crowd.findings() + cls.crowd.missing_requests()
        if findings:
            raise AssertionError("\n".join(map(str, findings)))

    def die_at(self, points, passes):
        """Runs the scheduler until it is killed at each failpoint in turn, then without one. Orders
        keep coming, and earlier ones are still in progress."""
        scheduler = self.crowd["scheduler-1"]
        if scheduler.is_running:
            scheduler.sigkill()
        for point, specification in points.items():
            with self.subTest(point):
                scheduler.start(ready=False, env={
                    "REEVE_FAILPOINT": specification or f"{point}=kill@{passes}"})
                self.names.extend(self.crowd.load_until_killed(scheduler))
        scheduler.start()
        self.crowd.wait_for_end(self.names)
        self.assertEqual({self.crowd.state(name) for name in self.names}, {"Processed"})

    def test_survives_crashes_while_claiming_and_folding(self):
        self.die_at(CLAIM, 1)

    def test_survives_crashes_in_the_cycle(self):
        self.die_at(CYCLE, 7)

    def test_survives_crashes_while_emitting(self):
        self.die_at(EMISSION, 11)

    def test_covers_every_failpoint(self):
        sources = ("services/scheduler/owner/owner.c", "services/scheduler/owner/claim.c",
                   "services/scheduler/owner/cycle.c", "services/scheduler/owner/guard.c",
                   "services/scheduler/owner/store.c", "services/scheduler/emitter/emitter.c",
                   "replica/follow/follower.c", "replica/follow/fold.c")
        self.assertEqual(failpoints_in(*sources), {*CLAIM, *CYCLE, *EMISSION, *OF_SUBORDERS})


if __name__ == "__main__":
    unittest.main()
