# SPDX-License-Identifier: Apache-2.0
"""Our codec and two other Avro implementations read each other: all records as they are, and all
records as older and newer writers would write them.

fastavro and Debian's python3-avro know the .avsc files only; schemas-tool is our codec."""

import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import avro.io
import avro.schema
import fastavro
import fastavro.read

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import make
import values

TOOL = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build" / "dev"))
TOOL = TOOL / "tests" / "unit" / "schemas-tool"

# Times stay int milliseconds.
fastavro.read.LOGICAL_READERS.pop("long-timestamp-millis", None)


def schema_of(name):
    path = ROOT / "schemas" / f"{name.partition('-')[0]}.avsc"
    return json.loads(path.read_text(encoding="utf-8"))


def framed(schema, value):
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    out = io.BytesIO()
    out.write(b"\xc3\x01" + bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")))
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read(raw, writer, reader=None):
    source = io.BytesIO(raw[10:])
    value = fastavro.schemaless_reader(
        source, fastavro.parse_schema(writer), fastavro.parse_schema(reader) if reader else None,
        return_record_name=True)
    assert source.read() == b""
    return value


def children(schema):
    if isinstance(schema, list):
        return schema
    if isinstance(schema, dict):
        inner = [schema[key] for key in ("items", "values") if key in schema]
        return inner + [field["type"] for field in schema.get("fields", ())]
    return []


# ---- one schema made into another -------------------------------------------------------------


def rewrite(schema, change):
    """The schema with change(fields) in place of the fields of every record in it."""
    if isinstance(schema, list):
        return [rewrite(branch, change) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    schema = dict(schema)
    for key in ("items", "values"):
        if key in schema:
            schema[key] = rewrite(schema[key], change)
    if "fields" in schema:
        schema["fields"] = change([{**field, "type": rewrite(field["type"], change)}
                                   for field in schema["fields"]], schema["name"])
    return schema


def named_types(schema):
    """The definitions of the schema's named types, by name."""
    definitions = {}
    if isinstance(schema, dict) and "name" in schema:
        definitions[schema["name"]] = schema
    for child in children(schema):
        definitions.update(named_types(child))
    return definitions


def respelled(schema, original):
    """The schema with every named type written out where it is used first, and only there: fields
    may have moved or gone, and with them the definition of what others use."""
    definitions = {**named_types(original), **named_types(schema)}

    def spell(node, seen):
        if isinstance(node, list):
            return [spell(item, seen) for item in node]
        if isinstance(node, str):
            if node not in definitions or node in seen:
                return node
            node = definitions[node]
        if node.get("name", "") in seen:
            return node["name"]
        node = dict(node)
        if "name" in node:
            seen.add(node["name"])
        for key in ("items", "values"):
            if key in node:
                node[key] = spell(node[key], seen)
        if "fields" in node:
            node["fields"] = [{**f, "type": spell(f["type"], seen)} for f in node["fields"]]
        return node

    return spell(schema, set())


def short_text(schema):
    """The schema's text without what is for people, as a process reads schemas of up to 64 KiB."""
    def strip(node):
        if isinstance(node, list):
            return [strip(item) for item in node]
        if not isinstance(node, dict):
            return node
        return {key: value if key == "default" else strip(value)
                for key, value in node.items() if key != "doc"}

    return json.dumps(strip(schema), separators=(",", ":"))


def types_alone(schema):
    """Each named type in the schema, with all that it uses written out in it."""
    return [respelled(node, schema) for node in named_types(schema).values()]


def newer(schema):
    """Fields that we do not know, of many types, before and after those that we do."""
    def change(fields, name):
        def named(kind, **rest):
            return {"type": kind, "name": f"{name}New{kind.capitalize()}", **rest}

        added = [
            ("string", "new"), ("int", -5), ("long", 1 << 60), ("float", 0.5), ("double", -0.25),
            ("boolean", True), ("null", None), (["string", "null"], "first branch"),
            ({"type": "array", "items": {"type": "array", "items": "string"}}, [["a", ""], []]),
            ({"type": "array", "items": "null"}, [None] * 64),
            ({"type": "map", "values": {"type": "map", "values": "long"}}, {"x": {"y": 1}, "": {}}),
            (named("enum", symbols=["P", "Q"]), "Q"),
            (named("record", fields=[{"name": "a", "type": "string"},
                                     {"name": "b", "type": ["null", "int"]}]),
             {"a": "x", "b": None}),
        ]
        added = [{"name": f"new_{at}", "type": kind, "default": default}
                 for at, (kind, default) in enumerate(added)]
        return added[:6] + fields + added[6:]

    return rewrite(schema, change)


def reordered(schema):
    return respelled(rewrite(schema, lambda fields, _: fields[::-1]), schema)


def older(schema):
    """Without the fields that have a default."""
    return respelled(
        rewrite(schema, lambda fields, _: [f for f in fields if "default" not in f]), schema)


def wider(schema):
    """Every int a long."""
    def change(fields, _):
        for field in fields:
            if field["type"] == "int":
                field["type"] = "long"
            elif isinstance(field["type"], dict) and field["type"].get("items") == "int":
                field["type"] = {**field["type"], "items": "long"}
        return fields

    return rewrite(schema, change)


def nullable(schema):
    """Every field a union with null, the values of maps too."""
    def change(fields, _):
        for field in fields:
            if isinstance(field["type"], dict) and field["type"].get("values") == "string":
                field["type"] = {**field["type"], "values": ["null", "string"]}
            if not isinstance(field["type"], list):
                field["type"] = ["null", field["type"]]
            field.pop("default", None)
        return fields

    return rewrite(schema, change)


def turned(schema):
    """The branches of unions and the symbols of enums the other way round."""
    def turn(node):
        if isinstance(node, list):
            return [turn(branch) for branch in node[::-1]]
        if not isinstance(node, dict):
            return node
        node = {key: turn(value) if key in ("type", "items", "values") else value
                for key, value in node.items()}
        if "symbols" in node:
            node["symbols"] = node["symbols"][::-1]
        if "fields" in node:
            node["fields"] = [turn(field) for field in node["fields"]]
        return node

    return respelled(turn(schema), turn(schema))


CHANGES = {
    "newer": newer, "reordered": reordered, "older": older, "wider": wider, "nullable": nullable,
    "turned": turned,
}


class SchemasTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def recode(self, *names):
        result = subprocess.run([TOOL, "recode", self.folder, *names], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def write_ours(self):
        subprocess.run([TOOL, "write", self.folder], check=True)
        return {name: (self.folder / f"{name}.bin").read_bytes() for name in values.RECORDS}

    def test_golden_files_are_what_fastavro_writes_today(self):
        for name, value in values.RECORDS.items():
            golden = (ROOT / "tests" / "golden" / f"{name}.bin").read_bytes()
            self.assertEqual(make.framed(name, value), golden, f"{name}: run make.py")

    def test_fastavro_reads_ours(self):
        for name, raw in self.write_ours().items():
            schema = schema_of(name)
            self.assertEqual(framed(schema, read(raw, schema)), raw, name)

    def test_python3_avro_reads_ours(self):
        for name, raw in self.write_ours().items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it knows no uuid of fixed type
                schema = avro.schema.parse(json.dumps(schema_of(name)))
            source = io.BytesIO(raw[10:])
            value = avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(source))
            self.assertEqual(source.read(), b"", name)
            if name == "SubmitOrder":
                self.assertEqual(value["customer"], "17850")
                self.assertEqual(str(value["lines"][0]["unit_price"]), "2.5500")
            if name == "Decision":
                self.assertEqual(len(value["events"]), len(values.EVENTS))

    def test_files_stand_alone_and_agree_on_what_they_share(self):
        seen = {}
        for path in sorted((ROOT / "schemas").glob("*.avsc")):
            schema = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual((schema["name"], schema["namespace"]), (path.stem, "reeve"))
            fastavro.parse_schema(schema)
            for node in types_alone(schema):
                same = seen.setdefault(node["name"], node)
                self.assertEqual(same, node, f"{node['name']} in {path}")

    def test_every_field_is_documented(self):
        def look(node, path):
            if isinstance(node, dict) and "name" in node:
                self.assertGreater(len(node.get("doc", "")), 3, f"{path}: {node['name']}")
            for field in node.get("fields", ()) if isinstance(node, dict) else ():
                self.assertGreater(len(field.get("doc", "")), 3, f"{path}: {field['name']}")
            for child in children(node):
                look(child, path)

        for path in sorted((ROOT / "schemas").glob("*.avsc")):
            look(json.loads(path.read_text(encoding="utf-8")), path.name)

    def test_writers_of_other_generations_are_understood(self):
        expected = {}
        for name, value in values.RECORDS.items():
            own = schema_of(name)
            for how, change in CHANGES.items():
                writer = change(own)
                raw = framed(writer, make.qualified(name, value))
                key = f"{name}-{how}"
                (self.folder / f"{key}.avsc").write_text(short_text(writer))
                (self.folder / f"{key}.bin").write_bytes(raw)
                # Nothing is lost; what an older writer lacks has the default that the
                # specification's own resolution takes from our schema.
                expected[key] = framed(own, make.qualified(name, value))
                if how == "older":
                    expected[key] = framed(own, read(raw, writer, own))
        self.recode(*expected)
        for key, raw in expected.items():
            self.assertEqual((self.folder / f"{key}.out").read_bytes(), raw, key)

    def test_older_readers_understand_ours(self):
        """The other way round: a reader of the older schema, by the specification's resolution."""
        for name in values.RECORDS:
            raw = (ROOT / "tests" / "golden" / f"{name}.bin").read_bytes()
            reader = older(schema_of(name))
            value = read(raw, schema_of(name), reader)
            self.assertEqual(set(value), {field["name"] for field in reader["fields"]})


if __name__ == "__main__":
    unittest.main()
