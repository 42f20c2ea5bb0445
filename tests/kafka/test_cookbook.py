# SPDX-License-Identifier: Apache-2.0
"""The ten workflows of the cookbook on real brokers, while schedulers, supervisors and agents are
killed: orders end as the cases of their test files say, so as `reeve test` says, and what remains
at the services is what the orders say. Where a case has operators, they act on the command line.
cookbook.NOT_RUN names the cases that are left out, and why.

REEVE_SEED repeats a run's kills."""

import json
import os
import random
import unittest

from lib import cookbook, records, wait_for
from lib.checker import ENDED, partition_of
from lib.crowd import CrowdTest
from lib.remote import RemoteServices

TIMEOUT_SECONDS = 900
AGENTS = ("one", "two", "three")
COPIES = 3  # of each case
KILLS = (["scheduler-1"], ["supervisor-1", "scheduler-2"], ["scheduler-1", "scheduler-2"],
         ["supervisor-1"])
# What operators and senders of signals cause; a supervisor's rejected request is not theirs.
BY_HAND = ("SignalOrder", "CompleteStep", "SkipStep", "FailStep", "CancelOrder")


class CookbookTest(CrowdTest):
    @classmethod
    def setUpClass(cls):
        cls.cases = cookbook.read_cases(AGENTS)
        cls.orders = {}  # id of a root -> its case
        cls.signals = {}  # id of a root -> those that are still to be sent
        cls.services = RemoteServices(cls.answer)
        cls.addClassCleanup(cls.services.stop)
        cls.start_crowd(
            schedulers=2, supervisors=1, partitions=4,
            workflows=[case.workflow for case in cls.cases],
            agents={agent: {"agent.kind": "http",
                            "agent.http.url": f"{cls.services.url}/{agent}",
                            # A call that was given up might have been applied.
                            "agent.http.try.timeout.ms": 60000} for agent in AGENTS})

        cls.crowd.add("console", "console")

    @classmethod
    def answer(cls, order, step):
        """Later than all else: once all signals are sent, and what is to be undone is done."""
        root = order.split("~")[0]
        case = cls.orders[root]
        if case.is_later(order, step):
            to_undo = [cookbook.place_of(path) for path, state
                       in case.expect.get("Steps", {}).items() if state == "Compensated"]
            wait_for(f"{case.name}: the rest happens before {step}", lambda: not cls.signals[root]
                     and all((root + below, name) in cls.services.kept for below, name in to_undo),
                     300)
        return case.answer(order, step)

    def setUp(self):
        seed = int(os.environ.get("REEVE_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"REEVE_SEED={seed}", flush=True)
        self.dice = random.Random(seed)
        self.acts = {}  # id of a root -> those of operators that are still to come

    # ---- orders ----

    def submit(self, cases):
        for case in cases:
            name = self.crowd.name_for()
            self.orders[name], self.signals[name] = case, list(case.signals)
            self.acts[name] = list(case.acts)
            given = "" if case.input is None else json.dumps(case.input)
            self.produce("submissions", name, "SubmitOrder",
                         self.crowd.order(name, case.name, input=given))

    def produce(self, topic, key, kind, value):
        self.crowd.cluster.produce(topic, [(key, records.local_schemas().encode(kind, value))])

    def known(self, name):
        return self.crowd.checkers[partition_of(name, self.crowd.partitions)].orders.get(name)

    def state_of(self, name, step):
        known = self.known(name)
        return known.steps[step].state if known is not None and step in known.steps else None

    def answer_questions(self):
        """Sends each signal once its step waits for it; an early one, once there is the order; a
        late one, once the order has ended."""
        self.crowd.look()
        for name, signals in self.signals.items():
            while signals:
                below, step = cookbook.place_of(signals[0].step)
                state = self.state_of(name + below, step)
                if signals[0].early:
                    state = self.crowd.state(name + below)
                is_too_early = signals[0].late and self.crowd.state(name) not in ENDED
                if state is None or is_too_early:
                    break
                self.send(name + below, step, signals[0])
                signals.pop(0)

    def send(self, name, step, signal):
        """As a door does that has authenticated the sender."""
        self.produce("commands", name, "SignalOrder", {
            "order_id": name, "step": step, "id": signal.id, "by": signal.by,
            "payload": json.dumps(signal.payload), "groups": signal.groups, "reply_to": "",
            "submitted_by": ""})

    # ---- operators ----

    def operate(self):
        """What operators do now. Returns whether nothing is left for them to do."""
        self.answer_questions()
        for name, acts in self.acts.items():
            while acts and self.may_act(name, acts[0]):
                self.act(name, acts.pop(0))
        return not any(self.acts.values())

    def may_act(self, name, act):
        below, step = cookbook.place_of(act.step)
        if act.waits:
            return self.state_of(name + below, step) == "Waiting"
        return self.crowd.state(name + below) == "Error"

    def act(self, name, act):
        """The scheduler may refuse; that is compared with the case later."""
        below, _ = cookbook.place_of(act.step)
        url = f"http://127.0.0.1:{self.crowd['console'].http_port()}"
        done = self.crowd.cluster.reeve(*act.verb, name + below, *act.arguments, *act.flags,
                                        "--by", "olga", "--yes", "--console", url, check=False)
        self.assertIn(done.returncode, (0, 1), f"{act}: {done.stderr}")
        self.crowd.look()

    # ---- ends ----

    def is_as_expected(self, name):
        """It is where the case ends."""
        case = self.orders[name]
        state = case.expect.get("State")
        if state is None:
            return any(record.key == name for record in self.crowd.tail("replies.web"))
        if state == "Processing":
            return all(self.crowd.state(name + cookbook.below(path)) == expected
                       for path, expected in case.expect["Suborders"].items())
        return self.crowd.state(name) in ENDED | ({"Error"} & {state})

    def left(self):
        self.answer_questions()
        return [name for name in self.orders if not self.is_as_expected(name)]

    def describe(self):
        left = {name: f"{self.orders[name].name}: {self.crowd.state(name)}" for name in self.left()}
        return f"all orders end; {left} have not"

    def describe_acts(self):
        left = {name: (self.orders[name].name, self.crowd.state(name), acts[0])
                for name, acts in self.acts.items() if acts}
        return f"all operators act; {left} are left"

    def kill_some(self):
        """Of the agents, one in the middle of calls that were applied."""
        self.services.gate.clear()
        wait_for("an agent calls", self.services.holding, 60)
        agent = self.dice.choice(self.services.holding())
        names = [f"agent-{agent}", *self.dice.choice(KILLS)]
        for name in names:
            self.crowd[name].sigkill()
        self.services.gate.set()
        return names

    def test_orders_end_as_their_cases_say_although_processes_are_killed(self):
        left = self.cases * COPIES
        self.dice.shuffle(left)
        third = len(left) // 3
        for batch in left[:third], left[third:2 * third], left[2 * third:]:
            self.submit(batch)
            names = self.kill_some()
            self.answer_questions()
            self.restart(names)
        wait_for(self.describe_acts, self.operate, 240, 0.3)
        names = self.dice.choice(KILLS)
        for name in names:
            self.crowd[name].sigkill()
        self.restart(names)
        wait_for(self.describe, lambda: not self.left(), 240, 0.3)
        wait_for("every command is decided", self.crowd.settled, 40)
        self.assertEqual({case.name for case in self.orders.values()},
                         {case.name for case in self.cases})
        for name, case in self.orders.items():
            with self.subTest(case.title, case=case.name, order=name):
                self.check_root(name, case)
        self.check_statuses()
        self.end_the_others()

    def restart(self, names):
        for name in names:
            self.crowd[name].start(ready=False)
        self.crowd.wait_ready()

    def end_the_others(self):
        """Those that wait for an operator where their case ends: what their service was asked to do
        is done."""
        for name, case in self.orders.items():
            if case.expect.get("State") == "Processing":
                self.acts[name] = [cookbook.act_of({"Command": "complete", "Step": path})
                                   for path, answer in case.answers.items() if answer.silent]
        wait_for(self.describe_acts, self.operate, 60, 0.3)
        roots = [name for name, case in self.orders.items() if "State" in case.expect]
        self.crowd.wait_for_end(roots, 60)

    # ---- what became of them ----

    def check_root(self, root, case):
        if "State" not in case.expect:  # it was refused: its status says why
            self.assertIsNone(self.known(root))
            return
        self.assertEqual(self.known(root).state, case.expect["State"])
        tree = [order for checker in self.crowd.checkers.values()
                for key, order in checker.orders.items() if key.split("~")[0] == root]
        for order in tree:
            if order.key != root:
                self.expect(case, "Suborders", cookbook.path_of(order.key), order.state)
            for step in order.steps.values():
                path = cookbook.path_of(order.key, step.name)
                self.expect(case, "Steps", path, step.state)
                self.check_service(case, order.key, step, path)
        said = {path.split("/")[0].split("~")[0] for path in case.expect.get("Steps", {})}
        self.assertLessEqual(said, set(self.known(root).steps))
        refused = [event["code"] for _, _, decision in self.crowd.admitted()
                   if decision["order_id"].split("~")[0] == root for event in decision["events"]
                   if event["_type"] == "CommandRejected" and event["command"] in BY_HAND]
        self.assertEqual(refused, case.expect.get("Refused", []))

    def expect(self, case, kind, path, found):
        expected = case.expected(kind, path)
        # What runs in parallel with the one that fails may not have begun: its agent was away.
        may_be = {expected, "Skipped"} if expected == "Compensated" else {expected}
        if expected is not None:
            self.assertIn(found, may_be, path)

    def check_service(self, case, name, step, path):
        """What was done and not undone is kept once; nothing else is."""
        if not case.is_performed(path):
            return
        kept = self.services.kept.get((name, step.name), ())
        is_kept = step.state == "Processed" or (step.state == "Error" and case.answer(
            name, step.name).silent)
        self.assertEqual(len(kept), is_kept, path)
        expected = case.expected("Inputs", path)
        if expected is not None:
            self.assertEqual(self.services.inputs[name, step.name], expected, path)

    def check_statuses(self):
        """The application reads the Output and the reason in the last one."""
        last = {record.key: record.value
                for record in self.crowd.cluster.read_topic("replies.web")}
        for name, case in self.orders.items():
            if "Output" in case.expect:
                self.assertEqual(json.loads(last[name]["output"]), case.expect["Output"], case.name)
            if "Reason" in case.expect:
                self.assertEqual(last[name]["code"], case.expect["Reason"], case.name)
            if "State" not in case.expect:
                self.assertEqual(last[name]["kind"], "Rejected")
                self.assertEqual([last[name]["code"]], case.expect["Refused"], case.name)


if __name__ == "__main__":
    unittest.main()
