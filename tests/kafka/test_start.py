# SPDX-License-Identifier: Apache-2.0
"""How long a starting process waits for brokers that stop answering while it starts: as long as
start.timeout.ms says. Clients reach the broker through a relay that drops requests of one kind."""

import contextlib
import pathlib
import re
import socket
import struct
import threading
import time
import unittest

from lib import Broker, Cluster, paths, wait_for

OWN_BROKERS = True
TIMEOUT_SECONDS = 200

DESCRIBE_CONFIGS = 32  # the number of the request in Kafka's protocol


class Relay:
    """Passes connections on to the broker, without the requests of the kinds in `dropped`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.dropped, self.drops = set(), 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def broker(self):
        """The broker's own address; it is started after the relay."""
        text = (self.folder / "node-1.properties").read_text(encoding="utf-8")
        return "127.0.0.1", int(re.search(r"^listeners=PLAINTEXT://127.0.0.1:(\d+)", text,
                                          re.M).group(1))

    def accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError, struct.error), client, \
                socket.create_connection(self.broker()) as broker:
            threading.Thread(target=self.answer, args=(broker, client), daemon=True).start()
            source = client.makefile("rb")
            while True:
                head = source.read(4)
                body = source.read(struct.unpack(">i", head)[0])
                if struct.unpack(">h", body[:2])[0] in self.dropped:
                    self.drops += 1
                else:
                    broker.sendall(head + body)

    @staticmethod
    def answer(broker, client):
        with contextlib.suppress(OSError):
            while data := broker.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()


class StartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = paths.new_folder("kafka")
        cls.relay = Relay(folder)
        cls.addClassCleanup(cls.relay.close)
        cls.broker = Broker(nodes=1, folder=folder, properties=(
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{cls.relay.port}\n"))
        cls.addClassCleanup(cls.broker.stop)

    def setUp(self):
        self.cluster = self.enterContext(Cluster(self.broker, partitions=1))
        self.cluster.topics_apply()
        self.relay.dropped, self.relay.drops = {DESCRIBE_CONFIGS}, 0
        self.addCleanup(self.relay.dropped.clear)

    def test_a_start_waits_as_long_as_it_may(self):
        service = self.cluster.add("supervisor", properties={"start.timeout.ms": "5m"},
                                   ready=False)
        wait_for("it has asked four times", lambda: self.relay.drops >= 4 or
                 service.process.poll() is not None, 90)
        self.assertTrue(service.is_running, service.tail())
        self.relay.dropped.clear()
        service.wait_ready(60)

    def test_a_start_waits_no_longer_than_it_may(self):
        begun = time.monotonic()
        service = self.cluster.add("supervisor", properties={"start.timeout.ms": "2s"},
                                   ready=False)
        self.assertEqual(service.wait_end(60), 69, service.tail())
        self.assertLess(time.monotonic() - begun, 9)
        self.assertGreater(self.relay.drops, 0)


if __name__ == "__main__":
    unittest.main()
