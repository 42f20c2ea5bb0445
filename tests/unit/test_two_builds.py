#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Equal order, command and time give equal Decisions in two builds (I31): the random histories of
one seed have the same digest in the build of gcc and in that of clang."""

# TIMEOUT_SECONDS = 600

import os
import pathlib
import random
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
BUILDS = [os.environ.get(name) for name in ("REEVE_BUILD_DIR", "REEVE_OTHER_BUILD_DIR")]
DIGEST = re.compile(r"^digest of [1-9]\d* decisions: [0-9a-f]{16}$", re.M)
CASES = {"engine": 4000, "trees": 200}  # a quarter of them runs


class Comparison(unittest.TestCase):
    def digest(self, build, name, seed, cases):
        """Of the first slice of its cases."""
        program = pathlib.Path(build) / "tests" / "property" / f"test-{name}-property"
        done = subprocess.run(
            [program, "--filter", "*/*slice_1"], capture_output=True, text=True, check=False,
            env={**os.environ, "REEVE_SEED": str(seed), "REEVE_PROPERTY_CASES": str(cases),
                 "REEVE_PROPERTY_DIGEST": "yes"})
        told = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, told)
        found = DIGEST.findall(told)
        self.assertEqual(len(found), 1, told)
        return found[0]

    def check(self, name, builds):
        seed = int(os.environ.get("REEVE_SEED") or random.getrandbits(63))
        digests = [self.digest(build, name, seed, CASES[name]) for build in builds]
        first = None
        for case in range(CASES[name] // 4 if digests[0] != digests[1] else 0):
            first = seed + case
            if len({self.digest(build, name, first, 1) for build in builds}) > 1:
                break
        self.assertEqual(digests[0], digests[1],
                         f"first with REEVE_SEED={first} REEVE_PROPERTY_CASES=1")


@unittest.skipUnless(all(BUILDS), "REEVE_OTHER_BUILD_DIR names no second build: scripts/test unit "
                                  "makes one")
class TwoBuilds(Comparison):
    def test_decides_random_histories_alike(self):
        self.check("engine", BUILDS)

    def test_decides_random_trees_alike(self):
        self.check("trees", BUILDS)


# A wait between two attempts that depends on the build.
PLANTED = ("engine/retry.c", "retry_jitter_ms(wait, salt)", "retry_jitter_ms(wait, salt + 1)")


@unittest.skipUnless(BUILDS[0], "REEVE_BUILD_DIR names no build")
class PlantedDifference(Comparison):
    """The comparison sees a build whose engine decides otherwise in one place."""

    def command_of(self, target):
        """With which ninja makes it."""
        return subprocess.run(["ninja", "-C", BUILDS[0], "-t", "commands", target], check=True,
                              capture_output=True, text=True).stdout.splitlines()[-1]

    def build_with_a_difference(self, folder):
        file, was, becomes = PLANTED
        text = (ROOT / file).read_text(encoding="utf-8")
        self.assertEqual(text.count(was), 1)
        source, made = folder / "planted.c", folder / "planted.o"
        source.write_text(text.replace(was, becomes), encoding="utf-8")
        compiled = f"engine/CMakeFiles/reeve-engine.dir/{pathlib.Path(file).name}.o"
        program = "tests/property/test-engine-property"
        (folder / program).parent.mkdir(parents=True)
        compile_it = self.command_of(compiled).replace(compiled, str(made)).replace(
            str(ROOT / file), str(source))
        # It is before the library that has the right one.
        link = self.command_of(program).replace(
            f"-o {program} ", f"-o {shlex.quote(str(folder / program))} {made} ")
        for command in compile_it, link:
            subprocess.run(command, shell=True, check=True, cwd=BUILDS[0])

    def test_is_noticed(self):
        with tempfile.TemporaryDirectory() as name:
            self.build_with_a_difference(pathlib.Path(name))
            with self.assertRaisesRegex(AssertionError, r"first with REEVE_SEED=\d+ "):
                self.check("engine", [BUILDS[0], name])


if __name__ == "__main__":
    unittest.main()
