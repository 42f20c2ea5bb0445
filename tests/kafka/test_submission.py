# SPDX-License-Identifier: Apache-2.0
"""Submission on a real broker: valid and invalid records from third-party clients, HTTP requests,
and crashes in between. Only the submission service runs, so the results are commands, dead letters
and `Rejected` statuses."""

import collections
import contextlib
import decimal
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest
import urllib.error
import urllib.request

import confluent_kafka

from lib import Broker, Cluster, paths, wait_for
from lib.records import Schemas, local_schemas, read_topic

TIMEOUT_SECONDS = 600

THREE_STEPS = paths.ROOT / "examples" / "workflows" / "three-steps.yaml"
LINE = {"sku": "71053", "description": "LANTERN", "quantity": 2, "unit_price": "3.39"}


def order(order_id, **fields):
    """The fields of a SubmitOrder for fastavro."""
    value = {"order_id": order_id, "customer": "c", "currency": "GBP",
             "lines": [{**LINE, "unit_price": decimal.Decimal(LINE["unit_price"])}],
             "attributes": {"country": "UK"}, "priority": "normal", "reply_to": "",
             "workflow": "three-steps", "workflow_version": 0, "traceparent": "",
             "content_hash": None}
    return {**value, **fields}


def submit(order_id, **fields):
    """(key, bytes) of a record for the submissions topic."""
    return order_id, local_schemas().encode("SubmitOrder", order(order_id, **fields))


def cancel(order_id, **fields):
    value = {"order_id": order_id, "by": "", "reason": "", "reply_to": "", **fields}
    return order_id, local_schemas().encode("CancelOrder", value)


def error_of(record):
    """The headers of a dead letter, decoded."""
    headers = {name.rsplit(".", 1)[-1]: value.decode() for name, value in record.headers.items()}
    return (headers["topic"], int(headers["partition"]), int(headers["offset"]),
            headers["exception"], headers["message"])


class SubmissionCase(unittest.TestCase):
    def setUp(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        self.cluster = Cluster(broker)
        self.addCleanup(self.cluster.stop)
        self.cluster.topics_apply("web")
        self.cluster.workflow_deploy(THREE_STEPS)

    def commands(self, at_least=0, seconds=30):
        return self.cluster.wait_for_records(
            "commands", lambda records: len(records) >= at_least, seconds)

    def dead_letters(self, count):
        """The raw dead letters: most cannot be decoded."""
        found = []

        def enough():
            found[:] = read_topic(self.cluster.broker.bootstrap, self.cluster.topic("dead-letters"),
                                  schemas=Schemas())
            return len(found) >= count

        wait_for(lambda: f"{count} dead letters: {found}", enough)
        self.assertEqual(len(found), count)
        return found

    def ids(self, records):
        return sorted(record.key for record in records)


class PoisonTest(SubmissionCase):
    def test_bad_records_become_dead_letters_and_their_neighbours_proceed(self):
        self.cluster.expect_alerts("SubmissionTooLarge")
        self.cluster.add("submission")
        good = submit("x")[1]
        foreign = b"\xc3\x01" + b"\x01\x02\x03\x04\x05\x06\x07\x08" + good[10:]
        cases = [
            ("garbage", b"\xff\x00garbage", "NotAvro"),
            ("registry", b"\x00\xffgarbage", "UnknownSchema"),
            ("empty", b"", "NotAvro"),
            ("tombstone", None, "Empty"),
            ("truncated", good[:-4], "Truncated"),
            ("longer", good + b"\x00", "TrailingBytes"),
            ("oversized", b"\xc3\x01" + bytes(1 << 20), "TooLong"),
            ("foreign", foreign, "UnknownSchema"),
            ("wrong-key", good, "WrongKey"),
            ("a/b", submit("a/b")[1], "InvalidOrder"),
            ("euro", submit("euro", currency="eur")[1], "InvalidOrder"),
            ("long", submit("long", customer="x" * 5000)[1], "TooLong"),
            ("unknown", submit("unknown", workflow="nothing")[1], "UnknownWorkflow"),
            ("version", submit("version", workflow_version=9)[1], "UnknownWorkflow"),
            ("elsewhere", submit("elsewhere", reply_to="other.replies.web")[1], "BadReplyTopic"),
            ("events", submit("events", reply_to=self.cluster.topic("events"))[1],
             "BadReplyTopic"),
            ("absent", submit("absent", reply_to=self.cluster.topic("replies.absent"))[1],
             "UnknownReplyTopic"),
        ]
        messages, expected = [], {}
        for number, (key, value, _) in enumerate(cases):
            messages += [submit(f"before-{number}"), (key, value), submit(f"after-{number}")]
        positions = self.cluster.produce("submissions", messages)
        for number, (key, value, code) in enumerate(cases):
            expected[positions[3 * number + 1]] = (key, value, code)
        for letter in self.dead_letters(len(cases)):
            topic, partition, offset, code, message = error_of(letter)
            key, value, expected_code = expected.pop((partition, offset))
            if code == "TooLong" and len(value) > 1 << 20:
                value = value[:64 << 10]
            self.assertEqual((topic, code), (self.cluster.topic("submissions"), expected_code))
            self.assertEqual((letter.key, letter.raw), (key, value))
            self.assertNotEqual(message, "")
        records = self.commands(at_least=2 * len(cases))
        self.assertEqual(self.ids(records), sorted(
            f"{side}-{number}" for number in range(len(cases)) for side in ("before", "after")))

    def send(self, producer, key, value, headers=()):
        """Sends to partition 0; returns once it is acknowledged."""
        failures = []
        producer.produce(self.cluster.topic("submissions"), value, key=key, partition=0,
                         headers=list(headers),
                         on_delivery=lambda error, _: failures.append(error) if error else None)
        self.assertEqual((producer.flush(60), failures), (0, []))

    def test_no_record_stops_its_partition(self):
        """Small on the wire, large for the service that reads it."""
        self.cluster.expect_alerts("SubmissionTooLarge")
        self.cluster.add("submission")
        web = self.cluster.topic("replies.web")
        producer = {codec: confluent_kafka.Producer({
            "bootstrap.servers": self.cluster.broker.bootstrap, "compression.type": codec,
            "message.max.bytes": 200_000_000, "linger.ms": 0}) for codec in ("gzip", "zstd")}
        small = submit("o")[1]
        large = submit("large", reply_to=web)[1]
        self.send(producer["gzip"], "large", large + bytes(20_000_000))
        self.send(producer["gzip"], "k" * 4_000_000, small)
        self.send(producer["zstd"], "unreadable", bytes(160_000_000))
        for _ in range(120):
            self.send(producer["gzip"], "headers", small, [("h", bytes(3_000_000))])
        ids = [f"after-{number}" for number in range(190)]
        for order_id in ids:
            producer["gzip"].produce(self.cluster.topic("submissions"), submit(order_id)[1],
                                     key=order_id, partition=0)
        self.assertEqual(producer["gzip"].flush(30), 0)
        self.assertEqual(self.ids(self.commands(at_least=len(ids), seconds=120)), sorted(ids))
        letters = self.dead_letters(123)
        codes = collections.Counter(error_of(letter)[3] for letter in letters)
        self.assertEqual(codes, {"TooLong": 122, "Unreadable": 1})
        self.assertLess(max(len(letter.raw or b"") for letter in letters), 70_000)
        (status,) = self.cluster.wait_for_records("replies.web", lambda records: records)
        self.assertEqual((status.key, status.value["code"]), ("large", "TooLong"))
        alerts = self.cluster.wait_for_records("alerts", lambda records: records)
        self.assertEqual({alert.value["code"] for alert in alerts}, {"SubmissionTooLarge"})
        self.cluster["submission-1"].wait_ready()
        self.assertLess(self.cluster["submission-1"].peak_memory_mb(), 200)

    def test_a_dead_letter_keeps_the_headers_of_its_sender(self):
        self.cluster.add("submission")
        self.cluster.produce("submissions", [("k", b"garbage", [("mine", b"1")])])
        (letter,) = self.dead_letters(1)
        self.assertEqual(letter.headers["mine"], b"1")

    def test_a_refusal_is_sent_to_a_valid_reply_topic(self):
        self.cluster.add("submission")
        web = self.cluster.topic("replies.web")
        messages = [submit("valid", reply_to=web, currency="eur"),
                    ("other", submit("wrong-key", reply_to=web)[1]),
                    submit("silent", currency="eur")]
        positions = self.cluster.produce("submissions", messages)
        self.dead_letters(3)
        statuses = self.cluster.wait_for_records(
            "replies.web", lambda records: len(records) >= 2)
        for status in statuses:
            self.assertEqual((status.type, status.value["kind"]), ("StatusUpdate", "Rejected"))
            self.assertEqual(status.key, status.value["order_id"])
            self.assertEqual(status.value["order_version"], 0)
            self.assertNotEqual(status.value["message"], "")
        rejected = {status.key: status.value for status in statuses}
        self.assertIn("valid", rejected)
        self.assertIn("wrong-key", rejected)
        self.assertNotIn("silent", rejected)
        # Positions in submissions cannot be mistaken for positions in commands.
        self.assertEqual(
            (rejected["valid"]["command_partition"], rejected["valid"]["command_offset"]),
            (-1 - positions[0][0], positions[0][1]))
        self.assertEqual(rejected["valid"]["code"], "InvalidOrder")
        self.assertEqual(rejected["wrong-key"]["code"], "WrongKey")

    def test_trusted_commands_are_refused(self):
        self.cluster.add("submission")
        value = {"order_id": "o", "by": "operator", "reason": "because"}
        self.cluster.produce(
            "submissions", [("o", local_schemas().encode("CompensateOrder", value)), submit("p")])
        (letter,) = self.dead_letters(1)
        self.assertEqual(error_of(letter)[3], "NotAccepted")
        self.assertEqual(self.ids(self.commands(at_least=1)), ["p"])


class WriterTest(SubmissionCase):
    def newer_schema(self):
        """SubmitOrder of a later version, with a new field in the middle."""
        schema = json.loads((paths.SCHEMAS / "SubmitOrder.avsc").read_text())
        schema["fields"].insert(2, {"name": "gift_wrap", "type": "boolean", "default": False})
        return schema

    def test_reads_a_newer_writer_once_its_schema_is_published(self):
        self.cluster.add("submission")
        text = json.dumps(self.newer_schema())
        schemas = Schemas()
        schemas.add(text)
        _, fingerprint = schemas.by_name["SubmitOrder"]
        key = f"{int.from_bytes(fingerprint, 'little'):016x}"
        self.cluster.produce("schemas", [(key, text.encode())])
        value = schemas.encode("SubmitOrder", {**order("new"), "gift_wrap": True})
        self.cluster.produce("submissions", [("new", value)])
        (command,) = self.commands(at_least=1)
        self.assertEqual((command.key, command.value["workflow_version"]), ("new", 1))
        self.assertEqual(command.value["attributes"], {"country": "UK"})

    def test_commands_are_on_the_partition_of_their_order(self):
        self.cluster.add("submission")
        ids = [f"order-{number}" for number in range(200)]
        # Also from clients with another partitioner or without keys.
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.cluster.broker.bootstrap, "partitioner": "random"})
        for number, order_id in enumerate(ids):
            key, value = submit(order_id)
            producer.produce(self.cluster.topic("submissions"), value,
                             key=key if number % 2 else None)
        self.assertEqual(producer.flush(30), 0)
        commands = self.commands(at_least=len(ids))
        self.assertEqual(self.ids(commands), sorted(ids))
        for command in commands:
            self.assertEqual(command.type, "SubmitOrder")
            self.assertEqual(command.value["workflow_version"], 1)
            self.assertEqual(len(command.value["content_hash"]), 16)
        # The same partition as the murmur2 partitioner of third-party clients.
        self.cluster.topic_create("probe", partitions=self.cluster.partitions)
        probe = dict(zip(ids, self.cluster.produce("probe", [(i, b"x") for i in ids])))
        for command in commands:
            self.assertEqual(command.partition, probe[command.key][0])

    def test_a_repeated_submission_has_one_identity(self):
        self.cluster.add("submission")
        self.cluster.produce("submissions", [
            submit("same", attributes={"a": "1", "b": "2"}),
            submit("same", attributes={"b": "2", "a": "1"}, content_hash=b"0" * 16),
            submit("same", attributes={"a": "1", "b": "3"})])
        first, second, third = self.commands(at_least=3)
        self.assertEqual(first.value["content_hash"], second.value["content_hash"])
        self.assertNotEqual(first.value["content_hash"], third.value["content_hash"])

    def test_a_cancellation_stays_behind_its_order(self):
        self.cluster.add("submission")
        self.cluster.produce("submissions", [
            submit("o"), cancel("o", by="bob", reason="ordered twice")])
        first, second = self.commands(at_least=2)
        self.assertEqual((first.type, second.type), ("SubmitOrder", "CancelOrder"))
        self.assertEqual(second.value["by"], "application:bob")
        self.assertEqual(second.value["reason"], "ordered twice")


class HttpTest(SubmissionCase):
    def post(self, path, body, content_type="application/json"):
        port = self.cluster["submission-1"].http_port()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", data, {"Content-Type": content_type}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def body(self, order_id, **fields):
        return {"order_id": order_id, "currency": "GBP", "workflow": "three-steps",
                "lines": [LINE], **fields}

    def test_an_order_is_acknowledged_with_its_position(self):
        self.cluster.add("submission")
        status, answer = self.post("/orders", self.body("http-1"))
        self.assertEqual((status, answer["order_id"], answer["workflow_version"]),
                         (202, "http-1", 1))
        (command,) = self.commands(at_least=1)
        self.assertEqual((command.partition, command.offset),
                         (answer["partition"], answer["offset"]))
        self.assertEqual(str(command.value["lines"][0]["unit_price"]), "3.3900")
        status, answer = self.post("/orders/http-1/cancel", {"reason": "twice"})
        self.assertEqual((status, answer["order_id"]), (202, "http-1"))
        commands = self.commands(at_least=2)
        self.assertEqual([c.type for c in commands], ["SubmitOrder", "CancelOrder"])
        self.assertEqual(self.post("/orders/http-1/cancel", b"")[0], 202)

    def test_an_order_sent_by_kafka_and_http_has_one_identity(self):
        self.cluster.add("submission")
        body = {**self.body("both"), "customer": "c", "attributes": {"country": "UK"}}
        self.assertEqual(self.post("/orders", body)[0], 202)
        self.cluster.produce("submissions", [submit("both")])
        first, second = self.commands(at_least=2)
        self.assertEqual(first.value["content_hash"], second.value["content_hash"])

    def test_accepts_a_workflow_that_was_just_deployed(self):
        self.cluster.add("submission")
        text = THREE_STEPS.read_text().replace("Version: 1", "Version: 2")
        path = paths.new_folder("workflow") / "three-steps.yaml"
        path.write_text(text)
        self.cluster.workflow_deploy(path)
        status, answer = self.post("/orders", self.body("new", workflow_version=2))
        self.assertEqual((status, answer["workflow_version"]), (202, 2))

    def test_explains_mistakes(self):
        self.cluster.add("submission")
        cases = [
            (b"hello", 400, "BadJson"),
            (b"", 400, "BadJson"),
            ({**self.body("x"), "oder_id": "y"}, 400, "UnknownField"),
            (self.body("x", currency="euro"), 400, "InvalidOrder"),
            (self.body("a/b"), 400, "InvalidOrder"),
            (self.body("x", lines=[{**LINE, "quantity": 0}]), 400, "InvalidOrder"),
            (self.body("x", workflow="nothing"), 400, "UnknownWorkflow"),
            (self.body("x", reply_to="elsewhere"), 400, "BadReplyTopic"),
            (self.body("x", reply_to=self.cluster.topic("replies.absent")), 400,
             "UnknownReplyTopic"),
        ]
        for body, status, code in cases:
            answer = self.post("/orders", body)
            self.assertEqual((answer[0], answer[1]["code"]), (status, code), body)
            self.assertNotEqual(answer[1]["detail"], "")
        self.assertEqual(self.post("/orders", bytes((1 << 20) + 1))[0], 413)
        self.assertEqual(self.post("/orders/x/cancel", {"why": "?"})[0], 400)
        self.assertEqual(self.commands(), [])
        self.dead_letters(0)


class CrashTest(SubmissionCase):
    """At-least-once, whatever crashes; committed records are not processed again."""

    def produce_many(self, name, count):
        ids = [f"{name}-{number}" for number in range(count)]
        self.cluster.produce("submissions", [submit(order_id) for order_id in ids])
        return ids

    def wait_for_all(self, ids, seconds=60):
        wanted = set(ids)
        return self.cluster.wait_for_records(
            "commands", lambda records: wanted <= {r.key for r in records}, seconds)

    def test_repeated_crashes_lose_nothing(self):
        service = self.cluster.add("submission", start=False)
        ids = []
        for number, failpoint in enumerate(
                ("submission.acknowledged=kill@1", "submission.acknowledged=kill@300",
                 "submission.commit=kill@1", "submission.commit=kill@3")):
            ids += self.produce_many(f"crash{number}", 500)
            service.start(ready=False, env={"REEVE_FAILPOINT": failpoint})
            self.assertEqual(service.wait_end(60), -9)
        service.start()
        commands = self.wait_for_all(ids)
        self.assertEqual({record.key for record in commands}, set(ids))

    def test_committed_records_are_not_processed_again(self):
        service = self.cluster.add("submission")
        ids = self.produce_many("once", 2000)
        self.wait_for_all(ids)
        service.terminate()
        self.cluster.add("submission")
        ids += self.produce_many("later", 10)
        self.assertEqual(self.ids(self.wait_for_all(ids)), sorted(ids))

    def test_another_instance_takes_over(self):
        first = self.cluster.add("submission")
        self.cluster.add("submission")
        ids = self.produce_many("two", 1000)
        first.sigkill()
        ids += self.produce_many("alone", 1000)
        commands = self.wait_for_all(ids)
        self.assertEqual({record.key for record in commands}, set(ids))


class CommandLineTest(SubmissionCase):
    def test_submits_files(self):
        folder = paths.new_folder("orders")
        one, many = folder / "one.json", folder / "many.jsonl"
        value = {"order_id": "one", "currency": "GBP", "lines": [LINE]}
        one.write_text(json.dumps(value, indent=2))
        many.write_text("".join(
            json.dumps({**value, "order_id": f"many-{n}", "workflow": "three-steps"}) + "\n"
            for n in range(100)) + "{broken\n")
        done = self.cluster.reeve("submit", one, check=False)
        self.assertEqual(done.returncode, 65, done.stderr)
        rows = self.cluster.reeve_json("submit", one, "--workflow", "three-steps")
        self.assertEqual([row["order_id"] for row in rows], ["one"])
        done = self.cluster.reeve("submit", many, check=False)
        self.assertEqual(done.returncode, 65)
        self.assertIn("order 101: not JSON", done.stderr)
        self.assertIn("100 submitted, 1 refused", done.stderr)
        done = self.cluster.reeve(
            "submit", "-", stdin=json.dumps([{**value, "order_id": "piped",
                                              "workflow": "three-steps"}]))
        self.assertIn("piped", done.stdout)
        records = self.cluster.read_topic("submissions")
        self.assertEqual(self.ids(records), sorted(
            ["one", "piped", *(f"many-{n}" for n in range(100))]))
        self.assertEqual({record.type for record in records}, {"SubmitOrder"})

    def test_checks_orders_before_submitting_them(self):
        path = paths.new_folder("orders") / "order.json"
        for fields, message in (
                ({"workflow": "nothing"}, "deployed workflows: three-steps:1"),
                ({"workflow": "three-steps", "reply_to": "x"}, "reply_to must be empty or"),
                ({"workflow": "three-steps", "reply_to": self.cluster.topic("replies.no")},
                 "does not exist"),
                ({"workflow": "three-steps", "currency": "euro"}, "currency")):
            path.write_text(json.dumps(
                {"order_id": "x", "currency": "GBP", "lines": [LINE], **fields}))
            done = self.cluster.reeve("submit", path, check=False)
            self.assertEqual(done.returncode, 65)
            self.assertIn(message, done.stderr)
        self.assertEqual(self.cluster.read_topic("submissions"), [])

    def test_imports_a_real_day(self):
        folder = paths.new_folder("import")
        path = folder / "day.csv"
        data = paths.ROOT / "examples/data"
        path.write_bytes((data / "online-retail-2010-12-01.csv").read_bytes())
        answer = self.cluster.reeve_json(
            "import", path, "--map", (data / "online-retail.map").read_text().strip(),
            "--workflow", "three-steps", "--prefix-id", "day1-")
        self.assertEqual((answer["submitted"], answer["rejected"], answer["rejected_rows"]),
                         (136, 7, 27))
        rejects = (folder / "day.csv.rejects.csv").read_text().splitlines()
        self.assertEqual(rejects[0], "line,order_id,reason")
        self.assertEqual(rejects[1], "143,C536379,quantity is -1: expected at least 1")
        self.assertEqual(len(rejects), 28)
        records = {record.key: record for record in self.cluster.read_topic("submissions")}
        self.assertEqual(len(records), 136)
        self.assertEqual(len(records["day1-536592"].value["lines"]), 592)
        first = records["day1-536365"].value
        self.assertEqual((first["customer"], first["currency"]), ("17850.0", "GBP"))
        self.assertEqual(first["attributes"]["country"], "United Kingdom")
        total = sum(line["quantity"] * line["unit_price"]
                    for record in records.values() for line in record.value["lines"])
        self.assertEqual(str(total), "58960.7900")

    def test_imports_at_a_rate_and_up_to_a_limit(self):
        path = paths.new_folder("import") / "orders.jsonl"
        path.write_text("".join(
            json.dumps({"order_id": f"p-{n}", "currency": "GBP", "workflow": "three-steps"}) + "\n"
            for n in range(1000)))
        answer = self.cluster.reeve_json("import", path, "--rate", "40/s", "--limit", "60")
        self.assertEqual(answer["submitted"], 60)
        self.assertGreater(answer["seconds"], 1.2)
        self.assertLess(answer["seconds"], 10)

    def test_workflows_never_change_once_deployed(self):
        rows = self.cluster.reeve_json("workflow", "deploy", THREE_STEPS)
        self.assertEqual(rows[0]["result"], "already deployed, active")
        folder = paths.new_folder("workflow")
        path = folder / "other.yaml"
        path.write_text(THREE_STEPS.read_text() + "# another comment\n")
        done = self.cluster.reeve("workflow", "deploy", path, check=False)
        self.assertEqual(done.returncode, 65)
        self.assertIn("increase Version in the file", done.stderr)
        (row,) = self.cluster.reeve_json("workflow", "list")
        self.assertEqual((row["workflow"], row["version"], len(row["steps"])),
                         ("three-steps", 1, 3))
        self.assertEqual(self.cluster.reeve("workflow", "show", "three-steps:1").stdout,
                         THREE_STEPS.read_text())
        self.assertEqual(
            self.cluster.reeve("workflow", "show", "three-steps:2", check=False).returncode, 1)
        # Deploying created the topic of the workflow's agent.
        self.assertEqual(self.cluster.read_topic("requests.noop"), [])

    def test_cancels(self):
        self.cluster.reeve("cancel", "a", "b", "--no-wait", "--reason", "twice", "--by", "carol")
        records = self.cluster.read_topic("submissions")
        self.assertEqual(self.ids(records), ["a", "b"])
        self.assertEqual({r.value["by"] for r in records}, {"carol"})

    def test_checks_topics(self):
        self.assertEqual(self.cluster.reeve("topics", "check").stdout.strip(), "")
        self.cluster.topic_create("requests.odd", config={"retention.ms": "1000"})
        done = self.cluster.reeve("topics", "check", "--output", "json", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("retention.ms", done.stdout)

    def test_waiting_for_the_end_times_out(self):
        """Without a scheduler no order ends: the command gives up after its timeout."""
        path = paths.new_folder("orders") / "order.json"
        path.write_text(json.dumps(
            {"order_id": "w", "currency": "GBP", "workflow": "three-steps"}))
        web = self.cluster.topic("replies.web")
        done = self.cluster.reeve("submit", path, "--reply-to", web, "--wait", "--timeout", "1",
                                  check=False)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("have not ended in time", done.stderr)


class DevTest(unittest.TestCase):
    """`reeve dev` needs no broker; it embeds one."""

    def test_every_service_is_ready_and_ends_with_its_parent(self):
        process = subprocess.Popen(
            [str(paths.reeve_binary()), "dev", str(THREE_STEPS), "--in-memory"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        lines, pids = [], []
        for line in process.stdout:
            lines.append(line)
            with contextlib.suppress(ValueError):
                if " pid " in line:
                    pids.append(int(line.split(" pid ")[1].split()[0]))
            if "Ctrl-C" in line:
                break
        self.assertIn("reeve dev is ready", lines[0], "".join(lines))
        self.assertLess(float(lines[0].split("(")[1].split()[0]), 10)
        self.assertGreaterEqual(len(pids), 4)
        folder = re.search(r"reeve dev env --data-dir '([^']*)'", "".join(lines))[1]
        config = f"{folder}/client.properties"
        # The line that it suggests works as it stands.
        suggested = [line for line in lines if "reeve submit -" in line][0].strip()
        done = subprocess.run(
            ["bash", "-c", f'reeve() {{ "{paths.reeve_binary()}" "$@" --config {config} '
             f"--reply-to orders.replies.web --wait --timeout 20 --output jsonl; }}; {suggested}"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["order_state"], "Processed")
        wait_for("the console knows the order", lambda: "Processed" in subprocess.run(
            [str(paths.reeve_binary()), "orders", "get", "1", "--config", config],
            capture_output=True, text=True, check=False).stdout)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for pid in pids:
            wait_for(f"{pid} ends", lambda pid=pid: not self.runs(pid))
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(pathlib.Path(config).parent)
        self.assertFalse(any(os.path.exists(f"/proc/{pid}/exe") for pid in pids))

    def runs(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False


if __name__ == "__main__":
    unittest.main()
