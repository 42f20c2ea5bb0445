# SPDX-License-Identifier: Apache-2.0
"""examples/schema_registry/ on `reeve dev` with a real registry: Confluent's serializers for
Python, and for Java Apicurio's with Confluent's framing."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from lib.dev import REEVE, Dev
from lib.paths import ROOT
from lib.waiting import wait_for

CACHE = pathlib.Path(os.environ.get("REEVE_CACHE") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reeve")
EXAMPLE = ROOT / "examples/schema_registry"
TIMEOUT_SECONDS = 900
LONG = 600  # seconds for what is fetched and compiled


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Registry:
    """Apicurio Registry, which forgets everything at its end."""

    def __init__(self, folder):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = pathlib.Path(folder) / "registry.log"
        port = self.url.rpartition(":")[2]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}",
                 "-jar", CACHE / "apicurio-registry/runner.jar"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.confluent = f"{self.url}/apis/ccompat/v7"
        self.own = f"{self.url}/apis/registry/v2"
        wait_for(self.log.read_text, self.answers, 300)

    def answers(self):
        try:
            return self.ask("/subjects") is not None
        except (urllib.error.URLError, ConnectionError):
            return False

    def ask(self, path, body=None):
        request = urllib.request.Request(
            self.confluent + path, None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/vnd.schemaregistry.v1+json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        self.process.kill()
        self.process.wait(30)


class ConfluentClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.registry = Registry(folder.name)
        cls.addClassCleanup(cls.registry.stop)
        cls.dev = Dev(folder.name, "--schema-registry-url", cls.registry.confluent, asks=False)
        cls.addClassCleanup(cls.dev.stop)
        cls.client = cls.dev.data / "client.properties"
        cls.bootstrap = dict(line.split(" = ", 1) for line in cls.client.read_text().splitlines())[
            "kafka.bootstrap.servers"]

    def run_program(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LONG)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [line.split()[0] for line in done.stdout.splitlines()]

    def test_python(self):
        kinds = self.run_program(CACHE / "confluent-kafka/bin/python", EXAMPLE / "submit.py",
                                 self.bootstrap, self.registry.confluent, "python-1")
        self.assertEqual((kinds[0], kinds[-1]), ("Received", "Processed"))
        self.assertLessEqual({"reeve.SubmitOrder", "reeve.StatusUpdate"},
                             set(self.registry.ask("/subjects")))

    @unittest.skipUnless(shutil.which("javac") and shutil.which("mvn"),
                         "there is no JDK or Maven here")
    def test_java(self):
        source = self.folder / "java"
        shutil.copytree(EXAMPLE / "java", source)
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=source, check=True, timeout=LONG)
        kinds = self.run_program(
            "java", "-Xmx256m", "-cp", f"{source}/target/submit-1.jar:{source}/target/dependency/*",
            "shop.Submit", ROOT / "schemas", self.bootstrap, self.registry.own, "java-1")
        self.assertEqual((kinds[0], kinds[-1]), ("Received", "Processed"))

    def test_the_command_line_follows_an_order(self):
        done = subprocess.run(
            [REEVE, "submit", "-", "--reply-to", "orders.replies.web", "--wait", "--config",
             self.client],
            input=json.dumps({"order_id": "cli-1", "workflow": "three-steps"}), text=True,
            capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Processed", done.stdout)

    def test_the_registry_refuses_no_schema_of_ours(self):
        for path in sorted((ROOT / "schemas").glob("*.avsc")):
            answer = self.registry.ask(f"/subjects/all.{path.stem}/versions",
                                       {"schema": path.read_text()})
            self.assertGreaterEqual(answer["id"], 0)


if __name__ == "__main__":
    unittest.main()
