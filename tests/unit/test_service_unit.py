# SPDX-License-Identifier: Apache-2.0
"""The units that an installation has are such that systemd accepts them as they are, and they leave
a service little to do harm with."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build" / "gcc")
SERVICES = ("agent", "console", "scheduler", "submission", "supervisor")
EXPOSURE_MAX = 2.0  # of 10; systemd calls a service without any restriction 9.6


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--no-pager", *arguments], capture_output=True,
                          text=True, check=False, timeout=60)


def install(*arguments, **variables):
    subprocess.run(["cmake", "--install", BUILD, "--component", "program", *arguments],
                   check=True, capture_output=True, env=dict(os.environ, **variables), timeout=120)


class ServiceUnitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / "prefix"
        install("--prefix", cls.prefix)
        cls.units = cls.prefix / "lib" / "systemd" / "system"

    def test_there_is_one_for_each_service_and_a_target_for_all(self):
        names = sorted(path.name for path in self.units.iterdir())
        self.assertEqual(names, sorted([f"reeve-{name}.service" for name in SERVICES]
                                       + ["reeve.target"]))

    def test_systemd_knows_every_line(self):
        for unit in self.units.iterdir():
            done = analyze("verify", "--man=no", unit)
            self.assertEqual((done.returncode, done.stderr), (0, ""), unit.name)

    def test_systemd_finds_a_line_that_is_wrong(self):
        text = (self.units / "reeve-console.service").read_text(encoding="utf-8")
        wrong = self.prefix / "reeve-wrong.service"
        wrong.write_text(text.replace("ProtectClock=yes", "ProtectTime=yes"), encoding="utf-8")
        self.assertIn("ProtectTime", analyze("verify", "--man=no", wrong).stderr)

    def test_services_are_little_exposed(self):
        for name in SERVICES:
            done = analyze("security", "--offline=true", self.units / f"reeve-{name}.service")
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
            self.assertIsNotNone(found, done.stdout + done.stderr)
            self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX, done.stdout)

    def test_they_read_the_configuration_that_was_installed(self):
        settings = self.prefix / "etc" / "reeve" / "reeve.properties"
        for name in SERVICES:
            text = (self.units / f"reeve-{name}.service").read_text(encoding="utf-8")
            self.assertIn(f"ExecStart={self.prefix}/bin/reeve run {name} --config {settings}\n",
                          text)
        done = subprocess.run([self.prefix / "bin" / "reeve", "config", "--config", settings],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_second_installation_keeps_what_was_configured(self):
        settings = self.prefix / "etc" / "reeve" / "reeve.properties"
        settings.write_text("topics.prefix = shop\n", encoding="utf-8")
        install("--prefix", self.prefix)
        self.assertEqual(settings.read_text(encoding="utf-8"), "topics.prefix = shop\n")

    def test_below_usr_the_configuration_is_in_etc(self):
        with tempfile.TemporaryDirectory() as staging:
            install("--prefix", "/usr", DESTDIR=staging)
            self.assertTrue((pathlib.Path(staging) / "etc/reeve/reeve.properties").exists())
            unit = pathlib.Path(staging) / "usr/lib/systemd/system/reeve-agent.service"
            self.assertIn("=/usr/bin/reeve run agent --config /etc/reeve/reeve.properties\n",
                          unit.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
