# SPDX-License-Identifier: Apache-2.0
"""Executes docs/tour.md: every command, in one shell and in order, prints what the page shows.

Numbers, times and instance ids may differ, and so may the order of lines; a line "..." on the page
stands for any others. The page's ports are replaced by free ones, and its commands that build reeve
are left out: the test runs the build under test."""

import os
import shutil
import subprocess
import unittest

from lib import paths
from lib.pages import Shell, commands_of

OWN_BROKERS = True
TIMEOUT_SECONDS = 300

PAGE = paths.ROOT / "docs" / "tour.md"
LEFT_OUT = ("scripts/setup", "cmake ", "export PATH=")


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
        self.shell = Shell(["bash", "--norc"], cwd=self.folder, env={
            **os.environ, "PATH": f"{paths.reeve_binary().parent}:{os.environ['PATH']}",
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

    def test_every_command_of_the_tour_prints_what_the_page_shows(self):
        commands = commands_of(PAGE.read_text(encoding="utf-8"), LEFT_OUT)
        self.assertGreater(len(commands), 15)
        for command in commands:
            with self.subTest(line=command.line, command=command.text):
                self.shell.run_as_shown(self, command, self.with_free_ports(command.text))
        # The page's last command stops everything that it started.
        _, jobs = self.shell.run("wait; jobs >/dev/null; jobs -p")
        self.assertEqual(jobs, [])


if __name__ == "__main__":
    unittest.main()
