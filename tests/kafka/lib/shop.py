# SPDX-License-Identifier: Apache-2.0
"""The shop of examples/services as a process, and a check of its ledger against the log."""

import decimal
import json
import subprocess
import sys
import urllib.parse
import urllib.request

from . import paths
from .waiting import wait_for

ALLOWANCE_MS = 1000  # between the start of a call in the agent and its arrival at a busy shop


class Shop:
    """The remote services of the tests: stock, payment, carrier."""

    def __init__(self, folder):
        port_file = folder / "shop.port"
        self.stderr = open(folder / "shop.stderr", "wb")
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(paths.ROOT / "examples" / "services" / "shop.py"),
             "--port", "0", "--port-file", str(port_file), "--db", str(folder / "shop.sqlite")],
            stdin=subprocess.DEVNULL, stdout=self.stderr, stderr=self.stderr)
        wait_for("the shop listens", port_file.exists, 20)
        self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data, timeout=10) as answer:
            return json.load(answer)

    def fault(self, service, mode, order, **more):
        """Adds a fault for that order, ahead of the faults that are already set."""
        rule = {"service": service, "mode": mode, "orders": [order], **more}
        self.ask("/control", {"faults": [rule, *self.ask("/control")["faults"]]})

    def heal(self, order):
        """Removes the faults of that order."""
        faults = [rule for rule in self.ask("/control")["faults"] if order not in rule["orders"]]
        self.ask("/control", {"faults": faults})

    def calls(self, order):
        return self.ask(f"/ledger?order={urllib.parse.quote(order, safe='')}")["calls"]

    def actions(self, order):
        """The actions that were applied, in order."""
        return [call["action"] for call in self.calls(order) if call["applied"]]

    def balance(self, order):
        return self.ask("/ledger/balances").get(order, {})

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.stderr.close()


def worth(details):
    lines = details["lines"]
    return (sum(line["quantity"] for line in lines),
            sum((line["quantity"] * line["unit_price"] for line in lines), decimal.Decimal(0)))


def kept(balance, currency):
    """(pieces, money) that the shop still holds for an order."""
    return (balance.get("reserved", 0) - balance.get("released", 0),
            decimal.Decimal(balance.get("charged", {}).get(currency, "0"))
            - decimal.Decimal(balance.get("refunded", {}).get(currency, "0")))


def check_books(shop, orders, agents):
    """I16 and I11: compares the shop's ledger with the log. `orders`: each order's events
    (lib.stage.Seen) by id; `agents`: those that call the shop. Orders in Error have no expected
    balance."""
    findings = []
    balances = shop.ask("/ledger/balances")
    for order, events in orders.items():
        balance = balances.get(order, {})
        details = next(seen.event["details"] for seen in events if seen.type == "OrderAccepted")
        pieces, money = kept(balance, details["currency"])
        done = {seen.event["step"] for seen in events
                if seen.type == "StepSucceeded" and seen.event["direction"] == "do"}
        state = events[-1].decision["order_state"]
        if state == "Processed":
            expected = (worth(details)[0] if "ReserveStock" in done else 0,
                        worth(details)[1] if "TakePayment" in done else 0)
            if (pieces, money) != expected:
                findings.append(f"I16: {order} is Processed, the shop keeps {(pieces, money)}, "
                                f"not {expected}")
            if "ShipOrder" in done and balance.get("shipments", 0) != 1:
                findings.append(f"I16: {order} is Processed, its parcels: {balance}")
        if state == "Compensated":
            parcels = balance.get("shipments", 0) - balance.get("recalled", 0)
            if (pieces, money, parcels) != (0, 0, 0):
                findings.append(f"I16: {order} is Compensated, the shop keeps {pieces} pieces, "
                                f"{money} and {parcels} parcels")
        findings += check_calls(order, events, shop.calls(order), agents)
    return findings


def check_calls(order, events, calls, agents):
    findings = []
    started = {(seen.event["step"], seen.event["direction"], seen.event["attempt"]): seen.event
               for seen in events if seen.type == "StepStarted"}
    started |= {(seen.event["step"], seen.event["direction"], seen.event["attempt"]): seen.event
                for seen in events if seen.type == "StepExtended"}
    applied = set()
    for call in calls:
        name = (call["step"], call["direction"], call["attempt"])
        if name not in started:
            findings.append(f"I11: {order}: no StepStarted explains the call {name}")
        elif call["received_ms"] > started[name]["complete_by"] + ALLOWANCE_MS:
            findings.append(f"I11: {order}: the call {name} started after its complete_by")
        if call["applied"]:
            key = (call["key"], call["direction"])
            if key in applied:
                findings.append(f"I11: {order}: {key} was applied twice")
            if call["direction"] == "do" and (call["key"], "undo") in applied:
                findings.append(f"I11: {order}: {key} was done after its undo")
            applied.add(key)
    for seen in events:
        if seen.type != "StepSucceeded":
            continue
        name = (seen.event["step"], seen.event["direction"], seen.event["attempt"])
        if started[name]["agent"] not in agents:
            continue
        answers = [call for call in calls if call["status"] == 200
                   and (call["step"], call["direction"], call["attempt"]) == name]
        if not answers:
            findings.append(f"I11: {order}/{seen.event['step']}: succeeded, but no call did")
    return findings
