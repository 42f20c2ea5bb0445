#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the libraries of a program into a folder, but for those of the C library, which belong to
the system, and the licences of the copies into another.

    bundle.py PROGRAM ARCHITECTURE LIBRARIES LICENCES
"""

import pathlib
import shutil
import sys

from linked import libraries


def main(program, architecture, into, licences):
    into, licences = pathlib.Path(into), pathlib.Path(licences)
    into.mkdir(parents=True)
    licences.mkdir(parents=True)
    for library in libraries(program, architecture):
        if library.source == "glibc":
            continue
        shutil.copyfile(library.path, into / library.name)
        shutil.copyfile(f"/usr/share/doc/{library.package}/copyright",
                        licences / library.package)


if __name__ == "__main__":
    main(*sys.argv[1:])
