# SPDX-License-Identifier: Apache-2.0
"""Schedules outlast the supervisors that submit their orders, on real brokers."""

import unittest

from lib import Broker, Cluster, ticks

TIMEOUT_SECONDS = 240


class SchedulesTest(ticks.TicksTest):
    def make_cluster(self):
        cluster = Cluster(Broker.shared(), ticks.PARTITIONS)
        cluster.topics_apply()
        return cluster


if __name__ == "__main__":
    unittest.main()
