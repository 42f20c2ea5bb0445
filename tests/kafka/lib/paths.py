# SPDX-License-Identifier: Apache-2.0
"""The source tree, the build under test, and a test's own folder."""

import os
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "schemas"
KAFKA = ROOT / "scripts" / "kafka"


def reeve_binary():
    """The executable under test: $REEVE, or the one in $REEVE_BUILD_DIR."""
    if "REEVE" in os.environ:
        return pathlib.Path(os.environ["REEVE"])
    build = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build" / "gcc"))
    return build / "bin" / "reeve"


def new_folder(name):
    """A new empty folder inside the test's own (kept by the runner if the test fails)."""
    base = os.environ.get("REEVE_TEST_DIR")
    if base:
        os.makedirs(base, exist_ok=True)
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
