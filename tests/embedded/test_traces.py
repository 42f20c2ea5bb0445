# SPDX-License-Identifier: Apache-2.0
"""Traces: a collector gets the spans of orders, steps, attempts and calls as one tree, below the
span that submitted the order; and orders are not held up by a collector that takes nothing."""

import http.server
import json
import pathlib
import re
import tempfile
import threading
import unittest

import confluent_kafka

from lib.dev import Dev
from lib.waiting import wait_for

WORKFLOW = """
Name: paid
Version: 1
TimeoutSeconds: 600
Steps:
  - Name: Reserve
    Agent: bank
    Compensate: {Action: Release}
  - Name: Pay
    Agent: bank
    Retry: [{ErrorEquals: [Busy], IntervalSeconds: 0.1, MaxAttempts: 1, JitterStrategy: NONE}]
    OnExhausted: compensate
"""
NESTED = """
Name: nested
Version: 1
TimeoutSeconds: 600
Steps:
  - Name: Parts
    ForEach: {Items: [1, 2]}
    Steps:
      - {Name: Part, Agent: bank}
"""
MILLISECOND = 1_000_000  # Decisions have no shorter times, and calls have
TRACE, SENDER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = (f"00-{TRACE}-{SENDER}-{flag}" for flag in ("01", "00"))


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Collector(http.server.ThreadingHTTPServer):
    """Keeps the spans of what it is sent, or refuses it all."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.spans = []
        self.refuses = False

    def of_order(self, order):
        return [span for span in self.spans if span["attributes"]["reeve.order"] == order]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def plain(attributes):
    return {row["key"]: row["value"].get("stringValue", row["value"].get("intValue"))
            for row in attributes}


class CollectorHandler(Handler):
    def do_POST(self):
        body = self.body()
        assert self.path == "/v1/traces" and self.headers["X-Key"] == "secret", self.path
        for resource in body["resourceSpans"]:
            about = plain(resource["resource"]["attributes"])
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    span["attributes"] = plain(span["attributes"])
                    span["service"] = about["service.name"]
                    if not self.server.refuses:
                        self.server.spans.append(span)
        self.answer(503 if self.server.refuses else 200, {})


class Bank(http.server.ThreadingHTTPServer):
    """Pays no order whose id begins with `poor`, and none with `busy` at the first attempt."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), BankHandler)
        self.parents = {}  # (order, step, direction, attempt) -> the header


class BankHandler(Handler):
    def do_POST(self):
        body = self.body()
        order, step, attempt = body["order_id"], body["step"], body["attempt"]
        self.server.parents[order, step, body["direction"], attempt] = self.headers["traceparent"]
        pays = step == "Pay" and body["direction"] == "do"
        if pays and order.startswith("poor"):
            self.answer(422, {"error": "Declined", "message": "no funds"})
        elif pays and order.startswith("busy") and attempt == 1:
            self.answer(422, {"error": "Busy", "message": "later"})
        else:
            self.answer(200, {})


class TracesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        (path / "paid.yaml").write_text(WORKFLOW)
        (path / "nested.yaml").write_text(NESTED)
        (path / "headers").write_text("X-Key: secret\n")
        cls.collector, cls.bank = Collector(), Bank()
        for server in (cls.collector, cls.bank):
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
        cls.dev = Dev(folder.name, path / "paid.yaml", path / "nested.yaml",
                      "--agent", f"bank={serve(cls.bank)}",
                      "--traces-url", f"{serve(cls.collector)}/v1/traces",
                      "--set", f"traces.headers.file={path / 'headers'}", asks=False)
        cls.addClassCleanup(cls.dev.stop)

    def setUp(self):
        self.collector.refuses = False

    def submit(self, order, workflow="paid", header=None, **more):
        answer = self.dev.ask("submission", "POST", "/orders", None,
                              {"order_id": order, "workflow": workflow, **more},
                              headers=header and {"traceparent": header})
        self.assertEqual(answer.status, 202, answer.body)
        return self.end_of(order)

    def end_of(self, order):
        answer = self.dev.ask("console", "GET", f"/api/orders/{order}?wait=60s")
        return json.loads(answer.body)["state"]

    def spans(self, order, count):
        """By (name, direction, attempt, try), once they are there."""
        wait_for(lambda: self.collector.of_order(order),
                 lambda: len(self.collector.of_order(order)) >= count, 60)
        spans = {}
        for span in self.collector.of_order(order):
            about = span["attributes"]
            key = tuple(about.get(f"reeve.{name}") for name in ("step", "direction", "attempt",
                                                               "try"))
            self.assertNotIn(key, spans)
            spans[key] = span
        self.assertEqual(len(spans), count)
        return spans

    def expect_below(self, spans, child, parent):
        self.assertEqual(spans[child]["parentSpanId"], spans[parent]["spanId"])
        self.assertEqual(spans[child]["traceId"], spans[parent]["traceId"])

    def expect_within(self, spans):
        by_id = {span["spanId"]: span for span in spans.values()}
        for span in spans.values():
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
            parent = by_id.get(span.get("parentSpanId"))
            if parent is not None:
                self.assertGreaterEqual(int(span["startTimeUnixNano"]),
                                        int(parent["startTimeUnixNano"]))
                self.assertLess(int(span["endTimeUnixNano"]),
                                int(parent["endTimeUnixNano"]) + MILLISECOND)

    def expect_tree(self, spans):
        """Below the order its steps, below those their attempts, below those their calls."""
        order = (None, None, None, None)
        for key in spans:
            step, direction, attempt, number = key
            if number is not None:
                self.expect_below(spans, key, (step, direction, attempt, None))
            elif attempt is not None:
                self.expect_below(spans, key, (step, direction, None, None))
            elif step is not None:
                self.expect_below(spans, key, order)
        self.expect_within(spans)
        return spans[order]

    def test_an_order_is_a_tree_of_its_own(self):
        self.assertEqual(self.submit("own-1"), "Processed")
        spans = self.spans("own-1", 7)
        order = self.expect_tree(spans)
        self.assertNotIn("parentSpanId", order)
        self.assertNotIn("status", order)
        self.assertEqual((order["name"], order["attributes"]["reeve.state"], order["service"]),
                         ("paid", "Processed", "reeve-supervisor"))
        call = spans["Pay", "do", "1", "1"]
        self.assertEqual((call["name"], call["kind"], call["service"]), ("Pay", 3, "reeve-agent"))
        self.assertEqual(self.bank.parents["own-1", "Pay", "do", 1],
                         f"00-{call['traceId']}-{call['spanId']}-01")

    def test_a_retry_and_an_undo_are_in_it(self):
        self.assertEqual(self.submit("busy-1"), "Processed")
        spans = self.spans("busy-1", 9)
        self.expect_tree(spans)
        self.assertEqual(spans["Pay", "do", "1", None]["status"], {"code": 2, "message": "Busy"})
        self.assertEqual(spans["Pay", "do", "1", "1"]["status"]["message"], "Busy")
        for key in (("Pay", "do", "2", None), ("Pay", "do", None, None)):
            self.assertNotIn("status", spans[key])
        self.assertEqual(self.submit("poor-1"), "Compensated")
        spans = self.spans("poor-1", 10)
        order = self.expect_tree(spans)
        self.assertEqual(order["status"]["code"], 2)
        self.assertEqual(spans["Pay", "do", None, None]["status"]["message"], "Declined")
        self.assertNotIn("status", spans["Reserve", "undo", None, None])

    def test_joins_the_trace_of_its_sender(self):
        self.submit("in-1", header=SAMPLED)
        self.submit("in-2", traceparent=SAMPLED)
        producer = confluent_kafka.Producer({"bootstrap.servers": re.search(
            r"kafka.bootstrap.servers = (\S+)",
            (self.dev.data / "client.properties").read_text())[1]})
        producer.produce("orders.submissions", json.dumps({"order_id": "in-3", "workflow": "paid"}),
                         headers=[("content-type", "application/json"), ("traceparent", SAMPLED)])
        producer.flush(30)
        wait_for(lambda: "in-3", lambda: self.dev.ask("console", "GET", "/api/orders/in-3").status
                 == 200, 60)
        for order in ("in-1", "in-2", "in-3"):
            root = self.expect_tree(self.spans(order, 7))
            self.assertEqual((root["traceId"], root["parentSpanId"]), (TRACE, SENDER))

    def test_makes_none_where_its_sender_does_not(self):
        self.assertEqual(self.submit("out-1", header=UNSAMPLED), "Processed")
        self.assertEqual(self.submit("out-2", header="nonsense"), "Processed")
        self.expect_tree(self.spans("out-2", 7))
        self.assertEqual(self.collector.of_order("out-1"), [])
        self.assertRegex(self.bank.parents["out-1", "Pay", "do", 1], rf"^00-{TRACE}-\w{{16}}-00$")

    def test_suborders_are_below_their_step(self):
        self.assertEqual(self.submit("tree-1", "nested"), "Processed")
        above = self.spans("tree-1", 3)
        for number in (0, 1):
            part = f"tree-1~Parts~{number}"
            spans = self.spans(part, 4)
            root = self.expect_tree(spans)
            step = above["Parts", "do", None, None]
            self.assertEqual((root["traceId"], root["parentSpanId"]),
                             (step["traceId"], step["spanId"]))

    def metric(self, name):
        text = "".join(self.dev.ask(process, "GET", "/metrics").body for process in
                       self.dev.names() if process.startswith("supervisor"))
        return sum(float(value) for value in re.findall(rf"^{name} (\S+)$", text, re.M))

    def test_a_collector_that_refuses_holds_nothing_up(self):
        lost = self.metric("reeve_trace_spans_lost_total")
        self.collector.refuses = True
        self.assertEqual(self.submit("lost-1"), "Processed")
        wait_for(lambda: self.metric("reeve_trace_spans_lost_total"),
                 lambda: self.metric("reeve_trace_spans_lost_total") >= lost + 5, 60)
        self.collector.refuses = False
        self.assertEqual(self.submit("kept-1"), "Processed")
        self.spans("kept-1", 7)
        self.assertEqual(self.collector.of_order("lost-1"), [])


if __name__ == "__main__":
    unittest.main()
