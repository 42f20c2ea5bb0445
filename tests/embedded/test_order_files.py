# SPDX-License-Identifier: Apache-2.0
"""Files that hold no order: `reeve submit` and `reeve import` fail with one line that says why."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from lib.dev import REEVE, Dev

GARBAGE = bytes(range(256)) * 8


class OrderFilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.dev = Dev(cls.folder, asks=False)
        cls.addClassCleanup(cls.dev.stop)

    def refused(self, *arguments, code=65):
        done = subprocess.run(
            [REEVE, *arguments], text=True, capture_output=True, input="", timeout=120,
            env={**os.environ, "REEVE_CONFIG": str(self.dev.data / "client.properties")})
        self.assertEqual(done.returncode, code, done.stderr)
        (line,) = done.stderr.splitlines()
        return line

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def test_submit_says_that_there_is_no_order(self):
        for path in (self.file("empty.json", b""), self.file("list.json", b"[]\n")):
            self.assertEqual(self.refused("submit", path), f"reeve: {path} holds no order")
        self.assertEqual(self.refused("submit", "-"), "reeve: stdin holds no order")

    def test_import_says_that_there_is_no_order(self):
        csv = ["--map", "order_id=A", "--workflow", "three-steps"]
        empty, lines = self.file("empty.csv", b""), self.file("empty.jsonl", b"")
        self.assertEqual(self.refused("import", lines), f"reeve: {lines} holds no order")
        self.assertEqual(self.refused("import", empty, *csv), "reeve: the file is empty")

    def test_import_fails_if_every_order_is_rejected(self):
        path = self.file("garbage.jsonl", GARBAGE)
        self.assertEqual(self.refused("import", path),
                         f"reeve: {path} holds no order that can be imported")
        self.assertTrue(pathlib.Path(path + ".rejects.csv").exists())

    def test_a_directory_holds_no_orders(self):
        folder = str(self.folder)
        for arguments in (["submit", folder], ["import", folder, "--map", "order_id=A",
                                               "--workflow", "three-steps"]):
            self.assertEqual(self.refused(*arguments),
                             f"reeve: cannot read {folder}: Is a directory")


if __name__ == "__main__":
    unittest.main()
