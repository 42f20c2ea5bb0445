# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-peers without a peer: its arguments, the figures that it makes of what load
programs print, its programs' syntax, and that the page of figures names what exists."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
SCRIPT = ROOT / "scripts" / "bench-peers"
PROGRAMS = ROOT / "tools" / "peers"
PAGE = ROOT / "docs" / "design" / "peers.md"


def load_script():
    loader = importlib.machinery.SourceFileLoader("bench_peers", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_peers", loader))
    loader.exec_module(module)
    return module


peers = load_script()
import load  # noqa: E402 (of tools/peers, where the script has led)
import machine  # noqa: E402
import versions  # noqa: E402
from reeve import row_of  # noqa: E402

PINNED = {name: str(value) for name, value in vars(versions).items() if name.isupper()}


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)


class ArgumentsTest(unittest.TestCase):
    def test_help_names_all_peers_and_parts(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in (*peers.NAMES, *peers.PARTS):
            self.assertIn(word, done.stdout)

    def test_wrong_arguments_are_named(self):
        for arguments, what in ((["restate", "speed"], "part speed is unknown"),
                                (["restate", "--variant", "tuned"], "no variant tuned"),
                                (["restate", "--in-flight", "0"], "0 is not a number from 1"),
                                (["restate", "--seconds", "1h"], "1h is not a number from 1")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(what, done.stderr)

    def test_the_row_of_a_peer_that_cannot_be_had_says_why(self):
        done = run("zeebe")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| Zeebe, default | not measured: its broker ", done.stdout)


class LoadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "load.log"

    def load_of(self, *lines, then=""):
        """A load program that prints the lines when its input ends."""
        program = f"import sys; sys.stdin.read(); print({chr(10).join(lines)!r}); {then}"
        started = load.Load([sys.executable, "-c", program], self.log, {})
        self.addCleanup(started.program.stdout.close)
        return started

    def test_reads_runs_and_failures(self):
        started = self.load_of("1000 3000", "2000 -", "! UNAVAILABLE 7")
        self.assertGreater(started.stop(), 0)
        self.assertEqual((started.runs, started.unfinished, started.failures),
                         ([(1000, 3000)], [2000], {"UNAVAILABLE": 7}))

    def test_refuses_what_is_not_such_a_line(self):
        with self.assertRaisesRegex(machine.Failure, "printed 'a warning of some library'"):
            self.load_of("1000 3000", "a warning of some library").stop()

    def test_notices_a_program_that_failed(self):
        with self.assertRaisesRegex(machine.Failure, "ended with 3"):
            self.load_of("1000 3000", then="sys.exit(3)").stop()

    def test_counts_what_completed_in_the_interval(self):
        runs = [(0, 999_999)] + [(1_000_000, 1_000_000 + 1000 * i) for i in range(100)]
        found = load.figures(runs + [(0, 3_000_000)], 1_000_000, 3_000_000)
        self.assertEqual(found, {"per_second": 50, "p50_ms": 50, "p90_ms": 90, "p99_ms": 99})
        self.assertIsNone(load.figures(runs, 5_000_000, 6_000_000))

    def test_tells_old_runs_from_new_ones_after_a_crash(self):
        started = self.load_of("100 200",
                               "900000 1001000",  # its answer was on its way
                               "900000 3000000", "2000000 5000000", "900000 -", "2000000 -")
        started.stop()
        self.assertEqual(load.after_crash(started, 1_000_000),
                         {"first_s": 2.0, "new_s": 4.0, "completed": 2, "lost": 1})


class RoundsTest(unittest.TestCase):
    def rows_printed(self, count):
        """Those of a latency and a crash, measured that many times."""
        printed = []
        printer = types.SimpleNamespace(print=printed.append)
        rounds = peers.Rounds(count, printer)
        for number in range(count):
            cpu = {"server": number} if number else {"server": 0, "broker": 3}
            rounds.add({"engine": "x", "in_flight": 1, "p50_ms": 10 - number, "cpu_ms": cpu})
            rounds.add({"engine": "x", "crash": {"new_s": None if number == 1 else 5}})
        rounds.end()
        return printed

    def test_a_single_one_is_printed_as_it_is(self):
        self.assertEqual(self.rows_printed(1), [
            {"engine": "x", "in_flight": 1, "p50_ms": 10, "cpu_ms": {"server": 0, "broker": 3}},
            {"engine": "x", "crash": {"new_s": 5}}])

    def test_of_several_the_medians_are(self):
        self.assertEqual(self.rows_printed(3), [
            {"engine": "x", "in_flight": 1, "p50_ms": 9, "cpu_ms": {"server": 1, "broker": 0}},
            {"engine": "x", "crash": {"new_s": 5}}])

    def test_what_did_not_happen_ranks_last(self):
        self.assertIsNone(peers.median([None, 5, None]))


class TableTest(unittest.TestCase):
    def test_adds_up_the_processes_of_reeve(self):
        row = row_of({"orders_per_second": 10, "p50_ms": 1, "p90_ms": 2, "p99_ms": 3, "processes": [
            {"name": name, "cpu_us_per_order": 1000, "rss_bytes": 1 << 20}
            for name in ("submission-1", "scheduler-1", "supervisor-1", "agent-1", "broker",
                         "load generator")]})
        self.assertEqual(row["cpu_ms"], {"server": 3, "worker": 1, "broker": 1, "load": 1})
        self.assertEqual(row["rss_mb"]["server"], 3)

    def test_marks_what_others_have_disturbed(self):
        row = {"engine": "x", "in_flight": 1, "per_second": 1, "p50_ms": 1, "p90_ms": 1,
               "p99_ms": 1, "rss_mb": {}, "cpu_ms": {}}
        self.assertEqual(peers.cells({**row, "others": 0.15})[-1], "0.15")
        self.assertEqual(peers.cells({**row, "others": 0.16})[-1], "0.16 DISTURBED")
        self.assertEqual(len(peers.cells({**row, "others": 0})), len(peers.COLUMNS))

    def test_shows_a_crash_after_which_nothing_came_back(self):
        row = {"engine": "x", "crash": {"first_s": 1.0, "new_s": None, "completed": 2, "lost": 48}}
        self.assertEqual(peers.cells(row), ["x", "1.0", "-", "2", "48"])


class ProgramsTest(unittest.TestCase):
    def test_programs_parse(self):
        for path in PROGRAMS.glob("*.mjs"):
            done = subprocess.run(["node", "--check", path], capture_output=True, text=True,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        for path in PROGRAMS.glob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def test_versions_stand_in_one_place(self):
        for path in (SCRIPT, *PROGRAMS.iterdir()):
            if path.is_file() and path.name != "versions.py":
                text = path.read_text(encoding="utf-8")
                for name, value in PINNED.items():
                    if "." in value:
                        self.assertNotIn(value, text, f"{path.name} repeats {name}")


class PageTest(unittest.TestCase):
    def setUp(self):
        self.text = PAGE.read_text(encoding="utf-8")

    def test_has_the_versions_that_are_measured(self):
        for name, value in PINNED.items():
            self.assertRegex(self.text, rf"(?<![\d.]){re.escape(value)}(?![\d.]*\d)", name)

    def test_its_commands_are_understood(self):
        commands = re.findall(r"^    scripts/bench-peers (?!--help)(.*)$", self.text, re.M)
        self.assertGreater(len(commands), 3)
        for command in commands:
            peers.parse_arguments(shlex.split(command))

    def test_its_rows_are_of_engines_and_variants_that_exist(self):
        titles = {f"{engine.title}, {variant}" for engine in (*peers.PEERS.values(), peers.Reeve)
                  for variant in engine.variants}
        tables = re.findall(r"^\| engine, variant \|.*\n\|[-|]+\n((?:\|.*\n)+)", self.text, re.M)
        self.assertGreater(len(tables), 1)
        for row in "".join(tables).splitlines():
            self.assertIn(row.split("|")[1].strip(), titles)


if __name__ == "__main__":
    unittest.main()
