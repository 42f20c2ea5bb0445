# SPDX-License-Identifier: Apache-2.0
"""Secrets of every kind are set, each a word of its own, and used; then that word is nowhere: in no
log, answer, page, argument of a process, or output of a command."""

import pathlib
import subprocess
import tempfile
import unittest

from lib.dev import REEVE, ROLES, Dev
from lib.paths import ROOT
from lib.routes import fill, read_routes
from lib.waiting import wait_for

TIMEOUT_SECONDS = 300
# KEY.file, a variable, and a flag of `reeve dev`, which passes its flags on.
BY_FILE = {"agent.http.headers": "Authorization: Bearer canaryheader",
           "schema.registry.password": "canaryregistry",
           "traces.headers": "X-Key: canarytraces"}
BY_VARIABLE = {"REEVE_AGENT_CALLBACK_SECRET": "canarycallback"}
BY_FLAG = {"kafka.sasl.password": "canarysasl",
           "submission.console.token": "canaryconsole",
           "console.services.token": "canaryservices", "console.token": "canarycli"}
SECRETS = ["canaryheader", "canaryregistry", "canarytraces", *BY_VARIABLE.values(),
           *BY_FLAG.values(), *(f"reeve_{role}-canary" for role in ROLES), "canarywrong"]


class CanaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        flags = [word for key, value in BY_FLAG.items() for word in ("--set", f"{key}={value}")]
        for key, value in BY_FILE.items():
            path = self.folder / key
            path.write_text(value + "\n")
            flags += ["--set", f"{key}.file={path}"]
        self.flags = flags
        self.dev = Dev(folder.name, *flags, "--log-level", "debug", env=BY_VARIABLE)
        self.addCleanup(self.dev.stop)

    def expect_none(self, where, text):
        for secret in SECRETS:
            self.assertNotIn(secret, text, where)

    def use(self):
        """Each token by header, and by cookie where that is possible; an order; callbacks."""
        order = {"order_id": "o-1", "customer": "c", "currency": "GBP", "workflow": "three-steps",
                 "lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}
        answer = self.dev.ask("submission", "POST", "/orders", self.dev.tokens["submitter"], order)
        self.assertIn(answer.status, (200, 201, 202), answer.body)
        for role in ROLES:
            answer = self.dev.ask("console", "POST", "/api/session", None,
                                  {"token": self.dev.tokens[role]})
            self.assertIn("reeve_session=", answer.headers["Set-Cookie"])
            self.expect_none("the cookie", answer.headers["Set-Cookie"])
            self.expect_none("login", answer.body)
        callback = "/v1/callbacks/noop/o-1/First/do/1"
        for path in (callback, f"{callback}?token=canarywrong"):
            self.dev.ask("agent-noop", "POST", path, None, {})
        self.dev.ask("agent-noop", "POST", callback, self.dev.tokens["agent"], {"outcome": 1})
        self.dev.ask("console", "POST", "/api/agents/noop/pause", self.dev.tokens["operator"],
                     {"operator": "x", "reason": "test"})

    def ask_all(self):
        routes = read_routes()
        for name in self.dev.names():
            paths = [fill(row["path"]) for service, row in routes
                     if service == name.split("-")[0] and row["method"] == "GET" and
                     row["path"] != "/api/events"]  # does not end
            for path in [*paths, "/nowhere"]:
                for token in [*self.dev.tokens.values(), None]:
                    answer = self.dev.ask(name, "GET", path, token)
                    self.expect_none(f"{name} {path}", answer.body + str(answer.headers))
            self.assertIn("(hidden)", self.dev.ask(name, "GET", "/about",
                                                   self.dev.tokens["viewer"]).body)

    def arguments(self):
        """Of every process below `reeve dev`, and of that."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:  # it has ended
                continue
            if str(self.folder) in text:
                found[path.parent.name] = text
        return found

    def test_secrets_are_nowhere(self):
        self.use()
        self.ask_all()
        arguments = self.arguments()
        for name in self.dev.names():
            self.assertIn(str(self.dev.pid(name)), arguments)
        self.assertIn(str(self.dev.process.pid), arguments)
        for pid, text in arguments.items():
            self.expect_none(f"arguments of {pid}", text)
        for name in self.dev.names():
            wait_for(f"{name} logs", lambda name=name: self.dev.log(name))
            self.expect_none(f"log of {name}", self.dev.log(name))
        self.expect_none("reeve dev", self.dev.out.read_text())
        for path in self.dev.data.rglob("*"):
            if path.is_file() and path.name != "client.properties" and "rocks" not in str(path):
                self.expect_none(path, path.read_bytes().decode("latin1"))

    def test_commands_hide_them(self):
        for command in (["config"], ["config", "--keys"], ["orders", "list"], ["services"]):
            done = subprocess.run(
                [REEVE, *command, "--config", self.dev.data / "client.properties", *self.flags],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                env={**BY_VARIABLE, "REEVE_CONSOLE_TOKEN": self.dev.tokens["viewer"],
                     "HOME": str(self.folder)}, cwd=ROOT)
            self.expect_none(command, done.stdout + done.stderr)
            if command == ["config"]:
                for key in [*BY_FLAG, *BY_FILE, "agent.callback.secret"]:
                    self.assertIn(f"{key} = (hidden)", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
