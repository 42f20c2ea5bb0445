# SPDX-License-Identifier: Apache-2.0
"""scripts/demo: the end of it, with stand-ins for what it starts."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Writes its name at SIGTERM.
STAND_IN = """stand_in() {
    bash -c 'trap "echo $0 >>\"$1/ended\"; exit" TERM; touch "$1/$0"
        while :; do sleep 0.02; done' "$1" "$demo" &
    pids+=($!)
    wait_until 10 test -e "$demo/$1"
}
"""


class DemoTest(unittest.TestCase):
    def test_the_services_stop_before_the_broker_that_they_need(self):
        script = (ROOT / "scripts/demo").read_text()
        stopping = "".join(re.findall(r"^(?:stop|stop_all)\(\) \{.*?^\}\n", script, re.M | re.S))
        with tempfile.TemporaryDirectory() as folder:
            lines = [". scripts/lib.sh", f"demo={folder}", "embedded=true", "pids=()",
                     "services=()", STAND_IN, stopping,
                     "stand_in broker", "stand_in shop",
                     'stand_in scheduler; services+=("${pids[-1]}")',
                     'stand_in console; services+=("${pids[-1]}")', "stop_all"]
            done = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=ROOT, check=False,
                                  capture_output=True, text=True, timeout=60,
                                  env=os.environ | {"LC_ALL": "C"})
            self.assertEqual(done.returncode, 0, done.stderr)
            ended = (pathlib.Path(folder) / "ended").read_text().split()
        self.assertEqual(sorted(ended[:2]), ["console", "scheduler"])
        self.assertEqual(sorted(ended[2:]), ["broker", "shop"])


if __name__ == "__main__":
    unittest.main()
