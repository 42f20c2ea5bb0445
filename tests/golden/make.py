#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/*.bin with fastavro: the values of values.py under schemas/*.avsc.

    ~/.cache/reeve/venv/bin/python tests/golden/make.py [FOLDER]

Run it when a schema changes, and look at what it changed: the old bytes are what older versions
have written, see schemas/COMPATIBILITY.md.
"""

import io
import json
import pathlib
import sys

import fastavro

import values

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "schemas"


def qualified(name, value):
    """Events are (record name, fields): fastavro wants the full name."""
    if name.partition("-")[0] != "Decision":
        return value
    return {**value, "events": [(f"reeve.{kind}", fields) for kind, fields in value["events"]]}


def framed(name, value):
    """Single-object encoding of a value of the record that `name` starts with."""
    text = json.loads((SCHEMAS / f"{name.partition('-')[0]}.avsc").read_text(encoding="utf-8"))
    schema = fastavro.parse_schema(text)
    canonical = fastavro.schema.to_parsing_canonical_form(text)
    fingerprint = bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
    out = io.BytesIO()
    out.write(b"\xc3\x01" + fingerprint)
    fastavro.schemaless_writer(out, schema, qualified(name, value))
    return out.getvalue()


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, value in values.RECORDS.items():
        (folder / f"{name}.bin").write_bytes(framed(name, value))


if __name__ == "__main__":
    main()
