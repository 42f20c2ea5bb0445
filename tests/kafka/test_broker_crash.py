# SPDX-License-Identifier: Apache-2.0
"""The broker is killed under load and restarted: every service resumes by itself, and nothing is
lost or decided twice."""

import unittest

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.load import Load

OWN_BROKERS = True
TIMEOUT_SECONDS = 300


class BrokerCrashTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker()
        self.addCleanup(self.broker.stop)
        self.crowd = Crowd(self.broker, schedulers=2, supervisors=2)
        self.addCleanup(self.crowd.stop)

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


if __name__ == "__main__":
    unittest.main()
