# SPDX-License-Identifier: Apache-2.0
"""The client of examples/third_party_client on a real broker. Here fastavro stands in for reeve:
two independent Avro implementations have to agree on every byte, in both directions."""

import json
import signal
import subprocess
import time
import unittest

from lib import Broker, Cluster, paths, wait_for
from lib.records import local_schemas

CLIENT = paths.ROOT / "examples" / "third_party_client"


class ThirdPartyClientTest(unittest.TestCase):
    def setUp(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        self.cluster = Cluster(broker)
        self.addCleanup(self.cluster.stop)

    def submit(self, *options):
        process = subprocess.Popen(
            ["/usr/bin/python3", "-B", str(CLIENT / "submit.py"), "--app", "web",
             "--bootstrap", self.cluster.broker.bootstrap, "--prefix", self.cluster.prefix,
             *options, str(CLIENT / "order.json")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def reply(self, version, kind, state, offset, steps=()):
        status = {"order_id": "7", "kind": kind, "order_state": state, "order_version": version,
                  "decided_at": int(time.time() * 1000), "command_partition": 0,
                  "command_offset": offset, "code": "", "message": "", "steps": list(steps)}
        self.cluster.produce(
            "replies.web", [("7", local_schemas().encode("StatusUpdate", status))])

    def test_submits_an_order_and_follows_it_to_its_end(self):
        self.cluster.topic_create("submissions", partitions=4)
        self.cluster.wait_for_records("submissions", lambda found: not found, what="its creation")
        process = self.submit("--order-id", "7")
        (submission,) = self.cluster.wait_for_records("submissions", lambda found: found)
        self.assertEqual((submission.type, submission.key), ("SubmitOrder", "7"))
        self.assertEqual(submission.value["reply_to"], self.cluster.topic("replies.web"))
        self.assertEqual(submission.value["workflow"], "order-fulfilment")
        self.assertEqual([str(line["unit_price"]) for line in submission.value["lines"]], [
            "2.5500", "3.3900", "2.7500", "3.3900", "3.3900", "7.6500", "4.2500"])
        step = {"step": "ReserveStock", "direction": "do", "attempt": 1, "state": "Processed",
                "error_name": ""}
        self.reply(1, "Received", "Processing", 10)
        self.reply(2, "StepChanged", "Processing", 11, [step])
        self.reply(2, "StepChanged", "Processing", 11, [step])  # at-least-once
        self.reply(3, "Processed", "Processed", 12)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual([line.split(" ", 2)[2] for line in out.splitlines()], [
            "v1 Received (Processing)",
            "v2 StepChanged (Processing) [ReserveStock #1 Processed]",
            "v3 Processed (Processed)"])

    def test_an_agent_serves_a_step_of_a_workflow(self):
        self.cluster.topics_apply("web")
        workflow = self.cluster.folder / "taxes.json"
        workflow.write_text(json.dumps({
            "Name": "taxes", "Version": 1, "TimeoutSeconds": 60,
            "Steps": [{"Name": "AddTax", "Agent": "tax", "TimeoutSeconds": 30}]}))
        self.cluster.workflow_deploy(workflow)
        self.cluster.add("submission")
        self.cluster.add("scheduler")
        agent = subprocess.Popen(
            ["/usr/bin/python3", "-B", str(CLIENT / "agent.py"), self.cluster.broker.bootstrap,
             self.cluster.prefix, "tax"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.kill)
        order = {"order_id": "taxed", "currency": "EUR", "workflow": "taxes",
                 "reply_to": self.cluster.topic("replies.web")}
        self.cluster.reeve("submit", "-", "--wait", stdin=json.dumps(order))
        (report,) = [r.value for r in self.cluster.read_topic("commands") if r.type == "ReportStep"]
        self.assertEqual((report["step"], report["succeeded"]), ("AddTax", True))
        agent.send_signal(signal.SIGTERM)
        _, err = agent.communicate(timeout=30)
        self.assertEqual(agent.returncode, 0, err)
        self.assertIsNone(self.cluster.read_topic("agents")[-1].raw, "it says that it is gone")

    def test_says_when_there_is_no_such_topic(self):
        process = self.submit()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn(f"there is no topic {self.cluster.topic('submissions')}", err)


if __name__ == "__main__":
    unittest.main()
