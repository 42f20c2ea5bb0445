# SPDX-License-Identifier: Apache-2.0
"""Avro single-object encoding over Debian's python3-avro: what a client needs of Avro to talk to
reeve, in one page.

A record on the wire is C3 01, the 8 bytes of its schema's fingerprint (little-endian), and the Avro
binary. The fingerprint is CRC-64-AVRO of the schema's Parsing Canonical Form. Both are worked out
here: python3-avro 1.11 keeps `{"type": "long", "logicalType": ...}` as an object in its canonical
form, where the specification says `"long"`.
"""

import io
import json
import struct

import avro.io
import avro.schema

MARKER = b"\xc3\x01"
PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
KEPT = ("name", "type", "fields", "symbols", "items", "values", "size")  # in this order


def canonical_form(schema, namespace=""):
    """The Parsing Canonical Form of a schema given as parsed JSON."""
    if isinstance(schema, str):
        return json.dumps(schema if schema in PRIMITIVES else full_name(schema, namespace))
    if isinstance(schema, list):
        return "[" + ",".join(canonical_form(branch, namespace) for branch in schema) + "]"
    kind = schema["type"]
    if not isinstance(kind, str) or kind in PRIMITIVES:
        return canonical_form(kind, namespace)  # attributes such as logicalType are left out
    parts = {"type": json.dumps(kind)}
    if "name" in schema:
        name = full_name(schema["name"], schema.get("namespace", namespace))
        namespace = name.rpartition(".")[0]
        parts["name"] = json.dumps(name)
    if kind == "record":
        parts["fields"] = "[" + ",".join(
            '{"name":%s,"type":%s}' % (json.dumps(field["name"]),
                                       canonical_form(field["type"], namespace))
            for field in schema["fields"]) + "]"
    elif kind == "enum":
        parts["symbols"] = json.dumps(schema["symbols"], separators=(",", ":"))
    elif kind == "fixed":
        parts["size"] = str(int(schema["size"]))
    elif kind in ("array", "map"):
        inner = "items" if kind == "array" else "values"
        parts[inner] = canonical_form(schema[inner], namespace)
    else:  # a name in place of a type
        return json.dumps(full_name(kind, namespace))
    return "{" + ",".join(f'"{name}":{parts[name]}' for name in KEPT if name in parts) + "}"


def full_name(name, namespace):
    return name if "." in name or not namespace else f"{namespace}.{name}"


def crc_64_avro(data):
    """The specification's loop over bytes, without the table that would make it fast."""
    empty = fingerprint = 0xC15D213AA4D7A795
    for byte in data:
        fingerprint ^= byte
        for _ in range(8):
            fingerprint = (fingerprint >> 1) ^ (empty if fingerprint & 1 else 0)
    return fingerprint


class Schema:
    """One .avsc file, ready to write and read records with."""

    def __init__(self, text):
        self._schema = avro.schema.parse(text)
        self.name = self._schema.fullname
        self.fingerprint = struct.pack(
            "<Q", crc_64_avro(canonical_form(json.loads(text)).encode("utf-8")))

    @classmethod
    def from_file(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def encode(self, record):
        out = io.BytesIO()
        out.write(MARKER + self.fingerprint)
        avro.io.DatumWriter(self._schema).write(record, avro.io.BinaryEncoder(out))
        return out.getvalue()

    def decode(self, message):
        """The record of a message that begins with this schema's fingerprint."""
        if message[:2] != MARKER or message[2:10] != self.fingerprint:
            raise ValueError(f"not a {self.name} of this schema: {message[:10].hex()}")
        body = io.BytesIO(message[10:])
        return avro.io.DatumReader(self._schema).read(avro.io.BinaryDecoder(body))
