# SPDX-License-Identifier: Apache-2.0
"""`reeve dev` on the embedded broker, and its tokens."""

import hashlib
import http.client
import json
import os
import pathlib
import signal
import subprocess

from .paths import ROOT
from .waiting import wait_for

REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build/dev")).resolve() / "bin/reeve"
WORKFLOW = ROOT / "examples/workflows/three-steps.yaml"
ROLES = ("viewer", "operator", "submitter", "agent")


def token_line(name, role, token, bindings=""):
    """A line of http.tokens.file."""
    return (f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()} 2026-01-01 "
            f"{bindings}\n")


class Answer:
    """Of one request; the body of a stream is not read."""

    def __init__(self, connection, response, stream):
        self.status = response.status
        self.headers = response.headers
        self.response = response
        self.connection = connection
        self.body = "" if stream else response.read().decode("utf-8", "replace")
        if not stream:
            connection.close()

    def close(self):
        self.response.close()
        self.connection.close()


class Dev:
    """A token for each role is in `tokens`; they count if `asks` is true."""

    def __init__(self, folder, *arguments, asks=True, env=None):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.data.mkdir()
        self.tokens_file = self.folder / "tokens"
        self.tokens = {role: f"reeve_{role}-canary" for role in ROLES}
        self.write_tokens(ROLES)
        self.out = self.folder / "out"
        flags = ["--http-auth", "tokens", "--http-tokens-file", self.tokens_file] if asks else []
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(
                [REEVE, "dev", WORKFLOW, "--data-dir", self.data, "--partitions", "4",
                 "--disk-free-min-mb", "0", *flags, *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **(env or {})})
        try:
            wait_for(self.out.read_text, lambda: "Ctrl-C stops" in self.out.read_text(), 60)
        except AssertionError:
            self.process.kill()
            self.process.wait()
            raise

    def write_tokens(self, names, bindings=None):
        """The file with these tokens only, replaced as a whole."""
        new = self.folder / "tokens.new"
        new.write_text("".join(token_line(name, name, self.tokens[name],
                                          (bindings or {}).get(name, "")) for name in names))
        new.rename(self.tokens_file)

    def names(self):
        """The processes: submission, scheduler-1, ..."""
        return list(self._pids())

    def _pids(self):
        rows = [line.split() for line in self.out.read_text().splitlines()]
        return {row[0]: int(row[row.index("pid") + 1]) for row in rows if "pid" in row[1:-1]}

    def pid(self, name):
        return self._pids()[name]

    def port(self, name):
        return int((self.data / name / "http.port").read_text())

    def log(self, name):
        return (self.data / name / "log").read_text()

    def ask(self, name, method, path, token=None, body=None, stream=False, headers=None):
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port(name), timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return Answer(connection, connection.getresponse(), stream)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        assert code == 0, self.out.read_text()
