# SPDX-License-Identifier: Apache-2.0
"""How long orders wait when their scheduler is killed: restarts and takeovers, as a line of JSON.

    takeovers.py [--restarts N] [--takeovers N] [--orders N]

restart:  of two static members one is killed and started again at once; ms from the SIGKILL until
          the first order of one of its partitions is Processed, until they are assigned to it, and
          until the last of its Claims; and how many records it folded; at each of the restarts.
restart_open: the same with --orders open orders in the stores of the two.
takeover: the owner of a partition with --orders open orders is killed and its standby takes over;
          ms from its last Decision until the Claim and until the first Decision of the other.

scripts/bench runs it, with PYTHONPATH (tests/kafka), REEVE (the executable) and REEVE_BOOTSTRAP."""

import argparse
import json

from lib import Broker, wait_for
from lib.crowd import Crowd
from lib.takeover import Takeover, open_orders, restart


def restarts(broker, count, orders):
    crowd = Crowd(broker, schedulers=2, properties={
        "group.static": "true", "session.timeout.ms": 30000, "routing.enabled": "false"})
    both = [crowd["scheduler-1"], crowd["scheduler-2"]]

    def wait_for_both():
        for service in both:
            wait_for(lambda service=service: f"{service.name} runs three partitions:\n"
                     f"{service.tail()}", lambda service=service: service.metric(
                         "reeve_partitions_running") == 3, 60)

    try:
        if orders > 0:
            open_orders(crowd, both, orders)
        found = []
        # The first one does not count: the broker's JVM compiles what is hot.
        for _ in range(count + 1):
            wait_for_both()
            found.append(restart(crowd, both[1]))
        return {"open_orders": orders,
                **{name: [each[name] for each in found[1:]]
                   for name in ("first_order_ms", "assigned_ms", "claims_ms", "folded")}}
    finally:
        crowd.stop()


def takeovers(broker, count, orders):
    stage = Takeover(broker, orders)
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
    arguments = parser.parse_args()
    broker = Broker.shared()
    try:
        print(json.dumps({
            "restart": restarts(broker, arguments.restarts, 0),
            "restart_open": restarts(broker, arguments.restarts, arguments.orders),
            "takeover": takeovers(broker, arguments.takeovers, arguments.orders)}))
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
