# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts/lib.sh that the other scripts rely on, and how scripts/released finds a
release."""

import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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


class KafkaTest(unittest.TestCase):
    """The archive of classes, without a broker: a folder of jars, and a program in its place."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.jars = self.folder / "jars"
        (self.jars / "libs").mkdir(parents=True)
        (self.jars / "libs" / "a.jar").write_text("a", encoding="utf-8")
        libs = self.folder / "java" / "lib" / "server"
        libs.mkdir(parents=True)
        (libs / "libjvm.so").touch()
        java = self.folder / "java" / "bin" / "java"
        java.parent.mkdir()
        java.touch(0o755)
        self.environment = {**os.environ, "PATH": f"{java.parent}:{os.environ['PATH']}"}

    def start(self, script):
        process = subprocess.Popen(
            ["bash", "-c", f". {ROOT}/scripts/kafka; version=1 jars={self.jars} "
                           f"self={self.folder}/self; {script}"],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_kafka(self, script):
        out, err = self.start(script).communicate(timeout=60)
        return out.strip(), err.strip()

    def broker(self, start):
        """A program that notes what it is asked for."""
        program = self.folder / "self"
        program.write_text(f"#!/bin/bash\necho $1 >>{self.folder}/asked\n"
                           f"[ $1 != start ] || {{ {start}; }}\n", encoding="utf-8")
        program.chmod(0o755)

    def asked(self):
        file = self.folder / "asked"
        return file.read_text(encoding="utf-8").split() if file.exists() else []

    def test_makes_another_archive_for_other_jars(self):
        name, _ = self.run_kafka("archive_name")
        self.assertEqual(self.run_kafka("archive_name")[0], name)
        os.utime(self.jars / "libs" / "a.jar", (1, 1))
        self.assertNotEqual(self.run_kafka("archive_name")[0], name)
        (self.jars / "classes-old.jsa").touch()
        self.broker('echo classes >"$REEVE_KAFKA_RECORD"')
        archive, _ = self.run_kafka('make_archive; echo "$archive"')
        self.assertEqual([str(path) for path in self.jars.glob("classes-*")], [archive])
        self.assertEqual(self.asked(), ["start", "stop", "stop"])

    def test_stops_the_broker_when_it_is_ended(self):
        self.broker("sleep 60")
        process = self.start('make_archive; echo "$archive"')
        deadline = time.monotonic() + 30
        while self.asked() != ["start"] and time.monotonic() < deadline:
            select.select([], [], [], 0.02)
        # Not SIGINT: where tests run in the background it is ignored, and cannot be trapped.
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(self.asked(), ["start", "stop"])
        self.assertEqual(list(self.jars.glob("classes-*")), [])

    def test_says_where_jars_cannot_be_kept(self):
        self.environment["REEVE_CACHE"] = str(self.jars / "libs" / "a.jar")
        _, err = self.run_kafka("fetch_jars")
        self.assertIn("cannot write to", err)
        self.assertIn("set REEVE_CACHE to another folder", err)


class ReleasedTest(unittest.TestCase):
    """In a repository of its own, whose releases are built already."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scripts = self.folder / "tree" / "scripts"
        self.scripts.mkdir(parents=True)
        for name in ("released", "lib.sh"):
            shutil.copy(ROOT / "scripts" / name, self.scripts)
        self.git("init", "-q")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-C", self.scripts.parent, "-c", "user.name=t", "-c", "user.email=t@localhost",
             "-c", "commit.gpgSign=false", *arguments],
            capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.strip()

    def commit(self, *message):
        self.git("commit", "-q", "--allow-empty", *(f"-m{part}" for part in message))
        commit = self.git("rev-parse", "HEAD")
        built = self.folder / "cache" / "released" / commit
        built.mkdir(parents=True)
        (built / "is-built").touch()
        return f"{built}/build/bin\n"

    def released(self, *arguments):
        done = subprocess.run([self.scripts / "released", *arguments], capture_output=True,
                              text=True, check=False, timeout=60,
                              env={**os.environ, "REEVE_CACHE": str(self.folder / "cache")})
        return done.returncode, done.stdout

    def test_finds_a_release_by_its_commit_where_there_are_no_tags(self):
        self.commit("engine: begin")
        self.assertEqual(self.released(), (3, ""))
        self.commit("release: 0.1.0")
        newest = self.commit("release: 0.1.1")
        self.commit("docs: say what `release: X.Y.Z` means", "release: 0.1.2")
        self.commit("release: 0.2.0, almost")
        self.assertEqual(self.released(), (0, newest))

    def test_prefers_a_tag(self):
        tagged = self.commit("packaging: fix a name")
        self.git("tag", "-a", "v0.1.0", "-m", "reeve 0.1.0")
        last = self.commit("release: 0.1.0")
        self.assertEqual(self.released(), (0, tagged))
        self.assertEqual(self.released("HEAD"), (0, last))
        self.assertEqual(self.released("v9"), (1, ""))


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
