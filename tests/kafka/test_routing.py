# SPDX-License-Identifier: Apache-2.0
"""Steps go to healthy agents with free capacity; the others are queued in the scheduler by
priority. The tests compare the order of events rather than times; across partitions they use
decided_at, which comes from one scheduler's clock."""

import unittest

from lib import wait_for
from lib import records as codec
from lib.crowd import CrowdTest

TIMEOUT_SECONDS = 600

HEARTBEAT_MS = 300
FACTOR = 2  # routing.factor
# The capacity is what the tests compare with: however fast an agent is, it gets no more.
PROPERTIES = {"routing.wait.ms": 0,
              "clock.skew.max.ms": 400, "routing.retry.ms": 300, "routing.retry.max.ms": 600,
              "agent.heartbeat.ms": HEARTBEAT_MS}


def workflow(name, *agents, seconds=60):
    # A timeout or failure would show as an order that does not end as Processed.
    return {"Name": name, "Version": 1, "Defaults": {"TimeoutSeconds": seconds},
            "Steps": [{"Name": "Call", "Agents": list(agents)}]}


class RoutingTest(CrowdTest):
    """Each class has its own services, because the tests depend on the whole set of agents."""

    workflows = ()
    agents = {}
    options = {}
    properties = {}

    @classmethod
    def setUpClass(cls):
        if cls is RoutingTest:
            raise unittest.SkipTest("a base class")
        cls.start_crowd(partitions=4, workflows=cls.workflows, agents=cls.agents,
                        properties={**PROPERTIES, **cls.properties}, **cls.options)

    # ---- the services ----

    def gauge(self, name, agent, scheduler="scheduler-1"):
        """A gauge of an agent; 0 if it is absent."""
        _, body = self.crowd[scheduler].get("/metrics")
        for line in body.splitlines():
            if line.startswith(f'{name}{{agent="{agent}"}} '):
                return float(line.rsplit(" ", 1)[1])
        return 0

    def wait_for_capacity(self, agent, capacity):
        wait_for(lambda: f"a capacity of {capacity} at {agent}",
                 lambda: self.gauge("reeve_agent_capacity", agent) == capacity, 60)

    def submit(self, count, workflow_name, priority="normal"):
        crowd = self.crowd
        names = [crowd.name_for() for _ in range(count)]
        crowd.cluster.produce("submissions", [
            (name, codec.local_schemas().encode("SubmitOrder", crowd.order(
                name, workflow_name, priority=priority))) for name in names], seconds=60)
        return names

    # ---- what the log says ----

    def events(self, names=None, kinds=None):
        """(order, decided_at, event) of the admitted Decisions, in order within each partition."""
        names = set(names) if names is not None else None
        return [(decision["order_id"], decision["decided_at"], event)
                for _, _, decision in self.crowd.admitted()
                if names is None or decision["order_id"] in names
                for event in decision["events"] if kinds is None or event["_type"] in kinds]

    def count(self, kind, names):
        return len(self.events(names, {kind}))

    def wait_for_all(self, kind, names, seconds=120):
        wait_for(lambda: f"{kind} of {len(names)} orders, {self.count(kind, names)} so far",
                 lambda: self.count(kind, names) >= len(names), seconds)

    def wait_processed(self, names, seconds=180):
        self.crowd.wait_for_end(names, seconds)
        self.assertEqual({self.crowd.state(name) for name in names}, {"Processed"})

    def alerts(self):
        return [(record.value["raised"], record.value["by"], record.value["message"])
                for record in self.crowd.tail("alerts")
                if record.value["code"] == "AgentUnavailable"]

    def most_at_once(self, names):
        """The largest number of steps that ran at the same time. Within a millisecond, ends count
        first, so the true number may be slightly higher."""
        ends = {"StepSucceeded", "StepFailed", "StepTimedOut"}
        changes = sorted((at, -1 if event["_type"] in ends else 1)
                         for _, at, event in self.events(names, ends | {"StepStarted"}))
        most = now = 0
        for _, change in changes:
            now += change
            most = max(most, now)
        return most


class ChoiceTest(RoutingTest):
    workflows = [workflow("either", "carrier-a", "carrier-b"), workflow("broken", "broken"),
                 workflow("either-broken", "broken", "carrier-b")]
    # Nothing listens on that port: each call fails with effect none.
    agents = {"carrier-a": {}, "carrier-b": {},
              "broken": {"agent.kind": "http", "agent.http.url": "http://127.0.0.1:9/",
                         "agent.circuit.errors.min": 3, "agent.circuit.open.ms": 600000,
                         "agent.circuit.open.max.ms": 600000}}

    def test_steps_go_to_the_healthy_agent(self):
        for agent in ("carrier-a", "carrier-b"):
            self.wait_for_capacity(agent, 2000)
        both = self.submit(40, "either")
        self.wait_processed(both)
        asked = {event["agent"] for _, _, event in self.events(both, {"StepStarted"})}
        self.assertEqual(asked, {"carrier-a", "carrier-b"})
        for _, _, event in self.events(both, {"StepStarted"}):
            self.assertRegex(event["routing_reason"],
                             r"^(carrier-[ab]: \d+ of 2000 free, p95 \d+ ms(; |$)){2}$")
            self.assertTrue(event["routing_reason"].startswith(event["agent"]))

        self.crowd["agent-carrier-a"].sigkill()
        self.wait_for_capacity("carrier-a", 0)
        one = self.submit(40, "either")
        self.wait_processed(one)
        for _, _, event in self.events(one, {"StepStarted"}):
            self.assertEqual(event["agent"], "carrier-b")
            self.assertRegex(event["routing_reason"], r"^carrier-b: \d+ of 2000 free, p95 \d+ ms; "
                                                      r"carrier-a: no live instance$")

    def test_an_agent_with_an_open_circuit_gets_no_steps(self):
        self.wait_for_capacity("broken", 2000)
        self.crowd.wait_for_end(self.submit(4, "broken"), 120)
        self.wait_for_capacity("broken", 0)
        names = self.submit(20, "either-broken")
        self.wait_processed(names)
        for _, _, event in self.events(names, {"StepStarted"}):
            self.assertEqual(event["agent"], "carrier-b")
            self.assertRegex(event["routing_reason"],
                             r"^carrier-b: \d+ of 2000 free, p95 \d+ ms; broken: circuit open$")


class AwayTest(RoutingTest):
    SECONDS = 8  # a step's timeout; no step times out once the agent is back
    workflows = [workflow("ship", "carrier", seconds=SECONDS)]
    agents = {"carrier": {"agent.in.flight.max": 8}}
    options = {"supervisors": 2}
    properties = {"routing.alert.ms": 500}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crowd.cluster.expect_alerts("AgentUnavailable")

    def all_waited_for_long(self, names):
        """Each step was queued for longer than its timeout and was checked again."""
        first = {}
        found = set()
        for name, at, _ in self.events(names, {"StepQueued"}):
            if at - first.setdefault(name, at) > 1200 * self.SECONDS:
                found.add(name)
        return len(found) == len(names)

    def test_an_absent_agent_causes_no_compensation(self):
        self.wait_for_capacity("carrier", 8 * FACTOR)
        self.crowd["agent-carrier"].terminate()
        self.wait_for_capacity("carrier", 0)
        names = self.submit(100, "ship")
        self.wait_for_all("StepQueued", names)
        self.assertEqual(self.gauge("reeve_steps_queued", "carrier"), 100)
        wait_for(lambda: f"an alert: {self.alerts()}",
                 lambda: [alert for alert in self.alerts() if alert[0]], 60)
        wait_for("every step has waited for longer than its timeout",
                 lambda: self.all_waited_for_long(names), 120)

        # Neither a crash of the scheduler nor the loss of its store changes anything.
        scheduler = self.crowd["scheduler-1"]
        scheduler.sigkill()
        scheduler.start(ready=False)
        more = self.submit(20, "ship")
        scheduler.wait_ready(60)
        self.wait_for_all("StepQueued", more)
        scheduler.sigkill()
        scheduler.drop_data()
        scheduler.start(ready=False)
        scheduler.wait_ready(60)
        wait_for("all steps count as queued",
                 lambda: self.gauge("reeve_steps_queued", "carrier") == 120, 60)
        self.assertEqual(self.count("StepStarted", [*names, *more]), 0)
        for name, _, event in self.events([*names, *more], {"StepQueued"}):
            self.assertEqual(event["reason"], "carrier: no live instance", name)
            self.assertGreater(event["retry_at"], 0, name)

        self.crowd["agent-carrier"].start(ready=False)
        self.wait_processed([*names, *more])
        self.assertEqual(self.count("StepStarted", [*names, *more]), 120)
        self.assertLessEqual(self.most_at_once([*names, *more]), 8 * FACTOR)
        self.assertEqual(self.gauge("reeve_steps_queued", "carrier"), 0)
        self.wait_for_closed_alert()
        self.assertEqual({by for _, by, _ in self.alerts()}, {"carrier"})

    def wait_for_closed_alert(self):
        wait_for(lambda: f"the alert is closed: {self.alerts()}",
                 lambda: not self.alerts()[-1][0], 60)

    def test_the_next_scheduler_closes_the_alert(self):
        self.wait_for_capacity("carrier", 8 * FACTOR)
        self.crowd["agent-carrier"].terminate()
        self.wait_for_capacity("carrier", 0)
        raised = len(self.alerts())
        names = self.submit(10, "ship")
        wait_for("an alert", lambda: [alert for alert in self.alerts()[raised:] if alert[0]], 60)
        # The scheduler is killed before the agent returns: its successor never saw it absent.
        scheduler = self.crowd["scheduler-1"]
        scheduler.sigkill()
        self.crowd["agent-carrier"].start(ready=False)
        self.crowd["agent-carrier"].wait_ready(60)
        scheduler.start(ready=False)
        self.wait_processed(names)
        self.wait_for_closed_alert()


class CapacityTest(RoutingTest):
    CALLS = 4
    workflows = [workflow("pack", "packer", seconds=600)]
    agents = {"packer": {"agent.in.flight.max": CALLS, "agent.sim.latency.ms": 20}}
    options = {"schedulers": 2}

    def test_starts_no_more_steps_than_there_is_capacity(self):
        def both_have_half():
            return [self.gauge("reeve_agent_capacity", "packer", f"scheduler-{number}")
                    for number in (1, 2)] == [self.CALLS * FACTOR / 2] * 2

        wait_for("each has its share of the capacity", both_have_half, 60)
        names = self.submit(300, "pack")
        self.wait_processed(names)
        self.assertLessEqual(self.most_at_once(names), self.CALLS * FACTOR)
        self.assertGreater(self.count("StepQueued", names), 100)
        self.assertEqual(self.count("StepStarted", names), 300)


class PriorityTest(RoutingTest):
    CALLS = 4
    LOW = 10000
    workflows = [workflow("serve", "counter", seconds=3600)]
    agents = {"counter": {"agent.in.flight.max": CALLS, "agent.sim.latency.ms": 60}}

    def lows_between(self, low, begin, end):
        low = set(low)
        return sum(begin <= at <= end for name, at, _ in self.events(kinds={"StepStarted"})
                   if name in low)

    def started_at(self, name):
        return self.events([name], {"StepStarted"})[0][1]

    def test_a_high_order_overtakes_ten_thousand_low_ones(self):
        limit = self.CALLS * FACTOR
        self.wait_for_capacity("counter", limit)
        low = self.submit(self.LOW, "serve", "low")
        wait_for("most low orders are queued",
                 lambda: self.gauge("reeve_steps_queued", "counter") > self.LOW * 0.8, 180)

        for high in [self.submit(1, "serve", "high")[0] for _ in range(3)]:
            wait_for("it is started", lambda name=high: self.count("StepStarted", [name]), 60)
            accepted = self.events([high], {"OrderAccepted"})[0][1]
            # Starts that were already requested, and the share of low orders.
            passed = self.lows_between(low, accepted + 1, self.started_at(high) - 1)
            self.assertLessEqual(passed, 2 * limit)
        self.assertGreater(self.gauge("reeve_steps_queued", "counter"), self.LOW / 2)

        # A stream of high orders does not starve the low ones, which get one start in 17.
        high = self.submit(170, "serve", "high")
        self.wait_for_all("StepStarted", high)
        times = sorted(at for _, at, _ in self.events(high, {"StepStarted"}))
        passed = self.lows_between(low, times[0], times[-1])
        self.assertGreaterEqual(passed, 5)
        self.assertLessEqual(passed, 10 + 2 * limit)

        # A faster agent replaces it, and all orders end.
        self.crowd["agent-counter"].terminate()
        self.crowd.add_agent("counter", "agent-fast",
                             {"agent.sim.latency.ms": 0, "agent.in.flight.max": 500})
        self.wait_processed([*low, *high], 300)
        self.assertEqual(self.gauge("reeve_steps_queued", "counter"), 0)


if __name__ == "__main__":
    unittest.main()
