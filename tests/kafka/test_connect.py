# SPDX-License-Identifier: Apache-2.0
"""Kafka Connect submits orders and takes their StatusUpdates, with the files of
docs/use/submitting.md."""

import json
import re
import subprocess
import unittest

from lib import Broker, Cluster, paths, wait_for

TIMEOUT_SECONDS = 600

PAGE = paths.ROOT / "docs" / "use" / "submitting.md"
WORKFLOW = paths.ROOT / "examples" / "workflows" / "three-steps.yaml"
FILES = ("worker.properties", "submit.properties", "follow.properties")
# Makes a struct of each line, an order id.
STRUCTS = """
name = structs
connector.class = FileStreamSource
file = /var/lib/shop/ids
topic = orders.submissions
transforms = id, workflow, reply, json
transforms.id.type = org.apache.kafka.connect.transforms.HoistField$Value
transforms.id.field = order_id
transforms.workflow.type = org.apache.kafka.connect.transforms.InsertField$Value
transforms.workflow.static.field = workflow
transforms.workflow.static.value = order-fulfilment
transforms.reply.type = org.apache.kafka.connect.transforms.InsertField$Value
transforms.reply.static.field = reply_to
transforms.reply.static.value = orders.replies.shop
transforms.json.type = org.apache.kafka.connect.transforms.InsertHeader
transforms.json.header = content-type
transforms.json.value.literal = application/json
"""


class ConnectTest(unittest.TestCase):
    def setUp(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        self.cluster = Cluster(broker, properties={"replies.json": "shop"})
        self.addCleanup(self.cluster.stop)
        self.cluster.topics_apply("shop")
        self.cluster.workflow_deploy(WORKFLOW)
        self.cluster.add("submission", ready=False)
        self.cluster.add("scheduler", ready=False)
        self.cluster.add("agent", properties={"agent.name": "noop", "agent.kind": "sim"})
        self.folder = paths.new_folder("connect")
        self.stderr = self.folder / "stderr"

    def of_here(self, text):
        """What is on the page, with the places of this test."""
        for there, here in (("localhost:9092", self.cluster.broker.bootstrap),
                            ("localhost:8083", "127.0.0.1:0"),
                            ("/var/lib/shop", str(self.folder)),
                            ("orders.submissions", self.cluster.topic("submissions")),
                            ("orders.replies", self.cluster.topic("replies")),
                            ("order-fulfilment", "three-steps")):
            text = text.replace(there, here)
        return text

    def connect(self, *files):
        with open(self.stderr, "wb") as stderr:
            process = subprocess.Popen(
                [paths.KAFKA, "connect", "--dir", self.cluster.broker.folder, "--", *files],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)
        return process

    def test_the_files_of_the_page_take_orders_in_and_statuses_out(self):
        page = PAGE.read_text(encoding="utf-8").split("### With Kafka Connect\n")[1]
        for name in FILES:
            text = re.search(rf"`{name}`:\n\n```properties\n(.*?)```", page, re.DOTALL)[1]
            (self.folder / name).write_text(self.of_here(text), encoding="utf-8")
        converter = re.search(r"(?m)^```properties\n(value.converter = .*?)```", page, re.DOTALL)[1]
        structs = self.folder / "structs.properties"
        structs.write_text(self.of_here(STRUCTS) + converter, encoding="utf-8")
        (self.folder / "ids").write_text("536368\n", encoding="utf-8")
        first = self.of_here(re.search(r"(?m)^```json\n(.*\n)```", page)[1])
        second = first.replace("536366", "536367")
        (self.folder / "orders.jsonl").write_text(first + second, encoding="utf-8")
        worker = self.connect(*(self.folder / name for name in FILES), structs)
        file = self.folder / "statuses.jsonl"

        def processed():
            self.assertIsNone(worker.poll(), self.stderr.read_text())
            lines = file.read_text(encoding="utf-8").splitlines(True) if file.exists() else []
            statuses = [json.loads(line) for line in lines if line.endswith("\n")]
            return {status["order_id"] for status in statuses if status["kind"] == "Processed"}

        wait_for(lambda: f"three orders are processed: {self.stderr.read_text()}",
                 lambda: processed() == {"536366", "536367", "536368"}, 180)


if __name__ == "__main__":
    unittest.main()
