#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files that the console serves as a C file: services/console/web/assets.h.

    embed_assets.py OUTPUT.c NAME FILE...       makes the array NAMEs and its NAME_count

Each file is compiled in twice, as it is and compressed, with the hash of its content as its ETag.
Equal files give equal bytes: no time and no path of this machine gets into them.
"""
import gzip
import hashlib
import os
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".yaml": "application/yaml",
}


def array(name, data):
    lines = [",".join(str(byte) for byte in data[at:at + 32]) for at in range(0, len(data), 32)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def main():
    output, noun, paths = sys.argv[1], sys.argv[2], sorted(sys.argv[3:], key=os.path.basename)
    arrays, rows = [], []
    for number, path in enumerate(paths):
        name = os.path.basename(path)
        suffix = os.path.splitext(name)[1]
        if suffix not in TYPES:
            sys.exit(f"{path}: files of type {suffix} are not known; add it to {sys.argv[0]}")
        with open(path, "rb") as file:
            plain = file.read()
        if not plain:
            sys.exit(f"{path} is empty")
        small = gzip.compress(plain, 9, mtime=0)
        tag = hashlib.sha256(plain).hexdigest()[:16]
        arrays.append(array(f"plain_{number}", plain) + array(f"gzip_{number}", small))
        rows.append(f'    {{"{name}", "{TYPES[suffix]}", "{tag}", plain_{number}, '
                    f"sizeof(plain_{number}), gzip_{number}, sizeof(gzip_{number})}},\n")
    with open(output, "w", encoding="utf-8") as file:
        file.write('/* Made by services/console/web/embed_assets.py. */\n'
                   '#include "services/console/web/assets.h"\n\n'
                   + "\n".join(arrays) + f"\nconst struct asset {noun}s[] = {{\n" + "".join(rows)
                   + f"}};\nconst uint32_t {noun}_count = {len(rows)};\n")


if __name__ == "__main__":
    main()
