# SPDX-License-Identifier: Apache-2.0
"""The tests' own library: a crash of a broker, records read back, processes started and ended."""

import os
import unittest

from lib import Broker, Cluster, Service, TimedOut, paths, wait_for

# A stand-in for `reeve run ROLE --config FILE`: answers /readyz, ends with 0 on SIGTERM.
STAND_IN = """#!/usr/bin/python3
import http.server, os, pathlib, signal, sys
config = dict(line.split("=", 1) for line in open(sys.argv[4]).read().splitlines())
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"reeve_things_total{kind=\\"a\\"} 2\\nreeve_things_total{kind=\\"b\\"} 3\\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.HTTPServer(("127.0.0.1", int(config["http.port"])), Handler)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("started", sys.argv[2], flush=True)
(pathlib.Path(config["data.dir"]) / "http.port").write_text(str(server.server_port))
server.serve_forever()
"""


class WaitingTest(unittest.TestCase):
    def test_a_timeout_names_the_condition(self):
        def too_few():
            self.assertEqual(1, 2)

        with self.assertRaisesRegex(TimedOut, "not within 0.1 s: two things: 1 != 2"):
            wait_for("two things", too_few, seconds=0.1)

    def test_returns_the_value_of_the_condition(self):
        answers = iter([None, 0, "yes"])
        self.assertEqual(wait_for("an answer", lambda: next(answers)), "yes")


class ServiceTest(unittest.TestCase):
    def setUp(self):
        stand_in = paths.new_folder("stand-in") / "reeve"
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        before = os.environ.get("REEVE")
        os.environ["REEVE"] = str(stand_in)
        self.addCleanup(
            lambda: os.environ.pop("REEVE") if before is None else os.environ.update(REEVE=before)
        )

    def test_a_service_starts_crashes_restarts_and_ends(self):
        with Service("scheduler", "127.0.0.1:1", "t", 4) as service:
            service.start()
            self.assertEqual(service.get("/readyz")[0], 200)
            self.assertEqual(service.metric("reeve_things_total"), 5)
            self.assertIsNone(service.metric("reeve_other_total"))
            (service.data / "row").write_text("x")
            service.sigkill()
            self.assertTrue((service.data / "row").exists())
            service.drop_data()
            self.assertFalse((service.data / "row").exists())
            service.start()
            service.sigstop()
            self.assertEqual(service.get("/readyz", seconds=0.2)[0], None)
            service.sigcont()
            service.terminate()
            self.assertEqual(service.stderr.count("started scheduler"), 2)

    def test_a_failed_start_reports_the_exit_code(self):
        os.environ["REEVE"] = "/bin/false"
        with Service("scheduler", "127.0.0.1:1", "t", 4) as service:
            with self.assertRaisesRegex(RuntimeError, "ended with 1 before it was ready"):
                service.start()


class BrokerTest(unittest.TestCase):
    def test_records_are_read_back_unchanged_after_a_crash(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        with Cluster(broker, partitions=3) as cluster:
            cluster.topic_create("things", partitions=3)
            large = b"x" * 8_000_000
            sent = [("a", b"not avro"), ("b", None), ("c", large, [("name", b"value")])]
            places = cluster.produce("things", sent)
            before = cluster.read_topic("things")
            self.assertEqual(
                [(r.key, r.raw) for r in sorted(before, key=lambda r: r.key)],
                [("a", b"not avro"), ("b", None), ("c", large)],
            )
            self.assertEqual(sorted((r.partition, r.offset) for r in before), sorted(places))
            self.assertEqual([r.headers for r in before if r.key == "c"], [{"name": b"value"}])
            self.assertEqual({r.type for r in before}, {None})

            broker.kill()
            broker.restart()
            self.assertEqual(cluster.read_topic("things"), before)
            cluster.produce("things", [("d", b"later")])
            cluster.wait_for_records("things", lambda records: len(records) == 4)


if __name__ == "__main__":
    unittest.main()
