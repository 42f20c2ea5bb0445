# SPDX-License-Identifier: Apache-2.0
"""A set of topics on a broker and the services that use them."""

import json
import subprocess
import uuid

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from . import paths, records
from .service import Service, write_properties
from .waiting import wait_for


class Cluster:
    """Topics under their own prefix, and reeve's processes on them.

        with Cluster(Broker.shared(), partitions=2) as cluster:
            cluster.topics_apply()
            scheduler = cluster.add("scheduler")
            cluster.wait_for_records("events", lambda records: len(records) == 3)

    At the end of the block every process that is still running is killed, and the test fails if one
    had ended by itself (a test that expects it calls wait_end()) or if there is an alert about a
    partition or an instance (expect_alerts() names those that a test provokes). Those that close
    when their cause is over have to be closed by then.
    """

    CLOSING = {"AgentUnavailable", "CommandsWaiting", "EffectsUndeliverable", "Stalled",
               "StandbyStalled"}

    def __init__(self, broker, partitions=4, properties=None, prefix=None):
        self.broker, self.partitions = broker, partitions
        self.prefix = prefix or f"t{uuid.uuid4().hex[:8]}"
        self.properties = dict(properties or {})
        self.services = {}
        self.expected_alerts = set()
        self.folder = paths.new_folder(f"cluster-{self.prefix}")
        self.config = self.folder / "client.properties"
        write_properties(self.config, {
            "kafka.bootstrap.servers": broker.bootstrap, "topics.prefix": self.prefix,
            "partitions": partitions, "replication.factor": min(broker.nodes, 3),
            **self.properties,
        })
        self.ledger = self.folder / "ledger"  # of all simulated agents

    # ---- the command line ----

    def reeve(self, *arguments, check=True, seconds=60, stdin=None):
        """Runs `reeve ARGUMENTS --config FILE`; returns the finished process with its output."""
        done = subprocess.run(
            [str(paths.reeve_binary()), *map(str, arguments), "--config", str(self.config)],
            capture_output=True, text=True, check=False, timeout=seconds, input=stdin,
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"reeve {' '.join(map(str, arguments))}: exit code {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done

    def reeve_json(self, *arguments, **options):
        return json.loads(self.reeve(*arguments, "--output", "json", **options).stdout)

    def topics_apply(self, *applications):
        self.reeve("topics", "apply", *(flag for name in applications for flag in ("--app", name)))

    def workflow_deploy(self, path):
        self.reeve("workflow", "deploy", path)

    # ---- services ----

    def add(self, role, name=None, properties=None, env=None, start=True, ready=True, ledger=True):
        """A new service, started unless start=False. Names are unique within the cluster. A
        simulated agent is the ledger-agent of the tests, or that of reeve if ledger=False."""
        count = sum(1 for service in self.services.values() if service.role == role)
        name = name or f"{role}-{count + 1}"
        assert name not in self.services, f"{name} exists"
        program = None
        if ledger and role == "agent" and (properties or {}).get("agent.kind") == "sim":
            program = paths.reeve_binary().parent / "ledger-agent"
            env = {"REEVE_TEST_LEDGER": str(self.ledger), **(env or {})}
        service = Service(
            role, self.broker.bootstrap, self.prefix, self.partitions, name=name, env=env,
            folder=self.folder / name, properties={**self.properties, **(properties or {})},
            program=program,
        )
        self.services[name] = service
        if start:
            service.start(ready=False)
            if ready:
                service.wait_ready()
        return service

    def __getitem__(self, name):
        return self.services[name]

    # ---- topics ----

    def topic(self, name):
        """The full name: topic("events") is t1234abcd.events."""
        return f"{self.prefix}.{name}"

    def topics(self):
        """All topics of the broker, by name."""
        return AdminClient({"bootstrap.servers": self.broker.bootstrap}).list_topics(
            timeout=10).topics

    def topic_create(self, name, partitions=1, config=None):
        """A topic that `topics apply` does not create, such as an application's reply topic."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        new = NewTopic(self.topic(name), partitions, -1, config={
            "message.timestamp.type": "LogAppendTime", **(config or {})})
        for future in admin.create_topics([new], operation_timeout=30).values():
            future.result(30)

    def read_topic(self, name, partitions=None):
        """All records of a topic, decoded; see records.read_topic()."""
        return records.read_topic(self.broker.bootstrap, self.topic(name), partitions=partitions)

    def produce(self, name, messages, seconds=30):
        """Appends (key, bytes[, headers]) with a third-party client; returns their positions."""
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.broker.bootstrap, "acks": "all",
            "enable.idempotence": True, "partitioner": "murmur2_random",
            "message.max.bytes": 8388608, "linger.ms": 1,
        })
        results = {}

        def delivered(error, message, index):
            results[index] = error or (message.partition(), message.offset())

        for index, (key, value, *headers) in enumerate(messages):
            producer.produce(
                self.topic(name), value, key=key, headers=headers[0] if headers else None,
                on_delivery=lambda e, m, index=index: delivered(e, m, index),
            )
            producer.poll(0)
        producer.flush(seconds)
        for index in range(len(messages)):
            if not isinstance(results.get(index), tuple):
                raise AssertionError(f"message {index} was not acknowledged: {results.get(index)}")
        return [results[index] for index in range(len(messages))]

    def wait_for_records(self, name, condition, seconds=30, what=None):
        """Reads the topic until condition(records) is true; returns all records."""
        seen = []

        def attempt():
            seen[:] = self.read_topic(name)
            return condition(seen)

        def describe():
            last = "\n".join(f"  {r.partition}/{r.offset} {r.type} {r.value}" for r in seen[-20:])
            return f"{what or 'records'} in {self.topic(name)}, which holds {len(seen)}:\n{last}"

        wait_for(describe, attempt, seconds, poll_seconds=0.1)
        return list(seen)

    # ---- the end ----

    def expect_alerts(self, *codes):
        """The test provokes these alerts about partitions or instances, or may. Where any is
        expected, CommandsWaiting may come as well: what stops a partition makes commands wait."""
        self.expected_alerts.update(codes)

    def unasked_ends(self):
        """Services that ended and were not asked to."""
        return [f"{service.name} ended by itself with {service.process.returncode}:\n"
                f"{service.tail()}" for service in self.services.values()
                if service.process is not None and service.process.poll() is not None]

    def alerts(self):
        """Alerts that are not about an order, raised or closed."""
        if not self.services or self.topic("alerts") not in self.topics():
            return []
        return [record.value for record in self.read_topic("alerts")
                if record.type == "OperatorAlert" and not record.value["order_id"]]

    def unexpected_alerts(self):
        """Those that no test has announced."""
        expected = self.expected_alerts | ({"CommandsWaiting"} if self.expected_alerts else set())
        return [f"the alert {alert['code']}: {alert['message']}" for alert in self.alerts()
                if alert["raised"] and alert["code"] not in expected]

    def left_open(self):
        """Alerts that close when their cause is over, and were not closed."""
        last = {}
        for alert in sorted(self.alerts(), key=lambda alert: alert["decided_at"]):
            last[alert["code"], alert["partition"], alert["by"]] = alert
        return [f"the alert {alert['code']} is not closed: {alert['message']}"
                for alert in last.values()
                if alert["raised"] and alert["code"] in self.CLOSING & self.expected_alerts]

    def stop(self, check=True):
        """`check` False: something failed already."""
        problems = self.unasked_ends() if check else []
        if check and self.expected_alerts & self.CLOSING:
            try:
                wait_for(lambda: self.left_open(), lambda: not self.left_open(), 20)
            except AssertionError as error:
                problems.append(str(error))
        for service in self.services.values():
            service.__exit__()
        problems += self.unexpected_alerts() if check else []
        if problems:
            raise AssertionError("\n".join(problems))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop(check=kind is None)
