# SPDX-License-Identifier: Apache-2.0
"""The file system of the stores becomes read-only, as ext4 does after an error of its disk. The
partitions on it stop and show the reason, and no process ends; once a writable file system is
mounted in its place, everything continues. The file system is a file that is loop-mounted, which
takes root."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from lib import wait_for
from lib.loop_disk import new_disk

TIMEOUT_SECONDS = 300
ROOT = pathlib.Path(__file__).resolve().parents[2]
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build/dev")).resolve() / "bin/reeve"
ON_DISK = ("scheduler-1", "supervisor-1", "console")


class ReadOnlyDiskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.disk = new_disk(self.folder)
        self.addCleanup(self.disk.unmount)
        self.data = self.folder / "data"
        self.data.mkdir()
        self.start()
        self.end()
        for name in ON_DISK:
            shutil.rmtree(self.data / name)
            (self.disk.path / name).mkdir()
            (self.data / name).symlink_to(self.disk.path / name)
        self.start()
        self.addCleanup(self.end)
        self.wait_ready()
        self.pids = [self.pid(name) for name in ON_DISK]

    def start(self):
        out = self.folder / "out"
        with open(out, "wb") as file:
            self.dev = subprocess.Popen(
                [REEVE, "dev", ROOT / "examples/workflows/three-steps.yaml", "--data-dir",
                 self.data, "--partitions", "4", "--disk-free-min-mb", "0"],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        wait_for(out.read_text, lambda: "Ctrl-C stops" in out.read_text(), 60)

    def end(self):
        self.dev.send_signal(signal.SIGINT)
        self.assertEqual(self.dev.wait(60), 0, (self.folder / "out").read_text())

    def pid(self, name):
        lines = (self.folder / "out").read_text().splitlines()
        return next(line.split("pid ")[1].split()[0] for line in lines
                    if line.split()[:1] == [name])

    def get(self, name, path, body=None):
        try:
            port = (self.data / name / "http.port").read_text().strip()
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, headers={
                "Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return None, str(error)

    def states(self):
        return {name: self.get(name, "/readyz") for name in ON_DISK}

    def wait_ready(self):
        wait_for(self.states, lambda: all(
            status == 200 for status, _ in self.states().values()), 90)

    def submit(self, prefix):
        for number in range(20):
            status, body = self.get("submission", "/orders", json.dumps({
                "order_id": f"{prefix}-{number}", "customer": "c", "currency": "GBP",
                "workflow": "three-steps",
                "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}).encode())
            self.assertIn(status, (200, 201, 202), body)

    def wait_processed(self, count):
        def orders():
            status, body = self.get("console", "/api/orders?state=Processed&limit=100")
            return len(json.loads(body)["orders"]) if status == 200 else body

        wait_for(orders, lambda: orders() == count, 60)

    def test_partitions_stop_and_continue_by_themselves(self):
        self.submit("before")
        self.wait_processed(20)
        self.disk.damage()
        self.submit("meanwhile")

        def are_stopped():
            return all(self.states()[name][0] == 503 and
                       "Read-only file system" in self.states()[name][1] for name in ON_DISK[:2])

        wait_for(self.states, are_stopped, 30)
        # Beyond the second try to open the stores again, 9 s after the first failure.
        until = time.monotonic() + 12
        wait_for(lambda: "", lambda: time.monotonic() > until, 30)
        self.assertTrue(are_stopped(), self.states())
        for name in ON_DISK:
            self.assertEqual(self.get(name, "/livez")[0], 200, name)

        self.disk.repair()
        self.wait_ready()
        self.wait_processed(40)
        self.assertIsNone(self.dev.poll())
        for name, pid in zip(ON_DISK, self.pids):
            self.assertTrue(pathlib.Path("/proc", pid).exists(), name)


if __name__ == "__main__":
    unittest.main()
