#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program as a remote service: packs an order, or takes it out of its box again.

    reeve run agent --agent-name packer --agent-kind exec \\
        --agent-exec-command "/usr/bin/python3 examples/exec/pack.py /var/lib/packer"

The agent runs it once for each call: the request is on stdin, the answer goes to stdout, the exit
code is the outcome (docs/use/agents.md). A box is a file named after the key of its do. Asked
twice, it answers the same; an undo of what was never packed succeeds, and a box that was undone is
never packed again.
"""

import json
import os
import pathlib
import sys
import tempfile
import urllib.parse

REFUSED, LATER = 65, 75
LINES_MAX = 100


def answer(value, code=0):
    print(json.dumps(value))
    sys.exit(code)


def write(path, value):
    """All of it or nothing, whenever this program is killed."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(value, file)
    os.replace(file.name, path)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp/reeve-packer")
    request = json.load(sys.stdin)
    box = folder / urllib.parse.quote(request["do_key"], safe="")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        packed = json.loads(box.read_text()) if box.exists() else None
        if request["direction"] == "undo":
            write(box, {"undone": True})
            answer({"unpacked": packed is not None})
        if packed is None:
            lines = request["order"]["lines"]
            if len(lines) > LINES_MAX:
                answer({"error": "Box.TooSmall", "message": f"{len(lines)} lines"}, REFUSED)
            packed = {"box": box.name, "pieces": sum(line["quantity"] for line in lines)}
            print(f"packing {packed['pieces']} pieces", file=sys.stderr)
            write(box, packed)
        if "undone" in packed:
            answer({"error": "Box.Undone", "message": "this box was taken apart"}, REFUSED)
        answer(packed)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(LATER)


if __name__ == "__main__":
    main()
