# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts/lib.sh that the other scripts rely on."""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
WORDS = "executes itself"
EXECUTES_ITSELF = ("import os, sys; os.execv(sys.executable, [sys.executable, '-S', '-E', '-c', "
                   "sys.argv[1], *sys.argv[1:]])")
LOOKS = 1000


def run(script, *arguments):
    return subprocess.run(["bash", "-c", f". {ROOT}/scripts/lib.sh; {script}", "test", *arguments],
                          capture_output=True, text=True, check=False, timeout=120)


class ProcessTest(unittest.TestCase):
    def start(self, *command):
        process = subprocess.Popen(command)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_finds_a_process_that_executes_another_program(self):
        process = self.start(sys.executable, "-S", "-E", "-c", EXECUTES_ITSELF, EXECUTES_ITSELF,
                             WORDS)
        done = run('for _ in $(seq "$3"); do is_process "$1" "$2" || echo missed; done',
                   str(process.pid), WORDS, str(LOOKS))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_does_not_find_what_has_ended_or_is_another_program(self):
        process = self.start("sleep", "60")
        look = 'is_process "$1" "$2"'
        self.assertEqual(run(look, str(process.pid), "sleep").returncode, 0)
        self.assertEqual(run(look, str(process.pid), WORDS).returncode, 1)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
        self.assertEqual(run(look, str(process.pid), "sleep").returncode, 1)
        process.wait()
        self.assertEqual(run(look, str(process.pid), "sleep").returncode, 1)
        self.assertEqual(run(look, "", "sleep").returncode, 1)


if __name__ == "__main__":
    unittest.main()
