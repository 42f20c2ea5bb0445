# SPDX-License-Identifier: Apache-2.0
"""Which shared libraries a program loads, and the Debian packages that they are from. Works for a
program of another architecture whose libraries are installed here."""

import pathlib
import re
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    name: str  # as programs ask for it: "librdkafka.so.1"
    path: pathlib.Path
    package: str
    source: str  # the source package
    version: str  # of the package


def printed(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True,
                          text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", printed("readelf", "-dW", path))


def find(name, architecture):
    for folder in (f"/lib/{architecture}", f"/usr/lib/{architecture}"):
        path = pathlib.Path(folder) / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name}: not in the folders of {architecture}")


def package_of(path):
    """(package, source package, version). dpkg knows files where their package put them, which may
    be below /usr or not."""
    real = str(path.resolve())
    for known in (real, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", known], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0].split(",")[0]
            form = "${Package}\t${source:Package}\t${Version}"
            return printed("dpkg-query", "-W", f"-f={form}", package).split("\t")
    raise FileNotFoundError(f"{real}: of no package")


def libraries(program, architecture):
    """All of them, also those that libraries ask for, by name."""
    found = {}
    waiting = needed(program)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = find(name, architecture)
        package, source, version = package_of(path)
        found[name] = Library(name, path, package, source, version)
        waiting += needed(path)
    return [found[name] for name in sorted(found)]
