# SPDX-License-Identifier: Apache-2.0
"""How a service starts, or does not, by its http.* settings; and TLS on a running service: which
clients get in, which version they speak, and certificates that are renewed meanwhile."""

import http.client
import json
import pathlib
import signal
import ssl
import subprocess
import tempfile
import unittest

from lib.authority import Authority
from lib.dev import REEVE, Dev, token_line
from lib.waiting import wait_for

TIMEOUT_SECONDS = 300
CONFIG_ERROR = 78
TOKEN = "reeve_ann-canary"


class StartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.dev = Dev(folder.name, asks=False)
        cls.addClassCleanup(cls.dev.stop)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tokens = self.folder / "tokens"
        self.tokens.write_text(token_line("ann", "operator", TOKEN))
        self.log = self.folder / "log"

    def start(self, *settings):
        """A second console."""
        sets = [word for setting in ("http.port=0", f"data.dir={self.folder}/data", *settings)
                for word in ("--set", setting)]
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                [REEVE, "run", "console", "--config", self.dev.data / "client.properties",
                 "--disk-free-min-mb", "0", *sets],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)  # after a failure
        return process

    def run_service(self, *settings):
        process = self.start(*settings)
        self.addCleanup(self.end, process)
        wait_for(self.log.read_text, lambda: (self.folder / "data/http.port").exists(), 30)
        return process

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0, self.log.read_text())

    def port(self):
        return int((self.folder / "data/http.port").read_text())

    # ---- refusals ----

    def test_refuses_settings_that_let_everyone_in_or_cannot_work(self):
        cert, key = Authority(self.folder, "ours").sign("server")
        _, other_key = Authority(self.folder, "theirs").sign("other")
        broken = self.folder / "broken"
        broken.write_text("ann boss sha256:00 2026-01-01\n")
        groups = self.folder / "groups"
        groups.write_text("managers\n")
        none, trusted = "http.auth=none", "http.proxy.trusted"
        cases = [
            ([none, "http.host=0.0.0.0"], "http.auth = none with http.host = 0.0.0.0"),
            ([none, "http.host=::"], "http.auth = none with http.host = ::"),
            ([none, "http.host=0.0.0.0", f"{trusted}=proxy.internal"],
             f"{trusted}: proxy.internal is not an address or a network"),
            ([f"{trusted}=10.0.0.0/33"], f"{trusted}: 10.0.0.0/33 is not"),
            ([none, "http.host=0.0.0.0", f"{trusted}=0.0.0.0/0"], f"{trusted}: 0.0.0.0/0 is not"),
            ([f"http.tokens.file={self.folder}/missing"], f"cannot read {self.folder}/missing"),
            ([f"http.tokens.file={broken}"], f"{broken}, line 1: the role must be"),
            ([f"http.tokens.file={self.folder}"], f"{self.folder}"),
            ([f"http.groups.file={self.folder}/missing"], f"cannot read {self.folder}/missing"),
            ([none, f"http.groups.file={groups}"], f"{groups}, line 1: expected GROUP NAME"),
            ([f"http.tls.cert={cert}"], "http.tls.cert and http.tls.key belong together"),
            ([f"http.tls.key={key}"], "http.tls.cert and http.tls.key belong together"),
            ([f"http.tls.cert={cert}", f"http.tls.key={other_key}"], f"http.tls.key {other_key}: "),
            ([f"http.tls.cert={cert}", f"http.tls.key={self.tokens}"], "http.tls.cert"),
            ([f"http.tls.client.ca={cert}"], "http.tls.client.ca needs http.tls.cert and"),
            ([f"http.tls.cert={cert}", f"http.tls.key={key}", f"http.tls.client.ca={self.tokens}"],
             "http.tls.client.ca: "),
            (["http.auth=maybe"], "http.auth"),
        ]
        for settings, why in cases:
            with self.subTest(why):
                process = self.start(*settings)
                try:
                    code = process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    code = process.wait()
                self.assertEqual(code, CONFIG_ERROR, self.log.read_text())
                lines = [line for line in self.log.read_text().splitlines() if why in line]
                self.assertEqual(len(lines), 1, self.log.read_text())
                self.assertFalse((self.folder / "data/http.port").exists())

    # ---- warnings ----

    def warnings(self):
        rows = [json.loads(line) for line in self.log.read_text().splitlines()
                if line.startswith("{")]
        return [row["message"] for row in rows if row["level"] == "warning"]

    def test_warns_of_settings_that_let_no_one_in_or_show_tokens(self):
        cert, key = Authority(self.folder, "ours").sign("server")
        file = f"http.tokens.file={self.tokens}"
        no_tokens = ("the HTTP server answers only /livez and /readyz: set http.tokens.file, or "
                  "http.auth = none")
        groups = self.folder / "groups"
        groups.write_text("managers ann\n")
        no_user = ("http.groups.file has no effect: with http.auth = none and without "
                   "http.proxy.trusted, requests have no user")
        clear = "tokens are sent in clear text: set http.tls.cert and http.tls.key"
        cases = [([], no_tokens), (["http.host=0.0.0.0", file], clear), ([file], None),
                 (["http.auth=none"], None),
                 (["http.auth=none", f"http.groups.file={groups}"], no_user),
                 ([file, f"http.groups.file={groups}"], None),
                 (["http.host=0.0.0.0", file, "http.proxy.trusted=10.0.0.0/8"], None),
                 (["http.host=0.0.0.0", file, f"http.tls.cert={cert}", f"http.tls.key={key}"],
                  None)]
        for settings, expected in cases:
            with self.subTest(settings):
                process = self.start(*settings)
                wait_for(self.log.read_text, lambda: (self.folder / "data/http.port").exists(), 30)
                self.end(process)
                known = (no_tokens, clear, no_user)
                self.assertEqual([text for text in self.warnings() if text in known],
                                 [expected] if expected else [])

    # ---- TLS ----

    def context(self, authority, shows=None):
        context = ssl.create_default_context(cafile=authority.cert)
        if shows is not None:
            context.load_cert_chain(*shows)
        return context

    def ask(self, context, path="/about", token=TOKEN):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port(), timeout=30,
                                                 context=context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            return connection.getresponse().status
        finally:
            connection.close()

    def install(self, pair):
        """The certificate and the key take the place of the service's, one after the other."""
        for source, name in zip(pair, ("current.pem", "current.key")):
            new = self.folder / f"{name}.new"
            new.write_bytes(source.read_bytes())
            new.rename(self.folder / name)

    def serve(self, pair, *settings):
        self.install(pair)
        return self.run_service(f"http.tls.cert={self.folder}/current.pem",
                                f"http.tls.key={self.folder}/current.key",
                                f"http.tokens.file={self.tokens}", *settings)

    def test_needs_a_clients_certificate_and_its_token(self):
        ours, theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        client, foreign = ours.sign("client"), theirs.sign("foreign")
        expired = ours.sign("expired", days=-1)
        self.serve(ours.sign("server"), f"http.tls.client.ca={ours.cert}")
        self.assertEqual(self.ask(self.context(ours, client)), 200)
        self.assertEqual(self.ask(self.context(ours, client), token="wrong"), 401)
        for shows in (None, foreign, expired):
            with self.subTest(shows), self.assertRaises((ssl.SSLError, ConnectionError)):
                self.ask(self.context(ours, shows), "/livez")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.ask(self.context(theirs, client))
        self.assertEqual(self.ask(self.context(ours, client)), 200)

    def version(self, flag):
        """The version that openssl agrees on when it offers only that one; None = none."""
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.port()}", flag, "-cipher",
             "DEFAULT@SECLEVEL=0"], input=b"", capture_output=True, timeout=60, check=False)
        text = done.stdout.decode()
        agreed = [line for line in text.splitlines() if line.startswith("New, ")]
        return None if not agreed or "(NONE)" in agreed[0] else agreed[0].split()[1].strip(",")

    def test_speaks_tls_1_2_and_1_3_only(self):
        self.serve(Authority(self.folder, "ours").sign("server"))
        self.assertEqual(self.version("-tls1_3"), "TLSv1.3")
        self.assertEqual(self.version("-tls1_2"), "TLSv1.2")
        self.assertIsNone(self.version("-tls1_1"))
        self.assertIsNone(self.version("-tls1"))

    def test_uses_renewed_certificates_for_new_connections(self):
        ours, theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        process = self.serve(ours.sign("server"))
        kept = http.client.HTTPSConnection("127.0.0.1", self.port(), timeout=30,
                                           context=self.context(ours))
        kept.request("GET", "/livez")
        self.assertEqual(kept.getresponse().read(), b"ok\n")
        self.install(theirs.sign("renewed"))

        def is_renewed():
            try:
                return self.ask(self.context(theirs)) == 200
            except ssl.SSLCertVerificationError:
                return False

        wait_for("the renewed certificate is used", is_renewed, 30)
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.ask(self.context(ours))
        kept.request("GET", "/livez")
        self.assertEqual(kept.getresponse().read(), b"ok\n")
        kept.close()
        (self.folder / "current.key").write_text("not a key")
        process.send_signal(signal.SIGHUP)
        wait_for(self.log.read_text,
                 lambda: "cannot read the TLS certificate again" in self.log.read_text(), 30)
        self.assertEqual(self.ask(self.context(theirs)), 200)


if __name__ == "__main__":
    unittest.main()
