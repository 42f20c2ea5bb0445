# SPDX-License-Identifier: Apache-2.0
"""Records in Confluent's framing: what applications send with schemas of a registry, the statuses
that they get, what is refused, and what waits while the registry does not answer."""

import base64
import http.server
import io
import json
import os
import pathlib
import ssl
import struct
import subprocess
import tempfile
import threading
import unittest

import confluent_kafka
import fastavro

from lib.authority import Authority
from lib.dev import REEVE, Dev
from lib.paths import ROOT
from lib.waiting import wait_for

USER, PASSWORD = "reeve", "registry-canary"
MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
# What a program of its own may have: other fields than reeve's, in another order.
ORDER = {"type": "record", "name": "SubmitOrder", "namespace": "shop", "fields": [
    {"name": "workflow", "type": {"type": "string", "avro.java.string": "String"}},
    {"name": "loyalty", "type": ["null", "string"], "default": None},
    {"name": "order_id", "type": "string"},
    {"name": "reply_to", "type": "string", "default": ""}]}


class Registry(http.server.ThreadingHTTPServer):
    """The two calls of a registry that reeve makes. `signed`: its certificate and key; None: it
    speaks HTTP."""

    def __init__(self, signed=None):
        super().__init__(("127.0.0.1", 0), RegistryHandler)
        if signed is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*signed)
            self.socket = context.wrap_socket(self.socket, server_side=True,
                                              do_handshake_on_connect=False)
        self.answers = {}   # id -> what GET /schemas/ids/ID answers
        self.subjects = {}  # subject -> id
        self.down = False
        self.asked = []     # the ids, also while it is down
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http{'s' if signed else ''}://127.0.0.1:{self.server_port}"

    def add(self, schema, **more):
        number = 70_000 + len(self.answers)  # more than two bytes
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self.answers[number] = {"schema": text, **more}
        return number


class RegistryHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", MEDIA_TYPE)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def is_served(self):
        proof = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers["Authorization"] != f"Basic {proof}":
            self.answer(401, {"error_code": 401, "message": "Unauthorized"})
            return False
        if self.server.down:
            self.answer(503, {"error_code": 50003, "message": "no leader"})
            return False
        return True

    def do_GET(self):
        number = int(self.path.removeprefix("/schemas/ids/"))
        self.server.asked.append(number)
        if not self.is_served():
            return
        found = self.server.answers.get(number)
        self.answer(200 if found else 404,
                    found or {"error_code": 40403, "message": f"Schema {number} not found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.is_served():
            return
        assert self.headers["Content-Type"] == MEDIA_TYPE
        subject = self.path.removeprefix("/subjects/").removesuffix("/versions")
        if subject not in self.server.subjects:
            self.server.subjects[subject] = self.server.add(body["schema"])
        self.answer(200, {"id": self.server.subjects[subject]})

    def log_message(self, *arguments):
        pass


def framed(number, schema, record):
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), record)
    return struct.pack(">bI", 0, number) + body.getvalue()


class SchemaRegistryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        authority = Authority(pathlib.Path(folder.name), "ca")
        cls.registry = Registry(authority.sign("registry"))
        cls.addClassCleanup(cls.registry.server_close)
        cls.addClassCleanup(cls.registry.shutdown)
        secret = pathlib.Path(folder.name) / "secret"
        secret.write_text(PASSWORD + "\n")
        cls.settings = {"REEVE_SCHEMA_REGISTRY_URL": cls.registry.url + "/",
                        "REEVE_SCHEMA_REGISTRY_TLS_CA": str(authority.cert),
                        "REEVE_SCHEMA_REGISTRY_USER": USER,
                        "REEVE_SCHEMA_REGISTRY_PASSWORD_FILE": str(secret)}
        cls.dev = Dev(folder.name, "--replies-json", "json", "--app", "web", "--app", "json",
                      asks=False, env=cls.settings)
        cls.addClassCleanup(cls.dev.stop)
        properties = (cls.dev.data / "client.properties").read_text()
        bootstrap = dict(line.split(" = ", 1) for line in properties.splitlines())[
            "kafka.bootstrap.servers"]
        cls.producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
        cls.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})
        cls.consumer.subscribe(["orders.replies.web", "orders.replies.json"])
        cls.addClassCleanup(cls.consumer.close)
        cls.statuses = []
        cls.order_schema = cls.registry.add(ORDER)

    def setUp(self):
        self.addCleanup(setattr, self.registry, "down", False)

    def send(self, value, key=None, headers=()):
        self.producer.produce("orders.submissions", value, key, headers=list(headers))
        self.producer.flush(30)

    def send_order(self, order, number=None, **more):
        record = {"workflow": "three-steps", "order_id": order, "loyalty": "gold",
                  "reply_to": "orders.replies.web", **more}
        self.send(framed(number or self.order_schema, ORDER, record), order)

    def read_status(self, message):
        """Of a StatusUpdate as an application decodes it, which asks the registry for the id."""
        value = message.value()
        if message.topic() == "orders.replies.json":
            self.assertEqual(dict(message.headers())["content-type"], b"application/json")
            return json.loads(value)
        self.assertEqual(value[0], 0, value[:16])
        schema = json.loads(self.registry.answers[struct.unpack(">I", value[1:5])[0]]["schema"])
        return fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(schema))

    def status(self, order, kind):
        """The order's StatusUpdate of that kind, once it is there."""
        def found():
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.statuses.append(self.read_status(message))
            return [status for status in self.statuses
                    if status["order_id"] == order and status["kind"] == kind]
        wait_for(lambda: self.statuses, found, 60)
        return found()[0]

    def reeve(self, *arguments, stdin=None, environment=None):
        done = subprocess.run(
            [REEVE, *arguments], input=stdin, capture_output=True, text=True, check=False,
            timeout=60, env={**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties"),
                             **(self.settings if environment is None else environment)})
        return done

    def dead_letters(self, code):
        done = self.reeve("dead-letters", "list", "--code", code, "--limit", "1000", "--output",
                          "jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def dead_letter_about(self, code, part):
        def found():
            return [row for row in self.dead_letters(code) if part in row["message"]]
        wait_for(lambda: self.dead_letters(code), found, 60)
        return found()[0]

    def readiness(self):
        return self.dev.ask("submission", "GET", "/readyz").body

    def test_an_order_and_its_statuses_have_the_framing(self):
        self.send_order("c-1")
        self.assertEqual(self.status("c-1", "Received")["order_state"], "Processing")
        self.assertEqual(self.status("c-1", "Processed")["order_state"], "Processed")
        self.assertEqual(list(self.registry.subjects), ["reeve.StatusUpdate"])

    def test_the_other_framing_and_json_are_read_as_well(self):
        done = self.reeve("submit", "-", "--reply-to", "orders.replies.web", "--wait",
                          stdin=json.dumps({"order_id": "c-2", "workflow": "three-steps"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Processed", done.stdout)
        self.send(json.dumps({"order_id": "c-3", "workflow": "three-steps",
                              "reply_to": "orders.replies.json"}).encode(),
                  headers=[("content-type", "application/json")])
        self.assertEqual(self.status("c-3", "Processed")["order_state"], "Processed")

    def test_the_command_line_says_that_it_needs_the_registry(self):
        config = self.dev.folder / "without-registry"
        config.write_text("".join(
            line for line in (self.dev.data / "client.properties").read_text().splitlines(True)
            if "schema.registry" not in line))
        done = self.reeve("submit", "-", "--reply-to", "orders.replies.web", "--wait",
                          stdin=json.dumps({"order_id": "c-4", "workflow": "three-steps"}),
                          environment={"REEVE_CONFIG": str(config)})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("set schema.registry.url", done.stderr)

    def test_reeves_own_schema_can_be_registered(self):
        own = json.loads((ROOT / "schemas/CancelOrder.avsc").read_text())
        cancel = framed(self.registry.add(own), own,
                        {"order_id": "c-none", "by": "", "reason": "", "submitted_by": "",
                         "reply_to": "orders.replies.web"})
        self.send(cancel, "c-none")
        self.assertEqual(self.status("c-none", "Rejected")["code"], "UnknownOrder")

    def test_a_refusal_is_a_status_in_the_framing(self):
        self.send_order("c-5", workflow="no-such")
        self.assertEqual(self.status("c-5", "Rejected")["code"], "UnknownWorkflow")

    def test_what_cannot_be_read_is_a_dead_letter(self):
        person = {"type": "record", "name": "Person", "fields": []}
        refused = {
            self.registry.add("message M {}", schemaType="PROTOBUF"): "expected AVRO",
            self.registry.add(ORDER, references=[{"name": "a", "subject": "a", "version": 1}]):
                "refers to other schemas",
            self.registry.add("{\"type\": "): "BadSchema",
            self.registry.add(person): "'Person' is not a record",
            self.registry.add({**ORDER, "fields": [{"name": "order_id", "type": "int"}]}):
                "order_id",
        }
        for number, part in refused.items():
            self.send_order(f"c-bad-{number}", number)
            row = self.dead_letter_about("BadSchema", f"schema {number} of the schema registry")
            self.assertIn(part if part != "BadSchema" else "", row["message"])
        self.send(struct.pack(">bI", 0, self.order_schema) + b"\x06abc")
        wait_for(lambda: self.dead_letters("Truncated"), lambda: self.dead_letters("Truncated"), 60)
        self.send(b"\x00\x01\x02")
        wait_for(lambda: self.dead_letters("NotAvro"), lambda: self.dead_letters("NotAvro"), 60)

    def test_an_id_that_is_unknown_is_asked_for_twice_whatever_comes(self):
        number = 4_000_000_001
        for order in range(200):
            self.send_order(f"c-unknown-{order}", number)
        wait_for(lambda: len(self.dead_letters("UnknownSchema")), lambda: len(
            [row for row in self.dead_letters("UnknownSchema") if str(number) in row["message"]])
            == 200, 60)
        self.assertEqual(self.registry.asked.count(number), 2)

    def test_a_flood_of_ids_leaves_others_their_way(self):
        flood = range(1_000_000, 1_000_600)
        for number in flood:
            self.producer.produce("orders.submissions", struct.pack(">bIb", 0, number, 1))
        self.producer.flush(30)
        self.send_order("c-6")
        self.assertEqual(self.status("c-6", "Processed")["order_state"], "Processed")

        def refused():
            return [row for row in self.dead_letters("UnknownSchema") if "no schema 1000" in
                    row["message"]]
        wait_for(lambda: len(refused()), lambda: len(refused()) == len(flood), 60)
        self.assertEqual([self.registry.asked.count(number) for number in flood],
                         [2] * len(flood))

    def test_dead_letters_are_shown_decoded(self):
        self.send_order("c-7", workflow="no-such-either")
        row = self.dead_letter_about("UnknownWorkflow", "no-such-either")
        done = self.reeve("dead-letters", "get", row["id"], "--output", "json")
        value = json.loads(done.stdout)["value"]
        self.assertEqual((value["record"], value["json"]["order_id"], value["schema_id"]),
                         ("SubmitOrder", "c-7", self.order_schema))

    def test_a_registry_that_does_not_answer_holds_up_only_what_needs_it(self):
        self.send_order("c-8")
        self.status("c-8", "Processed")
        self.registry.down = True
        later = self.registry.add({**ORDER, "doc": "of a later version"})
        self.send_order("c-9", later)
        wait_for(lambda: self.registry.asked, lambda: later in self.registry.asked, 60)
        self.send_order("c-10")
        self.status("c-10", "Processed")
        wait_for(self.readiness, lambda: "schema registry" in self.readiness(), 30)
        self.assertIn("503 no leader", self.readiness())
        self.assertFalse([row for row in self.dead_letters("UnknownSchema")
                          if str(later) in row["message"]])
        self.registry.down = False
        self.status("c-9", "Processed")
        wait_for(self.readiness, lambda: "schema registry" not in self.readiness(), 30)


class WithoutAnAnswerTest(unittest.TestCase):
    """The registry is down from the beginning."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.registry = Registry()
        self.registry.down = True
        self.addCleanup(self.registry.server_close)
        self.addCleanup(self.registry.shutdown)
        self.dev = Dev(folder.name, asks=False, env={
            "REEVE_SCHEMA_REGISTRY_URL": self.registry.url, "REEVE_SCHEMA_REGISTRY_USER": USER,
            "REEVE_SCHEMA_REGISTRY_PASSWORD": PASSWORD})
        self.addCleanup(self.dev.stop)
        properties = (self.dev.data / "client.properties").read_text()
        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": dict(line.split(" = ", 1) for line in properties.splitlines())[
                "kafka.bootstrap.servers"],
            "group.id": "test", "auto.offset.reset": "earliest"})
        self.consumer.subscribe(["orders.replies.web"])
        self.addCleanup(self.consumer.close)
        self.values = []

    def state(self):
        return json.loads(self.dev.ask("console", "GET", "/api/orders/w-1").body).get("state")

    def came(self, count):
        message = self.consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.values.append(message.value())
        return len(self.values) >= count

    def test_statuses_wait_and_orders_do_not(self):
        answer = self.dev.ask("submission", "POST", "/orders", body={
            "order_id": "w-1", "workflow": "three-steps", "reply_to": "orders.replies.web"})
        self.assertEqual(answer.status, 202, answer.body)
        wait_for(self.state, lambda: self.state() == "Processed", 60)
        scheduler = next(name for name in self.dev.names() if name.startswith("scheduler"))
        self.assertIn("records wait for the schema registry",
                      self.dev.ask(scheduler, "GET", "/readyz").body)
        self.assertIn('reeve_schema_registry_calls_total{result="answered"} 0',
                      self.dev.ask(scheduler, "GET", "/metrics").body)
        self.assertFalse(self.came(1))
        self.registry.down = False
        wait_for(lambda: self.values, lambda: self.came(2), 60)
        self.assertEqual({value[0] for value in self.values}, {0})
        self.assertNotIn("registry", self.dev.ask(scheduler, "GET", "/readyz").body)


if __name__ == "__main__":
    unittest.main()
