# SPDX-License-Identifier: Apache-2.0
"""Ownership of partitions when owners are killed, or stopped and continued: the log decides, and
all readers agree. Supervisors and agents are taken over in the same way."""

import json
import unittest

from lib import wait_for
from lib.checker import partition_of
from lib.crowd import WORKFLOW, CrowdTest

# A step whose agent never answers: three attempts, then compensation.
SILENCE = {
    "Name": "silence", "Version": 1, "TimeoutSeconds": 600,
    "Steps": [
        {"Name": "Reserve", "Agent": "stock", "TimeoutSeconds": 30,
         "Compensate": {"Action": "Release"}},
        {"Name": "Ask", "Agent": "mute", "TimeoutSeconds": 0.4, "OnExhausted": "compensate",
         "Retry": [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 0.2, "MaxAttempts": 2,
                    "BackoffRate": 1}]},
    ],
}


class OwnershipTest(CrowdTest):
    @classmethod
    def setUpClass(cls):
        cls.start_crowd(schedulers=3, supervisors=2, workflows=[WORKFLOW, SILENCE],
                        agents={"stock": {}, "bank": {}, "mute": {"agent.sim.silent.share": 1}},
                        properties={"clock.skew.max.ms": 400})

    def wait_for_owners(self, wanted):
        """Each partition's latest Claim is by one of them, and they run all partitions."""
        def running():
            count = sum(self.crowd[name].metric("reeve_partitions_running") or 0 for name in wanted)
            return set(self.crowd.owners().values()) <= set(wanted) and count == 6

        wait_for(lambda: f"{wanted} own all partitions: {self.crowd.owners()}", running, 40)

    def victim(self, role, failpoint, properties=None):
        """A new instance that is stopped or killed at that failpoint."""
        name = f"{role}-{failpoint.split('=')[0]}-{next(self.crowd.numbers)}"
        return self.crowd.add(role, name, properties, env={"REEVE_FAILPOINT": failpoint},
                              ready=False)

    def wait_assigned(self, service):
        wait_for(lambda: f"{service.name} has partitions or has crashed:\n{service.tail()}",
                 lambda: not service.is_running or service.metric("reeve_partitions_assigned"), 30)

    # ---- schedulers ----

    def test_the_others_take_over_when_one_of_three_is_killed(self):
        crowd = self.crowd
        trio = ["scheduler-1", "scheduler-2", "scheduler-3"]
        self.wait_for_owners(trio)
        self.assertEqual([crowd[name].metric("reeve_partitions_running") for name in trio],
                         [2, 2, 2])
        names = crowd.submit(150)
        crowd.wait_for_ends(names, 20)
        crowd["scheduler-2"].sigkill()
        names += crowd.submit(50)
        crowd.wait_for_end(names)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        self.wait_for_owners(["scheduler-1", "scheduler-3"])
        # A new instance gets its share.
        crowd["scheduler-2"].start()
        self.wait_for_owners(trio)
        wait_for("the new instance owns two partitions",
                 lambda: crowd["scheduler-2"].metric("reeve_partitions_running") == 2, 30)
        crowd.wait_for_end(crowd.submit(20))

    def test_every_reader_skips_the_records_of_a_zombie(self):
        crowd = self.crowd
        console = crowd.add("console", "console")
        zombie = self.victim("scheduler", "cycle.append=stop@15")
        self.wait_assigned(zombie)
        names = crowd.load_until_stopped(zombie)
        # Its session expires, others own its partitions, and every order ends.
        others = [service.name for service in crowd.running("scheduler") if service is not zombie]
        self.wait_for_owners(others)
        crowd.wait_for_end(names)
        before = crowd.skipped()
        zombie.sigcont()
        wait_for("the zombie's Decision is in the log and skipped",
                 lambda: crowd.skipped() > before, 30)
        wait_for(lambda: f"the zombie notices:\n{zombie.tail()}",
                 lambda: "claim given up" in zombie.stderr, 30)
        late = [r for r in crowd.look() if r.type == "Decision" and r.offset not in
                crowd.checkers[r.partition].admitted]
        partitions = {record.partition for record in late}
        # The next Decision there reveals the gap to the owner, which folds the log again.
        for partition in partitions:
            names += crowd.submit(3, partition=partition)
        crowd.wait_for_end(names)
        for role in ("scheduler", "supervisor"):
            wait_for(f"a {role} counts the skipped records", lambda role=role: sum(
                service.metric("reeve_records_skipped_total") or 0
                for service in crowd.running(role)) > 0, 20)
        wait_for("the console counts the skipped records", lambda: sum(
            row["skipped"] for row in self.console_owners(console)) >= crowd.skipped(), 20)
        rows = crowd.cluster.reeve_json("verify")
        self.assertEqual(sum(row["skipped"] for row in rows), crowd.skipped())
        # It rejoins like a new instance.
        zombie.terminate()
        self.wait_for_owners(others)

    def console_owners(self, console):
        status, body = console.get("/api/owners")
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        return answer if isinstance(answer, list) else answer["owners"]

    def test_a_zombie_emits_only_effects_that_the_log_explains(self):
        crowd = self.crowd
        zombie = self.victim("scheduler", "cycle.acknowledged=stop@10")
        self.wait_assigned(zombie)
        names = crowd.load_until_stopped(zombie)
        crowd.wait_for_end(names)
        zombie.sigcont()
        names = crowd.submit(30)
        crowd.wait_for_end(names)
        zombie.wait_ready()
        zombie.terminate()
        # findings() checks each request and status (I13).

    def test_an_owner_killed_before_emitting_loses_no_effect(self):
        crowd = self.crowd
        # No other scheduler takes over, and emits what is missing, before the test has seen that.
        victim = self.victim("scheduler", "cycle.acknowledged=kill@8",
                             {"session.timeout.ms": 20000})
        self.wait_assigned(victim)
        names = crowd.load_until_killed(victim)
        owned = {p for p, name in crowd.owners().items() if name == victim.name}
        lost = crowd.missing_statuses()
        # Effects of the other schedulers arrive a moment later; those of the victim are missing.
        self.assertTrue(owned)
        self.assertTrue([line for line in lost if self.partition_in(line) in owned], lost)
        crowd.wait_for_end(names)
        wait_for("every status arrives", lambda: not crowd.missing_statuses(), 20, 0.3)
        self.assertEqual([missing for missing in crowd.missing_requests()
                          if missing[0] in set(names)], [])

    def partition_in(self, line):
        """The partition of an I15 finding: "... no status for ORDER version ..."."""
        return partition_of(line.split("no status for ")[1].split(" ")[0], 6)

    # ---- agents ----

    def test_other_agents_take_over(self):
        crowd = self.crowd
        stopped = crowd.add_agent("bank", "bank-stopped", ready=False,
                                  env={"REEVE_FAILPOINT": "agent.called=stop@10"})
        killed = crowd.add_agent("bank", "bank-killed", ready=False,
                                 env={"REEVE_FAILPOINT": "agent.report=kill@10"})
        for service in (stopped, killed):
            service.wait_ready()
        names = crowd.load_until_killed(killed)
        names += crowd.load_until_stopped(stopped)
        crowd.wait_for_end(names)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        stopped.sigcont()
        crowd.wait_for_end(crowd.submit(30))
        # All instances are killed; a new one does the rest.
        crowd["agent-bank"].sigkill()
        stopped.sigkill()
        names = crowd.submit(30)
        crowd["agent-bank"].start()
        crowd.wait_for_end(names)

    # ---- supervisors ----

    def test_no_step_is_recovered_twice_by_two_supervisors(self):
        crowd = self.crowd
        victims = [self.victim("supervisor", "supervisor.command=stop@4"),
                   self.victim("supervisor", "supervisor.command=kill@4")]
        for victim in victims:
            self.wait_assigned(victim)
        names = crowd.load_until_stopped(victims[0], workflow="silence")
        names += crowd.load_until_killed(victims[1], workflow="silence")
        crowd.wait_for_end(names)
        self.assertEqual({crowd.state(name) for name in names}, {"Compensated"})
        victims[0].sigcont()  # its old requests arrive late
        victims[0].wait_ready()
        more = crowd.submit(20, "silence")
        crowd.wait_for_end(more)
        victims[0].terminate()
        self.assert_recovered_once(names + more)

    def assert_recovered_once(self, names):
        counts = {}
        for _, _, decision in self.crowd.admitted():
            for event in decision["events"]:
                if event["_type"] == "StepTimedOut":
                    counts.setdefault(decision["order_id"], []).append(
                        (event["step"], event["attempt"], event["failure_count"]))
        expected = [("Ask", 1, 1), ("Ask", 2, 2), ("Ask", 3, 3)]
        wrong = {name: counts.get(name) for name in names if counts.get(name) != expected}
        self.assertEqual(wrong, {})


if __name__ == "__main__":
    unittest.main()
