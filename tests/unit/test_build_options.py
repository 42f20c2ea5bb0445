#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The build takes a packager's flags as they are: reeve's own hardening gives way to them, and a
warning of another compiler does not stop the build unless REEVE_WERROR is set."""

# TIMEOUT_SECONDS = 600

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
SOURCE = ROOT / "base" / "percent.c"
PRESETS_WITH_ERRORS = ["dev", "asan-ubsan", "tsan", "fuzz", "fuzz-memory"]


class BuildOptions(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("REEVE_TEST_DIR")))
        self.addCleanup(shutil.rmtree, self.folder)

    def command(self, cflags, *options):
        """How a release build with these CFLAGS compiles SOURCE."""
        env = dict(os.environ, CFLAGS=cflags)
        done = subprocess.run(
            ["cmake", "-S", ROOT, "-B", self.folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=gcc",
             "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DREEVE_TESTS=OFF", "-DREEVE_CCACHE=OFF",
             *options], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        return next(shlex.split(entry["command"]) for entry in commands
                    if entry["file"] == str(SOURCE))

    def compile(self, command, *more):
        """What compiling SOURCE prints."""
        done = subprocess.run([*command, *more], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_hardens_a_release_by_itself(self):
        command = self.command("")
        self.assertIn("-D_FORTIFY_SOURCE=2", command)
        self.assertIn("-fstack-protector-strong", command)
        self.assertIn("-fstack-clash-protection", command)
        self.assertEqual(self.compile(command), "")

    def test_gives_way_to_the_hardening_of_the_builder(self):
        command = self.command("-O2 -D_FORTIFY_SOURCE=3 -fstack-protector-all "
                               "-fno-stack-clash-protection -Wall -Werror")
        self.assertEqual([word for word in command if "FORTIFY" in word], ["-D_FORTIFY_SOURCE=3"])
        self.assertEqual([word for word in command if "-protect" in word],
                         ["-fstack-protector-all", "-fno-stack-clash-protection"])
        self.assertEqual(self.compile(command), "")

    def test_gives_way_to_the_hardening_of_the_compiler(self):
        """Some distributions' compilers define it themselves; here a file does that for them."""
        (self.folder / "builtin.h").write_text("#define _FORTIFY_SOURCE 3\n")
        command = self.command(f"-include {self.folder / 'builtin.h'}")
        self.assertEqual([word for word in command if "FORTIFY" in word], [])
        self.assertEqual(self.compile(command), "")

    def test_makes_errors_of_warnings_only_when_told_to(self):
        self.assertNotIn("-Werror", self.command(""))
        self.assertIn("-Werror", self.command("", "-DREEVE_WERROR=ON"))

    def test_makes_errors_of_warnings_where_the_project_tests_itself(self):
        presets = {preset["name"]: preset for preset in
                   json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}

        def variables(name):
            preset = presets[name]
            inherited = variables(preset["inherits"]) if "inherits" in preset else {}
            return inherited | preset.get("cacheVariables", {})

        on = sorted(name for name in presets if variables(name).get("REEVE_WERROR") == "ON")
        self.assertEqual(on, sorted(PRESETS_WITH_ERRORS))
        self.assertIn("-DREEVE_WERROR=ON", (ROOT / "scripts" / "test").read_text())


if __name__ == "__main__":
    unittest.main()
