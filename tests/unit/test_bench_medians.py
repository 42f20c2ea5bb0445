# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-medians prints medians of what was measured, and fails when a floor is missed."""

import json
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench-medians"


def items(share, ratio=1.5):
    return {"loads": [], "items": {"rate_share": share, "others_p99_ratio": ratio,
                                   "others_p99_recall_ratio": 1.25}}


class BenchMediansTest(unittest.TestCase):
    def medians(self, *lines, code=0):
        """The rows, by what they are."""
        with tempfile.TemporaryDirectory() as folder:
            measurements = pathlib.Path(folder) / "rounds.jsonl"
            measurements.write_text("".join(json.dumps(line) + "\n" for line in lines))
            done = subprocess.run([SCRIPT, "--check", measurements], capture_output=True, text=True,
                                  check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return {row[:40].rstrip(): row[40:].split() for row in done.stdout.splitlines()[1:]}

    def test_holds_the_rate_of_items_against_that_of_orders(self):
        rows = self.medians(items(0.59), items(0.6), items(0.7))
        self.assertEqual(rows["rate of items : of orders"], ["0.60", "0.59", "0.70", ">=", "0.6"])
        rows = self.medians(items(0.59), code=1)
        self.assertEqual(rows["rate of items : of orders"][-1], "MISSED")

    def test_holds_the_p99_of_other_orders_to_twice_what_it_was(self):
        rows = self.medians(items(0.7, ratio=2.1), code=1)
        self.assertEqual(rows["others' p99, items run : before"],
                         ["2.10", "2.10", "2.10", "<=", "2", "MISSED"])
        self.assertEqual(rows["others' p99, items undone : before"], ["1.2"] * 3)

    def test_prints_what_was_measured_with_orders_that_wait(self):
        restart = {"first_order_ms": [300, 500], "resident_mb": [30, 34]}
        takeover = {"session_ms": 2000, "decision_ms": [2100]}
        rows = self.medians({"restart_await": restart, "takeover_await": takeover})
        self.assertEqual(rows, {
            "ms, started again, in an Await": ["400.0", "300.0", "500.0"],
            "MB, started again, in an Await": ["32.0", "30.0", "34.0"],
            "ms beyond, first Decision, in an Await": ["100.0"] * 3})
