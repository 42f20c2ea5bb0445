#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/records.md shows the records of schemas/*.avsc: its tables are made from them.

    python3 tests/unit/schemas/test_records_doc.py --write      after a change to a schema

What stands between `<!-- NAME -->` and `<!-- end -->` is made here; the rest is written by hand.
"""

import json
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
PAGE = ROOT / "docs" / "reference" / "records.md"
BLOCK = re.compile(r"<!-- ([A-Z]\w+) -->\n.*?<!-- end -->", re.DOTALL)


def schemas():
    """The records of all files, and those of the events, by name."""
    found = {}
    for path in sorted((ROOT / "schemas").glob("*.avsc")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        found[schema["name"]] = schema
    for field in found["Decision"]["fields"]:
        if field["name"] == "events":
            found["Events"] = field["type"]["items"]
    return found


def type_text(kind):
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return " or ".join(type_text(branch) for branch in kind)
    if kind["type"] == "array":
        items = kind["items"]
        return "array of events" if isinstance(items, list) else "array of " + type_text(items)
    if kind["type"] == "map":
        return "map of " + type_text(kind["values"])
    if kind["type"] == "enum":
        return " ".join(f"`{symbol}`" for symbol in kind["symbols"])
    if kind["type"] == "fixed":
        return f"fixed({kind['size']})"
    if kind["type"] == "record":
        return kind["name"]
    if kind.get("logicalType") == "decimal":
        return f"bytes, decimal({kind['precision']}, {kind['scale']})"
    if kind.get("logicalType") == "timestamp-millis":
        return "long, ms since 1970"
    return kind["type"]


def default_text(field):
    if "default" not in field:
        return "**required**"
    default = field["default"]
    if isinstance(default, str):
        return f"`{default}`" if default else "empty"
    if default in ([], {}):
        return "empty"
    return "`" + json.dumps(default) + "`"


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def rows(record, prefix=""):
    """A row a field; those of a record inside are shown as outer.inner."""
    for field in record["fields"]:
        kind = field["type"]
        yield (f"| `{prefix}{field['name']}` | {cell(type_text(kind))} | {default_text(field)} "
               f"| {cell(field.get('doc', ''))} |")
        for inner in kind if isinstance(kind, list) else [kind]:
            while isinstance(inner, dict) and inner["type"] == "array":
                inner = inner["items"]
            if isinstance(inner, dict) and inner["type"] == "record":
                yield from rows(inner, f"{prefix}{field['name']}.")


def table(name, found):
    if name == "Events":
        lines = ["| event | fields | what it says |", "|---|---|---|"]
        for event in found["Events"]:
            fields = ", ".join(f"`{field['name']}`" for field in event["fields"])
            lines.append(f"| {event['name']} | {fields} | {cell(event['doc'])} |")
    else:
        lines = [cell(found[name]["doc"]), "", "| field | type | default | meaning |",
                 "|---|---|---|---|", *rows(found[name])]
    return f"<!-- {name} -->\n" + "\n".join(lines) + "\n<!-- end -->"


def made(page):
    found = schemas()
    return BLOCK.sub(lambda block: table(block.group(1), found), page)


class RecordsDocTest(unittest.TestCase):
    def setUp(self):
        self.page = PAGE.read_text(encoding="utf-8")

    def test_tables_are_those_of_the_schemas(self):
        self.assertEqual(self.page, made(self.page), "run this file with --write")

    def test_every_record_is_there(self):
        shown = set(BLOCK.findall(self.page))
        self.assertEqual(shown, set(schemas()) - {"OrderRow"})  # only a Statement holds it


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
