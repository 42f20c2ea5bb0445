# SPDX-License-Identifier: Apache-2.0
"""Steps that wait for a moment, and a service that is asked until it is ready, in a whole
installation: what services, pages and metrics tell of them."""

import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

from lib import Cluster, EmbeddedBroker, outlast
from lib.dev import REEVE
from lib.waiting import millis, wait_for

TIMEOUT_SECONDS = 240
WORKFLOW = """
Name: waits
Version: 1
Steps:
  - {Name: Soon, Wait: {Seconds: input.seconds}}
  - Name: Ready
    Agent: bank
    Until: result.ready
    Retry:
      - {ErrorEquals: [States.NotYet], IntervalSeconds: 0.2, BackoffRate: 1, MaxAttempts: 5,
         JitterStrategy: NONE}
  - {Name: Passed, Wait: {Timestamp: "'2000-02-29T00:00:00+01:00'"}}
"""
OFTEN = 2  # not ready


class Bank(http.server.ThreadingHTTPServer):
    """Remembers its answers, as a correct service does, and is ready at the third key."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.answers = {}

    def answer(self, key):
        return self.answers.setdefault(key, {"ready": len(self.answers) >= OFTEN})


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.answer(request["idempotency_key"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class WaitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "waits.yaml").write_text(WORKFLOW)
        cls.bank = Bank()
        threading.Thread(target=cls.bank.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.bank.shutdown)
        cls.out = cls.folder / "out"
        with open(cls.out, "wb") as out:
            cls.dev = subprocess.Popen(
                [REEVE, "dev", cls.folder / "waits.yaml", "--data-dir", cls.folder / "data",
                 "--partitions", "2", "--disk-free-min-mb", "0",
                 "--agent", f"bank=http://127.0.0.1:{cls.bank.server_port}"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        cls.addClassCleanup(cls.end)
        wait_for(cls.out.read_text, lambda: "Ctrl-C stops" in cls.out.read_text(), 60)

    @classmethod
    def end(cls):
        cls.dev.send_signal(signal.SIGINT)
        assert cls.dev.wait(60) == 0, cls.out.read_text()

    def ask(self, service, path, body=None):
        port = int((self.folder / "data" / service / "http.port").read_text())
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", body and json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def submit(self, order, seconds):
        self.ask("submission", "/orders", {"order_id": order, "workflow": "waits",
                                           "input": {"seconds": seconds}})

    def order(self, order, wait=""):
        return json.loads(self.ask("console", f"/api/orders/{order}{wait}"))

    def events(self, order):
        """(time, kind, data) of each."""
        entries = json.loads(self.ask("console", f"/api/orders/{order}/history"))["entries"]
        return [(millis(entry["time"]), event["kind"], event["data"])
                for entry in entries for event in entry["events"]]

    def metric(self, service, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.ask(service, "/metrics"), re.M)
        return float(found[1]) if found else None

    def cli(self, *arguments):
        done = subprocess.run(
            [REEVE, *arguments], text=True, capture_output=True, timeout=60, check=True,
            env={**os.environ, "REEVE_CONFIG": str(self.folder / "data" / "client.properties")})
        return done.stdout

    def test_passes_at_its_moment_and_asks_until_the_bank_is_ready(self):
        self.submit("t-1", 1.5)
        order = self.order("t-1", "?wait=60s")
        self.assertEqual(order["state"], "Processed", order)
        events = self.events("t-1")
        (waits,) = [data for _, kind, data in events if kind == "StepWaiting"]
        passes = [at for at, kind, data in events if kind == "StepPassed"]
        began = next(at for at, kind, _ in events if kind == "OrderAccepted")
        self.assertEqual(millis(waits["due_at"]), began + 1500)
        self.assertGreaterEqual(passes[0], millis(waits["due_at"]))
        self.assertEqual(len(passes), 2)  # the time that has passed is not waited for
        starts = [data["generation"] for _, kind, data in events if kind == "StepStarted"]
        self.assertEqual(starts, [0, 1, 2])
        self.assertEqual(list(self.bank.answers), [f"t-1/Ready/do/{n}" for n in range(OFTEN + 1)])
        attempts = 'reeve_step_attempts_total{workflow="waits",step="Ready",direction="do",'
        self.assertEqual(self.metric("scheduler-1", attempts + 'outcome="not_yet",error=""}'), 2)
        self.assertEqual(self.metric("scheduler-1", attempts + 'outcome="succeeded",error=""}'), 1)

    def test_a_step_that_waits_is_shown_until_it_is_skipped(self):
        self.submit("t-2", 86400)

        def waits():
            return [step for step in self.order("t-2").get("steps", ()) if step["due_at"]]

        (step,) = wait_for("the step waits", waits, 30)
        self.assertEqual((step["step"], step["state"]), ("Soon", "Waiting"))
        self.assertIsNone(step["retry_at"])
        self.assertIn("Soon: passes in", self.cli("orders", "list"))
        self.assertIn("waits until", self.cli("orders", "get", "t-2"))
        wait_for("the metric counts it", lambda: self.metric(
            "scheduler-1", 'reeve_steps_waiting{kind="wait"}') == 1, 20)
        self.cli("cancel", "t-2", "--reason", "no longer wanted")
        order = self.order("t-2", "?wait=60s")
        self.assertEqual(order["state"], "Compensated")
        self.assertEqual({step["state"] for step in order["steps"]}, {"Skipped"})
        wait_for("the metric forgets it", lambda: self.metric(
            "scheduler-1", 'reeve_steps_waiting{kind="wait"}') == 0, 20)


class OutlastTest(outlast.OutlastTest):
    def make_cluster(self):
        broker = EmbeddedBroker("waits", outlast.PARTITIONS, [outlast.AGENT])
        self.addCleanup(broker.stop)
        return Cluster(broker, outlast.PARTITIONS, prefix="waits", properties={
            "session.timeout.ms": 2000})


if __name__ == "__main__":
    unittest.main()
