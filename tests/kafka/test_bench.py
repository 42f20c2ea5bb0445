# SPDX-License-Identifier: Apache-2.0
"""`reeve bench` measures something and leaves nothing behind. How fast it is: scripts/bench."""

import json
import os
import subprocess
import unittest

from confluent_kafka.admin import AdminClient
from lib import Broker, paths, wait_for

TIMEOUT_SECONDS = 600


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.folder = paths.new_folder("bench")

    def bench(self, *arguments):
        return subprocess.run(
            [str(paths.reeve_binary()), "bench", "--kafka-bootstrap-servers",
             self.broker.bootstrap, "--partitions", "2", *arguments],
            capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, "TMPDIR": str(self.folder)})

    def produce_requests(self, measured):
        return sum(process.get("produce_requests_per_order", 0)
                   for process in measured["processes"])

    def assert_has_counted_requests(self, load):
        for process in load["processes"]:
            self.assertGreater(process["wakeups_per_order"], 0, process)
            if process["name"] == "broker":
                self.assertNotIn("produce_requests_per_order", process)
            else:
                self.assertGreater(process["fetch_requests_per_order"], 0, process)
        # 16 records each, and none of them in two requests.
        self.assertGreater(self.produce_requests(load), 0)
        self.assertLess(self.produce_requests(load), 17)

    def assert_has_raw(self, measured):
        raw = measured["raw"]
        self.assertEqual(raw["orders"], measured["orders"])
        self.assertEqual(raw["in_flight"], measured["in_flight"])
        self.assertGreater(raw["p50_ms"], 0)
        self.assertEqual([process["name"] for process in raw["processes"]],
                         ["raw chain (this process)", "broker"])
        self.assertIn("raw_share_of_cpu", measured)

    def left_behind(self):
        topics = AdminClient({"bootstrap.servers": self.broker.bootstrap}).list_topics(timeout=10)
        return [name for name in topics.topics if name.startswith("bench-")]

    def test_measures_all_parts_and_cleans_up(self):
        done = self.bench("--orders", "300", "--in-flight", "50", "--in-flight", "100",
                          "--alone", "5", "--warm-up", "20", "--fold", "--open", "200",
                          "--kafka-dir", self.broker.folder, "--raw", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([load["in_flight"] for load in found["loads"]], [50, 100])
        for load in found["loads"]:
            self.assertEqual(load["orders"], 300)
            self.assertEqual(
                load["records"],
                {"submissions": 300, "commands": 1200, "events": 1200, "requests.noop": 900,
                 "replies.bench": 1200, "alerts": 0, "dead-letters": 0})
            self.assert_has_counted_requests(load)
            self.assert_has_raw(load)
        self.assertEqual(found["alone"]["orders"], 5)
        self.assert_has_raw(found["alone"])
        # Nothing is batched: each record of an order is a request of its own.
        self.assertGreaterEqual(self.produce_requests(found["alone"]), 16)
        self.assertLessEqual(found["alone"]["p50_ms"], found["alone"]["max_ms"])
        # Every order four Decisions, those of the warm-ups too, and two Claims.
        records = 4 * (2 * (20 + 300) + 50 + 5) + 2
        self.assertEqual(found["fold"]["scheduler"]["records"], records)
        self.assertEqual(found["fold"]["supervisor"]["records"], records)
        self.assertEqual(found["open"]["orders"], 200)
        # One Decision for each of them, and two Claims.
        self.assertEqual(found["fold"]["open_orders"]["records"], 202)
        names = [process["name"] for process in found["open"]["processes"]]
        self.assertEqual(names, ["submission", "scheduler-1", "supervisor-1", "agent",
                                 "load (this process)", "broker"])
        self.assertTrue(all(process["rss_bytes"] > 0 for process in found["open"]["processes"]))
        self.assert_has_stores(found["open"])
        wait_for("the deletion of its topics", lambda: not self.left_behind())
        self.assertEqual(os.listdir(self.folder), [])

    def assert_has_stores(self, measured):
        stored = {process["name"]: process.get("stored_bytes", 0)
                  for process in measured["processes"]}
        self.assertGreater(stored["scheduler-1"], 0, stored)
        self.assertGreater(stored["supervisor-1"], 0, stored)
        self.assertEqual(stored.get("broker", 0), 0)

    def test_measures_orders_that_wait(self):
        done = self.bench("--orders", "0", "--alone", "0", "--waiting", "150", "--awaiting", "100",
                          "--fan-outs", "1", "--fold", "--open", "0", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertNotIn("open", found)
        self.assertEqual(found["waiting"]["orders"], 150)
        self.assertEqual(found["fold"]["waiting_orders"]["records"], 152)
        self.assertEqual(found["awaiting"]["orders"], 100)
        self.assertEqual(found["fold"]["awaiting_orders"]["records"], 102)
        # Of the order and its items one Decision each.
        self.assertEqual(found["fan_outs"]["orders"], 1)
        self.assertEqual(found["fold"]["fan_outs"]["records"], 1003)
        for name in "waiting", "awaiting", "fan_outs":
            self.assert_has_stores(found[name])

    def test_measures_each_tenth_as_the_log_grows(self):
        done = self.bench("--grow", "205", "--in-flight", "20", "--fold", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["loads"], [])
        self.assertNotIn("alone", found)
        self.assertNotIn("open", found)
        rows = found["grow"]
        self.assertEqual([row["orders"] for row in rows], [21] * 5 + [20] * 5)
        finished = [sum(row["orders"] for row in rows[:i + 1]) for i in range(10)]
        self.assertEqual([row["finished"] for row in rows], finished)
        for row in rows:
            self.assertEqual(row["in_flight"], 20)
            self.assertGreater(row["orders_per_second"], 0)
            self.assertTrue(all(process["rss_bytes"] > 0 for process in row["processes"]))
            # Every order so far has four Decisions; and there are two Claims.
            self.assertEqual(row["fold"]["records"], 4 * row["finished"] + 2)
        self.assertEqual(found["fold"]["scheduler"]["records"], 4 * 205 + 2)

    def test_compares_orders_that_decide_in_turns(self):
        done = self.bench("--decide", "135", "--in-flight", "20", "--warm-up", "10", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["loads"], [])
        self.assertNotIn("alone", found)
        found = found["decide"]
        self.assertEqual(len(found["turns"]), 7)
        for turn in found["turns"]:
            for workflow in "plain", "deciding":
                self.assertEqual(turn[workflow]["orders"], 20)
                # No step was skipped, and none takes another command.
                self.assertEqual(turn[workflow]["records"]["requests.noop"], 60)
                self.assertEqual(turn[workflow]["records"]["events"], 80)
        self.assertGreater(found["rate_share"], 0)
        self.assertGreater(found["plain_per_second"], 0)
        self.assertGreater(found["deciding_per_second"], 0)

    def test_compares_an_order_of_many_items_with_as_many_orders(self):
        done = self.bench("--orders", "0", "--alone", "0", "--warm-up", "20", "--items", "12",
                          "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)["items"]
        self.assertEqual(found["items"], 12)
        self.assertEqual(len(found["turns"]), 7)
        for turn in found["turns"]:
            self.assertEqual(turn["separate"]["orders"], 12)
            self.assertGreater(turn["one_order_ms"], 0)
            self.assertEqual(turn["others_before"]["orders"], 1000)
            self.assertGreater(turn["others_during"]["orders"], 0)
            self.assertGreater(turn["others_during_recall"]["orders"], 0)
            self.assertGreater(turn["undone_ms"], 0)
        self.assertGreater(found["rate_share"], 0)
        self.assertGreater(found["others_p99_ratio"], 0)
        self.assertGreater(found["others_p99_recall_ratio"], 0)

    def test_measures_how_late_timers_are(self):
        done = self.bench("--orders", "0", "--alone", "0", "--warm-up", "20", "--timers", "100",
                          "--bursts", "2", "--others-per-second", "40", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        timers = json.loads(done.stdout)["timers"]
        self.assert_measured_timers(timers, 100)
        # Ten seconds of them, however long each of them takes.
        self.assertEqual(timers["others_before"]["orders"], 400)
        self.assertGreaterEqual(timers["others_before"]["seconds"], 9.9)
        self.assertEqual([burst["burst"]["orders"] for burst in timers["bursts"]], [10, 10])
        for figure in "seconds", "p50_ms", "p99_ms": # of two, the lower
            self.assertEqual(timers["burst"][figure],
                             min(burst["burst"][figure] for burst in timers["bursts"]))
        wait_for("the deletion of its topics", lambda: not self.left_behind())
        self.assertEqual(os.listdir(self.folder), [])

    def test_measures_how_late_waits_end(self):
        done = self.bench("--orders", "0", "--alone", "0", "--warm-up", "20", "--wait-timers",
                          "30", "--others-per-second", "20", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertNotIn("timers", found)
        self.assert_measured_timers(found["wait_timers"], 30)

    def assert_measured_timers(self, timers, orders):
        self.assertEqual(timers["waiting"]["orders"], orders)
        self.assertEqual(timers["late"]["orders"], orders)
        self.assertGreaterEqual(timers["late"]["p50_ms"], 0)
        self.assertEqual(timers["burst"]["orders"], orders / 10)
        self.assertGreaterEqual(timers["burst"]["p50_ms"], 0)
        self.assertGreaterEqual(timers["burst"]["seconds"], timers["burst_due_seconds"])
        self.assertGreater(timers["others_during"]["orders"], 0)

