# SPDX-License-Identifier: Apache-2.0
"""Schedulers delete the beginning of the log, and nothing is missing afterwards."""

import json
import re
import unittest

import confluent_kafka
from confluent_kafka.admin import AdminClient
from lib import Broker, Cluster, records, wait_for

ORDER = ('{"order_id": "%s", "customer": "c", "currency": "GBP", "workflow": "%s", '
         '"lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}\n')
QUICK = {"session.timeout.ms": 2000, "auditor.interval.ms": 300, "orders.retention.ms": 1500}
TRIMS = {"events.keep.ms": 2000}


def workflow(name, agent):
    return {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": 600},
            "Steps": [{"Name": "Only", "Agent": agent}]}


class TrimmingTest(unittest.TestCase):
    def start(self, cluster, **scheduler):
        cluster.topics_apply()
        for name, agent in (("quick", "noop"), ("waits", "silent")):
            path = cluster.folder / f"{name}.json"
            path.write_text(json.dumps(workflow(name, agent)))
            cluster.workflow_deploy(path)
        cluster.add("scheduler", properties={**TRIMS, **scheduler}, ready=False)
        for role in ("submission", "supervisor", "console"):
            cluster.add(role, ready=False)
        for name, properties in (("noop", {}), ("silent", {"agent.sim.silent.share": 1})):
            cluster.add("agent", ready=False, properties={
                "agent.name": name, "agent.kind": "sim", **properties})
        for service in cluster.services.values():
            service.wait_ready(60)
        self.number = 0

    def submit(self, cluster, name, workflow="quick"):
        cluster.reeve("submit", "-", stdin=ORDER % (name, workflow))

    def console(self, cluster):
        return "--console", f"http://127.0.0.1:{cluster['console-1'].http_port()}"

    def ask(self, cluster, *arguments):
        return cluster.reeve_json("orders", *arguments, *self.console(cluster))

    def wait_state(self, cluster, order, state):
        wait_for(f"{order} is {state}", lambda: any(
            row["order_id"] == order and row["state"] == state
            for row in self.ask(cluster, "list")), 60)

    def bounds(self, cluster):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.broker.bootstrap,
                                             "group.id": "bounds"})
        place = confluent_kafka.TopicPartition(cluster.topic("events"), 0)
        try:
            return records.watermarks(consumer, place, 30)
        finally:
            consumer.close()

    def work_until(self, cluster, what, condition):
        def attempt():
            self.number += 1
            self.submit(cluster, f"o-{self.number}")
            return condition()

        wait_for(what, attempt, 90)

    def test_an_empty_store_begins_where_the_log_does(self):
        with Cluster(Broker.shared(), partitions=1, properties=QUICK) as cluster:
            self.start(cluster)
            self.submit(cluster, "waits", "waits")
            self.wait_state(cluster, "waits", "Processing")
            before = self.ask(cluster, "get", "waits")
            self.work_until(cluster, "the log begins later",
                            lambda: self.bounds(cluster)[0] > 30)
            scheduler = cluster["scheduler-1"]
            self.assertGreater(scheduler.metric("reeve_log_records_trimmed_total"), 30)
            self.assertGreater(scheduler.metric("reeve_statements_total"), 0)

            start = self.bounds(cluster)[0]  # it may move on as soon as the console has begun
            for service in (scheduler, cluster["console-1"]):
                service.terminate()
                service.drop_data()
                service.start()
            self.submit(cluster, "last")
            self.wait_state(cluster, "last", "Processed")
            self.assertEqual(self.ask(cluster, "get", "waits"), before)
            history = cluster.reeve("orders", "history", "waits", *self.console(cluster)).stdout
            begins = re.search(r"what was decided before offset (\d+) is not kept", history)
            self.assertGreaterEqual(int(begins[1]), start, history)
            done = cluster.reeve("verify")
            self.assertIn("no violations; 1 partition checked from where the trimmed log begins",
                          done.stdout)
            scheduler.terminate()  # or the log may lose its beginning under the reader
            kinds = {record.type for record in cluster.read_topic("events")}
            self.assertLessEqual({"Continuation", "Statement", "Decision"}, kinds)

    def test_nothing_goes_before_it_is_archived(self):
        with Cluster(Broker.shared(), partitions=1, properties=QUICK) as cluster:
            cluster.expect_alerts("TrimGroupMissing")
            self.start(cluster, **{"events.trim.groups": "archive"})
            scheduler = cluster["scheduler-1"]
            self.work_until(cluster, "the group holds it back", lambda: any(
                alert["code"] == "TrimGroupMissing" for alert in cluster.alerts()))
            self.assertEqual(self.bounds(cluster)[0], 0)
            self.assertEqual(scheduler.metric("reeve_log_records_trimmed_total"), 0)

            folder = cluster.folder / "archive"
            cluster.reeve("export", "events", folder, "--group", "archive")
            archived = self.bounds(cluster)[1]
            self.work_until(cluster, "the log begins later", lambda: self.bounds(cluster)[0] > 0)
            self.work_until(cluster, "and again", lambda: (
                cluster.reeve("export", "events", folder, "--group", "archive").returncode == 0 and
                self.bounds(cluster)[0] > archived))
            self.assertFalse([alert for alert in cluster.alerts()[-1:] if alert["raised"]])

    def test_the_next_owner_closes_the_alert_of_a_killed_one_and_nothing_else(self):
        with Cluster(Broker.shared(), partitions=1, properties=QUICK) as cluster:
            cluster.expect_alerts("TrimGroupMissing")
            self.start(cluster, **{"events.trim.groups": "archive"})
            self.work_until(cluster, "the alert is raised", cluster.alerts)
            (raised,) = cluster.alerts()
            cluster["scheduler-1"].sigkill()
            for name in ("scheduler-2", "scheduler-3"):
                cluster.add("scheduler", name).wait_ready(60)
                wait_for("the alert is closed", lambda: len(cluster.alerts()) > 1, 60)
                cluster[name].sigkill()
            closed = {key: cluster.alerts()[1][key] for key in ("code", "partition", "by")}
            self.assertEqual(closed, {key: raised[key] for key in closed})
            self.assertEqual([alert["raised"] for alert in cluster.alerts()], [True, False])

    def test_a_broker_forgets_the_offsets_of_a_topic_that_is_deleted(self):
        """So a group that has an offset of an earlier log of this name got it from a copy."""
        with Cluster(Broker.shared(), partitions=1) as cluster:
            cluster.topics_apply()
            events, commands = cluster.topic("events"), cluster.topic("commands")
            cluster.produce("events", [(b"o", b"not ours")] * 5)
            group = confluent_kafka.Consumer({"bootstrap.servers": cluster.broker.bootstrap,
                                              "group.id": f"{events}-archive"})
            self.addCleanup(group.close)
            admin = AdminClient({"bootstrap.servers": cluster.broker.bootstrap})

            def committed():
                asked = [confluent_kafka.TopicPartition(name, 0) for name in (events, commands)]
                return [place.offset for place in group.committed(asked, timeout=10)]

            group.commit(offsets=[confluent_kafka.TopicPartition(events, 0, 5),
                                  confluent_kafka.TopicPartition(commands, 0, 7)],
                         asynchronous=False)
            self.assertEqual(committed(), [5, 7])
            admin.delete_topics([events])[events].result(30)
            wait_for("the topic is gone", lambda: events not in cluster.topics(), 30)
            cluster.topics_apply()
            self.assertEqual(self.bounds(cluster), (0, 0))
            wait_for("its offset is forgotten",
                     lambda: committed() == [confluent_kafka.OFFSET_INVALID, 7], 30)


if __name__ == "__main__":
    unittest.main()
