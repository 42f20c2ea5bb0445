# SPDX-License-Identifier: Apache-2.0
"""For a workflow that only calls agents, the scheduler writes what it wrote before workflows could
decide: plain-orders plays some orders over the broker in memory, and each record of the log, each
request, status and alert, encoded with the schema of before, has the bytes of before.

tests/golden/old/plain-orders has these bytes and schemas. They are of commit ba635bf1, the last one
before the first field of the feature, and were made there, with the program of today and its target
of scheduler.cmake:

    git worktree add FOLDER ba635bf1
    cp tests/unit/scheduler/plain_orders.c FOLDER/tests/unit/scheduler/
    cd FOLDER && CC=gcc cmake --preset dev && ninja -C build/dev plain-orders
    build/dev/tests/unit/plain-orders > records.txt

What differs for another reason is in with_claim_of() and DIFFERENCES."""

import io
import json
import os
import pathlib
import subprocess
import unittest

import fastavro
import fastavro.read

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ["REEVE_BUILD_DIR"]) / "tests" / "unit" / "plain-orders"
OLD = ROOT / "tests" / "golden" / "old" / "plain-orders"
FRAME_BYTES = 10
CLAIM_ID_BYTES = 16  # the first field of a Claim

# (record, field): why its value has changed, whatever it is now.
DIFFERENCES = {("Claim", "format"): "it counts what any feature has added to the log"}

fastavro.read.LOGICAL_READERS.pop("long-timestamp-millis", None)  # times stay int milliseconds


def framed(text, value):
    """Single-object encoding."""
    out = io.BytesIO()
    out.write(frame_of(text))
    fastavro.schemaless_writer(out, fastavro.parse_schema(text), value, strict=True)
    return out.getvalue()


def frame_of(text):
    canonical = fastavro.schema.to_parsing_canonical_form(text)
    return b"\xc3\x01" + bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))


def schemas_in(folder):
    """By what their records begin with."""
    texts = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.avsc")]
    return {frame_of(text): text for text in texts}


def is_record(schema):
    return isinstance(schema, dict) and schema["type"] == "record"


class Projection:
    """Values of a schema of today as values of the schema of before. What that lacks must have its
    default."""

    def __init__(self, now, before):
        self.named = ({}, {})
        self.schemas = (now, before)
        for named, schema in zip(self.named, self.schemas):
            self.collect(schema, named)

    def collect(self, schema, named):
        if isinstance(schema, list):
            for branch in schema:
                self.collect(branch, named)
        elif isinstance(schema, dict):
            if schema["type"] in ("record", "enum", "fixed"):
                named[schema["name"].rpartition(".")[2]] = schema
            for field in schema.get("fields", []):
                self.collect(field["type"], named)
            for part in ("items", "values", "type"):
                if isinstance(schema.get(part), (dict, list)):
                    self.collect(schema[part], named)

    def resolve(self, which, schema):
        name = schema.rpartition(".")[2] if isinstance(schema, str) else None
        return self.named[which].get(name, schema)

    def project(self, value):
        return self.value(*self.schemas, value, self.schemas[0]["name"])

    def value(self, now, before, value, where):
        now, before = self.resolve(0, now), self.resolve(1, before)
        if isinstance(now, list):
            return self.branch(now, before, value, where)
        kind = now["type"] if isinstance(now, dict) else now
        if kind == "record":
            return self.record(now, before, value, where)
        if kind == "array":
            return [self.value(now["items"], before["items"], each, f"{where}[{i}]")
                    for i, each in enumerate(value)]
        if kind == "map":
            return {key: self.value(now["values"], before["values"], each, f"{where}.{key}")
                    for key, each in value.items()}
        return value

    def branch(self, now, before, value, where):
        """Of a union; the reader gives the name with the fields of a record."""
        if not isinstance(value, tuple):
            plain = [each for each in now if each != "null"]
            if value is None or len(now) != 2 or not isinstance(before, list):
                return value
            return self.value(plain[0], [each for each in before if each != "null"][0], value,
                              where)
        full_name, fields = value
        name = full_name.rpartition(".")[2]
        branches = [self.resolve(1, each) for each in before]
        known = [each for each in branches if is_record(each) and
                 each["name"].rpartition(".")[2] == name]
        if not known:
            raise AssertionError(f"{where} is {name}, which the schema of before lacks")
        return (full_name, self.record(self.named[0][name], known[0], fields, f"{where}:{name}"))

    def record(self, now, before, value, where):
        known = {field["name"]: field["type"] for field in before["fields"]}
        projected = {}
        for field in now["fields"]:
            name = field["name"]
            here = f"{where}.{name}"
            if name in known:
                projected[name] = self.value(field["type"], known[name], value[name], here)
            elif "default" not in field:
                raise AssertionError(f"{here} is new and has no default")
            elif value[name] != field["default"]:
                raise AssertionError(f"{here} is {value[name]!r}; its default is "
                                     f"{field['default']!r}")
        return projected


def read(frames, raw):
    """(schema, value)."""
    text = frames[raw[:FRAME_BYTES]]
    value = fastavro.schemaless_reader(io.BytesIO(raw[FRAME_BYTES:]), fastavro.parse_schema(text),
                                       None, return_record_name=True)
    return text, value


def parse(lines):
    """[(topic and key, value)]."""
    split = [line.rsplit(" ", 1) for line in lines.splitlines()]
    return [(where, bytes.fromhex(digits)) for where, digits in split]


def with_claim_of(before, records):
    """The id of a claim is random, and all that follows has it."""
    ids = [raw[FRAME_BYTES:FRAME_BYTES + CLAIM_ID_BYTES] for (_, raw), *_ in (records, before)]
    return [(where, raw.replace(*ids)) for where, raw in records]


def without_differences(schema, value, old_value):
    assert set(value) == set(old_value)
    return {name: old_value[name] if (schema["name"], name) in DIFFERENCES else each
            for name, each in value.items()}


class PlainOrdersTest(unittest.TestCase):
    maxDiff = None

    def test_orders_that_use_nothing_new_have_the_bytes_of_before(self):
        frames, old_frames = schemas_in(ROOT / "schemas"), schemas_in(OLD)
        before = parse((OLD / "records.txt").read_text(encoding="utf-8"))
        done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True, timeout=60)
        now = with_claim_of(before, parse(done.stdout))
        self.assertEqual([where for where, _ in now], [where for where, _ in before])
        met = set()
        for (where, raw), (_, earlier) in zip(now, before):
            schema, value = read(frames, raw)
            old_schema, old_value = read(old_frames, earlier)
            self.assertEqual(framed(old_schema, old_value), earlier, where)
            self.assertEqual(schema["name"], old_schema["name"], where)
            projected = Projection(schema, old_schema).project(value)
            projected = without_differences(schema, projected, old_value)
            self.assertEqual(projected, old_value, where)
            self.assertEqual(framed(old_schema, projected), earlier, where)
            met.add(schema["name"])
        self.assertEqual(met, {schema["name"] for schema in old_frames.values()})


if __name__ == "__main__":
    unittest.main()
