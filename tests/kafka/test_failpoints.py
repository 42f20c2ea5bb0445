# SPDX-License-Identifier: Apache-2.0
"""A scheduler crashes between any two steps of claim, fold, cycle and emission, while it owns
parents of sub-orders of which another scheduler owns the rest, and sub-orders of the other's
parents. It is restarted: every order ends, no status or request is missing, and the log breaks no
rule."""

import unittest

from lib import Broker, records, wait_for
from lib.checker import ENDED, partition_of
from lib.crowd import Crowd, failpoints_in, state_of

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
EMISSION = {"emit.begin": "", "emit.request": "", "emit.status": "", "emit.message": ""}

# Without a timeout that could end: each step that starts has a request. What fails is undone, an
# item's step as well as those of the items that are done.
TREE = {"Name": "tree", "Version": 1, "Defaults": {"TimeoutSeconds": 60}, "Steps": [
    {"Name": "Parts", "ForEach": {"Items": [0, 1]}, "Steps": [
        {"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}},
        {"Name": "Box", "Steps": [
            {"Name": "Pack", "Agent": "stock", "Compensate": {"Action": "Unpack"}}]}]},
    {"Name": "Pay", "Agent": "bank", "Compensate": {"Action": "Refund"}}]}
LOAD = {"workflow": "tree", "count": 6}
AGENTS = {"stock": {"agent.sim.latency.ms": "300"}, "bank": {"agent.sim.fail.share": "0.2"}}
PLAIN = {"Name": "plain", "Version": 1, "Defaults": {"TimeoutSeconds": 60},
         "Steps": [{"Name": "Only", "Agent": "stock"}]}
# Sub-orders that tell their parent that they are done, and then that they are undone.
PAIRS = {"pair": [], "pair-back": [{"Name": "Refuse", "Fail": {"Error": "Refused"}}]}
PAIR_WORKFLOWS = tuple(
    {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": 60}, "Steps": [
        {"Name": "Part", "Steps": [
            {"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}}]}, *more]}
    for name, more in PAIRS.items())
# At one failpoint, at most. A command is quarantined after five without a Decision.
CRASHES = 4


class FailpointsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)
        # A static member's partition waits for it while it is dead: the other scheduler keeps the
        # other partition alone.
        cls.crowd = Crowd(cls.broker, partitions=2, schedulers=2,
                          workflows=(TREE, PLAIN, *PAIR_WORKFLOWS), agents=AGENTS,
                          properties={"group.static": "true", "session.timeout.ms": 30000})
        cls.addClassCleanup(cls.crowd.stop)
        # Of cycle.store=error, if it is sent before the scheduler is killed.
        cls.crowd.cluster.expect_alerts("StoreDamaged")
        cls.names = []

    @classmethod
    def tearDownClass(cls):
        cls.crowd.wait_for_end(cls.names)
        findings = cls.crowd.findings() + cls.crowd.missing_requests()
        if findings:
            raise AssertionError("\n".join(map(str, findings)))

    def open_families(self):
        """(the parent's partition, the sub-order's) of parents and sub-orders that have not both
        ended."""
        self.crowd.look()
        orders = {key: order for checker in self.crowd.checkers.values()
                  for key, order in checker.orders.items()}
        ended = ENDED | {"Error"}
        return {(partition_of(order.parent["order_id"], 2), partition_of(key, 2))
                for key, order in orders.items()
                if order.parent
                and not ended >= {order.state, orders[order.parent["order_id"]].state}}

    def two_owners_meet(self):
        """Each scheduler owns one side of a family that is open, and the other scheduler the other
        side."""
        return (self.open_families() >= {(0, 1), (1, 0)}
                and set(self.crowd.owners().values()) == {"scheduler-1", "scheduler-2"})

    def die_at(self, points, passes):
        """Runs a scheduler until it is killed at each failpoint in turn, then without one. Orders
        keep coming, and earlier ones are still in progress. It dies there as the owner of parents
        and as the owner of sub-orders, which are open from the beginning."""
        scheduler = self.crowd["scheduler-1"]
        self.names += self.crowd.submit_until(
            lambda: f"families of both owners; {self.open_families()} of {self.crowd.owners()}",
            self.two_owners_meet, **LOAD)
        scheduler.sigkill()
        for point, specification in points.items():
            with self.subTest(point):
                met = set()
                for _ in range(CRASHES):
                    scheduler.start(ready=False, env={
                        "REEVE_FAILPOINT": specification or f"{point}=kill@{passes}"})
                    self.names += self.crowd.load_until_killed(scheduler, **LOAD)
                    met |= self.open_families()
                    if met >= {(0, 1), (1, 0)}:
                        break
                self.assertLessEqual({(0, 1), (1, 0)}, met)
        scheduler.start()
        self.crowd.wait_for_end(self.names)
        self.assertLessEqual({self.crowd.state(name) for name in self.names}, ENDED)

    def test_survives_crashes_while_claiming_and_folding(self):
        self.die_at(CLAIM, 1)

    def test_survives_crashes_in_the_cycle(self):
        self.die_at(CYCLE, 7)

    def test_survives_crashes_while_emitting(self):
        self.die_at(EMISSION, 11)

    def partition_of(self, scheduler):
        (partition,) = (partition for partition, instance in self.crowd.owners().items()
                        if instance == scheduler.name)
        return partition

    def pair(self, workflow, first, second):
        """Submits a parent of `second` whose sub-order is of `first`; returns both ids."""
        parent = self.crowd.name_for(self.partition_of(second))
        while partition_of(f"{parent}~Part", 2) != self.partition_of(first):
            parent = self.crowd.name_for(self.partition_of(second))
        self.crowd.cluster.produce("submissions", [(parent, records.local_schemas().encode(
            "SubmitOrder", self.crowd.order(parent, workflow)))])
        self.names.append(parent)
        return parent, f"{parent}~Part"

    def count(self, order, *kinds):
        return sum(event["_type"] in kinds for _, _, decision in self.crowd.admitted()
                   if decision["order_id"] == order for event in decision["events"])

    def test_survives_the_death_of_both_owners_between_an_end_and_its_report(self):
        """The sub-order's owner stops when the log says what has become of it, and nothing has told
        the parent; both owners die there."""
        first, second = self.crowd["scheduler-1"], self.crowd["scheduler-2"]
        for workflow, ends, state in (("pair", 1, "Processed"), ("pair-back", 2, "Compensated")):
            with self.subTest(workflow):
                # The next owner sends again what follows from the last Decision: no message.
                self.crowd.wait_for_end(self.crowd.submit(1, "plain", self.partition_of(first)))
                first.terminate()
                before = len(self.crowd.claims())
                # It owns no parent of an order that is open, so it sends nothing but reports.
                first.start(ready=False, env={"REEVE_FAILPOINT": f"emit.message=stop@{ends}"})
                self.crowd.wait_ready()
                wait_for(lambda: f"two owners: {self.crowd.owners()}",
                         lambda: len(self.crowd.claims()) > before and set(
                             self.crowd.owners().values()) == {first.name, second.name}, 60)
                parent, part = self.pair(workflow, first, second)
                wait_for(lambda: f"{first.name} stops:\n{first.tail()}",
                         lambda: state_of(first) == "T", 60)
                self.assertEqual(self.count(part, "OrderHeld", "OrderCompensated"), ends)
                self.assertEqual(self.count(parent, "SuborderEnded"), ends - 1)
                second.sigkill()
                first.sigkill()
                for scheduler in first, second:
                    scheduler.start(ready=False)
                self.crowd.wait_for_end([parent])
                self.assertEqual(self.crowd.state(parent), state)
                self.assertEqual(self.count(parent, "SuborderEnded"), ends)

    def test_covers_every_failpoint(self):
        sources = ("services/scheduler/owner/owner.c", "services/scheduler/owner/claim.c",
                   "services/scheduler/owner/cycle.c", "services/scheduler/owner/guard.c",
                   "services/scheduler/owner/store.c", "services/scheduler/emitter/emitter.c",
                   "replica/follow/follower.c", "replica/follow/fold.c")
        self.assertEqual(failpoints_in(*sources), {*CLAIM, *CYCLE, *EMISSION})


if __name__ == "__main__":
    unittest.main()
