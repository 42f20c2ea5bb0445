# SPDX-License-Identifier: Apache-2.0
"""The workflows that users copy are right: the examples, and those in docs/use/workflows.md."""

import os
import pathlib
import re
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
HEAD = "Name: example\nVersion: 1\n"
STEPS = "Steps:\n  - Name: A\n    Agent: a\n"
FIELDS = ("InputShape:", "Steps:")  # of a workflow, not of a step


def lint(*paths):
    done = subprocess.run([REEVE, "workflow", "lint", *paths], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stderr


class WorkflowExamplesTest(unittest.TestCase):
    def test_examples_have_not_even_a_warning(self):
        files = sorted((ROOT / "examples" / "workflows").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 3)
        self.assertEqual(lint(*files), (0, ""))

    def test_the_manual_shows_files_that_work(self):
        text = (ROOT / "docs" / "use" / "workflows.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 4)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "block.yaml"
            for block in blocks:
                if not block.startswith(("Name:", *FIELDS)):
                    block = STEPS + textwrap.indent(block, "    ")
                if "Steps:" not in block:
                    block += STEPS
                if not block.startswith("Name:"):
                    block = HEAD + block
                path.write_text(block, encoding="utf-8")
                with self.subTest(block=block):
                    self.assertEqual(lint(path), (0, ""))

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
