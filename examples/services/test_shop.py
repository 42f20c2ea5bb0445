# SPDX-License-Identifier: Apache-2.0
"""Tests of the shop: python3 -m unittest discover -s examples/services"""

import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import shop
from shop_faults import Faults, Rule
from shop_ledger import Call

ORDER = {"customer": "17850", "currency": "GBP", "attributes": {}, "lines": [
    {"sku": "85123A", "description": "WHITE HANGING HEART T-LIGHT HOLDER", "quantity": 6,
     "unit_price": "2.55"},
    {"sku": "71053", "description": "WHITE METAL LANTERN", "quantity": 2, "unit_price": "3.3925"},
    {"sku": "85123A", "description": "the same again", "quantity": 1, "unit_price": "2.55"}]}
# worth 7 * 2.55 + 2 * 3.3925 = 24.635


class RunningShop:
    """A shop in a thread of this process, on a port of its own."""

    def __init__(self, folder, *options):
        arguments = shop.parse_arguments(["--port", "0", "--db", f"{folder}/shop.sqlite", *options])
        ready = threading.Event()

        async def serve():
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()

            def started(port):
                self.port = port
                ready.set()

            await shop.run(arguments, self._stop, started)

        with open(os.devnull, "w", encoding="ascii") as nowhere:
            with contextlib.redirect_stderr(nowhere):
                self._thread = threading.Thread(target=asyncio.run, args=(serve(),))
                self._thread.start()
                if not ready.wait(10):
                    raise RuntimeError("the shop did not start")

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    def connect(self, timeout=5):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)


class ShopTest(unittest.TestCase):
    options = ()

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.start()

    def start(self):
        self.shop = RunningShop(self.folder, *self.options)
        self.addCleanup(self.shop.stop)
        self.connection = self.shop.connect()
        self.addCleanup(self.connection.close)

    def restart(self):
        self.connection.close()
        self.shop.stop()
        self.start()

    def ask(self, method, path, body=None, headers=None, connection=None):
        connection = connection or self.connection
        payload = None if body is None else json.dumps(body)
        connection.request(method, path, payload, headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def call(self, path, order_id="1", direction="do", attempt=1, key=None, order=None,
             connection=None):
        step = {"stock": "ReserveStock", "payment": "TakePayment", "carrier": "ShipOrder"}[
            path.split("/")[0]]
        do_key = key or f"{order_id}/{step}/do/0"
        key = do_key if direction == "do" else f"{order_id}/{step}/undo/0"
        body = {"order_id": order_id, "step": step, "direction": direction,
                "action": path.split("/")[1], "attempt": attempt, "idempotency_key": key,
                "do_key": do_key, "complete_by": 1_800_000_000_000, "order": order or ORDER,
                "outputs": {}}
        return self.ask("POST", f"/{path}", body, {"Idempotency-Key": key}, connection)

    def control(self, **wish):
        status, answer = self.ask("POST", "/control", wish)
        self.assertEqual(status, 200, answer)

    def summary(self):
        return self.ask("GET", "/ledger/summary")[1]

    def ledger(self, order_id="1"):
        return self.ask("GET", f"/ledger?order={order_id}")[1]


class Business(ShopTest):
    def test_an_order_is_reserved_paid_and_shipped(self):
        self.assertEqual(self.call("stock/ReserveStock"),
                         (200, {"reservation": "R000000001", "pieces": 9, "articles": 2}))
        self.assertEqual(self.call("payment/TakePayment"),
                         (200, {"payment": "P000000002", "amount": "24.6350", "currency": "GBP"}))
        self.assertEqual(self.call("carrier/ShipOrder"),
                         (200, {"shipment": "S000000003", "pieces": 9}))
        self.assertEqual(self.summary(), {"reserved": 9, "released": 0, "recalled": 0,
                                          "charged": {"GBP": "24.6350"}, "refunded": {},
                                          "shipments": 1})

    def test_undoing_gives_back_exactly_what_was_taken(self):
        for path in ("stock/ReserveStock", "payment/TakePayment", "carrier/ShipOrder"):
            self.assertEqual(self.call(path)[0], 200)
        for path in ("carrier/RecallShipment", "payment/RefundPayment", "stock/ReleaseStock"):
            self.assertEqual(self.call(path, direction="undo"), (200, {"undone": True}))
        self.assertEqual(self.ask("GET", "/ledger/balances")[1],
                         {"1": {"reserved": 9, "released": 9, "shipments": 1, "recalled": 1,
                                "charged": {"GBP": "24.6350"}, "refunded": {"GBP": "24.6350"}}})

    def test_stock_runs_out_and_comes_back(self):
        self.control(stock={"85123A": 10})
        self.assertEqual(self.call("stock/ReserveStock", "1")[0], 200)
        self.assertEqual(self.call("stock/ReserveStock", "2"),
                         (422, {"error": "OutOfStock", "message": "85123A: 7 wanted, 3 available"}))
        self.assertEqual(self.call("stock/ReleaseStock", "1", "undo")[0], 200)
        self.assertEqual(self.call("stock/ReserveStock", "3")[0], 200)
        self.assertEqual(self.summary()["reserved"] - self.summary()["released"], 9)

    def test_fraud_check_refuses_large_orders_only(self):
        large = {"currency": "GBP", "lines": [{"sku": "1", "quantity": 1000,
                                               "unit_price": "100.0001"}]}
        self.assertEqual(self.call("payment/CheckFraud")[0], 200)
        status, answer = self.call("payment/CheckFraud", "2", order=large)
        self.assertEqual((status, answer["error"]), (422, "FraudSuspected"))
        self.assertEqual(self.summary()["charged"], {})

    def test_an_order_that_cannot_be_read_is_refused_permanently(self):
        for line in ({"sku": "1", "quantity": 0, "unit_price": "1"},
                     {"sku": "1", "quantity": 1, "unit_price": "-1"},
                     {"sku": "1", "quantity": 1, "unit_price": "0.00001"},
                     {"sku": "1", "quantity": 1, "unit_price": "NaN"},
                     {"sku": "", "quantity": 1, "unit_price": "1"},
                     {"quantity": 1, "unit_price": "1"}, 7):
            with self.subTest(line=line):
                status, answer = self.call("payment/TakePayment", order_id=repr(line),
                                           order={"currency": "GBP", "lines": [line]})
                self.assertEqual((status, answer["error"]), (422, "InvalidOrder"))


class Idempotency(ShopTest):
    def test_a_repeated_do_gets_the_stored_answer_and_moves_nothing(self):
        first = self.call("payment/TakePayment", attempt=1)
        again = self.call("payment/TakePayment", attempt=2)
        self.assertEqual(first, again)
        self.assertEqual(self.summary()["charged"], {"GBP": "24.6350"})
        calls = self.ledger()["calls"]
        self.assertEqual([(call["request_id"], call["applied"]) for call in calls],
                         [("1/TakePayment/do/1", True), ("1/TakePayment/do/2", False)])
        self.assertEqual({(call["step"], call["key"]) for call in calls},
                         {("TakePayment", "1/TakePayment/do/0")})

    def test_a_refusal_is_remembered(self):
        self.control(stock={"85123A": 0})
        refused = self.call("stock/ReserveStock")
        self.control(stock={"85123A": 100})
        self.assertEqual(self.call("stock/ReserveStock", attempt=2), refused)
        self.assertEqual(self.call("stock/ReserveStock", key="1/ReserveStock/do/1")[0], 200)

    def test_undoing_an_unknown_key_succeeds_and_bars_the_do(self):
        self.assertEqual(self.call("payment/RefundPayment", direction="undo"),
                         (200, {"undone": False}))
        status, answer = self.call("payment/TakePayment")
        self.assertEqual((status, answer["error"]), (422, "AlreadyUndone"))
        self.assertEqual(self.summary()["charged"], {})

    def test_a_repeated_undo_moves_nothing_and_the_do_stays_barred(self):
        self.call("payment/TakePayment")
        first = self.call("payment/RefundPayment", direction="undo")
        self.assertEqual(self.call("payment/RefundPayment", direction="undo", attempt=2), first)
        self.assertEqual(self.call("payment/TakePayment", attempt=2)[1]["error"], "AlreadyUndone")
        self.assertEqual(self.summary()["refunded"], {"GBP": "24.6350"})

    def test_undoing_a_refusal_gives_nothing_back(self):
        self.control(faults=[{"service": "payment", "mode": "decline"}])
        self.assertEqual(self.call("payment/TakePayment")[0], 422)
        self.assertEqual(self.call("payment/RefundPayment", direction="undo"),
                         (200, {"undone": False}))
        self.assertEqual(self.summary()["refunded"], {})

    def test_a_key_belongs_to_one_step_of_one_order(self):
        self.call("payment/TakePayment", "1", key="k")
        status, answer = self.call("payment/TakePayment", "2", key="k")
        self.assertEqual((status, answer["error"]), (422, "KeyReused"))

    def test_all_of_it_survives_a_restart(self):
        first = self.call("payment/TakePayment")
        self.call("stock/ReleaseStock", direction="undo")
        self.restart()
        self.assertEqual(self.call("payment/TakePayment"), first)
        self.assertEqual(self.call("stock/ReserveStock")[1]["error"], "AlreadyUndone")

    def test_a_hundred_repeats_at_once_apply_once(self):
        connections = [self.shop.connect() for _ in range(100)]
        body = json.dumps({"order_id": "1", "step": "TakePayment", "order": ORDER})
        for connection in connections:
            connection.request("POST", "/payment/TakePayment", body, {"Idempotency-Key": "k"})
        answers = {connection.getresponse().read() for connection in connections}
        for connection in connections:
            connection.close()
        self.assertEqual(len(answers), 1)
        self.assertEqual(sum(call["applied"] for call in self.ledger()["calls"]), 1)


class FaultsOnTheWire(ShopTest):
    def fault(self, mode, **more):
        self.control(faults=[{"service": "payment", "mode": mode, "times": 1, **more}])

    def assert_charged(self, times):
        self.assertEqual(self.summary()["charged"], {"GBP": "24.6350"} if times else {})

    def test_decline(self):
        self.fault("decline")
        self.assertEqual(self.call("payment/TakePayment"), (
            422, {"error": "PaymentDeclined", "message": "TakePayment of order 1 was declined"}))
        self.assertEqual(self.call("payment/TakePayment")[0], 422)  # stored: the fault is over
        self.assert_charged(0)

    def test_503_before_applies_nothing(self):
        self.fault("503-before")
        self.assertEqual(self.call("payment/TakePayment")[0], 503)
        self.assert_charged(0)
        self.assertEqual(self.call("payment/TakePayment", attempt=2)[0], 200)
        self.assert_charged(1)

    def test_503_after_has_applied(self):
        self.fault("503-after")
        self.assertEqual(self.call("payment/TakePayment")[0], 503)
        self.assert_charged(1)
        self.assertEqual(self.call("payment/TakePayment", attempt=2)[0], 200)
        self.assert_charged(1)
        self.assertEqual([(call["applied"], call["status"], call["fault"])
                          for call in self.ledger()["calls"]],
                         [(True, 503, "503-after"), (False, 200, None)])

    def test_slow_waits_first_so_its_undo_may_overtake_it(self):
        self.fault("slow", ms=150)
        other = self.shop.connect()
        self.addCleanup(other.close)
        begun = time.monotonic()
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(
            self.call("payment/TakePayment", connection=other)))
        waiting.start()
        self.addCleanup(waiting.join)
        self.call("payment/RefundPayment", direction="undo")
        waiting.join()
        self.assertGreaterEqual(time.monotonic() - begun, 0.15)
        self.assertEqual(answers[0][1]["error"], "AlreadyUndone")
        self.assert_charged(0)

    def test_slow_after_has_applied_before_it_waits(self):
        self.fault("slow-after", ms=60_000)
        short = self.shop.connect(timeout=0.2)
        self.addCleanup(short.close)
        with self.assertRaises(TimeoutError):
            self.call("payment/TakePayment", connection=short)
        self.assert_charged(1)

    def test_never_answers(self):
        for mode, charged in (("never", 0), ("never-after", 1)):
            with self.subTest(mode=mode):
                self.fault(mode)
                short = self.shop.connect(timeout=0.2)
                self.addCleanup(short.close)
                with self.assertRaises(TimeoutError):
                    self.call("payment/TakePayment", connection=short)
                self.assert_charged(charged)
                self.assertEqual(self.ledger()["calls"][-1]["status"], 0)

    def test_reset(self):
        for mode, charged in (("reset", 0), ("reset-after", 1)):
            with self.subTest(mode=mode):
                self.fault(mode)
                other = self.shop.connect()
                self.addCleanup(other.close)
                with self.assertRaises(ConnectionError):
                    self.call("payment/TakePayment", connection=other)
                self.assert_charged(charged)

    def test_undos_fail_only_when_told_to(self):
        self.control(faults=[{"service": "payment", "mode": "503-after", "direction": "undo"}])
        self.assertEqual(self.call("payment/TakePayment")[0], 200)
        self.assertEqual(self.call("payment/RefundPayment", direction="undo")[0], 503)
        self.assertEqual(self.summary()["refunded"], {"GBP": "24.6350"})

    def test_a_declined_undo_may_succeed_later(self):
        self.call("payment/TakePayment")
        self.control(faults=[{"service": "payment", "mode": "decline", "direction": "undo"}])
        self.assertEqual(self.call("payment/RefundPayment", direction="undo")[0], 422)
        self.control(faults=[])
        self.assertEqual(self.call("payment/RefundPayment", direction="undo")[0], 200)


class ChoiceOfFaults(unittest.TestCase):
    @staticmethod
    def call(number, service="payment", direction="do"):
        return Call(service=service, action="TakePayment", direction=direction,
                    order_id=str(number), step="TakePayment", attempt=1,
                    key=f"{number}/TakePayment/do/0", received_ms=0, complete_by=None, order={})

    def chosen(self, text, seed="s", count=2000):
        faults = Faults(seed, [Rule.from_text(text)])
        return {number for number in range(count) if faults.choose(self.call(number))}

    def test_a_share_is_a_repeatable_choice_of_keys(self):
        tenth = self.chosen("payment,decline,share=0.1")
        self.assertTrue(140 < len(tenth) < 260, len(tenth))
        self.assertEqual(tenth, self.chosen("payment,decline,share=0.1"))
        self.assertNotEqual(tenth, self.chosen("payment,decline,share=0.1", seed="other"))
        self.assertLess(tenth, self.chosen("payment,decline,share=0.2"))
        self.assertEqual(self.chosen("payment,decline,share=0"), set())

    def test_orders_services_and_directions(self):
        self.assertEqual(self.chosen("*,slow,orders=3;5,ms=1"), {3, 5})
        self.assertEqual(self.chosen("stock,decline"), set())
        self.assertEqual(self.chosen("payment,decline,direction=undo"), set())
        self.assertEqual(self.chosen("payment,decline,action=CheckFraud"), set())

    def test_times_counts_the_calls_of_each_key_and_the_next_rule_takes_over(self):
        faults = Faults("s", [Rule.from_text("payment,reset,times=2"),
                              Rule.from_text("payment,503-before,times=1")])
        modes = [getattr(faults.choose(self.call(1)), "mode", None) for _ in range(4)]
        self.assertEqual(modes, ["reset", "reset", "503-before", None])

    def test_mistakes_are_explained(self):
        for text, reason in (("payments,decline", "service 'payments' is not one of"),
                             ("payment,declined", "mode 'declined' is not one of"),
                             ("payment,decline,share=2", "not between 0 and 1"),
                             ("payment,decline,shares=1", "unknown in a rule: shares"),
                             ("payment,decline,share", "not name=value"),
                             ("payment,slow,ms=x", "invalid literal")):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, reason):
                Rule.from_text(text)


class Wire(ShopTest):
    def test_calls_of_the_wrong_form_get_an_error(self):
        body = {"order_id": "1", "step": "TakePayment", "order": ORDER}
        key = {"Idempotency-Key": "k"}
        for path, body, headers, expected in (
                ("/payment/TakePayment", body, {}, (400, "MissingIdempotencyKey")),
                ("/payment/TakePayment", {**body, "idempotency_key": "x"}, key,
                 (400, "InvalidCall")),
                ("/payment/TakePayment", {**body, "direction": "up"}, key, (400, "InvalidCall")),
                ("/payment/TakePayment", {**body, "do_key": "x"}, key, (400, "InvalidCall")),
                ("/payment/RefundPayment", {**body, "direction": "undo"}, key,
                 (400, "InvalidCall")),
                ("/payment/TakePayment", {**body, "order_id": 1}, key, (400, "InvalidCall")),
                ("/payment/TakePayment", [], key, (400, "InvalidJson")),
                ("/payment/RefundPayment", body, key, (404, "UnknownAction")),
                ("/payment/Nothing", body, key, (404, "UnknownAction")),
                ("/nothing", body, key, (404, "NotFound")),
                ("/control", {"fault": []}, {}, (400, "InvalidControl")),
                ("/control", {"faults": [{"service": "x", "mode": "never"}]}, {},
                 (400, "InvalidControl"))):
            with self.subTest(path=path, body=body):
                status, answer = self.ask("POST", path, body, headers)
                self.assertEqual((status, answer["error"]), expected)
        self.assertEqual(self.ledger()["calls"], [])

    def exchange(self, *pieces):
        with socket.create_connection(("127.0.0.1", self.shop.port), timeout=5) as raw:
            for piece in pieces:
                raw.sendall(piece)
            raw.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: raw.recv(65536), b""))

    def test_requests_in_pieces_in_a_row_and_malformed(self):
        ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        self.assertEqual(self.exchange(ask[:7], ask[7:] + ask).count(b"HTTP/1.1 200 OK"), 2)
        self.assertEqual(self.exchange(ask.replace(b"Host: x", b"Connection: close") + ask)
                         .count(b"200 OK"), 1)
        for head, status in ((b"hello\r\n\r\n", b"400"), (b"GET /\r\n\r\n", b"400"),
                             (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
                             (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
                             (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
                             (b"GET / HTTP/1.1\r\nX: " + b"y" * 70000 + b"\r\n\r\n", b"431")):
            with self.subTest(head=head[:60]):
                self.assertEqual(self.exchange(head).split(b" ")[1], status)
        self.assertEqual(self.exchange(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"), b"")

    def test_a_large_body_after_expect_continue(self):
        lines = [{"sku": f"S{n}", "description": "x" * 900, "quantity": 1, "unit_price": "1"}
                 for n in range(1200)]
        body = json.dumps({"order_id": "1", "step": "ReserveStock",
                           "order": {"currency": "GBP", "lines": lines}}).encode()
        answer = self.exchange(b"POST /stock/ReserveStock HTTP/1.1\r\nIdempotency-Key: k\r\n"
                               b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body),
                               body)
        self.assertRegex(answer, b"^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
        self.assertEqual(self.summary()["reserved"], 1200)

    def test_the_ledger_comes_in_pages(self):
        for number in range(5):
            self.call("carrier/ShipOrder", str(number))
        page = self.ask("GET", "/ledger?after=1&limit=2")[1]["calls"]
        self.assertEqual([call["order_id"] for call in page], ["1", "2"])


class CommandLine(unittest.TestCase):
    def test_port_file_faults_and_a_clean_end(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [sys.executable, shop.__file__, "--port", "0", "--port-file", f"{folder}/port",
                 "--db", f"{folder}/db", "--fault", "*,never,orders=1"], stderr=subprocess.PIPE)
            with process:
                self.addCleanup(process.kill)
                self.assertIn(b"http://127.0.0.1:", process.stderr.readline())
                deadline = time.monotonic() + 5
                while not os.path.exists(f"{folder}/port") and time.monotonic() < deadline:
                    time.sleep(0.01)
                port = int(pathlib.Path(f"{folder}/port").read_text(encoding="ascii"))
                hanging = http.client.HTTPConnection("127.0.0.1", port, timeout=0.2)
                with self.assertRaises(TimeoutError):
                    hanging.request("POST", "/carrier/ShipOrder",
                                    json.dumps({"order_id": "1", "step": "ShipOrder"}),
                                    {"Idempotency-Key": "k"})
                    hanging.getresponse()
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(5), 0)
                hanging.close()
            self.assertFalse(os.path.exists(f"{folder}/db-wal"))

    def test_a_wrong_rule_ends_it_with_a_reason(self):
        result = subprocess.run([sys.executable, shop.__file__, "--fault", "payment,explode"],
                                capture_output=True, check=False, timeout=10)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"payment,explode: mode 'explode' is not one of", result.stderr)


if __name__ == "__main__":
    unittest.main()
