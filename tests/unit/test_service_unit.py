# SPDX-License-Identifier: Apache-2.0
"""The systemd unit of docs/operate/install.md is one that systemd accepts as it is, and it leaves a
service little to do harm with."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
PAGE = ROOT / "docs" / "operate" / "install.md"
EXPOSURE_MAX = 2.0  # of 10; systemd calls a service without any restriction 9.6


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--no-pager", *arguments], capture_output=True,
                          text=True, check=False, timeout=60)


class ServiceUnitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.unit = pathlib.Path(folder.name) / "reeve-scheduler.service"
        found = re.findall(r"^```ini\n(\[Unit\]\n.*?)^```$", PAGE.read_text(encoding="utf-8"),
                           re.M | re.S)
        self.assertEqual(len(found), 1, "one unit on the page")
        # It is not installed here; anything else that can be executed stands for it.
        self.write(re.sub(r"^ExecStart=/usr/local/bin/reeve ", "ExecStart=/bin/true ", found[0],
                          flags=re.M))

    def write(self, text):
        self.unit.write_text(text, encoding="utf-8")

    def test_systemd_knows_every_line(self):
        done = analyze("verify", self.unit)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_systemd_finds_a_line_that_is_wrong(self):
        self.write(self.unit.read_text(encoding="utf-8").replace("ProtectClock=yes",
                                                                 "ProtectTime=yes"))
        self.assertIn("ProtectTime", analyze("verify", self.unit).stderr)

    def test_the_service_is_little_exposed(self):
        done = analyze("security", "--offline=true", self.unit)
        found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
        self.assertIsNotNone(found, done.stdout + done.stderr)
        self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX, done.stdout)


if __name__ == "__main__":
    unittest.main()
