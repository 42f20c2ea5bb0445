# SPDX-License-Identifier: Apache-2.0
"""The table of rights, which `reeve topics acl` applies: on a broker that refuses what is not
granted, a user for each row has exactly the rights of that row, and every service works as its own
user."""

import json
import os
import pathlib
import re
import subprocess
import unittest

import confluent_kafka

from lib import Broker, paths, wait_for
from lib.crowd import Crowd
from lib.records import local_schemas, watermarks
from lib.service import write_properties

OWN_BROKERS = True
TIMEOUT_SECONDS = 600

APP = "web"
SERVICES = ("submission", "scheduler", "supervisor", "agent stock", "agent bank", "console")
# User -> the program of the table.
USERS = {**{name: name.replace(" ", ".") for name in SERVICES}, "leader": "leader",
         "candidate": "candidate", "app": f"app.{APP}", "submitter": "submit", "admin": "admin"}

# The plaintext listener is for the test itself, which starts the broker and reads its topics; reeve
# and applications use the other listener.
BROKER = """
listeners+=SASL_PLAINTEXT://127.0.0.1:@PORT@
advertised.listeners+=SASL_PLAINTEXT://127.0.0.1:@PORT@
listener.security.protocol.map+=SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:ANONYMOUS
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required """ + " ".join(
    f'user_{user.replace(" ", "-")}="of {user}"' for user in USERS) + ";\n"

QUICK = {"Name": "quick", "Version": 1, "Defaults": {"TimeoutSeconds": 600},
         "Steps": [{"Name": "Only", "Agent": "stock"}]}

# The first ends as Processed; the second step of the other always fails and raises an alert.
WORKFLOWS = (
    {"Name": "crowd", "Version": 1, "TimeoutSeconds": 600, "Defaults": {"TimeoutSeconds": 60},
     "Steps": [{"Name": "Reserve", "Agent": "stock"}, {"Name": "Ship", "Agent": "stock"}]},
    {"Name": "declined", "Version": 1, "TimeoutSeconds": 600, "Defaults": {"TimeoutSeconds": 60},
     "Steps": [{"Name": "Reserve", "Agent": "stock", "Compensate": {"Action": "Release"}},
               {"Name": "Pay", "Agent": "bank", "OnExhausted": "error", "Retry": [
                   {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.1, "MaxAttempts": 1}]}]},
)


def acl_flags():
    """Flags of `topics acl` for the users of this test."""
    flags = ["--principal-prefix", "", "--agent", "stock", "--agent", "bank", "--app", APP]
    return flags + [word for user, program in USERS.items()
                    for word in ("--principal", f"{program}={user.replace(' ', '-')}")]


class Users:
    """The listener with passwords, and the properties of each user for reeve or a client."""

    def __init__(self, broker):
        file = pathlib.Path(broker.folder) / "node-1.properties"
        properties = file.read_text(encoding="utf-8")
        self.bootstrap = re.search(r"SASL_PLAINTEXT://(127[^,\s]+)", properties).group(1)

    def client(self, user):
        return {"bootstrap.servers": self.bootstrap, "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN", "sasl.username": user.replace(" ", "-"),
                "sasl.password": f"of {user}"}

    def properties(self, user):
        return {f"kafka.{key}": value for key, value in self.client(user).items()}


class OwnUsers(Crowd):
    """A crowd in which each service, and the application, has its own user."""

    def __init__(self, broker, **options):
        self.users = Users(broker)
        super().__init__(broker, properties=self.users.properties("admin"), **options)

    def _start(self, *arguments):
        self.grant()
        self.producer = confluent_kafka.Producer({
            **self.users.client("app"), "enable.idempotence": True,
            "partitioner": "murmur2_random", "log_level": 0})
        super()._start(*arguments)

    def grant(self):
        """Applies the table as the broker's super user, and again, which changes nothing."""
        def acl(action, check=True):
            return self.cluster.reeve("topics", "acl", *acl_flags(), action, "--output", "json",
                                      "--set", f"kafka.bootstrap.servers={self.broker.bootstrap}",
                                      "--set", "kafka.security.protocol=PLAINTEXT",
                                      "--set", "kafka.sasl.mechanism=PLAIN", check=check)

        def findings(done):
            return {row["finding"] for row in json.loads(done.stdout)}

        missing = acl("--check", check=False)
        assert (missing.returncode, findings(missing)) == (1, {"missing"}), missing
        assert findings(acl("--apply")) == {"created"}
        assert findings(acl("--apply")) == {"exists"}
        assert findings(acl("--check")) == {"exists"}

    def add(self, role, name=None, properties=None, **options):
        user = role if role != "agent" else f"agent {properties['agent.name']}"
        return super().add(role, name, {
            "scheduler.standby": 1, "auditor.interval.ms": 500, "leader.lease.ms": 2000,
            "leader.renew.ms": 500, "agent.heartbeat.ms": 500, **(properties or {}),
            **self.users.properties(user)}, **options)

    def config(self, user, **properties):
        """The properties file of that user."""
        config = self.cluster.folder / f"{user.replace(' ', '-')}.properties"
        write_properties(config, {"topics.prefix": self.cluster.prefix,
                                  **self.users.properties(user), **properties})
        return config

    def reeve(self, user, *arguments, code=0, stdin=None):
        """Runs `reeve ARGUMENTS` as that user; returns its output."""
        config = self.config(user)
        done = subprocess.run([str(paths.reeve_binary()), *map(str, arguments), "--config", config],
                              capture_output=True, text=True, check=False, timeout=90, input=stdin)
        if done.returncode != code or "uthoriz" in done.stderr:
            raise AssertionError(
                f"reeve {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def produce(self, topic, key, value):
        """Appends a record as the application; returns the error or None."""
        said = []
        self.producer.produce(self.cluster.topic(topic), value, key=key,
                              on_delivery=lambda error, _: said.append(error))
        self.producer.flush(60)
        return said[0] if said else "no answer"

    def submit(self, count=1, workflow="crowd", partition=None):
        names = [self.name_for(partition) for _ in range(count)]
        for name in names:
            self.producer.produce(self.cluster.topic("submissions"), local_schemas().encode(
                "SubmitOrder", self.order(name, workflow)), key=name)
        left = self.producer.flush(60)
        if left:
            raise AssertionError(f"{left} orders were not taken")
        return names

    def verify(self):
        self.reeve("console", "verify", "--live", self.live)
        return []


class AccessTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker(nodes=1, properties=BROKER)
        self.addCleanup(self.broker.stop)

    def operator(self, *arguments, code=0):
        """Runs a command against the console."""
        port = self.crowd["console"].http_port()
        return self.crowd.reeve("console", *arguments, "--console", f"http://127.0.0.1:{port}",
                                "--output", "json", code=code)

    def open_alerts(self, name):
        return [alert for alert in json.loads(self.operator("alerts")) if name in str(alert)]

    def statuses(self, names):
        """Reads the application's reply topic until all orders have ended: {order: kind}."""
        consumer = confluent_kafka.Consumer({
            **self.crowd.users.client("app"), "group.id": f"{APP}-group",
            "auto.offset.reset": "earliest"})
        self.addCleanup(consumer.close)
        consumer.subscribe([self.crowd.cluster.topic(f"replies.{APP}")])
        ended = {}

        def all_ended():
            for message in consumer.consume(500, 0.2):
                self.assertIsNone(message.error())
                kind, value = local_schemas().decode(message.value())
                if kind == "StatusUpdate" and value["kind"] in (
                        "Processed", "Compensated", "Rejected"):
                    ended[value["order_id"]] = value["kind"]
            return set(names) <= set(ended)

        wait_for(lambda: f"the end of {set(names) - set(ended)}", all_ended, 60)
        return ended

    def refusals(self):
        """The log lines about requests that the brokers' authorizer refused."""
        log = (pathlib.Path(self.broker.folder) / "node-1.log").read_text("utf-8")
        return [line for line in log.splitlines() if "Denied" in line]

    def test_each_row_grants_enough_and_nothing_more(self):
        self.crowd = crowd = OwnUsers(
            self.broker, partitions=2, schedulers=2, supervisors=2, workflows=WORKFLOWS,
            agents={"bank": {"agent.sim.fail.share": 1}, "stock": {}})
        self.addCleanup(crowd.stop)
        crowd.add("console", ready=False)
        crowd.wait_ready()
        names = crowd.submit(20)
        (declined,), (unknown,) = crowd.submit(1, "declined"), crowd.submit(1, "none-such")
        # Undecodable records, for each service that writes dead letters.
        self.assertIsNone(crowd.produce("submissions", "junk", b"junk"))
        for topic in ("commands", "requests.stock"):
            crowd.cluster.produce(topic, [("junk", b"junk")])
        self.wait_in_error(declined)
        self.operator("resubmit", declined, "--by", "ann", "--reason", "once more")
        wait_for("it fails once more", lambda: self.failures(declined) > 2, 60)
        self.wait_in_error(declined)
        self.operator("compensate", declined, "--by", "ann", "--reason", "no money")

        # Another instance takes over from one that was killed.
        doomed = crowd.add_agent("stock", "doomed", ready=False,
                                 env={"REEVE_FAILPOINT": "agent.commit=kill@5"})
        names += crowd.load_until_killed(doomed)
        names += crowd.submit(20)
        crowd.wait_for_end([*names, declined])
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        ended = self.statuses([*names, declined, unknown])
        self.assertEqual((ended[declined], ended[unknown]), ("Compensated", "Rejected"))

        self.check_tools()
        aside = {crowd.cluster.topic(name)
                 for name in ("submissions", "commands", "requests.stock")}
        crowd.cluster.wait_for_records("dead-letters", lambda found: {
            r.headers["__streams.errors.topic"].decode() for r in found} == aside, 60)
        crowd.cluster.wait_for_records(
            "agents", lambda found: any(r.raw is None and "doomed" in r.key for r in found), 60)
        self.assertEqual(crowd.verify(), [])
        for service in crowd.cluster.services.values():
            if service.is_running:
                service.terminate(60)
        crowd.reeve("console", "replay", "console", "--data-dir", crowd["console"].data)
        self.check_reset()
        for service in crowd.cluster.services.values():
            self.assertNotRegex(service.stderr, "(?i)authoriz")
        self.assertEqual(self.refusals(), [])

        # The user that may create topics may not see or change the rights.
        for action in ("--check", "--apply"):
            crowd.reeve("admin", "topics", "acl", action, code=65)
        # An application may not write to the trusted topics.
        for topic in ("events", "commands"):
            error = crowd.produce(topic, "order-1", b"forged")
            self.assertEqual(error.code(),
                             confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED, error)
        self.assertNotEqual(self.refusals(), [])

    def held_by(self, reason):
        lines = self.crowd["scheduler"].get("/metrics")[1].splitlines()
        return f'reeve_log_trim_held{{by="{reason}"}} 1' in lines

    def log_start(self):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.broker.bootstrap,
                                             "group.id": "bounds"})
        place = confluent_kafka.TopicPartition(self.crowd.cluster.topic("events"), 0)
        try:
            return watermarks(consumer, place, 30)[0]
        finally:
            consumer.close()

    def work_until(self, what, condition):
        def attempt():
            self.crowd.submit(1, "quick")
            return condition()

        wait_for(what, attempt, 60)

    def check_refusal(self, refuse, allow, why):
        """While deletions are refused, everything else goes on; afterwards they do as well."""
        crowd, scheduler = self.crowd, self.crowd["scheduler"]
        raised = len(crowd.cluster.alerts())
        refuse()
        self.work_until("the alert is raised", lambda: len(crowd.cluster.alerts()) > raised)
        alert = crowd.cluster.alerts()[raised]
        self.assertEqual((alert["code"], alert["raised"]), ("TrimRefused", True))
        self.assertRegex(alert["message"], why)
        self.work_until("the metric shows it", lambda: self.held_by("broker"))
        begins = self.log_start()
        trimmed = scheduler.metric("reeve_log_records_trimmed_total")
        names = crowd.submit(20, "quick")
        wait_for("orders end", lambda: set(names) <= {
            record.value["order_id"] for record in crowd.cluster.read_topic("events")
            if record.type == "Decision" and record.value["order_state"] == "Processed"}, 60)
        self.assertEqual(self.log_start(), begins)
        allow()
        self.work_until("the log begins later", lambda: self.log_start() > begins)
        wait_for("the alert is closed", lambda: not crowd.cluster.alerts()[-1]["raised"], 60)
        self.assertGreater(scheduler.metric("reeve_log_records_trimmed_total"), trimmed)
        self.assertEqual(len(crowd.cluster.alerts()), raised + 2)
        self.assertIn("no violations", crowd.reeve("console", "verify"))

    def test_a_log_that_may_not_be_trimmed_is_trimmed_once_it_may(self):
        self.crowd = crowd = OwnUsers(self.broker, partitions=1, schedulers=0, workflows=(QUICK,),
                                      agents={"stock": {}})
        self.addCleanup(crowd.stop)
        crowd.cluster.expect_alerts("TrimRefused")
        topic = crowd.cluster.topic("events")
        right = ("--topic", topic, "--allow-principal", "User:scheduler", "--operation", "Delete")

        def rights(action, *flags):
            self.broker.tool("org.apache.kafka.tools.AclCommand", action, *right, *flags)

        def policy(name):
            self.broker.tool("kafka.admin.ConfigCommand", "--alter", "--entity-type", "topics",
                             "--entity-name", topic, "--add-config", f"cleanup.policy={name}")

        crowd.add("scheduler", properties={"events.keep.ms": 2000, "orders.retention.ms": 1500})
        self.check_refusal(lambda: rights("--remove", "--force"), lambda: rights("--add"),
                           "(?i)authoriz")
        self.check_refusal(lambda: policy("compact"), lambda: policy("delete"), "(?i)policy")

    def failures(self, name):
        return sum(event["_type"] == "StepFailed" for _, _, decision in self.crowd.admitted()
                   for event in decision["events"] if decision["order_id"] == name)

    def wait_in_error(self, name):
        wait_for(f"{name} is in Error with an alert",
                 lambda: self.crowd.ended([name]) and self.open_alerts(name), 60)

    def check_tools(self):
        crowd = self.crowd
        leaders = wait_for("there is an auditor", lambda: [
            row for row in json.loads(crowd.reeve("leader", "leader", "--output", "json"))
            if row["role"] == "auditor" and row["leads"]], 60)
        leader = crowd[leaders[0]["leader"]]
        wait_for("it leads", lambda: leader.metric("reeve_leader_leads", role="auditor") == 1, 60)
        self.assertIn("stock", self.operator("agents", "list"))
        self.assertIn("scheduler-", self.operator("owners"))
        order = {"order_id": "by-hand", "currency": "GBP", "workflow": "crowd", "lines": [
            {"sku": "1", "description": "one", "quantity": 1, "unit_price": "1.00"}]}
        crowd.reeve("submitter", "submit", "-", "--wait", "--reply-to",
                    crowd.cluster.topic(f"replies.{APP}"), stdin=json.dumps(order))
        file = crowd.cluster.folder / "orders.jsonl"
        file.write_text(json.dumps({**order, "order_id": "from-a-file"}), encoding="utf-8")
        crowd.reeve("submitter", "import", file)
        crowd.wait_for_end(["from-a-file"])
        crowd.reeve("submitter", "cancel", "by-hand", "--no-wait", "--by", "ann", "--reason",
                    "too late")
        crowd.reeve("admin", "topics", "check")
        self.operator("agents", "pause", "bank", "--by", "ann", "--reason", "maintenance")
        self.operator("agents", "resume", "bank", "--by", "ann", "--reason", "done")
        self.check_candidate()

    def check_candidate(self):
        """A program with the leader SDK leads a role."""
        data = self.crowd.cluster.folder / "candidate-data"
        config = self.crowd.config("candidate", **{
            "data.dir": data, "http.port": 0, "http.auth": "none", "leader.lease.ms": 2000,
            "leader.renew.ms": 500})
        data.mkdir()
        with open(data / "stderr", "wb") as stderr:
            program = subprocess.Popen(
                [paths.reeve_binary().parent / "leader-candidate", "--config", config],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                env={**os.environ, "LEADER_FOLDER": str(data), "LEADER_RESOURCE": "0"})
        try:
            wait_for(lambda: f"the candidate leads: {(data / 'stderr').read_text()}", lambda: [
                row for row in json.loads(self.crowd.reeve("leader", "leader", "--output", "json"))
                if row["role"] == "test" and row["leads"]], 60)
        finally:
            program.terminate()
            program.wait(30)
        self.assertNotRegex((data / "stderr").read_text("utf-8"), "(?i)authoriz")

    def check_reset(self):
        """While no scheduler runs: the way out of a log that it could not read."""
        crowd = self.crowd
        unknown = local_schemas().encode("Attempt", {"claim_id": bytes(16), "command_offset": 0})
        unknown = unknown[:2] + bytes(8) + unknown[10:]
        ((partition, offset),) = crowd.cluster.produce("events", [("", unknown)])
        reset = ("partition", "reset", "--partition", partition, "--skip",
                 f"{offset}-{offset + 1}", "--by", "ann", "--reason", "not ours", "--yes")
        self.assertIn(f"partition {partition} is reset", crowd.reeve("scheduler", *reset))
        crowd.reeve("console", "verify")


if __name__ == "__main__":
    unittest.main()
