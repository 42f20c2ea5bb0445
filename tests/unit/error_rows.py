# SPDX-License-Identifier: Apache-2.0
"""The rows of base/errors.def, and which of their constants the sources use."""

import os
import pathlib
import re

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
ROWS = re.findall(r'^ERROR_CODE\((\w+), (\w+), "(\w+)"',
                  (ROOT / "base/errors.def").read_text(encoding="utf-8"), re.M)
NAMES = {constant: name for constant, _, name in ROWS}


def of_class(name):
    """The names of the codes of this class."""
    return {code for _, of, code in ROWS if of == name}


def used(files, before=""):
    """The names of the codes whose constants stand in these files, behind what `before` matches."""
    paths = [path for file in files for path in ROOT.glob(file)]
    return {NAMES[constant] for path in paths
            for constant in re.findall(before + r"\bCODE_(\w+)", path.read_text(encoding="utf-8"))
            if constant in NAMES}
