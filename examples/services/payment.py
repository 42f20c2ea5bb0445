#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest remote service that keeps every promise of docs/use/remote-services.md: it takes and
refunds payments, and declines whatever costs more than 100.

    payment.py PORT FILE.sqlite
"""

import decimal
import http.server
import json
import sqlite3
import sys
import threading

LIMIT = 100


def take(body):
    amount = sum(line["quantity"] * decimal.Decimal(line["unit_price"])
                 for line in body["order"]["lines"])
    if amount > LIMIT:
        return 422, {"error": "PaymentDeclined", "message": f"{amount} is more than {LIMIT}"}
    return 200, {"paid": str(amount)}


class Ledger:
    """The answer to each do and to each undo, by the key of the do."""

    def __init__(self, path):
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS answers(key TEXT, direction TEXT, status INT,"
                         " answer TEXT, PRIMARY KEY (key, direction))")

    def _find(self, key, direction):
        row = self._db.execute("SELECT status, answer FROM answers WHERE key = ? AND direction = ?",
                               (key, direction)).fetchone()
        return row and (row[0], json.loads(row[1]))

    def answer(self, body):
        key, direction = body["do_key"], body["direction"]
        with self._lock, self._db:  # committed before the answer is sent
            known = self._find(key, direction)
            if known:
                return known
            done = self._find(key, "do")
            if direction == "undo":
                status, result = 200, {"refunded": bool(done) and done[0] == 200}
            elif self._find(key, "undo"):
                return 422, {"error": "AlreadyUndone", "message": f"{key} was undone"}
            else:
                status, result = take(body)
            self._db.execute("INSERT INTO answers VALUES (?, ?, ?, ?)",
                             (key, direction, status, json.dumps(result)))
            return status, result


class Payment(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.respond(200, {})  # the agent checks whether the service is healthy

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.respond(*self.server.ledger.answer(body))

    def respond(self, status, result):
        payload = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Payment)
    server.ledger = Ledger(sys.argv[2])
    server.serve_forever()
