# SPDX-License-Identifier: Apache-2.0
"""compose/ on a Docker engine of the test's own: builds the images of compose/Dockerfile, runs
`docker-compose up` until every health check passes, submits orders, kills a scheduler, `down`.

The tests pull no images; stand_ins/ replaces them. Where no engine can run, the tests are skipped
with the reason; REEVE_COMPOSE_TEST=no skips them everywhere.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from lib.engine import GIB, engine_for
from lib.paths import KAFKA, ROOT, new_folder
from lib.waiting import wait_for

TIMEOUT_SECONDS = 2400
OWN_BROKERS = True

CACHE = pathlib.Path(os.environ.get("REEVE_CACHE") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reeve")
STAND_INS = ROOT / "tests" / "kafka" / "stand_ins"
FILE = ROOT / "compose" / "docker-compose.yml"
LONG = 600  # seconds; the limit for any operation on a loaded machine

# Runs inside the engine's network; argument 1 is the URL, 2 the token or nothing, standard input
# the body of a POST. Prints the answer, also one that is an error.
FETCH = """
import sys, urllib.error, urllib.request
headers = {"Content-Type": "application/json"}
if sys.argv[2]:
    headers["Authorization"] = "Bearer " + sys.argv[2]
request = urllib.request.Request(sys.argv[1], sys.stdin.buffer.read() or None, headers)
try:
    answer = urllib.request.urlopen(request, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(answer.read().decode())
"""


def image_of(service):
    """The image's name in docker-compose.yml."""
    return re.search(rf"image: (\S*{service}:\S+)", FILE.read_text(encoding="utf-8")).group(1)


def say(text):
    print(f"# {text}", file=sys.stderr, flush=True)


# ---- stand-ins ---------------------------------------------------------------------------------


def build(engine, image, context, *options):
    engine.build(image, context, *options)
    say(f"built {image}")


@contextlib.contextmanager
def context_of(name):
    """A folder in which to build a stand-in; callers may add files."""
    folder = new_folder(name) / name
    shutil.copytree(STAND_INS / name, folder)
    yield folder
    shutil.rmtree(folder.parent)


def build_kafka(engine):
    subprocess.run([KAFKA, "fetch"], check=True)
    version = image_of("kafka").partition(":")[2]
    java = pathlib.Path(shutil.which("java")).resolve().parent.parent
    with context_of("kafka") as folder:
        shutil.copytree(java, folder / "java", ignore_dangling_symlinks=True,
                        ignore=shutil.ignore_patterns("jmods", "src.zip", "demo", "ct.sym"))
        shutil.copytree(CACHE / f"kafka-{version}" / "libs", folder / "libs")
        build(engine, image_of("kafka"), folder)


def build_monitoring(engine):
    import yaml  # pylint: disable=import-outside-toplevel
    with context_of("prometheus") as folder:
        for program in ("prometheus", "promtool"):
            shutil.copy(CACHE / "prometheus" / program, folder)
        shutil.copy(STAND_INS / "wget", folder)
        build(engine, image_of("prometheus"), folder)
    with context_of("grafana") as folder:
        shutil.copytree(pathlib.Path(yaml.__file__).parent, folder / "yaml",
                        ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        shutil.copy(STAND_INS / "wget", folder)
        build(engine, image_of("grafana"), folder)


def build_all(engine):
    for target, image in (("reeve", "reeve:latest"), ("shop", "reeve-shop:latest")):
        build(engine, image, ROOT, "-f", str(ROOT / "compose" / "Dockerfile"), "--target", target)
    build_kafka(engine)
    build_monitoring(engine)


# ---- the tests ---------------------------------------------------------------------------------


class ComposeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Both ways to run the engine are tried before anything that takes long.
        cls.engine = engine_for(cls, 5 * GIB, ("compose", "broker"), networks=(True, False))
        say(f"an engine runs here, with {cls.engine.storage} "
            f"{'in memory' if cls.engine.in_memory else 'on disk'}")
        build_all(cls.engine)
        cls.engine.stop()
        cls.engine.start(own_network=True)
        cls.addClassCleanup(cls.down)
        cls.up()
        say("up")
        wait_for(cls.describe, cls.all_healthy, LONG, poll_seconds=0.5)
        say("healthy")

    # ---- what the tests do with it ----

    @classmethod
    def compose(cls, *arguments, **options):
        return cls.engine.run("docker-compose", "--project-name", "reeve", "--file", str(FILE),
                              *arguments, **options).stdout

    @classmethod
    def reeve(cls, *arguments, **options):
        return cls.compose("exec", "-T", "console", "reeve", *arguments, **options)

    @classmethod
    def fetch(cls, url, body="", token_of="operator"):
        """`token_of`: the file in compose/secrets; "" = none."""
        path = ROOT / "compose" / "secrets" / f"{token_of}-token"
        token = path.read_text(encoding="utf-8").strip() if token_of else ""
        return cls.engine.run("/usr/bin/python3", "-c", FETCH, url, token, input=body).stdout

    @classmethod
    def up(cls):
        """`up`; a second time if a slow machine started a broker so late that another gave up."""
        arguments = ("docker-compose", "--project-name", "reeve", "--file", str(FILE), "up", "-d",
                     "--no-build")
        first = cls.engine.run(*arguments, check=False, timeout=900)
        if first.returncode != 0:
            say(f"a second up, after: {first.stdout.strip()[-200:]}")
            cls.engine.run(*arguments, timeout=900)

    @classmethod
    def down(cls):
        cls.compose("--profile", "load", "down", "--volumes", check=False)
        say("down")

    @classmethod
    def containers(cls):
        """The output of docker inspect for each container."""
        ids = cls.engine.run("docker", "ps", "--all", "--quiet").stdout.split()
        return json.loads(cls.engine.run("docker", "inspect", *ids).stdout)

    @classmethod
    def states(cls):
        """Container -> healthy, starting, running, exited with 0 and so on."""
        found = {}
        for container in cls.containers():
            state = container["State"]
            word = state.get("Health", {}).get("Status") if state["Running"] else None
            found[container["Name"].lstrip("/")] = word or (
                f"{state['Status']} {state['ExitCode']}")
        return found

    @classmethod
    def all_healthy(cls):
        states = cls.states()
        jobs = {"reeve_topics_1", "reeve_workflows_1"}
        assert all(states[job] == "exited 0" for job in jobs), states
        return all(state == "healthy" for name, state in states.items() if name not in jobs)

    @classmethod
    def describe(cls):
        logs = cls.compose("logs", "--no-color", "--tail=5", check=False)
        return f"all are healthy: {cls.states()}\n{logs}"

    @classmethod
    def counts(cls):
        return json.loads(cls.fetch("http://127.0.0.1:8080/api/counts"))["by_state"]

    def ended(self):
        counts = self.counts()
        return sum(counts.get(state, 0) for state in ("Processed", "Compensated", "Error"))

    # ---- the tests ----

    def test_containers_are_confined(self):
        scaled = {"submission", "scheduler", "supervisor", "console", "agent-stock",
                  "agent-payment", "agent-carrier"}
        names = {container["Name"].lstrip("/") for container in self.containers()}
        for service in scaled:
            self.assertLessEqual({f"reeve_{service}_1", f"reeve_{service}_2"}, names)
        for container in self.containers():
            with self.subTest(container["Name"]):
                host, config = container["HostConfig"], container["Config"]
                self.assertNotIn(config["User"], ("", "0", "root"))
                self.assertTrue(host["ReadonlyRootfs"])
                self.assertEqual(host["CapDrop"], ["ALL"])
                self.assertFalse(host["CapAdd"] or host["Privileged"])
                self.assertIn("no-new-privileges:true", host["SecurityOpt"])
                self.assertGreater(host["Memory"], 0)
                self.assertGreater(host["NanoCpus"], 0)
                self.assertGreater(host["PidsLimit"], 0)
                for bindings in (host["PortBindings"] or {}).values():
                    self.assertEqual({b["HostIp"] for b in bindings}, {"127.0.0.1"})
                self.assertNotRegex(" ".join(config["Env"]), "trial")

    def test_the_console_finds_every_container(self):
        scaled = ("submission", "scheduler", "supervisor", "agent", "agent", "agent", "console")

        def all_listed():
            rows = json.loads(self.fetch("http://127.0.0.1:8080/api/services"))["services"]
            assert not any(row["error"] for row in rows), rows
            assert sorted(row["service"] for row in rows) == sorted(2 * scaled), rows
            return len({row["instance"] for row in rows}) == len(rows)

        wait_for("the console lists all services", all_listed, LONG)

    def test_ports_ask_for_tokens(self):
        for url, token_of, code in (
                ("http://127.0.0.1:8080/api/counts", "", "NoToken"),
                ("http://127.0.0.1:8081/api/counts", "application", "Forbidden"),
                ("http://127.0.0.1:8070/metrics", "", "NoToken")):
            with self.subTest(url):
                self.assertEqual(json.loads(self.fetch(url, token_of=token_of))["code"], code)
        self.assertIn("console", self.reeve("services"))
        self.assertIn("OK", self.reeve("owners"))

    def test_topics_have_three_replicas(self):
        self.assertIn("OK: all topics are as expected",
                      self.reeve("topics", "check", "--app", "web"))

    def test_an_order_submitted_by_http_is_processed(self):
        path = ROOT / "examples/third_party_client/order.json"
        order = json.loads(path.read_text(encoding="utf-8"))
        order.pop("reply_to", None)
        answer = json.loads(self.fetch("http://127.0.0.1:8070/orders", json.dumps(order),
                                       "application"))
        self.assertEqual(answer["order_id"], order["order_id"])

        def has_ended():
            shown = json.loads(self.fetch(f"http://127.0.0.1:8081/api/orders/{order['order_id']}"))
            return shown["state"] in ("Processed", "Compensated")

        wait_for("the order ended", lambda: self.ended() > 0 and has_ended(), LONG)

    def test_orders_end_when_a_scheduler_is_killed(self):
        os.environ["LOAD_RATE"] = "8"  # per second; docker-compose.yml reads it
        self.compose("--profile", "load", "up", "-d", "--no-build", "load")
        wait_for("20 orders ended", lambda: self.ended() >= 20, LONG)
        self.engine.run("docker", "kill", "--signal=KILL", "reeve_scheduler_1")
        before = self.ended()
        wait_for("80 more ended", lambda: self.ended() >= before + 80, LONG)
        self.compose("--profile", "load", "rm", "--stop", "--force", "load")
        self.assertEqual(self.states()["reeve_scheduler_1"], "exited 137")

        def none_is_open():
            counts = self.counts()
            assert not any(counts.get(state) for state in
                           ("Pending", "Processing", "Compensating")), counts
            return True

        wait_for("all orders ended", none_is_open, LONG)
        verified = self.reeve("verify")
        self.assertTrue(verified.startswith("OK: ") and ", no violations" in verified, verified)
        self.engine.run("docker", "start", "reeve_scheduler_1")
        wait_for("the scheduler is back", lambda: self.states()["reeve_scheduler_1"] == "healthy",
                 LONG)

    def test_prometheus_scrapes_everything_and_the_dashboard_has_data(self):
        def all_up():
            targets = json.loads(self.fetch("http://127.0.0.1:9090/api/v1/targets"))
            ups = [t["labels"].get("service") for t in targets["data"]["activeTargets"]
                   if t["health"] == "up"]
            return len(ups) >= 15 and len(set(ups)) == 8

        wait_for("Prometheus sees 14 instances and itself", all_up, LONG)

        def nothing_is_missing():
            found = json.loads(self.fetch("http://127.0.0.1:3000/report"))
            assert len(found) > 30, found
            missing = [query for query, series in found.items() if series == 0]
            assert not missing, missing
            return True

        wait_for("each query finds series", nothing_is_missing, LONG, poll_seconds=1)
        rules = json.loads(self.fetch("http://127.0.0.1:9090/api/v1/rules"))
        states = {rule["name"]: rule["health"] for group in rules["data"]["groups"]
                  for rule in group["rules"]}
        self.assertGreaterEqual(len(states), 5)
        wait_for("rules are evaluated", lambda: set(states.values()) <= {"ok", "unknown"}, 1)

    def test_up_again_changes_nothing(self):
        before = {name for name, state in self.states().items() if state != "exited 0"}
        self.up()
        wait_for(self.describe, self.all_healthy, LONG, poll_seconds=0.5)
        self.assertLessEqual(before, set(self.states()))


if __name__ == "__main__":
    unittest.main()
