# SPDX-License-Identifier: Apache-2.0
"""One broker, one set of services and their applications, shared by the tests of a class.

    class FlowTest(StageTest):
        workflows = [paths.ROOT / "examples/workflows/order-fulfilment.yaml"]

        def test_something(self):
            self.stage.submit("1", "order-fulfilment")
            events = self.stage.wait_for_end("1", "Processed")

Each test uses its own order ids. After the last test, everything that was written is checked: the
log, its effects, the statuses, and the shop's ledger.
"""

import dataclasses
import decimal
import json
import unittest

import confluent_kafka

from . import records
from .broker import Broker
from .checker import check, missing
from .cluster import Cluster
from .shop import Shop, check_books
from .waiting import wait_for

MARGIN_MS = 400  # clock.skew.max.ms: what a timeout waits beyond complete_by
ENDS = ("Processed", "Compensated")  # final; an operator can still resume from Error


class Tail:
    """Follows a topic from its beginning, or from its end: look() reads up to the current end."""

    def __init__(self, bootstrap, topic, from_end=False):
        self.records = []
        self._consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": "tail", "enable.auto.commit": False,
            "auto.offset.reset": "error", "fetch.wait.max.ms": 20})
        found = self._consumer.list_topics(topic, timeout=30).topics[topic]
        self._next = {number: self._range(topic, number)[from_end] for number in found.partitions}
        self._topic = topic
        self._consumer.assign([confluent_kafka.TopicPartition(topic, number, start)
                               for number, start in self._next.items()])

    def _range(self, topic, number):
        return records.watermarks(self._consumer,
                                  confluent_kafka.TopicPartition(topic, number), 30)

    def look(self):
        ends = {number: self._range(self._topic, number)[1] for number in self._next}
        while any(self._next[number] < end for number, end in ends.items()):
            message = records.poll(self._consumer, 30)
            if message is None:
                raise AssertionError(f"{self._topic}: nothing more before {ends}")
            self.records.append(records.to_record(message, records.local_schemas()))
            self._next[message.partition()] = message.offset() + 1
        return self.records

    def close(self):
        self._consumer.close()


@dataclasses.dataclass
class Seen:
    """An event, its position, and the Decision that contains it."""

    type: str
    event: dict
    decision: dict
    partition: int
    offset: int

    @property
    def what(self):
        """"StepStarted TakePayment do 1", for readable comparisons."""
        names = ("step", "direction", "attempt")
        if self.type == "CommandRejected" or "attempt" not in self.event:
            return self.type
        return " ".join([self.type, *(str(self.event[name]) for name in names)])


class Stage:
    def __init__(self, workflows, http_agents=("stock", "payment", "carrier"), sim_agents=None,
                 silent_agents=(), applications=("web",), schedulers=1, supervisors=1,
                 console=False, scheduler_properties=None):
        self.broker = Broker.shared()
        self.cluster = Cluster(self.broker, partitions=3,
                               properties={"clock.skew.max.ms": MARGIN_MS})
        self.applications = applications
        self.silent_agents = silent_agents
        self.http_agents = http_agents
        self.shop = None
        self._tails = {}
        self._producer = confluent_kafka.Producer({
            "bootstrap.servers": self.broker.bootstrap, "acks": "all", "enable.idempotence": True,
            "partitioner": "murmur2_random", "linger.ms": 0})
        try:
            self._start(workflows, http_agents, sim_agents or {}, schedulers, supervisors, console,
                        scheduler_properties)
        except BaseException:
            self.stop(check=False)
            raise

    def _start(self, workflows, http_agents, sim_agents, schedulers, supervisors, console,
               scheduler_properties):
        cluster = self.cluster
        cluster.reeve("topics", "apply", *(flag for application in self.applications
                                           for flag in ("--app", application)))
        for number, workflow in enumerate(workflows):
            if isinstance(workflow, dict):
                path = cluster.folder / f"workflow-{number}.json"
                path.write_text(json.dumps(workflow), encoding="utf-8")
                workflow = path
            cluster.workflow_deploy(workflow)
        self.shop = Shop(cluster.folder) if http_agents else None
        cluster.add("submission", ready=False)
        for number in range(schedulers):
            cluster.add("scheduler", ready=False, properties={
                "instance.id": f"scheduler-{number}", **(scheduler_properties or {}),
                # Agents that a test plays itself publish no AgentHealth.
                **({"routing.enabled": "false"} if self.silent_agents else {})})
        for number in range(supervisors):
            cluster.add("supervisor", ready=False,
                        properties={"instance.id": f"supervisor-{number}"})
        for name in http_agents:
            self.add_agent(name, {"agent.kind": "http",
                                  "agent.http.url": f"{self.shop.url}/{name}"})
        for name, properties in sim_agents.items():
            self.add_agent(name, {"agent.kind": "sim", **properties})
        if console:
            cluster.add("console", name="console", ready=False)
        for service in cluster.services.values():
            service.wait_ready(60)

    def add_agent(self, name, properties, instance=None):
        return self.cluster.add("agent", name=instance or f"agent-{name}", ready=False, properties={
            "agent.name": name, "instance.id": instance or f"agent-{name}", **properties})

    def stop(self, check=True):
        for tail in self._tails.values():
            tail.close()
        try:
            self.cluster.stop(check)
        finally:
            if self.shop is not None:
                self.shop.stop()
            self.broker.stop()

    # ---- records of applications and operators ----

    def order(self, order_id, workflow, application="web", quantity=2, price="12.5000", **more):
        return {"order_id": order_id, "customer": "17850", "currency": "GBP",
                "lines": [{"sku": "85123A", "description": "WHITE HANGING HEART",
                           "quantity": quantity, "unit_price": decimal.Decimal(price)}],
                "attributes": {"gift": "no", "country": "United Kingdom"}, "priority": "normal",
                "reply_to": self.cluster.topic(f"replies.{application}"), "workflow": workflow,
                "workflow_version": 0, "traceparent": "", "content_hash": None, **more}

    def send(self, topic, kind, value):
        """Appends a record encoded by fastavro; returns its (partition, offset)."""
        raw = records.local_schemas().encode(kind, value)
        done = []
        self._producer.produce(self.cluster.topic(topic), raw, key=value["order_id"],
                               on_delivery=lambda error, message: done.append((error, message)))
        self._producer.flush(30)
        if not done or done[0][0] is not None:
            raise AssertionError(f"{kind} was not acknowledged: {done}")
        return done[0][1].partition(), done[0][1].offset()

    def submit(self, order_id, workflow, **more):
        return self.send("submissions", "SubmitOrder", self.order(order_id, workflow, **more))

    def cancel(self, order_id, reason="ordered twice", application=""):
        reply_to = self.cluster.topic(f"replies.{application}") if application else ""
        return self.send("submissions", "CancelOrder", {
            "order_id": order_id, "by": "customer", "reason": reason, "reply_to": reply_to})

    def operator(self, kind, order_id, reason, **more):
        """ResubmitStep, CompensateOrder, CancelOrder to the commands topic."""
        return self.send("commands", kind, {"order_id": order_id, "by": "olga", "reason": reason,
                                            **more})

    def resubmit(self, order_id, reason):
        """Returns once it is decided, so that a later wait does not see the old end."""
        def answers():
            return sum(event.what in ("OrderResumed", "CommandRejected")
                       for event in self.events(order_id))

        before = answers()
        self.operator("ResubmitStep", order_id, reason, step="")
        wait_for(lambda: f"the resubmission of {order_id} is decided; {self.describe(order_id)}",
                 lambda: answers() > before, 60)

    def ask_console(self, *arguments):
        """Runs `reeve ARGUMENTS` against this stage's console; returns its JSON lines."""
        url = f"http://127.0.0.1:{self.cluster['console'].http_port()}"
        done = self.cluster.reeve(*arguments, "--console", url, "--output", "jsonl")
        return [json.loads(line) for line in done.stdout.splitlines()]

    # ---- outcomes ----

    def tail(self, name):
        if name not in self._tails:
            self._tails[name] = Tail(self.broker.bootstrap, self.cluster.topic(name))
        return self._tails[name].look()

    def events(self, order_id):
        """All events of an order so far. Every Decision counts here, because ownership is not
        contested in a stage (the checker verifies admission)."""
        return [Seen(event["_type"], event, record.value, record.partition, record.offset)
                for record in self.tail("events")
                if record.type == "Decision" and record.value["order_id"] == order_id
                for event in record.value["events"]]

    def whats(self, order_id):
        return [seen.what for seen in self.events(order_id)]

    def find(self, order_id, *words, **fields):
        """The order's events of that type (and step, direction, attempt) with those fields."""
        wanted = " ".join(map(str, words))
        return [seen for seen in self.events(order_id)
                if (seen.what + " ").startswith(wanted + " ")
                and all(seen.event.get(name) == value for name, value in fields.items())]

    def describe(self, order_id):
        lines = [f"  {seen.decision['order_version']} {seen.what}"
                 for seen in self.events(order_id)]
        return "\n".join([f"{order_id} so far:", *lines])

    def wait_for_event(self, order_id, *words, seconds=60, count=1, **fields):
        wait_for(lambda: f"{words} {fields}; {self.describe(order_id)}",
                 lambda: len(self.find(order_id, *words, **fields)) >= count, seconds)
        return self.find(order_id, *words, **fields)[-1]

    def state(self, order_id):
        events = self.events(order_id)
        return events[-1].decision["order_state"] if events else None

    def wait_for_end(self, order_id, state, seconds=60):
        """Waits until the order is in that state, one that it does not leave by itself; returns its
        events."""
        def ended():
            now = self.state(order_id)
            if now in ENDS and now != state:
                raise RuntimeError(f"{order_id} is {now}, not {state}; {self.describe(order_id)}")
            return now == state

        wait_for(lambda: f"{order_id} is {state}; {self.describe(order_id)}", ended, seconds)
        return self.events(order_id)

    def statuses(self, order_id, application="web"):
        """The order's statuses without duplicates, in topic order."""
        found = {}
        for record in self.tail(f"replies.{application}"):
            if record.key == order_id:
                position = (record.value["command_partition"], record.value["decision_offset"],
                            record.value["command_offset"])
                found.setdefault(position, record.value)
        return list(found.values())

    def wait_for_status(self, order_id, kind, application="web", **fields):
        def found():
            return [status for status in self.statuses(order_id, application)
                    if status["kind"] == kind
                    and all(status[name] == value for name, value in fields.items())]

        return wait_for(lambda: f"{kind} {fields} for {order_id} among "
                                f"{self.statuses(order_id, application)}", found, 60)[-1]

    def requests(self, agent, order_id):
        return [record.value for record in self.tail(f"requests.{agent}")
                if record.key == order_id]

    def alerts(self, order_id):
        return [record.value for record in self.tail("alerts") if record.key == order_id]

    def wait_for_alert(self, order_id, **fields):
        def found():
            return [alert for alert in self.alerts(order_id)
                    if all(alert[name] == value for name, value in fields.items())]

        return wait_for(lambda: f"an alert {fields} among {self.alerts(order_id)}", found, 60)[-1]

    def orders(self):
        ids = {record.value["order_id"] for record in self.tail("events")
               if record.type == "Decision" and record.value["order_version"] > 0}
        return {order_id: self.events(order_id) for order_id in ids}

    def settled(self):
        """Every command is decided."""
        commands = {(r.partition, r.offset) for r in self.tail("commands")}
        decided = {(r.partition, r.value["command_offset"]) for r in self.tail("events")
                   if r.type == "Decision"}
        return commands <= decided

    def findings(self):
        """Every broken rule in all records."""
        wait_for("every command is decided", self.settled, 60)
        agents = {service.properties["agent.name"]: service.properties["agent.kind"]
                  for service in self.cluster.services.values() if service.role == "agent"}
        topics = self.cluster.topics()
        replies = [f"replies.{application}" for application in self.applications]
        requests = [f"requests.{name}" for name in {*agents, *self.silent_agents}
                    if self.cluster.topic(f"requests.{name}") in topics]
        wait_for("every status, alert and dead letter is there",
                 lambda: not missing(self.cluster, replies), 60, poll_seconds=0.3)
        found = check(self.cluster, effects=requests, replies=replies,
                      agents=[name for name, kind in agents.items() if kind == "sim"])
        if self.shop is not None:
            found += check_books(self.shop, self.orders(), self.http_agents)
        return found


class StageTest(unittest.TestCase):
    """A test class whose tests share one Stage, made from `workflows` and `options`."""

    workflows = ()
    options = {}
    stage = None

    @classmethod
    def setUpClass(cls):
        if cls is StageTest:
            raise unittest.SkipTest("a base class")
        cls.stage = Stage(cls.workflows, **cls.options)
        cls.addClassCleanup(cls.stage.stop)

    @classmethod
    def tearDownClass(cls):
        findings = cls.stage.findings()
        if findings:
            raise AssertionError("\n".join(findings))
        cls.stage.cluster.reeve("verify")

    def setUp(self):
        self.shop = self.stage.shop
