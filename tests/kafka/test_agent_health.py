# SPDX-License-Identifier: Apache-2.0
"""Healthy, busy and unhealthy agents on a real broker: the output of `reeve agents`, partitions
that leave an instance whose service is unhealthy, a high order behind ten thousand low ones. The
test plays the scheduler, as in test_agent.py."""

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import test_agent

from lib import Broker, Cluster, wait_for

TIMEOUT_SECONDS = 600


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        """Ignores clients that did not wait for their answer."""


class Service:
    """A remote service that is healthy, or answers everything with 503. It answers at once, or one
    call for each permit."""

    def __init__(self):
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                service.posts += 1
                service.orders.append(self.headers["Idempotency-Key"].split("/")[0])
                if service.permits:
                    service.permits.acquire()
                self.answer()

            def do_GET(self):
                self.answer()

            def answer(self):
                if service.unhealthy:
                    self.send_error(503)
                    return
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.unhealthy = False
        self.posts, self.orders = 0, []
        self.permits = None
        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class AgentHealthTest(unittest.TestCase):
    request = test_agent.AgentTest.request
    reports = test_agent.AgentTest.reports

    priority = "normal"

    def details(self, order):
        return {**test_agent.AgentTest.details(self, order), "priority": self.priority}

    def setUp(self):
        self.cluster = Cluster(Broker.shared(), partitions=4)
        self.addCleanup(self.cluster.stop)
        self.cluster.reeve("topics", "apply", "--agent", "payment")
        self.console = self.cluster.add("console")

    def agent(self, name, service, properties=None):
        return self.cluster.add("agent", name, properties={
            "agent.name": "payment", "agent.http.url": service.url, "instance.id": name,
            "agent.heartbeat.ms": 500, "agent.retry.backoff.ms": 20, "agent.in.flight.max": 16,
            **(properties or {})})

    def service(self):
        service = Service()
        self.addCleanup(service.stop)
        return service

    def cli(self, *arguments, check=True):
        return self.cluster.reeve("agents", *arguments, "--output", "json", "--console",
                                  f"http://127.0.0.1:{self.console.http_port()}", check=check)

    def listed(self):
        return {row["instance"]: row for row in json.loads(self.cli("list").stdout)}

    def wait_listed(self, what, condition, seconds=60):
        def attempt():
            found = self.listed()
            try:
                return (found,) if condition(found) else None
            except KeyError:  # on a starved machine three heartbeats may be late: it comes back
                return None

        return wait_for(lambda: f"{what}; listed is {self.listed()}", attempt, seconds)[0]

    def test_agents_are_listed_and_crashed_ones_lapse(self):
        service = self.service()
        one = self.agent("one", service)
        two = self.agent("two", service)
        found = self.wait_listed("two partitions each", lambda rows: sorted(
            row["partitions"] for row in rows.values()) == [2, 2])
        self.assertEqual(found["one"]["capacity"], 16)
        self.assertEqual(found["one"]["circuit"], "closed")
        self.assertEqual(found["one"]["errors_permille"], 0)
        self.cluster.produce("requests.payment", [self.request(f"o{i}") for i in range(20)])
        self.reports(20)
        two.sigkill()
        self.wait_listed("the dead one is gone, its partitions have moved", lambda rows: list(rows)
                         == ["one"] and rows["one"]["partitions"] == 4)
        self.assertEqual(self.cli("get", "payment").returncode, 0)
        one.terminate()
        self.wait_listed("the one that stopped is gone", lambda rows: rows == {})
        self.assertEqual(self.cli("get", "payment", check=False).returncode, 1)
        last = {record.key: record.raw for record in self.cluster.read_topic("agents")}
        self.assertIsNone(last["one/payment"], "a tombstone")
        self.assertIsNotNone(last["two/payment"], "the crash was not reported")

    def test_partitions_leave_an_unhealthy_service_and_return(self):
        sick, healthy = self.service(), self.service()
        properties = {"agent.circuit.errors.min": 5, "agent.circuit.open.ms": 300,
                      "agent.circuit.open.max.ms": 1000, "agent.circuit.successes": 1}
        agent = self.agent("sick", sick, properties)
        self.agent("healthy", healthy, properties)
        self.wait_listed("two partitions each", lambda rows: sorted(
            row["partitions"] for row in rows.values()) == [2, 2])
        sick.unhealthy = True
        self.cluster.produce("requests.payment", [
            self.request(f"o{i}", timeout_ms=300000) for i in range(200)])
        found = self.wait_listed("all partitions are the healthy one's", lambda rows: (
            rows["sick"]["circuit"], rows["sick"]["partitions"], rows["healthy"]["partitions"])
            == ("open", 0, 4))
        self.assertGreater(found["sick"]["errors_permille"], 0)
        self.assertTrue(found["sick"]["last_error"])
        self.assertEqual(found["sick"]["capacity"], 0)
        self.assertIn("circuit", agent.get("/readyz")[1])
        self.assertEqual(agent.metric("reeve_agent_circuit_open"), 1)
        self.reports(200)
        sick.unhealthy = False
        self.wait_listed("half of them came back", lambda rows: sorted(
            row["partitions"] for row in rows.values()) == [2, 2])
        before = sick.posts
        self.cluster.produce("requests.payment", [
            self.request(f"p{i}", timeout_ms=300000) for i in range(200)])
        reports = self.reports(400)
        self.wait_listed("the circuit is closed",
                         lambda rows: rows["sick"]["circuit"] == "closed")
        self.assertEqual(agent.metric("reeve_agent_circuit_open"), 0)
        self.assertGreater(sick.posts, before)
        # Calls of the unhealthy service are reported with effect unknown, never none.
        self.assertEqual({report["effect"] for report in reports.values()
                          if not report["succeeded"]} - {"unknown"}, set())
        self.assertTrue(all(reports[f"p{i}/TakePayment/do/1"]["succeeded"] for i in range(200)))

    def test_a_high_order_overtakes_ten_thousand_low_ones(self):
        service = self.service()
        service.permits = threading.Semaphore(0)
        self.addCleanup(service.permits.release, 10001)
        self.agent("slow", service, {"agent.in.flight.max": 4,
                                     "agent.http.try.timeout.ms": 120000})
        self.cluster.produce("requests.payment", [
            self.request_of(f"low{i}", "low") for i in range(10000)])

        def wait_queued(count, posts=4):
            self.wait_listed(f"{posts} calls arrived, {count} wait", lambda rows: (
                service.posts, rows["slow"]["queued"]) == (posts, count))

        wait_queued(9996)
        self.cluster.produce("requests.payment", [self.request_of("urgent", "high")])
        wait_queued(9997)
        service.permits.release()  # one call ends, so one begins
        wait_queued(9996, posts=5)
        self.assertEqual(service.orders[4], "urgent")

    def request_of(self, order, priority):
        self.priority = priority
        return self.request(order, timeout_ms=3600000)


if __name__ == "__main__":
    unittest.main()
