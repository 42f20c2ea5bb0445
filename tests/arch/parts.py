# SPDX-License-Identifier: Apache-2.0
"""A struct whose parts belong to files: the other files call functions.

The variable of such a struct has the same name everywhere, so its members are found by it.
"""

import re

from tree import c_files, check, code_of, line_at

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
