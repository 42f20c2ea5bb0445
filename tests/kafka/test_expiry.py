# SPDX-License-Identifier: Apache-2.0
"""Finished orders leave the stores of every service, by records of their owners, also when one of
these is killed; and a store that is folded again has them no more."""

import json
import unittest

from lib import Broker, Cluster, check, wait_for

ORDER = ('{"order_id": "%s", "customer": "c", "currency": "GBP", "workflow": "%s", '
         '"lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}\n')
RETENTION_MS = 3000
QUICK = {"session.timeout.ms": 2000, "orders.retention.ms": RETENTION_MS}


def workflow(name, agent):
    return {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": 600},
            "Steps": [{"Name": "Only", "Agent": agent}]}


def ended(records):
    return sum(event["_type"] == "OrderProcessed" for record in records
               if record.type == "Decision" for event in record.value["events"])


class ExpiryTest(unittest.TestCase):
    def start(self, cluster):
        cluster.topics_apply()
        for name, agent in (("quick", "noop"), ("waits", "silent")):
            path = cluster.folder / f"{name}.json"
            path.write_text(json.dumps(workflow(name, agent)))
            cluster.workflow_deploy(path)
        for role in ("submission", "supervisor", "console"):
            cluster.add(role, ready=False)
        for name, properties in (("noop", {}), ("silent", {"agent.sim.silent.share": 1})):
            cluster.add("agent", ready=False, properties={
                "agent.name": name, "agent.kind": "sim", **properties})
        for number in (1, 2):
            cluster.add("scheduler", ready=False,
                        properties={"instance.id": f"scheduler-{number}"})
        for service in cluster.services.values():
            service.wait_ready(60)

    def submit(self, cluster, orders, workflow="quick"):
        cluster.reeve("submit", "-", stdin="".join(ORDER % (order, workflow) for order in orders))

    def kept(self, cluster):
        console = f"http://127.0.0.1:{cluster['console-1'].http_port()}"
        return {row["order_id"]
                for row in cluster.reeve_json("orders", "list", "--console", console)}

    def wait_expired(self, cluster, count):
        """All of `count` orders have ended, and only the one that goes on is left."""
        cluster.wait_for_records("events", lambda records: ended(records) == count, 60,
                                 f"{count} orders end")
        wait_for("they expire", lambda: self.kept(cluster) == {"open"}, 60)

    def test_finished_orders_leave_every_store(self):
        with Cluster(Broker.shared(), partitions=2, properties=QUICK) as cluster:
            self.start(cluster)
            orders = [f"e{number}" for number in range(20)]
            self.submit(cluster, ["open"], "waits")
            self.submit(cluster, orders)
            self.wait_expired(cluster, len(orders))
            expiries = [record.value for record in cluster.read_topic("events")
                        if record.type == "Expiry"]
            self.assertLess(len(expiries), len(orders), "one record is for many")
            for expiry in expiries:
                self.assertGreaterEqual(expiry["decided_at"], expiry["ended_at"] + RETENTION_MS)
            self.assertEqual(sum(cluster[f"scheduler-{number}"].metric("reeve_orders_expired_total")
                                 for number in (1, 2)), len(orders))

            # What one owner leaves, the next one takes out; and ids may be used again.
            again = orders[:5] + [f"f{number}" for number in range(10)]
            self.submit(cluster, again)
            count = len(orders) + len(again)
            cluster.wait_for_records("events", lambda records: ended(records) == count, 60,
                                     "they end")
            cluster["scheduler-1"].sigkill()
            self.wait_expired(cluster, count)

            cluster["console-1"].terminate()
            cluster["console-1"].drop_data()
            cluster["console-1"].start()
            self.assertEqual(self.kept(cluster), {"open"})
            self.assertIn("no violations", cluster.reeve("verify").stdout)
            self.assertEqual(check(cluster, at_rest=False, effects=["requests.noop"],
                                   agents=["noop"]), [])


if __name__ == "__main__":
    unittest.main()
