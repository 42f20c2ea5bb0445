# SPDX-License-Identifier: Apache-2.0
"""A struct whose parts belong to files: the other files call functions.

The variable of such a struct has the same name everywhere, so its members are found by it.
"""

import re

from tree import ROOT, c_files, check, code_of, line_at

OWNER = "services/scheduler/owner"
# Variable: its parts, each with the files that use its fields.
PARTS = {
    "owner": {
        "claim": ("claim", "inspect"),
        "queue": ("queue",),
        "batch": ("cycle", "command"),
        "in_flight": ("append",),
        "guard": ("guard",),
        "clock": ("clock",),
        "commit": ("store",),
        "trim": ("trim", "archive", "restate"),
        "expiry": ("expire",),
        "watch": ("watch",),
        "starts": ("route",),
    },
}


@check
def parts_are_members_and_their_files_exist():
    """Else a row that was left behind would allow everything."""
    for variable, parts in PARTS.items():
        header = f"{OWNER}/internal.h"
        text = (ROOT / header).read_text()
        struct = re.search(rf"^struct {variable} {{\n(.*?)^}};", text, re.M | re.S)
        members = set(re.findall(rf"\bstruct {variable}_\w+ (\w+);", struct.group(1)))
        for part, names in parts.items():
            if part not in members:
                yield header, 0, f"struct {variable} has no part {part}"
            for name in names:
                if not (ROOT / OWNER / f"{name}.c").exists():
                    yield "tests/arch/parts.py", 0, f"{part}: {OWNER}/{name}.c does not exist"
        for part in members - set(parts) - {"options"}:
            yield "tests/arch/parts.py", 0, f"{variable}->{part} is of no file"


@check
def parts_are_private_to_their_files():
    for variable, parts in PARTS.items():
        use = re.compile(rf"\b{variable}->({'|'.join(parts)})\b")
        for path, text in c_files(("services",)):
            if not path.startswith(OWNER) or path.endswith(".h"):
                continue
            for match in use.finditer(code_of(text)):
                part = match.group(1)
                homes = [f"{OWNER}/{name}.c" for name in parts[part]]
                if path not in homes:
                    yield (path, line_at(text, match.start()),
                           f"{variable}->{part} belongs to {' and '.join(homes)}")
