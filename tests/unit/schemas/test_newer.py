# SPDX-License-Identifier: Apache-2.0
"""This version reads the largest records of a newer one, whose limits are twice as high, and passes
them on whole: schemas-newer writes them, schemas-tool reads and writes them again."""

import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import fastavro
import fastavro.read

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLS = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build" / "dev")) / "tests" / "unit"

fastavro.read.LOGICAL_READERS.pop("long-timestamp-millis", None)


def read(raw, schema):
    source = io.BytesIO(raw[10:])
    value = fastavro.schemaless_reader(source, fastavro.parse_schema(schema))
    assert source.read() == b""
    return value


class NewerTest(unittest.TestCase):
    def test_passes_on_the_largest_records_of_a_newer_version(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([TOOLS / "schemas-newer", folder], check=True)
            names = sorted(path.stem for path in folder.glob("*.bin"))
            self.assertEqual(len(names), 4)
            subprocess.run([TOOLS / "schemas-tool", "recode", folder, *names], check=True)
            for name in names:
                with self.subTest(record=name):
                    newer = (folder / f"{name}.bin").read_bytes()
                    ours = (folder / f"{name}.out").read_bytes()
                    self.assertNotEqual(newer[2:10], ours[2:10], "its schema is another one")
                    written = read(newer, json.loads((folder / f"{name}.avsc").read_text()))
                    schema = (ROOT / "schemas" / f"{name}.avsc").read_text(encoding="utf-8")
                    self.assertIsNone(written.pop("raised_limits"))
                    self.assertEqual(read(ours, json.loads(schema)), written)


if __name__ == "__main__":
    unittest.main()
