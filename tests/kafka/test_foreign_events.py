# SPDX-License-Identifier: Apache-2.0
"""Records in the log that reeve did not write, or that do not fit to it: the partition stops, says
why, and goes on once an operator has decided how; no other partition stops."""

import json
import os
import time
import unittest

import confluent_kafka

from lib import Broker, check, paths, wait_for
from lib.checker import fold
from lib.crowd import Crowd, delete_topic
from lib.records import Schemas, local_schemas

TIMEOUT_SECONDS = 600
YEAR_MS = 365 * 86400 * 1000


def newer_decision():
    """Decision as a later version might have it, with an event that this one does not know."""
    schema = json.loads((paths.SCHEMAS / "Decision.avsc").read_text(encoding="utf-8"))
    (events,) = [field for field in schema["fields"] if field["name"] == "events"]
    events["type"]["items"].append({"type": "record", "name": "OrderGiftWrapped", "fields": [
        {"name": "paper", "type": "string"}]})
    return json.dumps(schema)


def event(name, **fields):
    schema, _ = local_schemas().by_name["Decision"]
    return (f"{schema['name'].rsplit('.', 1)[0]}.{name}", fields)


class ForeignCase(unittest.TestCase):
    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, partitions=2)
        self.addCleanup(self.crowd.stop)
        self.crowd.add("console")
        self.crowd.wait_for_end(self.crowd.submit(10))

    # ---- the log ----

    def append(self, value, topic="events", partition=0, key=None, **producer):
        """As a third-party client; returns the offset."""
        offsets = []
        client = confluent_kafka.Producer({"bootstrap.servers": self.broker.bootstrap,
                                           "message.max.bytes": 200_000_000, **producer})
        client.produce(self.crowd.cluster.topic(topic), value, key=key, partition=partition,
                       on_delivery=lambda error, message: offsets.append(error or message.offset()))
        self.assertEqual(client.flush(60), 0)
        self.assertIsInstance(offsets[0], int)
        return offsets[0]

    def skip_from(self, offset):
        """Up to the end of the log: what the owner appended meanwhile may count, and would be of
        an owner that had not read the range."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.broker.bootstrap,
                                             "group.id": "ends"})
        _, end = consumer.get_watermark_offsets(
            confluent_kafka.TopicPartition(self.crowd.cluster.topic("events"), 0), timeout=30)
        consumer.close()
        return "--skip", f"{offset}-{end}"

    def end_of_log(self):
        """What has to follow in events[0]."""
        return fold(self.crowd.cluster.read_topic("events"), 2)[0]

    def decision(self, *events, schemas=None, **fields):
        """A Decision that follows the last one."""
        log = self.end_of_log()
        return (schemas or local_schemas()).encode("Decision", {
            "claim_id": log.claim, "sequence": log.sequence, "command_offset": log.next_command,
            "command_time": 1, "order_id": "ghost", "order_version": 3,
            "order_state": "Processing", "reply_to": "", "decided_at": log.decided_at + 1,
            "emitted_through": -1, "events": list(events), **fields})

    # ---- what an operator sees and does ----

    def wait_for_stop(self, code, readers=("scheduler-1", "supervisor-1")):
        def reports(service):
            status, body = service.get("/readyz")
            return status == 503 and "partition 0" in body and "partition 1" not in body

        for name in readers:
            service = self.crowd[name]
            wait_for(lambda s=service: f"{code}: {s.name} reports its partition 0: "
                                       f"{s.get('/readyz')}\n{s.tail()}",
                     lambda s=service: reports(s), 60)
        self.wait_for_alert(code)

    def stopped_in_console(self):
        return self.crowd["console"].metric("reeve_console_partitions_stopped")

    def wait_for_alert(self, code):
        alerts = self.crowd.cluster.wait_for_records("alerts", lambda records: any(
            r.value["code"] == code for r in records), 60, f"the alert {code}")
        self.assertEqual({r.value["partition"] for r in alerts if r.value["code"] == code}, {0})

    def processed(self, names):
        """Those whose application has got the status; the log may not be readable."""
        return set(names) & {
            record.key for record in self.crowd.cluster.read_topic("replies.web")
            if record.type == "StatusUpdate" and record.value["kind"] == "Processed"}

    def wait_processed(self, names):
        wait_for(lambda: f"all are processed; {sorted(self.processed(names))} are:\n"
                         f"{self.crowd['scheduler-1'].tail()}",
                 lambda: self.processed(names) == set(names), 60)

    def reset(self, *flags):
        arguments = ("partition", "reset", "--partition", 0, *flags, "--by", "olga",
                     "--reason", "a client wrote to the log")
        self.assertIn("Nothing was written", self.crowd.cluster.reeve(
            *arguments, "--dry-run").stdout)
        asked = self.crowd.cluster.reeve(*arguments, check=False, stdin="")
        self.assertNotEqual(asked.returncode, 0)
        self.assertIn("--yes is required where no terminal can confirm", asked.stderr)
        # The reset that follows would be void if either of them had written something.
        self.assertIn("partition 0 is reset", self.crowd.cluster.reeve(*arguments, "--yes").stdout)

    def check_stop(self, code, at):
        """Partition 0 is stopped until the reset; partition 1 goes on."""
        self.crowd.cluster.expect_alerts(code)
        # The owner reads its log again when the offset of what it appends shows a gap.
        waiting = self.crowd.submit(3, partition=0)
        self.wait_for_stop(code)
        wait_for("the console shows it", lambda: self.stopped_in_console() == 1, 60)
        self.wait_processed(self.crowd.submit(3, partition=1))
        self.assertEqual(self.processed(waiting), set())
        self.reset(*self.skip_from(at))
        self.wait_processed(waiting)
        self.crowd.wait_ready()
        wait_for("the console goes on", lambda: self.stopped_in_console() == 0, 60)


class ForeignEventsTest(ForeignCase):
    def publish_newer_schema(self):
        schemas = Schemas()
        schemas.add(newer_decision())
        _, fingerprint = schemas.by_name["Decision"]
        key = f"{int.from_bytes(fingerprint, 'little'):016x}"
        self.crowd.cluster.produce("schemas", [(key, newer_decision().encode())])
        return schemas

    def records(self):
        """(code, bytes) one after another, because they follow the log."""
        framing = local_schemas().encode("Attempt", {"claim_id": bytes(16), "command_offset": 0})
        yield "UndecodableEvent", framing[:12]
        yield "UnknownSchema", framing[:2] + os.urandom(8) + framing[10:]
        yield "UnknownEvent", self.decision(event("OrderGiftWrapped", paper="red"),
                                            schemas=self.publish_newer_schema())
        yield "ImpossibleDecision", self.decision(event(
            "StepSucceeded", step="Pay", direction="do", attempt=1, output="", by=""))
        log = self.end_of_log()
        yield "ContinuationDiffers", local_schemas().encode("Continuation", {
            "claim_id": log.claim, "sequence": log.sequence, "first_claim_id": log.claim,
            "partition_count": 2, "next_command_offset": log.next_command + 7,
            "last_command_offset": log.next_command + 6, "last_command_time": 1,
            "newest_decided_at": log.decided_at, "emitted_through": -1, "claim_decisions": 1,
            "previous_claim_decisions": 0, "guarded_offset": -1, "guards": 0,
            "written_at": int(time.time() * 1000)})
        log = self.end_of_log()
        yield "ImpossibleStatement", local_schemas().encode("Statement", {
            "claim_id": log.claim, "sequence": log.sequence, "format": 1, "order": {
                "details": {"order_id": "", "currency": "GBP", "workflow": "crowd"},
                "version": 1, "state": "Processing", "accepted_at": 1, "accepted_offset": 1,
                "stated_offset": -1, "updated_at": 1, "steps": []}})

    def test_skips_what_an_operator_says_is_not_ours(self):
        for code, value in self.records():
            at = self.append(value)
            self.check_stop(code, at)
        self.assertEqual(check(self.crowd.cluster), [])
        self.assertEqual(self.crowd.verify(), [])

    def test_skips_a_batch_that_is_too_large_to_be_read(self):
        at = self.append(bytes(160_000_000), **{"compression.type": "zstd"})
        self.check_stop("UnreadableEvent", at)


class OtherStopsTest(ForeignCase):
    def test_lowers_the_newest_decision_when_it_is_far_ahead(self):
        scheduler = self.crowd["scheduler-1"]
        scheduler.terminate()
        late = self.end_of_log().decided_at + YEAR_MS
        (name,) = self.crowd.submit(1, partition=0)
        (command,) = wait_for("the command is there", lambda: [
            r for r in self.crowd.cluster.read_topic("commands") if r.key == name])
        self.append(self.decision(
            event("CommandRejected", command="SubmitOrder", code="Refused", reason="late", by="",
                  step="", direction="do", attempt=0, due_at=0),
            order_id=name, order_version=0, order_state="Pending", decided_at=late,
            command_offset=command.offset, command_time=command.timestamp_ms))
        scheduler.start(ready=False)
        self.crowd.cluster.expect_alerts("ClockAhead")
        self.wait_for_stop("ClockAhead", ["scheduler-1"])
        waiting = self.crowd.submit(3, partition=0)
        self.wait_processed(self.crowd.submit(3, partition=1))
        self.assertEqual(self.processed(waiting), set())
        self.reset("--newest-decision", "now")
        self.wait_processed(waiting)
        self.crowd.wait_ready()

    def test_stops_at_other_commands_of_the_same_number(self):
        crowd = self.crowd
        running = list(crowd.cluster.services.values())
        for service in running:
            service.terminate()
        old = crowd.cluster.read_topic("commands", partitions=[0])
        delete_topic(crowd, "commands")
        crowd.cluster.reeve("topics", "apply")
        for record in old:
            self.append(record.raw, "commands")
        crowd.cluster.expect_alerts("CommandsDiffer", "CommandsOutOfRange")
        for service in running:
            service.start(ready=False)
        self.wait_for_alert("CommandsDiffer")
        for number, command in ((0, len(old)), (1, 0)):
            crowd.cluster.reeve("partition", "reset", "--partition", number, "--next-command",
                                command, "--by", "olga", "--reason", "recreated", "--yes")
        crowd.wait_ready()
        self.wait_processed(crowd.submit(10))

    def test_follows_what_is_left_of_a_log_that_lost_its_tail(self):
        crowd = self.crowd
        crowd.cluster.expect_alerts("LogTailLost")
        running = list(crowd.cluster.services.values())
        for service in running:
            service.terminate()
        log = crowd.cluster.read_topic("events")
        delete_topic(crowd, "events")
        crowd.cluster.reeve("topics", "apply")
        for number in range(2):
            records = [record for record in log if record.partition == number]
            for record in records[:-4]:
                self.append(record.raw, partition=number, key=record.key)
        for service in running:
            service.start(ready=False)
        alerts = crowd.cluster.wait_for_records("alerts", lambda records: {
            r.value["partition"] for r in records if r.value["code"] == "LogTailLost"} == {0, 1})
        self.assertEqual({r.value["code"] for r in alerts}, {"LogTailLost"})
        crowd.wait_ready()
        self.wait_processed(crowd.submit(10))
        self.assertEqual(crowd.verify(), [])


if __name__ == "__main__":
    unittest.main()
