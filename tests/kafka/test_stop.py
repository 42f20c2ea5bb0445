# SPDX-License-Identifier: Apache-2.0
"""Services that are asked to stop while the broker is down end in time: nothing that they wait for
will come."""

import json
import time
import unittest

from lib import Broker, Cluster, wait_for

OWN_BROKERS = True

ORDER = ('{"order_id": "%s", "customer": "c", "currency": "GBP", "workflow": "one-step", '
         '"lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}\n')
ORDERS = 5000
STOP_SECONDS = 12


class StopTest(unittest.TestCase):
    def test_services_stop_in_time_while_the_broker_is_down(self):
        broker = Broker()
        self.addCleanup(broker.stop)
        with Cluster(broker, partitions=4) as cluster:
            cluster.expect_alerts("Stalled")
            cluster.topics_apply()
            path = cluster.folder / "one-step.json"
            path.write_text(json.dumps({"Name": "one-step", "Version": 1,
                                        "Steps": [{"Name": "Only", "Agent": "noop"}]}))
            cluster.workflow_deploy(path)
            for role in ("submission", "scheduler", "supervisor"):
                cluster.add(role, ready=False)
            cluster.add("agent", properties={"agent.name": "noop", "agent.kind": "sim"},
                        ready=False)
            services = list(cluster.services.values())
            for service in services:
                service.wait_ready(60)
            for service in services:
                if service.role == "scheduler":
                    service.sigstop()
            cluster.reeve("submit", "-", stdin="".join(ORDER % f"o-{n}" for n in range(ORDERS)))
            for service in services:
                if service.role == "scheduler":
                    service.sigcont()
            wait_for("some are decided", lambda: any(
                record.type == "Decision" for record in cluster.read_topic("events")), 60)
            broker.kill()
            took = {}
            for service in services:
                began = time.monotonic()
                service.terminate(60)
                took[service.name] = time.monotonic() - began
            broker.restart()
            took.pop("agent-1")  # drain.timeout.ms is for its calls
            self.assertLess(max(took.values()), STOP_SECONDS, took)


if __name__ == "__main__":
    unittest.main()
