# SPDX-License-Identifier: Apache-2.0
"""Agents that remember, on a real broker: no second call for a request that comes again to the
instance that answered it, callbacks to any instance, programs, several agents in one process, steps
that ask for more time. The remote service counts the calls of each request id."""

import collections
import decimal
import http.server
import json
import os
import threading
import time
import unittest
import urllib.error
import urllib.request

from lib import Broker, Cluster, wait_for
from lib.checker import read_ledger
from lib.crowd import Crowd
from lib.records import local_schemas
from lib.stage import StageTest

TIMEOUT_SECONDS = 600


class Service:
    """A remote service: what it answers is said by a function of the request's body."""

    def __init__(self, answer):
        service = self
        self.answer = answer
        self.calls = []  # (request id, callback URL)
        self.release = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request_id = "{order_id}/{step}/{direction}/{attempt}".format(**body)
                service.calls.append((request_id, self.headers.get("Reeve-Callback")))
                status, answer = service.answer(service, body)
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass  # an agent that was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def counts(self):
        return collections.Counter(request_id for request_id, _ in list(self.calls))

    def callback(self, request_id):
        wait_for(f"the call {request_id}", lambda: self.counts()[request_id] > 0, 60)
        return next(url for found, url in self.calls if found == request_id)

    def stop(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def done(_service, body):
    return 200, {"for": body["order_id"]}


def accepted(_service, _body):
    return 202, {}


def silent(service, _body):
    service.release.wait()
    return 200, {}


def post(url, body):
    """(status, answer)"""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class AgentMemoryTest(unittest.TestCase):
    def open(self, *agents, partitions=4):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.cluster = Cluster(self.broker, partitions=partitions)
        self.addCleanup(self.cluster.stop)
        words = [word for agent in agents for word in ("--agent", agent)]
        self.cluster.reeve("topics", "apply", *words)

    def service(self, answer):
        service = Service(answer)
        self.addCleanup(service.stop)
        return service

    def agent(self, service=None, name=None, properties=None, **options):
        return self.cluster.add("agent", name, properties={
            "agent.name": "payment", "agent.http.url": service.url if service else None,
            "agent.retry.backoff.ms": 50, "agent.http.try.timeout.ms": 300000,
            **(properties or {})}, **options)

    def request(self, order, agent="payment", timeout_ms=300000):
        key = f"{order}/Pay/do/0"
        lines = [{"sku": "71053", "description": "LANTERN", "quantity": 2,
                  "unit_price": decimal.Decimal("3.3900")}]
        return order, local_schemas().encode("StepRequest", {
            "order_id": order, "step": "Pay", "direction": "do", "attempt": 1, "generation": 0,
            "agent": agent, "action": "Pay", "idempotency_key": key, "do_key": key,
            "complete_by": int(time.time() * 1000) + timeout_ms, "outputs": [],
            "claim_id": b"c" * 16, "order_version": 1, "decision_offset": 7,
            "order": {"order_id": order, "customer": "17850", "currency": "GBP", "lines": lines,
                      "attributes": {}, "priority": "normal", "reply_to": "", "workflow": "w",
                      "workflow_version": 1, "traceparent": "", "content_hash": b"h" * 16}})

    def send(self, orders, agent="payment", **more):
        self.cluster.produce(f"requests.{agent}",
                             [self.request(order, agent, **more) for order in orders])

    def reports(self, orders, seconds=120):
        """{order: report} once there is one of each; all reports of an order say the same."""
        found = {}

        def attempt(records):
            found.clear()
            for record in records:
                order = record.value["order_id"]
                said = (record.value["succeeded"], record.value.get("output"))
                self.assertEqual(found.setdefault(order, (said, record.value))[0], said)
            return set(orders) <= set(found)

        self.cluster.wait_for_records("commands", attempt, seconds,
                                      what=f"reports of {len(orders)} orders")
        return {order: value for order, (_, value) in found.items()}

    # ---- answers ----

    def test_an_agent_killed_after_its_answers_repeats_no_call(self):
        self.open("payment")
        service = self.service(done)
        agent = self.agent(service, start=False)
        sent = []
        # Where each of these kills it, all calls of the round have ended and are remembered.
        for point, count in (("agent.remembered=kill", 1), ("agent.report=kill@40", 40),
                             ("agent.reported=kill@40", 40), ("agent.commit=kill", 1)):
            orders = [f"{point.split('=')[0]}-{number}" for number in range(count)]
            sent += orders
            self.send(orders)
            agent.start(ready=False, env={"REEVE_FAILPOINT": point})
            self.assertEqual(agent.wait_end(60), -9)
            agent.start()
            self.reports(sent)
            agent.terminate(60)
        self.assertEqual(service.counts(), {f"{order}/Pay/do/1": 1 for order in sent})

    def test_partitions_move_without_a_second_call(self):
        self.open("payment")
        service = self.service(done)
        first = self.agent(service)
        orders = [f"a{number}" for number in range(200)]
        self.send(orders)
        self.reports(orders)
        second = self.agent(service, properties={"instance.id": "second"})
        orders += [f"b{number}" for number in range(200)]
        self.send(orders[200:])
        self.reports(orders)
        wait_for("both work", lambda: second.metric("reeve_agent_tries_total"), 60)
        first.terminate(60)
        orders += [f"c{number}" for number in range(50)]
        self.send(orders[400:])
        own = [order for order, report in self.reports(orders).items()
               if report["instance"] == "second"]
        self.assertGreater(len(own), 50)
        self.assertEqual(set(service.counts().values()), {1})
        # A new owner emits the requests again, and the agent process restarts.
        second.terminate(60)
        second.start()
        self.send(own)
        more = [f"d{number}" for number in range(10)]
        self.send(more)
        self.reports(orders + more)
        wait_for("every answer is repeated from memory",
                 lambda: second.metric("reeve_agent_memory_recalled_total") == len(own), 60)
        self.assertEqual(set(service.counts().values()), {1})

    # ---- callbacks ----

    def test_a_callback_is_taken_by_any_instance(self):
        self.open("payment", partitions=1)
        service = self.service(accepted)
        secret = self.cluster.folder / "secret"
        secret.write_text("the instances share this\n")
        properties = {"agent.callback.secret.file": secret}
        agents = [self.agent(service, properties=properties) for _ in range(2)]
        self.send(["A", "B", "C"])
        urls = {order: service.callback(f"{order}/Pay/do/1") for order in "ABC"}
        wait_for("all are accepted", lambda: sum(
            agent.metric("reeve_agent_calls_total") or 0 for agent in agents) == 3, 60)
        busy, idle = sorted(agents, key=lambda agent: -agent.metric("reeve_agent_calls_total"))
        self.assertEqual(idle.metric("reeve_agent_calls_total"), 0)

        def at(agent, url):
            return f"http://127.0.0.1:{agent.http_port()}/" + url.split("/", 3)[3]

        ok = {"outcome": "done", "output": {"paid": "6.78"}}
        self.assertEqual(post(at(idle, urls["A"]), ok)[0], 202)
        self.assertEqual(post(at(idle, urls["B"]).split("?")[0], ok)[0], 403)
        self.assertEqual(post(at(idle, urls["B"].replace("/B/", "/C/")), ok)[0], 403)
        self.assertEqual(post(at(idle, urls["B"]), b"{")[0], 400)
        self.assertEqual(post(at(idle, urls["B"]), b" " * 300000)[0], 413)
        no = {"outcome": "failed", "error": "Card.Declined", "message": "no", "effect": "none"}
        self.assertEqual(post(at(idle, urls["B"]), no)[0], 202)
        found = self.reports("AB")
        self.assertEqual(json.loads(found["A"]["output"]), {"paid": "6.78"})
        self.assertEqual((found["B"]["error_name"], found["B"]["effect"]),
                         ("Card.Declined", "none"))
        self.assertEqual(found["A"]["instance"], found["B"]["instance"])
        # The one that made the calls comes back and is asked again: C waits for its callback.
        idle.terminate(60)
        busy.sigkill()
        busy.start()
        self.send(["C", "D"])
        service.callback("D/Pay/do/1")
        self.assertEqual(post(at(busy, urls["C"]), ok)[0], 202)
        self.reports("ABC")
        self.assertEqual(set(service.counts().values()), {1})

    # ---- programs ----

    def test_programs_as_remote_services(self):
        self.open("payment")
        ledger = self.cluster.folder / "ledger"
        program = self.cluster.folder / "pay.py"
        program.write_text(f"""
import json, os, signal, sys
body = json.load(sys.stdin)
with open({str(ledger)!r}, "a") as out:
    out.write("%s %d\\n" % (os.environ["REEVE_IDEMPOTENCY_KEY"], os.getpid()))
print("working on", body["order_id"], file=sys.stderr)
if body["order_id"] == "declined":
    print(json.dumps({{"error": "Card.Declined", "message": "no"}}))
    sys.exit(65)
if body["order_id"] == "stuck":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
print(json.dumps({{"env": sorted(os.environ), "fds": len(os.listdir("/proc/self/fd"))}}))
""")
        agent = self.agent(properties={
            "agent.kind": "exec", "agent.exec.command": f"/usr/bin/python3 -I -B {program}",
            "agent.exec.grace.ms": 100}, env={"SECRET": "not for programs"})
        self.send(["stuck"], timeout_ms=3000)
        self.send(["fine", "declined"])
        found = self.reports(["fine", "declined"])
        self.assertEqual((found["declined"]["error_name"], found["declined"]["effect"]),
                         ("Card.Declined", "none"))
        output = json.loads(found["fine"]["output"])
        self.assertNotIn("SECRET", output["env"])
        self.assertTrue({"PATH", "REEVE_ORDER_ID", "REEVE_COMPLETE_BY"} <= set(output["env"]))
        self.assertLessEqual(output["fds"], 4)
        wait_for("the stuck program is killed", lambda: agent.metric("reeve_agent_calls") == 0, 60)
        wait_for("its log line", lambda: "working on fine" in agent.stderr, 60)
        pids = [int(line.split()[1]) for line in ledger.read_text().splitlines()]
        self.assertFalse([pid for pid in pids if os.path.exists(f"/proc/{pid}")])
        self.send(["more"])
        self.reports(["fine", "declined", "more"])
        self.assertEqual(len(ledger.read_text().splitlines()), 4)

    # ---- several agents in one process ----

    def test_a_stuck_agent_does_not_hold_up_its_neighbour(self):
        self.open("stock", "payment")
        stuck, well = self.service(silent), self.service(done)
        agent = self.agent(properties={
            "agent.name": None, "agent.names": "stock, payment",
            "agent.in.flight.max": 30, "agent.stock.http.url": stuck.url,
            "agent.payment.http.url": well.url})
        waiting = [f"s{number}" for number in range(200)]
        self.send(waiting, "stock")
        wait_for("its calls fill all its places", lambda: len(stuck.calls) == 30, 60)
        orders = [f"p{number}" for number in range(500)]
        self.send(orders)
        self.reports(orders)
        self.assertEqual(len(stuck.calls), 30)
        self.assertEqual(set(well.counts().values()), {1})
        _, text = agent.get("/metrics")
        self.assertIn('reeve_agent_calls{agent="stock"} 30', text)
        self.assertIn('reeve_agent_calls{agent="payment"} 0', text)
        self.assertTrue(agent.is_ready())
        stuck.release.set()
        self.reports(orders + waiting)

    def test_errors_in_the_configuration_of_several_agents_are_explained(self):
        self.open("stock")
        for properties, what in (
                ({"agent.names": "stock"}, "agent.name and agent.names"),
                ({"agent.name": None, "agent.names": "stock,stock"}, "twice"),
                ({"agent.payments.http.url": "http://x"}, "names payments")):
            agent = self.agent(ready=False, properties=properties)
            agent.wait_end(60)
            self.assertIn(what, agent.stderr)


class TakeoverTest(unittest.TestCase):
    """An instance that takes over from a dead one repeats what that one had not committed, with the
    same idempotency key."""

    workflow = {"Name": "pack", "Version": 1, "TimeoutSeconds": 600, "Steps": [
        {"Name": "Pack", "Agent": "packer", "TimeoutSeconds": 120},
        {"Name": "Label", "Agent": "packer", "TimeoutSeconds": 120}]}

    def test_repeats_uncommitted_calls_with_the_same_key_and_applies_each_once(self):
        broker = Broker.shared()
        self.addCleanup(broker.stop)
        self.crowd = Crowd(broker, partitions=2, workflows=[self.workflow], agents={"packer": {}})
        self.addCleanup(self.crowd.stop)
        self.crowd["agent-packer"].terminate()
        # Reported and acknowledged, and not committed.
        first = self.crowd.add_agent("packer", "first", ready=False,
                                     env={"REEVE_FAILPOINT": "agent.commit=kill@20"})
        self.crowd.add_agent("packer", "second", ready=False)
        names = self.crowd.load_until_killed(first, workflow="pack")
        names += self.crowd.submit(24, workflow="pack")
        self.crowd.wait_for_end(names)
        lines = read_ledger(self.crowd.cluster.ledger.read_text(encoding="utf-8"))
        keys = collections.defaultdict(set)
        for line in lines:
            keys[line["request"]].add(line["key"])
        self.assertGreaterEqual(len(keys), 2 * len(names))
        self.assertEqual({request: found for request, found in keys.items() if len(found) > 1}, {})
        applied = collections.Counter(line["key"] for line in lines if line["applied"])
        self.assertEqual(set(applied.values()), {1})
        self.assertEqual(self.crowd.findings(), [])


class MoreTimeTest(StageTest):
    """A step that takes longer than its TimeoutSeconds, with everybody at work."""

    workflows = [{"Name": "pack", "Version": 1, "TimeoutSeconds": 600, "Steps": [
        {"Name": "Pack", "Agent": "packer", "TimeoutSeconds": 4, "MaxExtensionSeconds": 120}]}]
    options = {"http_agents": ()}

    def test_a_step_goes_on_beyond_its_first_deadline(self):
        service = Service(accepted)
        self.addCleanup(service.stop)
        self.stage.add_agent("packer", {"agent.kind": "http", "agent.http.url": service.url})
        self.stage.cluster["agent-packer"].wait_ready(60)
        self.stage.submit("long", "pack")
        url = service.callback("long/Pack/do/1")
        wish = {"outcome": "extend", "seconds": 60, "progress": "3 of 5 parcels packed"}
        self.assertEqual(post(url, wish)[0], 202)

        def statuses():
            return [record.value for record in self.stage.tail("replies.web")
                    if record.value["order_id"] == "long"]

        wait_for(lambda: f"the progress among {statuses()}", lambda: any(
            status.get("message") == "3 of 5 parcels packed" for status in statuses()), 60)
        started = next(event for event in self.stage.events("long")
                       if event.type == "StepStarted")
        over = int(started.event["complete_by"]) + 2000
        wait_for("the first deadline is long over", lambda: time.time() * 1000 > over, 60)
        self.assertEqual(post(url, {"outcome": "done", "output": {"parcels": 5}})[0], 202)
        self.stage.wait_for_end("long", "Processed")
        self.assertEqual(service.counts(), {"long/Pack/do/1": 1})


if __name__ == "__main__":
    unittest.main()
