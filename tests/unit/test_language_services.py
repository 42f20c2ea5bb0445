# SPDX-License-Identifier: Apache-2.0
"""The services of docs/use/services/ in several languages keep the promises of
docs/use/remote-services.md: one set of tests for all, over HTTP, with a kill in between. The
command of each page runs an order through its service. A language whose runtime is not on this
machine is skipped."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
SERVICES = ROOT / "examples" / "services"
sys.path.insert(0, str(ROOT / "tests" / "kafka"))

from lib.dev import Trial
from lib.waiting import wait_for

TIMEOUT_SECONDS = 900
CACHE = pathlib.Path(os.environ.get("REEVE_CACHE", pathlib.Path.home() / ".cache" / "reeve"))
EXPRESS = CACHE / "services" / "node_modules"  # scripts/setup
LONG = 600  # seconds for what is fetched and compiled


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def have(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True,
                          check=False).returncode == 0


def build(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=LONG, env={**os.environ, "GOFLAGS": "-buildvcs=false"})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")


class Service:
    """A process; `command` takes the port and the file of its answers."""

    def __init__(self, command, folder, env=None, cwd=None):
        self.command, self.folder, self.env, self.cwd = command, pathlib.Path(folder), env, cwd
        self.port, self.path = free_port(), self.folder / "answers"
        self.start()

    def start(self):
        self.log = self.folder / "log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command(self.port, self.path), cwd=self.cwd, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
                env={**os.environ, **(self.env(self.path) if self.env else {})})
        wait_for(self.log.read_text, self.is_up, 60)

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError(f"it ended: {self.log.read_text()}")
        try:
            return self.ask("GET", "/")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def call(self, number=1, direction="do", quantity=1):
        status, body = self.ask("POST", "/TakePayment", json.dumps({
            "order_id": str(number), "step": "TakePayment", "direction": direction,
            "action": "TakePayment", "attempt": 1, "do_key": f"{number}/TakePayment/do/0",
            "idempotency_key": f"{number}/TakePayment/{direction}/0",
            "order": {"lines": [{"sku": "tea", "quantity": quantity, "unit_price": "4.50"}]}}))
        return status, json.loads(body)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()


class Promises:
    """Of a subclass: make(folder) gives the service, `page` is the name of its page."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.service = cls.make(folder.name)
        cls.addClassCleanup(cls.service.stop)

    def test_a_repeat_gets_the_first_answer(self):
        status, body = self.service.call("repeat")
        self.assertEqual((status, float(body["paid"])), (200, 4.5))
        self.assertEqual(self.service.call("repeat", quantity=2), (status, body))

    def test_a_refusal_stays_one(self):
        status, body = self.service.call("dear", quantity=200)
        self.assertEqual((status, body["error"]), (422, "PaymentDeclined"))
        self.assertEqual(self.service.call("dear"), (status, body))
        self.assertEqual(self.service.call("dear", "undo"), (200, {"refunded": False}))

    def test_an_undo_takes_back_its_do(self):
        self.service.call("undone")
        for _ in range(2):
            self.assertEqual(self.service.call("undone", "undo"), (200, {"refunded": True}))

    def test_what_was_undone_stays_undone(self):
        self.assertEqual(self.service.call("overtaken", "undo"), (200, {"refunded": False}))
        status, body = self.service.call("overtaken")
        self.assertEqual((status, body["error"]), (422, "AlreadyUndone"))

    def test_answers_survive_a_kill(self):
        before = [self.service.call(f"kept-{i}") for i in range(5)]
        self.service.kill()
        with open(self.service.path, "ab") as file:
            if self.service.path.read_bytes()[:6] != b"SQLite":
                file.write(b"{\"torn")
        self.service.start()
        self.assertEqual([self.service.call(f"kept-{i}", quantity=2) for i in range(5)], before)
        after = self.service.call("after")
        self.service.kill()
        self.service.start()
        self.assertEqual(self.service.call("after", quantity=2), after)

    def test_calls_at_once_are_one_operation(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: self.service.call("at-once", quantity=n + 1),
                                    range(8)))
        self.assertEqual(len({json.dumps(answer, sort_keys=True) for answer in answers}), 1)

    def test_refuses_what_is_not_a_call(self):
        self.assertEqual(self.service.ask("POST", "/x", "{}")[0], 400)

    def test_the_command_of_the_page_runs_an_order_through_it(self):
        page = (ROOT / f"docs/use/services/{self.page}.md").read_text(encoding="utf-8")
        command = re.search(r"(?m)^    reeve dev (.*)$", page)[1]
        self.assertIn(":8001", command)
        command = command.replace(":8001", f":{self.service.port}")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
            trial = Trial(folder, *shlex.split(command), "--in-memory", "--try")
            try:
                trial.wait_until_ready().wait_for("1 submitted, 0 refused")
                self.assertRegex(trial.text(), r"(?m)^try-\d+ +Processed +Processed ")
            finally:
                trial.stop()
            order = re.search(r"try-\d+", trial.text())[0]
        self.assertIn(f"{order}/TakePayment".encode(), self.service.path.read_bytes())


@unittest.skipUnless(have("fastapi") and have("uvicorn"), "there is no FastAPI here")
class FastApiTest(Promises, unittest.TestCase):
    page = "python"

    @classmethod
    def make(cls, folder):
        return Service(lambda port, path: [sys.executable, "-m", "uvicorn", "payment:app",
                                           "--port", str(port)],
                       folder, lambda path: {"PAYMENTS": str(path)}, SERVICES / "fastapi")


@unittest.skipUnless(shutil.which("node") and EXPRESS.exists(), "there is no Express here")
class NodeTest(Promises, unittest.TestCase):
    page = "node"

    @classmethod
    def make(cls, folder):
        return Service(lambda port, path: ["node", SERVICES / "node/payment.js", str(port), path],
                       folder, lambda path: {"NODE_PATH": str(EXPRESS)})


@unittest.skipUnless(shutil.which("go"), "there is no Go here")
class GoTest(Promises, unittest.TestCase):
    page = "go"

    @classmethod
    def make(cls, folder):
        program = pathlib.Path(folder) / "payment"
        build("go", "build", "-o", program, "payment.go", folder=SERVICES / "go")
        return Service(lambda port, path: [program, str(port), path], folder)


@unittest.skipUnless(shutil.which("javac") and shutil.which("mvn"), "there is no JDK or Maven here")
class JavaTest(Promises, unittest.TestCase):
    page = "java"

    @classmethod
    def make(cls, folder):
        source = pathlib.Path(folder) / "source"
        shutil.copytree(SERVICES / "java", source)
        build("mvn", "-q", "-B", "package", folder=source)
        return Service(lambda port, path: ["java", "-XX:TieredStopAtLevel=1", "-jar",
                                           source / "target/payment-1.jar",
                                           f"--server.port={port}", "--server.address=127.0.0.1",
                                           f"--journal={path}"], folder)


class PagesTest(unittest.TestCase):
    def test_pages_show_the_programs_as_they_are(self):
        for page, program in (("python", "fastapi/payment.py"), ("node", "node/payment.js"),
                              ("go", "go/payment.go"),
                              ("java", "java/src/main/java/shop/Payment.java")):
            text = (ROOT / f"docs/use/services/{page}.md").read_text(encoding="utf-8")
            source = (SERVICES / program).read_text(encoding="utf-8")
            self.assertIn(f"\n{source}```", text, page)


if __name__ == "__main__":
    unittest.main()
