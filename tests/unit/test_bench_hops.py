# SPDX-License-Identifier: Apache-2.0
"""scripts/bench-hops follows an order from record to record, and takes its time apart."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench-hops"


def load():
    loader = importlib.machinery.SourceFileLoader("bench_hops", str(SCRIPT))
    loader.path = str(SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_hops", loader))
    loader.exec_module(module)
    return module


hops = load()


class Events:
    """What perf saw, with 10 us to send, 100 on the way, 20 to be taken, and 5 to decide."""

    def __init__(self):
        self.now = 0
        self.seen = []

    def add(self, after, process, what):
        self.now += after
        self.seen.append((self.now, process, what))

    def produce(self, process, after=5):
        self.add(after, process, "produce")
        self.add(10, process, "send")

    def arrive(self, process, what):
        self.add(100, process, "receive")
        self.add(20, process, what)

    def order(self):
        self.produce("bench")
        for here, following in zip(hops.PATH, hops.PATH[1:]):
            if here[1] == "produce":
                self.arrive(*following)
                if following == ("scheduler", "acknowledged"):
                    self.add(1, "bench", "message")  # of an earlier status
            else:
                self.produce(following[0])


class BenchHopsTest(unittest.TestCase):
    def setUp(self):
        self.events = Events()

    def test_an_order_is_taken_apart(self):
        for _ in range(3):
            self.events.order()
        orders, rounds = hops.split(self.events.seen)
        self.assertEqual(2, len(orders))  # where the third one ends, no other begins
        self.assertEqual([], rounds)
        ways = 13
        self.assertEqual({"librdkafka: taken until sent": ways * 10,
                          "broker and kernel: sent until received": ways * 100,
                          "librdkafka: received until taken": ways * 20,
                          "submission decides": 5, "scheduler decides": 4 * 5,
                          "scheduler makes effects": 4 * 6, "agent answers": 3 * 5,
                          "all": ways * 130 + 5 + 20 + 24 + 15}, dict(orders[0]))

    def test_an_order_of_which_a_record_was_missed_does_not_count(self):
        self.events.order()
        complete = len(self.events.seen)
        self.events.order()
        self.events.order()
        seen = [event for i, event in enumerate(self.events.seen)
                if i >= complete or event[1:] != ("agent", "produce")]
        self.assertEqual(1, len(hops.split(seen)[0]))

    def test_the_raw_chain_is_taken_apart(self):
        self.events.order()
        for _ in range(2 * hops.RAW_HOPS + 2):
            self.events.produce("bench", after=0)
            self.events.add(100, "bench", "receive")
            self.events.add(20, "bench", "message")
        _, rounds = hops.split(self.events.seen)
        self.assertEqual(2, len(rounds))
        self.assertEqual({"librdkafka: taken until sent": 130,
                          "broker and kernel: sent until received": 1300,
                          "librdkafka: received until taken": 260, "all": 1690}, dict(rounds[0]))


if __name__ == "__main__":
    unittest.main()
