# SPDX-License-Identifier: Apache-2.0
"""`reeve doctor` on an installation that works, and on one with a fault of each kind."""

import http.server
import json
import pathlib
import tempfile
import threading
import unittest

from confluent_kafka.admin import AdminClient, ConfigResource

from lib.dev import WORKFLOW, Trial

CHECKS = ["program", "configuration", "names", "brokers", "topics", "console", "services", "disk",
          "agreement"]
ABOUT = {
    "service": "scheduler", "instance": "odd", "version": "0.0.1", "ready": True, "reason": None,
    "started_at": "2010-12-01T08:26:00.000Z", "time": "2010-12-01T08:26:00.000Z",
    "disk_free_bytes": 600 << 20,
    "configuration": [{"key": key, "value": value, "origin": "default"} for key, value in
                      {"events.keep.ms": "7d", "clock.skew.max.ms": "1000",
                       "disk.free.min.mb": "512"}.items()],
}


class Odd(http.server.BaseHTTPRequestHandler):
    """A service of another version, with another clock, other settings and a small disk."""

    def do_GET(self):
        body = json.dumps(ABOUT).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class DoctorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.trial = Trial(cls.folder, WORKFLOW)
        cls.addClassCleanup(cls.trial.kill)
        cls.trial.wait_until_ready()
        text = (cls.trial.state / "client.properties").read_text()
        cls.bootstrap = dict(line.split(" = ") for line in text.splitlines())[
            "kafka.bootstrap.servers"]

    def examine(self, *flags):
        """The exit code, and the rows; each that is not OK says what to do."""
        done = self.trial.client("doctor", "--output", "jsonl", *flags, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertTrue(rows, done.stderr)
        for row in rows:
            self.assertEqual(row["result"] == "OK", row["fix"] is None, row)
        return done.returncode, rows

    def faults(self, *flags):
        """{check: [what was found]} of the rows that are not OK."""
        code, rows = self.examine(*flags)
        found = {}
        for row in rows:
            if row["result"] != "OK":
                found.setdefault(row["check"], []).append(row["found"])
        self.assertEqual(code, int(any(row["result"] == "failed" for row in rows)))
        return found

    def test_finds_no_fault_in_an_installation_that_works(self):
        code, rows = self.examine()
        self.assertEqual([row["check"] for row in rows], CHECKS)
        self.assertEqual({row["result"] for row in rows}, {"OK"}, rows)
        self.assertEqual(code, 0)
        self.assertIn(f"the cluster has 1: 1 at {self.bootstrap} (version unknown)",
                      [row["found"] for row in rows])

    def test_names_the_setting_of_a_topic_until_it_is_applied(self):
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders.dead-letters",
                                  set_config={"retention.ms": "60000"})
        admin.alter_configs([resource])[resource].result(30)
        found = self.faults()
        self.assertEqual(list(found), ["topics"])
        self.assertIn("orders.dead-letters: retention.ms is 60000; expected 2592000000",
                      found["topics"])
        self.trial.client("topics", "apply", "--partitions", "2", "--replication-factor", "1")
        self.assertEqual(self.faults(), {})

    def test_goes_on_without_a_broker(self):
        found = self.faults("--kafka-bootstrap-servers", "127.0.0.1:1", "--start-timeout-ms", "500")
        self.assertEqual(list(found), ["brokers"])
        self.assertIn("no broker answers at 127.0.0.1:1", found["brokers"][0])

    def test_names_a_disk_without_space(self):
        found = self.faults("--data-dir", self.folder, "--disk-free-min-mb", "1000000000")
        self.assertEqual(list(found), ["disk"])
        self.assertRegex(found["disk"][0], f"^{self.folder} has [0-9]+ MB of free space; below "
                                           "disk.free.min.mb, 1000000000, services pause$")

    def test_names_the_service_that_differs(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        services = self.trial.state / "services"
        before = services.read_text()
        self.addCleanup(services.write_text, before)
        services.write_text(f"{before}127.0.0.1:{server.server_port}\n")
        found = self.faults()
        self.assertEqual(set(found), {"clocks", "disk", "agreement"})
        self.assertRegex(found["clocks"][0], "^the clock of scheduler odd is [0-9]+ ms behind")
        self.assertEqual(found["disk"], ["the disk of scheduler odd has 600 MB of free space; "
                                         "services pause below disk.free.min.mb, 512"])
        self.assertRegex(found["agreement"][0], "^version is .* in .*, and 0.0.1 in scheduler odd$")
        self.assertRegex(found["agreement"][1], "^events.keep.ms is 0 in .*, and 7d in scheduler")


if __name__ == "__main__":
    unittest.main()
