#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/ shows what the program has: its configuration, commands, rights, metrics and codes.

    REEVE_BUILD_DIR=build/dev python3 tests/unit/test_reference_docs.py --write

What stands between `<!-- config -->`, `<!-- cli -->` or `<!-- rights -->` and `<!-- end -->` is
made here.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from error_rows import of_class, used

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
FOLDER = ROOT / "docs" / "reference"
MADE = {"config": ("configuration.md", ("config", "--docs")),
        "cli": ("cli.md", ("help", "--markdown")),
        "rights": ("../operate/kafka.md", ("topics", "acl", "--markdown"))}

# Sections of errors.md: the files whose codes they list, what stands before these codes if the
# files have others, and codes from elsewhere.
BYTES = {"NotAvro", "Truncated", "TrailingBytes", "TooLong", "TooMany", "BadValue", "BadJson",
         "UnknownField", "BadField"}
CODES = (
    ("When a submission is refused", ("services/submission/validate.c",), "",
     BYTES | {"Unreadable"}),
    ("When the scheduler refuses a command", ("engine/*.c",),
     r"(?:decide_reject|emit_rejected)\(\s*ctx,\s*", set()),
    ("When a change of a workflow version is refused",
     ("workflow/lifecycle.c", "services/console/api/workflow_topics.c"), "", set()),
    ("When a report is ignored", ("engine/*.c",), r"\bignore\(ctx,\s*", set()),
    ("Other dead letters",
     ("services/scheduler/command_check.c", "services/scheduler/emitter_dead_letter.c",
      "services/agent/core/intake.c"), r"[,?:(]\s*", BYTES),
)

# Where partitions are stopped and alerts raised.
ALERTS_OF = ("services/scheduler/*.c", "services/supervisor/*.c", "services/submission/*.c",
             "replica/*.c", "statestore/*.c")
# A new release folds again; the service does not start; another producer takes over; the alert is
# SubmissionUnreadable.
NO_ALERTS = {"StoreFormat", "StoreInUse", "ProducerFatal", "Unreadable"}


def codes_in(text):
    """Of the first column of tables."""
    cells = re.findall(r"^\|([^|]*)\|", text, re.M)
    return {code for cell in cells for code in re.findall(r"`([A-Z]\w+)`", cell)}


def made(name, page):
    """The page with its block as the program prints it today."""
    text = subprocess.run([REEVE, *MADE[name][1]], capture_output=True, text=True, check=True,
                          timeout=60).stdout
    block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
    return block.sub(lambda _: f"<!-- {name} -->\n{text}<!-- end -->", page)


class ReferenceDocsTest(unittest.TestCase):
    def check(self, name):
        page = (FOLDER / MADE[name][0]).read_text(encoding="utf-8")
        self.assertIn(f"<!-- {name} -->", page)
        self.assertEqual(page, made(name, page), "run this file with --write")

    def test_configuration_is_that_of_the_program(self):
        self.check("config")

    def test_commands_are_those_of_the_program(self):
        self.check("cli")

    def test_rights_are_those_of_the_program(self):
        self.check("rights")

    def test_metrics_are_those_of_the_sources(self):
        page = (FOLDER / "metrics.md").read_text(encoding="utf-8")
        named = set()
        for folder in ("platform", "kafka", "replica", "leader", "services"):
            for path in (ROOT / folder).rglob("*.c"):
                named |= set(re.findall(r'"((?:reeve|process)_[a-z0-9_]+)"',
                                        path.read_text(encoding="utf-8")))
        named -= {"reeve_", "process_"}  # in platform/metrics.c, as what names begin with
        shown = set(re.findall(r"`((?:reeve|process)_[a-z0-9_]+)", page))
        self.assertEqual(sorted(shown - named), [], "in the page only")
        self.assertEqual(sorted(named - shown), [], "in the sources only")

    def test_codes_are_those_of_the_sources(self):
        page = (FOLDER / "errors.md").read_text(encoding="utf-8")
        for heading, sources, before, others in CODES:
            with self.subTest(heading=heading):
                named = used(sources, before) & of_class("REJECT")
                section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
                above = page.split(f"\n## {heading}\n", 1)[0] if "codes above" in section else ""
                self.assertGreater(len(named), 3)
                missing = named - codes_in(section + above)
                self.assertEqual(sorted(missing), [], "in the sources only")
                self.assertEqual(sorted(codes_in(section) - named - others), [], "in the page only")

    def test_every_alert_of_the_sources_has_a_remedy(self):
        named = used(ALERTS_OF) & of_class("FATAL") | used(ALERTS_OF, r"alert\([^;]*?")
        self.assertGreater(len(named), 25)
        page = (ROOT / "docs" / "operate" / "alerts.md").read_text(encoding="utf-8")
        self.assertEqual(sorted(named - NO_ALERTS - codes_in(page)), [])


def write():
    for name, (file, _) in MADE.items():
        page = FOLDER / file
        page.write_text(made(name, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
