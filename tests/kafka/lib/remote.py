# SPDX-License-Identifier: Apache-2.0
"""All remote services of a test, behind one port: what each one says, and what it has kept."""

import collections
import contextlib
import dataclasses
import http.server
import json
import threading
import typing


@dataclasses.dataclass
class Answer:
    """Of a service. `error`: it refuses, under this name. `not_yet`: what it says to the keys
    before this, one each. `silent`: it does it and never answers."""

    output: typing.Any = None
    error: str = ""
    message: str = ""
    not_yet: list = dataclasses.field(default_factory=list)
    silent: bool = False


class RemoteServices:
    """`answer_of(order_id, step)`: the Answer to its do. The first call with a key decides, and
    repeats get the same answer. While the gate is closed, calls are applied and not answered.
    Agents call them at `url`/AGENT."""

    def __init__(self, answer_of):
        self.answer_of = answer_of
        self.kept = {}  # (order, step) -> keys that were applied and not undone
        self.inputs = {}  # (order, step) -> what was sent to its do
        self.asked = {}  # (order, step) -> the number of each key
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()
        self.stopped = threading.Event()
        self.held = collections.Counter()  # calls that were applied and not answered, by agent
        services = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(200, {})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = services.call(body)
                if found is None:
                    services.stopped.wait()
                    self.close_connection = True
                    return
                services.hold(self.path.split("/")[1])
                self.answer(*found)

            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):  # the agent was killed
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def call(self, body):
        """(status, body) of its answer; None: there is none."""
        answer = self.answer_of(body["order_id"], body["step"])
        step = body["order_id"], body["step"]
        with self.lock:
            if body["direction"] == "do":
                self.inputs[step] = body.get("input")
                if answer.error:
                    return 422, {"error": answer.error, "message": answer.message or answer.error}
            asked = self.asked.setdefault(step, {})
            number = asked.setdefault(body["idempotency_key"], len(asked))
            if number < len(answer.not_yet):
                return 200, answer.not_yet[number]
            keys = self.kept.setdefault(step, set())
            if body["direction"] == "do":
                keys.add(body["idempotency_key"])
                if answer.silent:
                    return None
            else:
                keys.discard(body["do_key"])
        return 200, answer.output if body["direction"] == "do" else {}

    def hold(self, agent):
        with self.lock:
            self.held[agent] += 1
        self.gate.wait()
        with self.lock:
            self.held[agent] -= 1

    def holding(self):
        """The agents whose calls wait."""
        with self.lock:
            return sorted(agent for agent, count in self.held.items() if count > 0)

    def stop(self):
        self.gate.set()
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
