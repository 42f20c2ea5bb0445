# SPDX-License-Identifier: Apache-2.0
"""Applications that speak JSON on Kafka: orders, cancellations and signals, StatusUpdates, and what
becomes of records that are not what their header says."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import confluent_kafka

from lib.dev import REEVE, Dev
from lib.paths import ROOT
from lib.waiting import wait_for

WORKFLOW = """
Name: ask
Version: 1
TimeoutSeconds: 600
Steps:
  - Name: Approve
    Await: {}
  - Name: Pay
    Agent: noop
    Input: {amount: "${input.amount}"}
"""
JSON = ("content-type", "application/json")


class JsonRecordsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        workflow = pathlib.Path(folder.name) / "ask.yaml"
        workflow.write_text(WORKFLOW)
        cls.dev = Dev(folder.name, workflow, "--replies-json", "web", asks=False)
        cls.addClassCleanup(cls.dev.stop)
        properties = (cls.dev.data / "client.properties").read_text()
        cls.bootstrap = dict(line.split(" = ", 1) for line in properties.splitlines())[
            "kafka.bootstrap.servers"]
        cls.producer = confluent_kafka.Producer({"bootstrap.servers": cls.bootstrap})
        cls.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": cls.bootstrap, "group.id": "test",
            "auto.offset.reset": "earliest"})
        cls.consumer.subscribe(["orders.replies.web"])
        cls.addClassCleanup(cls.consumer.close)
        cls.statuses = []

    def send(self, value, *headers, key=None):
        value = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.producer.produce("orders.submissions", value, key, headers=[JSON, *headers])
        self.producer.flush(30)

    def status(self, order, kind):
        """The order's StatusUpdate of that kind, once it is there."""
        def found():
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.assertEqual(dict(message.headers())["content-type"], b"application/json")
                self.assertEqual(dict(message.headers())["record"], b"StatusUpdate")
                self.statuses.append(json.loads(message.value()))
            return [status for status in self.statuses
                    if status["order_id"] == order and status["kind"] == kind]
        wait_for(lambda: self.statuses, found, 60)
        return found()[0]

    def test_the_command_of_the_page_submits_with_kcat(self):
        page = (ROOT / "docs" / "use" / "submitting.md").read_text()
        command = re.search(r"(?m)^    echo .*\n +kcat .*$", page)[0]
        command = command.replace("localhost:9092", self.bootstrap)
        done = subprocess.run(["sh", "-ec", command.replace("order-fulfilment", "ask")],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.status("536365", "Received")["order_state"], "Processing")

    def order(self, order, **more):
        self.send({"order_id": order, "workflow": "ask", "input": {"amount": 100.10},
                   "reply_to": "orders.replies.web", **more}, key=order)

    def test_an_order_and_its_signal_are_json(self):
        self.order("j-1")
        self.assertEqual(self.status("j-1", "Received")["order_state"], "Processing")
        self.send({"order_id": "j-1", "step": "Approve", "payload": {"by": "phone"}},
                  ("record", "SignalOrder"))
        self.assertEqual(self.status("j-1", "Processed")["order_state"], "Processed")

    def test_a_cancellation_is_json(self):
        self.order("j-2")
        self.status("j-2", "Received")
        self.send({"order_id": "j-2", "reason": "changed my mind"}, ("record", "CancelOrder"))
        self.assertEqual(self.status("j-2", "Compensated")["order_state"], "Compensated")

    def test_what_is_wrong_is_a_dead_letter_and_a_status(self):
        self.order("j-3", colour="red")
        status = self.status("j-3", "Rejected")
        self.assertEqual(status["code"], "UnknownField")
        self.assertIn("colour", status["message"])
        self.send(b"{\"order_id\": ")
        self.send(b"\xc3\x01 this is not JSON")
        environment = {**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")}

        def codes():
            done = subprocess.run([REEVE, "dead-letters", "list", "--output", "jsonl"],
                                  capture_output=True, text=True, check=True, env=environment,
                                  timeout=60)
            found = [json.loads(line)["code"] for line in done.stdout.splitlines()]
            return sorted(code for code in found if code != "NotAvro")
        wait_for(codes, lambda: codes() == ["BadJson", "BadJson", "UnknownField"], 30)

    def test_json_without_the_header_is_a_dead_letter_that_names_it(self):
        for value in (b" \n{\"order_id\": \"j-5\", \"workflow\": \"ask\"}", b"\0{"):
            self.producer.produce("orders.submissions", value)
        self.producer.flush(30)
        environment = {**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")}

        def messages():
            done = subprocess.run([REEVE, "dead-letters", "list", "--output", "jsonl"],
                                  capture_output=True, text=True, check=True, env=environment,
                                  timeout=60)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            return {row["message"] for row in rows if row["code"] == "NotAvro"}
        wait_for(messages, lambda: messages() == {
            "the record begins with '{': JSON needs the header content-type: application/json",
            "no Avro single-object encoding: it starts with C3 01 and a fingerprint"}, 30)

    def test_the_command_line_reads_the_statuses(self):
        environment = {**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")}
        done = subprocess.run(
            [REEVE, "submit", "-", "--reply-to", "orders.replies.web", "--wait"],
            input=json.dumps({"order_id": "j-4", "workflow": "three-steps"}), text=True,
            capture_output=True, check=False, env=environment, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Processed", done.stdout)

    def reeve(self, *arguments, stdin=None):
        environment = {**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")}
        return subprocess.run([REEVE, *arguments], input=stdin, text=True, capture_output=True,
                              check=False, env=environment, timeout=60)

    def input_of(self, order):
        """As text, once the console has the order."""
        def found():
            done.append(self.reeve("orders", "get", order, "--input"))
            return done[-1].returncode == 0
        done = []
        wait_for(lambda: done[-1].stderr, found, 60)
        return done[-1].stdout.strip()

    def test_the_input_of_the_flag_keeps_all_digits(self):
        data = '{"amount": 100.10, "big": 12345678901234567890, "small": 0.12345678901234567890}'
        kept = '{"amount": 100.1, "big": 12345678901234567890, "small": 0.1234567890123456789}'
        file = self.dev.data / "input.json"
        file.write_text(data)
        for order, value in (("i-1", data), ("i-2", str(file))):
            # Of the two orders on standard input, the first has an input of its own.
            done = self.reeve("submit", "-", "--workflow", "ask", "--input", value, stdin=(
                '{"order_id": "%s-own", "input": {"amount": 7.70}}\n{"order_id": "%s"}'
                % (order, order)))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.input_of(order), kept)
            self.assertEqual(self.input_of(f"{order}-own"), '{"amount": 7.7}')


if __name__ == "__main__":
    unittest.main()
