# SPDX-License-Identifier: Apache-2.0
"""`reeve dev` whose services speak HTTPS and ask for clients' certificates becomes ready."""

import pathlib
import signal
import subprocess
import tempfile
import unittest

from lib.authority import Authority
from lib.dev import REEVE
from lib.waiting import wait_for


class DevTlsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.authority = Authority(self.folder, "authority")
        self.cert, self.key = self.authority.sign("server")
        self.out = self.folder / "out"

    def start(self, *flags):
        with open(self.out, "wb") as out:
            return subprocess.Popen(
                [REEVE, "dev", "--data-dir", self.folder / "data", "--partitions", "2",
                 "--http-tls-cert", self.cert, "--http-tls-key", self.key,
                 "--console-tls-ca", self.authority.cert, *flags],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def test_becomes_ready_where_clients_need_a_certificate(self):
        cert, key = self.authority.sign("client")
        dev = self.start("--http-tls-client-ca", self.authority.cert,
                         "--console-tls-cert", cert, "--console-tls-key", key)
        try:
            wait_for(self.out.read_text, lambda: "Ctrl-C stops" in self.out.read_text(), 60)
            self.assertIn("https://127.0.0.1:", self.out.read_text())
        finally:
            dev.send_signal(signal.SIGINT)
            self.assertEqual(dev.wait(60), 0, self.out.read_text())

    def test_says_that_it_needs_a_certificate(self):
        dev = self.start("--http-tls-client-ca", self.authority.cert)
        self.assertEqual(dev.wait(60), 78, self.out.read_text())
        self.assertIn("set console.tls.cert", self.out.read_text())


if __name__ == "__main__":
    unittest.main()
