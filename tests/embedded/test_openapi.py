# SPDX-License-Identifier: Apache-2.0
"""The servers answer as docs/reference/openapi/ says: each operation once with real data, and then
with what schemathesis makes of the descriptions, for each role. Answers may have no field and no
code that is not described (lib/openapi.py). REEVE_SEED chooses other random data."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import confluent_kafka
import yaml

from lib import openapi
from lib.dev import ROLES, Dev
from lib.paths import ROOT
from lib.records import local_schemas
from lib.shop import Shop
from lib.waiting import wait_for

TIMEOUT_SECONDS = 600
SEED = os.environ.get("REEVE_SEED", "20261123")
SERVICES = {"console": "console", "submission": "submission", "agent": "agent-carrier"}
FULFILMENT = ROOT / "examples/workflows/order-fulfilment.yaml"
DECLINES = """
Name: declines
Version: 1
Steps:
  - {Name: Decline, Fail: {Error: Declined}, OnExhausted: error}
"""
ASKS = """
Name: asks
Version: 1
TimeoutSeconds: 600
Steps:
  - {Name: Approve, Await: {Options: [approve, decline], Question: Ship it?}}
"""
TREE = """
Name: parts
Version: 1
Steps:
  - Name: Each
    ForEach: {Items: [1, 2]}
    Steps: [{Name: Do, Agent: noop, Compensate: {Action: Undo}}]
"""
WHY = {"reason": "as the customer asked"}
LOST = ("lost-1", "lost-2", "lost-3", "lost-4")  # the carrier refuses them
QUEUED = ("queued-1", "queued-2", "queued-3")  # their agent is paused


class World:
    """`reeve dev` that asks for tokens, with orders in every state, and the shop behind it."""

    def __init__(self, folder, shop):
        viewer = folder / "viewer"
        viewer.write_text("reeve_viewer-canary\n", encoding="utf-8")
        agents = [part for name in ("stock", "payment", "carrier")
                  for part in ("--agent", f"{name}={shop.url}/{name}")]
        self.dev = Dev(folder, FULFILMENT, *agents, "--app", "shop",
                       "--set", f"submission.console.token.file={viewer}",
                       "--console-services-token-file", viewer)
        for order in LOST:
            shop.fault("carrier", "decline", order)
        shop.fault("payment", "decline", "declined-1")

    def fill(self):
        for order in ("done-1", "declined-1", *LOST):
            self.submit(order, "order-fulfilment")
        self.submit("naïve €", "three-steps")
        states = {"done-1": "Processed", "declined-1": "Compensated", "naïve €": "Processed",
                  **dict.fromkeys(LOST, "Error")}
        for order, state in states.items():
            wait_for(f"{order} is {state}", lambda o=order, s=state: self.order(o)["state"] == s)
        bootstrap = re.search(r"kafka +(\S+)", self.dev.out.read_text())[1]
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
        for number in (1, 2):
            self.producer.produce("orders.submissions", b"this is not an order", f"dead-{number}")
        assert self.producer.flush(20) == 0
        self.letters = wait_for("two dead letters", self.both_letters)

    def both_letters(self):
        letters = self.read("/api/dead-letters")["dead_letters"]
        return letters if len(letters) == 2 else None

    def submit(self, order, workflow):
        answer = self.dev.ask("submission", "POST", "/orders", self.dev.tokens["submitter"], {
            "order_id": order, "customer": "17850", "currency": "GBP", "workflow": workflow,
            "priority": "high", "attributes": {"channel": "web"}, "reply_to": "orders.replies.shop",
            "lines": [{"sku": "21730", "description": "GLASS STAR", "quantity": 6,
                       "unit_price": "4.25"}]})
        assert answer.status == 202, answer.body

    def submit_orphan(self):
        """gone~Each, a sub-order of an order that does not exist, as a scheduler submits it."""
        order = "gone~Each"
        parent = {"order_id": "gone", "accepted_offset": 7, "step": "Each", "item": -1,
                  "generation": 0, "root": "gone", "depth": 1, "quota": 0}
        value = {"order_id": order, "customer": "17850", "currency": "", "lines": [],
                 "attributes": {}, "priority": "normal", "reply_to": "", "workflow": "parts/Each",
                 "workflow_version": 1, "input": "1", "traceparent": "", "content_hash": None,
                 "submitted_by": "", "submitted_at": int(time.time() * 1000), "parent": parent}
        record = local_schemas().encode("SubmitOrder", value)
        self.producer.produce("orders.commands", record, order)
        assert self.producer.flush(20) == 0

    def read(self, path):
        answer = self.dev.ask("console", "GET", path, self.dev.tokens["operator"])
        return json.loads(answer.body) if answer.status == 200 else None

    def order(self, order):
        return self.read(f"/api/orders/{urllib.parse.quote(order, safe='')}") or {"state": None}

    def queued(self, order):
        return [step for step in self.order(order).get("steps", ()) if step["queued_at"]]


# ---- the description as schemathesis gets it --------------------------------------------------


def for_schemathesis(name):
    """Strict, without what would wait for long, and without what the token decides."""
    document = openapi.strict(openapi.read(name))
    document["paths"].pop("/api/events", None)  # does not end
    document["paths"].pop("/api/openapi.yaml", None)  # is this document
    for _, _, operation in openapi.operations(document):
        kept = [each for each in operation.get("parameters", ())
                if each.get("$ref", "").split("/")[-1] not in ("Wait", "Cursor")]
        operation["parameters"] = kept
    for node in openapi.nodes(document):
        if isinstance(node, dict) and node.pop("allowEmptyValue", False):
            node["schema"] = {"anyOf": [node["schema"], {"const": ""}]}
    for schema in document["components"]["schemas"].values():
        fields = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            continue
        if "by" in fields:
            # The name of the token replaces it, whatever it is: no value is wrong, if it is JSON
            # with numbers of at most 40 digits, which a schema cannot say.
            del fields["by"]
        if "reply_to" in fields and name == "submission":
            fields["reply_to"] = {"enum": ["", "orders.replies.shop"]}  # those that there are
    if name == "submission":
        order = document["components"]["schemas"]["NewOrder"]["properties"]
        order["workflow"] = {"enum": ["order-fulfilment", "three-steps"]}
        order["workflow_version"] = {"enum": [0, 1]}
        line = order["lines"]["items"]["properties"]
        line["unit_price"] = line["unit_price"]["oneOf"][0]  # numbers may have too many decimals
    return document


CONFIGURATION = """
seed = {seed}
request-timeout = 20
warnings = false
[generation]
database = "none"
max-examples = {examples}
codec = "{codec}"
allow-x00 = {zeros}
[checks]
# Ten wrong tokens get 429; test_access_roles.py has what each token may do.
ignored_auth.enabled = false
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "429"{bad}]
# A {{version}} matches "rollback": GET is allowed there, and answers 400.
[[operations]]
include-path = "/api/workflows/{{name}}/rollback"
checks.allow_header_conformance.enabled = false
checks.unsupported_method.enabled = false
"""
# Of data that conform to the schema, which cannot say everything, these also answer 400.
MAY_REFUSE = """
[[operations]]
include-operation-id = "{operation}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409",
                                                         "429"]
"""
REFUSING = {
    "listOrders": "times that exclude each other",
    "countOrders": "times that exclude each other",
    "listDeadLetters": "times that exclude each other",
    "completeStep": "a number of more than 40 digits",
    "deploySchedule": "a text that is not a schedule",
    "deployWorkflow": "a text that is not a workflow",
    "replayDeadLetter": "bytes that are not a record",
    "signalOrder": "a number of more than 40 digits",
    "submitOrder": "a total of more than 18 digits",
}


def run_schemathesis(folder, name, url, token, phases=None, examples=4, codec="ascii"):
    description = folder / f"{name}.yaml"
    description.write_text(yaml.safe_dump(for_schemathesis(name), sort_keys=False))
    configuration = folder / f"{name}.toml"
    text = CONFIGURATION.format(seed=SEED, examples=examples, codec=codec,
                                zeros=str(codec == "utf-8").lower(),
                                bad=', "400"' if codec == "utf-8" else "")
    if codec == "ascii":
        text += "".join(MAY_REFUSE.format(operation=each) for each in REFUSING)
    configuration.write_text(text)
    command = [pathlib.Path(sys.executable).parent / "schemathesis", "--config-file", configuration,
               "run", description, "--url", url, "--no-color", "--continue-on-failure",
               "--phases", phases or "examples,coverage,fuzzing"]
    if token is not None:
        command += ["--header", f"Authorization: Bearer {token}"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=folder, timeout=500)


# ---- the tests --------------------------------------------------------------------------------


class DescriptionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        shop = Shop(pathlib.Path(folder.name))
        cls.addClassCleanup(shop.stop)
        cls.world = World(pathlib.Path(folder.name), shop)
        cls.addClassCleanup(cls.world.dev.stop)
        cls.world.fill()
        cls.documents = {name: openapi.strict(openapi.read(name)) for name in openapi.NAMES}
        cls.answered = set()

    # ---- each operation once ----

    def ask(self, of, method, template, body=None, role="operator", status=200, **values):
        """Asks, and compares the answer with the description of that operation."""
        query = {key: value for key, value in values.items() if f"{{{key}}}" not in template}
        path = re.sub(r"\{(\w+)\}", lambda part: urllib.parse.quote(
            str(values[part[1]]), safe=""), template)
        path += f"?{urllib.parse.urlencode(query, doseq=True)}" if query else ""
        answer = self.world.dev.ask(SERVICES[of], method, path, self.world.dev.tokens.get(role),
                                    body)
        self.assertEqual(answer.status, status, f"{method} {path}: {answer.body}")
        document = self.documents[of]
        operation = document["paths"][template][method.lower()]
        kind = (answer.headers["Content-Type"] or "").split(";")[0]
        schema = openapi.content_of(document, operation, status, kind)
        if status == 204:
            self.assertEqual(answer.body, "")
        else:
            self.assertIsNotNone(schema, f"{method} {path}: {status} with {kind} is not described")
        value = json.loads(answer.body) if kind.endswith("json") else answer.body
        if schema is not None:
            self.assertEqual(openapi.problems_of(document, schema, value), [], f"{method} {path}")
        if kind == "application/problem+json":
            self.assertEqual(value["status"], status)
        if status < 300:
            self.answered.add((of, method, template))
        return value

    def command(self, action, order, **more):
        return self.ask("console", "POST", f"/api/orders/{{id}}/{action}", {**WHY, **more},
                        id=order)

    def read_orders(self):
        ask = lambda *arguments, **values: self.ask("console", "GET", *arguments, **values)
        page = ask("/api/orders", limit=2)
        ask("/api/orders", limit=2, cursor=page["next"])
        ask("/api/orders", state="Error", workflow="order-fulfilment", workflow_version=1,
            alert="open", attribute=["channel=web"], since="2026-01-01T00:00:00Z")
        self.assertEqual(ask("/api/orders/count", customer="17850")["orders"], 7)
        for order in ("done-1", "declined-1", "naïve €", *LOST):
            ask("/api/orders/{id}", id=order)
            entries = ask("/api/orders/{id}/history", id=order)["entries"]
            for entry in entries:
                ask("/api/orders/{id}/at/{offset}", id=order, offset=entry["offset"])
        ask("/api/orders/{id}", id="done-1", wait="10s")
        ask("/api/orders/{id}", id="nope", status=404)
        ask("/api/orders/{id}/history", id="done-1", limit=1, after=0)
        ask("/api/orders/{id}/migrate", id="lost-4", version=1, status=409)

    def read_the_rest(self):
        for path in ("/api", "/api/overview", "/api/counts", "/api/alerts", "/api/owners",
                     "/api/partitions", "/api/health", "/api/services", "/api/agents",
                     "/api/workflows", "/api/session", "/api/openapi.yaml", "/livez", "/readyz",
                     "/metrics", "/about", "/stores"):
            self.ask("console", "GET", path)
        for name, role in (("submission", "viewer"), ("agent", "viewer")):
            for path in ("/livez", "/readyz", "/metrics", "/about"):
                self.ask(name, "GET", path, role=role)
        cursor = self.ask("console", "GET", "/api/watch")["cursor"]
        self.ask("console", "POST", "/api/agents/{name}/pause", WHY, name="stock")
        self.ask("console", "POST", "/api/agents/{name}/pause", WHY, name="stock", status=409)
        self.ask("console", "POST", "/api/agents/{name}/resume", WHY, name="stock")
        self.command("pause", "lost-1")
        changes = self.ask("console", "GET", "/api/watch", after=cursor)["changes"]
        self.assertEqual(changes[0]["order_id"], "lost-1")

    def change_workflows(self):
        text = FULFILMENT.read_text(encoding="utf-8").replace("Version: 1 ", "Version: 2 ")
        deploy = {"source": text, "activate": True}
        self.ask("console", "POST", "/api/workflows", deploy)
        self.ask("console", "POST", "/api/workflows", {"source": "Name: x"}, status=400)
        of = {"name": "order-fulfilment"}
        self.ask("console", "POST", "/api/workflows/{name}/rollback", WHY, **of)
        activate = "/api/workflows/{name}/{version}/activate"
        self.ask("console", "POST", activate, WHY, version=2, **of)
        self.ask("console", "POST", activate, WHY, version=2, status=409, **of)
        self.ask("console", "GET", "/api/workflows/{name}/{version}", version=2, **of)
        self.ask("console", "GET", "/api/workflows/{name}/{version}", version=7, status=404, **of)
        self.ask("console", "GET", "/api/workflows/{name}/diff", left=1, right=2, **of)
        for form in ("json", "dot", "text"):
            self.ask("console", "GET", "/api/workflows/{name}/{version}/graph", version=1,
                     format=form, **of)
        self.ask("console", "GET", "/api/orders/{id}/migrate", id="lost-4", version=2)
        self.command("migrate", "lost-4", version=2)
        self.ask("console", "POST", activate, WHY, version=1, **of)
        self.ask("console", "POST", "/api/workflows/{name}/{version}/retire", WHY, version=2, **of)

    def change_schedules(self):
        of = {"name": "nightly"}
        text = ("Schedule: nightly\nCron: '0 3 * * *'\nTimeZone: Europe/Berlin\n"
                "Order: {workflow: three-steps, input: '${tick}'}\n")
        change = "/api/schedules/{name}/"
        self.ask("console", "POST", change + "trigger", {}, status=404, **of)
        self.ask("console", "POST", "/api/schedules", {"source": text})
        self.ask("console", "POST", "/api/schedules", {"source": "Cron: x"}, status=400)
        self.ask("console", "POST", change + "pause", WHY, **of)
        self.ask("console", "POST", change + "pause", WHY, status=409, **of)
        self.ask("console", "GET", "/api/schedules")
        self.ask("console", "POST", change + "resume", WHY, **of)
        order = self.ask("console", "POST", change + "trigger", {}, status=202, **of)["order_id"]
        wait_for(f"{order} is there", lambda: self.world.order(order)["state"])
        often = "Schedule: often\nEverySeconds: 1\nOrder: {workflow: three-steps}\n"
        self.ask("console", "POST", "/api/schedules", {"source": often})
        wait_for("a tick has an order", lambda: [
            tick for schedule in self.ask("console", "GET", "/api/schedules")["schedules"]
            for tick in schedule["last"] if tick["state"]])
        self.ask("console", "POST", change + "pause", WHY, name="often")

    def change_orders(self):
        problem = self.ask("console", "POST", "/api/orders/{id}/amend",
                           {**WHY, "input": {"amount": 12.5}}, id="lost-1", status=409)
        self.assertEqual(problem["code"], "InputWasRead")
        self.ask("console", "POST", "/api/workflows", {"source": DECLINES, "activate": True})
        self.world.submit("amended-1", "declines")
        wait_for("amended-1 is in Error", lambda: self.world.order("amended-1")["state"] == "Error")
        self.command("amend", "amended-1", input={"amount": 12.5})
        self.answer_a_question()
        self.command("resume", "lost-1")
        self.command("resubmit", "lost-1", step="ShipOrder")
        self.command("complete", "lost-2", step="ShipOrder", output={"tracking": "T17"})
        self.command("skip", "lost-3", step="ShipOrder", nothing_applied=True)
        problem = self.ask("console", "POST", "/api/orders/{id}/cancel", WHY, id="done-1",
                           status=409)
        self.assertEqual(problem["code"], "AlreadyEnded")
        self.ask("console", "POST", "/api/agents/{name}/pause", WHY, name="noop")
        for order in QUEUED:
            self.world.submit(order, "three-steps")
            wait_for(f"{order} waits", lambda o=order: self.world.queued(o))
        self.ask("console", "GET", "/api/orders", step="First")
        self.command("cancel", "queued-1")
        self.command("compensate", "queued-2")
        self.command("fail", "queued-3", step="First", error_name="LorryLost")
        self.ask("console", "POST", "/api/agents/{name}/resume", WHY, name="noop")

    def answer_a_question(self):
        signals = "/api/orders/{id}/signals/{step}"
        self.ask("console", "POST", "/api/workflows", {"source": ASKS, "activate": True})
        for order in ("asked-1", "asked-2"):
            self.world.submit(order, "asks")
            wait_for(f"{order} asks", lambda o=order: self.world.order(o).get("waiting_for"))
        self.ask("console", "GET", "/api/orders/{id}", id="asked-1")
        self.ask("console", "GET", "/api/orders", waiting_for="Approve")
        answer = {"choice": "approve", "comment": "soon"}
        self.ask("console", "POST", signals, answer, id="asked-1", step="Approve")
        self.ask("console", "POST", signals, answer, id="asked-1", step="Approve", status=409)
        self.ask("console", "POST", signals, answer, id="lost-1", step="Aprove", status=404)
        self.ask("console", "POST", signals, {"choice": 1}, id="lost-1", step="A", status=400)

    def look_into_trees(self):
        self.ask("console", "POST", "/api/workflows", {"source": TREE, "activate": True})
        self.world.submit("tree-1", "parts")
        wait_for("the tree ends", lambda: self.world.order("tree-1")["state"] == "Processed")
        ask = lambda what, **values: self.ask("console", "GET", f"/api/orders/{{id}}/{what}",
                                              **values)
        for step, status in (("Each", 200), ("Nope", 404)):
            ask("suborders", id="tree-1", step=step, status=status)
        page = ask("suborders", id="tree-1", step="Each", limit=1)
        ask("suborders", id="tree-1", step="Each", **{"from": page["next"]}, state="final")
        ask("tree", id="tree-1", all=1)
        ask("tree", id="nope", status=404)
        ask("suborders", id="done-1", step="ReserveStock", status=404)
        self.ask("console", "GET", "/api/orders/{id}", id="tree-1~Each~1")
        self.ask("console", "GET", "/api/orders", attribute=["reeve.parent=tree-1"], all=1)
        self.world.submit_orphan()
        wait_for("it has an alert", lambda: self.world.order("gone~Each").get("alert_open"))
        ask("tree", id="gone~Each")
        self.command("settle", "gone~Each", keep=True)
        self.command("cancel", "lost-4", tree=True)

    def deal_with_dead_letters(self):
        self.ask("console", "GET", "/api/dead-letters", limit=1)
        one, other = [{"partition": each["partition"], "offset": each["offset"]}
                      for each in self.world.letters]
        place = "/api/dead-letters/{partition}/{offset}"
        self.ask("console", "GET", place, bytes=1, **one)
        self.ask("console", "POST", place + "/replay", {**WHY, "value": "bm8"}, status=400, **one)
        self.ask("console", "POST", place + "/replay", {**WHY, "json": {
            "order_id": "dead-1", "currency": "GBP", "workflow": "three-steps"}}, **one)
        self.ask("console", "POST", place + "/discard", WHY, **other)
        self.ask("console", "POST", place + "/discard", WHY, status=409, **other)
        self.ask("console", "GET", "/api/dead-letters", all=1)
        self.ask("console", "GET", place, **one)

    def log_in_and_out(self):
        token = {"token": self.world.dev.tokens["viewer"]}
        self.ask("console", "POST", "/api/session", token, role=None)
        self.ask("console", "POST", "/api/session", {"token": ""}, role=None, status=401)
        self.ask("console", "DELETE", "/api/session", role=None, status=204)

    def use_the_other_services(self):
        order = {"order_id": "sub-1", "currency": "GBP", "workflow": "three-steps",
                 "lines": [{"sku": "a", "quantity": 1, "unit_price": 1.5}]}
        ask = lambda *what, **more: self.ask("submission", *what, role="submitter", **more)
        ask("POST", "/orders", order, status=202)
        ask("GET", "/orders/{id}", id="sub-1", wait="20s")
        ask("POST", "/orders", {**order, "customer": "other"}, status=409)
        ask("POST", "/orders", {**order, "workflow": "nope"}, status=400)
        ask("GET", "/orders/{id}", id="nope", status=404)
        ask("POST", "/orders/{id}/cancel", {"reason": "a mistake"}, id="sub-1", status=202)
        signals = "/orders/{id}/signals/{step}"
        ask("POST", signals, {"payload": 1}, id="asked-2", step="Nope", status=404)
        ask("POST", signals, {"choice": "approve"}, id="asked-2", step="Approve", status=202)
        ask("POST", signals, {"payload": 1}, id="sub-1", step="First", status=409)
        ask("POST", signals, {"id": "x"}, id="sub-1", step="First", status=400)
        callback = "/v1/callbacks/{agent}/{order}/{step}/{direction}/{attempt}"
        where = {"agent": "carrier", "order": "done-1", "step": "ShipOrder", "direction": "do"}
        for body in ({"outcome": "done", "output": {"tracking": "T17"}},
                     {"outcome": "failed", "error": "LorryLost", "effect": "none"},
                     {"outcome": "extend", "seconds": 5}):
            self.ask("agent", "POST", callback, body, role="agent", status=202, attempt=1, **where)
        self.ask("agent", "POST", callback, {"outcome": "done"}, role="viewer", status=403,
                 attempt=1, **where)

    def read_the_stream(self):
        stream = self.world.dev.ask("console", "GET", "/api/events",
                                    self.world.dev.tokens["viewer"], stream=True)
        self.addCleanup(stream.close)
        self.assertEqual((stream.status, stream.headers["Content-Type"]),
                         (200, "text/event-stream"))
        self.world.submit("streamed", "three-steps")
        lines = iter(stream.response.readline, b"")
        data = next(line for line in lines if line.startswith(b"data:"))
        document = self.documents["console"]
        schema = document["components"]["schemas"]["Changes"]["properties"]["changes"]
        self.assertEqual(openapi.problems_of(document, schema, json.loads(data[5:])["changes"]), [])
        self.answered.add(("console", "GET", "/api/events"))

    def test_each_operation_answers_as_described(self):
        self.read_orders()
        self.read_the_rest()
        self.change_workflows()
        self.change_schedules()
        self.change_orders()
        self.look_into_trees()
        self.deal_with_dead_letters()
        self.log_in_and_out()
        self.use_the_other_services()
        self.read_the_stream()
        described = {(name, method, path) for name, document in self.documents.items()
                     for method, path, _ in openapi.operations(document)}
        self.assertEqual(sorted(described - self.answered), [], "not asked")

    # ---- everything else ----

    def test_each_operation_refuses_a_parameter_that_is_not_described(self):
        roles = {"console": "operator", "submission": "submitter", "agent": "agent"}
        for name, document in self.documents.items():
            for method, path, _ in openapi.operations(document):
                role = "viewer" if path in ("/metrics", "/about", "/stores") else roles[name]
                values = {key: "carrier" if key == "agent" else 1
                          for key in re.findall(r"\{(\w+)\}", path)}
                with self.subTest(f"{name} {method} {path}"):
                    problem = self.ask(name, method, path, role=role, status=400, zzzzzz=1,
                                       **values)
                    self.assertRegex(problem["detail"], "^unknown parameter zzzzzz: ")

    def check(self, name, role, **more):
        service = SERVICES[name]
        token = self.world.dev.tokens.get(role)
        url = f"http://127.0.0.1:{self.world.dev.port(service)}"
        with tempfile.TemporaryDirectory() as folder:
            done = run_schemathesis(pathlib.Path(folder), name, url, token, **more)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"[1-9]\d* generated")
        self.assertEqual(self.world.dev.ask(service, "GET", "/livez").status, 200)

    def test_random_requests_to_the_console(self):
        self.check("console", "operator")

    def test_random_requests_to_the_submission_service(self):
        self.check("submission", "submitter")

    def test_random_requests_to_an_agent(self):
        self.check("agent", "agent")

    def test_random_texts_beyond_ascii(self):
        for name, role in (("console", "operator"), ("submission", "submitter")):
            with self.subTest(name):
                self.check(name, role, codec="utf-8", phases="fuzzing", examples=6)

    def test_random_requests_with_other_roles(self):
        for name in SERVICES:
            for role in {*ROLES, None} - {{"console": "operator", "submission": "submitter",
                                           "agent": "agent"}[name]}:
                with self.subTest(f"{name} as {role}"):
                    self.check(name, role, phases="examples,fuzzing", examples=1)


if __name__ == "__main__":
    unittest.main()
