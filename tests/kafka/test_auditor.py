# SPDX-License-Identifier: Apache-2.0
"""The auditor, one elected among the supervisors. It moves when its supervisor is killed,
raises alerts about stuck orders, and removes vanished agents."""

import json
import unittest

from lib import Broker, Cluster, check, wait_for

ORDER = ('{"order_id": "%s", "customer": "c", "currency": "GBP", "workflow": "one-step", '
         '"lines": [{"sku": "a", "quantity": 1, "unit_price": "1.50"}]}\n')
QUICK = {"session.timeout.ms": 2000, "clock.skew.max.ms": 1000,
         "leader.lease.ms": 1500, "leader.renew.ms": 300, "leader.progress.ms": 20000,
         "auditor.interval.ms": 300}


def workflow(timeout_seconds):
    return {"Name": "one-step", "Version": 1, "Defaults": {"TimeoutSeconds": timeout_seconds},
            "Steps": [{"Name": "Only", "Agent": "noop"}]}


class AuditorTest(unittest.TestCase):
    def start(self, cluster, timeout_seconds, agent, **supervisors):
        cluster.topics_apply()
        path = cluster.folder / "one-step.json"
        path.write_text(json.dumps(workflow(timeout_seconds)))
        cluster.workflow_deploy(path)
        for role in ("submission", "scheduler"):
            cluster.add(role, ready=False)
        agent = {"agent.name": "noop", "agent.kind": "sim", **agent}
        cluster.add("agent", properties=agent, ready=False)
        for number in (1, 2):
            cluster.add("supervisor", properties={"instance.id": f"supervisor-{number}"},
                        ready=False, **supervisors)
        for service in cluster.services.values():
            service.wait_ready(60)

    def submit(self, cluster, *orders):
        cluster.reeve("submit", "-", stdin="".join(ORDER % order for order in orders))

    def auditor(self, cluster, beyond=-1):
        """(term, name) of the auditor, once a later term has begun."""
        def leads():
            shown = [row for row in cluster.reeve_json("leader")
                     if row["role"] == "auditor" and row["leads"] and row["term"] > beyond]
            return shown and [(shown[0]["term"], shown[0]["leader"])]

        return wait_for("there is an auditor", leads, 60)[0]

    def test_the_auditor_moves_and_removes_vanished_agents(self):
        with Cluster(Broker.shared(), partitions=2, properties=QUICK) as cluster:
            self.start(cluster, 60, {})
            self.submit(cluster, "a1", "a2", "a3")
            first, name = self.auditor(cluster)

            cluster[name].sigkill()
            second, other = self.auditor(cluster, beyond=first)
            self.assertNotEqual(other, name)
            wait_for("it shows that it leads",
                     lambda: cluster[other].metric("reeve_leader_leads", role="auditor") == 1, 60)
            self.assertEqual(cluster.read_topic("alerts"), [])

            # A supervisor that stops releases the role; its successor need not wait for the lease.
            cluster[name].start()
            cluster[other].terminate()
            self.assertEqual(self.auditor(cluster, beyond=second)[1], name)
            self.assertIn("stopped", {record.value["reason"]
                                      for record in cluster.read_topic("leadership")})

            cluster["agent-1"].sigkill()
            cluster.wait_for_records("agents", lambda records: any(
                r.raw is None and r.key.endswith("/noop") for r in records), 120,
                "a tombstone of the agent that vanished")

            # One vanishes while no supervisor leads.
            cluster[name].terminate()
            cluster.add("agent", "late", properties={"agent.name": "noop", "agent.kind": "sim",
                                                     "agent.heartbeat.ms": 200})
            cluster["late"].sigkill()
            after = cluster.wait_for_records("agents", bool)[-1].offset
            cluster[name].start()
            cluster.wait_for_records("agents", lambda records: any(
                r.raw is None and r.offset > after for r in records), 60,
                "a tombstone of the agent that vanished unseen")
            self.assertEqual(check(cluster, effects=["requests.noop"], agents=["noop"]), [])

    def test_a_stuck_order_raises_an_alert(self):
        with Cluster(Broker.shared(), partitions=1,
                     properties={**QUICK, "auditor.grace.ms": 1000}) as cluster:
            cluster.expect_alerts("OrderStuck")
            # The supervisors see the deadline but send no request, and no other process will.
            self.start(cluster, 0.5, {"agent.sim.silent.share": "1"},
                       env={"REEVE_FAILPOINT": "supervisor.blind=error@1+"})
            self.submit(cluster, "stuck")
            alerts = cluster.wait_for_records("alerts", bool, 90, "an alert")
            self.assertEqual(alerts[0].value["code"], "OrderStuck")
            self.assertEqual(alerts[0].value["partition"], 0)
            self.assertIn("order stuck (Processing)", alerts[0].value["message"])


if __name__ == "__main__":
    unittest.main()
