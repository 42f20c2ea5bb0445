# SPDX-License-Identifier: Apache-2.0
"""Steps that wait for a moment outlast kills, pauses and errors, on real brokers."""

import unittest

from lib import Broker, Cluster, outlast

TIMEOUT_SECONDS = 240


class WaitsTest(outlast.OutlastTest):
    def make_cluster(self):
        cluster = Cluster(Broker.shared(), outlast.PARTITIONS)
        cluster.topics_apply()
        return cluster


if __name__ == "__main__":
    unittest.main()
