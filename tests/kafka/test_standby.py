# SPDX-License-Identifier: Apache-2.0
"""Short takeovers: static members that restart within their session, and standby schedulers.

REEVE_TAKEOVER_ORDERS: the number of open orders when the scheduler is killed (100000)."""

import os
import unittest

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.takeover import Takeover, lines_of, restart

TIMEOUT_SECONDS = 600


class StaticTest(unittest.TestCase):
    """Two schedulers and agents, all static members, with a session timeout so long that waiting
    for it would be noticed."""

    @classmethod
    def setUpClass(cls):
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)
        cls.crowd = Crowd(cls.broker, schedulers=2,
                          properties={"group.static": "true", "session.timeout.ms": 30000})
        cls.addClassCleanup(cls.crowd.stop)

    @classmethod
    def tearDownClass(cls):
        findings = cls.crowd.findings()
        if findings:
            raise AssertionError("\n".join(findings))

    def rebalances(self, name):
        return self.crowd[name].stderr.count("partitions revoked")

    def wait_for_both(self):
        wait_for("each scheduler runs three partitions", lambda: [
            self.crowd[f"scheduler-{i}"].metric("reeve_partitions_running") for i in (1, 2)
        ] == [3, 3], 60)

    def test_a_quick_restart_causes_no_rebalance(self):
        crowd = self.crowd
        self.wait_for_both()
        crowd.wait_for_end(crowd.submit(60))
        before = self.rebalances("scheduler-1")
        claims = len(crowd.claims())
        owned = [p for p, name in crowd.owners().items() if name == "scheduler-2"]
        print(f"killed and started again: the first order was done after "
              f"{restart(crowd, crowd['scheduler-2'])['first_order_ms']} ms")
        self.wait_for_both()
        self.assertEqual(self.rebalances("scheduler-1"), before, crowd["scheduler-1"].tail())
        new = {claim.partition: claim.value["instance"] for claim in crowd.claims()[claims:]}
        self.assertEqual(new, {p: "scheduler-2" for p in owned})

    def test_the_older_of_two_members_with_one_name_exits(self):
        crowd = self.crowd
        self.wait_for_both()
        for role, name in (("scheduler", "scheduler-2"), ("agent", "agent-bank"),
                           ("submission", "submission")):
            older = crowd[name]
            twin = crowd.add(role, f"{name}-twin", {**older.properties, "instance.id": name,
                                                    "data.dir": crowd.cluster.folder / "twin"},
                             start=False)
            twin.properties["data.dir"] = twin.data
            twin.start(ready=False)
            self.assertEqual(older.wait_end(120), 78, older.tail())
            self.assertIn(f"another process with instance.id {name} has taken this one's place",
                          older.stderr)
            twin.wait_ready(60)
            twin.sigkill()
            older.start(ready=False)
        crowd.wait_ready()
        crowd.wait_for_end(crowd.submit(20))

    def test_a_static_member_needs_an_instance_id(self):
        service = self.crowd.cluster.add("scheduler", "nameless", start=False)
        service.start(ready=False)
        self.assertEqual(service.wait_end(30), 78)
        self.assertIn("group.static needs an instance.id", service.stderr)


class StandbyTest(unittest.TestCase):
    """Three schedulers; each has a standby for every partition that it does not own."""

    def test_every_takeover_is_warm(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        crowd = Crowd(broker, schedulers=0, supervisors=1)
        self.addCleanup(crowd.stop)
        trio = [crowd.add("scheduler", f"scheduler-{number}", {"scheduler.standby": 2})
                for number in (1, 2, 3)]
        names = crowd.submit(60)
        for service in trio:
            wait_for(lambda s=service: f"{s.name} runs two, has standbys for four:\n{s.tail()}",
                     lambda s=service: (s.metric("reeve_partitions_running") == 2 and
                                        s.metric("reeve_partitions_warm") == 4), 60)
        crowd.wait_for_end(names)
        victim, others = trio[1], (trio[0], trio[2])
        for service in others:
            wait_for(f"{service.name} has folded the log", lambda s=service: crowd.caught_up(s), 60)
        before = [len(lines_of(service, "standby takes over")) for service in others]
        claimed_before = [len(lines_of(service, "partition claimed")) for service in others]
        claims = len(crowd.claims())
        ends = {p: 0 for p in range(crowd.partitions)}
        for record in crowd.look():
            ends[record.partition] = record.offset + 1
        owned = {p for p, name in crowd.owners().items() if name == victim.name}
        names = crowd.submit(60)
        victim.sigkill()
        crowd.wait_for_end(names)
        for service in others:
            wait_for(f"{service.name} runs three", lambda s=service:
                     s.metric("reeve_partitions_running") == 3, 60)
        taken = sum(len(lines_of(service, "standby takes over")) for service in others)
        claimed = {claim.partition for claim in crowd.claims()[claims:]}
        self.assertLessEqual(owned, claimed)
        self.assertEqual(taken - sum(before), len(claimed), [s.tail() for s in others])
        self.assertLessEqual({claim.value["instance"] for claim in crowd.claims()[claims:]},
                             {service.name for service in others})
        # None of them folded again what it had folded while it stood by.
        for service, old in zip(others, claimed_before):
            for line in lines_of(service, "partition claimed")[old:]:
                self.assertLessEqual(line["folded"],
                                     line["claim_offset"] + 1 - ends[line["partition"]], line)
        for service in others:
            wait_for(f"{service.name} has standbys for the other three", lambda s=service:
                     s.metric("reeve_partitions_warm") == 3, 60)
        # `verify --live` also compares the stores of the standbys.
        self.assertEqual(crowd.findings(), [])


class TakeoverTest(unittest.TestCase):
    """One partition with open orders whose scheduler is killed."""

    count = int(os.environ.get("REEVE_TAKEOVER_ORDERS", "100000"))

    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.stage = Takeover(self.broker, self.count)
        self.addCleanup(self.stage.stop)

    def take_over(self, victim, heir, what):
        found = self.stage.take_over(victim, heir)
        print(f"{self.count} open orders, {what}: {found['folded']} records folded, claimed "
              f"{found['claim_ms']} ms and decided {found['decision_ms']} ms after the last "
              f"Decision of the old owner (session timeout {self.stage.session_ms} ms)", flush=True)
        # Only the heir claims, and it continues exactly behind the last Decision.
        self.assertEqual(found["claims"], [heir.name])
        first, last = found["first"], found["last"]
        self.assertEqual((first["claim_id"], first["sequence"]), (found["claim_id"], 0))
        self.assertEqual(first["command_offset"], last["command_offset"] + 1)
        self.assertGreaterEqual(first["decided_at"], last["decided_at"])
        return found

    def test_a_standby_takes_over_many_open_orders(self):
        first = self.stage.scheduler("owner-1", 1)
        seconds = self.stage.open_orders(first)
        print(f"{self.count} orders opened in {seconds:.1f} s", flush=True)
        second = self.stage.scheduler("owner-2", 1)
        first, second = self.stage.owner_and_standby(first, second)
        warm = self.take_over(first, second, "with a standby")
        third = self.stage.scheduler("owner-3", 0)
        wait_for("the third joined and owns nothing", lambda: (
            lines_of(third, "partitions assigned") and
            lines_of(third, "partitions assigned")[-1]["count"] == 0), 60)
        cold = self.take_over(second, third, "without")
        # The standby folded only what was new since it had stood by; the other one everything.
        self.assertGreater(warm["from"], self.count)
        self.assertLessEqual(warm["folded"], warm["claim"] + 1 - warm["from"])
        self.assertEqual(len(lines_of(second, "standby takes over")), 1)
        self.assertIsNone(cold["from"])
        self.assertEqual(cold["folded"], cold["claim"] + 1)
        self.assertEqual(lines_of(third, "standby takes over"), [])
        self.stage.cluster.reeve("verify", seconds=self.stage.patience)


if __name__ == "__main__":
    unittest.main()
