# SPDX-License-Identifier: Apache-2.0
"""Executes docs/tour.md: every command, in one shell and in order, prints what the page shows.

Numbers, times and instance ids may differ, and so may the order of lines; a line "..." on the page
stands for any others. The page's ports are replaced by free ones, and its commands that build reeve
are left out: the test runs the build under test."""

import collections
import os
import re
import shutil
import subprocess
import unittest

from lib import paths, wait_for

OWN_BROKERS = True
TIMEOUT_SECONDS = 300

PAGE = paths.ROOT / "docs" / "tour.md"
LEFT_OUT = ("scripts/setup", "cmake ", "export PATH=")
# Commands that only read, whose output may take a moment to show what happened before.
READ_ONLY = re.compile(r"reeve (orders|alerts|owners|agents)\b")
READ_SECONDS = 30

Command = collections.namedtuple("Command", "line text output")  # line: its number on the page


def commands_of(page):
    """The commands of the page: those of ```sh blocks, and `    $ ` lines with their output."""
    found, lines, at = [], page.split("\n"), 0
    while at < len(lines):
        if lines[at] == "```sh":
            end = lines.index("```", at)
            block = [line for line in lines[at + 1:end] if not line.startswith(LEFT_OUT)]
            found.append(Command(at + 1, "\n".join(block), None))
            at = end
        elif lines[at].startswith("    $ "):
            output = []
            for line in lines[at + 1:]:
                if line.startswith("    $ ") or (line and not line.startswith("    ")):
                    break
                output.append(line[4:])
            found.append(Command(at + 1, lines[at][6:], output))
        at += 1
    return found


def normal(line):
    """A line without what differs between two runs."""
    line = re.sub(r"\b[\w.-]*-\d+-[0-9a-f]{8}\b", "INSTANCE", line)
    line = re.sub(r"\d+(ms|s|m|h)\b", "AGE", line)
    return re.sub(r"\s+", " ", re.sub(r"\d+", "#", line)).strip()


def missing(expected, printed):
    """The expected lines that were not printed, and the printed ones that were not expected."""
    wanted = collections.Counter(normal(line) for line in expected if line.strip() != "...")
    found = collections.Counter(normal(line) for line in printed)
    lines = list((wanted - found).elements())
    if not any(line.strip() == "..." for line in expected):
        lines += list((found - wanted).elements())
    return [line for line in lines if line]


class Shell:
    """One bash that runs command after command; background processes stay its jobs."""

    END = "=== end of the command, exit code "

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1, env={**os.environ, **environment})

    def run(self, text):
        """(exit code, printed lines)"""
        self.process.stdin.write(f'{text}\necho; echo "{self.END}$?"\n')
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if line.startswith(self.END):
                # Drop the empty line of the marker; a command may end without a newline.
                if printed and printed[-1] == "":
                    printed.pop()
                return int(line[len(self.END):]), printed
            printed.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended at: {text}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class TourTest(unittest.TestCase):
    def setUp(self):
        self.folder = paths.new_folder("tour")
        for name in ("examples", "scripts"):
            shutil.copytree(paths.ROOT / name, self.folder / name)
        (self.folder / "build" / "tour").mkdir(parents=True)
        ports = subprocess.run(
            ["bash", "-c", f". {paths.ROOT}/scripts/lib.sh; free_ports 2"], capture_output=True,
            text=True, check=True).stdout.split()
        self.ports = dict(zip(("8080", "8090"), ports))
        # The CLI looks for the console at its default port, which is not free here.
        self.shell = Shell(self.folder, {
            "PATH": f"{paths.reeve_binary().parent}:{os.environ['PATH']}",
            "REEVE_CONSOLE_URL": f"http://127.0.0.1:{self.ports['8080']}"})
        self.addCleanup(self.stop)

    def stop(self):
        """Whatever the test was doing: the tour's own last command, and the end of its shell."""
        self.shell.run("kill $(jobs -p) 2>/dev/null; wait; "
                       "scripts/kafka stop --dir build/tour/kafka --now --delete 2>/dev/null")
        self.shell.close()

    def with_free_ports(self, text):
        for port, free in self.ports.items():
            text = text.replace(f":{port}", f":{free}").replace(f"--http-port {port}",
                                                                f"--http-port {free}")
        return text.replace("shop.py ", f"shop.py --port {self.ports['8090']} ")

    def run_until_shown(self, command):
        """Runs a command; one that only reads, until it prints what the page shows."""
        shown = []

        def is_shown():
            code, shown[:] = self.shell.run(self.with_free_ports(command.text))
            self.assertEqual(code, 0, shown)
            self.assertEqual(missing(command.output, shown), [], "\n" + "\n".join(shown))
            return True

        if READ_ONLY.search(command.text):
            wait_for(f"line {command.line}: {command.text}", is_shown, READ_SECONDS, 0.2)
        else:
            is_shown()
        return shown

    def test_every_command_of_the_tour_prints_what_the_page_shows(self):
        commands = commands_of(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(commands), 15)
        for command in commands:
            with self.subTest(line=command.line, command=command.text):
                if command.output is None:
                    code, printed = self.shell.run(self.with_free_ports(command.text))
                    self.assertEqual(code, 0, printed)
                else:
                    self.run_until_shown(command)
        # The page's last command stops everything that it started.
        _, jobs = self.shell.run("wait; jobs >/dev/null; jobs -p")
        self.assertEqual(jobs, [])


if __name__ == "__main__":
    unittest.main()
