#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small shop with three remote services, for demos and tests of reeve: stock, payment, carrier.

    shop.py --port 8090 --db /tmp/shop.sqlite
    shop.py --port 0 --port-file /tmp/port --fault payment,decline,share=0.1

    POST /stock/ReserveStock      POST /payment/CheckFraud       POST /carrier/ShipOrder
    POST /stock/ReleaseStock      POST /payment/TakePayment      POST /carrier/RecallShipment
                                  POST /payment/RefundPayment
    GET  /ledger/summary          what was reserved, released, charged, refunded, shipped in all
    GET  /ledger/balances         the same for each order
    GET  /ledger?order=ID         every call about an order, and what it moved
    GET  /ledger?after=N&limit=N  every call, a page at a time
    GET  /control, POST /control  the faults in force: {"faults": [...]} replaces them,
                                  {"add": [...]} adds some (shop_faults.py),
                                  {"stock": {sku: pieces}} sets stock levels
    GET  /healthz

shop_ledger.py describes what the answers promise. Every call is committed before it is answered;
calls that wait at the same moment share one commit. One asyncio loop serves all connections, so
that a thousand calls can hang at the same time. Errors are {"error": CODE, "message": text}; 422 is
a definite refusal. It listens on 127.0.0.1 by default (--host), because it has no authentication.
It needs only Python's standard library.
"""

import argparse
import asyncio
import contextlib
import functools
import json
import os
import resource
import signal
import socket
import struct
import sys
import urllib.parse

from shop_faults import SERVICES, Faults, Rule
from shop_ledger import Call, Ledger, now_ms

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 8 * 1024 * 1024
TEXT_MAX = 1024          # of an id or a key
PAGE_MAX = 10_000        # rows of the ledger in one answer
GRACE_SECONDS = 2.0      # for pending answers when the shop stops
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
           411: "Length Required", 413: "Content Too Large", 422: "Unprocessable Content",
           431: "Request Header Fields Too Large", 500: "Internal Server Error",
           503: "Service Unavailable"}


class HttpError(Exception):
    """An error answer. `close`: the rest of the connection may not be a request, so close it."""

    def __init__(self, status, code, message, close=False):
        super().__init__(message)
        self.status = status
        self.body = {"error": code, "message": message}
        self.close = close


class Request:
    def __init__(self, method, target, version, headers):
        parts = urllib.parse.urlsplit(target)
        self.method = method
        self.path = urllib.parse.unquote(parts.path)
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.headers = headers
        self.received_ms = now_ms()
        self.body = b""
        option = headers.get("connection", "").lower()
        self.close = option == "close" or (version == "HTTP/1.0" and option != "keep-alive")

    def json(self):
        try:
            body = json.loads(self.body)
        except ValueError as error:
            raise HttpError(400, "InvalidJson", str(error)) from None
        if not isinstance(body, dict):
            raise HttpError(400, "InvalidJson", "the body is not a JSON object")
        return body


async def read_request(reader, writer):
    """The next request of a connection, or None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise HttpError(431, "HeadTooLarge", f"over {HEAD_BYTES_MAX} bytes", True) from None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    try:
        method, target, version = first.split(" ")
        headers = {name.strip().lower(): value.strip()
                   for name, value in (line.split(":", 1) for line in lines)}
        size = int(headers.get("content-length", "0"))
        request = Request(method, target, version, headers)
    except ValueError:
        raise HttpError(400, "InvalidRequest", "this is not HTTP/1.1", True) from None
    if "transfer-encoding" in headers:
        raise HttpError(411, "LengthRequired", "send a Content-Length", True)
    if not 0 <= size <= BODY_BYTES_MAX:
        raise HttpError(413, "BodyTooLarge", f"over {BODY_BYTES_MAX} bytes", True)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if size:
        try:
            request.body = await reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return None
    return request


def call_of(request, service, action):
    """The call in a POST to a service, with its form checked."""
    body = request.json()

    def field(name, kind, default=None):
        value = body.get(name, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise HttpError(400, "InvalidCall", f"{name} must not be {value!r}")
        if kind is str and not 0 < len(value) <= TEXT_MAX:
            raise HttpError(400, "InvalidCall", f"{name} is empty or over {TEXT_MAX} characters")
        return value

    key = request.headers.get("idempotency-key", "")
    if not key:
        raise HttpError(400, "MissingIdempotencyKey", "a call needs the header Idempotency-Key")
    if body.get("idempotency_key", key) != key or len(key) > TEXT_MAX:
        raise HttpError(400, "InvalidCall", "the keys of header and body differ, or are too long")
    direction = field("direction", str, "do")
    if direction not in ("do", "undo"):
        raise HttpError(400, "InvalidCall", f"direction is do or undo, not {direction!r}")
    do_key = field("do_key", str, key if direction == "do" else None)
    if direction == "do" and do_key != key:
        raise HttpError(400, "InvalidCall", "the do_key of a do is its idempotency key")
    return Call(service=service, action=action, direction=direction, key=do_key,
                order_id=field("order_id", str), step=field("step", str),
                attempt=field("attempt", int, 1), received_ms=request.received_ms,
                complete_by=field("complete_by", (int, type(None))),
                order=field("order", dict, {}), traceparent=request.headers.get("traceparent"))


class Committer:
    """Group commit: all calls that wait in one turn of the loop share a transaction, and none is
    answered before it is committed."""

    def __init__(self, ledger):
        self._ledger = ledger
        self._waiting = []

    def run(self, work):
        """Runs `work` (no arguments) in the next transaction; a future of what it returns."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._commit)
        self._waiting.append((work, future))
        return future

    def _commit(self):
        waiting, self._waiting = self._waiting, []
        done = []
        try:
            with self._ledger.transaction():
                for work, future in waiting:
                    done.append((future, *self._run_alone(work)))
        except Exception as error:  # nothing of this batch is in the ledger
            done = [(future, None, error) for _, future in waiting]
        for future, result, error in done:
            if future.cancelled():
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

    def _run_alone(self, work):
        try:
            with self._ledger.savepoint():
                return work(), None
        except Exception as error:
            return None, error


class Shop:
    def __init__(self, ledger, faults):
        self._ledger = ledger
        self._faults = faults
        self._committer = Committer(ledger)
        self._connections = set()
        self._answering = 0

    async def serve(self, reader, writer):
        """Serves one connection until either side closes it."""
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def stop(self):
        """Waits for pending answers, then drops every connection."""
        deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
        while self._answering and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve_one(self, reader, writer):
        request = None
        try:
            request = await read_request(reader, writer)
            if request is None:
                return False
            answer = await self._route(request, reader, writer)
            if answer is None:
                return False
            status, body = answer
            close = request.close
        except HttpError as error:
            status, body, close = error.status, error.body, error.close
            close = close or request is None or request.close
        except Exception as error:  # a full disk or a defect: nothing was committed
            print(f"shop: {type(error).__name__}: {error}", file=sys.stderr)
            status, body, close = 500, {"error": "InternalError", "message": str(error)}, True
        self._write(writer, status, body, close)
        await writer.drain()
        return not close

    @staticmethod
    def _write(writer, status, body, close):
        payload = json.dumps(body).encode() + b"\n"
        connection = "close" if close else "keep-alive"
        writer.write(f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(payload)}\r\nConnection: {connection}\r\n\r\n"
                     .encode() + payload)

    async def _route(self, request, reader, writer):
        """(status, body), or None when the connection must not be answered."""
        parts = request.path.strip("/").split("/")
        if parts[0] in SERVICES and len(parts) == 2:
            if request.method != "POST":
                raise HttpError(405, "MethodNotAllowed", "a call is a POST")
            return await self._call(call_of(request, *parts), reader, writer)
        handler = {("GET", "ledger"): self._get_ledger,
                   ("GET", "ledger/summary"): lambda _: self._ledger.summary(),
                   ("GET", "ledger/balances"): lambda _: self._ledger.balances(),
                   ("GET", "control"): lambda _: {"faults": self._faults.as_json()},
                   ("POST", "control"): self._post_control,
                   ("GET", "healthz"): lambda _: {"status": "ok"}}.get(
                       (request.method, "/".join(parts)))
        if handler is None:
            raise HttpError(404, "NotFound", f"there is no {request.method} {request.path}")
        return 200, handler(request)

    # ---- calls ----

    async def _call(self, call, reader, writer):
        if not self._ledger.knows(call.service, call.action, call.direction):
            raise HttpError(404, "UnknownAction",
                            f"{call.service} has no {call.direction} action {call.action}")
        rule = self._faults.choose(call)
        mode = rule.mode if rule is not None else None
        if mode == "slow":
            await asyncio.sleep(rule.ms / 1000)
        if mode in ("503-before", "never", "reset"):
            status = 503 if mode == "503-before" else 0
            await self._commit(self._ledger.note, call, fault=mode, status=status)
            answer = None
        else:
            hidden = {"503-after": 503, "never-after": 0, "reset-after": 0}.get(mode)
            answer = await self._commit(self._ledger.perform, call, decline=mode == "decline",
                                        fault=mode, status=hidden)
        if mode == "slow-after":
            await asyncio.sleep(rule.ms / 1000)
        if mode in ("503-before", "503-after"):
            raise HttpError(503, "ServiceUnavailable", f"fault {mode}")
        if mode in ("never", "never-after"):
            while await reader.read(HEAD_BYTES_MAX):  # until the caller gives up
                pass
            return None
        if mode in ("reset", "reset-after"):
            reset(writer)
            return None
        return answer

    async def _commit(self, work, *args, **options):
        self._answering += 1
        try:
            return await self._committer.run(functools.partial(work, *args, **options))
        finally:
            self._answering -= 1

    # ---- reports and controls ----

    def _get_ledger(self, request):
        order = request.query.get("order")
        try:
            after = int(request.query.get("after", "0"))
            limit = min(int(request.query.get("limit", "1000")), PAGE_MAX)
        except ValueError:
            raise HttpError(400, "InvalidQuery", "after and limit are numbers") from None
        found = {"calls": self._ledger.calls(order=order, after=after, limit=limit)}
        if order is not None:
            found["movements"] = self._ledger.movements(order)
        return found

    def _post_control(self, request):
        changes = request.json()
        unknown = changes.keys() - {"faults", "add", "stock"}
        if unknown:
            raise HttpError(400, "InvalidControl", f"unknown: {', '.join(sorted(unknown))}")
        levels = changes.get("stock", {})
        if not isinstance(levels, dict) or not all(
                type(pieces) is int and 0 <= pieces < 2**53 for pieces in levels.values()):
            raise HttpError(400, "InvalidControl", "stock is {sku: pieces}")
        try:
            kept = changes.get("faults", self._faults.as_json())
            rules = [Rule.from_json(rule) for rule in [*kept, *changes.get("add", [])]]
        except (TypeError, ValueError) as error:
            raise HttpError(400, "InvalidControl", str(error)) from None
        if "faults" in changes or "add" in changes:
            self._faults.set(rules)
        with self._ledger.transaction():
            self._ledger.set_stock(levels)
        return {"faults": self._faults.as_json()}


def reset(writer):
    """Ends a connection with a TCP reset, as a crashed service would."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                               struct.pack("ii", 1, 0))
    writer.transport.abort()


def fault_rule(text):
    try:
        return Rule.from_text(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1",
                        help="address to listen on, without authentication (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8090, help="0: a free port (default 8090)")
    parser.add_argument("--port-file", help="file for the port, written once the shop listens")
    parser.add_argument("--db", default="shop.sqlite", help="the ledger (default shop.sqlite)")
    parser.add_argument("--synchronous", choices=("NORMAL", "FULL"), default="NORMAL",
                        help="FULL also survives a power cut (default NORMAL)")
    parser.add_argument("--default-stock", type=int, default=1_000_000, metavar="PIECES",
                        help="stock of an article that was not set (default 1000000)")
    parser.add_argument("--fraud-limit", default="100000.00", metavar="AMOUNT",
                        help="CheckFraud refuses orders above it (default 100000.00)")
    parser.add_argument("--seed", default="reeve",
                        help="selects the keys that a share affects (default reeve)")
    parser.add_argument("--fault", action="append", default=[], metavar="RULE", type=fault_rule,
                        help="SERVICE,MODE[,name=value...], see shop_faults.py; may be repeated")
    return parser.parse_args(argv)


def write_port(path, port):
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(f"{port}\n")
    os.replace(f"{path}.new", path)


async def run(arguments, stop=None, started=None):
    """Serves until SIGTERM, SIGINT or `stop`; calls `started` with the port."""
    loop = asyncio.get_running_loop()
    if stop is None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
    ledger = Ledger(arguments.db, default_stock=arguments.default_stock,
                    fraud_limit=arguments.fraud_limit, synchronous=arguments.synchronous)
    with contextlib.closing(ledger):
        shop = Shop(ledger, Faults(arguments.seed, arguments.fault))
        server = await asyncio.start_server(shop.serve, arguments.host, arguments.port,
                                            limit=HEAD_BYTES_MAX, backlog=1024)
        port = server.sockets[0].getsockname()[1]
        print(f"shop: http://{arguments.host}:{port}, ledger {arguments.db}", file=sys.stderr,
              flush=True)
        if arguments.port_file:
            write_port(arguments.port_file, port)
        if started is not None:
            started(port)
        await stop.wait()
        server.close()
        await shop.stop()
        await server.wait_closed()


def main():
    arguments = parse_arguments(sys.argv[1:])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # each hanging call holds a descriptor
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(run(arguments))


if __name__ == "__main__":
    main()
