#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The descriptions in docs/reference/openapi/ are valid, and say what the sources say: paths,
parameters, codes of errors, names and limits."""

import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
sys.path[:0] = [str(ROOT / "tests/kafka"), os.path.dirname(__file__)]

import schemathesis  # noqa: E402

from error_rows import used  # noqa: E402
from lib import openapi  # noqa: E402
from lib.routes import read_routes  # noqa: E402

# What every service has: those of scheduler and supervisor are described with the console's.
DESCRIBED = {"submission": "submission", "agent": "agent", "console": "console",
             "scheduler": "console", "supervisor": "console"}

# For browsers, and not described.
PAGES = ("/orders", "/recovery", "/partitions", "/workflows", "/schedules", "/agents", "/health",
         "/assets")

PROBLEM = "application/problem+json"
SERVER = tuple(f"platform/http/{name}.c" for name in (
    "access_check", "connections", "exchange", "framing", "guard", "pending", "server"))
APPENDING = "kafka/client_producer.c"
# Files whose codes are answers, and codes that they have for other purposes: events and alerts of
# orders, reasons in them, what starting a server can meet, refusals of records.
START = {"Config", "Listen"}
CODES = {
    "console": (
        (*SERVER, "platform/http/session.c", "platform/http/stream.c", "platform/http/waits.c",
         "services/console/**/*.c", "replica/service/view_report.c", "workflow/lifecycle.c",
         APPENDING, "kafka/client_conf.c", "engine/**/*.c"),
        START | {"BadField", "UnknownField", "Cancelled", "Completed", "Operator", "Recalled",
                 "Resubmitted",
                 "Skipped", "InvalidCommand", "CommandQuarantined", "OrderStuck",
                 "StandbyStalled", "StoreCorrupt", "StoreDamaged", "Superseded", "UnknownAttempt",
                 "Incomplete", "OffsetOutOfRange", "Rejected", "Undecodable"}),
    "submission": (
        (*SERVER, "platform/http/waits.c", "services/submission/http_api.c",
         "services/submission/order_api.c", "services/submission/signals.c",
         "services/submission/validate.c", "schemas/details.c",
         "schemas/json/decode.c", "engine/shape.c", APPENDING),
        START | {"Empty", "NotAccepted", "WrongKey", "Closed", "ProducerFatal", "OffsetUnknown",
                 "NotAvro", "UnknownSchema"}),
    "agent": (
        (*SERVER, "services/agent/core/callbacks.c", "services/agent/core/callback_message.c",
         APPENDING), START),
}
# Codes from elsewhere: schemas/ check ids of orders, the engine checks commands, and the submission
# service passes on what the console answers.
FROM_ELSEWHERE = {"console": {"InvalidOrder", "TooManySchedules"},
                  "submission": {"Starting", "NotReady", "InvalidCommand"},
                  "agent": {"InvalidOrder"}}

# Names in the description, and the table of names or the limit in the sources.
TABLES = {"OrderState": "order_states", "StepState": "step_states", "Direction": "directions",
          "Effect": "effects", "Priority": "priorities"}
# Likewise, and the names that have no row. A row begins with a number, a constant and a name.
ROWS = {"EventKind": ("engine/events.def", []),
        "CommandKind": ("engine/commands.def", ["Undecodable"])}
LIMITS = (("submission", "OrderId", "maxLength", "ORDER_ID_BYTES_MAX"),
          ("submission", "NewOrder/properties/customer", "maxLength", "CUSTOMER_BYTES_MAX"),
          ("submission", "NewOrder/properties/lines", "maxItems", "ORDER_LINES_MAX"),
          ("submission", "NewOrder/properties/attributes", "maxProperties", "ORDER_ATTRIBUTES_MAX"),
          ("submission", "NewOrder/properties/traceparent", "maxLength", "TRACEPARENT_BYTES_MAX"),
          ("submission", "NewOrder/properties/reply_to", "maxLength", "TOPIC_BYTES_MAX"),
          ("submission", "NewOrder/properties/lines/items/properties/sku", "maxLength",
           "SKU_BYTES_MAX"),
          ("submission", "NewOrder/properties/lines/items/properties/description", "maxLength",
           "DESCRIPTION_BYTES_MAX"),
          ("submission", "NewOrder/properties/attributes/additionalProperties", "maxLength",
           "ATTRIBUTE_VALUE_BYTES_MAX"),
          ("submission", "NewOrder/properties/attributes/propertyNames", "maxLength",
           "ATTRIBUTE_NAME_BYTES_MAX"),
          ("console", "WhoAndWhy/properties/by", "maxLength", "WHO_BYTES_MAX"),
          ("console", "WhoAndWhy/properties/reason", "maxLength", "MESSAGE_BYTES_MAX"),
          ("console", "Step/properties/retries_used", "maxItems", "RETRIERS_MAX"),
          ("console", "WorkflowBase/properties/steps", "maxItems", "WORKFLOW_STEPS_MAX"),
          ("console", "WorkflowStep/properties/agents", "maxItems", "STEP_AGENTS_MAX"),
          ("console", "OrderPage/properties/orders", "maxItems", "SEARCH_PAGE_MAX"),
          ("console", "Changes/properties/changes", "maxItems", "CHANGES_PAGE_MAX"))
LIMIT_FILES = ("base/limits.h", "engine/limits.h", "services/console/model/search.h",
               "services/console/live/changes.h")


def text_of(pattern):
    """Of all files that match, with single blanks between the words."""
    return "\n".join(re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
                     for path in sorted(ROOT.glob(pattern)))


def codes_in(node):
    """The codes of all errors that a part of a description has."""
    if isinstance(node, dict):
        named = node.get("properties", {}).get("code", {})
        for choice in named.get("anyOf", ()):
            yield from choice.get("enum", ())
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, (dict, list)):
            yield from codes_in(child)


def component(document, place):
    node = document["components"]["schemas"]
    for part in place.split("/"):
        node = node[part]
    return node


def fields_of(document, operation):
    """Of the body, which is an object."""
    schema = openapi.resolve(document, operation["requestBody"]["content"]["application/json"]
                             ["schema"])
    parts = [openapi.resolve(document, part) for part in schema.get("allOf", [schema])]
    return {name for part in parts for name in part.get("properties", ())}


def schemes_of(document, operation):
    """The schemes by which a client may say who it is."""
    return [document["components"]["securitySchemes"][name]
            for either in operation.get("security", document["security"]) for name in either]


class DescriptionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = {name: openapi.read(name) for name in openapi.NAMES}
        cls.strict = {name: openapi.strict(document) for name, document in cls.documents.items()}

        cls.rows = {name: {} for name in openapi.NAMES}
        for service, row in read_routes():
            if not row["path"].startswith(PAGES) and row["path"] != "/" or service != "console":
                cls.rows[DESCRIBED[service]][row["method"], row["path"]] = row

    def test_the_files_are_valid(self):
        for name, document in self.documents.items():
            with self.subTest(name):
                self.assertEqual(document["openapi"], "3.1.0")
                schemathesis.openapi.from_dict(document).validate()

    def test_components_that_files_share_are_equal(self):
        for kind in ("schemas", "securitySchemes"):
            first = {}
            for name, document in self.documents.items():
                for key, value in document["components"][kind].items():
                    # Errors name the codes of each service.
                    with self.subTest(f"{name} {key}"):
                        if kind == "schemas" and not re.search(r".Problem$", key):
                            self.assertEqual(value, first.setdefault(key, value))

    def test_paths_are_those_of_the_servers(self):
        self.assertGreater(len(self.rows["console"]), 40)
        for name, document in self.documents.items():
            described = {(method, path) for method, path, _ in openapi.operations(document)}
            self.assertEqual(described, set(self.rows[name]), f"of {name}.yaml")

    def test_parameters_and_bodies_are_those_of_the_servers(self):
        for name, document in self.documents.items():
            for method, path, operation in openapi.operations(document):
                row = self.rows[name][method, path]
                of = {place: {each["name"] for each in
                              openapi.parameters(document, path, operation) if each["in"] == place}
                      for place in ("query", "path")}
                of["query"] |= {each["name"] for each in schemes_of(document, operation)
                                if each.get("in") == "query"}
                with self.subTest(f"{name} {method} {path}"):
                    self.assertEqual(of["path"], set(re.findall(r"\{(\w+)\}", path)))
                    self.assertIsNotNone(row["query"], "its parameters are not checked")
                    self.assertEqual(of["query"], set(row["query"]))
                    if row["body"] is not None:
                        self.assertEqual(fields_of(document, operation), set(row["body"]))

    def test_tokens_are_those_of_the_servers(self):
        for name, document in self.documents.items():
            for method, path, operation in openapi.operations(document):
                row = self.rows[name][method, path]
                schemes = operation.get("security", document["security"])
                with self.subTest(f"{name} {method} {path}"):
                    self.assertEqual(schemes == [] or {} in schemes, row["without_token"])
                    self.assertEqual({"urlToken": []} in schemes, row["or_else"] is not None)
                    if not row["without_token"]:
                        self.assertIn("403", operation["responses"])

    def test_codes_are_those_of_the_sources(self):
        for name, document in self.documents.items():
            files, others = CODES[name]
            named = used(files)
            described = set(codes_in(document))
            with self.subTest(name):
                self.assertEqual(sorted(others - named), [], "not in the sources")
                self.assertEqual(sorted(named - others - described), [], "in the sources only")
                self.assertEqual(sorted(described - (named - others) - FROM_ELSEWHERE[name]), [],
                                 "in the description only")

    def test_every_error_is_a_problem(self):
        for name, document in self.documents.items():
            for method, path, operation in openapi.operations(document):
                for status, answer in operation["responses"].items():
                    answer = openapi.resolve(document, answer)
                    with self.subTest(f"{name} {method} {path} {status}"):
                        self.assertEqual(PROBLEM in answer.get("content", {}), status >= "400")

    def test_names_are_those_of_the_engine(self):
        text = text_of("engine/names.c")
        for document in self.documents.values():
            for name, table in TABLES.items():
                schema = document["components"]["schemas"].get(name)
                if schema is None:
                    continue
                block = re.search(rf"\b{table}\[\] = \{{(.*?)\}};", text)[1]
                described = schema.get("enum") or schema["anyOf"][0]["enum"]
                self.assertEqual(sorted(described), sorted(re.findall(r'"(\w+)"', block)), name)

    def test_kinds_are_those_of_the_engine(self):
        for name, (file, others) in ROWS.items():
            rows = re.findall(r"\(\d+, [A-Z_]+, (\w+),", text_of(file))
            for document in self.documents.values():
                schema = document["components"]["schemas"].get(name)
                if schema is not None:
                    self.assertEqual(schema["anyOf"][0]["enum"], others + rows, name)

    def test_limits_are_those_of_the_sources(self):
        text = "\n".join(text_of(file) for file in LIMIT_FILES)
        for name, place, keyword, limit in LIMITS:
            with self.subTest(f"{name} {place}"):
                value = re.search(rf"\b{limit} = (?:RAISABLE\()?([0-9]+)", text)[1]
                self.assertEqual(component(self.documents[name], place)[keyword], int(value))

    def test_examples_are_as_described(self):
        count = 0
        for name, document in self.strict.items():
            bodies = [operation["requestBody"] for _, _, operation in openapi.operations(document)
                      if "requestBody" in operation]
            answers = [answer for _, _, operation in openapi.operations(document)
                       for answer in operation["responses"].values()]
            for part in (*bodies, *answers, *document["components"]["responses"].values()):
                for kind, content in part.get("content", {}).items():
                    if "example" not in content or not kind.endswith("json"):
                        continue
                    count += 1
                    with self.subTest(f"{name}: {content['example']}"):
                        self.assertEqual(openapi.problems_of(document, content["schema"],
                                                             content["example"]), [])
        self.assertGreater(count, 60)


if __name__ == "__main__":
    unittest.main()
