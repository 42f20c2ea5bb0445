# SPDX-License-Identifier: Apache-2.0
"""The library of the tests on real Kafka. It uses reeve from outside only: its command line,
topics, schemas and HTTP endpoints. See tests/README.md."""

from .broker import Broker, EmbeddedBroker
from .checker import check
from .cluster import Cluster
from .records import Record, read_topic
from .service import Service
from .waiting import TimedOut, millis, wait_for

__all__ = ["Broker", "Cluster", "EmbeddedBroker", "Record", "Service", "TimedOut", "check",
           "millis", "read_topic", "wait_for"]
