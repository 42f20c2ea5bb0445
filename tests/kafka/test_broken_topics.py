# SPDX-License-Identifier: Apache-2.0
"""Topics that a foreign client writes to, that are deleted, or trimmed: only what depends on them
stops, and an operator can see it."""

import json
import os
import unittest

from lib import Broker, wait_for
from lib.checker import check_prompt
from lib.crowd import Crowd, CrowdTest, delete_topic
from lib.records import local_schemas

MIB = 1 << 20
STALL_MS = 15000  # what waits as long is reported as stalled
SLOW = {"Name": "slow", "Version": 1, "TimeoutSeconds": 600,
        "Steps": [{"Name": "Pay", "Agent": "bank", "TimeoutSeconds": 300}]}


class BrokenTopicsTest(CrowdTest):
    @classmethod
    def setUpClass(cls):
        cls.start_crowd(partitions=2, workflows=[SLOW])

    def garbage(self):
        """(key, bytes) that are not valid commands."""
        schemas = local_schemas()
        order = schemas.encode("SubmitOrder", self.crowd.order("good", "slow"))
        cancel = {"order_id": "", "by": "ann", "reason": "no", "reply_to": ""}
        return [
            ("junk", b"junk"), ("none", None), ("", b""), (b"\xff\xfe\x00", b"\x00" * 100),
            ("large", os.urandom(3 * MIB)), ("large and alike", b"x" * (4 * MIB)),
            ("cut", order[:-3]), ("more", order + b"x"), ("framed", order[:10]),
            ("unknown", b"\xc3\x01" + os.urandom(8) + order[10:]),
            ("claim", schemas.encode("Claim", {
                "claim_id": bytes(16), "instance": "me", "claimed_at": 1, "partition_count": 2,
                "reset": None})),
            ("", schemas.encode("CancelOrder", cancel)),
            ("a\0b", schemas.encode("CancelOrder", {**cancel, "order_id": "a\0b"})),
            ("to the log", schemas.encode("SubmitOrder", self.crowd.order(
                "to-the-log", "slow", reply_to=self.crowd.cluster.topic("events")))),
        ]

    def test_makes_garbage_on_commands_dead_letters_and_decides_its_neighbours(self):
        crowd, names, places = self.crowd, [], []
        for key, value in self.garbage():
            names += crowd.submit(2, "slow")
            places += crowd.cluster.produce("commands", [(key, value)])
        crowd.wait_for_end(names)
        wait_for("all of it is decided", crowd.settled, 60)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        decided = {(number, decision["command_offset"]): [e["_type"] for e in decision["events"]]
                   for number, _, decision in crowd.admitted()}
        self.assertEqual([decided[place] for place in places],
                         [["CommandDeadLettered"]] * len(places))
        # Each has one dead letter with its bytes (CrowdTest checks that); none is large.
        letters = crowd.cluster.read_topic("dead-letters")
        self.assertLessEqual(max(len(letter.raw or b"") for letter in letters), MIB)

    def test_goes_on_when_a_reply_topic_is_deleted(self):
        crowd, bank = self.crowd, self.crowd["agent-bank"]
        crowd.cluster.topic_create("replies.gone", 2)
        bank.sigstop()
        names = {application: [crowd.name_for() for _ in range(20)]
                 for application in ("web", "gone")}
        crowd.cluster.produce("submissions", [
            (name, local_schemas().encode("SubmitOrder", crowd.order(
                name, "slow", reply_to=crowd.cluster.topic(f"replies.{application}"))))
            for application in names for name in names[application]])
        every = names["web"] + names["gone"]
        wait_for("all of them are accepted",
                 lambda: crowd.look() and all(crowd.state(name) for name in every), 60)
        delete_topic(crowd, "replies.gone")
        bank.sigcont()
        crowd.wait_for_end(every)
        self.assertEqual({crowd.state(name) for name in every}, {"Processed"})
        gone = crowd.cluster.topic("replies.gone").encode()

        def undelivered():
            return {record.key for record in crowd.cluster.read_topic("dead-letters")
                    if record.headers.get("__streams.errors.topic") == gone}

        wait_for("the statuses are dead letters", lambda: undelivered() == set(names["gone"]), 60)
        self.assertEqual(check_prompt(crowd.checkers, STALL_MS), [])


class TrimmedTest(unittest.TestCase):
    def test_stops_a_partition_whose_beginning_was_deleted_and_no_other(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        crowd = Crowd(broker, partitions=2)
        self.addCleanup(crowd.stop)
        crowd.cluster.expect_alerts("LogTruncated")
        scheduler = crowd["scheduler-1"]
        crowd.wait_for_end(crowd.submit(20))
        scheduler.terminate()
        crowd.look()
        scheduler.drop_data()
        trim = crowd.cluster.folder / "trim.json"
        trim.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": crowd.cluster.topic("events"), "partition": 0, "offset": -1}]}))
        broker.tool("org.apache.kafka.tools.DeleteRecordsCommand",
                    "--offset-json-file", str(trim))
        scheduler.start(ready=False)
        lost = crowd.submit(5, partition=0)
        crowd.wait_for_end(crowd.submit(5, partition=1))
        alerts = crowd.cluster.wait_for_records(
            "alerts", lambda records: any(r.value["code"] == "LogTruncated" for r in records), 60)
        self.assertEqual({record.value["partition"] for record in alerts
                          if record.value["raised"]}, {0})
        status, body = scheduler.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("partition 0", body)
        # Nothing is claimed or decided where nothing is known of what was decided before.
        self.assertEqual(crowd.cluster.read_topic("events", partitions=[0]), [])
        self.assertEqual([name for name in lost if crowd.state(name)], [])
        self.assertEqual(check_prompt(crowd.checkers, STALL_MS, apart_from=[0]), [])


if __name__ == "__main__":
    unittest.main()
