# SPDX-License-Identifier: Apache-2.0
"""The rows of base/errors.def, and which of their constants the sources use."""

import os
import pathlib
import re

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
STRINGS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
ROW = re.compile(rf'^ERROR_(?:SECTION\((?P<section>\w+)\)'
                 rf'|CODE\((?P<constant>\w+), (?P<of>\w+), "(?P<name>\w+)",\s*(?P<text>{STRINGS})\)'
                 rf'|ALSO\((?P<other>\w+),\s*(?P<means>{STRINGS})\))', re.M)


def read_rows():
    """The codes: {constant: (class, name)}; and the sections: {name: [(name of a code, text)]}."""
    rows = list(ROW.finditer((ROOT / "base/errors.def").read_text(encoding="utf-8")))
    codes = {row["constant"]: (row["of"], row["name"]) for row in rows if row["constant"]}
    sections, section = {}, None
    for row in rows:
        if row["section"]:
            section = sections.setdefault(row["section"], [])
            continue
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', row["text"] or row["means"]))
        section.append((codes[row["constant"] or row["other"]][1], text.replace('\\"', '"')))
    return codes, sections


CODES, SECTIONS = read_rows()


def names_of(*sections):
    return {name for section in sections for name, _ in SECTIONS[section]}


def of_class(wanted):
    """The names of the codes of this class."""
    return {name for of, name in CODES.values() if of == wanted}


def used(files, before=""):
    """The names of the codes whose constants stand in these files, behind what `before` matches."""
    paths = [path for file in files for path in ROOT.glob(file)]
    return {CODES[constant][1] for path in paths
            for constant in re.findall(before + r"\bCODE_(\w+)", path.read_text(encoding="utf-8"))
            if constant in CODES}


def table(section):
    """In Markdown. Codes that share a text share a line."""
    lines = []
    for name, text in SECTIONS[section]:
        if text:
            lines.append(([], text))
        lines[-1][0].append(f"`{name}`")
    return "".join(["| code | reason |\n|---|---|\n"]
                   + [f"| {', '.join(names)} | {text} |\n" for names, text in lines])
