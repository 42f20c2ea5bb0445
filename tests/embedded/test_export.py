# SPDX-License-Identifier: Apache-2.0
"""`reeve export` writes what the log has, and continues where it ended. The files are read by an
independent Avro implementation and compared with the topic, read by another Kafka client."""

import datetime
import fcntl
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import confluent_kafka
import fastavro

from lib.dev import REEVE, Dev
from lib.paths import ROOT
from lib.records import Schemas
from lib.waiting import millis, wait_for

EVENTS = "orders.events"
GARBAGE = b"not a record of reeve"
TREE = """\
Name: tree
Version: 1
TimeoutSeconds: 600
Steps:
  - {Name: Each, ForEach: {Items: input.items}, Steps: [{Name: Made, Set: "${input}"}]}
"""


def order(number):
    return {"order_id": f"order-{number:03}", "customer": "17850", "currency": "GBP",
            "workflow": "three-steps", "attributes": {"channel": "web"},
            "lines": [{"sku": "21730", "quantity": 6, "unit_price": "4.25"}]}


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "tree.yaml").write_text(TREE)
        cls.dev = Dev(cls.folder, cls.folder / "tree.yaml", asks=False)
        cls.addClassCleanup(cls.dev.stop)
        cls.bootstrap = re.search(r"kafka +(\S+)", cls.dev.out.read_text())[1]
        cls.schemas = Schemas()
        for path in (ROOT / "schemas").glob("*.avsc"):
            cls.schemas.add(path.read_text())
        cls.submit(range(20))
        producer = confluent_kafka.Producer({"bootstrap.servers": cls.bootstrap})
        producer.produce(EVENTS, GARBAGE, "garbage key", partition=1)
        assert producer.flush(20) == 0

    @classmethod
    def submit(cls, numbers):
        for number in numbers:
            answer = cls.dev.ask("submission", "POST", "/orders", body=order(number))
            assert answer.status == 202, answer.body
        for number in numbers:
            wait_for(f"order {number} is processed",
                     lambda n=number: cls.get(f"order-{n:03}").get("state") == "Processed")

    @classmethod
    def get(cls, order_id):
        return json.loads(cls.dev.ask("console", "GET", f"/api/orders/{order_id}").body)

    def setUp(self):
        self.target = pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def export(self, *arguments, code=0):
        done = subprocess.run(
            [REEVE, "export", *arguments, "--output", "json"], text=True, capture_output=True,
            env={**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")},
            timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else json.loads(done.stderr)["error"]

    def files(self, suffix):
        return sorted(path for path in self.target.iterdir() if path.suffix == suffix)

    def avro(self):
        records = []
        for path in self.files(".avro"):
            with open(path, "rb") as file:
                records += fastavro.reader(file, return_record_name=True)
        return records

    def lines(self):
        return [json.loads(line) for path in self.files(".jsonl")
                for line in path.read_text(encoding="utf-8").splitlines()]

    def topic(self):
        """All records of the log, by partition and offset."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "export-test",
             "enable.auto.commit": False})
        ends = {p: consumer.get_watermark_offsets(confluent_kafka.TopicPartition(EVENTS, p))[1]
                for p in range(4)}
        consumer.assign([confluent_kafka.TopicPartition(EVENTS, p, 0) for p in ends])
        found = {}

        def read_on():
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                found[message.partition(), message.offset()] = message
            return len(found) >= sum(ends.values())

        wait_for("all records are read", read_on)
        consumer.close()
        return found

    def test_events_are_those_of_the_topic(self):
        rows = self.export("events", self.target)
        self.export("events", self.target, "--format", "jsonl")
        topic = self.topic()
        avro = {(r["partition"], r["offset"]): r for r in self.avro()}
        lines = {(r["partition"], r["offset"]): r for r in self.lines()}
        self.assertEqual(sum(row["records"] for row in rows), len(avro))
        self.assertEqual([row["undecoded"] for row in rows], [0, 1, 0, 0])
        self.assertGreaterEqual(len(avro), 20 * 4)
        undecoded = []
        for place in avro.keys() & topic.keys():
            name, value = avro[place]["record"]
            message = topic[place]
            self.assertEqual(lines[place]["kind"], name.removeprefix("reeve."))
            self.assertEqual(avro[place]["time"], message.timestamp()[1])
            if name == "reeve.Undecoded":
                undecoded.append((value["key"], value["value"]))
                self.assertIn("no Avro single-object encoding", value["reason"])
                self.assertEqual(lines[place]["record"]["reason"], value["reason"])
                continue
            self.assertEqual(self.encode(name, value), message.value(), place)
            self.assertEqual(lines[place]["record"].get("sequence"), value.get("sequence"))
        self.assertEqual(undecoded, [(b"garbage key", GARBAGE)])
        with open(self.files(".avro")[0], "rb") as file:
            schema = json.dumps(fastavro.reader(file).writer_schema)
        for kept in ("timestamp-millis", "decimal", "uuid", "It counts if its claim_id"):
            self.assertIn(kept, schema)

    def encode(self, name, value):
        return self.schemas.encode(name.removeprefix("reeve."), value)

    def test_a_later_run_adds_what_is_new(self):
        before = self.export("events", self.target)
        again = self.export("events", self.target)
        self.assertEqual([row["to"] for row in before], [row["from"] for row in again])
        self.submit([100])
        (self.target / "events-00000-000000000000001.partial").write_bytes(b"interrupted")
        self.export("events", self.target)
        records = [(r["partition"], r["offset"]) for r in self.avro()]
        self.assertEqual(len(records), len(set(records)))
        for partition in range(4):
            offsets = sorted(offset for p, offset in records if p == partition)
            self.assertEqual(offsets, list(range(len(offsets))))
        self.assertEqual([p.name for p in self.target.iterdir() if p.suffix == ".partial"], [])

    def test_orders_are_exported_once_when_they_have_ended(self):
        self.export("orders", self.target)
        self.submit([200, 201])
        self.export("orders", self.target)
        self.export("orders", self.target, "--format", "jsonl")
        avro = [r["order"] for r in self.avro()]
        ids = [row["details"]["order_id"] for row in avro]
        self.assertEqual(len(ids), len(set(ids)))
        lines = {line["order_id"]: line for line in self.lines()}
        self.assertEqual(set(ids), set(lines))
        self.assertLessEqual({"order-000", "order-019", "order-200", "order-201"}, set(ids))
        self.assertEqual({row["state"] for row in avro}, {"Processed"})
        shown = self.get("order-200")
        shown.pop("data_age_ms")
        self.assertEqual(lines["order-200"], shown)

    def test_sub_orders_are_exported_if_all_are_asked_for(self):
        answer = self.dev.ask("submission", "POST", "/orders", body={
            "order_id": "root", "customer": "17850", "workflow": "tree",
            "input": {"items": [1, 2]}})
        self.assertEqual(answer.status, 202, answer.body)
        wait_for("the tree is processed", lambda: self.get("root").get("state") == "Processed")
        self.export("orders", self.target)
        ids = {row["order"]["details"]["order_id"] for row in self.avro()}
        self.assertEqual({name for name in ids if name.startswith("root")}, {"root"})
        self.target = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.export("orders", self.target, "--all", "--format", "jsonl")
        self.export("orders", self.target, "--all")
        parents = {line["order_id"]: line["parent"] for line in self.lines()
                   if line["order_id"].startswith("root")}
        self.assertEqual(set(parents), {"root", "root~Each~0", "root~Each~1"})
        self.assertIsNone(parents["root"])
        for number in (0, 1):
            self.assertEqual(parents[f"root~Each~{number}"], {
                "order_id": "root", "step": "Each", "item": number, "generation": 0,
                "root": "root", "depth": 1})
        rows = {row["order"]["details"]["order_id"]: row["order"]["details"]["parent"]
                for row in self.avro()}
        _, parent = rows["root~Each~1"]
        self.assertEqual((parent["order_id"], parent["item"]), ("root", 1))

    def test_until_leaves_the_rest_for_later(self):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        until = now.replace("+00:00", "Z")
        self.submit([300])
        self.export("orders", self.target, "--until", until)
        self.export("events", self.target, "--until", until)
        events = [r for r in self.avro() if "record" in r]
        self.assertTrue(events)
        self.assertLess(max(r["time"] for r in events), millis(until))
        ended = {r["order"]["details"]["order_id"] for r in self.avro() if "order" in r}
        self.assertIn("order-000", ended)
        self.assertNotIn("order-300", ended)
        self.export("orders", self.target)
        ended = {r["order"]["details"]["order_id"] for r in self.avro() if "order" in r}
        self.assertIn("order-300", ended)

    def test_a_group_knows_how_far_the_archive_goes(self):
        rows = self.export("events", self.target, "--group", "archive")
        self.assertEqual(len(rows), 4)
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "archive"})
        self.addCleanup(consumer.close)
        committed = consumer.committed(
            [confluent_kafka.TopicPartition(EVENTS, row["partition"]) for row in rows], 20)
        self.assertEqual([(at.partition, at.offset) for at in committed],
                         [(row["partition"], row["to"]) for row in rows])

    def test_refuses_files_of_another_log(self):
        (self.target / "events-00000-000000000000000-000000999999999.avro").write_bytes(b"")
        error = self.export("events", self.target, code=65)
        self.assertEqual(error["code"], "AnotherLog")

    def test_refuses_a_second_run_on_the_same_directory(self):
        with open(self.target / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            error = self.export("events", self.target, code=70)
        self.assertEqual(error["code"], "DirectoryInUse")

    def test_refuses_wrong_flags(self):
        for flags in (("--format", "csv"), ("--until", "yesterday"), ("--partition", "9"),
                      ("--group", ""), ("--all",)):
            self.assertEqual(self.export("events", self.target, *flags, code=64)["code"], "Usage")
        error = self.export("events", "/dev/null/x", code=70)
        self.assertIn("cannot create directory /dev/null", error["detail"])


if __name__ == "__main__":
    unittest.main()
