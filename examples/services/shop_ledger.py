# SPDX-License-Identifier: Apache-2.0
"""The shop's ledger and its business rules: stock, payment and carrier over one SQLite file.

What a remote service has to do for a workflow with compensation to be safe, and what this one does:
- An idempotency key names one operation. The first do of a key decides, and its answer (a definite
  refusal too) is stored; every repeat gets the stored answer and changes nothing. So an operation
  is applied at most once, however often it is sent.
- An undo names the key of its do (`do_key`). The first undo takes back what the do applied, if it
  applied anything; undoing an unknown key succeeds. Either way the key is remembered as undone, and
  a do that arrives after its undo is refused permanently (422 AlreadyUndone).
- Every call leaves one row in `calls`, whatever its outcome; every change of stock or money appends
  rows to `movements`.

The caller wraps `perform` and `note` in `transaction`, and answers its client only after the
commit. With synchronous=NORMAL a commit survives the death of this process; a power cut may
lose the newest commits (the file stays whole). FULL survives that too, at the price of an fsync for
each commit.

Money is counted in ten-thousandths of the currency unit, stock in pieces. Times are milliseconds
since 1970. One thread at a time.
"""

import contextlib
import dataclasses
import decimal
import json
import sqlite3
import time

SCHEMA = """
CREATE TABLE IF NOT EXISTS stock(
    sku TEXT PRIMARY KEY,
    available INTEGER NOT NULL CHECK (available >= 0),
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys(
    service TEXT NOT NULL,
    key TEXT NOT NULL,
    order_id TEXT NOT NULL,
    step TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('applied', 'refused', 'undone')),
    do_status INTEGER,   -- the stored answer of the do; NULL when the undo came first
    do_answer TEXT,
    undo_answer TEXT,
    reserved TEXT,       -- {sku: pieces} while a reservation stands
    PRIMARY KEY (service, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls(
    seq INTEGER PRIMARY KEY,
    service TEXT NOT NULL,
    action TEXT NOT NULL,
    direction TEXT NOT NULL,
    key TEXT NOT NULL,
    request_id TEXT NOT NULL,   -- order/step/direction/attempt
    order_id TEXT NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    applied INTEGER NOT NULL,   -- 1: this call decided its key
    status INTEGER NOT NULL,    -- the status of the answer; 0: none
    error TEXT,
    fault TEXT,
    received_ms INTEGER NOT NULL,
    complete_by INTEGER,
    time_ms INTEGER NOT NULL,
    traceparent TEXT);
CREATE INDEX IF NOT EXISTS calls_by_order ON calls(order_id);
CREATE TABLE IF NOT EXISTS movements(
    seq INTEGER PRIMARY KEY,
    call INTEGER NOT NULL REFERENCES calls(seq),
    service TEXT NOT NULL,
    key TEXT NOT NULL,
    order_id TEXT NOT NULL,
    kind TEXT NOT NULL,         -- reserved released charged refunded shipped recalled
    amount INTEGER NOT NULL,    -- pieces, ten-thousandths of the currency, shipments
    currency TEXT,
    time_ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS movements_by_order ON movements(order_id);
CREATE INDEX IF NOT EXISTS movements_by_key ON movements(service, key);
"""

OPPOSITE = {"reserved": "released", "charged": "refunded", "shipped": "recalled"}
DECLINED = {"stock": "OutOfStock", "payment": "PaymentDeclined", "carrier": "ShipmentRefused"}
AMOUNT_MAX = 10**15  # far beyond any order, far below SQLite's 64 bits


class Refused(Exception):
    """A definite answer: nothing was applied, and asking again would not help."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


@dataclasses.dataclass(frozen=True)
class Call:
    """One call as it arrived, already checked for its form."""

    service: str
    action: str
    direction: str
    key: str
    order_id: str
    step: str
    attempt: int
    received_ms: int
    complete_by: int | None
    order: dict
    traceparent: str | None = None

    @property
    def request_id(self):
        return f"{self.order_id}/{self.step}/{self.direction}/{self.attempt}"


@dataclasses.dataclass(frozen=True)
class Operation:
    """What a do applied: its answer, and the movements (kind, amount, currency) that it made."""

    answer: dict
    movements: tuple = ()
    reserved: dict | None = None


def declined(call):
    return Refused(DECLINED[call.service], f"{call.action} of order {call.order_id} was declined")


def now_ms():
    return time.time_ns() // 1_000_000


def money(amount):
    """Ten-thousandths as a decimal text with at least two digits behind the point."""
    text = f"{decimal.Decimal(amount).scaleb(-4):.4f}"
    return text[:-2] if text.endswith("00") else text


def order_lines(order):
    """The order's lines as (sku, pieces, price in ten-thousandths)."""
    lines = []
    for line in order.get("lines") or []:
        try:
            sku, pieces = line["sku"], int(line["quantity"])
            price = decimal.Decimal(str(line["unit_price"])).scaleb(4)
            whole = int(price)
        except (KeyError, TypeError, ValueError, OverflowError, decimal.InvalidOperation):
            raise Refused("InvalidOrder", f"not an order line: {line!r}") from None
        if not isinstance(sku, str) or not sku or pieces < 1 or price < 0 or price != whole:
            raise Refused("InvalidOrder", f"sku, quantity or price out of range: {line!r}")
        lines.append((sku, pieces, whole))
    return lines


def order_total(order):
    """(amount in ten-thousandths, currency)"""
    currency = order.get("currency")
    if not isinstance(currency, str) or len(currency) != 3:
        raise Refused("InvalidOrder", f"not a currency: {currency!r}")
    amount = sum(pieces * price for _, pieces, price in order_lines(order))
    if amount > AMOUNT_MAX:
        raise Refused("InvalidOrder", "the order's total is out of range")
    return amount, currency


class Ledger:
    def __init__(self, path, *, default_stock=1_000_000, fraud_limit="100000.00",
                 synchronous="NORMAL"):
        self._default_stock = default_stock
        self._fraud_limit = int(decimal.Decimal(fraud_limit).scaleb(4))
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={'FULL' if synchronous == 'FULL' else 'NORMAL'}")
        self._db.executescript(SCHEMA)
        self._operations = {
            ("stock", "ReserveStock"): self._reserve_stock,
            ("payment", "CheckFraud"): self._check_fraud,
            ("payment", "TakePayment"): self._take_payment,
            ("carrier", "ShipOrder"): self._ship_order,
        }
        self._undo_actions = {("stock", "ReleaseStock"), ("payment", "RefundPayment"),
                              ("carrier", "RecallShipment")}

    def close(self):
        self._db.close()

    def knows(self, service, action, direction):
        return (service, action) in (self._operations if direction == "do" else self._undo_actions)

    @contextlib.contextmanager
    def transaction(self):
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # report the first error
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def savepoint(self):
        """One call within a shared transaction: it fails alone."""
        self._db.execute("SAVEPOINT one_call")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO one_call")
            raise
        finally:
            self._db.execute("RELEASE one_call")

    # ---- calls ----

    def perform(self, call, *, decline=False, fault=None, status=None):
        """Decides a call and records it; returns (HTTP status, body).

        `decline` refuses a key that is not decided yet. `status` is the status that the client
        really gets when a fault hides the answer; 0 means no answer.
        """
        row = self._db.execute("SELECT * FROM keys WHERE service = ? AND key = ?",
                               (call.service, call.key)).fetchone()
        now = now_ms()
        seq = self._write_call(call, now, fault)
        try:
            if row is not None and (row["order_id"], row["step"]) != (call.order_id, call.step):
                raise Refused("KeyReused", f"{call.key} belongs to {row['order_id']}/{row['step']}")
            decide = self._do if call.direction == "do" else self._undo
            code, body, applied = decide(call, row, seq, now, decline)
        except Refused as refused:
            code, body, applied = 422, {"error": refused.code, "message": refused.message}, False
        self._db.execute("UPDATE calls SET applied = ?, status = ?, error = ? WHERE seq = ?",
                         (applied, code if status is None else status, body.get("error"), seq))
        return code, body

    def note(self, call, *, fault, status):
        """Writes down a call that a fault kept from being decided."""
        self._write_call(call, now_ms(), fault, status)

    def _write_call(self, call, now, fault, status=0):
        return self._db.execute(
            "INSERT INTO calls(service, action, direction, key, request_id, order_id, step,"
            " attempt, applied, status, fault, received_ms, complete_by, time_ms, traceparent)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)",
            (call.service, call.action, call.direction, call.key, call.request_id, call.order_id,
             call.step, call.attempt, status, fault, call.received_ms, call.complete_by, now,
             call.traceparent)).lastrowid

    def _do(self, call, row, seq, now, decline):
        if row is not None and row["state"] == "undone":
            raise Refused("AlreadyUndone", f"{call.key} was undone: a do after that is refused")
        if row is not None:
            return row["do_status"], json.loads(row["do_answer"]), False
        operation, status = None, 200
        try:
            if decline:
                raise declined(call)
            operation = self._operations[call.service, call.action](call, seq)
            answer = operation.answer
        except Refused as refused:
            status, answer = 422, {"error": refused.code, "message": refused.message}
        self._db.execute(
            "INSERT INTO keys(service, key, order_id, step, state, do_status, do_answer)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (call.service, call.key, call.order_id, call.step,
             "refused" if operation is None else "applied", status, json.dumps(answer)))
        if operation is None:
            return status, answer, False
        for kind, amount, currency in operation.movements:
            self._move(call, seq, now, kind, amount, currency)
        if operation.reserved is not None:
            self._db.execute("UPDATE keys SET reserved = ? WHERE service = ? AND key = ?",
                             (json.dumps(operation.reserved), call.service, call.key))
        return status, answer, True

    def _undo(self, call, row, seq, now, decline):
        if row is not None and row["state"] == "undone":
            return 200, json.loads(row["undo_answer"]), False
        if decline:  # not stored: the next undo may succeed
            raise declined(call)
        movements = self._db.execute(
            "SELECT kind, amount, currency FROM movements WHERE service = ? AND key = ?",
            (call.service, call.key)).fetchall()
        for kind, amount, currency in movements:
            self._move(call, seq, now, OPPOSITE[kind], amount, currency)
        if row is not None and row["reserved"] is not None:
            self._db.executemany(
                "UPDATE stock SET available = available + ?2, reserved = reserved - ?2"
                " WHERE sku = ?1",
                json.loads(row["reserved"]).items())
        answer = {"undone": row is not None and row["state"] == "applied"}
        self._db.execute(
            "INSERT INTO keys(service, key, order_id, step, state, undo_answer)"
            " VALUES (?, ?, ?, ?, 'undone', ?) ON CONFLICT DO UPDATE SET state = 'undone',"
            " undo_answer = excluded.undo_answer, reserved = NULL",
            (call.service, call.key, call.order_id, call.step, json.dumps(answer)))
        return 200, answer, True

    def _move(self, call, seq, now, kind, amount, currency):
        self._db.execute(
            "INSERT INTO movements(call, service, key, order_id, kind, amount, currency, time_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, call.service, call.key, call.order_id, kind, amount, currency, now))

    # ---- the business: each raises Refused before it changes anything ----

    def _reserve_stock(self, call, seq):
        wanted = {}
        for sku, pieces, _ in order_lines(call.order):
            wanted[sku] = wanted.get(sku, 0) + pieces
        for sku, pieces in wanted.items():
            available = self.available(sku)
            if pieces > available:
                raise Refused("OutOfStock", f"{sku}: {pieces} wanted, {available} available")
        self._db.executemany(
            "INSERT INTO stock(sku, available, reserved) VALUES (?1, ?3 - ?2, ?2) ON CONFLICT"
            " DO UPDATE SET available = available - ?2, reserved = reserved + ?2",
            [(sku, pieces, self._default_stock) for sku, pieces in wanted.items()])
        pieces = sum(wanted.values())
        return Operation({"reservation": f"R{seq:09d}", "pieces": pieces, "articles": len(wanted)},
                    (("reserved", pieces, None),), wanted)

    def _check_fraud(self, call, _seq):
        amount, currency = order_total(call.order)
        if amount > self._fraud_limit:
            raise Refused("FraudSuspected", f"{money(amount)} {currency} is above the limit of"
                                            f" {money(self._fraud_limit)}")
        return Operation({"risk": "low", "amount": money(amount), "currency": currency})

    def _take_payment(self, call, seq):
        amount, currency = order_total(call.order)
        return Operation({"payment": f"P{seq:09d}", "amount": money(amount), "currency": currency},
                    (("charged", amount, currency),))

    def _ship_order(self, call, seq):
        pieces = sum(pieces for _, pieces, _ in order_lines(call.order))
        return Operation({"shipment": f"S{seq:09d}", "pieces": pieces}, (("shipped", 1, None),))

    # ---- stock ----

    def available(self, sku):
        row = self._db.execute("SELECT available FROM stock WHERE sku = ?", (sku,)).fetchone()
        return self._default_stock if row is None else row[0]

    def set_stock(self, levels):
        """levels: {sku: pieces available from now on}; what is reserved stays reserved."""
        self._db.executemany(
            "INSERT INTO stock(sku, available) VALUES (?, ?) ON CONFLICT DO UPDATE SET"
            " available = excluded.available", levels.items())

    # ---- reports ----

    def summary(self):
        """The conservation report over everything that was ever moved."""
        totals = self._totals(self._db.execute(
            "SELECT NULL AS order_id, kind, currency, SUM(amount) AS amount FROM movements"
            " GROUP BY kind, currency"))
        return totals.get(None, self._no_totals())

    def balances(self):
        """The same for each order by itself: {order id: totals}."""
        return self._totals(self._db.execute(
            "SELECT order_id, kind, currency, SUM(amount) AS amount FROM movements"
            " GROUP BY order_id, kind, currency ORDER BY order_id"))

    @staticmethod
    def _no_totals():
        return {"reserved": 0, "released": 0, "charged": {}, "refunded": {}, "shipments": 0,
                "recalled": 0}

    def _totals(self, rows):
        totals = {}
        for row in rows:
            total = totals.setdefault(row["order_id"], self._no_totals())
            if row["currency"] is not None:
                total[row["kind"]][row["currency"]] = money(row["amount"])
            else:
                total["shipments" if row["kind"] == "shipped" else row["kind"]] = row["amount"]
        return totals

    def calls(self, *, order=None, after=0, limit=1000):
        where, argument = ("order_id = ? AND", (order,)) if order is not None else ("", ())
        rows = self._db.execute(f"SELECT * FROM calls WHERE {where} seq > ? ORDER BY seq LIMIT ?",
                                (*argument, after, limit))
        return [dict(row, applied=bool(row["applied"])) for row in rows]

    def movements(self, order):
        rows = self._db.execute("SELECT * FROM movements WHERE order_id = ? ORDER BY seq", (order,))
        return [dict(row, amount=money(row["amount"]) if row["currency"] else row["amount"])
                for row in rows]
