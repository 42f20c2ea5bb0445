# SPDX-License-Identifier: Apache-2.0
"""Agents on Kafka in Python, Java and Go, each on `reeve dev`: they do, undo, and leave. A language
whose compiler is not on this machine is skipped."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from lib.dev import Dev
from lib.paths import ROOT
from lib.waiting import wait_for

EXAMPLES = ROOT / "examples"
SCHEMAS = ROOT / "schemas"
WORKFLOW = """
Name: tax
Version: 1
TimeoutSeconds: 600
Steps:
  - {Name: Tax, Agent: tax, Compensate: {Action: Refund}}
  - {Name: Settle, Fail: {Error: Declined, Message: "'no'"}, When: input.fails}
"""
TIMEOUT_SECONDS = 900
LONG = 600  # seconds for what is fetched and compiled
GO_LIBRARIES = "/usr/share/gocode"


class AgentTest:
    """Of a subclass: build(folder) gives the command, without its arguments."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        workflow = cls.folder / "tax.yaml"
        workflow.write_text(WORKFLOW)
        cls.command = cls.build(cls.folder)
        cls.dev = Dev(folder.name, workflow, "--agent", "tax=kafka", asks=False)
        cls.addClassCleanup(cls.dev.stop)
        properties = (cls.dev.data / "client.properties").read_text()
        cls.bootstrap = dict(line.split(" = ", 1) for line in properties.splitlines())[
            "kafka.bootstrap.servers"]
        cls.log = cls.folder / "agent.log"

    def setUp(self):
        with open(self.log, "ab") as log:
            self.agent = subprocess.Popen(
                self.arguments(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.kill)

    def arguments(self):
        return [*self.command, SCHEMAS, self.bootstrap, "orders", "tax"]

    def kill(self):
        if self.agent.poll() is None:
            self.agent.kill()
        self.agent.wait(30)

    def submit(self, order, fails):
        answer = self.dev.ask("submission", "POST", "/orders", None, {
            "order_id": order, "workflow": "tax", "input": {"fails": fails}})
        self.assertEqual(answer.status, 202, answer.body)

    def end_of(self, order):
        body = self.dev.ask("console", "GET", f"/api/orders/{order}?wait=60s").body
        return json.loads(body)

    def instances(self):
        body = json.loads(self.dev.ask("console", "GET", "/api/agents").body)
        return [each["instance"] for each in body["agents"] if each["agent"] == "tax"]

    def test_does_undoes_and_leaves(self):
        self.submit("good", False)
        order = self.end_of("good")
        self.assertEqual(order["state"], "Processed", self.log.read_text())
        self.assertEqual(order["steps"][0]["output"], {"tax": "4.20"})
        self.submit("bad", True)
        self.assertEqual(self.end_of("bad")["state"], "Compensated", self.log.read_text())
        self.assertEqual(len(self.instances()), 1)
        self.agent.send_signal(signal.SIGTERM)
        self.agent.wait(30)
        wait_for(self.instances, lambda: self.instances() == [], 30)


class PythonTest(AgentTest, unittest.TestCase):
    @classmethod
    def build(cls, folder):
        return [sys.executable, EXAMPLES / "third_party_client/agent.py"]

    def arguments(self):
        return [*self.command, self.bootstrap, "orders", "tax"]


@unittest.skipUnless(shutil.which("javac") and shutil.which("mvn"), "there is no JDK or Maven here")
class JavaTest(AgentTest, unittest.TestCase):
    @classmethod
    def build(cls, folder):
        source = folder / "java"
        shutil.copytree(EXAMPLES / "kafka_agents/java", source)
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=source, check=True, timeout=LONG)
        return ["java", "-cp", f"{source}/target/agent-1.jar:{source}/target/dependency/*",
                "tax.Agent"]


@unittest.skipUnless(shutil.which("go") and os.path.isdir(
    f"{GO_LIBRARIES}/src/github.com/linkedin/goavro"), "there is no Go with its libraries here")
class GoTest(AgentTest, unittest.TestCase):
    @classmethod
    def build(cls, folder):
        source = folder / "go"
        shutil.copytree(EXAMPLES / "kafka_agents/go", source)
        subprocess.run(["go", "build", "-o", "agent"], cwd=source, check=True, timeout=LONG,
                       env={**os.environ, "GO111MODULE": "off", "GOPATH": GO_LIBRARIES,
                            "GOFLAGS": "-buildvcs=false", "GOCACHE": str(folder / "cache")})
        return [source / "agent"]


if __name__ == "__main__":
    unittest.main()
