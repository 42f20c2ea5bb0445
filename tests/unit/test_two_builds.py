#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Equal order, command and time give equal Decisions in two builds (I31): the random histories of
one seed have the same digest in the build of gcc and in that of clang."""

# TIMEOUT_SECONDS = 600

import os
import pathlib
import random
import re
import subprocess
import unittest

BUILDS = [os.environ.get(name) for name in ("REEVE_BUILD_DIR", "REEVE_OTHER_BUILD_DIR")]
DIGEST = re.compile(r"^digest of [1-9]\d* decisions: [0-9a-f]{16}$", re.M)
CASES = {"engine": 4000, "trees": 200}  # a quarter of them runs


@unittest.skipUnless(all(BUILDS), "REEVE_OTHER_BUILD_DIR names no second build: scripts/test unit "
                                  "makes one")
class TwoBuilds(unittest.TestCase):
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

    def check(self, name):
        seed = int(os.environ.get("REEVE_SEED") or random.getrandbits(63))
        digests = [self.digest(build, name, seed, CASES[name]) for build in BUILDS]
        first = None
        for case in range(CASES[name] // 4 if digests[0] != digests[1] else 0):
            first = seed + case
            if len({self.digest(build, name, first, 1) for build in BUILDS}) > 1:
                break
        self.assertEqual(digests[0], digests[1],
                         f"first with REEVE_SEED={first} REEVE_PROPERTY_CASES=1")

    def test_decides_random_histories_alike(self):
        self.check("engine")

    def test_decides_random_trees_alike(self):
        self.check("trees")


if __name__ == "__main__":
    unittest.main()
