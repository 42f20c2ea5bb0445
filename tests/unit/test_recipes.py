#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes of CONTRIBUTING.md name every file. Each is followed on a copy of the tree with an
example: the files that it touches are those of the recipe's steps, what expands its row compiles,
and the pages that describe the row are asked for. Nothing is linked but the table of keys: what
else the program prints about its rows is compared by tests of a whole build."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc")
COPIED = ("base", "engine", "schemas", "workflow", "rehearsal", "statestore", "platform",
          "schedule", "kafka", "replica", "leader", "services", "include", "docs", "tests/unit",
          "tests/kafka/lib")

# Checks of pages: a file, and its test if not all of them are meant.
RECORDS = ("tests/unit/schemas/test_records_doc.py",)
KINDS = ("tests/unit/test_openapi.py", "DescriptionTest.test_kinds_are_those_of_the_engine")
CODES = ("tests/unit/test_reference_docs.py",
         "ReferenceDocsTest.test_codes_are_those_of_the_rows")
KEYS = ("tests/unit/test_reference_docs.py",
        "ReferenceDocsTest.test_configuration_is_that_of_the_program")

PRINT_KEYS = """
#include "kafka/settings.h"
#include "replica/service/settings.h"
const struct config_passthrough kafka_settings;
int main(void)
{
    config_markdown(&settings_schema, stdout, SETTINGS_ALL);
}
"""

SCHEMAS = ("tests/unit/test_reference_docs.py",
           "ReferenceDocsTest.test_schemas_are_those_of_the_program")

PRINT_SCHEMA = """
#include "workflow/field_schema.h"
#include "workflow/fields.h"
int main(void)
{
    json_t *schema = field_table_schema(&workflow_fields, "A workflow of reeve");
    json_dumpf(schema, stdout, JSON_INDENT(2));
    json_decref(schema);
    return putchar('\\n') < 0;
}
"""

NOTE_IN_ENGINE = """
#include "engine/decide.h"

void note_start(struct decide_ctx *ctx, uint32_t index)
{
    (void)ctx;
    (void)index;
}

bool note_due(struct decide_ctx *ctx, uint32_t index)
{
    (void)ctx;
    (void)index;
    return false;
}

void note_end(struct decide_ctx *ctx, uint32_t index)
{
    note_start(ctx, index);
}

void note_undo(struct decide_ctx *ctx, uint32_t index)
{
    note_start(ctx, index);
}

const char *note_differs(const struct step *step, const struct workflow_step *plan,
                         const struct workflow_step *target)
{
    (void)step;
    return text_equal(plan->note, target->note) ? NULL : "the note differs";
}

struct text note_describe(struct decide_ctx *ctx, uint32_t index)
{
    return decide_plan_of(ctx, index)->note;
}
"""

NOTE_IN_FILES = """
#include "workflow/compile.h"

void note_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    value_name(&compiler->values, draft->fields.of[FIELD_NOTE], "Note", &draft->step.note);
}

int64_t note_longest_ms(const struct draft *draft)
{
    (void)draft;
    return 0;
}
"""


def steps_of(recipe):
    """For each file that the steps of a recipe name, the set of those any of which will do."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {recipe}\n(.*?)^## ", page, re.M | re.S)[1]
    steps = re.findall(r"^\d+\. .*\n(?:   .*\n)*", section, re.M)
    groups = re.findall(r"`[^`]+`(?:\s+or\s+`[^`]+`)*", "".join(steps))
    named = [set(re.findall(r"`((?!tests/)[\w-]+/\S*\.\w+)`", group)) for group in groups]
    return [files for files in named if files]


def is_named(path, files):
    return any(re.fullmatch(re.escape(file).replace("NAME", r"[\w-]+"), path) for file in files)


def free_number(tree, path):
    """The number after the last one that a row of the table takes."""
    rows = (tree.folder / path).read_text(encoding="utf-8")
    return 1 + max(int(number) for number in re.findall(r"^[A-Z_]+\((\d+),", rows, re.MULTILINE))


def differences(steps, touched):
    """Between the files that steps name and those that were touched."""
    return ([f"{path} is not named" for path in sorted(touched)
             if not any(is_named(path, files) for files in steps)]
            + [f"{' or '.join(sorted(files))} is not needed" for files in steps
               if not any(is_named(path, files) for path in touched)])


class Tree:
    """A copy of the sources, and the files in it that were touched."""

    def __init__(self, folder):
        self.folder = folder
        self.touched = set()
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name,
                            ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, path, text):
        self.touched.add(path)
        (self.folder / path).write_text(text, encoding="utf-8")

    def insert(self, path, before, text):
        """Before the last place of `before`."""
        start, mark, end = (self.folder / path).read_text(encoding="utf-8").rpartition(before)
        assert mark, f"{path} has no {before}"
        self.write(path, start + text + mark + end)

    def run(self, *command):
        env = dict(os.environ, REEVE_SOURCE_DIR=str(self.folder),
                   REEVE_BUILD_DIR=str(self.folder / "build"), PYTHONDONTWRITEBYTECODE="1")
        env.pop("REEVE", None)
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True,
                              check=False)

    def check(self, *test):
        return self.run(sys.executable, *test)

    def make_page(self, script, path):
        """Has the script write what it makes of the tree into the page."""
        self.touched.add(path)
        return self.run(sys.executable, script, "--write")

    def expanders(self):
        """Touched C files, and those that include a touched table, directly or in another one."""
        tables = {path for path in self.touched if path.endswith(".def")}
        if "engine/commands.def" in tables:
            tables.add("services/console/routes.def")
        including = re.compile("|".join(f'#include "{re.escape(path)}"' for path in tables) or "$^")
        for path in sorted(self.folder.rglob("*.c")):
            name = str(path.relative_to(self.folder))
            if name in self.touched or (not name.startswith("tests/")
                                        and including.search(path.read_text(encoding="utf-8"))):
                yield name

    def compiler(self, name):
        """The command with which the build compiles this file, or one next to it."""
        commands = {str(pathlib.Path(entry["file"]).relative_to(ROOT)): entry["command"]
                    for entry in json.loads((BUILD / "compile_commands.json").read_text())
                    if entry["file"].startswith(f"{ROOT}/")}
        like = name if name in commands else next(
            path for path in sorted(commands) if pathlib.Path(path).parent ==
            pathlib.Path(name).parent)
        words = shlex.split(commands[like])
        return [word.replace(f"-I{ROOT}", f"-I{self.folder}") if not word.startswith(f"-I{BUILD}")
                else word for word in words[:words.index("-o")]]

    def compile(self, name):
        return self.run(*self.compiler(name), "-fsyntax-only", name)

    def print_other(self, words, source, files, libraries):
        """Makes a `reeve` that runs this program of the tree where it is called with these words;
        the rest is that of the build."""
        folder = self.folder / "build/bin"
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / words.replace(" ", "-")
        program.with_suffix(".c").write_text(source)
        (folder / "reeve").write_text(f'#!/bin/sh\n[ "$*" != "{words}" ] || exec "{program}"\n'
                                      f'exec "{BUILD}/bin/reeve" "$@"\n')
        (folder / "reeve").chmod(0o755)
        return self.run(*self.compiler(files[0]), *files, f"{program}.c", "-o", program,
                        *(library.replace("BUILD", str(BUILD)) for library in libraries))

    def print_keys(self):
        return self.print_other("config --docs", PRINT_KEYS, ["replica/service/settings.c"],
                                ["BUILD/platform/libreeve-platform.a",
                                 "BUILD/base/libreeve-base.a"])

    def print_schema(self):
        return self.print_other("workflow schema", PRINT_SCHEMA,
                                ["workflow/fields.c", "workflow/field_schema.c"],
                                ["BUILD/workflow/libreeve-workflow.a",
                                 "BUILD/engine/libreeve-engine.a", "BUILD/base/libreeve-base.a",
                                 "-ljansson", "-lyaml"])


class RecipesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(dir=os.environ.get("REEVE_TEST_DIR"))
        self.addCleanup(shutil.rmtree, folder)
        self.tree = Tree(pathlib.Path(folder))
        self.works(self.tree.print_keys())

    def works(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def asks(self, *checks):
        """The pages are not described yet."""
        for check in checks:
            self.assertIn("FAILED (failures=", self.tree.check(*check).stderr, check)

    def ends(self, recipe, *checks):
        """The recipe was followed: it is complete, and so is the tree."""
        for check in checks:
            self.works(self.tree.check(*check))
        for name in self.tree.expanders():
            with self.subTest(name):
                self.works(self.tree.compile(name))
        self.assertEqual(differences(steps_of(recipe), self.tree.touched), [], recipe)

    def test_notices_what_a_recipe_leaves_out(self):
        steps = [{"engine/decide_NAME.c"}, {"engine/a.c", "engine/b.c"}]
        self.assertEqual(differences(steps, {"engine/decide_note.c", "engine/b.c"}), [])
        self.assertEqual(differences(steps, {"engine/b.c", "schemas/Note.avsc"}),
                         ["schemas/Note.avsc is not named", "engine/decide_NAME.c is not needed"])

    def test_follows_the_recipe_of_a_command(self):
        tree = self.tree
        number = free_number(tree, "engine/commands.def")
        tree.insert("engine/commands.def", "/* clang-format on */", f"""
OPERATOR_COMMAND({number}, NOTE_ORDER, NoteOrder, note_order, note_order,
                 OPERATOR, ORDER, UNCHECKED, decide_note, "note", "write a note about it")
FIELDS(note_order)
    BY_AND_REASON(note_order)
END_FIELDS(note_order)
""")
        tree.write("engine/decide_note.c", """#include "engine/decide.h"

void decide_note(struct decide_ctx *ctx)
{
    if (decide_require_order(ctx))
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order takes no notes");
}
""")
        tree.write("schemas/NoteOrder.avsc", (tree.folder / "schemas/PauseOrder.avsc").read_text()
                   .replace("PauseOrder", "NoteOrder"))
        tree.insert("schemas/Decision.avsc",
                    '\n            ]},\n           "doc": "What was asked."', ', "NoteOrder"')
        self.asks(RECORDS, KINDS)
        tree.insert("docs/reference/openapi/console.yaml",
                    "]\n        - {type: string}\n    Event:", ", NoteOrder")
        tree.insert("docs/reference/records.md", "## The log",
                    "### NoteOrder\n\n<!-- NoteOrder -->\n<!-- end -->\n\n")
        self.works(tree.make_page(*RECORDS, "docs/reference/records.md"))
        self.ends("Add a command", RECORDS, KINDS)

    def test_follows_the_recipe_of_an_event(self):
        tree = self.tree
        number = free_number(tree, "engine/events.def")
        tree.insert("engine/events.def", "/* clang-format on */", f"""
ORDER_EVENT({number}, ORDER_NOTED, OrderNoted, order_noted, "note written",
            COMMAND_UNDECODABLE, STATUS_NONE, ORDER_STAYS, order_noted, NULL)
FIELDS(order_noted)
    BY_FIELD(order_noted)
END_FIELDS(order_noted)
""")
        tree.insert("engine/apply_order.c", "static void order_paused(", """\
static void order_noted(const struct apply_ctx *ctx, const struct event *event)
{
    ctx->order->paused_by = apply_text(ctx, ctx->order->paused_by, event->order_noted.by);
}

""")
        tree.insert("schemas/Decision.avsc", '\n     ]},\n    "doc": "At least one.', """,
       {"type": "record", "name": "OrderNoted", "doc": "A note about the order.",
        "fields": [{"name": "by", "type": "string", "default": "", "doc": "The operator."}]}""")
        tree.insert("schemas/event_text.c", "static void append_order_marked(", """\
static void append_order_noted(struct sentence *sentence, const struct event *event)
{
    append(sentence, "%s", event_words(event->kind));
    append_text(sentence, " by ", event->order_noted.by);
}

""")
        self.asks(RECORDS, KINDS)
        tree.insert("docs/reference/openapi/console.yaml",
                    "]\n        - {type: string}\n    CommandKind:", ", OrderNoted")
        self.works(tree.make_page(*RECORDS, "docs/reference/records.md"))
        self.ends("Add an event", RECORDS, KINDS)

    def test_follows_the_recipe_of_a_route(self):
        tree = self.tree
        tree.insert("services/console/routes.def", "GET(watch,", """\
GET(notes, "/api/notes", ALWAYS, HTTP_NO_NAMES, "the notes", serve_notes(&console->api, exchange))
""")
        tree.insert("services/console/api/api.h", "#endif",
                    "void serve_notes(struct api *api, struct http_exchange *exchange);\n")
        tree.write("services/console/api/notes.c", """#include "services/console/api/api.h"

void serve_notes(struct api *api, struct http_exchange *exchange)
{
    (void)api;
    http_respond_error(exchange, 503, CODE_STARTING, "there are no notes yet");
}
""")
        tree.insert("docs/reference/openapi/console.yaml", "  /api/orders:\n", """\
  /api/notes:
    get: {operationId: listNotes, responses: {'200': {description: The notes.}}}
""")
        tree.insert("docs/operate/access.md", "| console | `GET /api/orders` |",
                    "| console | `GET /api/notes` | the notes | yes | yes | | | |\n")
        self.ends("Add a route")

    def test_follows_the_recipe_of_a_kind_of_step(self):
        tree = self.tree
        tree.insert("engine/kinds.def", "#undef STEP_KIND", """\
STEP_KIND(NOTE, note_start, note_due, note_end, note_undo, note_differs, note_describe)

""")
        tree.write("engine/kinds/note.c", NOTE_IN_ENGINE)
        tree.insert("engine/workflow.h", "    bool has_compensate;", "    struct text note;\n")
        tree.insert("workflow/fields.def", "/* clang-format on */", """\
FIELD(NOTE, "Note", FORM_IS_NAME, "What the step notes.")
""")
        tree.insert("workflow/kinds.def", "/* clang-format on */", """\
STEP_KIND(NOTE, FIELD_BIT(FIELD_NOTE), 0, note_compile, note_longest_ms)
""")
        tree.write("workflow/kinds/note.c", NOTE_IN_FILES)
        tree.insert("workflow/diff_values.h", "    DIFF_UNDO_ACTION,\n", "    DIFF_NOTE,\n")
        tree.insert("workflow/diff_values.c", "    [DIFF_UNDO_ACTION] =",
                    '    [DIFF_NOTE] = "Note",\n')
        tree.insert("workflow/diff_values.c", "    case DIFF_ITEMS:\n", """\
    case DIFF_NOTE:
        diff_add(value, "%.*s", TEXT_ARG(step->note));
        return;
""")
        tree.insert("docs/use/workflows.md", "| `Agent` |", "| `Note` | what the step notes | |\n")
        self.works(tree.print_schema())
        self.asks(SCHEMAS)
        self.works(tree.make_page(SCHEMAS[0], "docs/reference/workflow.schema.json"))
        self.ends("Add a kind of step", SCHEMAS)

    def test_follows_the_recipe_of_a_configuration_key(self):
        tree = self.tree
        tree.insert("replica/service/settings.c", '    {"console.services", CONFIG_LIST', """\
    {"console.notes.max", CONFIG_INT, "10", 1, 1000, NO_UNIT, NO_CHOICES, SETTINGS_CONSOLE,
     "Most notes about an order."},
""")
        tree.insert("services/console/console.c", "    order_at_init(",
                    '    (void)config_int(service->config, "console.notes.max");\n')
        self.works(tree.print_keys())
        self.asks(KEYS)
        self.works(tree.make_page(KEYS[0], "docs/reference/configuration.md"))
        self.ends("Add a configuration key", KEYS)

    def test_follows_the_recipe_of_a_code(self):
        tree = self.tree
        tree.insert("base/errors.def", "ERROR_CODE(ALREADY_PAUSED,", """\
ERROR_CODE(TOO_MANY_NOTES, REJECT, "TooManyNotes", "the order has 10 notes")
""")
        self.asks(CODES)
        self.works(tree.make_page(CODES[0], "docs/reference/errors.md"))
        self.ends("Add a code of an error", CODES)


if __name__ == "__main__":
    unittest.main()
