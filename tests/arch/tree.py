# SPDX-License-Identifier: Apache-2.0
"""How the checks read the source tree: its layers, its files, C code without comments."""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The arrows of the tree: each layer with the layers that its CMake target links to. A layer may
# include itself and whatever its arrows lead to.
ARROWS = {
    "base": (),
    "engine": ("base",),
    "platform": ("base",),
    "schemas": ("engine",),
    "workflow": ("engine",),
    "rehearsal": ("workflow", "schemas"),
    "statestore": ("engine",),
    "schedule": ("workflow", "schemas", "platform"),
    "kafka": ("platform",),
    "replica": ("kafka", "statestore", "schedule"),
    "leader": ("replica",),
    "services": ("leader",),
    "cli": ("services", "rehearsal"),
    "tools": ("cli",),
}
LAYERS = tuple(ARROWS)
# What other layers may include of a layer, where that is not all of it.
OFFERED = {"services": {"services/services.h"}}
FOLDERS = LAYERS + ("include", "tests", "examples", "packaging", "scripts", ".ci")

checks = []


def check(function):
    checks.append(function)
    return function


def files(*suffixes, folders=FOLDERS):
    """(path relative to the root, text) of the files in the folders with one of the suffixes."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)), path.read_text(errors="replace")


def tracked_files():
    """The paths of all files that are in git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout
    return [path for path in listed.split("\0") if path]


def c_files(folders=LAYERS + ("include", "tests", "examples")):
    return files(".c", ".h", folders=folders)


def blank_out(match):
    """Spaces of the same shape, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


@functools.cache
def code_of(text):
    """C source without what comments, strings and characters say."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, blank_out, text, flags=re.S)


def line_at(text, position):
    return text.count("\n", 0, position) + 1


def includes(text, pattern):
    """(line, name) of the include directives that match the pattern's one group."""
    without_comments = re.sub(r"/\*.*?\*/", blank_out, text, flags=re.S)
    for match in re.finditer(r"^\s*#\s*include\s*" + pattern, without_comments, re.M):
        yield line_at(text, match.start(1)), match.group(1)


def blank_comments(text):
    """C source without comments."""
    pattern = r'/\*.*?\*/|("(?:\\.|[^"\\\n])*")'
    return re.sub(pattern, lambda match: match.group(1) or blank_out(match), text, flags=re.S)


def calls(text, names):
    """(line, name) of the calls of one of the names, members and longer names apart."""
    code = code_of(text)
    for match in re.finditer(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(", code):
        yield line_at(code, match.start()), match.group(1)
