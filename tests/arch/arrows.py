# SPDX-License-Identifier: Apache-2.0
"""The arrows within a layer: which of its folders include which. tree.ARROWS has those between
layers."""

from tree import LAYERS, c_files, check, includes

# Each folder with the folders of its layer whose headers it includes. Services do not include each
# other.
WITHIN = {
    "engine": ("engine/expression",),
    "engine/kinds": ("engine",),
    "platform/config": ("platform",),
    "platform/http": ("platform",),
    "schemas/avro": ("schemas",),
    "schemas/json": ("schemas",),
    "workflow/kinds": ("workflow",),
    "kafka/topics": ("kafka",),
    "replica/agents": ("replica/cluster",),
    "replica/cluster": ("replica/service",),
    "replica/follow": ("replica/cluster", "replica/fold"),
    "replica/schedules": ("replica/cluster",),
    "replica/service": ("replica/fold",),
    "leader/sdk": ("leader",),
    "services/agent": ("services", "services/agent/core"),
    "services/agent/core": ("services/agent/answers", "services/agent/health"),
    "services/agent/kinds": ("services", "services/agent/core"),
    "services/agent/sdk": ("services/agent/core",),
    "services/console": ("services", "services/console/api", "services/console/dead_letters",
                         "services/console/live", "services/console/model",
                         "services/console/web"),
    "services/console/api": ("services/console/model", "services/console/render"),
    "services/console/dead_letters": ("services/console/model", "services/console/render"),
    "services/console/live": ("services/console/model", "services/console/render"),
    "services/scheduler": ("services", "services/scheduler/emitter", "services/scheduler/owner",
                           "services/scheduler/router"),
    "services/scheduler/owner": ("services/scheduler/emitter", "services/scheduler/router"),
    "services/submission": ("services",),
    "services/supervisor": ("services",),
    "cli/console": ("cli",),
    "cli/dead_letters": ("cli", "cli/console"),
    "cli/dev": ("cli", "cli/workflow"),
    "cli/export": ("cli", "cli/console"),
    "cli/import": ("cli", "cli/submit"),
    "cli/partition": ("cli",),
    "cli/schedule": ("cli", "cli/submit", "cli/workflow"),
    "cli/submit": ("cli", "cli/console"),
    "cli/test": ("cli", "cli/workflow"),
    "cli/verify": ("cli",),
    "cli/workflow": ("cli", "cli/console", "cli/submit"),
    "tools/bench": ("tools",),
}


def folder_of(path):
    return path.rpartition("/")[0]


def reaches(start, end, arrows):
    found = {start}
    while True:
        more = {to for origin, to in arrows if origin in found} - found
        if not more:
            return end in found
        found |= more


@check
def includes_within_a_layer_follow_the_arrows():
    rows = {(origin, to) for origin, all_to in WITHIN.items() for to in all_to}
    unused = set(rows)
    for path, text in c_files(LAYERS):
        own = folder_of(path)
        for line, name in includes(text, r'"([^"]+)"'):
            arrow = own, folder_of(name)
            unused.discard(arrow)
            inside = arrow[1].split("/")[0] == own.split("/")[0] and arrow[1] != own
            if inside and arrow not in rows:
                yield path, line, f"{own} must not include {arrow[1]}: {name}"
    for origin, to in sorted(unused):
        yield "tests/arch/arrows.py", 0, f"{origin} includes nothing of {to}: remove the arrow"


@check
def folders_of_a_layer_have_no_circles():
    rows = {(origin, to) for origin, all_to in WITHIN.items() for to in all_to}
    for origin, to in sorted(rows):
        if reaches(to, origin, rows):
            yield "tests/arch/arrows.py", 0, f"{origin} to {to} closes a circle"
