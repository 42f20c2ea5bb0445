# SPDX-License-Identifier: Apache-2.0
"""Agents on a real broker. The test plays the scheduler: it writes StepRequests and reads the
reports; the remote service is the shop of examples/services, whose ledger records what was applied.
"""

import json
import subprocess
import time
import unittest
import urllib.request

from lib import Broker, Cluster, paths, wait_for
from lib.checker import read_ledger
from lib.records import local_schemas

# Tests that kill the broker start their own.
TIMEOUT_SECONDS = 600

SHOP = paths.ROOT / "examples" / "services" / "shop.py"
LINES = [{"sku": "71053", "description": "LANTERN", "quantity": 2, "unit_price": "3.39"}]


def now_ms():
    return int(time.time() * 1000)


class Shop:
    def __init__(self, *faults):
        folder = paths.new_folder("shop")
        port_file = folder / "port"
        arguments = [word for fault in faults for word in ("--fault", fault)]
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", str(SHOP), "--port", "0", "--port-file", str(port_file),
             "--db", str(folder / "shop.sqlite"), *arguments], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        port = wait_for("the shop's port",
                        lambda: port_file.exists() and port_file.read_text().strip())
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def control(self, wish):
        request = urllib.request.Request(self.url + "/control", json.dumps(wish).encode())
        urllib.request.urlopen(request, timeout=10).close()

    def calls(self):
        found, after = [], 0
        while True:
            page = self.get(f"/ledger?after={after}&limit=10000")["calls"]
            if not page:
                return found
            found += page
            after = page[-1]["seq"]

    def stop(self):
        self.process.kill()
        self.process.wait()


class AgentTest(unittest.TestCase):
    def open(self, *faults, partitions=4):
        self.broker = Broker.shared()
        self.addCleanup(self.broker.stop)
        self.cluster = Cluster(self.broker, partitions=partitions)
        self.addCleanup(self.cluster.stop)
        self.cluster.reeve("topics", "apply", "--agent", "payment")
        self.shop = Shop(*faults)
        self.addCleanup(self.shop.stop)

    def agent(self, name=None, properties=None, **options):
        return self.cluster.add("agent", name, properties={
            "agent.name": "payment", "agent.http.url": self.shop.url + "/payment",
            "agent.retry.backoff.ms": 50, **(properties or {})}, **options)

    def request(self, order, direction="do", attempt=1, timeout_ms=30000, decision_offset=None,
                agent="payment"):
        do_key = f"{order}/TakePayment/do/0"
        return order, local_schemas().encode("StepRequest", {
            "order_id": order, "step": "TakePayment", "direction": direction, "attempt": attempt,
            "generation": 0, "agent": agent,
            "action": "TakePayment" if direction == "do" else "RefundPayment",
            "idempotency_key": f"{order}/TakePayment/{direction}/0", "do_key": do_key,
            "complete_by": now_ms() + timeout_ms, "outputs": [], "claim_id": b"c" * 16,
            "order": self.details(order), "order_version": 1,
            "decision_offset": attempt if decision_offset is None else decision_offset})

    def details(self, order):
        import decimal

        lines = [{**line, "unit_price": decimal.Decimal(line["unit_price"])} for line in LINES]
        return {"order_id": order, "customer": "17850", "currency": "GBP", "lines": lines,
                "attributes": {}, "priority": "normal", "reply_to": "",
                "workflow": "order-fulfilment", "workflow_version": 1, "traceparent": "",
                "content_hash": b"h" * 16}

    def send(self, *requests):
        return self.cluster.produce("requests.payment", requests)

    def reports(self, count, seconds=60):
        """Waits for at least `count` different reports: {order/step/direction/attempt: value}."""
        def distinct(found):
            return {f"{r.value['order_id']}/{r.value['step']}/{r.value['direction']}/"
                    f"{r.value['attempt']}": r.value for r in found}

        found = self.cluster.wait_for_records(
            "commands", lambda records: len(distinct(records)) >= count, seconds,
            what=f"{count} reports")
        return distinct(found)

    def committed(self):
        import confluent_kafka

        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": self.cluster.topic("agent.payment")})
        try:
            topic = self.cluster.topic("requests.payment")
            asked = [confluent_kafka.TopicPartition(topic, number)
                     for number in range(self.cluster.partitions)]
            return {p.partition: max(p.offset, 0) for p in consumer.committed(asked, timeout=10)}
        finally:
            consumer.close()

    def wait_committed(self, count):
        wait_for(lambda: f"{count} commits, there are {self.committed()}",
                 lambda: sum(self.committed().values()) == count)

    def assert_applied_once(self, orders):
        applied = [call["key"] for call in self.shop.calls()
                   if call["applied"] and call["direction"] == "do"]
        self.assertEqual(sorted(applied), sorted(f"{o}/TakePayment/do/0" for o in orders))

    def assert_no_call_past_its_deadline(self):
        for call in self.shop.calls():
            self.assertLessEqual(call["received_ms"], call["complete_by"] + 50, call)

    # ---- outcomes ----

    def test_calls_the_service_and_reports(self):
        self.open("payment,decline,orders=declined", "payment,503-after,orders=flaky,times=2",
                  "payment,503-after,orders=broken", "payment,reset,orders=reset,times=1")
        self.agent()
        self.send(self.request("fine"), self.request("declined"), self.request("flaky"),
                  self.request("broken", timeout_ms=1500), self.request("reset"))
        reports = self.reports(5)
        self.assertTrue(reports["fine/TakePayment/do/1"]["succeeded"])
        output = json.loads(reports["fine/TakePayment/do/1"]["output"])
        self.assertEqual((output["amount"], output["currency"]), ("6.78", "GBP"))
        declined = reports["declined/TakePayment/do/1"]
        self.assertEqual((declined["succeeded"], declined["error_name"], declined["effect"]),
                         (False, "PaymentDeclined", "none"))
        self.assertTrue(reports["flaky/TakePayment/do/1"]["succeeded"])
        self.assertTrue(reports["reset/TakePayment/do/1"]["succeeded"])
        broken = reports["broken/TakePayment/do/1"]
        self.assertEqual((broken["succeeded"], broken["error_name"], broken["effect"]),
                         (False, "Http.503", "unknown"))
        self.assert_applied_once(["fine", "flaky", "broken", "reset"])
        self.send(self.request("broken", direction="undo", decision_offset=9))
        self.assertTrue(self.reports(6)["broken/TakePayment/undo/1"]["succeeded"])
        summary = self.shop.get("/ledger/balances")["broken"]
        self.assertEqual(summary["charged"], summary["refunded"])
        self.wait_committed(6)
        self.assert_no_call_past_its_deadline()

    def test_sends_no_report_when_the_service_never_answers(self):
        self.open("payment,never-after,orders=never")
        self.agent()
        self.send(self.request("never", timeout_ms=3000), self.request("fine"))
        self.wait_committed(2)
        self.assertEqual(list(self.reports(1)), ["fine/TakePayment/do/1"])
        # The next attempt finds the operation applied, under the same key.
        self.shop.control({"faults": []})
        self.send(self.request("never", attempt=2))
        self.assertTrue(self.reports(2)["never/TakePayment/do/2"]["succeeded"])
        self.assert_applied_once(["never", "fine"])
        self.assert_no_call_past_its_deadline()

    def test_reports_an_answer_that_comes_too_late(self):
        self.open("payment,slow-after,ms=3300,orders=late")
        # Long, as the agent may take its time to call: the answer always comes within it.
        self.agent(properties={"clock.skew.max.ms": 30000})
        self.send(self.request("late", timeout_ms=3000))
        report = self.reports(1)["late/TakePayment/do/1"]
        self.assertTrue(report["succeeded"], "late, but true")
        self.assertGreater(now_ms(), self.shop.calls()[0]["complete_by"])
        self.assert_applied_once(["late"])
        self.assert_no_call_past_its_deadline()

    def test_an_agent_made_with_the_sdk_reports(self):
        self.open()
        self.cluster.reeve("topics", "apply", "--agent", "tax")
        folder = paths.new_folder("tax")
        with open(folder / "stderr", "wb") as stderr:
            agent = subprocess.Popen(
                [paths.reeve_binary().parent / "tax-agent", "--data-dir", folder / "data",
                 "--kafka-bootstrap-servers", self.broker.bootstrap, "--http-port", "0",
                 "--topics-prefix", self.cluster.prefix],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.cluster.produce("requests.tax", [
            self.request("taxed", agent="tax"),
            self.request("taxed", agent="tax", direction="undo", attempt=2)])
        reports = self.reports(2)
        self.assertEqual(json.loads(reports["taxed/TakePayment/do/1"]["output"]),
                         {"tax": "1.356", "country": "GB", "percent": 20})
        self.assertTrue(reports["taxed/TakePayment/undo/2"]["succeeded"])
        agent.terminate()
        self.assertEqual(agent.wait(30), 0)

    def test_an_undecodable_request_becomes_a_dead_letter(self):
        self.open()
        self.agent()
        self.cluster.produce("requests.payment", [
            ("x", b"garbage"), ("x", b""), ("x", self.request("x")[1][:-3]),
            self.request("x", agent="stock"), ("x", b"\xc3\x01unknown!" + b"rest")])
        self.send(self.request("fine"))
        self.reports(1)
        letters = self.cluster.wait_for_records("dead-letters", lambda found: len(found) == 5)
        reasons = {r.headers["__streams.errors.exception"].decode() for r in letters}
        self.assertEqual(len({r.headers["__streams.errors.offset"] for r in letters}), 5)
        self.assertIn("WrongAgent", reasons)
        self.assertIn("UnknownSchema", reasons)
        self.wait_committed(6)

    def test_keeps_a_thousand_calls_in_flight(self):
        self.open("payment,slow,ms=3000")
        agent = self.agent()
        orders = [f"o{i}" for i in range(1000)]
        self.send(*map(self.request, orders))
        wait_for("a thousand calls", lambda: agent.metric("reeve_agent_calls") == 1000)
        reports = self.reports(1000)
        self.assertTrue(all(report["succeeded"] for report in reports.values()))
        self.wait_committed(1000)
        self.assertEqual(agent.metric("reeve_agent_retries_total"), 0)
        self.assert_applied_once(orders)

    # ---- crashes and takeovers ----

    def test_loses_nothing_when_killed_at_any_failpoint(self):
        for failpoint in ("agent.try", "agent.called", "agent.report", "agent.reported",
                          "agent.commit"):
            with self.subTest(failpoint):
                self.doCleanups()
                self.open()
                orders = [f"o{i}" for i in range(20)]
                self.send(*map(self.request, orders))
                agent = self.agent(ready=False, env={"REEVE_FAILPOINT": f"{failpoint}=kill@3"
                                                     if failpoint != "agent.commit"
                                                     else "agent.commit=kill"})
                self.assertEqual(agent.wait_end(), -9)
                agent.env = {}
                agent.start()
                reports = self.reports(20)
                self.assertTrue(all(report["succeeded"] for report in reports.values()))
                self.wait_committed(20)
                self.assert_applied_once(orders)

    def test_sigterm_finishes_running_calls_and_exits(self):
        self.open("payment,slow,ms=500")
        agent = self.agent()
        orders = [f"o{i}" for i in range(50)]
        self.send(*map(self.request, orders))
        wait_for("calls", lambda: len(self.shop.calls()) > 0 or agent.metric("reeve_agent_calls"))
        agent.terminate()
        done = len(self.reports(1))
        self.assertEqual(sum(self.committed().values()), done, "what is reported is committed")
        agent.start()
        self.reports(50)
        self.wait_committed(50)
        self.assert_applied_once(orders)
        calls = [call["key"] for call in self.shop.calls()]
        self.assertEqual(len(calls), 50, "nothing was asked for twice")

    # ---- the clock ----

    def test_an_agent_with_a_wrong_clock_begins_no_call(self):
        """By an hour: the answer to its first health record proves that, however late it is."""
        self.open()
        agent = self.agent(ready=False, env={"REEVE_CLOCK_OFFSET_MS": "-3600000"})
        self.send(self.request("first"))
        wait_for("it stops", lambda: "clock" in agent.get("/readyz")[1])
        self.agent("right")
        self.reports(1)
        self.assertFalse(agent.metric("reeve_agent_calls_total"))

    # ---- simulated ----

    def test_simulated_agents_share_a_ledger(self):
        self.open()
        properties = {"agent.kind": "sim", "agent.sim.latency.ms": "exp:5",
                      "agent.sim.fail.share": 0.1, "agent.sim.unknown.share": 0.1}
        one = self.agent("one", properties)
        self.agent("two", properties)
        orders = [f"o{i}" for i in range(500)]
        self.send(*map(self.request, orders))
        self.reports(100)
        one.sigkill()
        reports = self.reports(500)
        entries = read_ledger(self.cluster.ledger.read_text(encoding="utf-8"))
        applied = [entry["key"] for entry in entries if entry["applied"]]
        self.assertEqual(len(applied), len(set(applied)))
        for report in reports.values():
            if report["succeeded"]:
                self.assertIn(f"{report['order_id']}/TakePayment/do/0", applied)
        self.assertEqual({report["error_name"] for report in reports.values()},
                         {"", "Sim.Refused", "Sim.Unknown"})
        self.assertTrue(all(entry["sent"] < entry["complete_by"] for entry in entries))


if __name__ == "__main__":
    unittest.main()
