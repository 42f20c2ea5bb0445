# SPDX-License-Identifier: Apache-2.0
"""Schedules on the embedded broker, by the command line, with two supervisors."""

import unittest

from lib import Cluster, EmbeddedBroker, ticks

TIMEOUT_SECONDS = 240


class SchedulesTest(ticks.TicksTest):
    def make_cluster(self):
        broker = EmbeddedBroker("ticks", ticks.PARTITIONS)
        self.addCleanup(broker.stop)
        return Cluster(broker, ticks.PARTITIONS, prefix="ticks", properties={
            "session.timeout.ms": 2000})


if __name__ == "__main__":
    unittest.main()
