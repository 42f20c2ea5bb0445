# SPDX-License-Identifier: Apache-2.0
"""Three brokers, replication factor 3, min.insync.replicas 2: with one broker down, orders
continue; with two down, nothing is acknowledged, every service reports why, and all of them resume
by themselves; leaders may move. All tests share one set of services, none of which is restarted."""

import json
import time
import unittest
import urllib.error
import urllib.request

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from lib import Broker, Cluster, wait_for
from lib.crowd import WORKFLOW, Crowd
from lib.load import Load
from lib.records import watermarks

OWN_BROKERS = True
TIMEOUT_SECONDS = 1200

PAUSE_MS_MAX = 30000  # with one of three brokers down no partition pauses longer
PARTITIONS = 6
MOVES = 5
# What a commit meets while its group moves to another broker; a later one succeeds.
COORDINATOR_MOVES = (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR,
                     KafkaError.COORDINATOR_NOT_AVAILABLE)
QUICK = {"Name": "quick", "Version": 1, "Defaults": {"TimeoutSeconds": 600},
         "Steps": [{"Name": "Only", "Agent": "noop"}]}
# No step times out while brokers are down: these tests are not about the recovery of steps.
PATIENT = {**WORKFLOW, "Name": "crowd", "TimeoutSeconds": 3600,
           "Defaults": {**WORKFLOW["Defaults"], "TimeoutSeconds": 600}}


def java_hash(text):
    """String.hashCode()"""
    value = 0
    for char in text:
        value = (value * 31 + ord(char)) & 0xFFFFFFFF
    return value


class ThreeBrokersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker(nodes=3, controller=True)
        cls.addClassCleanup(cls.broker.stop)
        # The default session timeout of the services.
        cls.crowd = Crowd(cls.broker, partitions=PARTITIONS, schedulers=2, supervisors=1,
                          workflows=[PATIENT], properties={"session.timeout.ms": 6000})
        cls.addClassCleanup(cls.crowd.stop)
        # Static members see outages in another way: they may be fenced by what they were before.
        cls.crowd.add("supervisor", "supervisor-2", {"group.static": "true"})
        cls.crowd.cluster.expect_alerts("Stalled")  # while no broker accepts records
        cls.crowd.add("console", "console")
        cls.crowd.wait_ready()
        cls.pids = {name: service.process.pid
                    for name, service in cls.crowd.cluster.services.items()}
        cls.admin = AdminClient({"bootstrap.servers": cls.broker.bootstrap})

    # ---- the brokers' metadata ----

    def partitions(self, topic):
        return self.admin.list_topics(topic, timeout=30).topics[topic].partitions.values()

    def all_in_sync(self):
        return all(len(partition.isrs) == 3
                   for name, topic in self.admin.list_topics(timeout=30).topics.items()
                   if name.startswith(self.crowd.cluster.prefix) or name == "__consumer_offsets"
                   for partition in topic.partitions.values())

    def wait_in_sync(self):
        wait_for("every replica is in sync", self.all_in_sync, 120, 0.3)

    def coordinator(self, group):
        """The node id of the group's coordinator."""
        offsets = {partition.id: partition.leader
                   for partition in self.partitions("__consumer_offsets")}
        return offsets[(java_hash(group) & 0x7FFFFFFF) % len(offsets)]

    # ---- load ----

    def begin_load(self):
        load = Load(self.crowd)
        self.addCleanup(load.ends.set)
        wait_for("orders are acknowledged", lambda: len(load.acknowledged) >= 20, 60)
        return load

    def wait_for_acknowledged(self, load, count):
        """Waits until `count` more orders are sent and `count` more acknowledged."""
        begun, taken = len(load.begun) + count, len(load.acknowledged) + count
        wait_for(lambda: f"{count} more orders are acknowledged; {load.unanswered} are not",
                 lambda: len(load.begun) >= begun and len(load.acknowledged) >= taken, 90)

    def check_all(self, load):
        """Every order that was sent is acknowledged, in the topic, and ended once."""
        crowd, names = self.crowd, load.finish()
        self.assertEqual(load.acknowledged, set(names))
        self.assertEqual(load.lost(), set())
        crowd.wait_for_end(names, 120)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        accepted = [decision["order_id"] for _, _, decision in crowd.admitted()
                    for event in decision["events"] if event["_type"] == "OrderAccepted"]
        self.assertEqual(len(accepted), len(set(accepted)))
        self.assertEqual([], [line for checker in crowd.checkers.values()
                              for line in checker.findings])
        # The same processes: none exited and none was restarted.
        for name, pid in self.pids.items():
            self.assertTrue(crowd[name].is_running, crowd[name].tail())
            self.assertEqual(crowd[name].process.pid, pid)
        crowd.wait_ready(90)

    def longest_pause(self, since_ms, until_ms):
        """(ms, partition) of the longest gap between two Decisions, by append time."""
        times = {number: [since_ms] for number in range(PARTITIONS)}
        for record in self.crowd.look():
            if record.type == "Decision" and since_ms < record.timestamp_ms < until_ms:
                times[record.partition].append(record.timestamp_ms)
        return max((later - earlier, number) for number, found in times.items()
                   for earlier, later in zip(found, [*found[1:], until_ms]))

    # ---- the tests run in this order ----

    def test_1_orders_are_processed_and_every_topic_is_replicated(self):
        crowd = self.crowd
        names = crowd.submit(60)
        crowd.wait_for_end(names, 90)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        wanted = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
        for name in ("submissions", "commands", "events", "requests.stock", "replies.web"):
            topic = crowd.cluster.topic(name)
            self.assertEqual({len(found.replicas) for found in self.partitions(topic)}, {3})
            resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
            settings = self.admin.describe_configs([resource])[resource].result(30)
            self.assertEqual({key: settings[key].value for key in wanted}, wanted)
        self.wait_in_sync()
        crowd.cluster.reeve("topics", "check")

    def test_1_every_broker_knows_the_topics_when_apply_returns(self):
        """Each broker learns of a new topic at its own time; a command that asks one that does not
        know it yet ends with 65."""
        for _ in range(20):
            cluster = Cluster(self.broker, partitions=PARTITIONS)
            self.addCleanup(cluster.stop)
            cluster.topics_apply("web")
            known = [sorted(name for name in AdminClient({"bootstrap.servers": node}).list_topics(
                timeout=30).topics if name.startswith(f"{cluster.prefix}."))
                for node in self.broker.bootstrap.split(",")]
            self.assertIn(cluster.topic("replies.web"), known[0])
            self.assertEqual(known, [known[0]] * 3)

    def test_2_no_partition_pauses_long_when_one_broker_dies(self):
        crowd = self.crowd
        load = self.begin_load()
        crowd.wait_for_ends(load.begun, 20, 60)
        # The worst choice: it leads a third of the partitions and coordinates the group.
        victim = self.coordinator(f"{crowd.cluster.prefix}.scheduler")
        self.addCleanup(self.broker.restart)
        since_ms = int(time.time() * 1000)
        self.broker.kill(victim)
        self.wait_for_acknowledged(load, 400)
        wait_for("each partition decides again", lambda: all(
            any(record.partition == number and record.type == "Decision"
                and record.timestamp_ms > since_ms + 15000 for record in crowd.look())
            for number in range(PARTITIONS)), 90, 0.5)
        until_ms = min(max(record.timestamp_ms for record in crowd.events
                           if record.partition == number) for number in range(PARTITIONS))
        pause_ms, partition = self.longest_pause(since_ms, until_ms)
        print(f"[longest pause {pause_ms} ms, on partition {partition}]", end=" ", flush=True)
        self.assertLessEqual(pause_ms, PAUSE_MS_MAX)
        crowd.wait_ready(90)
        self.broker.restart(victim)
        self.wait_in_sync()
        self.check_all(load)

    def test_3_nothing_is_acknowledged_and_lost_when_two_brokers_die(self):
        crowd = self.crowd
        load = self.begin_load()
        self.addCleanup(self.broker.restart)
        victims = (1, 2)
        for victim in victims:
            self.broker.kill(victim)
        services = list(crowd.cluster.services.values())

        def reports_why(service):
            status, body = service.get("/readyz")
            return status == 503 and ("replicas in sync" in body or "has no leader" in body)

        for service in services:
            wait_for(lambda service=service: f"{service.name} reports why it is not ready: "
                     f"{service.get('/readyz')}", lambda service=service: reports_why(service), 90)
        # From here on no broker can acknowledge anything.
        taken, begun = len(load.acknowledged), len(load.begun)
        posted = self.post_unavailable("posted-1")
        late = crowd.add("supervisor", "supervisor-late", ready=False)
        self.check_commands_report_why()
        wait_for("the application keeps sending", lambda: len(load.begun) >= begun + 100, 60)
        wait_for("a service that starts now reports why it is not ready",
                 lambda: late.get("/readyz")[0] == 503 and reports_why(late), 60)
        self.assertEqual(len(load.acknowledged), taken)

        self.broker.restart(victims[0])
        for service in [*services, late]:
            service.wait_ready(120)
        self.wait_for_acknowledged(load, 100)
        self.broker.restart(victims[1])
        self.wait_in_sync()
        self.check_all(load)
        # That order was not acknowledged; if it was accepted all the same, then once.
        crowd.look()
        self.assertIn(crowd.state(posted), (None, "Processed"))
        late.terminate()
        del crowd.cluster.services["supervisor-late"]

    def post_unavailable(self, name):
        """POST /orders must not be acknowledged."""
        order = {"order_id": name, "currency": "GBP", "workflow": "crowd", "lines": [
            {"sku": "1", "description": "one", "quantity": 1, "unit_price": "1.00"}]}
        port = self.crowd["submission"].http_port()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/orders", json.dumps(order).encode(),
            {"Content-Type": "application/json"}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                self.fail(f"{name} was accepted: {answer.status} {answer.read()}")
        except urllib.error.HTTPError as error:
            self.assertGreaterEqual(error.code, 500)
        except OSError:
            pass  # no answer, no acknowledgement
        return name

    def check_commands_report_why(self):
        done = self.crowd.cluster.reeve("topics", "check", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        (line,) = done.stderr.splitlines()
        self.assertRegex(line, (
            r"reeve: brokers: \d+ of \d+ partitions accept no records: \S+ has 1 of 3 replicas in "
            r"sync and needs 2 \(min.insync.replicas\); 1 broker is up"))
        done = self.crowd.cluster.reeve("topics", "apply", "--topics-prefix", "other", check=False)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("replication.factor is 3, but only 1 broker is up", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_4_orders_continue_while_leaders_move(self):
        crowd = self.crowd
        load = self.begin_load()
        topics = [crowd.cluster.topic(name) for name in ("commands", "events")]
        order = {topic: {found.id: list(found.replicas) for found in self.partitions(topic)}
                 for topic in topics}
        for move in range(1, MOVES + 1):
            before = {topic: {found.id: found.leader for found in self.partitions(topic)}
                      for topic in topics}
            # The current leader moves to the end of the list.
            for topic in topics:
                for number, line in order[topic].items():
                    line.sort(key=lambda broker, t=topic, n=number: (broker == before[t][n],
                                                                    (broker + move) % 3))
            self.prefer(order)
            wait_for("the leaders have moved", lambda: all(
                found.leader == order[topic][found.id][0]
                for topic in topics for found in self.partitions(topic)), 60, 0.2)
            self.assertTrue(all(order[topic][number][0] != leader for topic in topics
                                for number, leader in before[topic].items()))
            self.wait_for_acknowledged(load, 30)
        self.check_all(load)

    def prefer(self, order):
        """Makes the first of each partition's brokers its leader."""
        lines = [{"topic": topic, "partition": number, "replicas": brokers}
                 for topic, found in order.items() for number, brokers in found.items()]
        path = self.crowd.cluster.folder / "leaders.json"
        path.write_text(json.dumps({"version": 1, "partitions": lines}), encoding="utf-8")
        self.broker.tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
                         "--reassignment-json-file", str(path), "--execute")
        wait_for("the brokers know the new assignment", lambda: all(
            list(found.replicas) == order[topic][found.id]
            for topic in order for found in self.partitions(topic)), 60, 0.2)
        self.broker.tool("org.apache.kafka.tools.LeaderElectionCommand",
                         "--election-type", "preferred", "--path-to-json-file", str(path))

    def test_5_nothing_is_missing_in_the_end(self):
        self.wait_in_sync()
        self.assertEqual(self.crowd.missing_requests(), [])
        self.assertEqual(self.crowd.findings(), [])

    def test_6_a_log_is_trimmed_when_the_group_that_archives_it_has_moved(self):
        cluster = Cluster(self.broker, partitions=1, properties={
            "session.timeout.ms": 6000, "orders.retention.ms": 1500, "auditor.interval.ms": 300})
        self.addCleanup(cluster.stop)
        cluster.expect_alerts("TrimGroupMissing")
        cluster.topics_apply()
        path = cluster.folder / "quick.json"
        path.write_text(json.dumps(QUICK), encoding="utf-8")
        cluster.workflow_deploy(path)
        cluster.add("scheduler", properties={
            "events.keep.ms": 2000, "events.trim.groups": "archive",
            "kafka.metadata.max.age.ms": 5000})
        cluster.add("submission")
        cluster.add("supervisor")
        cluster.add("agent", properties={"agent.name": "noop", "agent.kind": "sim"})
        numbers = iter(range(1, 1000000))
        archive = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "archive"})
        self.addCleanup(archive.close)

        def log():
            return watermarks(archive, TopicPartition(cluster.topic("events"), 0), 30)

        def work():
            cluster.reeve("submit", "-", stdin=json.dumps({
                "order_id": f"o-{next(numbers)}", "currency": "GBP", "workflow": "quick"}))
            try:
                archive.commit(offsets=[TopicPartition(cluster.topic("events"), 0, log()[1])],
                               asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in COORDINATOR_MOVES:
                    raise
            return log()[0]

        wait_for("the log begins later", lambda: work() > 0, 90)
        before = self.coordinator("archive")
        offsets = list(self.partitions("__consumer_offsets"))
        number = (java_hash("archive") & 0x7FFFFFFF) % len(offsets)
        # The leader is the first of the list; that of the group's partition becomes the last.
        self.prefer({"__consumer_offsets": {
            found.id: sorted(found.replicas, key=lambda broker, found=found: (
                (broker == found.leader) == (found.id == number))) for found in offsets}})
        wait_for("the group has moved", lambda: self.coordinator("archive") != before, 60, 0.2)
        place = log()[1]
        wait_for("the log begins later again", lambda: work() > place, 90)


if __name__ == "__main__":
    unittest.main()
