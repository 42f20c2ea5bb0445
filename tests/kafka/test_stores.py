# SPDX-License-Identifier: Apache-2.0
"""Stores are disposable: a deleted, damaged or foreign store is never trusted. Whatever stops a
partition is reported to the operator, who can resume it."""

import json
import unittest

from lib import Broker, check, wait_for
from lib.checker import Checker, partition_of
from lib.crowd import WORKFLOW, Crowd, CrowdTest, delete_topic, flip_bit
from lib.records import local_schemas

TIMEOUT_SECONDS = 600

# Its agent starts only at the end, so that orders with deadlines are in progress until then.
OPEN = {"Name": "open", "Version": 1, "TimeoutSeconds": 3600,
        "Defaults": {"TimeoutSeconds": 1800},
        "Steps": [{"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}},
                  {"Name": "Wait", "Agent": "later"}]}
ROLES = ("scheduler-1", "supervisor-1", "console")


class StoresTest(CrowdTest):
    @classmethod
    def setUpClass(cls):
        # Steps start whether or not their agent is running.
        cls.start_crowd(partitions=2, workflows=[WORKFLOW, OPEN],
                        properties={"routing.enabled": "false"})
        cls.crowd.cluster.expect_alerts("StoreCorrupt", "StoreDamaged", "StoreIo")
        cls.crowd.add("console", "console")
        cls.crowd.cluster.reeve("topics", "apply", "--agent", "later")
        cls.closed = cls.crowd.submit(60)
        cls.open = cls.crowd.submit(20, "open")
        cls.crowd.wait_for_end(cls.closed)
        wait_for("the open orders wait for their agent", lambda: len(
            cls.crowd.tail("requests.later")) == 20)

    @classmethod
    def tearDownClass(cls):
        cls.crowd.agents["later"] = {}
        cls.crowd.add_agent("later")
        cls.crowd.wait_for_end(cls.open)
        super().tearDownClass()

    def all_digests(self):
        def caught_up():
            return all(self.crowd.caught_up(self.crowd[name]) for name in ROLES)

        wait_for("all stores are up to date", caught_up, 30)
        return {name: self.crowd.digests(self.crowd[name]) for name in ROLES}

    def flush(self):
        """A clean leave puts what the stores have in memory into tables."""
        for name in ROLES:
            self.crowd[name].terminate()
        self.start()

    def restart(self, change):
        """Kills the three services and calls change(service, folder of a partition's store)."""
        for name in ROLES:
            self.crowd[name].sigkill()
            for folder in sorted(self.crowd[name].data.glob("partition-*")):
                change(self.crowd[name], folder)
        self.start()

    def start(self):
        for name in ROLES:
            self.crowd[name].start(ready=False)
        self.crowd.wait_ready()

    def test_deleted_stores_are_rebuilt_identically(self):
        before = self.all_digests()
        for name in ROLES:
            self.assertEqual(sorted(before[name]), [0, 1])
        self.assertEqual(before["scheduler-1"], before["console"])
        services = [service for service in self.crowd.cluster.services.values()]
        for service in services:
            service.sigkill()
            service.drop_data()
        for service in services:
            service.start(ready=False)
        self.crowd.wait_ready()
        self.assertEqual(self.all_digests(), before)
        self.crowd.wait_for_end(self.crowd.submit(10))

    def test_a_crash_loses_nothing(self):
        before = self.all_digests()
        self.restart(lambda service, folder: None)
        self.assertEqual(self.all_digests(), before)

    def test_a_store_with_a_flipped_bit_in_a_table_is_folded_again(self):
        for share in (0.1, 0.6):
            self.flush()
            before = self.all_digests()
            found = []

            def damage(_, folder, share=share, found=found):
                for path in folder.glob("*.sst"):
                    found.append(flip_bit(path, share))

            with self.subTest(share=share):
                self.restart(damage)
                self.assertGreaterEqual(len(found), 6)
                self.check_never_served(before)

    def check_never_served(self, before):
        """A digest is correct, or the store reports that it cannot be read and is rebuilt when its
        rows are needed."""
        now = self.all_digests()
        for name in ROLES:
            for partition, digest in now[name].items():
                if len(digest) == len(before[name][partition]):
                    self.assertEqual(digest, before[name][partition], name)
        # Rejected, because no step is in Error: nothing changes, but each row is read.
        names = self.closed + self.open
        self.crowd.cluster.produce("commands", [(name, local_schemas().encode("ResubmitStep", {
            "order_id": name, "step": "", "by": "olga", "reason": "to see whether it is there"}))
            for name in names])
        wait_for("every command is decided", self.crowd.settled, 30)
        wait_for(lambda: f"all stores are healed: {self.all_digests()}",
                 lambda: self.all_digests() == before, 30, 0.3)
        self.assertEqual(self.crowd.verify(), [])

    def test_a_store_with_a_flipped_bit_in_its_manifest_is_folded_again(self):
        for share in (0.1, 0.6):
            self.crowd.wait_for_end(self.crowd.submit(30))
            self.flush()
            before = self.all_digests()
            found = []

            def damage(_, folder, share=share, found=found):
                for path in folder.glob("MANIFEST-*"):
                    found.append(flip_bit(path, share))

            with self.subTest(share=share):
                self.restart(damage)
                self.assertGreaterEqual(len(found), 6)
                self.assertEqual(self.all_digests(), before)
                self.assertEqual(self.crowd.verify(), [])


class StoppedTest(unittest.TestCase):
    """Each test has its own topics, because it breaks them."""

    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, partitions=2, properties={"session.timeout.ms": 1500})
        self.addCleanup(self.crowd.stop)
        self.scheduler = self.crowd["scheduler-1"]
        self.supervisor = self.crowd["supervisor-1"]
        self.names = self.crowd.submit(20)
        self.crowd.wait_for_end(self.names)

    def wait_for_stop(self, service, words, partitions=2):
        """/readyz, the log and an alert report the stopped partition; its data is kept."""
        def says():
            status, body = service.get("/readyz")
            self.assertEqual(status, 503, body)
            for word in words:
                self.assertIn(word, body)
            self.assertGreaterEqual(service.stderr.count("partition stopped"), partitions)
            return True

        wait_for(f"{service.name} reports its stopped partitions:\n{service.tail()}", says, 40)
        for number in range(partitions):
            self.assertTrue((service.data / f"partition-{number}" / "CURRENT").exists())

    def wait_for_alerts(self, code, words):
        def told():
            return {r.value["partition"] for r in self.crowd.cluster.read_topic("alerts")
                    if r.value["code"] == code
                    and all(word in r.value["message"] for word in words)} == {0, 1}

        wait_for(f"an alert {code} for each partition: "
                 f"{[r.value for r in self.crowd.cluster.read_topic('alerts')]}", told, 20)

    def try_reset(self, number, next_command, *flags, check=True):
        return self.crowd.cluster.reeve(
            "partition", "reset", "--partition", number, "--next-command", next_command,
            "--by", "olga", "--reason", "the topic was recreated", *flags, check=check)

    def reset(self, next_command):
        for number in range(2):
            tried = self.try_reset(number, next_command(number), "--dry-run")
            self.assertIn("Nothing was written", tried.stdout)
            done = self.try_reset(number, next_command(number), "--yes")
            self.assertIn(f"partition {number} is reset", done.stdout)

    def check_that_it_is_not_reset_again(self):
        """A partition that works is left alone."""
        ends = [len(self.crowd.cluster.read_topic("events"))]
        refused = self.try_reset(0, 0, "--yes", check=False)
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("the partition works", refused.stderr)
        ends.append(len(self.crowd.cluster.read_topic("events")))
        self.assertEqual(ends[0], ends[1])

    def test_a_recreated_log_stops_the_partition(self):
        crowd = self.crowd
        crowd.cluster.expect_alerts("LogDiffers", "PartitionReset")
        wait_for("the store has the whole log", lambda: crowd.caught_up(self.scheduler), 20)
        before = crowd.digests(self.scheduler)
        delete_topic(crowd, "events")
        crowd.cluster.reeve("topics", "apply")
        crowd.submit(10)
        words = ("events", "is not the log", "reeve partition reset")
        for service in (self.scheduler, self.supervisor):
            self.wait_for_stop(service, words)
        self.wait_for_alerts("LogDiffers", words)
        # A restart changes nothing, and the directory keeps its content.
        self.scheduler.sigkill()
        self.scheduler.start(ready=False)
        self.wait_for_stop(self.scheduler, words)
        self.assertEqual(crowd.digests(self.scheduler), before)
        # The remedy: accept the new log.
        ends = {number: 0 for number in range(2)}
        for record in crowd.cluster.read_topic("commands"):
            ends[record.partition] = record.offset + 1
        self.reset(ends.get)
        crowd.wait_ready(60)
        self.read_again()
        names = crowd.submit(20)
        crowd.wait_for_end(names)
        self.assertEqual(check(crowd.cluster), [])
        self.assertEqual(crowd.verify(), [])

    def read_again(self):
        for tail in self.crowd.tails.values():
            tail.close()
        self.crowd.tails, self.crowd.events = {}, []
        self.crowd.checkers = {number: Checker(number, 2) for number in range(2)}

    def test_the_log_of_another_cluster_stops_the_partition(self):
        self.crowd.cluster.expect_alerts("LogDiffers")
        with Broker() as other:
            self.crowd.cluster.reeve("topics", "apply",
                                     "--kafka-bootstrap-servers", other.bootstrap)
            before = self.crowd.digests(self.scheduler)
            for service in (self.scheduler, self.supervisor):
                service.terminate()
                service.properties["kafka.bootstrap.servers"] = other.bootstrap
                service.start(ready=False)
            for service in (self.scheduler, self.supervisor):
                self.wait_for_stop(service, ("another cluster", "directory is kept"))
            for service in (self.scheduler, self.supervisor):
                service.terminate()
                service.properties["kafka.bootstrap.servers"] = self.broker.bootstrap
                service.start(ready=False)
        # The mistake has lost nothing.
        self.crowd.wait_ready()
        self.assertEqual(self.crowd.digests(self.scheduler), before)
        self.crowd.wait_for_end(self.crowd.submit(10))
        self.assertEqual(self.crowd.findings(), [])

    def test_a_recreated_commands_topic_stops_the_partition(self):
        crowd = self.crowd
        crowd.cluster.expect_alerts("CommandsOutOfRange")
        running = [service for service in crowd.cluster.services.values()]
        for service in running:
            service.terminate()
        delete_topic(crowd, "commands")
        crowd.cluster.reeve("topics", "apply")
        for service in running:
            service.start(ready=False)
        self.wait_for_stop(self.scheduler, ("commands", "reeve partition reset"))
        self.wait_for_alerts("CommandsOutOfRange", ("reeve partition reset",))
        self.reset(lambda number: 0)
        crowd.wait_ready()
        crowd.wait_for_end(crowd.submit(20))
        self.check_that_it_is_not_reset_again()
        self.assertEqual(check(crowd.cluster), [])
        self.assertEqual(crowd.verify(), [])

    def test_a_command_that_crashes_its_owner_is_quarantined(self):
        crowd, scheduler = self.crowd, self.scheduler
        crowd.cluster.expect_alerts("CommandQuarantined")
        scheduler.sigkill()
        (poison,) = crowd.submit(1, partition=1)
        wait_for("the poison is in the commands",
                 lambda: [r for r in crowd.tail("commands") if r.key == poison])
        behind = crowd.submit(5, partition=1)
        other = crowd.submit(5, partition=0)
        wait_for("the others are in the commands", lambda: {*behind, *other} <= {
            r.key for r in crowd.tail("commands")})
        (position,) = [(r.partition, r.offset, r.raw) for r in crowd.tail("commands")
                       if r.key == poison]
        deaths = 0
        while not scheduler.is_running:
            scheduler.process = None
            scheduler.start(ready=False, env={"REEVE_FAILPOINT": f"cycle.decide/{poison}=kill"})
            wait_for(lambda: f"it dies or goes on:\n{scheduler.tail()}",
                     lambda: not scheduler.is_running or len(
                         crowd.ended(behind + other)) == len(behind + other), 60)
            deaths += not scheduler.is_running
            self.assertLess(deaths, 12)
        # One crash before the first Attempt, five after one; then the partition continues. Commands
        # of the other partition in the same process are never suspected.
        self.assertEqual(len(self.attempts(position)), 5)
        self.assertGreaterEqual(deaths, 5)
        decided = {(p, d["command_offset"], d["claim_id"]) for p, _, d in crowd.admitted()}
        self.assertEqual([r for r in crowd.look() if r.type == "Attempt" and r.partition == 0
                          and (0, r.value["command_offset"], r.value["claim_id"]) not in decided],
                         [])
        self.assertEqual({crowd.state(name) for name in behind + other}, {"Processed"})
        self.check_quarantined(poison, position)
        self.assertEqual(crowd.findings(), [])

    def attempts(self, position):
        return [r for r in self.crowd.look() if r.type == "Attempt" and r.partition == position[0]
                and r.value["command_offset"] == position[1]]

    def check_quarantined(self, poison, position):
        partition, offset, raw = position
        self.assertIsNone(self.crowd.state(poison))
        (decision,) = [d for p, _, d in self.crowd.admitted()
                       if (p, d["command_offset"]) == (partition, offset)]
        (event,) = decision["events"]
        self.assertEqual(event["_type"], "CommandDeadLettered")

        def letters():
            return [r for r in self.crowd.cluster.read_topic("dead-letters") if r.raw == raw]

        letter = wait_for("the dead letter", letters, 20)[0]
        headers = {key: value.decode() for key, value in letter.headers.items()}
        self.assertEqual(headers["__streams.errors.topic"], self.crowd.cluster.topic("commands"))
        self.assertEqual(headers["__streams.errors.partition"], str(partition))
        self.assertEqual(headers["__streams.errors.offset"], str(offset))
        self.assertIn("quarantine", json.dumps(headers).lower())
        wait_for("the alert", lambda: [r for r in self.crowd.cluster.read_topic("alerts")
                                       if r.value["code"] == "CommandQuarantined"], 20)
        self.assertEqual(partition_of(poison, 2), partition)


if __name__ == "__main__":
    unittest.main()
