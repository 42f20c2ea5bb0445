# SPDX-License-Identifier: Apache-2.0
"""The commands of examples/clients/README.md: clients are generated from the descriptions of the
HTTP APIs, compiled, and submit orders with a token."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from lib.dev import Dev
from lib.paths import ROOT

CLIENTS = ROOT / "examples/clients"
CACHE = pathlib.Path(os.environ.get("REEVE_CACHE", pathlib.Path.home() / ".cache/reeve"))
TIMEOUT_SECONDS = 300


def commands_of(language):
    """Those of its section, after the change of folder and the installation (scripts/setup)."""
    text = (CLIENTS / "README.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {language}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    lines = re.findall(r"^    \$ (.*)$", section, re.M)
    return [line for line in lines if not re.match(r"cd |pip install|npm ci", line)]


class GeneratedClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        viewer = "reeve_viewer-canary"
        cls.dev = Dev(folder.name, "--set", f"submission.console.token={viewer}")
        cls.addClassCleanup(cls.dev.stop)
        shutil.copytree(CLIENTS, cls.folder / "examples/clients")
        shutil.copytree(ROOT / "docs/reference/openapi", cls.folder / "docs/reference/openapi")

    def run_command(self, language, words, check=True):
        bin_folder = CACHE / "openapi-python-client/bin"
        done = subprocess.run(
            words, cwd=self.folder / "examples/clients" / language, capture_output=True, text=True,
            timeout=120, check=False,
            env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}",
                 "REEVE_SUBMITTER_TOKEN": self.token,
                 "REEVE_VIEWER_TOKEN": self.dev.tokens["viewer"]})
        if check:
            self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def program(self, line):
        """The command as it is for this installation."""
        words = shlex.split(line)
        urls = iter(f"http://127.0.0.1:{self.dev.port(name)}" for name in ("submission", "console"))
        return [next(urls) if word.startswith("http:") else word for word in words]

    def check_client(self, language, order):
        folder = language.lower()
        self.token = self.dev.tokens["submitter"]
        *builds, last = commands_of(language)
        for line in builds:
            self.run_command(folder, shlex.split(line))
        words = self.program(last)
        self.assertEqual(words[-2:], ["three-steps", order])
        done = self.run_command(folder, words)
        self.assertRegex(done.stdout, rf"^{order} Processed First Second Third\n"
                                      r"\d+ orders of three-steps\n$")
        done = self.run_command(folder, [*words[:-2], "nope", f"{order}-refused"], check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('workflow "nope" does not exist', done.stderr)
        self.token = "wrong"
        done = self.run_command(folder, words, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"{order} is refused: .*token")

    def test_python(self):
        self.check_client("Python", "py-1")

    def test_typescript(self):
        modules = self.folder / "examples/clients/typescript/node_modules"
        modules.symlink_to(CACHE / "clients/node_modules")
        self.check_client("TypeScript", "ts-1")


if __name__ == "__main__":
    unittest.main()
