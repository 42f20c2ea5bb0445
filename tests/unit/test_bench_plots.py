# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-plots draws what the runs have figures for, and the same each time."""

import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.dom.minidom

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench-plots"


def measured(in_flight, rate):
    return {"in_flight": in_flight, "orders": 100, "orders_per_second": rate, "p50_ms": 1.5,
            "p90_ms": 2.5, "p99_ms": 4, "max_ms": 9}


def processes(rss):
    return [{"name": name, "rss_bytes": rss << 20} for name in ("scheduler-1", "broker")]


class BenchPlotsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def draw(self, *runs):
        """{name of a file: its text}."""
        measurements, out = self.folder / "runs.jsonl", self.folder / "out"
        measurements.write_text("".join(json.dumps(run) + "\n" for run in runs))
        done = subprocess.run([SCRIPT, "--out", out, measurements], capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        files = {path.name: path.read_text() for path in out.iterdir()}
        self.assertEqual(sorted(done.stdout.split()), sorted(str(out / name) for name in files))
        return files

    def test_draws_only_what_was_measured(self):
        files = self.draw({"loads": [measured(1000, 5000)]})
        self.assertEqual(sorted(files), ["bench-latency.svg", "bench-rate.svg"])
        self.assertNotIn("raw chain", files["bench-rate.svg"])
        self.assertIn("1,000 in flight", files["bench-latency.svg"])

    def test_draws_all_four_the_same_each_time(self):
        raw = {**measured(1000, 5000), "raw": measured(1000, 20000)}
        fold = {"seconds": 1.5}
        runs = [{"loads": [raw], "alone": measured(1, 100),
                 "grow": [{**measured(1000, 5000), "finished": 10, "fold": fold}],
                 "open": {"orders": orders, "processes": processes(orders)}}
                for orders in (10, 20)]
        files = self.draw(*runs)
        self.assertEqual(sorted(files), ["bench-age.svg", "bench-latency.svg", "bench-memory.svg",
                                         "bench-rate.svg"])
        for text in files.values():
            xml.dom.minidom.parseString(text)
        self.assertIn("raw chain", files["bench-rate.svg"])
        self.assertIn("scheduler-1", files["bench-memory.svg"])
        self.assertNotIn("broker", files["bench-memory.svg"])
        self.assertEqual(files, self.draw(*runs))


if __name__ == "__main__":
    unittest.main()
