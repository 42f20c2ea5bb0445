# SPDX-License-Identifier: Apache-2.0
"""The only scheduler is dead and an acknowledged order waits: what is alive reports it. The alert
is closed once the order is decided, although the supervisor that raised it is dead by then."""

import json
import unittest

from lib import Broker, wait_for
from lib.crowd import Crowd

TIMEOUT_SECONDS = 300
CODE = "CommandsWaiting"
REASON = "1 command waits, and none was decided for "


class WaitingCommandsTest(unittest.TestCase):
    def setUp(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        self.crowd = Crowd(broker, partitions=2)
        self.addCleanup(self.crowd.stop)
        self.crowd.cluster.expect_alerts(CODE)
        self.crowd.add("console")

    def alerts(self):
        """(raised, by) of the alerts about waiting commands, in their order."""
        return [(record.value["raised"], record.value["by"])
                for record in self.crowd.cluster.read_topic("alerts")
                if record.value["code"] == CODE]

    def open_alerts(self):
        status, body = self.crowd["console"].get("/api/alerts?open=1")
        self.assertEqual(status, 200, body)
        return [alert for alert in json.loads(body)["partitions"]
                if alert["open"] and alert["code"] == CODE]

    def check_all_report_it(self, partition):
        cluster = self.crowd.cluster
        console = ("--console", f"http://127.0.0.1:{self.crowd['console'].http_port()}")
        for name in ("console", "supervisor-1"):
            ready = self.crowd[name]  # each measures by itself
            wait_for(f"{name} reports it", lambda ready=ready: f"partition {partition}: {REASON}" in
                     ready.get("/readyz")[1], 20)
            status, body = ready.get("/readyz")
            self.assertEqual((status, body[:10]), (200, "degraded: "))
        health = cluster.reeve("health", *console, check=False)
        self.assertEqual(health.returncode, 1, health.stdout)
        for command in ("health", "owners", "overview", "alerts"):
            done = cluster.reeve(command, *console, check=False)
            self.assertIn(REASON, done.stdout, command)
        self.assertGreaterEqual(
            self.crowd["supervisor-1"].metric("reeve_commands_undecided_seconds"), 30)

    def check_the_order_is_found(self, name, partition):
        """No list has it, and the answer about it names where commands wait."""
        cluster = self.crowd.cluster
        console = ("--console", f"http://127.0.0.1:{self.crowd['console'].http_port()}")
        listed = cluster.reeve("orders", "list", "--limit", "0", *console)
        self.assertNotIn(name, listed.stdout)
        self.assertIn(f"1 command waits undecided in partition {partition}; orders in it are not "
                      "listed", listed.stderr)
        unknown = cluster.reeve("orders", "get", name, *console, check=False)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("1 command waits undecided in its partition", unknown.stderr)
        waiting = cluster.reeve_json("partition", "waiting", str(partition))
        self.assertEqual([(row["kind"], row["order_id"], row["problem"]) for row in waiting],
                         [("SubmitOrder", name, None)])

    def test_a_running_service_reports_that_commands_wait(self):
        crowd = self.crowd
        crowd.wait_for_end(crowd.submit(10))
        crowd["scheduler-1"].sigkill()
        (name,) = crowd.submit(partition=1)
        wait_for("the alert is raised and shown", self.open_alerts, 90)
        self.assertEqual(self.alerts(), [(True, "supervisor")])
        self.assertEqual([alert["partition"] for alert in self.open_alerts()], [1])
        self.check_all_report_it(1)
        self.check_the_order_is_found(name, 1)
        crowd["supervisor-1"].sigkill()
        crowd.add("supervisor", "supervisor-2")
        crowd["supervisor-2"].wait_ready(60)
        crowd.add("scheduler", "scheduler-2")
        crowd.wait_for_end([name])
        wait_for("the alert is closed", lambda: not self.open_alerts(), 60)
        self.assertEqual(self.alerts(), [(True, "supervisor"), (False, "supervisor")])
        wait_for("the console reports nothing",
                 lambda: crowd["console"].get("/readyz") == (200, "ok\n"), 30)


if __name__ == "__main__":
    unittest.main()
