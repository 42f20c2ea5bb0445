#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/ shows what the program has: its configuration, commands, rights, metrics and codes.

    REEVE_BUILD_DIR=build/dev python3 tests/unit/test_reference_docs.py --write

So are the schemas of files, docs/reference/*.schema.json. What stands between `<!-- config -->`,
`<!-- cli -->`, `<!-- rights -->`, `<!-- roles -->` or a section of base/errors.def in small letters
and `<!-- end -->` is made here.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))

from error_rows import CODES, SECTIONS, names_of, of_class, table, used  # noqa: E402

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
FOLDER = ROOT / "docs" / "reference"
MADE = {"config": ("configuration.md", ("config", "--docs")),
        "cli": ("cli.md", ("help", "--markdown")),
        "rights": ("../operate/kafka.md", ("topics", "acl", "--markdown")),
        "roles": ("../operate/access.md", ("token", "roles", "--markdown"))}
SCHEMAS = {"workflow.schema.json": ("workflow", "schema"),
           "workflow-tests.schema.json": ("workflow", "schema", "--tests"),
           "schedule.schema.json": ("schedule", "schema")}
ERRORS = FOLDER / "errors.md"

# Sections of errors.def: the files whose codes they list, what stands before these codes if the
# files have others, and codes from elsewhere.
BYTES = {"NotAvro", "Truncated", "TrailingBytes", "TooLong", "TooMany", "BadValue", "BadJson",
         "UnknownField", "BadField"}
SOURCES = (
    (("SUBMISSION",), ("services/submission/validate.c", "engine/shape.c"), "",
     BYTES | {"Unreadable", "BadSchema"}),
    (("COMMAND", "OVERTAKEN"), ("engine/**/*.c",),
     r"(?:decide_reject|decide_reject_of_parent|emit_rejected|reject_state)\(\s*ctx,\s*", set()),
    (("WORKFLOW",), ("workflow/lifecycle.c", "services/console/api/workflow_topics.c"), "", set()),
    (("SCHEDULE",), ("schedule/lifecycle.c", "schedule/registry.c", "schedule/schedule_file.c",
                     "schedule/zone_files.c"), "", set()),
    (("REPORT",), ("engine/**/*.c",), r"\bignore\(ctx,\s*", set()),
    (("DEAD_LETTER",), ("services/scheduler/owner/command_check.c", "engine/command.c",
                        "services/scheduler/emitter/dead_letter.c", "services/agent/core/intake.c"),
     r"[,?:(]\s*", BYTES),
)

# Where partitions are stopped and alerts raised.
ALERTS_OF = ("services/scheduler/**/*.c", "services/supervisor/*.c", "services/submission/*.c",
             "replica/**/*.c", "statestore/*.c")
# A new release folds again; the service does not start; another producer takes over; the alert is
# SubmissionUnreadable.
NO_ALERTS = {"StoreFormat", "StoreInUse", "ProducerFatal", "Unreadable"}


def codes_in(text):
    """Of the first column of tables."""
    cells = re.findall(r"^\|([^|]*)\|", text, re.M)
    return {code for cell in cells for code in re.findall(r"`([A-Z]\w+)`", cell)}


def error_names_in(text):
    """Of the first column of tables: those with a dot."""
    cells = re.findall(r"^\|([^|]*)\|", text, re.M)
    return {name for cell in cells for name in re.findall(r"`(\w+\.\w+)`", cell)}


def printed(*arguments):
    return subprocess.run([REEVE, *arguments], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def made(page, name, text):
    """The page with this text in its block of this name."""
    block = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
    return block.sub(lambda _: f"<!-- {name} -->\n{text}<!-- end -->", page)


def with_codes(page):
    for section in SECTIONS:
        page = made(page, section.lower(), table(section))
    return page


class ReferenceDocsTest(unittest.TestCase):
    def check(self, name):
        page = (FOLDER / MADE[name][0]).read_text(encoding="utf-8")
        self.assertIn(f"<!-- {name} -->", page)
        self.assertEqual(page, made(page, name, printed(*MADE[name][1])),
                         "run this file with --write")

    def test_configuration_is_that_of_the_program(self):
        self.check("config")

    def test_commands_are_those_of_the_program(self):
        self.check("cli")

    def test_rights_are_those_of_the_program(self):
        self.check("rights")

    def test_roles_are_those_of_the_program(self):
        self.check("roles")

    def test_schemas_are_those_of_the_program(self):
        for file, arguments in SCHEMAS.items():
            with self.subTest(file=file):
                self.assertEqual((FOLDER / file).read_text(encoding="utf-8"), printed(*arguments),
                                 "run this file with --write")

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

    def test_codes_are_those_of_the_rows(self):
        page = ERRORS.read_text(encoding="utf-8")
        for section in SECTIONS:
            self.assertIn(f"<!-- {section.lower()} -->", page)
        self.assertEqual(page, with_codes(page), "run this file with --write")

    def test_codes_are_those_of_the_sources(self):
        for sections, sources, before, others in SOURCES:
            with self.subTest(sections=sections):
                named = used(sources, before) & of_class("REJECT")
                listed = names_of(*sections)
                self.assertGreater(len(named), 3)
                above = names_of("SUBMISSION") if "DEAD_LETTER" in sections else set()
                self.assertEqual(sorted(named - listed - above), [], "in the sources only")
                self.assertEqual(sorted(listed - named - others), [], "in the rows only")

    def test_error_names_of_sub_orders_are_those_of_the_sources(self):
        named = {name for path in (ROOT / "engine").rglob("*.[ch]")
                 for name in re.findall(r'"(Order\.\w+)"', path.read_text(encoding="utf-8"))}
        self.assertGreater(len(named), 3)
        for path in (ERRORS, FOLDER.parent / "use" / "workflows.md"):
            shown = set(re.findall(r"`(Order\.\w+)`", path.read_text(encoding="utf-8")))
            self.assertEqual(sorted(named), sorted(shown), path.name)

    def test_error_names_of_steps_are_those_of_the_sources(self):
        named = {name for folder in ("engine", "services/agent")
                 for path in (ROOT / folder).rglob("*.[ch]")
                 for name in re.findall(r'"((?:States|Agent|Http|Exec)\.[A-Z]\w+)"',
                                        path.read_text(encoding="utf-8"))}
        own = {name for name in named if name.startswith("States.")}
        self.assertGreater(len(own), 5)
        self.assertGreater(len(named - own), 5)
        workflows = (FOLDER.parent / "use" / "workflows.md").read_text(encoding="utf-8")
        self.assertEqual(sorted(named - error_names_in(workflows)), [])
        # States.ALL is only matched.
        errors = error_names_in(ERRORS.read_text(encoding="utf-8"))
        self.assertEqual(sorted(own - errors), ["States.ALL"])

    def test_every_code_is_used(self):
        layers = ("engine", "platform", "schemas", "workflow", "rehearsal", "statestore",
                  "schedule", "kafka", "replica", "leader", "services", "cli", "tools")
        named = used(f"{layer}/**/*.c" for layer in layers)
        self.assertEqual(sorted({name for _, name in CODES.values()} - named), [])

    def test_every_alert_of_the_sources_has_a_remedy(self):
        named = used(ALERTS_OF) & of_class("FATAL") | used(ALERTS_OF, r"alert\([^;]*?")
        self.assertEqual(sorted(named - NO_ALERTS - names_of("ALERT")), [])
        self.assertEqual(sorted(NO_ALERTS - named), [])
        page = (ROOT / "docs" / "operate" / "alerts.md").read_text(encoding="utf-8")
        self.assertEqual(sorted(names_of("ALERT")), sorted(codes_in(page) - {"PaymentDeclined"}))


def write():
    for name, (file, arguments) in MADE.items():
        page = FOLDER / file
        page.write_text(made(page.read_text(encoding="utf-8"), name, printed(*arguments)),
                        encoding="utf-8")
    for file, arguments in SCHEMAS.items():
        (FOLDER / file).write_text(printed(*arguments), encoding="utf-8")
    ERRORS.write_text(with_codes(ERRORS.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
