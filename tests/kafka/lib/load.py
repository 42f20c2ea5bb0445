# SPDX-License-Identifier: Apache-2.0
"""An application that keeps submitting orders whatever the brokers do, with a journal of the orders
that it sent and of those that were acknowledged."""

import threading

import confluent_kafka

from .records import local_schemas


class Load(threading.Thread):
    """Submits at most one order every 20 ms, until finish()."""

    def __init__(self, crowd):
        super().__init__(daemon=True)
        self.crowd, self.begun = crowd, []
        self.acknowledged = set()
        self.ends = threading.Event()
        self.start()

    def run(self):
        # Not idempotent: after a broker's restart, librdkafka 2.0 may end such a producer with
        # "out of order sequence number". A repeated submission has the same id and content.
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.crowd.broker.bootstrap, "acks": "all",
            "partitioner": "murmur2_random", "message.timeout.ms": 0, "linger.ms": 1,
            # A broker answers one request of a connection at a time: what waits behind more of them
            # is not batched.
            "max.in.flight.requests.per.connection": 5,
            "log_level": 0})
        topic = self.crowd.cluster.topic("submissions")
        while not self.ends.wait(0.02):
            name = self.crowd.name_for()
            self.begun.append(name)
            producer.produce(
                topic, local_schemas().encode("SubmitOrder", self.crowd.order(name)), key=name,
                on_delivery=self._delivered)
            producer.poll(0)
        producer.flush(60)

    def _delivered(self, error, message):
        if error is None:
            self.acknowledged.add(message.key().decode())

    @property
    def unanswered(self):
        return len(self.begun) - len(self.acknowledged)

    def finish(self):
        """Returns the ids of all orders."""
        self.ends.set()
        self.join(90)
        return self.begun

    def lost(self):
        """Orders that were acknowledged but are not in the topic. (Offsets are not compared: the
        acknowledgement of a duplicate does not carry one.)"""
        return self.acknowledged - {record.key
                                    for record in self.crowd.cluster.read_topic("submissions")}
