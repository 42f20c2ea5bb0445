# SPDX-License-Identifier: Apache-2.0
"""The broker is killed under load, or while orders wait, and restarted: every service resumes by
itself, and nothing is lost or decided twice."""

import datetime
import json
import threading
import time
import unittest
import urllib.error
import urllib.request

from lib import Broker, records, wait_for
from lib.crowd import Crowd
from lib.load import Load
from lib.remote import Answer, RemoteServices

OWN_BROKERS = True
TIMEOUT_SECONDS = 900


class BrokerCrashTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, schedulers=2, supervisors=2)
        self.addCleanup(self.crowd.stop)
        self.crowd.cluster.expect_alerts("Stalled")  # if the broker is away for 15 s

    def test_every_service_resumes_by_itself(self):
        crowd = self.crowd
        crowd.add("console", "console")
        pids = {name: service.process.pid for name, service in crowd.cluster.services.items()}
        load = Load(crowd)
        for crash in (1, 2):
            count = len(crowd.ended(load.begun))
            wait_for(f"orders end before crash {crash}",
                     lambda count=count: len(crowd.ended(load.begun)) >= count + 40, 60)
            self.broker.kill()
            wait_for("orders wait for acknowledgements", lambda: load.unanswered >= 20, 30)
            self.broker.restart()
        names = load.finish()
        self.assertEqual(load.acknowledged, set(names))
        crowd.wait_for_end(names, 90)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        # The same processes: none exited and none was restarted.
        self.assertEqual(pids, {name: service.process.pid
                                for name, service in crowd.cluster.services.items()
                                if service.is_running})
        crowd.wait_ready()
        self.assertEqual(load.lost(), set())
        self.assertEqual(crowd.missing_requests(), [])
        self.assertEqual(crowd.findings(), [])


def holds_partitions(member):
    """A member that was in the middle of a rebalance when its broker was killed has given them up
    already; one that was not loses them when its session ends."""
    log = member.stderr
    return log.rfind('"partitions assigned"') > log.rfind('"partitions revoked"')


class StaticMembersTest(unittest.TestCase):
    """A static member whose session ends while the broker is away may be fenced by its own earlier
    membership: by a commit that was on its way. No process exits for that."""

    def test_static_members_survive_outages_longer_than_their_sessions(self):
        broker = Broker()
        self.addCleanup(broker.stop)
        crowd = Crowd(broker, schedulers=3, supervisors=2,
                      properties={"group.static": "true", "session.timeout.ms": 1000})
        self.addCleanup(crowd.stop)
        crowd.cluster.expect_alerts("Stalled")  # if the broker is away for 15 s
        pids = {name: service.process.pid for name, service in crowd.cluster.services.items()}
        members = crowd.running("scheduler") + crowd.running("supervisor")
        load = Load(crowd)
        for crash in (1, 2, 3):
            count = len(crowd.ended(load.begun))
            wait_for(f"orders end before crash {crash}",
                     lambda count=count: len(crowd.ended(load.begun)) >= count + 40, 60)
            crowd.wait_ready()
            broker.kill()
            wait_for(lambda: "every session has ended, but not of\n" + "\n".join(
                member.tail() for member in members if holds_partitions(member)),
                     lambda: not any(holds_partitions(member) for member in members), 60)
            broker.restart()
        names = load.finish()
        self.assertEqual(load.acknowledged, set(names))
        crowd.wait_for_end(names, 90)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        crowd.wait_ready()
        self.assertEqual(pids, {name: service.process.pid
                                for name, service in crowd.cluster.services.items()
                                if service.is_running})
        self.assertEqual(crowd.findings(), [])


# What waits for a moment, for an answer and for orders of its own, all at once.
ITEMS, FIRST = 5, 2
WAITING = {"Name": "waiting", "Version": 1, "Defaults": {"TimeoutSeconds": 600}, "Steps": [
    {"Name": "Begin", "Agent": "stock"},
    {"Name": "Soon", "After": [], "Wait": {"Timestamp": "input.soon"}},
    {"Name": "Later", "After": [], "Wait": {"Timestamp": "input.later"}},
    {"Name": "Asked", "After": [], "Await": {}, "TimeoutSeconds": 600},
    {"Name": "Parts", "After": [], "ForEach": {"Items": list(range(ITEMS)), "MaxConcurrency": 2},
     "Steps": [{"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}}]},
    {"Name": "End", "Agent": "bank", "After": ["Begin", "Soon", "Later", "Asked", "Parts"]}]}
ORDERS = 6
SOON_SECONDS, LATER_SECONDS = 40, 120  # from now: within the outage, and after it


class WaitingOrdersTest(unittest.TestCase):
    """Orders wait while no broker runs: for a moment of the outage, for one after it, for a signal,
    and for calls that services answer during the outage."""

    def setUp(self):
        self.broker = Broker()
        self.addCleanup(self.broker.stop)
        self.answers = threading.Event()  # of the items after the first ones
        self.services = RemoteServices(self.answer_of)
        self.addCleanup(self.services.stop)
        self.addCleanup(self.answers.set)
        self.crowd = Crowd(
            self.broker, partitions=4, schedulers=2, supervisors=2, workflows=(WAITING,),
            agents={agent: {"agent.kind": "http", "agent.http.url": f"{self.services.url}/{agent}",
                            "agent.http.try.timeout.ms": 300000} for agent in ("stock", "bank")})
        self.addCleanup(self.crowd.stop)
        self.crowd.cluster.expect_alerts("Stalled")  # if the broker is away for 15 s

    def answer_of(self, order_id, _):
        if order_id.count("~") and int(order_id.rsplit("~", 1)[1]) >= FIRST:
            self.answers.wait()
        return Answer()

    # ---- orders ----

    def submit(self, soon_ms, later_ms):
        times = {name: datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).isoformat(
            timespec="milliseconds") for name, ms in (("soon", soon_ms), ("later", later_ms))}
        names = [self.crowd.name_for() for _ in range(ORDERS)]
        self.crowd.cluster.produce("submissions", [
            (name, records.local_schemas().encode("SubmitOrder", self.crowd.order(
                name, "waiting", input=json.dumps(times)))) for name in names])
        return names

    def events(self, name, kind, step):
        """(decided_at, event) of each that counts."""
        return [(decision["decided_at"], event) for _, _, decision in self.crowd.admitted()
                if decision["order_id"] == name for event in decision["events"]
                if event["_type"] == kind and event.get("step") == step]

    def is_open(self, name):
        """It waits for all it can wait for, and some of its items have ended."""
        return all(self.events(name, "StepWaiting", step) for step in ("Soon", "Later", "Asked")) \
            and len(self.events(name, "SuborderEnded", "Parts")) == FIRST

    def signal_by_http(self, name):
        """The status of the answer; None: there was none."""
        port = self.crowd["submission"].http_port()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/orders/{name}/signals/Asked",
            json.dumps({"id": "only", "payload": "yes"}).encode(),
            {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def signal_by_kafka(self, name):
        self.crowd.cluster.produce("commands", [(name, records.local_schemas().encode(
            "SignalOrder", {"order_id": name, "step": "Asked", "id": "only", "by": "ann",
                            "payload": '"yes"', "groups": [], "reply_to": "",
                            "submitted_by": ""}))])

    # ---- the outage ----

    def wait_until_all_notice(self):
        for service in self.crowd.cluster.services.values():
            wait_for(lambda service=service: f"{service.name} notices that no broker runs:\n"
                     f"{service.get('/readyz')}",
                     lambda service=service: service.get("/readyz")[0] == 503, 90)

    def test_orders_that_wait_outlast_an_outage(self):
        crowd = self.crowd
        pids = {name: service.process.pid for name, service in crowd.cluster.services.items()}
        now = round(time.time() * 1000)
        soon, later = now + SOON_SECONDS * 1000, now + LATER_SECONDS * 1000
        names = self.submit(soon, later)
        wait_for("all orders wait for everything", lambda: all(map(self.is_open, names)), 90, 0.2)
        for node in range(self.broker.nodes):
            self.broker.kill(node + 1)
        self.assertLess(time.time() * 1000, soon, "a moment passed before the outage")
        self.wait_until_all_notice()
        refused = self.signal_by_http(names[0])
        self.assertTrue(refused is None or refused >= 500, refused)
        self.answers.set()
        wait_for("the moment passes", lambda: time.time() * 1000 > soon + 500, SOON_SECONDS + 10)
        restarted = time.time() * 1000
        self.broker.restart()
        crowd.wait_ready(120)
        self.assertLess(time.time() * 1000, later, "the other moment passed during the outage")
        for name in names[::2]:
            self.assertEqual(self.signal_by_http(name), 202)
        for name in names[1::2]:
            self.signal_by_kafka(name)
        crowd.wait_for_end(names, LATER_SECONDS + 60)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        self.assertEqual(pids, {name: service.process.pid
                                for name, service in crowd.cluster.services.items()
                                if service.is_running})
        for name in names:
            with self.subTest(name):
                self.check_waits(name, {"Soon": max(soon, restarted), "Later": later,
                                        "Asked": restarted})
        self.check_services(names)
        self.assertEqual(crowd.missing_requests(), [])
        self.assertEqual(crowd.findings(), [])

    def check_waits(self, name, earliest):
        for step, at_ms in earliest.items():
            (passed,) = self.events(name, "StepPassed", step)
            self.assertGreaterEqual(passed[0], at_ms, step)

    def check_services(self, names):
        """Each step has happened once, by its one key."""
        happened = {(name, step) for name in names for step in ("Begin", "End")} | {
            (f"{name}~Parts~{item}", "Reserve") for name in names for item in range(ITEMS)}
        self.assertEqual(set(self.services.kept), happened)
        self.assertEqual({len(keys) for keys in self.services.kept.values()}, {1})
        self.assertEqual({len(keys) for keys in self.services.asked.values()}, {1})


if __name__ == "__main__":
    unittest.main()
