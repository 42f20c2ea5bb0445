#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages that show a part of an example show it as it is in the file."""

import os
import pathlib
import textwrap
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])


class DocExcerptsTest(unittest.TestCase):
    def test_the_page_about_agents_shows_the_loop_of_the_example(self):
        page = ROOT / "docs" / "use" / "agents-other-languages.md"
        source = ROOT / "examples" / "third_party_client" / "agent.py"
        lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
        marks = [at for at, line in enumerate(lines)
                 if f"The excerpt in {page.relative_to(ROOT)} begins here" in line
                 or "It ends here" in line]
        self.assertEqual(len(marks), 2, "the marks of the excerpt")
        excerpt = textwrap.dedent("".join(lines[marks[0] + 1:marks[1]]))
        self.assertIn("message.error()", excerpt)
        self.assertIn(f"```python\n{excerpt}```\n", page.read_text(encoding="utf-8"))

    def test_the_readme_shows_a_workflow_that_there_is(self):
        source = ROOT / "examples" / "workflows" / "tea.yaml"
        excerpt = source.read_text(encoding="utf-8").split("\n", 1)[1]
        self.assertTrue(excerpt.startswith("Name: tea\n"))
        self.assertIn(f"```yaml\n{excerpt}```\n", (ROOT / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
