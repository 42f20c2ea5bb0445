# SPDX-License-Identifier: Apache-2.0
"""How long orders wait when their scheduler is killed: restarts and takeovers, as a line of JSON.

    takeovers.py [--restarts N] [--takeovers N] [--orders N] [--waiting]

restart:  of two static members one is killed and started again at once; ms from the SIGKILL until
          the first order of one of its partitions is Processed, until they are assigned to it, and
          until the last of its Claims; and how many records it folded; at each of the restarts.
restart_open: the same with --orders open orders in the stores of the two, and the MB that the one
          that was started has resident then.
takeover: the owner of a partition with --orders open orders is killed and its standby takes over;
          ms from its last Decision until the Claim and until the first Decision of the other.
--waiting: restart_wait, restart_await, takeover_wait, takeover_await: the same with as many orders
          that stand in a Wait, and in an Await, instead of a call; the restarts in turns.

scripts/bench runs it, with PYTHONPATH (tests/kafka), REEVE (the executable) and REEVE_BOOTSTRAP."""

import argparse
import json

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.takeover import Takeover, open_orders, restart

from process import resident_mb


class Restarts:
    """Two schedulers with orders that stand in a step; one is killed and started again."""

    def __init__(self, broker, orders, step):
        self.orders, self.found = orders, []
        self.crowd = Crowd(broker, schedulers=2, properties={
            "group.static": "true", "session.timeout.ms": 30000, "routing.enabled": "false"})
        self.both = [self.crowd["scheduler-1"], self.crowd["scheduler-2"]]
        if orders > 0:
            open_orders(self.crowd, self.both, orders, step)
            # It leaves its stores complete, so that restarts fold what came after these orders.
            self.both[1].terminate()
            self.both[1].start(ready=False)

    def turn(self):
        for service in self.both:
            wait_for(lambda service=service: f"{service.name} runs three partitions:\n"
                     f"{service.tail()}", lambda service=service: service.metric(
                         "reeve_partitions_running") == 3, 60)
        self.found.append({**restart(self.crowd, self.both[1]),
                           "resident_mb": resident_mb(self.both[1].process.pid)})

    def figures(self):
        # The first one does not count: the broker's JVM compiles what is hot.
        return {"open_orders": self.orders,
                **{name: [each[name] for each in self.found[1:]] for name in self.found[0]}}


def restarts(broker, count, orders, steps):
    """The figures of each of the steps."""
    stages = {}
    try:
        for step in steps:
            stages[step] = Restarts(broker, orders, step)
        for _ in range(count + 1):
            for stage in stages.values():
                stage.turn()
        return {step: stage.figures() for step, stage in stages.items()}
    finally:
        for stage in stages.values():
            stage.crowd.stop()


def takeovers(broker, count, orders, step):
    stage = Takeover(broker, orders, step=step)
    try:
        owner = stage.scheduler("owner-1", 1)
        stage.open_orders(owner)
        heir = stage.scheduler("owner-2", 1)
        found = []
        for _ in range(count):
            owner, heir = stage.owner_and_standby(owner, heir)
            found.append(stage.take_over(owner, heir))
            owner.start(ready=False)
        return {"open_orders": orders, "session_ms": stage.session_ms,
                **{name: [each[name] for each in found]
                   for name in ("folded", "claim_ms", "decision_ms")}}
    finally:
        stage.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--restarts", type=int, default=9)
    parser.add_argument("--takeovers", type=int, default=3)
    parser.add_argument("--orders", type=int, default=100000)
    parser.add_argument("--waiting", action="store_true")
    arguments = parser.parse_args()
    steps = {"call": "", "wait": "_wait", "await": "_await"} if arguments.waiting else {"call": ""}
    broker = Broker.shared()
    try:
        found = {"restart": restarts(broker, arguments.restarts, 0, ["call"])["call"]}
        for step, figures in restarts(broker, arguments.restarts, arguments.orders, steps).items():
            found[f"restart{steps[step] or '_open'}"] = figures
        for step, suffix in steps.items() if arguments.takeovers > 0 else ():
            found[f"takeover{suffix}"] = takeovers(broker, arguments.takeovers, arguments.orders,
                                                   step)
        print(json.dumps(found))
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
