# SPDX-License-Identifier: Apache-2.0
"""A schedule of an order each second, while the supervisors that submit them are killed one after
another: each tick has one order, whichever of them submitted it, and none is left out.

A subclass makes the cluster."""

import datetime
import time
import unittest

from .checker import check, folded
from .waiting import wait_for

PARTITIONS = 2
SUPERVISORS = "supervisor-1", "supervisor-2"
WORKFLOW = """
Name: note
Version: 1
Steps: [{Name: Note, Set: "${input.at}"}]
Output: "${output.Note}"
"""
SCHEDULE = """
Schedule: second
EverySeconds: 1
CatchUpSeconds: 600
Order: {workflow: note, input: {at: "${tick}"}}
"""
KILLS = 3
AFTER_KILL = 3  # ticks


def tick_of(order_id):
    """Seconds since 1970."""
    text = order_id.partition("@")[2].removesuffix("Z")
    form = "%Y-%m-%dT%H:%M:%S" if text.count(":") == 2 else "%Y-%m-%dT%H:%M"
    return int(datetime.datetime.strptime(text + "+0000", form + "%z").timestamp())


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


class TicksTest(unittest.TestCase):
    """`cluster`, of which nothing runs yet; its topics have PARTITIONS."""

    def make_cluster(self):
        raise NotImplementedError

    def test_each_tick_has_one_order_although_supervisors_are_killed(self):
        self.cluster = self.make_cluster()
        self.addCleanup(lambda: self.cluster.stop(check=self._outcome.success))
        self.start()
        self.deploy(SCHEDULE)
        deployed = time.time()
        wait_for("the first ticks have orders", lambda: len(self.ticks()) >= AFTER_KILL, 60)
        for _ in range(KILLS):
            self.kill_the_leader()
        self.pause()
        ticks = self.ticks()
        self.assertEqual(ticks, list(range(ticks[0], ticks[-1] + 1)))
        self.assertLessEqual(ticks[0], deployed + 1)
        self.check_orders()
        self.trigger_and_backfill(ticks[0])
        self.change(ticks[0])
        self.assertEqual(check(self.cluster), [])

    # ---- services ----

    def start(self):
        path = self.cluster.folder / "note.yaml"
        path.write_text(WORKFLOW, encoding="utf-8")
        self.cluster.reeve("workflow", "deploy", path)
        for role in "submission", "scheduler":
            self.cluster.add(role, role, {"instance.id": role}, ready=False)
        for name in SUPERVISORS:
            self.cluster.add("supervisor", name, {
                "instance.id": name, "leader.lease.ms": 1500, "leader.renew.ms": 400},
                ready=False)
        for service in self.cluster.services.values():
            service.wait_ready(60)

    def leader(self):
        rows = {row["role"]: row for row in self.cluster.reeve_json("leader")}
        row = rows.get("schedules", {"leads": False})
        return row["leader"] if row["leads"] and row["leader"] in SUPERVISORS else None

    def kill_the_leader(self):
        name = wait_for("a supervisor leads", self.leader, 60, 0.3)
        before = len(self.ticks())
        self.cluster[name].sigkill()
        wait_for("another one leads",
                 lambda: self.leader() not in (None, name), 60, 0.3)
        self.cluster[name].start(ready=False)
        wait_for("it submits", lambda: len(self.ticks()) >= before + AFTER_KILL, 60, 0.3)
        self.cluster[name].wait_ready(60)

    # ---- schedules ----

    def deploy(self, text, result="deployed"):
        path = self.cluster.folder / "second.yaml"
        path.write_text(text, encoding="utf-8")
        (row,) = self.cluster.reeve_json("schedule", "deploy", path)
        self.assertEqual((row["schedule"], row["result"], row["problem"]),
                         ("second", result, None))

    def pause(self):
        self.cluster.reeve("schedule", "pause", "second", "--reason", "stocktaking")
        (row,) = self.cluster.reeve_json("schedule", "list")
        self.assertEqual((row["paused"]["reason"], row["next"]), ("stocktaking", []))
        wait_for("the leader knows", lambda: any(
            self.cluster[name].metric("reeve_schedules", state="paused")
            for name in SUPERVISORS), 60)
        paused = time.time()
        wait_for("ticks would be due", lambda: time.time() > paused + 3)
        wait_for("all submissions are decided", lambda: len(self.cluster.read_topic("submissions"))
                 == len(self.accepted()) + self.repeated(), 60)
        self.assertLessEqual(self.ticks()[-1], paused)

    def trigger_and_backfill(self, first):
        (row,) = self.cluster.reeve_json("schedule", "trigger", "second")
        wait_for("the triggered order is there", lambda: row["order_id"] in self.accepted(), 30)
        self.cluster.reeve("schedule", "backfill", "second", utc(first - 3), utc(first + 1))
        wait_for("the ticks before are there", lambda: self.ticks()[0] == first - 3, 30)
        wait_for("repetitions are decided", lambda: self.repeated() >= 2, 30)

    def change(self, first):
        """What has changed meanwhile is refused where a tick has its order."""
        before = len(self.accepted())
        text = SCHEDULE.replace('at: "${tick}"', 'at: "${tick}", more: true')
        self.deploy(text, "changed, paused")
        self.cluster.reeve("schedule", "backfill", "second", utc(first), utc(first + 1))
        wait_for("both ticks are refused", lambda: self.rejected() == ["ContentDiffers"] * 2, 30)
        self.assertEqual(len(self.accepted()), before)

    # ---- orders ----

    def events(self):
        return [(decision["order_id"], event)
                for checker in folded(self.cluster).values()
                for _, decision in sorted(checker.admitted.items())
                for event in decision["events"]]

    def accepted(self):
        return [name for name, event in self.events() if event["_type"] == "OrderAccepted"]

    def repeated(self):
        return sum(event["_type"] == "SubmissionRepeated" for _, event in self.events())

    def rejected(self):
        return [event["code"] for _, event in self.events() if event["_type"] == "CommandRejected"]

    def ticks(self):
        """Of orders that were accepted, each as often as it was."""
        return sorted(tick_of(name) for name in self.accepted())

    def check_orders(self):
        """Takeovers submitted ticks again, and each was known by then."""
        self.assertGreater(self.repeated(), 0)
        self.assertEqual(self.rejected(), [])
        for checker in folded(self.cluster).values():
            for name, order in checker.orders.items():
                self.assertEqual(order.state, "Processed", name)
