# SPDX-License-Identifier: Apache-2.0
"""An application with nothing but curl submits an order, waits and reads its outcome, with a token
that sees its own orders only."""

import datetime
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from lib import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build/dev")).resolve() / "bin/reeve"
TOKENS = {name: f"reeve_{name}" + "x" * 40 for name in ("shop", "other", "viewer")}


class WithoutKafkaClientTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        roles = {"shop": "submitter", "other": "submitter", "viewer": "viewer"}
        tokens = self.folder / "tokens"
        tokens.write_text("".join(
            f"{name} {roles[name]} sha256:{hashlib.sha256(token.encode()).hexdigest()} {now}\n"
            for name, token in TOKENS.items()))
        viewer = self.folder / "viewer"
        viewer.write_text(TOKENS["viewer"] + "\n")
        self.out = self.folder / "out"
        with open(self.out, "wb") as out:
            self.dev = subprocess.Popen(
                [REEVE, "dev", ROOT / "examples/workflows/three-steps.yaml", "--data-dir",
                 self.folder / "data", "--partitions", "4", "--http-auth", "tokens",
                 "--http-tokens-file", tokens, "--set",
                 f"submission.console.token.file={viewer}"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(self.end)
        wait_for(self.out.read_text, lambda: "Ctrl-C stops" in self.out.read_text(), 60)
        port = next((self.folder / "data").glob("submission*/http.port")).read_text().strip()
        self.url = f"http://127.0.0.1:{port}"

    def end(self):
        self.dev.send_signal(signal.SIGINT)
        self.assertEqual(self.dev.wait(60), 0, self.out.read_text())

    def order(self, order_id, **more):
        path = self.folder / f"{order_id}.json"
        path.write_text(json.dumps({"order_id": order_id, "currency": "EUR",
                                    "workflow": "three-steps", **more}), encoding="utf-8")
        return path

    def script(self, order_id, token, **more):
        return subprocess.run(
            [ROOT / "examples/curl/order.sh", self.url, order_id, self.order(order_id, **more)],
            env={**os.environ, "REEVE_TOKEN": token}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=120)

    def get(self, path, token):
        return self.ask(f"{self.url}{path}", token)

    def cancel(self, order_id, token):
        return self.ask(f"{self.url}/orders/{order_id}/cancel", token,
                        json.dumps({"reason": "changed my mind"}).encode())

    def refusals(self, order_id):
        """The codes of the refused commands in the order's history, as an operator sees them."""
        port = next((self.folder / "data").glob("console*/http.port")).read_text().strip()
        _, history = self.ask(f"http://127.0.0.1:{port}/api/orders/{order_id}/history",
                              TOKENS["viewer"])
        return [event["data"]["code"] for entry in history["entries"] for event in entry["events"]
                if event["kind"] == "CommandRejected"]

    def ask(self, url, token, body=None):
        request = urllib.request.Request(url, data=body, headers={
            "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def test_curl_submits_waits_and_reads(self):
        done = self.script("curl-1", TOKENS["shop"], customer="17850")
        self.assertEqual((done.returncode, done.stdout), (0, "curl-1: Processed\n"), done.stderr)
        status, order = self.get("/orders/curl-1", TOKENS["shop"])
        self.assertEqual((status, order["state"], order["submitted_by"]),
                         (200, "Processed", "shop"))
        # The same again is the same order.
        self.assertEqual(self.script("curl-1", TOKENS["shop"], customer="17850").returncode, 0)
        done = self.script("curl-1", TOKENS["shop"], customer="17851")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a different customer", done.stderr)
        # To others it does not exist.
        self.assertEqual(self.get("/orders/curl-1", TOKENS["other"])[0], 404)
        self.assertEqual(self.get("/orders/curl-1", TOKENS["viewer"])[0], 403)
        self.assertNotEqual(self.script("curl-2", "reeve_wrong").returncode, 0)

    def test_a_token_cancels_only_what_was_submitted_with_it(self):
        done = self.script("curl-3", TOKENS["shop"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cancel("curl-3", TOKENS["other"])[0], 202)
        wait_for("the refusal", lambda: self.refusals("curl-3") == ["AnotherSubmitter"], 30)
        self.assertEqual(self.cancel("curl-3", TOKENS["shop"])[0], 202)
        wait_for("the refusal", lambda: self.refusals("curl-3")[1:] == ["AlreadyEnded"], 30)


if __name__ == "__main__":
    unittest.main()
