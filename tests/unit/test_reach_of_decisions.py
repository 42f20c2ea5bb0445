#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks that folds and the emitter never decide or evaluate (I30) notice an object that does:
copies of the build in which one object also calls a function that it must not reach."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc").resolve()
CHECKS = ("only_decisions_evaluate", "folds_and_the_emitter_reach_no_decision")


OBJECTS = "*/**/CMakeFiles/reeve-*.dir/**/*.c.o"


def object_of(source):
    def is_of(path):
        folder, _, below = str(path.relative_to(BUILD)).partition("/CMakeFiles/")
        return f"{folder}/{below.partition('/')[2]}" == f"{source}.o"

    (found,) = filter(is_of, BUILD.glob(OBJECTS))
    return found


def function_of(source):
    """One that the file defines for others."""
    listing = subprocess.run(["nm", object_of(source)], capture_output=True, text=True,
                             check=True).stdout
    return re.search(r"^\S+ T (\w+)$", listing, re.M)[1]


class ReachTest(unittest.TestCase):
    def check(self, caller=None, callee=None):
        """What the checks say of the build, if the file `caller` also calls a function of
        `callee`."""
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            for path in BUILD.glob(OBJECTS):
                link = copy / path.relative_to(BUILD)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
            if caller is not None:
                self.plant(copy, object_of(caller), function_of(callee))
            done = subprocess.run(
                [sys.executable, ROOT / "tests/arch/check.py", "--build", copy, *CHECKS],
                capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def plant(self, copy, path, function):
        source, call = copy / "call.c", copy / "call.o"
        source.write_text(f"void {function}(void);\nvoid planted(void);\n"
                          f"void planted(void)\n{{\n    {function}();\n}}\n", encoding="utf-8")
        subprocess.run(["cc", "-c", source, "-o", call], check=True)
        link = copy / path.relative_to(BUILD)
        link.unlink()
        subprocess.run(["ld", "-r", path, call, "-o", link], check=True)

    def test_the_build_is_clean(self):
        code, told = self.check()
        self.assertEqual(code, 0, told)

    def test_a_fold_that_evaluates_is_noticed(self):
        code, told = self.check("engine/apply_step.c", "engine/expression/evaluate.c")
        self.assertEqual(code, 1, told)
        self.assertRegex(told, r"engine/apply_step\.c: \w+\(\) belongs to decisions: take its")
        self.assertRegex(told, r"engine/apply_step\.c gets there")

    def test_an_emitter_that_decides_is_noticed(self):
        code, told = self.check("services/scheduler/emitter/emitter.c", "engine/decide.c")
        self.assertEqual(code, 1, told)
        self.assertRegex(told, r"emitter/emitter\.c gets there")

    def test_a_decision_behind_another_file_is_noticed(self):
        """The fold calls the file that calls it."""
        code, told = self.check("engine/order.c", "engine/decide.c")
        self.assertEqual(code, 1, told)
        self.assertRegex(told, r"(?m)^engine/order\.c.*belongs to decisions, and \S+ gets there")


if __name__ == "__main__":
    unittest.main()
