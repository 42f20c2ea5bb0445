# SPDX-License-Identifier: Apache-2.0
"""A remote service that keeps the promises of docs/use/remote-services.md with FastAPI.

    PAYMENTS=payments.sqlite uvicorn payment:app --port 8001
"""

import decimal
import json
import os
import sqlite3
import threading

import fastapi
from fastapi.responses import JSONResponse

LIMIT = 100
app = fastapi.FastAPI()
lock = threading.Lock()
database = sqlite3.connect(os.environ["PAYMENTS"], check_same_thread=False)
database.execute("CREATE TABLE IF NOT EXISTS answers(key TEXT, direction TEXT, status INT,"
                 " answer TEXT, PRIMARY KEY (key, direction))")


def find(key, direction):
    row = database.execute("SELECT status, answer FROM answers WHERE key = ? AND direction = ?",
                           (key, direction)).fetchone()
    return row and (row[0], json.loads(row[1]))


def take(order):
    amount = sum(line["quantity"] * decimal.Decimal(line["unit_price"]) for line in order["lines"])
    if amount > LIMIT:
        return 422, {"error": "PaymentDeclined", "message": f"{amount} is more than {LIMIT}"}
    return 200, {"paid": str(amount)}


def perform(call):
    key, direction = call["do_key"], call["direction"]
    with lock, database:  # committed before the answer is sent
        known = find(key, direction)
        if known:
            return known
        done = find(key, "do")
        if direction == "undo":
            status, result = 200, {"refunded": bool(done) and done[0] == 200}
        elif find(key, "undo"):
            return 422, {"error": "AlreadyUndone", "message": f"{key} was undone"}
        else:
            status, result = take(call["order"])
        database.execute("INSERT INTO answers VALUES (?, ?, ?, ?)",
                         (key, direction, status, json.dumps(result)))
        return status, result


@app.get("/{path:path}")
def healthy(path):  # the agent asks whether the service is
    return {}


@app.post("/{action:path}")
def call(action, body: dict = fastapi.Body()):  # not async: FastAPI runs it on a thread
    if not isinstance(body.get("do_key"), str):
        return JSONResponse({"error": "InvalidCall"}, 400)
    status, result = perform(body)
    return JSONResponse(result, status)
