# SPDX-License-Identifier: Apache-2.0
"""The workflows that users copy are right: the examples, and those in the pages of docs/use/."""

import os
import pathlib
import re
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
COOKBOOK = ROOT / "examples" / "cookbook"
HEAD = "Name: example\nVersion: 1\n"
STEPS = "Steps:\n  - Name: A\n    Agent: a\n"
FIELDS = ("InputShape:", "Steps:")  # of a workflow, not of a step
PAGES = (("workflows.md", 8), ("first-workflow.md", 3), ("expressions.md", 2),
         ("other-engines.md", 1))


def lint(*paths):
    done = subprocess.run([REEVE, "workflow", "lint", *paths], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stderr


def blocks_of(page):
    text = (ROOT / "docs" / "use" / page).read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def completed(block):
    """A whole file with what a page shows: a file, some of its fields, steps, or fields of one."""
    if block.startswith("  - Name:"):
        block = "Steps:\n" + block
    if not block.startswith(("Name:", *FIELDS)):
        block = STEPS + textwrap.indent(block, "    ")
    if "Steps:" not in block:
        block += STEPS
    return block if block.startswith("Name:") else HEAD + block


class WorkflowExamplesTest(unittest.TestCase):
    def test_notes_are_shown_if_asked_and_never_fail(self):
        path = ROOT / "examples" / "workflows" / "refund.yaml"
        code, notes = lint("--notes", path)
        self.assertEqual(code, 0, notes)
        self.assertRegex(notes, r"refund\.yaml:\d+:\d+: note: ")
        self.assertEqual(lint(path), (0, ""))

    def test_examples_have_not_even_a_warning(self):
        files = sorted(path for folder in ("workflows", "cookbook")
                       for path in (ROOT / "examples" / folder).glob("*.yaml")
                       if not path.name.endswith(".test.yaml"))
        self.assertGreaterEqual(len(files), 13)
        self.assertEqual(lint(*files), (0, ""))

    def test_the_pages_show_files_that_work(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "block.yaml"
            for page, blocks_min in PAGES:
                blocks = blocks_of(page)
                self.assertGreaterEqual(len(blocks), blocks_min, page)
                for block in blocks:
                    path.write_text(completed(block), encoding="utf-8")
                    with self.subTest(page=page, block=block):
                        self.assertEqual(lint(path), (0, ""))

    def test_the_tutorial_shows_the_file_of_the_example(self):
        example = (ROOT / "examples" / "workflows" / "tea.yaml").read_text(encoding="utf-8")
        self.assertEqual(blocks_of("first-workflow.md")[0], example.split("\n", 1)[1])

    def test_the_cookbook_has_the_pictures_and_the_cases_of_its_files(self):
        page = (ROOT / "docs" / "use" / "cookbook.md").read_text(encoding="utf-8")
        sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page,
                                   re.MULTILINE | re.DOTALL))
        told = {}
        for title, section in sections.items():
            self.assertIn(f"| [{title}](#{title.lower().replace(' ', '-')}) |", page)
            told[re.search(r"cookbook/([a-z-]+)\.yaml\)", section).group(1)] = section
        self.assertEqual(set(told), {path.stem for path in COOKBOOK.glob("*.yaml")
                                     if not path.name.endswith(".test.yaml")})
        for name, section in told.items():
            done = subprocess.run([REEVE, "workflow", "graph", COOKBOOK / f"{name}.yaml"],
                                  capture_output=True, text=True, check=True, timeout=60)
            cases = re.findall(r"^  - Name: (.*)$", (COOKBOOK / f"{name}.test.yaml").read_text(
                encoding="utf-8"), re.MULTILINE)
            named = [" ".join(bold.split()) for bold in re.findall(r"\*\*(.*?)\*\*", section,
                                                                  re.DOTALL)]
            with self.subTest(name):
                self.assertIn(textwrap.indent(done.stdout, "    "), section)
                self.assertGreaterEqual(len(named), 2)
                self.assertEqual(set(named) - set(cases), set())

    def test_the_manual_shows_what_lint_says(self):
        text = (ROOT / "docs" / "use" / "workflows.md").read_text(encoding="utf-8")
        section = text.split("## What lint reports")[1]
        bad = re.search(r"^```yml\n(.*?)^```", section, re.MULTILINE | re.DOTALL).group(1)
        said = "".join(re.findall(r"^    (bad\.yaml:.*\n)", section, re.MULTILINE))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.yaml"
            path.write_text(bad, encoding="utf-8")
            self.assertEqual(lint(path), (65, said.replace("bad.yaml:", f"{path}:")))


if __name__ == "__main__":
    unittest.main()
