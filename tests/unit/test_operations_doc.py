#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operate/running.md shows the table of `reeve config --docs`, and metrics that exist.

    REEVE_BUILD_DIR=build/gcc python3 tests/unit/test_operations_doc.py --write
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
PAGE = ROOT / "docs" / "operate" / "running.md"
BLOCK = re.compile(r"<!-- config -->\n.*?<!-- end -->", re.DOTALL)


def made(page):
    table = subprocess.run([REEVE, "config", "--docs"], capture_output=True, text=True, check=True,
                           timeout=60).stdout
    return BLOCK.sub(lambda _: f"<!-- config -->\n{table}<!-- end -->", page)


class OperationsDocTest(unittest.TestCase):
    def setUp(self):
        self.page = PAGE.read_text(encoding="utf-8")

    def test_configuration_is_that_of_the_program(self):
        self.assertEqual(self.page, made(self.page), "run this file with --write")

    def test_metrics_are_those_of_the_sources(self):
        named = set()
        for folder in ("platform", "kafka", "replica", "leader", "services"):
            for path in (ROOT / folder).rglob("*.c"):
                named |= set(re.findall(r'"(reeve_[a-z_]+)"', path.read_text(encoding="utf-8")))
        told = set(re.findall(r"`(reeve_[a-z_]+)", self.page)) - {"reeve_process_"}
        self.assertEqual(sorted(told - named), [], "in the page only")
        missing = {name for name in named - told if not name.startswith("reeve_process_")}
        self.assertEqual(sorted(missing), [], "in the sources only")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
