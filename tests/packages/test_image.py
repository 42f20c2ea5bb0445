# SPDX-License-Identifier: Apache-2.0
"""The image of packaging/Dockerfile, built on a Docker engine of the test's own as
tests/kafka/test_compose.py does, runs an order. Skipped with the reason where no engine can run;
REEVE_COMPOSE_TEST=no skips it everywhere."""

import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "tests" / "kafka"))
# pylint: disable=wrong-import-position
from lib import wait_for
from lib.debian import LONG, PACKAGES, host, the_package
from lib.engine import GIB, engine_for

TIMEOUT_SECONDS = 1800
WORKFLOWS = "/usr/share/reeve/workflows"
PROCESSED = r"(?m)^try-\d+ +Processed +Processed "


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package = the_package("reeve", "bookworm", host())
        cls.engine = engine_for(cls, 2 * GIB)
        cls.engine.build("reeve-release", PACKAGES, "-f", str(ROOT / "packaging" / "Dockerfile"),
                         "--build-arg", f"TARGETARCH={host()}")

    def docker(self, *command):
        return self.engine.run("docker", *command).stdout

    def test_it_is_the_package_and_not_root(self):
        version = re.match(r"reeve_([\d.]+)", self.package.name).group(1)
        run = ("run", "--rm", "--network=none")
        self.assertIn(version, self.docker(*run, "reeve-release", "--version"))
        self.assertIn("Commands:", self.docker(*run, "reeve-release"))
        self.assertEqual(self.docker(*run, "--entrypoint=id", "reeve-release", "-un").strip(),
                         "reeve")

    def test_it_processes_an_order(self):
        # Without tokens, `reeve dev` serves its own machine only; the image listens for others.
        self.docker("run", "--detach", "--name=trial", "--network=none", "--read-only",
                    "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges:true",
                    "--env=REEVE_HTTP_HOST=127.0.0.1", "reeve-release", "dev",
                    f"{WORKFLOWS}/three-steps.yaml", "--try")

        def is_processed():
            logs = self.docker("logs", "trial")
            running = self.docker("inspect", "--format={{.State.Running}}", "trial").strip()
            return running != "true" or re.search(PROCESSED, logs)

        wait_for(lambda: self.docker("logs", "trial"), is_processed, LONG)
        self.assertRegex(self.docker("logs", "trial"), PROCESSED)
        self.docker("stop", "--time=60", "trial")
        self.assertEqual(self.docker("inspect", "--format={{.State.ExitCode}}", "trial").strip(),
                         "0")


if __name__ == "__main__":
    unittest.main()
