# SPDX-License-Identifier: Apache-2.0
"""The descriptions in docs/reference/openapi/, and a strict form of them for tests.

Answers may grow within a major version, so the descriptions leave their objects and lists of codes
open. The strict form closes them: an answer with a field that is not described fails a test."""

import copy

import jsonschema_rs
import yaml

from .paths import ROOT

FOLDER = ROOT / "docs/reference/openapi"
NAMES = ("agent", "console", "submission")
METHODS = ("get", "post", "put", "patch", "delete", "options", "trace")
COMPONENT = "#/components/schemas/"


def read(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def operations(document):
    """(method, path, operation) of each."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def resolve(document, node):
    """What a $ref refers to, else the node itself."""
    while "$ref" in node:
        place = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            place = place[part]
        node = place
    return node


def parameters(document, path, operation):
    return [resolve(document, each) for each in
            (*document["paths"][path].get("parameters", ()), *operation.get("parameters", ()))]


def content_of(document, operation, status, content_type):
    """The schema of an answer; None: such an answer is not described."""
    response = operation["responses"].get(str(status))
    content = response and resolve(document, response).get("content", {}).get(content_type)
    return content and content["schema"]


# ---- the strict form --------------------------------------------------------------------------


def nodes(node):
    """The node and all that it holds."""
    yield node
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, (dict, list)):
            yield from nodes(child)


def _references(node):
    return {each["$ref"].removeprefix(COMPONENT) for each in nodes(node)
            if isinstance(each, dict) and str(each.get("$ref", "")).startswith(COMPONENT)}


def _is_open_enum(node):
    choices = node.get("anyOf", ())
    return len(choices) == 2 and "enum" in choices[0] and "string" in choices[1].get("type", ())


def _close(node, parts):
    """Closes objects and lists of codes below the node; `parts`: names of what allOf combines."""
    if isinstance(node, list):
        return [_close(each, parts) for each in node]
    if not isinstance(node, dict):
        return node
    if _is_open_enum(node):
        null = [{"type": "null"}] if "null" in node["anyOf"][1]["type"] else []
        return {"anyOf": [node["anyOf"][0], *null]}
    if node.get("$ref", "").removeprefix(COMPONENT) in parts:
        return {"allOf": [dict(node)], "unevaluatedProperties": False}
    if "allOf" in node:
        branches = [each if "$ref" in each else
                    {**each, "properties": _close(each["properties"], parts)}
                    for each in node["allOf"]]
        return {**node, "allOf": branches, "unevaluatedProperties": False}
    closed = {key: _close(value, parts) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "type" in node:
        closed.setdefault("additionalProperties", False)
    return closed


def _close_component(schema, name, parts):
    """A part stays open itself: each place that uses it closes it."""
    if name not in parts:
        return _close(schema, parts)
    if "allOf" in schema:
        closed = _close(schema, parts)
        del closed["unevaluatedProperties"]
        return closed
    return {**schema, "properties": _close(schema["properties"], parts)}


def strict(document):
    document = copy.deepcopy(document)
    schemas = document["components"]["schemas"]
    parts = set()
    for node in nodes(document):
        if isinstance(node, dict) and "allOf" in node:
            parts |= {each["$ref"].removeprefix(COMPONENT) for each in node["allOf"]
                      if "$ref" in each}
    of_requests = set()
    for _, _, operation in operations(document):
        of_requests |= _references(operation.get("requestBody", {}))
    for name, schema in schemas.items():
        if name not in of_requests:
            schemas[name] = _close_component(schema, name, parts)
    answers = [*document["components"]["responses"].values()]
    for _, _, operation in operations(document):
        answers += [each for each in operation["responses"].values() if "$ref" not in each]
    for answer in answers:
        for content in answer.get("content", {}).values():
            content["schema"] = _close(content["schema"], parts)
    return document


def problems_of(document, schema, value):
    """What the schema forbids about the value, as texts."""
    whole = {"allOf": [schema], "components": document["components"]}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}"
            for error in validator.iter_errors(value)]
