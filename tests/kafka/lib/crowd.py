# SPDX-License-Identifier: Apache-2.0
"""Several instances of each service on one broker, simulated agents, and hundreds of orders, for
tests that crash processes.

    crowd = Crowd(Broker.shared(), schedulers=3)
    names = crowd.submit(200)
    crowd["scheduler-1"].sigkill()
    crowd.wait_for_end(names)
    crowd.findings()                           # a test expects []
"""

import decimal
import json
import os
import pathlib
import unittest

from confluent_kafka.admin import AdminClient

from . import records
from .broker import Broker
from .checker import ENDED, Checker, check, missing, partition_of
from .cluster import Cluster
from .stage import Tail
from .waiting import wait_for

# Two steps that can be undone, then the pivot.
WORKFLOW = {
    "Name": "crowd", "Version": 1, "TimeoutSeconds": 600,
    "Defaults": {"TimeoutSeconds": 30, "Retry": [
        {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.2, "MaxAttempts": 5}]},
    "Steps": [
        {"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}},
        {"Name": "Pay", "Agent": "bank", "Compensate": {"Action": "Refund"}},
        {"Name": "Ship", "Agent": "stock", "Pivot": True},
    ],
}


def state_of(service):
    """The process's state in /proc: T is stopped. None: the process is gone."""
    if service.process is None or service.process.poll() is not None:
        return None
    stat = pathlib.Path(f"/proc/{service.process.pid}/stat").read_text(encoding="utf-8")
    return stat.rsplit(") ", 1)[1].split()[0]


class Crowd:
    def __init__(self, broker, partitions=6, schedulers=1, supervisors=1, workflows=(WORKFLOW,),
                 agents=None, properties=None):
        self.broker = broker
        self.cluster = Cluster(broker, partitions=partitions, properties={
            "session.timeout.ms": 2000, **(properties or {})})
        self.numbers = iter(range(1, 1000000))
        self.tails, self.seen, self.partitions = {}, {}, partitions
        self.events = []
        self.checkers = {number: Checker(number, partitions) for number in range(partitions)}
        # `reeve verify --live` searches one folder level.
        self.live = self.cluster.folder / "live"
        self.live.mkdir()
        self.agents = agents if agents is not None else {"stock": {}, "bank": {}}
        try:
            self._start(schedulers, supervisors, workflows)
        except BaseException:
            self.stop(check=False)
            raise

    def _start(self, schedulers, supervisors, workflows):
        flags = [flag for agent in self.agents for flag in ("--agent", agent)]
        self.cluster.reeve("topics", "apply", "--app", "web", *flags)
        for workflow in workflows:
            path = self.cluster.folder / f"{workflow['Name']}.json"
            path.write_text(json.dumps(workflow), encoding="utf-8")
            self.cluster.workflow_deploy(path)
        self.add("submission", ready=False)
        for number in range(schedulers):
            self.add("scheduler", f"scheduler-{number + 1}", ready=False)
        for number in range(supervisors):
            self.add("supervisor", f"supervisor-{number + 1}", ready=False)
        for name in self.agents:
            self.add_agent(name, ready=False)
        self.wait_ready()

    # ---- services ----

    def add(self, role, name=None, properties=None, **options):
        name = name or role
        service = self.cluster.add(role, name, {"instance.id": name, **(properties or {})},
                                   **options)
        (self.live / name).symlink_to(service.data)
        return service

    def add_agent(self, agent, name=None, properties=None, **options):
        return self.add("agent", name or f"agent-{agent}", {
            "agent.name": agent, "agent.kind": "sim", **self.agents[agent], **(properties or {})},
            **options)

    def __getitem__(self, name):
        return self.cluster[name]

    def running(self, role):
        return [service for service in self.cluster.services.values()
                if service.role == role and service.is_running]

    def wait_ready(self, seconds=60):
        for service in self.cluster.services.values():
            if service.is_running:
                service.wait_ready(seconds)

    def wait_killed(self, service, seconds=30):
        """Waits until a failpoint has killed the service."""
        code = service.wait_end(seconds)
        if code != -9:
            raise AssertionError(f"{service.name} ended with {code}:\n{service.tail()}")

    def stop(self, check=True):
        for tail in self.tails.values():
            tail.close()
        self.tails = {}
        self.cluster.stop(check)

    # ---- orders ----

    def name_for(self, partition=None):
        """A new order id, on that partition."""
        while True:
            name = f"order-{next(self.numbers)}"
            if partition is None or partition_of(name, self.partitions) == partition:
                return name

    def order(self, order_id, workflow="crowd", **more):
        return {"order_id": order_id, "customer": "17850", "currency": "GBP",
                "lines": [{"sku": "85123A", "description": "WHITE HANGING HEART", "quantity": 6,
                           "unit_price": decimal.Decimal("2.5500")}],
                "attributes": {}, "priority": "normal",
                "reply_to": self.cluster.topic("replies.web"), "workflow": workflow,
                "workflow_version": 0, "traceparent": "", "content_hash": None, **more}

    def submit(self, count=1, workflow="crowd", partition=None):
        """Submits orders with a third-party client; returns their ids."""
        names = [self.name_for(partition) for _ in range(count)]
        self.cluster.produce("submissions", [
            (name, records.local_schemas().encode("SubmitOrder", self.order(name, workflow)))
            for name in names], seconds=60)
        return names

    def submit_until(self, what, condition, seconds=40, count=24, **options):
        """Submits `count` orders at a time until condition() is true; returns their ids."""
        names = []

        def submit_more():
            names.extend(self.submit(count, **options))
            return condition()

        wait_for(what, submit_more, seconds, 0.2)
        return names

    def load_until_killed(self, service, **options):
        """Submits orders until a failpoint kills the service; returns their ids."""
        names = self.submit_until(lambda: f"{service.name} dies:\n{service.tail()}",
                                  lambda: state_of(service) is None, **options)
        self.wait_killed(service)
        return names

    def load_until_stopped(self, service, **options):
        return self.submit_until(lambda: f"{service.name} stops:\n{service.tail()}",
                                 lambda: state_of(service) == "T", **options)

    # ---- outcomes: only admitted Decisions count ----

    def tail(self, name):
        if name not in self.tails:
            self.tails[name] = Tail(self.broker.bootstrap, self.cluster.topic(name))
        return self.tails[name].look()

    def look(self):
        found = self.tail("events")
        for record in found[len(self.events):]:
            self.events.append(record)
            self.checkers[record.partition].record(record)
        return self.events

    def skipped(self):
        self.look()
        return sum(checker.skipped for checker in self.checkers.values())

    def state(self, name):
        order = self.checkers[partition_of(name, self.partitions)].orders.get(name)
        return order.state if order is not None else None

    def ended(self, names):
        self.look()
        return [name for name in names if self.state(name) in ENDED | {"Error"}]

    def wait_for_ends(self, names, count, seconds=60):
        wait_for(lambda: f"{count} of {len(names)} orders end; {len(self.ended(names))} have",
                 lambda: len(self.ended(names)) >= count, seconds)

    def wait_for_end(self, names, seconds=60):
        def describe():
            ended = set(self.ended(names))
            left = [f"{name} on {partition_of(name, self.partitions)}: {self.state(name)}"
                    for name in names if name not in ended]
            tails = "\n".join(f"--- {service.name}\n{service.tail(12)}"
                              for service in self.cluster.services.values())
            return f"all orders end; {len(left)} of {len(names)} have not: {left[:10]}\n{tails}"

        wait_for(describe, lambda: len(self.ended(names)) == len(names), seconds)

    def claims(self, partition=None):
        """The Claims, in log order."""
        return [record for record in self.look() if record.type == "Claim"
                and partition in (None, record.partition)]

    def owners(self):
        """Partition -> the instance of its latest claim."""
        return {claim.partition: claim.value["instance"] for claim in self.claims()}

    def admitted(self):
        """(partition, offset, Decision) of each admitted Decision."""
        self.look()
        return [(number, offset, decision) for number, checker in self.checkers.items()
                for offset, decision in sorted(checker.admitted.items())]

    # ---- the stores ----

    def digests(self, service):
        """Partition -> digest; the error's text if the store cannot be read."""
        status, body = service.get("/stores", seconds=30)
        if status != 200:
            raise AssertionError(f"{service.name}: GET /stores: {status} {body}")
        return {row["partition"]: row.get("digest") or row["error"]
                for row in json.loads(body)["partitions"]}

    def caught_up(self, service):
        """Its stores have the whole log, and nothing is in progress."""
        status, body = service.get("/stores", seconds=30)
        if status != 200:
            return False
        ends = {}
        for record in self.look():
            ends[record.partition] = record.offset + 1
        return all(row["next_event_offset"] >= ends.get(row["partition"], 0)
                   for row in json.loads(body)["partitions"])

    # ---- at the end of a class ----

    def settled(self):
        self.look()
        commands = {(r.partition, r.offset) for r in self.tail("commands")}
        decided = {(number, offset) for number, checker in self.checkers.items()
                   for offset in checker.consumed}
        return commands <= decided

    def missing_requests(self):
        """Steps that started without a request to their agent. (For orders without timeouts.)"""
        sent = {(r.value["order_id"], r.value["step"], r.value["direction"], r.value["attempt"])
                for name in self.agents for r in self.cluster.read_topic(f"requests.{name}")}
        return [(decision["order_id"], event["step"], event["direction"], event["attempt"])
                for _, _, decision in self.admitted() for event in decision["events"]
                if event["_type"] == "StepStarted" and event["agent"] in self.agents
                and (decision["order_id"], event["step"], event["direction"], event["attempt"])
                not in sent]

    def missing_statuses(self):
        return [line for line in missing(self.cluster, ["replies.web"]) if "no status" in line]

    def findings(self):
        """Every broken rule in all records and in the ledgers; also compares the stores with the
        log."""
        wait_for(lambda: "every command is decided:\n" + "\n".join(
            f"--- {service.name}\n{service.tail(8)}" for service in self.running("scheduler")),
            self.settled, 40)
        replies = ["replies.web"]
        simulated = [name for name, properties in self.agents.items()
                     if properties.get("agent.kind", "sim") == "sim"]
        wait_for(lambda: "every status, alert and dead letter is there, and are not: "
                         f"{missing(self.cluster, replies)[:5]}",
                 lambda: not missing(self.cluster, replies), 20, 0.3)
        return check(self.cluster, effects=[f"requests.{name}" for name in self.agents],
                     replies=replies, agents=simulated) + self.verify()

    def verify(self):
        done = self.cluster.reeve("verify", "--live", self.live, check=False, seconds=120)
        return [] if done.returncode == 0 else [f"verify: {done.stdout}{done.stderr}"]


def failpoints_in(*files):
    """The names of the failpoints in these source files."""
    import re

    from . import paths
    names = set()
    for file in files:
        text = (paths.ROOT / file).read_text(encoding="utf-8")
        names |= set(re.findall(r'FAILPOINT(?:_ERROR)?\("([a-z._]+)"\)', text))
    return names


def delete_topic(crowd, name):
    client = AdminClient({"bootstrap.servers": crowd.broker.bootstrap})
    topic = crowd.cluster.topic(name)
    for future in client.delete_topics([topic], operation_timeout=30).values():
        future.result(30)
    wait_for(f"{topic} is gone", lambda: topic not in crowd.cluster.topics(), 30)


def flip_bit(path, share=0.5):
    """Flips one bit of a file, at this fraction of its length."""
    size = os.path.getsize(path)
    at = min(int(size * share), size - 1)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x10]))
    return at


class CrowdTest(unittest.TestCase):
    """Tests that share one crowd. After the last test, everything that it wrote is checked."""

    @classmethod
    def start_crowd(cls, **options):
        cls.broker = Broker.shared()
        cls.addClassCleanup(cls.broker.stop)
        cls.crowd = Crowd(cls.broker, **options)
        cls.addClassCleanup(cls.crowd.stop)

    @classmethod
    def tearDownClass(cls):
        findings = cls.crowd.findings()
        if findings:
            raise AssertionError("\n".join(findings))
