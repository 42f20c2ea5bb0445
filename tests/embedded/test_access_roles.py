# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the table of docs/operate/access.md, as `reeve token roles` prints it, on
running services, row by row and role by role. Then tokens that are revoked while they are in
use."""

import http.client
import os
import re
import signal
import tempfile
import time
import unittest

from lib.dev import ROLES, Dev
from lib.routes import fill, read_routes
from lib.waiting import wait_for

TIMEOUT_SECONDS = 300
SERVICES = {"submission": "submission", "scheduler": "scheduler-1", "supervisor": "supervisor-1",
            "agent": "agent-noop", "console": "console"}
NO_TOKEN = "no token"
COLUMNS = [*ROLES, NO_TOKEN]


# ---- on running services ----------------------------------------------------------------------


def may(row, column):
    return row["without_token"] if column == NO_TOKEN else column in row["roles"]


class RolesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.routes = read_routes()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.dev = Dev(folder.name)
        cls.addClassCleanup(cls.dev.stop)

    def ask(self, service, method, path, column, **more):
        answer = self.dev.ask(SERVICES[service], method, fill(path), self.dev.tokens.get(column),
                              body={} if method == "POST" else None, stream=True, **more)
        answer.close()
        return answer.status

    def test_the_table_is_what_the_services_do(self):
        self.assertGreater(len(self.routes), 60)
        for service, row in self.routes:
            method, path = row["method"], row["path"]
            for column in COLUMNS:
                with self.subTest(f"{service} {method} {path} as {column}"):
                    status = self.ask(service, method, path, column)
                    if may(row, column):
                        self.assertNotIn(status, (401, 403, 404 if "{" not in path else 0, 405))
                    elif row["or_else"] or column != NO_TOKEN:
                        self.assertEqual(status, 403)
                    else:
                        self.assertEqual(status, 401)

    def test_other_methods_permit_nothing_more(self):
        for service, row in self.routes:
            path = row["path"]
            others = {other["method"] for s, other in self.routes
                      if (s, other["path"]) == (service, path)}
            with self.subTest(f"{service} {path}"):
                if "GET" in others:
                    self.assertEqual(self.ask(service, "HEAD", path, "no token"),
                                     self.ask(service, "GET", path, "no token"))
                for other in {"PUT", "PATCH", "OPTIONS", "TRACE", "POST", "DELETE"} - others:
                    self.assertEqual(self.ask(service, other, path, "no token"), 405, other)


class BindingTest(unittest.TestCase):
    """Tokens that may name less than their role permits."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dev = Dev(folder.name)
        self.addCleanup(self.dev.stop)
        self.dev.write_tokens(ROLES, {
            "submitter": "id-prefix=shop- reply-to=orders.replies.shop", "agent": "agents=pay"})
        wait_for("the tokens", lambda: all("read the tokens again" in self.dev.log(name)
                                           for name in ("submission", "agent-noop")), 20)

    def post(self, service, path, role, **body):
        answer = self.dev.ask(service, "POST", path, self.dev.tokens[role], body)
        return answer.status, "OutsideBinding" in answer.body

    def test_a_submitter_is_bound_to_ids_and_a_reply_topic(self):
        order = {"currency": "EUR", "workflow": "three-steps"}
        outside = (403, True)
        self.assertEqual(self.post("submission", "/orders", "submitter", order_id="shop-1",
                                   **order), (202, False))
        self.assertEqual(self.post("submission", "/orders", "submitter", order_id="web-1",
                                   **order), outside)
        self.assertEqual(self.post("submission", "/orders", "submitter", order_id="shop-2",
                                   reply_to="orders.replies.web", **order), outside)
        self.assertEqual(self.post("submission", "/orders/web-1/cancel", "submitter"), outside)
        self.assertEqual(self.post("submission", "/orders/shop-1/cancel", "submitter",
                                   reply_to="orders.replies.web"), outside)
        self.assertEqual(self.post("submission", "/orders/shop-1/cancel", "submitter"),
                         (202, False))

    def test_an_agents_token_is_bound_to_agents(self):
        path = "/v1/callbacks/noop/o-1/First/do/1"
        self.assertEqual(self.post("agent-noop", path, "agent", outcome="succeed"), (403, True))


# ---- tokens that are revoked ------------------------------------------------------------------


class RevocationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dev = Dev(folder.name)
        self.addCleanup(self.dev.stop)

    def ask(self, path, role="viewer", **more):
        return self.dev.ask("console", "GET", path, self.dev.tokens[role], **more)

    def messages(self):
        return [line for line in self.dev.log("console").splitlines() if "the tokens again" in line]

    def reload(self, expected):
        """A message from now on that holds `expected`."""
        before = len(self.messages())
        os.kill(self.dev.pid("console"), signal.SIGHUP)
        return self.wait_for_message(expected, before)

    def wait_for_message(self, expected, before):
        """One that holds `expected`, and that is not among the first `before`."""
        return wait_for(lambda: f"{expected}: {self.messages()[before:]}", lambda: next(
            (line for line in self.messages()[before:] if expected in line), None))

    def test_ends_streams_and_waits_of_a_revoked_token(self):
        stream = self.ask("/api/events", stream=True)
        self.assertEqual(stream.status, 200)
        other = self.ask("/api/events", "operator", stream=True)
        waiting = self.ask("/api/watch")
        cursor = re.search(r'"cursor": ?"?([^",}]*)', waiting.body)[1]
        connection, response = self.begin_watch(cursor)
        self.dev.write_tokens(["operator", "submitter"])
        wait_for("the token is refused", lambda: self.ask("/api/agents").status == 401)
        self.read_until(stream, None)
        stream.close()
        self.assertEqual(self.ask("/api/agents", "operator").status, 200)
        self.submit("after")
        answer = response()
        self.assertEqual(answer.status, 401)
        self.assertIn("BadToken", answer.read().decode())
        connection.close()
        self.assertIn("after", self.read_until(other, b"after"))
        other.close()

    def begin_watch(self, cursor):
        connection = http.client.HTTPConnection("127.0.0.1", self.dev.port("console"), timeout=60)
        connection.request("GET", f"/api/watch?after={cursor}", headers={
            "Authorization": f"Bearer {self.dev.tokens['viewer']}"})
        return connection, connection.getresponse

    def submit(self, order):
        answer = self.dev.ask("submission", "POST", "/orders", self.dev.tokens["submitter"], {
            "order_id": order, "customer": "c", "currency": "GBP", "workflow": "three-steps",
            "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]})
        self.assertIn(answer.status, (200, 201, 202), answer.body)

    def read_until(self, answer, wanted):
        """The stream up to some bytes, or up to its end (None). It sends something now and then."""
        seen, until = b"", time.monotonic() + 30
        while wanted is None or wanted not in seen:
            self.assertLess(time.monotonic(), until, seen)
            piece = answer.response.read1(65536)
            if not piece:
                self.assertIsNone(wanted, "the stream has ended")
                break
            seen += piece
        return seen.decode()

    def test_sighup_reads_the_tokens_and_a_malformed_file_changes_nothing(self):
        self.dev.write_tokens(["operator"])
        self.reload("read the tokens again")
        self.assertEqual(self.ask("/api/agents").status, 401)
        self.dev.tokens_file.write_text("operator admin sha256:00 2026-01-01\n")
        message = self.reload(f"{self.dev.tokens_file}, line 1: the role must be viewer")
        self.assertIn('"level":"error"', message)
        self.assertEqual(self.ask("/api/agents", "operator").status, 200)
        self.dev.tokens_file.unlink()
        self.reload(f"cannot read {self.dev.tokens_file}")
        self.assertEqual(self.ask("/api/agents", "operator").status, 200)
        before = len(self.messages())
        self.dev.write_tokens(["viewer"])
        # To ask until it counts would be guessing, after which no token is looked at.
        self.wait_for_message("read the tokens again", before)
        self.assertEqual(self.ask("/api/agents").status, 200)
        self.assertIn(self.ask("/api/agents", "operator").status, (401, 429))


if __name__ == "__main__":
    unittest.main()
