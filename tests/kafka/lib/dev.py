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


class Trial:
    """`reeve dev` as a user has it: in a folder of its own, where it keeps its state."""

    def __init__(self, folder, *arguments, env=None):
        self.folder = pathlib.Path(folder)
        self.state = self.folder / "reeve-dev"
        self.env = {**os.environ, "XDG_CONFIG_HOME": str(self.folder), **(env or {})}
        self.out = self.folder / f"out-{len(list(self.folder.glob('out-*')))}"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(
                [REEVE, "dev", "--partitions", "2", "--disk-free-min-mb", "0", *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder, env=self.env)

    def text(self):
        return self.out.read_text()

    def wait_for(self, part, seconds=60):
        wait_for(lambda: f"{part} in {self.text()}", lambda: part in self.text(), seconds)
        return self

    def wait_until_ready(self):
        try:
            return self.wait_for("Ctrl-C stops")
        except AssertionError:
            self.kill()
            raise

    def rows(self):
        """The words of each line that names a process, by its name."""
        rows = [line.split() for line in self.text().splitlines()]
        return {row[0]: row[1:] for row in rows if "pid" in row[1:-1]}

    def pid(self, name):
        row = self.rows()[name]
        return int(row[row.index("pid") + 1])

    def run(self, *arguments, stdin=None, check=True, env=None):
        """`reeve ARGUMENTS` in another terminal, in the same folder."""
        done = subprocess.run([REEVE, *arguments], input=stdin, capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.folder, env=env or self.env)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def client(self, *arguments, **more):
        return self.run(*arguments, "--config", self.state / "client.properties", **more)

    def rows_of(self, *arguments):
        done = self.client(*arguments, "--output", "jsonl")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        assert code == 0, self.text()
