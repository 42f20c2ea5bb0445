# SPDX-License-Identifier: Apache-2.0
"""Sub-orders on real brokers, while schedulers, supervisors and agents are killed: all of
a tree ends, parents and sub-orders agree, and what remains at the services is what the orders say.

REEVE_SEED repeats a run's kills."""

import os
import random
import unittest

from lib import wait_for
from lib.checker import ENDED
from lib.crowd import CrowdTest

TIMEOUT_SECONDS = 420
SLOW = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 0.2, "MaxAttempts": 9}]
ONCE = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 0.2, "MaxAttempts": 9}]


def step(name, agent, **more):
    return {"Name": name, "Agent": agent, "TimeoutSeconds": 3, "Retry": ONCE, **more}


def undone(name, agent):
    return step(name, agent, Compensate={"Action": "Undo" + name, "Retry": SLOW})


# Parts that may fail, of which each has an order of its own for its box; a payment; and what is
# kept: from there on services are asked until they have done it.
TREE = {"Name": "tree", "Version": 1, "Steps": [
    {"Name": "Parts", "ForEach": {"Items": [0, 1, 2, 3], "MaxConcurrency": 3,
                                  "ToleratedFailureCount": 1},
     "Steps": [undone("Reserve", "stock"),
               {"Name": "Box", "Steps": [undone("Pack", "stock")]}]},
    undone("Pay", "bank"),
    {"Name": "Ship", "Pivot": True, "ForEach": {"Items": [0, 1]}, "OnExhausted": "error",
     "Steps": [step("Deliver", "stock", Retry=SLOW)]}]}
FAILING = {"agent.sim.fail.share": "0.04", "agent.sim.unknown.share": "0.02"}
ROOTS, ROUNDS = 24, 4


class SubordersTest(CrowdTest):
    @classmethod
    def setUpClass(cls):
        cls.start_crowd(schedulers=2, supervisors=2, workflows=(TREE,),
                        agents={"stock": FAILING, "bank": FAILING})

    def setUp(self):
        seed = int(os.environ.get("REEVE_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"REEVE_SEED={seed}", flush=True)
        self.dice = random.Random(seed)

    def kill_and_restart(self, names):
        for name in names:
            self.crowd[name].sigkill()
        for name in names:
            self.crowd[name].start(ready=False)
        self.crowd.wait_ready()

    def orders(self):
        self.crowd.look()
        return {key: order for checker in self.crowd.checkers.values()
                for key, order in checker.orders.items()}

    def wait_for_trees(self, names):
        self.crowd.wait_for_end(names, 180)
        wait_for(lambda: "all sub-orders end; left: " + str(
            {key: order.state for key, order in self.orders().items()
             if order.state not in ENDED | {"Error"}}),
                 lambda: all(order.state in ENDED | {"Error"} for order in self.orders().values()),
                 120, 0.3)

    def test_trees_outlast_kills(self):
        names = []
        for _ in range(ROUNDS):
            names += self.crowd.submit(ROOTS // ROUNDS, "tree")
            before = len(self.crowd.look())
            wait_for("the trees grow", lambda seen=before: len(self.crowd.look()) > seen + 60, 60)
            self.kill_and_restart(self.dice.choice([
                ["scheduler-1", "scheduler-2"], ["scheduler-1"], ["agent-stock", "scheduler-2"],
                ["supervisor-1", "supervisor-2", "agent-bank"]]))
        self.wait_for_trees(names)
        orders = self.orders()
        states = {orders[name].state for name in names}
        self.assertIn("Processed", states)
        roots = {order.parent["root"] for order in orders.values() if order.parent}
        self.assertLessEqual(set(names), roots)
        self.assertTrue(any(key.count("~") == 3 for key in orders), "no order is two levels deep")


if __name__ == "__main__":
    unittest.main()
