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
# Four children, each of which is replaced as soon as it ends.
REPLACES_CHILDREN = """
import subprocess, sys, threading
def replace():
    while True:
        subprocess.run(["sleep", "60"])
for _ in range(4):
    threading.Thread(target=replace).start()
"""


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

    def test_ends_a_process_that_replaces_its_children(self):
        process = self.start("setsid", sys.executable, "-S", "-E", "-c", REPLACES_CHILDREN)
        members = f"pgrep -s {process.pid} -x sleep --runstates DRST"  # not what only ended
        found = run(f'enough() {{ [ "$({members} | wc -l)" = 4 ]; }}; wait_until 60 enough')
        self.assertEqual(found.returncode, 0)
        self.assertEqual(run('end_tree "$1"', str(process.pid)).returncode, 0)
        process.wait(60)
        done = run(f"none() {{ ! {members}; }}; wait_until 5 none || {{ pkill -s {process.pid}; "
                   "exit 1; }")
        self.assertEqual(done.returncode, 0, f"processes are left: {done.stdout}")


if __name__ == "__main__":
    unittest.main()
