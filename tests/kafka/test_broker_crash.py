# SPDX-License-Identifier: Apache-2.0
"""The broker is killed under load and restarted: every service resumes by itself, and nothing is
lost or decided twice."""

import unittest

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.load import Load

OWN_BROKERS = True
TIMEOUT_SECONDS = 900


class BrokerCrashTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, schedulers=2, supervisors=2)
        self.addCleanup(self.crowd.stop)
        self.crowd.cluster.expect_alerts("Stalled")  # if the broker is away for 15 s

    def test_every_service_resumes_by_itself(self):
        crowd = self.crowd
        crowd.add("console", "console")
        pids = {name: service.process.pid for name, service in crowd.cluster.services.items()}
        load = Load(crowd)
        for crash in (1, 2):
            count = len(crowd.ended(load.begun))
            wait_for(f"orders end before crash {crash}",
                     lambda count=count: len(crowd.ended(load.begun)) >= count + 40, 60)
            self.broker.kill()
            wait_for("orders wait for acknowledgements", lambda: load.unanswered >= 20, 30)
            self.broker.restart()
        names = load.finish()
        self.assertEqual(load.acknowledged, set(names))
        crowd.wait_for_end(names, 90)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        # The same processes: none exited and none was restarted.
        self.assertEqual(pids, {name: service.process.pid
                                for name, service in crowd.cluster.services.items()
                                if service.is_running})
        crowd.wait_ready()
        self.assertEqual(load.lost(), set())
        self.assertEqual(crowd.missing_requests(), [])
        self.assertEqual(crowd.findings(), [])


def holds_partitions(member):
    """A member that was in the middle of a rebalance when its broker was killed has given them up
    already; one that was not loses them when its session ends."""
    log = member.stderr
    return log.rfind('"partitions assigned"') > log.rfind('"partitions revoked"')


class StaticMembersTest(unittest.TestCase):
    """A static member whose session ends while the broker is away may be fenced by its own earlier
    membership: by a commit that was on its way. No process exits for that."""

    def test_static_members_survive_outages_longer_than_their_sessions(self):
        broker = Broker()
        self.addCleanup(broker.stop)
        crowd = Crowd(broker, schedulers=3, supervisors=2,
                      properties={"group.static": "true", "session.timeout.ms": 1000})
        self.addCleanup(crowd.stop)
        crowd.cluster.expect_alerts("Stalled")  # if the broker is away for 15 s
        pids = {name: service.process.pid for name, service in crowd.cluster.services.items()}
        members = crowd.running("scheduler") + crowd.running("supervisor")
        load = Load(crowd)
        for crash in (1, 2, 3):
            count = len(crowd.ended(load.begun))
            wait_for(f"orders end before crash {crash}",
                     lambda count=count: len(crowd.ended(load.begun)) >= count + 40, 60)
            crowd.wait_ready()
            broker.kill()
            wait_for(lambda: "every session has ended, but not of\n" + "\n".join(
                member.tail() for member in members if holds_partitions(member)),
                     lambda: not any(holds_partitions(member) for member in members), 60)
            broker.restart()
        names = load.finish()
        self.assertEqual(load.acknowledged, set(names))
        crowd.wait_for_end(names, 90)
        self.assertEqual({crowd.state(name) for name in names}, {"Processed"})
        crowd.wait_ready()
        self.assertEqual(pids, {name: service.process.pid
                                for name, service in crowd.cluster.services.items()
                                if service.is_running})
        self.assertEqual(crowd.findings(), [])


if __name__ == "__main__":
    unittest.main()
